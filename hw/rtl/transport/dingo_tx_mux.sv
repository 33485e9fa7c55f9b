// SPDX-License-Identifier: BSD-2-Clause

/// Merges packets of requester (0) and responder (1) into one order for headers and payload: a packet's segments follow
/// its descriptor. An engine starts a packet only while its bit of room_o is set: then descriptor, 16 segments and 8
/// inline beats are taken without waiting. Latency 2 cycles. About AHEAD bytes of payload are put in order ahead, as
/// many as fetching needs; ACKs and READ requests, which have no payload, pass an engine that waits for that.
module dingo_tx_mux (
    input  logic       clk_i,
    input  logic       rst_ni,
    output logic       idle_o,
    output logic [1:0] room_o,
    input  logic [1:0] txd_valid_i,
    output logic [1:0] txd_ready_o,
    input  rtl_pkg::txd_t       req_txd_i,
    input  rtl_pkg::txd_t       rsp_txd_i,
    input  logic [1:0] seg_valid_i,
    output logic [1:0] seg_ready_o,
    input  rtl_pkg::seg_t       req_seg_i,
    input  rtl_pkg::seg_t       rsp_seg_i,
    input  logic       inl_valid_i,    // the requester's
    output logic       inl_ready_o,
    input  rtl_pkg::beat_t      inl_i,
    output logic       txd_valid_o,
    input  logic       txd_ready_i,
    output rtl_pkg::txd_t       txd_o,
    output logic       seg_valid_o,
    input  logic       seg_ready_i,
    output rtl_pkg::seg_t       seg_o,
    output logic       seg_rsp_o,      // seg_o is the responder's
    output logic       inl_valid_o,
    input  logic       inl_ready_i,
    output rtl_pkg::beat_t      inl_o
);
  localparam int unsigned TXD_LOG = 2;     // queue of each engine
  localparam int unsigned OUT_LOG = 6;     // merged queue; a PCIe round trip is 38 packets of 64 bytes of payload
  localparam int unsigned SEG_LOG = 6;
  localparam int unsigned INL_LOG = 5;
  localparam logic [15:0] AHEAD = 16'd16384;  // bytes: twice a round trip to host memory at the wire's rate
  // An engine sees room_o up to 3 cycles late, so twice what a packet needs is kept free.
  localparam int unsigned SEG_ROOM = (1 << SEG_LOG) - 32;
  localparam int unsigned INL_ROOM = (1 << INL_LOG) - 16;
  localparam int unsigned TXD_W = $bits(req_txd_i);
  localparam int unsigned SEG_W = $bits(req_seg_i);

  typedef enum logic {
    HEAD = 1'b0,
    SEGS = 1'b1
  } state_t;

  rtl_pkg::txd_t txd0, txd1, txd;
  rtl_pkg::seg_t seg0, seg1;
  logic [1:0] txd_valid, txd_pop, seg_valid, seg_pop, want, grant;
  logic [TXD_LOG:0] txd_count0, txd_count1;
  logic [SEG_LOG:0] seg_count0, seg_count1;
  logic [INL_LOG:0] inl_count;
  logic [OUT_LOG:0] out_count;
  logic out_valid, out_ready, who_q, has_segs;
  logic [15:0] ahead_q;                    // payload bytes of the packets in the merged queue
  logic fits;
  state_t state_q;

  dingo_fifo #(.Width(TXD_W), .LogDepth(TXD_LOG)) u_txd0 (
      .clk_i, .rst_ni, .valid_i(txd_valid_i[0]), .ready_o(txd_ready_o[0]), .data_i(req_txd_i),
      .valid_o(txd_valid[0]), .ready_i(txd_pop[0]), .data_o(txd0), .count_o(txd_count0));
  dingo_fifo #(.Width(TXD_W), .LogDepth(TXD_LOG)) u_txd1 (
      .clk_i, .rst_ni, .valid_i(txd_valid_i[1]), .ready_o(txd_ready_o[1]), .data_i(rsp_txd_i),
      .valid_o(txd_valid[1]), .ready_i(txd_pop[1]), .data_o(txd1), .count_o(txd_count1));
  dingo_fifo #(.Width(SEG_W), .LogDepth(SEG_LOG)) u_seg0 (
      .clk_i, .rst_ni, .valid_i(seg_valid_i[0]), .ready_o(seg_ready_o[0]), .data_i(req_seg_i),
      .valid_o(seg_valid[0]), .ready_i(seg_pop[0]), .data_o(seg0), .count_o(seg_count0));
  dingo_fifo #(.Width(SEG_W), .LogDepth(SEG_LOG)) u_seg1 (
      .clk_i, .rst_ni, .valid_i(seg_valid_i[1]), .ready_o(seg_ready_o[1]), .data_i(rsp_seg_i),
      .valid_o(seg_valid[1]), .ready_i(seg_pop[1]), .data_o(seg1), .count_o(seg_count1));
  dingo_fifo #(.Width(rtl_pkg::BEAT_W), .LogDepth(INL_LOG)) u_inl (
      .clk_i, .rst_ni, .valid_i(inl_valid_i), .ready_o(inl_ready_o), .data_i(inl_i),
      .valid_o(inl_valid_o), .ready_i(inl_ready_i), .data_o(inl_o), .count_o(inl_count));
  dingo_fifo #(.Width(TXD_W), .LogDepth(OUT_LOG)) u_out (
      .clk_i, .rst_ni, .valid_i(out_valid), .ready_o(out_ready), .data_i(txd),
      .valid_o(txd_valid_o), .ready_i(txd_ready_i), .data_o(txd_o), .count_o(out_count));

  assign room_o[0] = txd_count0 < (TXD_LOG + 1)'(2) && seg_count0 <= (SEG_LOG + 1)'(SEG_ROOM) && inl_count <= (INL_LOG + 1)'(INL_ROOM);
  assign room_o[1] = txd_count1 < (TXD_LOG + 1)'(2) && seg_count1 <= (SEG_LOG + 1)'(SEG_ROOM);
  assign idle_o = state_q == HEAD && txd_valid == 2'd0 && seg_valid == 2'd0 && !inl_valid_o && out_count == '0;

  assign fits = ahead_q < AHEAD;
  assign want = state_q == HEAD ? txd_valid & {fits || txd1.len == '0, fits || txd0.len == '0} : 2'd0;
  dingo_arb #(.N(2)) u_arb (.clk_i, .rst_ni, .req_i(want), .take_i(out_ready), .grant_o(grant));

  assign txd = grant[1] ? txd1 : txd0;
  assign out_valid = grant != 2'd0;
  assign txd_pop = out_ready ? grant : 2'd0;
  assign has_segs = !txd.inl && txd.len != 13'd0;

  assign seg_o = who_q ? seg1 : seg0;
  assign seg_rsp_o = who_q;
  assign seg_valid_o = state_q == SEGS && seg_valid[who_q];
  assign seg_pop[0] = state_q == SEGS && !who_q && seg_ready_i;
  assign seg_pop[1] = state_q == SEGS && who_q && seg_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= HEAD;
      who_q <= 1'b0;
      ahead_q <= '0;
    end else begin
      ahead_q <= ahead_q + (out_valid && out_ready ? {3'd0, txd.len} : 16'd0) - (txd_valid_o && txd_ready_i ? {3'd0, txd_o.len} : 16'd0);
      if (state_q == HEAD) begin
        if (out_valid && out_ready && has_segs) begin
          state_q <= SEGS;
          who_q <= grant[1];
        end
      end else if (seg_valid_o && seg_ready_i && seg_o.last) state_q <= HEAD;
    end
  end
endmodule
