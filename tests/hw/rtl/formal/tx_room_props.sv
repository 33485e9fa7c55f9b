// SPDX-License-Identifier: BSD-2-Clause

/// The room rule of dingo_tx_mux: an engine that begins a packet on a view of `room` that is up to 3 cycles old
/// can give its descriptor, at most 16 segments and 8 inline beats without a wait, whatever the other
/// engine and the consumers do. An engine has one packet at a time and gives at most one of each a cycle.
module tx_room_props (
    input logic       clk_i,
    input logic [1:0] begin_i,
    input logic [1:0] late0_i,     // age of the view of `room`, in cycles
    input logic [1:0] late1_i,
    input logic [4:0] segs_i,      // segments of a packet that begins
    input logic [3:0] inls_i,
    input logic [1:0] txd_i,       // the engine gives one in this cycle, if it has any left
    input logic [1:0] seg_i,
    input logic       inl_i,
    input logic [4:0] content_i,   // the fields that decide which side waits: inl, len, last of each
    input logic       txd_ready_i,
    input logic       seg_ready_i,
    input logic       inl_ready_i
);
  logic rst_ni = 1'b0;
  logic [1:0] room, txd_valid, txd_ready, seg_valid, seg_ready, start;
  logic inl_valid, inl_ready;
  rtl_pkg::txd_t txd0, txd1;
  rtl_pkg::seg_t seg0, seg1;
  rtl_pkg::beat_t beat;

  always_comb begin
    txd0 = '0;
    txd1 = '0;
    seg0 = '0;
    seg1 = '0;
    beat = '0;
    txd0.inl = content_i[0];
    txd0.len = {12'd0, content_i[1]};
    txd1.len = {12'd0, content_i[2]};
    seg0.last = content_i[3];
    seg1.last = content_i[4];
  end

  dingo_tx_mux dut (
      .clk_i, .rst_ni, .idle_o(), .room_o(room),
      .txd_valid_i(txd_valid), .txd_ready_o(txd_ready), .req_txd_i(txd0), .rsp_txd_i(txd1),
      .seg_valid_i(seg_valid), .seg_ready_o(seg_ready), .req_seg_i(seg0), .rsp_seg_i(seg1),
      .inl_valid_i(inl_valid), .inl_ready_o(inl_ready), .inl_i(beat),
      .txd_valid_o(), .txd_ready_i, .txd_o(), .seg_valid_o(), .seg_ready_i, .seg_o(), .seg_rsp_o(),
      .inl_valid_o(), .inl_ready_i, .inl_o()
  );

  // connected by run.sh
  wire [2:0] dut_txd0, dut_txd1;
  wire [6:0] dut_seg0, dut_seg1;
  wire [5:0] dut_inl;

  // Descriptors, segments and inline beats that each engine still has to give.
  logic [1:0] txd_q = 2'd0;
  logic [4:0] segs0_q = 5'd0, segs1_q = 5'd0;
  logic [3:0] inls_q = 4'd0;
  logic [3:0] room0, room1;  // bit n: n cycles ago
  logic [2:0] room0_q = 3'd0, room1_q = 3'd0;

  assign room0 = {room0_q, room[0]};
  assign room1 = {room1_q, room[1]};
  assign start[0] = begin_i[0] && room0[late0_i] && !txd_q[0] && segs0_q == 5'd0 && inls_q == 4'd0;
  assign start[1] = begin_i[1] && room1[late1_i] && !txd_q[1] && segs1_q == 5'd0;
  assign txd_valid = txd_i & txd_q;
  assign seg_valid = seg_i & {segs1_q != 5'd0, segs0_q != 5'd0};
  assign inl_valid = inl_i && inls_q != 4'd0;

  always_ff @(posedge clk_i) begin
    rst_ni <= 1'b1;
    if (!rst_ni) begin
      txd_q   <= 2'd0;
      segs0_q <= 5'd0;
      segs1_q <= 5'd0;
      inls_q  <= 4'd0;
      room0_q <= 3'd0;
      room1_q <= 3'd0;
    end else begin
      room0_q <= room0[2:0];
      room1_q <= room1[2:0];
      txd_q   <= (txd_q & ~txd_valid) | start;
      segs0_q <= start[0] ? segs_i : segs0_q - {4'd0, seg_valid[0]};
      segs1_q <= start[1] ? segs_i : segs1_q - {4'd0, seg_valid[1]};
      inls_q  <= start[0] ? inls_i : inls_q - {3'd0, inl_valid};
    end
  end

  always_comb begin
    assume (segs_i <= 5'd16 && inls_i <= 4'd8);
    if (rst_ni) begin
      a_txd : assert ((txd_valid & ~txd_ready) == 2'd0);
      a_seg : assert ((seg_valid & ~seg_ready) == 2'd0);
      a_inl : assert (!inl_valid || inl_ready);
      // invariants for the induction
      a_txds : assert ({1'b0, dut_txd0} + {3'd0, txd_q[0]} <= 4'd4 && {1'b0, dut_txd1} + {3'd0, txd_q[1]} <= 4'd4);
      a_segs0 : assert ({1'b0, dut_seg0} + {3'd0, segs0_q} <= 8'd64 && segs0_q <= 5'd16);
      a_segs1 : assert ({1'b0, dut_seg1} + {3'd0, segs1_q} <= 8'd64 && segs1_q <= 5'd16);
      a_inls : assert ({1'b0, dut_inl} + {3'd0, inls_q} <= 7'd32 && inls_q <= 4'd8);
    end
  end
endmodule
