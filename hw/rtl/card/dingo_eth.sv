// SPDX-License-Identifier: BSD-2-Clause

/// The Ethernet function of the card: transmit rings (dingo_eth_tx) and receive rings (dingo_eth_rx).
module dingo_eth (
    input  logic                clk_i,
    input  logic                rst_ni,
    input  rtl_pkg::strap_t     strap_i,
    input  logic                halt_i,
    output logic                tx_idle_o,
    output logic                rx_idle_o,
    input  rtl_pkg::orders_t    orders_i,
    input  rtl_pkg::port_t      port_i,
    input  logic                link_i,
    input  logic [(1<<rtl_pkg::MAC_LOG)-1:0]    mac_valid_i,
    input  logic [(1<<rtl_pkg::MAC_LOG)*48-1:0] macs_i,
    input  rtl_pkg::bell_t      bell_i,
    output logic                tx_bad_o,      // doorbell of a ring that does not exist, or with an impossible index
    output logic                rx_bad_o,
    // frames to dingo_wire_tx, from dingo_wire_rx
    output logic                tx_valid_o,
    input  logic                tx_ready_i,
    output rtl_pkg::beat_t      tx_o,
    output rtl_pkg::eth_csum_t  tx_csum_o,
    input  logic                rx_valid_i,
    output logic                rx_ready_o,
    input  rtl_pkg::beat_t      rx_i,
    // 0 transmit, 1 receive
    output logic [1:0]          cqe_valid_o,
    input  logic [1:0]          cqe_ready_i,
    output logic [2*rtl_pkg::CQE_REQ_W-1:0] cqe_o,
    input  rtl_pkg::cq_fail_t   cq_fail_i,
    output logic [1:0]          stat_valid_o,
    input  logic [1:0]          stat_ready_i,
    output logic [2*rtl_pkg::STAT_W-1:0] stat_o,
    // dingo_host; lines: page lists of transmit, of receive, descriptors of transmit, of receive
    output logic                read_valid_o,
    input  logic                read_ready_i,
    output rtl_pkg::dma_req_t   read_o,
    input  logic                read_rsp_valid_i,
    output logic                read_rsp_ready_o,
    input  rtl_pkg::beat_t      read_rsp_i,
    output logic                write_valid_o,
    input  logic                write_ready_i,
    output rtl_pkg::dma_req_t   write_o,
    output logic                wdata_valid_o,
    input  logic                wdata_ready_i,
    output rtl_pkg::beat_t      wdata_o,
    input  logic                done_valid_i,
    input  logic                done_err_i,
    output logic [3:0]          line_valid_o,
    input  logic [3:0]          line_ready_i,
    output logic [4*rtl_pkg::RDL_REQ_W-1:0] line_o,
    input  logic [3:0]          line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t   line_rsp_i
);
  localparam int unsigned LW = rtl_pkg::RDL_REQ_W;
  localparam int unsigned SW = rtl_pkg::STAT_W;
  localparam int unsigned XL_TX = 0;
  localparam int unsigned XL_RX = 1;
  localparam int unsigned TX = 2;
  localparam int unsigned RX = 3;
  logic offloads;
  rtl_pkg::cqe_req_t cqe_etx, cqe_erx;
  assign offloads = (strap_i.withheld & dingo_pkg::CAP_ETH_OFFLOAD) == '0;
  assign cqe_o = {cqe_erx, cqe_etx};

  dingo_eth_tx i_eth_tx (
      .clk_i, .rst_ni, .halt_i(halt_i), .idle_o(tx_idle_o), .xl_flush_i(orders_i.xl_flush), .port_i(port_i),
      .link_i(link_i), .offloads_i(offloads), .csum_o(tx_csum_o), .cfg_valid_i(orders_i.etx_valid), .cfg_i(orders_i.eth),
      .db_valid_i(bell_i.etx), .db_ring_i(bell_i.db.word0[rtl_pkg::ETH_LOG-1:0]), .db_index_i(bell_i.db.index), .db_bad_o(tx_bad_o), .frame_valid_o(tx_valid_o), .frame_ready_i(tx_ready_i), .frame_o(tx_o),
      .cqe_valid_o(cqe_valid_o[0]), .cqe_ready_i(cqe_ready_i[0]), .cqe_o(cqe_etx), .cq_failed_i(cq_fail_i.etx), .cq_failed_ring_i(cq_fail_i.qp[rtl_pkg::ETH_LOG-1:0]),
      .stat_valid_o(stat_valid_o[0]), .stat_ready_i(stat_ready_i[0]),
      .stat_o(stat_o[0+:SW]), .read_valid_o(read_valid_o),
      .read_ready_i(read_ready_i), .read_o(read_o),
      .read_rsp_valid_i(read_rsp_valid_i), .read_rsp_ready_o(read_rsp_ready_o),
      .read_rsp_i(read_rsp_i), .desc_valid_o(line_valid_o[TX]),
      .desc_ready_i(line_ready_i[TX]), .desc_o(line_o[TX*LW+:LW]),
      .desc_rsp_valid_i(line_rsp_valid_i[TX]), .line_valid_o(line_valid_o[XL_TX]),
      .line_ready_i(line_ready_i[XL_TX]), .line_o(line_o[XL_TX*LW+:LW]),
      .line_rsp_valid_i(line_rsp_valid_i[XL_TX]), .line_rsp_i(line_rsp_i)
  );

  dingo_eth_rx i_eth_rx (
      .clk_i, .rst_ni, .halt_i(halt_i), .idle_o(rx_idle_o), .xl_flush_i(orders_i.xl_flush), .port_i(port_i), .offloads_i(offloads),
      .mac_valid_i, .macs_i, .cfg_valid_i(orders_i.erx_valid), .cfg_i(orders_i.eth), .rss_valid_i(orders_i.rss_valid),
      .rss_i(orders_i.rss), .db_valid_i(bell_i.erx), .db_ring_i(bell_i.db.word0[rtl_pkg::ETH_LOG-1:0]), .db_index_i(bell_i.db.index),
      .db_bad_o(rx_bad_o), .frame_valid_i(rx_valid_i), .frame_ready_o(rx_ready_o), .frame_i(rx_i),
      .cqe_valid_o(cqe_valid_o[1]), .cqe_ready_i(cqe_ready_i[1]), .cqe_o(cqe_erx), .cq_failed_i(cq_fail_i.erx), .cq_failed_ring_i(cq_fail_i.qp[rtl_pkg::ETH_LOG-1:0]),
      .stat_valid_o(stat_valid_o[1]), .stat_ready_i(stat_ready_i[1]),
      .stat_o(stat_o[SW+:SW]), .write_valid_o(write_valid_o),
      .write_ready_i(write_ready_i), .write_o(write_o),
      .wdata_valid_o(wdata_valid_o), .wdata_ready_i(wdata_ready_i),
      .wdata_o(wdata_o), .done_valid_i(done_valid_i),
      .done_err_i(done_err_i), .desc_valid_o(line_valid_o[RX]),
      .desc_ready_i(line_ready_i[RX]), .desc_o(line_o[RX*LW+:LW]),
      .desc_rsp_valid_i(line_rsp_valid_i[RX]), .line_valid_o(line_valid_o[XL_RX]),
      .line_ready_i(line_ready_i[XL_RX]), .line_o(line_o[XL_RX*LW+:LW]),
      .line_rsp_valid_i(line_rsp_valid_i[XL_RX]), .line_rsp_i(line_rsp_i)
  );

  wire unused_ok = &{1'b0, strap_i, orders_i, bell_i, cq_fail_i};
endmodule
