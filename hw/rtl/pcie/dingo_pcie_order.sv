// SPDX-License-Identifier: BSD-2-Clause

/// Order of answers: reads of one AXI ID are answered in order, reads of different IDs as their data arrive. The tags
/// of an ID form a chain; when the data of its first tag are there, that tag enters the queue of tags to be answered.
/// 2 cycles from the last data to the turn. Stalls a new read of an ID in the cycle in which an answer of that ID
/// begins, and for 128 cycles after reset.
module dingo_pcie_order (
    input  logic           clk_i,
    input  logic           rst_ni,
    // a read gets its tag
    input  logic           new_valid_i,
    output logic           new_ready_o,
    input  logic [6:0]     new_id_i,
    input  pcie_pkg::tag_t new_tag_i,
    // all data of a tag are there
    input  logic           done_valid_i,
    input  pcie_pkg::tag_t done_tag_i,
    // the next tag to be answered
    output logic           turn_valid_o,
    input  logic           turn_ready_i,
    output pcie_pkg::tag_t turn_tag_o,
    input  logic [6:0]     turn_id_i      // AXI ID of turn_tag_o, in the same cycle
);
  localparam int unsigned TagLog = pcie_pkg::TAG_LOG;
  localparam int unsigned Tags = 1 << TagLog;
  localparam int unsigned Ids = 1 << pcie_pkg::ID_W;

  logic [TagLog-1:0] next[0:Tags-1];      // the tag that follows in the chain
  logic [TagLog-1:0] tail[0:Ids-1];       // the newest tag of an ID
  // A flag that one event sets and another clears is the XOR of two bits, each written by one event only, so that
  // both fit LUT RAM. Flags of a tag: linked, another tag follows it; first, it is the first of its chain; done, its
  // data are there. A new read begins with linked and done cleared.
  logic linked_up[0:Tags-1], linked_down[0:Tags-1];
  logic first_new[0:Tags-1], first_later[0:Tags-1];
  logic done_up[0:Tags-1], done_down[0:Tags-1];
  logic busy_up[0:Ids-1], busy_down[0:Ids-1];  // busy: the ID has a chain; sweep_q clears all after reset
  logic [pcie_pkg::ID_W:0] sweep_q;
  logic swept;

  // ---------------------------------------------------------------- a new tag joins the end of its chain
  logic joins, enter;
  logic [TagLog-1:0] newest;
  // The first tag of a chain leaves: step 1 finds its successor, step 2 makes that one the first.
  logic leave_q, follow_q, linked;
  logic [6:0] leave_id_q;
  logic [TagLog-1:0] leave_tag_q, follow_tag_q;

  assign swept = sweep_q[pcie_pkg::ID_W];
  assign new_ready_o = swept && !(leave_q && leave_id_q == new_id_i);
  assign enter = new_valid_i && new_ready_o;
  assign joins = busy_up[new_id_i] != busy_down[new_id_i];
  assign newest = tail[new_id_i];
  assign linked = linked_up[leave_tag_q] != linked_down[leave_tag_q];

  // ---------------------------------------------------------------- data have arrived
  logic wait_valid, wait_ready, come_q, come;
  logic [TagLog-1:0] wait_tag, come_tag_q;
  logic wait_room, turn_room, push;
  logic [TagLog-1:0] push_tag;
  logic [TagLog:0] wait_count, turn_count;

  dingo_fifo #(.Width(TagLog), .LogDepth(TagLog)) u_wait (
      .clk_i, .rst_ni, .valid_i(done_valid_i), .ready_o(wait_room), .data_i(done_tag_i), .valid_o(wait_valid),
      .ready_i(wait_ready), .data_o(wait_tag), .count_o(wait_count)
  );
  assign come = come_q && !follow_q;      // `first` and `done` are read by one of both per cycle
  assign wait_ready = !come_q || come;
  assign push = follow_q ? done_up[follow_tag_q] != done_down[follow_tag_q]
                : come_q && first_new[come_tag_q] != first_later[come_tag_q];
  assign push_tag = follow_q ? follow_tag_q : come_tag_q;

  dingo_fifo #(.Width(TagLog), .LogDepth(TagLog)) u_turn (
      .clk_i, .rst_ni, .valid_i(push), .ready_o(turn_room), .data_i(push_tag), .valid_o(turn_valid_o),
      .ready_i(turn_ready_i), .data_o(turn_tag_o), .count_o(turn_count)
  );

  always_ff @(posedge clk_i) begin
    if (enter) begin
      tail[new_id_i] <= new_tag_i;
      if (joins) begin
        next[newest] <= new_tag_i;
        linked_up[newest] <= !linked_down[newest];
      end
      linked_down[new_tag_i] <= linked_up[new_tag_i];
      first_new[new_tag_i] <= first_later[new_tag_i] ^ !joins;
      done_down[new_tag_i] <= done_up[new_tag_i];
    end
    if (follow_q) first_later[follow_tag_q] <= !first_new[follow_tag_q];
    if (come) done_up[come_tag_q] <= !done_down[come_tag_q];
    if (!swept || enter) busy_up[swept ? new_id_i : sweep_q[6:0]] <= swept && !busy_down[new_id_i];
    if (!swept || (leave_q && !linked))
      busy_down[swept ? leave_id_q : sweep_q[6:0]] <= swept && busy_up[leave_id_q];
    leave_tag_q <= turn_tag_o;
    leave_id_q <= turn_id_i;
    follow_tag_q <= next[leave_tag_q];
    if (wait_ready) come_tag_q <= wait_tag;
    if (!rst_ni) begin
      sweep_q <= '0;
      leave_q <= 1'b0;
      follow_q <= 1'b0;
      come_q <= 1'b0;
    end else begin
      if (!swept) sweep_q <= sweep_q + 1'b1;
      leave_q <= turn_valid_o && turn_ready_i;
      follow_q <= leave_q && linked;
      if (wait_ready) come_q <= wait_valid;
    end
  end

  wire unused_ok = &{1'b0, wait_count, turn_count};
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (done_valid_i) room_to_wait: assert (wait_room);
      if (push) room_for_turn: assert (turn_room);
    end
  end
endmodule
