// SPDX-License-Identifier: BSD-2-Clause

/// The card: everything between PCIe and the MAC. On a board dingo_pcie, or a bridge, drives the AXI4-Lite
/// slaves, serves the AXI4 master and sends MSI-X messages (their table is there); `now_ns_i` is a
/// counter of nanoseconds. A function-level reset (CTRL.RESET) resets all but the registers.
module dingo_card #(
    parameter int unsigned DropWhenFull = 0       // a MAC that does not wait for tready: see dingo_rx_mac
) (
    input  logic            clk_i,
    input  logic            rst_ni,
    input  rtl_pkg::strap_t strap_i,
    input  logic [63:0]     now_ns_i,
    input  logic            wire_up_i,          // the wire is plugged
    output logic            idle_o,           // nothing to do until an input or a timer
    output logic [25:0]     busy_o,           // which parts are not idle, to find a hang; see the end
    output logic            ready_o,          // STATUS.READY: reset is over
    output logic            timer_valid_o,    // some timer runs
    output logic [63:0]     timer_next_o,     // and none fires before this time
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
    // AXI4-Lite of 512 bits, push pages of BAR_DB. Writes here and to s_db keep PCIe's order: one begins when the one before
    // it has been answered.
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
    output logic            m_axis_tuser_o,   // with tlast: the frame is void, its FCS must be wrong
    output logic            m_axis_tdest_o,   // a RoCE frame
    input  logic            roce_stop_i,      // begin no RoCE frame: the peer asked for a pause, or the MAC is full of them
    input  logic            s_axis_tvalid_i,
    output logic            s_axis_tready_o,
    input  logic [511:0]    s_axis_tdata_i,
    input  logic [63:0]     s_axis_tkeep_i,
    input  logic            s_axis_tlast_i,
    input  logic            s_axis_tuser_i,
    input  logic [2:0]      rx_dropped_i,     // so many frames more that found no room on their way here
    input  logic [2:0]      rx_bad_i          // or that the MAC found bad, dropped there
);
  localparam int unsigned QP_LOG = rtl_pkg::QP_LOG;
  localparam int unsigned LINES = rtl_pkg::LINES;
  localparam int unsigned READS = rtl_pkg::READS;
  localparam int unsigned WRITES = rtl_pkg::WRITES;
  localparam int unsigned STATS = rtl_pkg::STATS;
  localparam int unsigned QSTATS = rtl_pkg::QSTATS;
  localparam int unsigned LW = rtl_pkg::RDL_REQ_W;
  localparam int unsigned DW = rtl_pkg::DMA_REQ_W;
  localparam int unsigned BW = rtl_pkg::BEAT_W;
  localparam int unsigned SW = rtl_pkg::STAT_W;
  localparam int unsigned QW = rtl_pkg::QSTAT_W;

  // ------------------------------------------------------------------------------------ reset
  // A function-level reset holds the core down until the bus is quiet (dingo_axi_guard), at least 16 cycles.
  logic soft_reset, core_rst_n_q, drained, host_idle;
  logic [3:0] reset_count_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || soft_reset) begin
      core_rst_n_q  <= 1'b0;
      reset_count_q <= 4'd15;
    end else if (reset_count_q != '0) reset_count_q <= reset_count_q - 1'b1;
    else if (drained) core_rst_n_q <= 1'b1;
  end

  // ------------------------------------------------------------------------------------ host memory
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

  logic [STATS-1:0] stat_valid, stat_ready;
  logic [STATS*SW-1:0] stat;
  logic [QSTATS-1:0] qstat_valid, qstat_ready;
  logic [QSTATS*QW-1:0] qstat;

  logic c_arvalid, c_arready, c_rvalid, c_rready, c_awvalid, c_awready, c_wvalid, c_wready, c_wlast;
  logic c_bvalid, c_bready;
  logic [6:0] c_arid;
  logic [63:0] c_araddr, c_awaddr, c_wstrb;
  logic [7:0] c_arlen, c_awlen;
  logic [511:0] c_wdata;

  dingo_host i_host (
      .clk_i, .rst_ni(core_rst_n_q), .line_valid_i(line_valid), .line_ready_o(line_ready), .line_i(line_req),
      .line_rsp_valid_o(line_rsp_valid), .line_rsp_o(line_rsp), .read_valid_i(read_valid), .read_ready_o(read_ready),
      .read_i(read_req), .read_rsp_valid_o(read_rsp_valid), .read_rsp_ready_i(read_rsp_ready), .read_rsp_o(read_rsp),
      .write_valid_i(write_valid), .write_ready_o(write_ready), .write_i(write_req), .wdata_valid_i(wdata_valid),
      .wdata_ready_o(wdata_ready), .wdata_i(wdata), .done_valid_o(done_valid), .done_err_o(done_err),
      .stat_valid_o(stat_valid[rtl_pkg::STAT_HOST]), .stat_ready_i(stat_ready[rtl_pkg::STAT_HOST]),
      .stat_o(stat[rtl_pkg::STAT_HOST*SW+:SW]), .idle_o(host_idle), .m_axi_arvalid_o(c_arvalid),
      .m_axi_arready_i(c_arready), .m_axi_arid_o(c_arid), .m_axi_araddr_o(c_araddr), .m_axi_arlen_o(c_arlen),
      .m_axi_rvalid_i(c_rvalid), .m_axi_rready_o(c_rready), .m_axi_rid_i, .m_axi_rdata_i, .m_axi_rresp_i,
      .m_axi_rlast_i, .m_axi_awvalid_o(c_awvalid), .m_axi_awready_i(c_awready), .m_axi_awaddr_o(c_awaddr),
      .m_axi_awlen_o(c_awlen), .m_axi_wvalid_o(c_wvalid), .m_axi_wready_i(c_wready), .m_axi_wdata_o(c_wdata),
      .m_axi_wstrb_o(c_wstrb), .m_axi_wlast_o(c_wlast), .m_axi_bvalid_i(c_bvalid), .m_axi_bready_o(c_bready),
      .m_axi_bresp_i
  );

  dingo_axi_guard i_guard (
      .clk_i, .rst_ni, .drain_i(!core_rst_n_q), .drained_o(drained), .arvalid_i(c_arvalid), .arready_o(c_arready),
      .arid_i(c_arid), .araddr_i(c_araddr), .arlen_i(c_arlen), .rvalid_o(c_rvalid), .rready_i(c_rready),
      .awvalid_i(c_awvalid), .awready_o(c_awready), .awaddr_i(c_awaddr), .awlen_i(c_awlen), .wvalid_i(c_wvalid),
      .wready_o(c_wready), .wdata_i(c_wdata), .wstrb_i(c_wstrb), .wlast_i(c_wlast), .bvalid_o(c_bvalid),
      .bready_i(c_bready), .m_arvalid_o(m_axi_arvalid_o), .m_arready_i(m_axi_arready_i), .m_arid_o(m_axi_arid_o),
      .m_araddr_o(m_axi_araddr_o), .m_arlen_o(m_axi_arlen_o), .m_rvalid_i(m_axi_rvalid_i),
      .m_rready_o(m_axi_rready_o), .m_rlast_i(m_axi_rlast_i), .m_awvalid_o(m_axi_awvalid_o),
      .m_awready_i(m_axi_awready_i), .m_awaddr_o(m_axi_awaddr_o), .m_awlen_o(m_axi_awlen_o),
      .m_wvalid_o(m_axi_wvalid_o), .m_wready_i(m_axi_wready_i), .m_wdata_o(m_axi_wdata_o), .m_wstrb_o(m_axi_wstrb_o),
      .m_wlast_o(m_axi_wlast_o), .m_bvalid_i(m_axi_bvalid_i), .m_bready_o(m_axi_bready_o)
  );

  // ------------------------------------------------------------------------------------ registers, commands, tables
  logic aq_enable;
  logic [3:0] aq_log_depth;
  logic [63:0] asq_base, acq_base;
  logic [31:0] asq_producer, asq_consumer;
  logic fatal_valid, regs_idle, admin_idle;
  logic [31:0] fatal_code;
  logic link, qp_ready, mr_ready;
  logic db_valid, db_ready, db_crowded;
  rtl_pkg::db_t db;
  logic order_valid, order_done, push_drop, push_valid, push_ready;
  rtl_pkg::push_order_t order;
  rtl_pkg::push_t push;

  assign ready_o = core_rst_n_q && qp_ready && mr_ready;

  dingo_regs i_regs (
      .clk_i, .rst_ni, .idle_o(regs_idle), .strap_i, .now_ns_i, .ready_i(ready_o), .link_up_i(link), .fatal_valid_i(fatal_valid),
      .fatal_code_i(fatal_code), .soft_reset_o(soft_reset), .aq_enable_o(aq_enable), .aq_log_depth_o(aq_log_depth),
      .asq_base_o(asq_base), .acq_base_o(acq_base), .asq_producer_o(asq_producer), .asq_consumer_i(asq_consumer), .aq_idle_i(admin_idle), .db_valid_o(db_valid),
      .db_ready_i(db_ready), .db_o(db), .db_crowded_o(db_crowded), .push_valid_o(order_valid), .push_o(order),
      .push_done_i(order_done), .push_drop_i(push_drop), .stat_valid_o(stat_valid[rtl_pkg::STAT_REGS]),
      .stat_ready_i(stat_ready[rtl_pkg::STAT_REGS]), .stat_o(stat[rtl_pkg::STAT_REGS*SW+:SW]), .s_reg_awvalid_i,
      .s_reg_awready_o, .s_reg_awaddr_i, .s_reg_wvalid_i, .s_reg_wready_o, .s_reg_wdata_i, .s_reg_wstrb_i,
      .s_reg_bvalid_o, .s_reg_bready_i, .s_reg_arvalid_i, .s_reg_arready_o, .s_reg_araddr_i, .s_reg_rvalid_o,
      .s_reg_rready_i, .s_reg_rdata_o, .s_db_awvalid_i, .s_db_awready_o, .s_db_awaddr_i, .s_db_wvalid_i,
      .s_db_wready_o, .s_db_wdata_i, .s_db_wstrb_i, .s_db_bvalid_o, .s_db_bready_i, .s_db_arvalid_i, .s_db_arready_o,
      .s_db_rvalid_o, .s_db_rready_i, .s_db_rdata_o
  );

  rtl_pkg::port_t port;
  logic [(1<<rtl_pkg::GID_LOG)*rtl_pkg::GID_W-1:0] gids;
  logic [(1<<rtl_pkg::GID_LOG)-1:0] gid_valid;
  logic [(1<<rtl_pkg::MAC_LOG)-1:0] mac_valid;
  logic [(1<<rtl_pkg::MAC_LOG)*48-1:0] macs;
  logic [3:0] ev_valid, ev_ready;   // requester, responder, CQ, port
  rtl_pkg::ev_t ev_req, ev_rsp, ev_cq, ev_port;

  dingo_port i_port (
      .clk_i, .strap_i, .rst_ni(core_rst_n_q), .wire_up_i, .port_we_i(orders.port_we), .port_i(orders.port), .gid_we_i(orders.gid_we),
      .gid_index_i(orders.gid_index), .gid_i(orders.gid), .mac_we_i(orders.mac_we), .mac_index_i(orders.mac_index),
      .mac_valid_i(orders.mac_valid), .mac_i(orders.mac), .port_o(port), .link_o(link), .gids_o(gids),
      .gid_valid_o(gid_valid), .mac_valid_o(mac_valid), .macs_o(macs), .ev_valid_o(ev_valid[3]),
      .ev_ready_i(ev_ready[3]), .ev_o(ev_port)
  );

  // Readers of QP contexts: 0 commands, 1 dispatch, 2 requester, 3 responder
  logic [3:0] qp_re;
  logic [4*QP_LOG-1:0] qp_raddr;
  logic [4*rtl_pkg::QP_W-1:0] qp_rdata;
  rtl_pkg::qp_t qp_admin, qp_dispatch, qp_req, qp_rsp;
  assign {qp_rsp, qp_req, qp_dispatch, qp_admin} = qp_rdata;
  logic [2:0] state_we;             // commands, requester, responder
  logic [3*QP_LOG-1:0] state_index;
  logic [8:0] state_new;
  assign state_index[0+:QP_LOG] = orders.qp;
  assign state_we[0] = orders.qp_we;
  assign state_new[2:0] = orders.qp_state;

  dingo_qp_table i_qp_table (
      .clk_i, .rst_ni(core_rst_n_q), .ready_o(qp_ready), .re_i(qp_re), .raddr_i(qp_raddr), .rdata_o(qp_rdata),
      .we_i(orders.qp_we), .windex_i(orders.qp), .wdata_i(orders.qp_cfg), .state_we_i(state_we), .state_index_i(state_index),
      .state_i(state_new)
  );

  logic [1:0] mr_valid, mr_rsp_valid;  // requester, responder
  rtl_pkg::mr_req_t mr_req, mr_rsp;
  rtl_pkg::mr_rsp_t mr_answer_req, mr_answer_rsp;
  logic [2*rtl_pkg::MR_RSP_W-1:0] mr_answers;
  assign {mr_answer_rsp, mr_answer_req} = mr_answers;
  // Commands use the port of the table when they need it, work requests in between.
  logic mr_re, mr_we, work_re, work_we, mr_table_ready, work_ready;
  rtl_pkg::mri_t mr_index, work_index;
  rtl_pkg::mr_t mr_wdata, work_wdata, mr_rdata;
  logic [2:0] mrw_valid, mrw_done;     // requester, responder, commands
  rtl_pkg::mrw_req_t mrw_req, mrw_rsp, mrw_cmd;
  rtl_pkg::mrw_rsp_t mrw_answer;
  assign mr_ready = mr_table_ready && work_ready;

  dingo_mr_table i_mr_table (
      .clk_i, .rst_ni(core_rst_n_q), .ready_o(mr_table_ready), .req_valid_i(mr_valid), .req_i({mr_rsp,mr_req}),
      .rsp_valid_o(mr_rsp_valid), .rsp_o(mr_answers), .re_i(mr_re||work_re), .we_i(mr_we||work_we),
      .index_i(mr_re||mr_we?mr_index:work_index), .wdata_i(mr_we?mr_wdata:work_wdata), .rdata_o(mr_rdata)
  );
  dingo_mr_work i_mr_work (
      .clk_i, .rst_ni(core_rst_n_q), .ready_o(work_ready), .rsp_valid_i(mrw_valid[1]), .rsp_i(mrw_rsp),
      .rsp_done_o(mrw_done[1]), .req_valid_i(mrw_valid[0]), .req_i(mrw_req), .req_done_o(mrw_done[0]),
      .cmd_valid_i(mrw_valid[2]), .cmd_i(mrw_cmd), .cmd_done_o(mrw_done[2]), .answer_o(mrw_answer), .hold_i(mr_re||mr_we),
      .re_o(work_re), .we_o(work_we), .index_o(work_index), .wdata_o(work_wdata), .rdata_i(mr_rdata)
  );

  // Standing still: see docs/reference/rtl.md
  logic halt_tx, halt_rx, tx_idle, rx_idle;
  rtl_pkg::compute_cfg_t compute_cfg;
  logic clear_valid, clear_ready, sread_valid, sread_ready, sread_qp, value_valid;
  rtl_pkg::qpi_t clear_qp, sread_qpi;
  logic [5:0] sread_idx;
  logic [63:0] value;
  logic admin_irq;

  dingo_admin i_admin (
      .clk_i, .rst_ni(ready_o), .idle_o(admin_idle), .strap_i, .aq_enable_i(aq_enable), .aq_log_depth_i(aq_log_depth),
      .asq_base_i(asq_base), .acq_base_i(acq_base), .asq_producer_i(asq_producer), .asq_consumer_o(asq_consumer), .fatal_valid_o(fatal_valid),
      .fatal_code_o(fatal_code), .halt_tx_o(halt_tx), .tx_idle_i(tx_idle), .halt_rx_o(halt_rx), .rx_idle_i(rx_idle),
      .orders_o(orders), .answers_i(answers), .qp_re_o(qp_re[0]), .qp_rindex_o(qp_raddr[0+:QP_LOG]),
      .qp_rdata_i(qp_admin), .mr_re_o(mr_re), .mr_we_o(mr_we), .mr_index_o(mr_index),
      .mr_wdata_o(mr_wdata), .mr_rdata_i(mr_rdata), .mrw_valid_o(mrw_valid[2]), .mrw_o(mrw_cmd), .mrw_done_i(mrw_done[2]),
      .gids_i(gids), .compute_valid_o(compute_valid), .compute_ready_i(compute_ready), .compute_o(compute_cfg),
      .clear_valid_o(clear_valid), .clear_ready_i(clear_ready), .clear_qp_o(clear_qp), .read_valid_o(sread_valid),
      .read_ready_i(sread_ready), .read_qp_o(sread_qp), .read_qpi_o(sread_qpi), .read_idx_o(sread_idx),
      .value_valid_i(value_valid), .value_i(value), .irq_o(admin_irq), .stat_valid_o(stat_valid[rtl_pkg::STAT_ADMIN]),
      .stat_ready_i(stat_ready[rtl_pkg::STAT_ADMIN]), .stat_o(stat[rtl_pkg::STAT_ADMIN*SW+:SW]),
      .line_valid_o(line_valid[rtl_pkg::LINE_ADMIN]), .line_ready_i(line_ready[rtl_pkg::LINE_ADMIN]),
      .line_o(line_req[rtl_pkg::LINE_ADMIN*LW+:LW]), .line_rsp_valid_i(line_rsp_valid[rtl_pkg::LINE_ADMIN]),
      .line_rsp_i(line_rsp), .write_valid_o(write_valid[rtl_pkg::WRITE_ADMIN]),
      .write_ready_i(write_ready[rtl_pkg::WRITE_ADMIN]), .write_o(write_req[rtl_pkg::WRITE_ADMIN*DW+:DW]),
      .wdata_valid_o(wdata_valid[rtl_pkg::WRITE_ADMIN]), .wdata_ready_i(wdata_ready[rtl_pkg::WRITE_ADMIN]),
      .wdata_o(wdata[rtl_pkg::WRITE_ADMIN*BW+:BW]), .done_valid_i(done_valid[rtl_pkg::WRITE_ADMIN]),
      .done_err_i(done_err)
  );

  logic stats_idle;

  dingo_stats i_stats (
      .clk_i, .rst_ni(core_rst_n_q), .idle_o(stats_idle), .stat_valid_i(stat_valid), .stat_ready_o(stat_ready),
      .stat_i(stat), .qstat_valid_i(qstat_valid), .qstat_ready_o(qstat_ready), .qstat_i(qstat),
      .clear_valid_i(clear_valid), .clear_ready_o(clear_ready), .clear_qp_i(clear_qp), .read_valid_i(sread_valid),
      .read_ready_o(sread_ready), .read_qp_i(sread_qp), .read_qpi_i(sread_qpi), .read_idx_i(sread_idx),
      .value_valid_o(value_valid), .value_o(value)
  );

  // ------------------------------------------------------------------------------------ doorbells, CQs, EQs
  logic db_idle, sq_db_valid, sq_db_ready, rq_db_valid, rq_db_ready;
  logic cq_db_valid, cq_db_ready, eq_db_valid, eq_db_ready, etx_db_valid, etx_db_bad, erx_db_valid, erx_db_bad;
  rtl_pkg::qdb_t q_db;
  logic q_db_srq;
  rtl_pkg::db_t o_db;

  dingo_db i_db (
      .clk_i, .rst_ni(core_rst_n_q), .halt_i(halt_rx||!ready_o), .idle_o(db_idle), .crowded_i(db_crowded), .db_valid_i(db_valid),
      .db_ready_o(db_ready), .db_i(db), .qp_we_i(orders.qp_we), .qp_windex_i(orders.qp), .qp_wdata_i(orders.qp_cfg),
      .cq_we_i(orders.cq_valid && !orders.cq.resize && !orders.cq.moderate), .cq_wdata_i(orders.cq), .srq_we_i(orders.srq_valid), .srq_wdata_i(orders.srq),
      .sq_valid_o(sq_db_valid), .sq_ready_i(sq_db_ready), .rq_valid_o(rq_db_valid), .rq_ready_i(rq_db_ready),
      .q_o(q_db), .q_srq_o(q_db_srq), .cq_valid_o(cq_db_valid), .cq_ready_i(cq_db_ready), .eq_valid_o(eq_db_valid),
      .eq_ready_i(eq_db_ready), .etx_valid_o(etx_db_valid), .etx_bad_i(etx_db_bad), .erx_valid_o(erx_db_valid),
      .erx_bad_i(erx_db_bad), .db_o(o_db), .stat_valid_o(stat_valid[rtl_pkg::STAT_DB]),
      .stat_ready_i(stat_ready[rtl_pkg::STAT_DB]), .stat_o(stat[rtl_pkg::STAT_DB*SW+:SW])
  );

  dingo_push i_push (
      .clk_i, .rst_ni, .core_rst_ni(core_rst_n_q), .halt_i(halt_rx||!ready_o), .qp_we_i(orders.qp_we), .qp_windex_i(orders.qp),
      .qp_wdata_i(orders.qp_cfg), .order_valid_i(order_valid), .order_i(order), .order_done_o(order_done), .push_valid_o(push_valid),
      .push_ready_i(push_ready), .push_o(push), .drop_o(push_drop), .s_push_awvalid_i, .s_push_awready_o, .s_push_awaddr_i,
      .s_push_wvalid_i, .s_push_wready_o, .s_push_wdata_i, .s_push_wstrb_i, .s_push_bvalid_o, .s_push_bready_i
  );

  logic [3:0] cqe_valid, cqe_ready;    // requester, responder, Ethernet transmit, receive
  rtl_pkg::cqe_req_t cqe_req, cqe_rsp, cqe_etx, cqe_erx;
  logic cq_idle, cq_due, cq_fail_req, cq_fail_rsp, cq_fail_etx, cq_fail_erx, cq_rsp_done, comp_valid, comp_ready;
  rtl_pkg::qpi_t cq_fail_qp;
  rtl_pkg::eqi_t comp_eq;
  rtl_pkg::cqi_t comp_cq;

  dingo_cq i_cq (
      .clk_i, .rst_ni(core_rst_n_q), .idle_o(cq_idle), .halt_i(halt_rx), .due_o(cq_due), .timer_valid_o(cq_timer), .timer_next_o(cq_timer_next), .xl_flush_i(orders.xl_flush), .now_ns_i,
      .cfg_valid_i(orders.cq_valid),
      .cfg_i(orders.cq), .info_valid_o(answers.cq_valid), .info_o(answers.cq), .db_valid_i(cq_db_valid), .db_ready_o(cq_db_ready), .db_i(o_db), .cqe_valid_i(cqe_valid),
      .cqe_ready_o(cqe_ready), .cqe_i({cqe_erx,cqe_etx,cqe_rsp,cqe_req}), .req_fail_valid_o(cq_fail_req),
      .rsp_fail_valid_o(cq_fail_rsp), .fail_qp_o(cq_fail_qp), .etx_fail_o(cq_fail_etx), .erx_fail_o(cq_fail_erx), .rsp_done_o(cq_rsp_done),
      .comp_valid_o(comp_valid), .comp_ready_i(comp_ready), .comp_eq_o(comp_eq), .comp_cq_o(comp_cq),
      .ev_valid_o(ev_valid[2]), .ev_ready_i(ev_ready[2]), .ev_o(ev_cq), .stat_valid_o(stat_valid[rtl_pkg::STAT_CQ]),
      .stat_ready_i(stat_ready[rtl_pkg::STAT_CQ]), .stat_o(stat[rtl_pkg::STAT_CQ*SW+:SW]),
      .write_valid_o(write_valid[rtl_pkg::WRITE_CQ]), .write_ready_i(write_ready[rtl_pkg::WRITE_CQ]),
      .write_o(write_req[rtl_pkg::WRITE_CQ*DW+:DW]), .wdata_valid_o(wdata_valid[rtl_pkg::WRITE_CQ]),
      .wdata_ready_i(wdata_ready[rtl_pkg::WRITE_CQ]), .wdata_o(wdata[rtl_pkg::WRITE_CQ*BW+:BW]),
      .done_valid_i(done_valid[rtl_pkg::WRITE_CQ]), .done_err_i(done_err),
      .line_valid_o(line_valid[rtl_pkg::LINE_XL_CQ]), .line_ready_i(line_ready[rtl_pkg::LINE_XL_CQ]),
      .line_o(line_req[rtl_pkg::LINE_XL_CQ*LW+:LW]), .line_rsp_valid_i(line_rsp_valid[rtl_pkg::LINE_XL_CQ]),
      .line_rsp_i(line_rsp)
  );

  logic eq_idle;

  dingo_eq i_eq (
      .clk_i, .rst_ni(core_rst_n_q), .idle_o(eq_idle), .xl_flush_i(orders.xl_flush), .cfg_valid_i(orders.eq_valid),
      .cfg_i(orders.eq), .forget_valid_i(orders.forget_valid), .forget_i(orders.forget), .db_valid_i(eq_db_valid),
      .db_ready_o(eq_db_ready), .db_i(o_db), .comp_valid_i(comp_valid), .comp_ready_o(comp_ready),
      .comp_eq_i(comp_eq), .comp_cq_i(comp_cq), .ev_valid_i(ev_valid), .ev_ready_o(ev_ready),
      .ev_i({ev_port,ev_cq,ev_rsp,ev_req}), .fatal_valid_i(fatal_valid), .fatal_code_i(fatal_code), .admin_irq_i(admin_irq), .msix_valid_o, .msix_ready_i, .msix_vector_o,
      .stat_valid_o(stat_valid[rtl_pkg::STAT_EQ]), .stat_ready_i(stat_ready[rtl_pkg::STAT_EQ]),
      .stat_o(stat[rtl_pkg::STAT_EQ*SW+:SW]), .write_valid_o(write_valid[rtl_pkg::WRITE_EQ]),
      .write_ready_i(write_ready[rtl_pkg::WRITE_EQ]), .write_o(write_req[rtl_pkg::WRITE_EQ*DW+:DW]),
      .wdata_valid_o(wdata_valid[rtl_pkg::WRITE_EQ]), .wdata_ready_i(wdata_ready[rtl_pkg::WRITE_EQ]),
      .wdata_o(wdata[rtl_pkg::WRITE_EQ*BW+:BW]), .done_valid_i(done_valid[rtl_pkg::WRITE_EQ]), .done_err_i(done_err),
      .line_valid_o(line_valid[rtl_pkg::LINE_XL_EQ]), .line_ready_i(line_ready[rtl_pkg::LINE_XL_EQ]),
      .line_o(line_req[rtl_pkg::LINE_XL_EQ*LW+:LW]), .line_rsp_valid_i(line_rsp_valid[rtl_pkg::LINE_XL_EQ]),
      .line_rsp_i(line_rsp)
  );

  // ------------------------------------------------------------------------------------ frames out
  logic [1:0] tx_room, txd_valid, txd_ready, seg_valid, seg_ready;  // requester, responder
  rtl_pkg::txd_t txd_req, txd_rsp, txd;
  rtl_pkg::seg_t seg_req, seg_rsp, seg;
  logic inl_in_valid, inl_in_ready, inl_valid, inl_ready, txd_out_valid, txd_out_ready, seg_out_valid, seg_out_ready;
  rtl_pkg::beat_t inl_in, inl;
  // What was granted and is under way: dingo_req_settle counts it
  logic rxh_bare;
  rtl_pkg::flow_t flow;
  assign flow.rx_in = rxh_valid && rxh_ready && !rxh_bare;
  assign flow.tx_in = seg_valid[1] && seg_ready[1];
  assign flow.tx_order = seg_out_valid && seg_out_ready && seg.last;

  logic tx_mux_idle, gather_idle, gather_valid, gather_ready;
  rtl_pkg::beat_t gather, read_rsp_tx, read_rsp_etx;
  assign {read_rsp_etx, read_rsp_tx} = read_rsp;

  dingo_tx_mux i_tx_mux (
      .clk_i, .rst_ni(core_rst_n_q), .idle_o(tx_mux_idle), .room_o(tx_room), .txd_valid_i(txd_valid),
      .txd_ready_o(txd_ready), .req_txd_i(txd_req), .rsp_txd_i(txd_rsp), .seg_valid_i(seg_valid),
      .seg_ready_o(seg_ready), .req_seg_i(seg_req), .rsp_seg_i(seg_rsp), .inl_valid_i(inl_in_valid),
      .inl_ready_o(inl_in_ready), .inl_i(inl_in), .txd_valid_o(txd_out_valid), .txd_ready_i(txd_out_ready),
      .txd_o(txd), .seg_valid_o(seg_out_valid), .seg_ready_i(seg_out_ready), .seg_o(seg), .seg_rsp_o(flow.tx_order_rsp), .inl_valid_o(inl_valid),
      .inl_ready_i(inl_ready), .inl_o(inl)
  );

  dingo_gather i_gather (
      .clk_i, .rst_ni(core_rst_n_q), .idle_o(gather_idle), .packet_read_o(flow.tx_out), .xl_flush_i(orders.xl_flush), .seg_valid_i(seg_out_valid),
      .seg_ready_o(seg_out_ready), .seg_i(seg), .beat_valid_o(gather_valid), .beat_ready_i(gather_ready),
      .beat_o(gather), .read_valid_o(read_valid[rtl_pkg::READ_TX]), .read_ready_i(read_ready[rtl_pkg::READ_TX]),
      .read_o(read_req[rtl_pkg::READ_TX*DW+:DW]), .read_rsp_valid_i(read_rsp_valid[rtl_pkg::READ_TX]),
      .read_rsp_ready_o(read_rsp_ready[rtl_pkg::READ_TX]), .read_rsp_i(read_rsp_tx),
      .line_valid_o(line_valid[rtl_pkg::LINE_XL_TX]), .line_ready_i(line_ready[rtl_pkg::LINE_XL_TX]),
      .line_o(line_req[rtl_pkg::LINE_XL_TX*LW+:LW]), .line_rsp_valid_i(line_rsp_valid[rtl_pkg::LINE_XL_TX]),
      .line_rsp_i(line_rsp)
  );

  logic compute_idle, compute_valid, compute_ready, out_txd_valid, out_txd_ready, payload_out_valid, payload_out_ready;
  rtl_pkg::beat_t payload_out;

  dingo_compute_slot i_compute (
      .clk_i, .rst_ni(core_rst_n_q), .idle_o(compute_idle), .cfg_valid_i(compute_valid), .cfg_ready_o(compute_ready),
      .cfg_qp_i(compute_cfg.qp), .cfg_kernel_i(compute_cfg.kernel), .cfg_param_i(compute_cfg.param), .txd_valid_i(txd_out_valid),
      .txd_ready_o(txd_out_ready), .txd_i(txd), .txd_valid_o(out_txd_valid), .txd_ready_i(out_txd_ready),
      .gather_valid_i(gather_valid), .gather_ready_o(gather_ready), .gather_i(gather), .inl_valid_i(inl_valid),
      .inl_ready_o(inl_ready), .inl_i(inl), .payload_valid_o(payload_out_valid), .payload_ready_i(payload_out_ready),
      .payload_o(payload_out)
  );

  logic wire_tx_idle, eth_tx_valid, eth_tx_ready, txerr_req_valid, txerr_req_ready, txerr_rsp_valid, txerr_rsp_ready;
  rtl_pkg::beat_t eth_tx, loop;
  rtl_pkg::eth_csum_t eth_csum;
  logic eth_offloads;
  assign eth_offloads = (strap_i.withheld & dingo_pkg::CAP_ETH_OFFLOAD) == '0;
  rtl_pkg::txerr_t txerr;
  logic loop_valid, loop_ready;

  dingo_wire_tx i_wire_tx (
      .clk_i, .rst_ni(core_rst_n_q), .idle_o(wire_tx_idle), .link_i(link), .roce_stop_i, .halt_i(halt_tx), .gids_i(gids), .mac_valid_i(mac_valid),
      .macs_i(macs), .txd_valid_i(out_txd_valid), .txd_ready_o(out_txd_ready), .txd_i(txd),
      .payload_valid_i(payload_out_valid), .payload_ready_o(payload_out_ready), .payload_i(payload_out), .eth_valid_i(eth_tx_valid), .eth_ready_o(eth_tx_ready), .eth_i(eth_tx), .eth_csum_i(eth_csum),
      .req_err_valid_o(txerr_req_valid), .req_err_ready_i(txerr_req_ready), .rsp_err_valid_o(txerr_rsp_valid),
      .rsp_err_ready_i(txerr_rsp_ready), .err_o(txerr), .loop_valid_o(loop_valid), .loop_ready_i(loop_ready),
      .loop_o(loop), .stat_valid_o(stat_valid[rtl_pkg::STAT_TX]), .stat_ready_i(stat_ready[rtl_pkg::STAT_TX]),
      .stat_o(stat[rtl_pkg::STAT_TX*SW+:SW]), .qstat_valid_o(qstat_valid[rtl_pkg::QSTAT_TX]),
      .qstat_ready_i(qstat_ready[rtl_pkg::QSTAT_TX]), .qstat_o(qstat[rtl_pkg::QSTAT_TX*QW+:QW]),
      .m_axis_tvalid_o(mac_out_valid), .m_axis_tready_i(mac_out_ready), .m_axis_tdata_o(mac_out_data),
      .m_axis_tkeep_o(mac_out_keep), .m_axis_tlast_o(mac_out_last), .m_axis_tdest_o(mac_out_dest)
  );

  logic mac_out_valid, mac_out_ready, mac_out_last, mac_out_dest, mac_in_valid, mac_in_ready, mac_idle;
  logic [511:0] mac_out_data;
  logic [63:0] mac_out_keep;

  dingo_mac_guard i_mac_guard (
      .clk_i, .rst_ni, .core_rst_ni(core_rst_n_q), .idle_o(mac_idle), .tvalid_i(mac_out_valid),
      .tready_o(mac_out_ready), .tdata_i(mac_out_data), .tkeep_i(mac_out_keep), .tlast_i(mac_out_last), .tdest_i(mac_out_dest),
      .m_tvalid_o(m_axis_tvalid_o), .m_tready_i(m_axis_tready_i), .m_tdata_o(m_axis_tdata_o),
      .m_tkeep_o(m_axis_tkeep_o), .m_tlast_o(m_axis_tlast_o), .m_tuser_o(m_axis_tuser_o), .m_tdest_o(m_axis_tdest_o),
      .s_tvalid_i(s_axis_tvalid_i), .s_tready_o(s_axis_tready_o), .s_tlast_i(s_axis_tlast_i),
      .rvalid_o(mac_in_valid), .rready_i(mac_in_ready)
  );

  logic eth_tx_idle;

  dingo_eth_tx i_eth_tx (
      .clk_i, .rst_ni(core_rst_n_q), .halt_i(halt_tx), .idle_o(eth_tx_idle), .xl_flush_i(orders.xl_flush), .port_i(port),
      .link_i(link), .offloads_i(eth_offloads), .csum_o(eth_csum), .cfg_valid_i(orders.etx_valid), .cfg_i(orders.eth),
      .db_valid_i(etx_db_valid), .db_ring_i(o_db.word0[rtl_pkg::ETH_LOG-1:0]), .db_index_i(o_db.index), .db_bad_o(etx_db_bad), .frame_valid_o(eth_tx_valid), .frame_ready_i(eth_tx_ready), .frame_o(eth_tx),
      .cqe_valid_o(cqe_valid[2]), .cqe_ready_i(cqe_ready[2]), .cqe_o(cqe_etx), .cq_failed_i(cq_fail_etx), .cq_failed_ring_i(cq_fail_qp[rtl_pkg::ETH_LOG-1:0]),
      .stat_valid_o(stat_valid[rtl_pkg::STAT_ETX]), .stat_ready_i(stat_ready[rtl_pkg::STAT_ETX]),
      .stat_o(stat[rtl_pkg::STAT_ETX*SW+:SW]), .read_valid_o(read_valid[rtl_pkg::READ_ETX]),
      .read_ready_i(read_ready[rtl_pkg::READ_ETX]), .read_o(read_req[rtl_pkg::READ_ETX*DW+:DW]),
      .read_rsp_valid_i(read_rsp_valid[rtl_pkg::READ_ETX]), .read_rsp_ready_o(read_rsp_ready[rtl_pkg::READ_ETX]),
      .read_rsp_i(read_rsp_etx), .desc_valid_o(line_valid[rtl_pkg::LINE_ETX]),
      .desc_ready_i(line_ready[rtl_pkg::LINE_ETX]), .desc_o(line_req[rtl_pkg::LINE_ETX*LW+:LW]),
      .desc_rsp_valid_i(line_rsp_valid[rtl_pkg::LINE_ETX]), .line_valid_o(line_valid[rtl_pkg::LINE_XL_ETX]),
      .line_ready_i(line_ready[rtl_pkg::LINE_XL_ETX]), .line_o(line_req[rtl_pkg::LINE_XL_ETX*LW+:LW]),
      .line_rsp_valid_i(line_rsp_valid[rtl_pkg::LINE_XL_ETX]), .line_rsp_i(line_rsp)
  );

  // ------------------------------------------------------------------------------------ frames in
  logic wire_rx_idle, rxh_valid, rxh_ready, payload_valid, payload_ready, eth_rx_valid, eth_rx_ready;
  rtl_pkg::rxh_t rxh;
  rtl_pkg::beat_t payload, eth_rx;

  dingo_wire_rx #(.DropWhenFull(DropWhenFull)) i_wire_rx (
      .clk_i, .rst_ni(core_rst_n_q), .idle_o(wire_rx_idle), .port_i(port), .link_i(link), .gids_i(gids),
      .mac_valid_i(mac_valid), .macs_i(macs), .loop_valid_i(loop_valid), .loop_ready_o(loop_ready), .loop_i(loop),
      .rxh_valid_o(rxh_valid), .rxh_ready_i(rxh_ready), .rxh_o(rxh), .payload_valid_o(payload_valid),
      .payload_ready_i(payload_ready), .payload_o(payload), .eth_valid_o(eth_rx_valid), .eth_ready_i(eth_rx_ready),
      .eth_o(eth_rx), .stat_valid_o(stat_valid[rtl_pkg::STAT_RX]), .stat_ready_i(stat_ready[rtl_pkg::STAT_RX]),
      .stat_o(stat[rtl_pkg::STAT_RX*SW+:SW]), .s_axis_tvalid_i(mac_in_valid), .s_axis_tready_o(mac_in_ready),
      .s_axis_tdata_i, .s_axis_tkeep_i, .s_axis_tlast_i, .s_axis_tuser_i, .dropped_i(rx_dropped_i),
      .spoilt_i(rx_bad_i)
  );

  logic eth_rx_idle;

  dingo_eth_rx i_eth_rx (
      .clk_i, .rst_ni(core_rst_n_q), .halt_i(halt_tx), .idle_o(eth_rx_idle), .xl_flush_i(orders.xl_flush), .port_i(port), .offloads_i(eth_offloads),
      .mac_valid_i(mac_valid), .macs_i(macs), .cfg_valid_i(orders.erx_valid), .cfg_i(orders.eth), .rss_valid_i(orders.rss_valid),
      .rss_i(orders.rss), .db_valid_i(erx_db_valid), .db_ring_i(o_db.word0[rtl_pkg::ETH_LOG-1:0]), .db_index_i(o_db.index),
      .db_bad_o(erx_db_bad), .frame_valid_i(eth_rx_valid), .frame_ready_o(eth_rx_ready), .frame_i(eth_rx),
      .cqe_valid_o(cqe_valid[3]), .cqe_ready_i(cqe_ready[3]), .cqe_o(cqe_erx), .cq_failed_i(cq_fail_erx), .cq_failed_ring_i(cq_fail_qp[rtl_pkg::ETH_LOG-1:0]),
      .stat_valid_o(stat_valid[rtl_pkg::STAT_ERX]), .stat_ready_i(stat_ready[rtl_pkg::STAT_ERX]),
      .stat_o(stat[rtl_pkg::STAT_ERX*SW+:SW]), .write_valid_o(write_valid[rtl_pkg::WRITE_ERX]),
      .write_ready_i(write_ready[rtl_pkg::WRITE_ERX]), .write_o(write_req[rtl_pkg::WRITE_ERX*DW+:DW]),
      .wdata_valid_o(wdata_valid[rtl_pkg::WRITE_ERX]), .wdata_ready_i(wdata_ready[rtl_pkg::WRITE_ERX]),
      .wdata_o(wdata[rtl_pkg::WRITE_ERX*BW+:BW]), .done_valid_i(done_valid[rtl_pkg::WRITE_ERX]),
      .done_err_i(done_err), .desc_valid_o(line_valid[rtl_pkg::LINE_ERX]),
      .desc_ready_i(line_ready[rtl_pkg::LINE_ERX]), .desc_o(line_req[rtl_pkg::LINE_ERX*LW+:LW]),
      .desc_rsp_valid_i(line_rsp_valid[rtl_pkg::LINE_ERX]), .line_valid_o(line_valid[rtl_pkg::LINE_XL_ERX]),
      .line_ready_i(line_ready[rtl_pkg::LINE_XL_ERX]), .line_o(line_req[rtl_pkg::LINE_XL_ERX*LW+:LW]),
      .line_rsp_valid_i(line_rsp_valid[rtl_pkg::LINE_XL_ERX]), .line_rsp_i(line_rsp)
  );

  logic dispatch_idle, rxp_req_valid, rxp_req_ready, rxp_rsp_valid, rxp_rsp_ready;
  rtl_pkg::rxp_t rxp;
  logic scat_d_valid, scat_d_ready, scat_req_valid, scat_req_ready, scat_rsp_valid, scat_rsp_ready, engine_end, engine_end_bare;
  rtl_pkg::scat_t scat_d, scat_req, scat_rsp, scat;
  logic scat_valid, scat_ready, scat_room, scatter_idle;
  logic commit_req_valid, commit_req_ready, commit_rsp_valid, commit_rsp_ready;
  rtl_pkg::commit_t commit;

  dingo_dispatch i_dispatch (
      .clk_i, .rst_ni(core_rst_n_q), .halt_i(halt_rx), .idle_o(dispatch_idle), .gids_i(gids), .rxh_valid_i(rxh_valid),
      .rxh_ready_o(rxh_ready), .rxh_bare_o(rxh_bare), .rxh_i(rxh), .qp_re_o(qp_re[1]), .qp_raddr_o(qp_raddr[QP_LOG+:QP_LOG]),
      .qp_rdata_i(qp_dispatch), .req_valid_o(rxp_req_valid), .req_ready_i(rxp_req_ready), .rsp_valid_o(rxp_rsp_valid),
      .rsp_ready_i(rxp_rsp_ready), .rxp_o(rxp), .scat_valid_o(scat_d_valid), .scat_ready_i(scat_d_ready),
      .scat_o(scat_d), .end_i(engine_end), .end_bare_i(engine_end_bare), .stat_valid_o(stat_valid[rtl_pkg::STAT_DISPATCH]),
      .stat_ready_i(stat_ready[rtl_pkg::STAT_DISPATCH]), .stat_o(stat[rtl_pkg::STAT_DISPATCH*SW+:SW]),
      .qstat_valid_o(qstat_valid[rtl_pkg::QSTAT_DISPATCH]), .qstat_ready_i(qstat_ready[rtl_pkg::QSTAT_DISPATCH]),
      .qstat_o(qstat[rtl_pkg::QSTAT_DISPATCH*QW+:QW])
  );

  dingo_scat_mux i_scat_mux (
      .clk_i, .rst_ni(core_rst_n_q), .d_valid_i(scat_d_valid), .d_ready_o(scat_d_ready), .d_i(scat_d),
      .req_valid_i(scat_req_valid), .req_ready_o(scat_req_ready), .req_i(scat_req), .rsp_valid_i(scat_rsp_valid),
      .rsp_ready_o(scat_rsp_ready), .rsp_i(scat_rsp), .valid_o(scat_valid), .ready_i(scat_ready), .scat_o(scat),
      .end_o(engine_end), .end_bare_o(engine_end_bare)
  );
  dingo_scatter i_scatter (
      .clk_i, .rst_ni(core_rst_n_q), .idle_o(scatter_idle), .packet_done_o(flow.rx_out), .room_o(scat_room), .xl_flush_i(orders.xl_flush),
      .scat_valid_i(scat_valid), .scat_ready_o(scat_ready), .scat_i(scat), .payload_valid_i(payload_valid),
      .payload_ready_o(payload_ready), .payload_i(payload), .req_valid_o(commit_req_valid),
      .req_ready_i(commit_req_ready), .rsp_valid_o(commit_rsp_valid), .rsp_ready_i(commit_rsp_ready),
      .commit_o(commit), .write_valid_o(write_valid[rtl_pkg::WRITE_RX]),
      .write_ready_i(write_ready[rtl_pkg::WRITE_RX]), .write_o(write_req[rtl_pkg::WRITE_RX*DW+:DW]),
      .wdata_valid_o(wdata_valid[rtl_pkg::WRITE_RX]), .wdata_ready_i(wdata_ready[rtl_pkg::WRITE_RX]),
      .wdata_o(wdata[rtl_pkg::WRITE_RX*BW+:BW]), .done_valid_i(done_valid[rtl_pkg::WRITE_RX]), .done_err_i(done_err),
      .word_valid_o(line_valid[rtl_pkg::LINE_ATOMIC]), .word_ready_i(line_ready[rtl_pkg::LINE_ATOMIC]),
      .word_o(line_req[rtl_pkg::LINE_ATOMIC*LW+:LW]), .word_rsp_valid_i(line_rsp_valid[rtl_pkg::LINE_ATOMIC]),
      .line_valid_o(line_valid[rtl_pkg::LINE_XL_RX]), .line_ready_i(line_ready[rtl_pkg::LINE_XL_RX]),
      .line_o(line_req[rtl_pkg::LINE_XL_RX*LW+:LW]), .line_rsp_valid_i(line_rsp_valid[rtl_pkg::LINE_XL_RX]),
      .line_rsp_i(line_rsp)
  );

  // ------------------------------------------------------------------------------------ transport
  logic req_timer, cq_timer;
  logic [63:0] req_timer_next, cq_timer_next;  // all ones where none runs
  assign timer_valid_o = req_timer || cq_timer;
  assign timer_next_o = req_timer_next < cq_timer_next ? req_timer_next : cq_timer_next;

  logic req_tx_idle, req_idle, req_work, rsp_tx_idle, rsp_idle, rsp_work;
  logic req_db_bad, rsp_db_bad, req_fail, rsp_fail;
  rtl_pkg::qpi_t req_fail_qp, rsp_fail_qp;

  dingo_requester i_requester (
      .clk_i, .rst_ni(core_rst_n_q), .halt_tx_i(halt_tx), .tx_idle_o(req_tx_idle), .idle_o(req_idle),
      .work_o(req_work), .timer_valid_o(req_timer), .timer_next_o(req_timer_next), .now_ns_i, .xl_flush_i(orders.xl_flush), .resume_i(orders.resume), .port_mtu_i(port.mtu),
      .gid_valid_i(gid_valid), .db_valid_i(sq_db_valid), .db_ready_o(sq_db_ready), .db_i(q_db), .db_bad_o(req_db_bad),
      .push_valid_i(push_valid), .push_ready_o(push_ready), .push_i(push),
      .rxp_valid_i(rxp_req_valid), .rxp_ready_o(rxp_req_ready), .rxp_i(rxp), .commit_valid_i(commit_req_valid),
      .commit_ready_o(commit_req_ready), .commit_i(commit), .txerr_valid_i(txerr_req_valid),
      .txerr_ready_o(txerr_req_ready), .txerr_i(txerr), .cq_fail_valid_i(cq_fail_req), .cq_fail_qp_i(cq_fail_qp),
      .fail_valid_i(rsp_fail), .fail_qp_i(rsp_fail_qp), .fail_valid_o(req_fail), .fail_qp_o(req_fail_qp),
      .qpa_valid_i(orders.qpa_valid), .qpa_i(orders.qpa), .qpa_done_o(answers.req_done), .qpa_info_o(answers.req), .qp_re_o(qp_re[2]),
      .qp_raddr_o(qp_raddr[2*QP_LOG+:QP_LOG]), .qp_rdata_i(qp_req), .state_we_o(state_we[1]),
      .state_index_o(state_index[1*QP_LOG+:QP_LOG]), .state_o(state_new[3+:3]), .mr_valid_o(mr_valid[0]),
      .mr_o(mr_req), .mr_rsp_valid_i(mr_rsp_valid[0]), .mr_rsp_i(mr_answer_req), .mrw_valid_o(mrw_valid[0]), .mrw_o(mrw_req),
      .mrw_done_i(mrw_done[0]), .mrw_rsp_i(mrw_answer), .flow_i(flow), .tx_room_i(tx_room[0]),
      .txd_valid_o(txd_valid[0]), .txd_ready_i(txd_ready[0]), .txd_o(txd_req), .seg_valid_o(seg_valid[0]),
      .seg_ready_i(seg_ready[0]), .seg_o(seg_req), .inl_valid_o(inl_in_valid), .inl_ready_i(inl_in_ready),
      .inl_o(inl_in), .scat_room_i(scat_room), .scat_valid_o(scat_req_valid), .scat_ready_i(scat_req_ready),
      .scat_o(scat_req), .cqe_valid_o(cqe_valid[0]), .cqe_ready_i(cqe_ready[0]), .cqe_o(cqe_req),
      .ev_valid_o(ev_valid[0]), .ev_ready_i(ev_ready[0]), .ev_o(ev_req), .stat_valid_o(stat_valid[rtl_pkg::STAT_REQ]),
      .stat_ready_i(stat_ready[rtl_pkg::STAT_REQ]), .stat_o(stat[rtl_pkg::STAT_REQ*SW+:SW]),
      .qstat_valid_o(qstat_valid[rtl_pkg::QSTAT_REQ]), .qstat_ready_i(qstat_ready[rtl_pkg::QSTAT_REQ]),
      .qstat_o(qstat[rtl_pkg::QSTAT_REQ*QW+:QW]), .wqe_valid_o(line_valid[rtl_pkg::LINE_SQ]),
      .wqe_ready_i(line_ready[rtl_pkg::LINE_SQ]), .wqe_o(line_req[rtl_pkg::LINE_SQ*LW+:LW]),
      .wqe_rsp_valid_i(line_rsp_valid[rtl_pkg::LINE_SQ]), .line_valid_o(line_valid[rtl_pkg::LINE_XL_SQ]),
      .line_ready_i(line_ready[rtl_pkg::LINE_XL_SQ]), .line_o(line_req[rtl_pkg::LINE_XL_SQ*LW+:LW]),
      .line_rsp_valid_i(line_rsp_valid[rtl_pkg::LINE_XL_SQ]), .line_rsp_i(line_rsp)
  );

  dingo_responder i_responder (
      .clk_i, .rst_ni(core_rst_n_q), .halt_tx_i(halt_tx), .tx_idle_o(rsp_tx_idle), .idle_o(rsp_idle),
      .work_o(rsp_work), .xl_flush_i(orders.xl_flush), .resume_i(orders.resume), .gid_valid_i(gid_valid), .db_valid_i(rq_db_valid),
      .db_ready_o(rq_db_ready), .db_i(q_db), .db_srq_i(q_db_srq), .db_bad_o(rsp_db_bad), .rxp_valid_i(rxp_rsp_valid),
      .rxp_ready_o(rxp_rsp_ready), .rxp_i(rxp), .commit_valid_i(commit_rsp_valid), .commit_ready_o(commit_rsp_ready),
      .commit_i(commit), .txerr_valid_i(txerr_rsp_valid), .txerr_ready_o(txerr_rsp_ready), .txerr_i(txerr),
      .cq_fail_valid_i(cq_fail_rsp), .cq_fail_qp_i(cq_fail_qp), .cqe_done_i(cq_rsp_done), .fail_valid_i(req_fail),
      .fail_qp_i(req_fail_qp), .srqa_valid_i(orders.srqa_valid), .srqa_i(orders.srqa), .srqa_done_o(answers.srqa_done), .srqa_info_o(answers.srq),
      .fail_valid_o(rsp_fail), .fail_qp_o(rsp_fail_qp), .qpa_valid_i(orders.qpa_valid), .qpa_i(orders.qpa),
      .qpa_done_o(answers.rsp_done), .qpa_info_o(answers.rsp), .qp_re_o(qp_re[3]), .qp_raddr_o(qp_raddr[3*QP_LOG+:QP_LOG]),
      .qp_rdata_i(qp_rsp), .state_we_o(state_we[2]), .state_index_o(state_index[2*QP_LOG+:QP_LOG]),
      .state_o(state_new[6+:3]), .mr_valid_o(mr_valid[1]), .mr_o(mr_rsp), .mr_rsp_valid_i(mr_rsp_valid[1]),
      .mr_rsp_i(mr_answer_rsp), .mrw_valid_o(mrw_valid[1]), .mrw_o(mrw_rsp), .mrw_done_i(mrw_done[1]),
      .mrw_rsp_i(mrw_answer), .reading_o(flow.tx_open), .tx_room_i(tx_room[1]), .txd_valid_o(txd_valid[1]), .txd_ready_i(txd_ready[1]),
      .txd_o(txd_rsp), .seg_valid_o(seg_valid[1]), .seg_ready_i(seg_ready[1]), .seg_o(seg_rsp),
      .scat_room_i(scat_room), .scat_valid_o(scat_rsp_valid), .scat_ready_i(scat_rsp_ready), .scat_o(scat_rsp),
      .cqe_valid_o(cqe_valid[1]), .cqe_ready_i(cqe_ready[1]), .cqe_o(cqe_rsp), .ev_valid_o(ev_valid[1]),
      .ev_ready_i(ev_ready[1]), .ev_o(ev_rsp), .stat_valid_o(stat_valid[rtl_pkg::STAT_RSP]),
      .stat_ready_i(stat_ready[rtl_pkg::STAT_RSP]), .stat_o(stat[rtl_pkg::STAT_RSP*SW+:SW]),
      .qstat_valid_o(qstat_valid[rtl_pkg::QSTAT_RSP]), .qstat_ready_i(qstat_ready[rtl_pkg::QSTAT_RSP]),
      .qstat_o(qstat[rtl_pkg::QSTAT_RSP*QW+:QW]), .rwqe_valid_o(line_valid[rtl_pkg::LINE_RQ]),
      .rwqe_ready_i(line_ready[rtl_pkg::LINE_RQ]), .rwqe_o(line_req[rtl_pkg::LINE_RQ*LW+:LW]),
      .rwqe_rsp_valid_i(line_rsp_valid[rtl_pkg::LINE_RQ]), .line_valid_o(line_valid[rtl_pkg::LINE_XL_RQ]),
      .line_ready_i(line_ready[rtl_pkg::LINE_XL_RQ]), .line_o(line_req[rtl_pkg::LINE_XL_RQ*LW+:LW]),
      .line_rsp_valid_i(line_rsp_valid[rtl_pkg::LINE_XL_RQ]), .line_rsp_i(line_rsp)
  );

  // ------------------------------------------------------------------------------------ rest
  // Sending is at rest when nobody begins a packet, no payload is being read (what has been read may still leave) and no
  // descriptor waits: those look up their QP's compute kernel later.
  assign tx_idle = req_tx_idle && rsp_tx_idle && tx_mux_idle && gather_idle && eth_tx_idle && eth_rx_idle;
  assign rx_idle = dispatch_idle && scatter_idle && req_idle && rsp_idle && cq_idle && eq_idle && db_idle;
  assign busy_o = {
      !compute_idle, !regs_idle,                                                                           // 25, 24
      |ev_valid, msix_valid_o, rxh_valid, db_valid, rsp_work, req_work, !wire_rx_idle, !(wire_tx_idle && mac_idle),  // 23..16
      !tx_mux_idle, !stats_idle, !admin_idle, !db_idle, !eq_idle, !cq_idle || cq_due, !rsp_idle, !req_idle,          // 15..8
      !scatter_idle, !dispatch_idle, !eth_rx_idle, !eth_tx_idle, !gather_idle, !rsp_tx_idle, !req_tx_idle, !ready_o};
  assign idle_o = busy_o == '0;

  wire unused_ok = &{1'b0, req_db_bad, rsp_db_bad, host_idle};
endmodule
