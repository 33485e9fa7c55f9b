// SPDX-License-Identifier: BSD-2-Clause

/// The read channels of AXI: bursts become read requests with tags, completions go to the reorder buffer, and whole
/// reads are answered. A tag's slot of the buffer has room for its whole read, so completions are always accepted. 2
/// cycles from dingo_pcie_order's turn to R, then a line a cycle; stalls with rready_i, and for new reads without a
/// free tag.
module dingo_pcie_reads (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic [2:0]   mrrs_i,      // maximum read request: 128 << n bytes
    input  logic         all_tags_i,  // 8-bit tags are allowed
    output logic         idle_o,
    // AXI4
    input  logic         arvalid_i,
    output logic         arready_o,
    input  logic [6:0]   arid_i,
    input  logic [63:0]  araddr_i,
    input  logic [7:0]   arlen_i,
    output logic         rvalid_o,
    input  logic         rready_i,
    output logic [6:0]   rid_o,
    output logic [511:0] rdata_o,
    output logic [1:0]   rresp_o,
    output logic         rlast_o,
    // read requests
    output logic         mrd_valid_o,
    input  logic         mrd_ready_i,
    output pcie_pkg::mrd_t mrd_o,
    // completions
    input  logic         rc_tvalid_i,
    input  logic [511:0] rc_tdata_i,
    input  logic         rc_tlast_i,
    input  logic         rc_discontinue_i,
    output logic         fail_o             // a read has failed
);
  localparam int unsigned TagLog = pcie_pkg::TAG_LOG;
  localparam int unsigned SlotLog = pcie_pkg::SLOT_LOG;
  localparam int unsigned Tags = 1 << TagLog;

  // ---------------------------------------------------------------- pieces get tags
  logic piece_valid, piece_last, tag_valid, order_ready, mrd_room, taken;
  logic [6:0] piece_id;
  logic [57:0] piece_line;
  pcie_pkg::pos_t piece_len;
  pcie_pkg::tag_t tag;
  logic free_q;
  pcie_pkg::tag_t free_tag_q;
  logic tags_idle;
  logic [2:0] mrd_count;

  dingo_pcie_ar u_ar (
      .clk_i, .rst_ni, .mrrs_i, .arvalid_i, .arready_o, .arid_i, .araddr_i, .arlen_i, .valid_o(piece_valid),
      .ready_i(taken), .id_o(piece_id), .line_o(piece_line), .len_o(piece_len), .last_o(piece_last)
  );
  dingo_pcie_tags u_tags (
      .clk_i, .rst_ni, .all_i(all_tags_i), .valid_o(tag_valid), .take_i(taken), .tag_o(tag), .free_valid_i(free_q),
      .free_tag_i(free_tag_q), .idle_o(tags_idle)
  );
  assign taken = piece_valid && tag_valid && order_ready && mrd_room;

  dingo_fifo #(.Width(pcie_pkg::MRD_W), .LogDepth(2)) u_mrd (
      .clk_i, .rst_ni, .valid_i(taken), .ready_o(mrd_room), .data_i({tag, piece_len, piece_line}),
      .valid_o(mrd_valid_o), .ready_i(mrd_ready_i), .data_o(mrd_o), .count_o(mrd_count)
  );

  // Per tag, its read: used when completions come and when it is answered.
  logic [10:0] info[0:Tags-1];        // ID, last of its burst, lines - 1
  pcie_pkg::tag_t rc_tag, turn_tag;
  pcie_pkg::pos_t rc_len;
  assign rc_len = info[rc_tag][2:0];
  always_ff @(posedge clk_i) if (taken) info[tag] <= {piece_id, piece_last, piece_len};

  // ---------------------------------------------------------------- completions
  logic we, done, fail, turn_valid, turn_end;
  logic [TagLog+SlotLog-1:0] waddr;
  logic [511:0] wdata, line;
  pcie_pkg::tag_t done_tag;
  logic [6:0] turn_id;
  logic turn_last;
  pcie_pkg::pos_t turn_len, pos_q;

  dingo_pcie_rc u_rc (
      .clk_i, .rst_ni, .tvalid_i(rc_tvalid_i), .tdata_i(rc_tdata_i), .tlast_i(rc_tlast_i),
      .discontinue_i(rc_discontinue_i), .tag_o(rc_tag), .len_i(rc_len), .we_o(we), .waddr_o(waddr), .wdata_o(wdata),
      .done_o(done), .fail_o(fail), .done_tag_o(done_tag)
  );
  dingo_pcie_order u_order (
      .clk_i, .rst_ni, .new_valid_i(piece_valid && tag_valid && mrd_room), .new_ready_o(order_ready),
      .new_id_i(piece_id), .new_tag_i(tag), .done_valid_i(done), .done_tag_i(done_tag), .turn_valid_o(turn_valid),
      .turn_ready_i(turn_load), .turn_tag_o(turn_tag), .turn_id_i(turn_id)
  );

  // ---------------------------------------------------------------- answers on R, a line a cycle
  logic act_q, act_last_q, turn_load, step, room, beat_q, last_q, err_q;  // act: the tag that is being answered
  pcie_pkg::tag_t act_tag_q;
  pcie_pkg::pos_t act_len_q;
  logic [6:0] act_id_q, id_q;
  logic [2:0] r_count;
  logic err, unused_r_room;

  assign {turn_id, turn_last, turn_len} = info[turn_tag];
  assign room = r_count + 3'(beat_q) < 3'd4;
  assign step = act_q && room;
  assign turn_end = step && pos_q == act_len_q;
  assign turn_load = !act_q || turn_end;

  dingo_ram #(.Width(512), .LogDepth(TagLog + SlotLog)) u_lines (
      .clk_i, .we_i(we), .waddr_i(waddr), .wdata_i(wdata), .re_i(step), .raddr_i({act_tag_q, pos_q}), .rdata_o(line)
  );

  // Per tag, failed = up XOR down: `up` is written when a completion fails, `down` when the tag is given again (see
  // dingo_pcie_order).
  logic failed_up[0:Tags-1], failed_down[0:Tags-1];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      act_q <= 1'b0;
      pos_q <= '0;
      beat_q <= 1'b0;
      free_q <= 1'b0;
    end else begin
      if (turn_load) act_q <= turn_valid;
      beat_q <= step;
      free_q <= turn_end;
      if (step) pos_q <= turn_end ? '0 : pos_q + 1'b1;
    end
    if (fail) failed_up[done_tag] <= !failed_down[done_tag];
    if (taken) failed_down[tag] <= failed_up[tag];
    if (turn_load) begin
      act_tag_q <= turn_tag;
      act_id_q <= turn_id;
      act_last_q <= turn_last;
      act_len_q <= turn_len;
    end
    free_tag_q <= act_tag_q;
    id_q <= act_id_q;
    last_q <= turn_end && act_last_q;
    err_q <= failed_up[act_tag_q] != failed_down[act_tag_q];
  end

  dingo_fifo #(.Width(521), .LogDepth(2)) u_r (
      .clk_i, .rst_ni, .valid_i(beat_q), .ready_o(unused_r_room), .data_i({err_q, last_q, id_q, line}),
      .valid_o(rvalid_o), .ready_i(rready_i), .data_o({err, rlast_o, rid_o, rdata_o}), .count_o(r_count)
  );
  assign rresp_o = {err, 1'b0};  // SLVERR
  assign fail_o = fail;
  assign idle_o = tags_idle && !piece_valid && !act_q && !beat_q && r_count == '0;
  wire unused_ok = &{1'b0, mrd_count, unused_r_room};
endmodule
