// SPDX-License-Identifier: BSD-2-Clause

/// Who may answer: reads of one AXI ID in their order, of different IDs as their data come. The tags of an ID are
/// a chain; the first of it whose data are there goes to the queue of tags that answer.
module dingo_pcie_order (
    input  logic           clk_i,
    input  logic           rst_ni,
    // a read gets its tag
    input  logic           new_valid_i,
    output logic           new_ready_o,
    input  logic [6:0]     new_id_i,
    input  pcie_pkg::tag_t new_tag_i,
    // all its data are there
    input  logic           done_valid_i,
    input  pcie_pkg::tag_t done_tag_i,
    // it answers
    output logic           turn_valid_o,
    input  logic           turn_ready_i,
    output pcie_pkg::tag_t turn_tag_o,
    input  logic [6:0]     turn_id_i      // its ID, in the same cycle
);
  localparam int unsigned TagLog = pcie_pkg::TAG_LOG;
  localparam int unsigned Tags = 1 << TagLog;
  localparam int unsigned Ids = 1 << pcie_pkg::ID_W;

  logic [TagLog-1:0] next[0:Tags-1];      // behind a tag
  logic [TagLog-1:0] tail[0:Ids-1];       // the newest of an ID
  logic [Ids-1:0] busy_q;                 // an ID has a chain
  logic [Tags-1:0] linked_q, first_q, done_q;  // `next` counts; it is the first of its chain; its data are there

  // ---------------------------------------------------------------- a new one, at its chain's end
  logic joins, enter;
  logic [TagLog-1:0] newest;
  // The first of a chain leaves: step 1 looks who follows, step 2 makes that one the first.
  logic leave_q, follow_q;
  logic [6:0] leave_id_q;
  logic [TagLog-1:0] leave_tag_q, follow_tag_q;

  assign new_ready_o = !(leave_q && leave_id_q == new_id_i);
  assign enter = new_valid_i && new_ready_o;
  assign joins = busy_q[new_id_i];
  assign newest = tail[new_id_i];

  // ---------------------------------------------------------------- data have come
  logic come_valid, come_ready, come;
  logic [TagLog-1:0] come_tag;
  logic come_room, turn_room, push;
  logic [TagLog-1:0] push_tag;
  logic [TagLog:0] come_count, turn_count;

  dingo_fifo #(.Width(TagLog), .LogDepth(TagLog)) u_come (
      .clk_i, .rst_ni, .valid_i(done_valid_i), .ready_o(come_room), .data_i(done_tag_i), .valid_o(come_valid),
      .ready_i(come_ready), .data_o(come_tag), .count_o(come_count)
  );
  assign come_ready = !follow_q;          // one of both a cycle looks at `first` and `done`
  assign come = come_valid && come_ready;
  assign push = follow_q ? done_q[follow_tag_q] : come && first_q[come_tag];
  assign push_tag = follow_q ? follow_tag_q : come_tag;

  dingo_fifo #(.Width(TagLog), .LogDepth(TagLog)) u_turn (
      .clk_i, .rst_ni, .valid_i(push), .ready_o(turn_room), .data_i(push_tag), .valid_o(turn_valid_o),
      .ready_i(turn_ready_i), .data_o(turn_tag_o), .count_o(turn_count)
  );

  always_ff @(posedge clk_i) begin
    if (enter) begin
      tail[new_id_i] <= new_tag_i;
      if (joins) next[newest] <= new_tag_i;
    end
    leave_tag_q <= turn_tag_o;
    leave_id_q <= turn_id_i;
    follow_tag_q <= next[leave_tag_q];
    if (!rst_ni) begin
      busy_q <= '0;
      linked_q <= '0;
      first_q <= '0;
      done_q <= '0;
      leave_q <= 1'b0;
      follow_q <= 1'b0;
    end else begin
      leave_q <= turn_valid_o && turn_ready_i;
      follow_q <= leave_q && linked_q[leave_tag_q];
      if (leave_q && !linked_q[leave_tag_q]) busy_q[leave_id_q] <= 1'b0;
      if (follow_q) first_q[follow_tag_q] <= 1'b1;
      if (come) done_q[come_tag] <= 1'b1;
      if (enter) begin
        busy_q[new_id_i] <= 1'b1;
        if (joins) linked_q[newest] <= 1'b1;
        linked_q[new_tag_i] <= 1'b0;
        first_q[new_tag_i] <= !joins;
        done_q[new_tag_i] <= 1'b0;
      end
    end
  end

  wire unused_ok = &{1'b0, come_count, turn_count};
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (done_valid_i) room_to_come: assert (come_room);
      if (push) room_for_turn: assert (turn_room);
    end
  end
endmodule
