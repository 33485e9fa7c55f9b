// SPDX-License-Identifier: BSD-2-Clause

/// A drain of dingo_axi_guard that begins in the second or third cycle ends within 10 cycles if the bus takes and
/// answers everything from then on, even when the core stops in the middle of a burst. Bursts have one or two beats.
module axi_drain_props (
    input logic clk_i,
    input logic arvalid_i,
    input logic awvalid_i,
    input logic long_i,
    input logic wvalid_i,
    input logic ready_i,   // the bus is ready, before the drain
    input logic answer_i   // the bus answers, before the drain
);
  logic rst_ni = 1'b0;
  logic drain, drained, arvalid, awvalid, wvalid, wlast, ready, rvalid, bvalid, rready, bready;
  (* anyconst *) wire when_drain;
  logic [4:0] time_q = 5'd0;
  logic [2:0] reads_q = 3'd0, addrs_q = 3'd0, datas_q = 3'd0;

  assign drain  = time_q > {4'd0, when_drain};
  assign ready  = ready_i || drain;
  assign rvalid = reads_q != 3'd0 && (answer_i || drain);
  assign bvalid = addrs_q != 3'd0 && datas_q != 3'd0 && (answer_i || drain);

  dingo_axi_guard dut (
      .clk_i, .rst_ni, .drain_i(drain), .drained_o(drained),
      .arvalid_i, .arready_o(), .arid_i(7'd0), .araddr_i(64'd0), .arlen_i(8'd0),
      .rvalid_o(), .rready_i(1'b1), .awvalid_i, .awready_o(), .awaddr_i(64'd0), .awlen_i({7'd0, long_i}),
      .wvalid_i, .wready_o(), .wdata_i(512'd0), .wstrb_i(64'd0), .wlast_i(1'b0), .bvalid_o(), .bready_i(1'b1),
      .m_arvalid_o(arvalid), .m_arready_i(ready), .m_arid_o(), .m_araddr_o(), .m_arlen_o(),
      .m_rvalid_i(rvalid), .m_rready_o(rready), .m_rlast_i(1'b1),
      .m_awvalid_o(awvalid), .m_awready_i(ready), .m_awaddr_o(), .m_awlen_o(),
      .m_wvalid_o(wvalid), .m_wready_i(ready), .m_wdata_o(), .m_wstrb_o(), .m_wlast_o(wlast),
      .m_bvalid_i(bvalid), .m_bready_o(bready)
  );

  always_ff @(posedge clk_i) begin
    rst_ni <= 1'b1;
    if (rst_ni) begin
      time_q  <= time_q + {4'd0, time_q != 5'd31};
      reads_q <= reads_q + 3'(arvalid && ready) - 3'(rvalid && rready);
      addrs_q <= addrs_q + 3'(awvalid && ready) - 3'(bvalid && bready);
      datas_q <= datas_q + 3'(wvalid && ready && wlast) - 3'(bvalid && bready);
    end
  end

  always_comb begin
    if (time_q >= {4'd0, when_drain} + 5'd10) begin
      a_ends : assert (drained);
    end
    if (drained) begin
      a_quiet : assert (reads_q == 3'd0 && addrs_q == 3'd0 && datas_q == 3'd0);
    end
  end
endmodule
