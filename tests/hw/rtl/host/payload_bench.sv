// SPDX-License-Identifier: BSD-2-Clause

/// Bench: dingo_gather and dingo_scatter connected to dingo_host as in the card.
module payload_bench (
    input  logic     clk_i,
    input  logic     rst_ni,
    input  logic     xl_flush_i,
    output logic     gather_idle_o,
    output logic     scatter_idle_o,
    output logic     host_idle_o,
    input  logic     seg_valid_i,
    output logic     seg_ready_o,
    input  rtl_pkg::seg_t  seg_i,
    output logic     beat_valid_o,
    input  logic     beat_ready_i,
    output rtl_pkg::beat_t beat_o,
    output logic     room_o,
    input  logic     scat_valid_i,
    output logic     scat_ready_o,
    input  rtl_pkg::scat_t scat_i,
    input  logic     payload_valid_i,
    output logic     payload_ready_o,
    input  rtl_pkg::beat_t payload_i,
    output logic     req_valid_o,
    input  logic     req_ready_i,
    output logic     rsp_valid_o,
    input  logic     rsp_ready_i,
    output rtl_pkg::commit_t commit_o,
    output logic         m_axi_arvalid_o,
    input  logic         m_axi_arready_i,
    output logic [  6:0] m_axi_arid_o,
    output logic [ 63:0] m_axi_araddr_o,
    output logic [  7:0] m_axi_arlen_o,
    input  logic         m_axi_rvalid_i,
    output logic         m_axi_rready_o,
    input  logic [  6:0] m_axi_rid_i,
    input  logic [511:0] m_axi_rdata_i,
    input  logic [  1:0] m_axi_rresp_i,
    input  logic         m_axi_rlast_i,
    output logic         m_axi_awvalid_o,
    input  logic         m_axi_awready_i,
    output logic [ 63:0] m_axi_awaddr_o,
    output logic [  7:0] m_axi_awlen_o,
    output logic         m_axi_wvalid_o,
    input  logic         m_axi_wready_i,
    output logic [511:0] m_axi_wdata_o,
    output logic [ 63:0] m_axi_wstrb_o,
    output logic         m_axi_wlast_o,
    input  logic         m_axi_bvalid_i,
    output logic         m_axi_bready_o,
    input  logic [  1:0] m_axi_bresp_i
);
  localparam int unsigned TX = rtl_pkg::LINE_XL_TX;
  localparam int unsigned RX = rtl_pkg::LINE_XL_RX;
  localparam int unsigned WORD = rtl_pkg::LINE_ATOMIC;

  logic [rtl_pkg::LINES-1:0] line_valid, line_ready, line_rsp_valid;
  logic [rtl_pkg::LINES*rtl_pkg::RDL_REQ_W-1:0] line;
  rtl_pkg::rdl_req_t tx_line, rx_line, word_line;
  rtl_pkg::rdl_rsp_t line_rsp;
  logic [rtl_pkg::READS-1:0] read_valid, read_ready, read_rsp_valid, read_rsp_ready;
  logic [rtl_pkg::READS*rtl_pkg::BEAT_W-1:0] read_rsp;
  logic [rtl_pkg::WRITES-1:0] write_valid, write_ready, wdata_valid, wdata_ready, done_valid;
  rtl_pkg::dma_req_t read, write;
  rtl_pkg::beat_t wdata;
  logic done_err, stat_valid;
  rtl_pkg::stat_t stat;

  always_comb begin
    line = '0;
    line[TX*rtl_pkg::RDL_REQ_W +: rtl_pkg::RDL_REQ_W] = tx_line;
    line[RX*rtl_pkg::RDL_REQ_W +: rtl_pkg::RDL_REQ_W] = rx_line;
    line[WORD*rtl_pkg::RDL_REQ_W +: rtl_pkg::RDL_REQ_W] = word_line;
  end
  assign line_valid[0] = 1'b0;
  assign line_valid[rtl_pkg::LINES-2:3] = '0;
  assign read_valid[1] = 1'b0;
  assign read_rsp_ready[1] = 1'b0;
  assign write_valid[rtl_pkg::WRITES-1:1] = '0;
  assign wdata_valid[rtl_pkg::WRITES-1:1] = '0;

  dingo_gather u_gather (
      .clk_i, .rst_ni, .idle_o(gather_idle_o), .packet_read_o(), .xl_flush_i,
      .seg_valid_i, .seg_ready_o, .seg_i, .beat_valid_o, .beat_ready_i, .beat_o,
      .read_valid_o(read_valid[0]), .read_ready_i(read_ready[0]), .read_o(read),
      .read_rsp_valid_i(read_rsp_valid[0]), .read_rsp_ready_o(read_rsp_ready[0]),
      .read_rsp_i(read_rsp[0 +: rtl_pkg::BEAT_W]),
      .line_valid_o(line_valid[TX]), .line_ready_i(line_ready[TX]), .line_o(tx_line),
      .line_rsp_valid_i(line_rsp_valid[TX]), .line_rsp_i(line_rsp)
  );
  dingo_scatter u_scatter (
      .clk_i, .rst_ni, .idle_o(scatter_idle_o), .packet_done_o(), .room_o, .xl_flush_i,
      .scat_valid_i, .scat_ready_o, .scat_i, .payload_valid_i, .payload_ready_o, .payload_i,
      .req_valid_o, .req_ready_i, .rsp_valid_o, .rsp_ready_i, .commit_o,
      .write_valid_o(write_valid[0]), .write_ready_i(write_ready[0]), .write_o(write),
      .wdata_valid_o(wdata_valid[0]), .wdata_ready_i(wdata_ready[0]), .wdata_o(wdata),
      .done_valid_i(done_valid[0]), .done_err_i(done_err),
      .word_valid_o(line_valid[WORD]), .word_ready_i(line_ready[WORD]), .word_o(word_line),
      .word_rsp_valid_i(line_rsp_valid[WORD]),
      .line_valid_o(line_valid[RX]), .line_ready_i(line_ready[RX]), .line_o(rx_line),
      .line_rsp_valid_i(line_rsp_valid[RX]), .line_rsp_i(line_rsp)
  );
  dingo_host u_host (
      .clk_i, .rst_ni,
      .line_valid_i(line_valid), .line_ready_o(line_ready), .line_i(line),
      .line_rsp_valid_o(line_rsp_valid), .line_rsp_o(line_rsp),
      .read_valid_i(read_valid), .read_ready_o(read_ready), .read_i({{rtl_pkg::DMA_REQ_W{1'b0}}, read}),
      .read_rsp_valid_o(read_rsp_valid), .read_rsp_ready_i(read_rsp_ready), .read_rsp_o(read_rsp),
      .write_valid_i(write_valid), .write_ready_o(write_ready),
      .write_i({{(rtl_pkg::WRITES-1)*rtl_pkg::DMA_REQ_W{1'b0}}, write}),
      .wdata_valid_i(wdata_valid), .wdata_ready_o(wdata_ready),
      .wdata_i({{(rtl_pkg::WRITES-1)*rtl_pkg::BEAT_W{1'b0}}, wdata}),
      .done_valid_o(done_valid), .done_err_o(done_err),
      .stat_valid_o(stat_valid), .stat_ready_i(1'b1), .stat_o(stat), .idle_o(host_idle_o),
      .m_axi_arvalid_o, .m_axi_arready_i, .m_axi_arid_o, .m_axi_araddr_o, .m_axi_arlen_o,
      .m_axi_rvalid_i, .m_axi_rready_o, .m_axi_rid_i, .m_axi_rdata_i, .m_axi_rresp_i, .m_axi_rlast_i,
      .m_axi_awvalid_o, .m_axi_awready_i, .m_axi_awaddr_o, .m_axi_awlen_o,
      .m_axi_wvalid_o, .m_axi_wready_i, .m_axi_wdata_o, .m_axi_wstrb_o, .m_axi_wlast_o,
      .m_axi_bvalid_i, .m_axi_bready_o, .m_axi_bresp_i
  );
  wire unused_ok = &{1'b0, line_ready, line_rsp_valid, read_rsp, read_ready, read_rsp_valid, write_ready,
                     wdata_ready, done_valid, stat_valid, stat};
endmodule
