// SPDX-License-Identifier: BSD-2-Clause

/// Bench: dingo_eth_tx and dingo_eth_rx connected to dingo_host as in the card. Ports of both are vectors of two
/// bits: bit 0 is transmit, bit 1 receive.
module eth_bench (
    input  logic     clk_i,
    input  logic     rst_ni,
    input  logic     halt_i,
    input  logic     xl_flush_i,
    input  logic     link_i,
    input  rtl_pkg::port_t port_i,
    input  logic [(1<<rtl_pkg::MAC_LOG)-1:0]    mac_valid_i,
    input  logic [(1<<rtl_pkg::MAC_LOG)*48-1:0] macs_i,
    input  logic [1:0] cfg_valid_i,      // bit 0 transmit, bit 1 receive, here and below
    input  rtl_pkg::eth_cfg_t cfg_i,
    input  logic     rss_valid_i,
    input  rtl_pkg::rss_t rss_i,
    input  logic [1:0] db_valid_i,
    input  rtl_pkg::ethi_t db_ring_i,
    input  logic [31:0] db_index_i,
    output logic [1:0] db_bad_o,
    output logic [1:0] idle_o,
    output logic     out_valid_o,
    input  logic     out_ready_i,
    output rtl_pkg::beat_t out_o,
    output rtl_pkg::eth_csum_t csum_o,
    input  logic     offloads_i,
    input  logic     in_valid_i,
    output logic     in_ready_o,
    input  rtl_pkg::beat_t in_i,
    output logic [1:0] cqe_valid_o,
    input  logic [1:0] cqe_ready_i,
    output rtl_pkg::cqe_req_t tx_cqe_o,
    output rtl_pkg::cqe_req_t rx_cqe_o,
    input  logic [1:0] cq_failed_i,
    input  rtl_pkg::ethi_t cq_failed_ring_i,
    output logic [1:0] stat_valid_o,
    input  logic [1:0] stat_ready_i,
    output rtl_pkg::stat_t tx_stat_o,
    output rtl_pkg::stat_t rx_stat_o,
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
  localparam int unsigned W = rtl_pkg::RDL_REQ_W;
  localparam int unsigned TX = rtl_pkg::LINE_ETX;
  localparam int unsigned RX = rtl_pkg::LINE_ERX;
  localparam int unsigned XTX = rtl_pkg::LINE_XL_ETX;
  localparam int unsigned XRX = rtl_pkg::LINE_XL_ERX;
  localparam int unsigned RD = rtl_pkg::READ_ETX;
  localparam int unsigned WR = rtl_pkg::WRITE_ERX;

  logic tx_desc_valid, rx_desc_valid, tx_line_valid, rx_line_valid;
  logic [rtl_pkg::LINES-1:0] line_valid, line_ready, line_rsp_valid;
  logic [rtl_pkg::LINES*W-1:0] line;
  rtl_pkg::rdl_req_t tx_desc, rx_desc, tx_line, rx_line;
  rtl_pkg::rdl_rsp_t line_rsp;
  logic tx_read_valid, tx_rsp_ready, rx_write_valid, rx_wdata_valid;
  logic [rtl_pkg::READS-1:0] read_valid, read_ready, read_rsp_valid, read_rsp_ready;
  logic [rtl_pkg::READS*rtl_pkg::DMA_REQ_W-1:0] reads;
  logic [rtl_pkg::READS*rtl_pkg::BEAT_W-1:0] read_rsp;
  logic [rtl_pkg::WRITES-1:0] write_valid, write_ready, wdata_valid, wdata_ready, done_valid;
  logic [rtl_pkg::WRITES*rtl_pkg::DMA_REQ_W-1:0] writes;
  logic [rtl_pkg::WRITES*rtl_pkg::BEAT_W-1:0] wdatas;
  rtl_pkg::dma_req_t read, write;
  rtl_pkg::beat_t wdata;
  logic done_err, stat_valid, host_idle;
  rtl_pkg::stat_t stat;

  always_comb begin
    line_valid = '0;
    line_valid[TX] = tx_desc_valid;
    line_valid[RX] = rx_desc_valid;
    line_valid[XTX] = tx_line_valid;
    line_valid[XRX] = rx_line_valid;
    line = '0;
    line[TX*W +: W] = tx_desc;
    line[RX*W +: W] = rx_desc;
    line[XTX*W +: W] = tx_line;
    line[XRX*W +: W] = rx_line;
    read_valid = '0;
    read_valid[RD] = tx_read_valid;
    read_rsp_ready = '0;
    read_rsp_ready[RD] = tx_rsp_ready;
    reads = '0;
    reads[RD*rtl_pkg::DMA_REQ_W +: rtl_pkg::DMA_REQ_W] = read;
    write_valid = '0;
    write_valid[WR] = rx_write_valid;
    wdata_valid = '0;
    wdata_valid[WR] = rx_wdata_valid;
    writes = '0;
    writes[WR*rtl_pkg::DMA_REQ_W +: rtl_pkg::DMA_REQ_W] = write;
    wdatas = '0;
    wdatas[WR*rtl_pkg::BEAT_W +: rtl_pkg::BEAT_W] = wdata;
  end

  dingo_eth_tx u_tx (
      .clk_i, .rst_ni, .halt_i, .idle_o(idle_o[0]), .xl_flush_i, .port_i, .link_i, .cfg_valid_i(cfg_valid_i[0]),
      .cfg_i, .db_valid_i(db_valid_i[0]), .db_ring_i, .db_index_i,
      .db_bad_o(db_bad_o[0]), .frame_valid_o(out_valid_o), .frame_ready_i(out_ready_i), .frame_o(out_o), .csum_o, .offloads_i,
      .cqe_valid_o(cqe_valid_o[0]), .cqe_ready_i(cqe_ready_i[0]), .cqe_o(tx_cqe_o),
      .cq_failed_i(cq_failed_i[0]), .cq_failed_ring_i, .stat_valid_o(stat_valid_o[0]), .stat_ready_i(stat_ready_i[0]),
      .stat_o(tx_stat_o), .read_valid_o(tx_read_valid), .read_ready_i(read_ready[RD]), .read_o(read),
      .read_rsp_valid_i(read_rsp_valid[RD]), .read_rsp_ready_o(tx_rsp_ready),
      .read_rsp_i(read_rsp[RD*rtl_pkg::BEAT_W +: rtl_pkg::BEAT_W]), .desc_valid_o(tx_desc_valid),
      .desc_ready_i(line_ready[TX]), .desc_o(tx_desc), .desc_rsp_valid_i(line_rsp_valid[TX]),
      .line_valid_o(tx_line_valid), .line_ready_i(line_ready[XTX]), .line_o(tx_line),
      .line_rsp_valid_i(line_rsp_valid[XTX]), .line_rsp_i(line_rsp)
  );
  dingo_eth_rx u_rx (
      .clk_i, .rst_ni, .halt_i, .idle_o(idle_o[1]), .xl_flush_i, .port_i, .offloads_i, .mac_valid_i, .macs_i,
      .cfg_valid_i(cfg_valid_i[1]), .cfg_i, .rss_valid_i, .rss_i,
      .db_valid_i(db_valid_i[1]), .db_ring_i, .db_index_i, .db_bad_o(db_bad_o[1]), .frame_valid_i(in_valid_i),
      .frame_ready_o(in_ready_o), .frame_i(in_i), .cqe_valid_o(cqe_valid_o[1]), .cqe_ready_i(cqe_ready_i[1]),
      .cqe_o(rx_cqe_o), .cq_failed_i(cq_failed_i[1]), .cq_failed_ring_i, .stat_valid_o(stat_valid_o[1]),
      .stat_ready_i(stat_ready_i[1]), .stat_o(rx_stat_o), .write_valid_o(rx_write_valid),
      .write_ready_i(write_ready[WR]), .write_o(write), .wdata_valid_o(rx_wdata_valid),
      .wdata_ready_i(wdata_ready[WR]), .wdata_o(wdata), .done_valid_i(done_valid[WR]), .done_err_i(done_err),
      .desc_valid_o(rx_desc_valid), .desc_ready_i(line_ready[RX]), .desc_o(rx_desc),
      .desc_rsp_valid_i(line_rsp_valid[RX]), .line_valid_o(rx_line_valid), .line_ready_i(line_ready[XRX]),
      .line_o(rx_line), .line_rsp_valid_i(line_rsp_valid[XRX]), .line_rsp_i(line_rsp)
  );
  dingo_host u_host (
      .clk_i, .rst_ni,
      .line_valid_i(line_valid), .line_ready_o(line_ready), .line_i(line),
      .line_rsp_valid_o(line_rsp_valid), .line_rsp_o(line_rsp),
      .read_valid_i(read_valid), .read_ready_o(read_ready), .read_i(reads),
      .read_rsp_valid_o(read_rsp_valid), .read_rsp_ready_i(read_rsp_ready), .read_rsp_o(read_rsp),
      .write_valid_i(write_valid), .write_ready_o(write_ready), .write_i(writes),
      .wdata_valid_i(wdata_valid), .wdata_ready_o(wdata_ready), .wdata_i(wdatas),
      .done_valid_o(done_valid), .done_err_o(done_err),
      .stat_valid_o(stat_valid), .stat_ready_i(1'b1), .stat_o(stat), .idle_o(host_idle),
      .m_axi_arvalid_o, .m_axi_arready_i, .m_axi_arid_o, .m_axi_araddr_o, .m_axi_arlen_o,
      .m_axi_rvalid_i, .m_axi_rready_o, .m_axi_rid_i, .m_axi_rdata_i, .m_axi_rresp_i, .m_axi_rlast_i,
      .m_axi_awvalid_o, .m_axi_awready_i, .m_axi_awaddr_o, .m_axi_awlen_o,
      .m_axi_wvalid_o, .m_axi_wready_i, .m_axi_wdata_o, .m_axi_wstrb_o, .m_axi_wlast_o,
      .m_axi_bvalid_i, .m_axi_bready_o, .m_axi_bresp_i
  );
  wire unused_ok = &{1'b0, stat_valid, stat, host_idle};
endmodule
