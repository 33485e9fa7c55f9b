// SPDX-License-Identifier: BSD-2-Clause

/// The card: everything between PCIe and the MAC. On a board, dingo_pcie or a bridge drives the AXI4-Lite slaves,
/// serves the AXI4 master and sends MSI-X messages (it has their table); `now_ns_i` is a counter of nanoseconds. A
/// function-level reset (CTRL.RESET) resets all but the registers and the guards at the bus and the MAC.
module dingo_card #(
    parameter int unsigned DropWhenFull = 0       // the MAC ignores tready: see dingo_rx_mac
) (
    input  logic            clk_i,
    input  logic            rst_ni,
    input  rtl_pkg::strap_t strap_i,
    input  logic [63:0]     now_ns_i,
    input  logic            wire_up_i,          // the cable is connected
    output logic            idle_o,           // nothing to do before an input changes or a timer fires
    output logic [25:0]     busy_o,           // parts that are not idle, for debugging; bits: see its assignment
    output logic            ready_o,          // STATUS.READY: reset is over
    output logic            timer_valid_o,    // a timer runs
    output logic [63:0]     timer_next_o,     // no timer fires before this time
    output logic            msix_valid_o,
    input  logic            msix_ready_i,
    output logic [5:0]      msix_vector_o,
    // AXI4-Lite, BAR_REGS
    input  logic            s_reg_awvalid_i,
    output logic            s_reg_awready_o,
    input  logic [15:0]     s_reg_awaddr_i,
    input  logic            s_reg_wvalid_i,
    output logic            s_reg_wready_o,
    input  logic [63:0]     s_reg_wdata_i,
    input  logic [7:0]      s_reg_wstrb_i,
    output logic            s_reg_bvalid_o,
    input  logic            s_reg_bready_i,
    input  logic            s_reg_arvalid_i,
    output logic            s_reg_arready_o,
    input  logic [15:0]     s_reg_araddr_i,
    output logic            s_reg_rvalid_o,
    input  logic            s_reg_rready_i,
    output logic [63:0]     s_reg_rdata_o,
    // AXI4-Lite, BAR_DB
    input  logic            s_db_awvalid_i,
    output logic            s_db_awready_o,
    input  logic [rtl_pkg::DB_PAGE_LOG+11:0] s_db_awaddr_i,
    input  logic            s_db_wvalid_i,
    output logic            s_db_wready_o,
    input  logic [63:0]     s_db_wdata_i,
    input  logic [7:0]      s_db_wstrb_i,
    output logic            s_db_bvalid_o,
    input  logic            s_db_bready_i,
    input  logic            s_db_arvalid_i,
    output logic            s_db_arready_o,
    output logic            s_db_rvalid_o,
    input  logic            s_db_rready_i,
    output logic [63:0]     s_db_rdata_o,
    // AXI4-Lite of 512 bits, push pages of BAR_DB. To keep PCIe's order, the master begins a write here or to s_db only
    // when the write before it has been answered.
    input  logic            s_push_awvalid_i,
    output logic            s_push_awready_o,
    input  logic [rtl_pkg::PUSH_PAGE_LOG+11:0] s_push_awaddr_i,
    input  logic            s_push_wvalid_i,
    output logic            s_push_wready_o,
    input  logic [511:0]    s_push_wdata_i,
    input  logic [63:0]     s_push_wstrb_i,
    output logic            s_push_bvalid_o,
    input  logic            s_push_bready_i,
    // AXI4 master
    output logic            m_axi_arvalid_o,
    input  logic            m_axi_arready_i,
    output logic [6:0]      m_axi_arid_o,
    output logic [63:0]     m_axi_araddr_o,
    output logic [7:0]      m_axi_arlen_o,
    input  logic            m_axi_rvalid_i,
    output logic            m_axi_rready_o,
    input  logic [6:0]      m_axi_rid_i,
    input  logic [511:0]    m_axi_rdata_i,
    input  logic [1:0]      m_axi_rresp_i,
    input  logic            m_axi_rlast_i,
    output logic            m_axi_awvalid_o,
    input  logic            m_axi_awready_i,
    output logic [63:0]     m_axi_awaddr_o,
    output logic [7:0]      m_axi_awlen_o,
    output logic            m_axi_wvalid_o,
    input  logic            m_axi_wready_i,
    output logic [511:0]    m_axi_wdata_o,
    output logic [63:0]     m_axi_wstrb_o,
    output logic            m_axi_wlast_o,
    input  logic            m_axi_bvalid_i,
    output logic            m_axi_bready_o,
    input  logic [1:0]      m_axi_bresp_i,
    // AXI-Stream to and from the MAC
    output logic            m_axis_tvalid_o,
    input  logic            m_axis_tready_i,
    output logic [511:0]    m_axis_tdata_o,
    output logic [63:0]     m_axis_tkeep_o,
    output logic            m_axis_tlast_o,
    output logic            m_axis_tuser_o,   // with tlast: the frame is invalid, the MAC must give it a bad FCS
    output logic            m_axis_tdest_o,   // a RoCE frame
    input  logic            roce_stop_i,      // begin no RoCE frame: pause by the peer, or many wait in the MAC
    input  logic            s_axis_tvalid_i,
    output logic            s_axis_tready_o,
    input  logic [511:0]    s_axis_tdata_i,
    input  logic [63:0]     s_axis_tkeep_i,
    input  logic            s_axis_tlast_i,
    input  logic            s_axis_tuser_i,
    input  logic [2:0]      rx_dropped_i,     // frames of this cycle that were dropped for lack of room
    input  logic [2:0]      rx_bad_i          // frames of this cycle that the MAC dropped as bad
);
  localparam int unsigned LINES = rtl_pkg::LINES;
  localparam int unsigned READS = rtl_pkg::READS;
  localparam int unsigned WRITES = rtl_pkg::WRITES;
  localparam int unsigned LW = rtl_pkg::RDL_REQ_W;
  localparam int unsigned DW = rtl_pkg::DMA_REQ_W;
  localparam int unsigned BW = rtl_pkg::BEAT_W;
  localparam int unsigned SW = rtl_pkg::STAT_W;
  localparam int unsigned QW = rtl_pkg::QSTAT_W;

  // ------------------------------------------------------------------------------------ host memory, reset
  logic soft_reset, core_rst_n;
  logic [LINES-1:0] line_valid, line_ready, line_rsp_valid;
  logic [LINES*LW-1:0] line_req;
  rtl_pkg::rdl_rsp_t line_rsp;
  logic [READS-1:0] read_valid, read_ready, read_rsp_valid, read_rsp_ready;
  logic [READS*DW-1:0] read_req;
  logic [READS*BW-1:0] read_rsp;
  logic [WRITES-1:0] write_valid, write_ready, wdata_valid, wdata_ready, done_valid;
  logic [WRITES*DW-1:0] write_req;
  logic [WRITES*BW-1:0] wdata;
  logic done_err;

  rtl_pkg::orders_t orders;     // of commands
  rtl_pkg::answers_t answers;

  logic [7:0] stat_valid, stat_ready;   // ports 0 to 6 of dingo_stats, and STAT_HOST
  logic [8*SW-1:0] stat;
  logic [rtl_pkg::QSTATS-1:0] qstat_valid, qstat_ready;
  logic [rtl_pkg::QSTATS*QW-1:0] qstat;

  dingo_memory i_memory (
      .clk_i, .rst_ni, .soft_reset_i(soft_reset), .core_rst_no(core_rst_n), .line_valid_i(line_valid),
      .line_ready_o(line_ready), .line_i(line_req), .line_rsp_valid_o(line_rsp_valid), .line_rsp_o(line_rsp),
      .read_valid_i(read_valid), .read_ready_o(read_ready), .read_i(read_req), .read_rsp_valid_o(read_rsp_valid),
      .read_rsp_ready_i(read_rsp_ready), .read_rsp_o(read_rsp), .write_valid_i(write_valid), .write_ready_o(write_ready),
      .write_i(write_req), .wdata_valid_i(wdata_valid), .wdata_ready_o(wdata_ready), .wdata_i(wdata), .done_valid_o(done_valid),
      .done_err_o(done_err), .stat_valid_o(stat_valid[7]), .stat_ready_i(stat_ready[7]), .stat_o(stat[7*SW+:SW]),
      .m_axi_arvalid_o, .m_axi_arready_i, .m_axi_arid_o, .m_axi_araddr_o, .m_axi_arlen_o, .m_axi_rvalid_i, .m_axi_rready_o,
      .m_axi_rid_i, .m_axi_rdata_i, .m_axi_rresp_i, .m_axi_rlast_i, .m_axi_awvalid_o, .m_axi_awready_i, .m_axi_awaddr_o,
      .m_axi_awlen_o, .m_axi_wvalid_o, .m_axi_wready_i, .m_axi_wdata_o, .m_axi_wstrb_o, .m_axi_wlast_o, .m_axi_bvalid_i,
      .m_axi_bready_o, .m_axi_bresp_i
  );

  // ------------------------------------------------------------------------------------ control
  rtl_pkg::ask_t req_ask, rsp_ask;
  rtl_pkg::told_t req_told, rsp_told;
  rtl_pkg::bell_t bell;
  rtl_pkg::bell_taken_t bell_taken;
  rtl_pkg::compute_cfg_t compute_cfg;
  rtl_pkg::port_t port;
  rtl_pkg::qp_t qp_dispatch;
  rtl_pkg::qpi_t qp_index;
  rtl_pkg::push_t push;
  rtl_pkg::cq_fail_t cq_fail;
  logic regs_idle, admin_idle, stats_idle, db_idle, db_valid, halt_tx, halt_rx, tx_idle, rx_idle, link, qp_re;
  logic compute_valid, compute_ready, push_valid, push_ready;
  logic [(1<<rtl_pkg::GID_LOG)*rtl_pkg::GID_W-1:0] gids;
  logic [(1<<rtl_pkg::GID_LOG)-1:0] gid_valid;
  logic [(1<<rtl_pkg::MAC_LOG)-1:0] mac_valid;
  logic [(1<<rtl_pkg::MAC_LOG)*48-1:0] macs;
  logic [1:0] ev_valid, ev_ready;      // requester, responder
  logic [2*rtl_pkg::EV_W-1:0] ev;
  logic [3:0] cqe_valid, cqe_ready;    // requester, responder, Ethernet transmit, receive
  logic [4*rtl_pkg::CQE_REQ_W-1:0] cqe;
  logic cq_idle, eq_idle, ev_waits, cq_due, cq_rsp_done, cq_timer;
  logic [63:0] cq_timer_next;

  dingo_control i_control (
      .clk_i, .rst_ni, .core_rst_ni(core_rst_n), .ready_o, .soft_reset_o(soft_reset), .strap_i, .now_ns_i, .wire_up_i,
      .regs_idle_o(regs_idle), .admin_idle_o(admin_idle), .stats_idle_o(stats_idle), .db_idle_o(db_idle), .db_valid_o(db_valid),
      .halt_tx_o(halt_tx), .tx_idle_i(tx_idle), .halt_rx_o(halt_rx), .rx_idle_i(rx_idle), .orders_o(orders), .answers_i(answers),
      .compute_valid_o(compute_valid), .compute_ready_i(compute_ready), .compute_o(compute_cfg), .port_o(port), .link_o(link),
      .gids_o(gids), .gid_valid_o(gid_valid), .mac_valid_o(mac_valid), .macs_o(macs), .req_ask_i(req_ask), .req_told_o(req_told),
      .rsp_ask_i(rsp_ask), .rsp_told_o(rsp_told), .qp_re_i(qp_re), .qp_index_i(qp_index), .qp_o(qp_dispatch), .bell_o(bell),
      .bell_taken_i(bell_taken), .push_valid_o(push_valid), .push_ready_i(push_ready), .push_o(push),
      .cq_idle_o(cq_idle), .eq_idle_o(eq_idle), .ev_waits_o(ev_waits), .cq_due_o(cq_due), .timer_valid_o(cq_timer),
      .timer_next_o(cq_timer_next), .cqe_valid_i(cqe_valid), .cqe_ready_o(cqe_ready), .cqe_i(cqe), .cq_fail_o(cq_fail),
      .cq_rsp_done_o(cq_rsp_done), .ev_valid_i(ev_valid), .ev_ready_o(ev_ready), .ev_i(ev), .msix_valid_o, .msix_ready_i,
      .msix_vector_o, .stat_valid_i(stat_valid), .stat_ready_o(stat_ready), .stat_i(stat),
      .qstat_valid_i(qstat_valid), .qstat_ready_o(qstat_ready), .qstat_i(qstat),
      .line_valid_o({line_valid[rtl_pkg::LINE_XL_EQ], line_valid[rtl_pkg::LINE_XL_CQ], line_valid[rtl_pkg::LINE_ADMIN]}),
      .line_ready_i({line_ready[rtl_pkg::LINE_XL_EQ], line_ready[rtl_pkg::LINE_XL_CQ], line_ready[rtl_pkg::LINE_ADMIN]}),
      .line_o({line_req[rtl_pkg::LINE_XL_EQ*LW+:LW], line_req[rtl_pkg::LINE_XL_CQ*LW+:LW], line_req[rtl_pkg::LINE_ADMIN*LW+:LW]}),
      .line_rsp_valid_i({line_rsp_valid[rtl_pkg::LINE_XL_EQ], line_rsp_valid[rtl_pkg::LINE_XL_CQ],
                         line_rsp_valid[rtl_pkg::LINE_ADMIN]}),
      .line_rsp_i(line_rsp), .write_valid_o(write_valid[rtl_pkg::WRITE_CQ+:3]),
      .write_ready_i(write_ready[rtl_pkg::WRITE_CQ+:3]), .write_o(write_req[rtl_pkg::WRITE_CQ*DW+:3*DW]),
      .wdata_valid_o(wdata_valid[rtl_pkg::WRITE_CQ+:3]), .wdata_ready_i(wdata_ready[rtl_pkg::WRITE_CQ+:3]),
      .wdata_o(wdata[rtl_pkg::WRITE_CQ*BW+:3*BW]), .done_valid_i(done_valid[rtl_pkg::WRITE_CQ+:3]), .done_err_i(done_err),
      .s_reg_awvalid_i, .s_reg_awready_o, .s_reg_awaddr_i, .s_reg_wvalid_i, .s_reg_wready_o, .s_reg_wdata_i, .s_reg_wstrb_i,
      .s_reg_bvalid_o, .s_reg_bready_i, .s_reg_arvalid_i, .s_reg_arready_o, .s_reg_araddr_i, .s_reg_rvalid_o,
      .s_reg_rready_i, .s_reg_rdata_o, .s_db_awvalid_i, .s_db_awready_o, .s_db_awaddr_i, .s_db_wvalid_i, .s_db_wready_o,
      .s_db_wdata_i, .s_db_wstrb_i, .s_db_bvalid_o, .s_db_bready_i, .s_db_arvalid_i, .s_db_arready_o, .s_db_rvalid_o,
      .s_db_rready_i, .s_db_rdata_o, .s_push_awvalid_i, .s_push_awready_o, .s_push_awaddr_i, .s_push_wvalid_i,
      .s_push_wready_o, .s_push_wdata_i, .s_push_wstrb_i, .s_push_bvalid_o, .s_push_bready_i
  );

  // ------------------------------------------------------------------------------------ transport
  rtl_pkg::rest_t rest;
  logic req_work, rsp_work, req_timer;
  logic [63:0] req_timer_next;         // all ones when no timer runs
  logic txd_valid, txd_ready, payload_out_valid, payload_out_ready, txerr_req_valid, txerr_req_ready, txerr_rsp_valid, txerr_rsp_ready;
  rtl_pkg::txd_t txd;
  rtl_pkg::txerr_t txerr;
  logic rxh_valid, rxh_ready, payload_valid, payload_ready;
  rtl_pkg::rxh_t rxh;
  rtl_pkg::beat_t payload, payload_out;
  dingo_transport i_transport (
      .clk_i, .rst_ni(core_rst_n), .halt_tx_i(halt_tx), .halt_rx_i(halt_rx), .rest_o(rest), .req_work_o(req_work),
      .rsp_work_o(rsp_work), .timer_valid_o(req_timer), .timer_next_o(req_timer_next), .now_ns_i, .orders_i(orders),
      .answers_o(answers), .compute_valid_i(compute_valid), .compute_ready_o(compute_ready), .compute_i(compute_cfg),
      .port_mtu_i(port.mtu), .gids_i(gids), .gid_valid_i(gid_valid), .req_ask_o(req_ask), .req_told_i(req_told),
      .rsp_ask_o(rsp_ask), .rsp_told_i(rsp_told), .qp_re_o(qp_re), .qp_index_o(qp_index), .qp_i(qp_dispatch), .bell_i(bell),
      .sq_bell_taken_o(bell_taken.sq), .rq_bell_taken_o(bell_taken.rq), .push_valid_i(push_valid), .push_ready_o(push_ready),
      .push_i(push), .txd_valid_o(txd_valid), .txd_ready_i(txd_ready), .txd_o(txd), .payload_valid_o(payload_out_valid),
      .payload_ready_i(payload_out_ready), .payload_o(payload_out), .req_txerr_valid_i(txerr_req_valid),
      .req_txerr_ready_o(txerr_req_ready), .rsp_txerr_valid_i(txerr_rsp_valid), .rsp_txerr_ready_o(txerr_rsp_ready),
      .txerr_i(txerr), .rxh_valid_i(rxh_valid), .rxh_ready_o(rxh_ready), .rxh_i(rxh), .rx_payload_valid_i(payload_valid),
      .rx_payload_ready_o(payload_ready), .rx_payload_i(payload), .cqe_valid_o(cqe_valid[1:0]), .cqe_ready_i(cqe_ready[1:0]),
      .cqe_o(cqe[0+:2*rtl_pkg::CQE_REQ_W]), .cq_fail_i(cq_fail), .cq_rsp_done_i(cq_rsp_done), .ev_valid_o(ev_valid[1:0]),
      .ev_ready_i(ev_ready[1:0]), .ev_o(ev), .stat_valid_o(stat_valid[rtl_pkg::STAT_REQ+:3]),
      .stat_ready_i(stat_ready[rtl_pkg::STAT_REQ+:3]), .stat_o(stat[rtl_pkg::STAT_REQ*SW+:3*SW]),
      .qstat_valid_o(qstat_valid[rtl_pkg::QSTAT_DISPATCH+:3]), .qstat_ready_i(qstat_ready[rtl_pkg::QSTAT_DISPATCH+:3]),
      .qstat_o(qstat[rtl_pkg::QSTAT_DISPATCH*QW+:3*QW]), .read_valid_o(read_valid[rtl_pkg::READ_TX]),
      .read_ready_i(read_ready[rtl_pkg::READ_TX]), .read_o(read_req[rtl_pkg::READ_TX*DW+:DW]),
      .read_rsp_valid_i(read_rsp_valid[rtl_pkg::READ_TX]), .read_rsp_ready_o(read_rsp_ready[rtl_pkg::READ_TX]),
      .read_rsp_i(read_rsp[rtl_pkg::READ_TX*BW+:BW]), .write_valid_o(write_valid[rtl_pkg::WRITE_RX]),
      .write_ready_i(write_ready[rtl_pkg::WRITE_RX]), .write_o(write_req[rtl_pkg::WRITE_RX*DW+:DW]),
      .wdata_valid_o(wdata_valid[rtl_pkg::WRITE_RX]), .wdata_ready_i(wdata_ready[rtl_pkg::WRITE_RX]),
      .wdata_o(wdata[rtl_pkg::WRITE_RX*BW+:BW]), .done_valid_i(done_valid[rtl_pkg::WRITE_RX]), .done_err_i(done_err),
      .line_valid_o({line_valid[rtl_pkg::LINE_ATOMIC], line_valid[rtl_pkg::LINE_SQ+:2], line_valid[rtl_pkg::LINE_XL_TX+:4]}),
      .line_ready_i({line_ready[rtl_pkg::LINE_ATOMIC], line_ready[rtl_pkg::LINE_SQ+:2], line_ready[rtl_pkg::LINE_XL_TX+:4]}),
      .line_o({line_req[rtl_pkg::LINE_ATOMIC*LW+:LW], line_req[rtl_pkg::LINE_SQ*LW+:2*LW], line_req[rtl_pkg::LINE_XL_TX*LW+:4*LW]}),
      .line_rsp_valid_i({line_rsp_valid[rtl_pkg::LINE_ATOMIC], line_rsp_valid[rtl_pkg::LINE_SQ+:2],
                         line_rsp_valid[rtl_pkg::LINE_XL_TX+:4]}), .line_rsp_i(line_rsp)
  );

  // ------------------------------------------------------------------------------------ Ethernet function
  logic eth_tx_idle, eth_rx_idle, eth_tx_valid, eth_tx_ready, eth_rx_valid, eth_rx_ready;
  rtl_pkg::beat_t eth_tx, eth_rx;
  rtl_pkg::eth_csum_t eth_csum;

  dingo_eth i_eth (
      .clk_i, .rst_ni(core_rst_n), .strap_i, .halt_i(halt_tx), .tx_idle_o(eth_tx_idle), .rx_idle_o(eth_rx_idle),
      .orders_i(orders), .port_i(port), .link_i(link), .mac_valid_i(mac_valid), .macs_i(macs), .bell_i(bell),
      .tx_bad_o(bell_taken.etx_bad), .rx_bad_o(bell_taken.erx_bad), .tx_valid_o(eth_tx_valid), .tx_ready_i(eth_tx_ready),
      .tx_o(eth_tx), .tx_csum_o(eth_csum), .rx_valid_i(eth_rx_valid), .rx_ready_o(eth_rx_ready), .rx_i(eth_rx),
      .cqe_valid_o(cqe_valid[3:2]), .cqe_ready_i(cqe_ready[3:2]), .cqe_o(cqe[2*rtl_pkg::CQE_REQ_W+:2*rtl_pkg::CQE_REQ_W]),
      .cq_fail_i(cq_fail), .stat_valid_o(stat_valid[rtl_pkg::STAT_ETX+:2]), .stat_ready_i(stat_ready[rtl_pkg::STAT_ETX+:2]),
      .stat_o(stat[rtl_pkg::STAT_ETX*SW+:2*SW]), .read_valid_o(read_valid[rtl_pkg::READ_ETX]),
      .read_ready_i(read_ready[rtl_pkg::READ_ETX]), .read_o(read_req[rtl_pkg::READ_ETX*DW+:DW]),
      .read_rsp_valid_i(read_rsp_valid[rtl_pkg::READ_ETX]), .read_rsp_ready_o(read_rsp_ready[rtl_pkg::READ_ETX]),
      .read_rsp_i(read_rsp[rtl_pkg::READ_ETX*BW+:BW]), .write_valid_o(write_valid[rtl_pkg::WRITE_ERX]),
      .write_ready_i(write_ready[rtl_pkg::WRITE_ERX]), .write_o(write_req[rtl_pkg::WRITE_ERX*DW+:DW]),
      .wdata_valid_o(wdata_valid[rtl_pkg::WRITE_ERX]), .wdata_ready_i(wdata_ready[rtl_pkg::WRITE_ERX]),
      .wdata_o(wdata[rtl_pkg::WRITE_ERX*BW+:BW]), .done_valid_i(done_valid[rtl_pkg::WRITE_ERX]), .done_err_i(done_err),
      .line_valid_o({line_valid[rtl_pkg::LINE_ETX+:2], line_valid[rtl_pkg::LINE_XL_ETX+:2]}),
      .line_ready_i({line_ready[rtl_pkg::LINE_ETX+:2], line_ready[rtl_pkg::LINE_XL_ETX+:2]}),
      .line_o({line_req[rtl_pkg::LINE_ETX*LW+:2*LW], line_req[rtl_pkg::LINE_XL_ETX*LW+:2*LW]}),
      .line_rsp_valid_i({line_rsp_valid[rtl_pkg::LINE_ETX+:2], line_rsp_valid[rtl_pkg::LINE_XL_ETX+:2]}), .line_rsp_i(line_rsp)
  );

  // ------------------------------------------------------------------------------------ frames
  logic wire_tx_idle, wire_rx_idle;
  dingo_frames #(.DropWhenFull(DropWhenFull)) i_frames (
      .clk_i, .rst_ni, .core_rst_ni(core_rst_n), .tx_idle_o(wire_tx_idle), .rx_idle_o(wire_rx_idle), .halt_i(halt_tx),
      .port_i(port), .link_i(link), .gids_i(gids), .mac_valid_i(mac_valid), .macs_i(macs), .txd_valid_i(txd_valid),
      .txd_ready_o(txd_ready), .txd_i(txd), .payload_valid_i(payload_out_valid), .payload_ready_o(payload_out_ready),
      .payload_i(payload_out), .req_err_valid_o(txerr_req_valid), .req_err_ready_i(txerr_req_ready),
      .rsp_err_valid_o(txerr_rsp_valid), .rsp_err_ready_i(txerr_rsp_ready), .err_o(txerr), .rxh_valid_o(rxh_valid),
      .rxh_ready_i(rxh_ready), .rxh_o(rxh), .payload_valid_o(payload_valid), .payload_ready_i(payload_ready),
      .payload_o(payload), .eth_valid_i(eth_tx_valid), .eth_ready_o(eth_tx_ready), .eth_i(eth_tx), .eth_csum_i(eth_csum),
      .eth_valid_o(eth_rx_valid), .eth_ready_i(eth_rx_ready), .eth_o(eth_rx), .stat_valid_o(stat_valid[rtl_pkg::STAT_TX+:2]),
      .stat_ready_i(stat_ready[rtl_pkg::STAT_TX+:2]), .stat_o(stat[rtl_pkg::STAT_TX*SW+:2*SW]),
      .qstat_valid_o(qstat_valid[rtl_pkg::QSTAT_TX]), .qstat_ready_i(qstat_ready[rtl_pkg::QSTAT_TX]),
      .qstat_o(qstat[rtl_pkg::QSTAT_TX*QW+:QW]), .m_axis_tvalid_o, .m_axis_tready_i, .m_axis_tdata_o, .m_axis_tkeep_o,
      .m_axis_tlast_o, .m_axis_tuser_o, .m_axis_tdest_o, .roce_stop_i, .s_axis_tvalid_i, .s_axis_tready_o, .s_axis_tdata_i,
      .s_axis_tkeep_i, .s_axis_tlast_i, .s_axis_tuser_i, .rx_dropped_i, .rx_bad_i
  );

  // ------------------------------------------------------------------------------------ rest
  // Sending is at rest when no engine begins a packet, no payload is being read (payload already read may still be
  // sent) and no descriptor waits, because it looks up its QP's compute kernel later. dingo_control adds doorbells to
  // rx_idle.
  assign tx_idle = rest.req_tx && rest.rsp_tx && rest.tx_mux && rest.gather && eth_tx_idle && eth_rx_idle;
  assign rx_idle = rest.dispatch && rest.scatter && rest.req && rest.rsp && cq_idle && eq_idle;
  assign timer_valid_o = req_timer || cq_timer;
  assign timer_next_o = req_timer_next < cq_timer_next ? req_timer_next : cq_timer_next;
  assign busy_o = {
      !rest.compute, !regs_idle,                                                                           // 25, 24
      ev_waits, msix_valid_o, rxh_valid, db_valid, rsp_work, req_work, !wire_rx_idle, !wire_tx_idle,  // 23..16
      !rest.tx_mux, !stats_idle, !admin_idle, !db_idle, !eq_idle, !cq_idle || cq_due, !rest.rsp, !rest.req || !rest.req_timers,  // 15..8
      !rest.scatter, !rest.dispatch, !eth_rx_idle, !eth_tx_idle, !rest.gather, !rest.rsp_tx, !rest.req_tx, !ready_o};
  assign idle_o = busy_o == '0;

endmodule
