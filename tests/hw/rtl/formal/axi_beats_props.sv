// SPDX-License-Identifier: BSD-2-Clause

/// Properties of single beats of dingo_axi_guard, also when the drain begins in the middle of a burst:
/// valid stays with the same content until ready; any one burst has the beats that its address announced;
/// write data never precedes its address; no byte is enabled that the core did not give. Bursts of at most 3 beats.
module axi_beats_props (
    input logic       clk_i,
    input logic       drain_i,
    input logic       mark_i,
    input logic       awvalid_i,
    input logic [1:0] awlen_i,
    input logic       arvalid_i,
    input logic [1:0] arid_i,
    input logic       wvalid_i,
    input logic [1:0] wdata_i,
    input logic       m_arready_i,
    input logic       m_awready_i,
    input logic       m_wready_i,
    input logic       m_rvalid_i,
    input logic       m_bvalid_i
);
  logic rst_ni = 1'b0;
  logic arready, arvalid, awready, awvalid, wready, wvalid, wlast, rready, bready;
  logic [63:0] awaddr, strb;
  logic [511:0] data;
  logic [7:0] len;
  logic [6:0] arid;

  dingo_axi_guard dut (
      .clk_i, .rst_ni, .drain_i, .drained_o(),
      .arvalid_i, .arready_o(arready), .arid_i({5'd0, arid_i}), .araddr_i(64'd0), .arlen_i(8'd0),
      .rvalid_o(), .rready_i(1'b1), .awvalid_i, .awready_o(awready), .awaddr_i({62'd0, awlen_i}), .awlen_i({6'd0, awlen_i}),
      .wvalid_i, .wready_o(wready), .wdata_i({510'd0, wdata_i}), .wstrb_i({64{1'b1}}), .wlast_i(1'b0),
      .bvalid_o(), .bready_i(1'b1),
      .m_arvalid_o(arvalid), .m_arready_i, .m_arid_o(arid), .m_araddr_o(), .m_arlen_o(),
      .m_rvalid_i, .m_rready_o(rready), .m_rlast_i(1'b1),
      .m_awvalid_o(awvalid), .m_awready_i, .m_awaddr_o(awaddr), .m_awlen_o(len),
      .m_wvalid_o(wvalid), .m_wready_i, .m_wdata_o(data), .m_wstrb_o(strb), .m_wlast_o(wlast),
      .m_bvalid_i, .m_bready_o(bready)
  );

  logic aw_take, w_take;
  logic held_q = 1'b0;                                     // the marked burst is on its way
  logic [3:0] ahead_q;                                     // bursts whose data comes before its data
  logic [1:0] len_q, beat_q;
  logic [3:0] bursts_q = 4'd0, strobed_q = 4'd0;           // accepted, not at the bus: bursts, beats with bytes
  logic [3:0] reads_q = 4'd0, addrs_q = 4'd0, datas_q = 4'd0;  // at the bus, not answered
  logic was_ar_q = 1'b0, was_aw_q = 1'b0, was_w_q = 1'b0;  // offered and not taken
  logic [6:0] ar_q;
  logic [1:0] aw_q;
  logic [66:0] w_q;

  assign aw_take = awvalid_i && awready;
  assign w_take  = wvalid && m_wready_i;

  always_ff @(posedge clk_i) begin
    rst_ni   <= 1'b1;
    was_ar_q <= rst_ni && arvalid && !m_arready_i;
    was_aw_q <= rst_ni && awvalid && !m_awready_i;
    was_w_q  <= rst_ni && wvalid && !m_wready_i;
    ar_q     <= arid;
    aw_q     <= awaddr[1:0];
    w_q      <= {wlast, strb, data[1:0]};
    if (rst_ni) begin
      bursts_q  <= bursts_q + 4'(aw_take) - 4'(w_take && wlast);
      strobed_q <= strobed_q + 4'(wvalid_i && wready) - 4'(w_take && strb != 64'd0);
      reads_q   <= reads_q + 4'(arvalid && m_arready_i) - 4'(m_rvalid_i && rready);
      addrs_q   <= addrs_q + 4'(awvalid && m_awready_i) - 4'(m_bvalid_i && bready);
      datas_q   <= datas_q + 4'(w_take && wlast) - 4'(m_bvalid_i && bready);
      if (!held_q) begin
        if (aw_take && mark_i) begin
          held_q  <= 1'b1;
          len_q   <= awlen_i;
          beat_q  <= 2'd0;
          ahead_q <= bursts_q - 4'(w_take && wlast);
        end
      end else if (w_take) begin
        if (ahead_q == 4'd0) begin
          beat_q <= beat_q + 2'd1;
          if (wlast) held_q <= 1'b0;
        end else if (wlast) ahead_q <= ahead_q - 4'd1;
      end
    end
  end

  always_comb begin
    assume (awlen_i != 2'd3);
    if (m_rvalid_i) assume (reads_q != 4'd0);
    if (m_bvalid_i) assume (addrs_q != 4'd0 && datas_q != 4'd0);
    if (rst_ni) begin
      if (was_ar_q) begin
        a_ar : assert (arvalid && arid == ar_q);
      end
      if (was_aw_q) begin
        a_aw : assert (awvalid && awaddr[1:0] == aw_q && len == {6'd0, aw_q});
      end
      if (was_w_q) begin
        a_w : assert (wvalid && {wlast, strb, data[1:0]} == w_q);
      end
      if (wvalid) begin
        a_follows : assert (bursts_q != 4'd0);
        a_bytes : assert (strb == 64'd0 || strobed_q != 4'd0);
        a_whole : assert (strb == 64'd0 || strb == {64{1'b1}});
        if (held_q && ahead_q == 4'd0) begin
          a_beats : assert (wlast == (beat_q == len_q));
        end
      end
    end
  end
endmodule
