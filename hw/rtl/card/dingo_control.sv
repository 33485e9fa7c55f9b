// SPDX-License-Identifier: BSD-2-Clause

/// Control part of the card: registers, commands, doorbells, completions, events; tables, port, counters.
module dingo_control (
    input  logic              clk_i,
    input  logic              rst_ni,             // power on
    input  logic              core_rst_ni,        // reset of all but the registers and dingo_push's slave
    output logic              ready_o,            // STATUS.READY
    output logic              soft_reset_o,       // pulse: CTRL.RESET was written
    input  rtl_pkg::strap_t   strap_i,
    input  logic [63:0]       now_ns_i,
    input  logic              wire_up_i,
    output logic              regs_idle_o,
    output logic              admin_idle_o,
    output logic              stats_idle_o,
    output logic              db_idle_o,
    output logic              db_valid_o,         // doorbells wait
    output logic              cq_idle_o,
    output logic              eq_idle_o,
    output logic              ev_waits_o,         // an event has not yet been taken by dingo_eq
    output logic              cq_due_o,           // see dingo_cq
    output logic              timer_valid_o,
    output logic [63:0]       timer_next_o,
    // bringing the card to rest: see docs/reference/rtl.md
    output logic              halt_tx_o,
    input  logic              tx_idle_i,
    output logic              halt_rx_o,
    input  logic              rx_idle_i,
    output rtl_pkg::orders_t  orders_o,
    input  rtl_pkg::answers_t answers_i,          // of the engines
    output logic              compute_valid_o,
    input  logic              compute_ready_i,
    output rtl_pkg::compute_cfg_t compute_o,
    output rtl_pkg::port_t    port_o,
    output logic              link_o,
    output logic [(1<<rtl_pkg::GID_LOG)*rtl_pkg::GID_W-1:0] gids_o,
    output logic [(1<<rtl_pkg::GID_LOG)-1:0]    gid_valid_o,
    output logic [(1<<rtl_pkg::MAC_LOG)-1:0]    mac_valid_o,
    output logic [(1<<rtl_pkg::MAC_LOG)*48-1:0] macs_o,
    // tables
    input  rtl_pkg::ask_t     req_ask_i,
    output rtl_pkg::told_t    req_told_o,
    input  rtl_pkg::ask_t     rsp_ask_i,
    output rtl_pkg::told_t    rsp_told_o,
    input  logic              qp_re_i,            // of dingo_dispatch
    input  rtl_pkg::qpi_t     qp_index_i,
    output rtl_pkg::qp_t      qp_o,
    // doorbells
    output rtl_pkg::bell_t    bell_o,
    input  rtl_pkg::bell_taken_t bell_taken_i,
    output logic              push_valid_o,
    input  logic              push_ready_i,
    output rtl_pkg::push_t    push_o,
    // completions: 0 requester, 1 responder, 2 Ethernet transmit, 3 receive
    input  logic [3:0]        cqe_valid_i,
    output logic [3:0]        cqe_ready_o,
    input  logic [4*rtl_pkg::CQE_REQ_W-1:0] cqe_i,
    output rtl_pkg::cq_fail_t cq_fail_o,
    output logic              cq_rsp_done_o,
    // asynchronous events: 0 requester, 1 responder
    input  logic [1:0]        ev_valid_i,
    output logic [1:0]        ev_ready_o,
    input  logic [2*rtl_pkg::EV_W-1:0] ev_i,
    output logic              msix_valid_o,
    input  logic              msix_ready_i,
    output logic [5:0]        msix_vector_o,
    // increments from outside: ports 0 to 6 of dingo_stats, and STAT_HOST
    input  logic [7:0]        stat_valid_i,
    output logic [7:0]        stat_ready_o,
    input  logic [8*rtl_pkg::STAT_W-1:0] stat_i,
    input  logic [rtl_pkg::QSTATS-1:0] qstat_valid_i,
    output logic [rtl_pkg::QSTATS-1:0] qstat_ready_o,
    input  logic [rtl_pkg::QSTATS*rtl_pkg::QSTAT_W-1:0] qstat_i,
    // dingo_host: lines: 0 commands, 1 page lists of CQs, 2 of EQs; writes: 0 CQEs, 1 EQEs, 2 commands
    output logic [2:0]        line_valid_o,
    input  logic [2:0]        line_ready_i,
    output logic [3*rtl_pkg::RDL_REQ_W-1:0] line_o,
    input  logic [2:0]        line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t line_rsp_i,
    output logic [2:0]        write_valid_o,
    input  logic [2:0]        write_ready_i,
    output logic [3*rtl_pkg::DMA_REQ_W-1:0] write_o,
    output logic [2:0]        wdata_valid_o,
    input  logic [2:0]        wdata_ready_i,
    output logic [3*rtl_pkg::BEAT_W-1:0] wdata_o,
    input  logic [2:0]        done_valid_i,
    input  logic              done_err_i,
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
    input  logic            s_push_bready_i
);
  localparam int unsigned SW = rtl_pkg::STAT_W;
  localparam int unsigned STATS = rtl_pkg::STATS;
  localparam int unsigned LW = rtl_pkg::RDL_REQ_W;
  localparam int unsigned DW = rtl_pkg::DMA_REQ_W;
  localparam int unsigned BW = rtl_pkg::BEAT_W;

  // ------------------------------------------------------------------------------------ registers
  logic aq_enable;
  logic [3:0] aq_log_depth;
  logic [63:0] asq_base, acq_base;
  logic [31:0] asq_producer, asq_consumer;
  logic qp_ready, mr_ready, db_ready, db_crowded, order_valid, order_done, push_drop;
  rtl_pkg::db_t db;
  logic fatal_valid;
  logic [31:0] fatal_code;
  rtl_pkg::push_order_t order;
  logic [STATS-1:0] stat_valid, stat_ready;
  logic [STATS*SW-1:0] stat;
  assign {stat_valid[rtl_pkg::STAT_HOST], stat_valid[6:0]} = stat_valid_i;
  assign {stat[rtl_pkg::STAT_HOST*SW+:SW], stat[7*SW-1:0]} = stat_i;
  assign stat_ready_o = {stat_ready[rtl_pkg::STAT_HOST], stat_ready[6:0]};
  assign ready_o = core_rst_ni && qp_ready && mr_ready;

  dingo_regs i_regs (
      .clk_i, .rst_ni, .idle_o(regs_idle_o), .strap_i, .now_ns_i, .ready_i(ready_o), .link_up_i(link_o), .fatal_valid_i(fatal_valid),
      .fatal_code_i(fatal_code), .soft_reset_o(soft_reset_o), .aq_enable_o(aq_enable), .aq_log_depth_o(aq_log_depth),
      .asq_base_o(asq_base), .acq_base_o(acq_base), .asq_producer_o(asq_producer), .asq_consumer_i(asq_consumer), .aq_idle_i(admin_idle_o), .db_valid_o(db_valid_o),
      .db_ready_i(db_ready), .db_o(db), .db_crowded_o(db_crowded), .push_valid_o(order_valid), .push_o(order),
      .push_done_i(order_done), .push_drop_i(push_drop), .stat_valid_o(stat_valid[rtl_pkg::STAT_REGS]),
      .stat_ready_i(stat_ready[rtl_pkg::STAT_REGS]), .stat_o(stat[rtl_pkg::STAT_REGS*SW+:SW]), .s_reg_awvalid_i,
      .s_reg_awready_o, .s_reg_awaddr_i, .s_reg_wvalid_i, .s_reg_wready_o, .s_reg_wdata_i, .s_reg_wstrb_i,
      .s_reg_bvalid_o, .s_reg_bready_i, .s_reg_arvalid_i, .s_reg_arready_o, .s_reg_araddr_i, .s_reg_rvalid_o,
      .s_reg_rready_i, .s_reg_rdata_o, .s_db_awvalid_i, .s_db_awready_o, .s_db_awaddr_i, .s_db_wvalid_i,
      .s_db_wready_o, .s_db_wdata_i, .s_db_wstrb_i, .s_db_bvalid_o, .s_db_bready_i, .s_db_arvalid_i, .s_db_arready_o,
      .s_db_rvalid_o, .s_db_rready_i, .s_db_rdata_o
  );

  dingo_port i_port (
      .clk_i, .strap_i, .rst_ni(core_rst_ni), .wire_up_i, .port_we_i(orders_o.port_we), .port_i(orders_o.port), .gid_we_i(orders_o.gid_we),
      .gid_index_i(orders_o.gid_index), .gid_i(orders_o.gid), .mac_we_i(orders_o.mac_we), .mac_index_i(orders_o.mac_index),
      .mac_valid_i(orders_o.mac_valid), .mac_i(orders_o.mac), .port_o, .link_o, .gids_o, .gid_valid_o, .mac_valid_o,
      .macs_o, .ev_valid_o(ev_port_valid), .ev_ready_i(ev_port_ready), .ev_o(ev_port)
  );

  // ------------------------------------------------------------------------------------ tables
  // Read ports of QP contexts: commands, dispatch, requester, responder; dispatch writes no states.
  logic qp_re;
  rtl_pkg::qpi_t qp_raddr;
  logic [4*rtl_pkg::QP_W-1:0] qp_rdata;
  rtl_pkg::qp_t qp_admin;
  assign {rsp_told_o.qp, req_told_o.qp, qp_o, qp_admin} = qp_rdata;
  dingo_qp_table i_qp_table (
      .clk_i, .rst_ni(core_rst_ni), .ready_o(qp_ready), .re_i({rsp_ask_i.qp_re, req_ask_i.qp_re, qp_re_i, qp_re}),
      .raddr_i({rsp_ask_i.qp, req_ask_i.qp, qp_index_i, qp_raddr}), .rdata_o(qp_rdata),
      .we_i(orders_o.qp_we), .windex_i(orders_o.qp), .wdata_i(orders_o.qp_cfg), .state_we_i({rsp_ask_i.state_we, req_ask_i.state_we, orders_o.qp_we}),
      .state_index_i({rsp_ask_i.state_qp, req_ask_i.state_qp, orders_o.qp}),
      .state_i({rsp_ask_i.state, req_ask_i.state, orders_o.qp_state})
  );

  logic req_mr_valid, rsp_mr_valid, req_mrw_done, rsp_mrw_done;
  logic [2*rtl_pkg::MR_RSP_W-1:0] mr_answers;
  // Commands have precedence over work requests (dingo_mr_work) at the table's port.
  logic mr_re, mr_we, work_re, work_we, mr_table_ready, work_ready, mrw_valid, mrw_done;
  rtl_pkg::mri_t mr_index, work_index;
  rtl_pkg::mr_t mr_wdata, work_wdata, mr_rdata;
  rtl_pkg::mrw_req_t mrw_cmd;
  rtl_pkg::mrw_rsp_t mrw_answer;
  assign mr_ready = mr_table_ready && work_ready;
  assign {rsp_told_o.mr, req_told_o.mr} = mr_answers;
  assign {rsp_told_o.mr_valid, req_told_o.mr_valid} = {rsp_mr_valid, req_mr_valid};
  assign {rsp_told_o.mrw_done, req_told_o.mrw_done} = {rsp_mrw_done, req_mrw_done};
  assign {rsp_told_o.mrw, req_told_o.mrw} = {mrw_answer, mrw_answer};

  dingo_mr_table i_mr_table (
      .clk_i, .rst_ni(core_rst_ni), .ready_o(mr_table_ready), .req_valid_i({rsp_ask_i.mr_valid, req_ask_i.mr_valid}), .req_i({rsp_ask_i.mr, req_ask_i.mr}),
      .rsp_valid_o({rsp_mr_valid, req_mr_valid}), .rsp_o(mr_answers), .re_i(mr_re||work_re), .we_i(mr_we||work_we),
      .index_i(mr_re||mr_we?mr_index:work_index), .wdata_i(mr_we?mr_wdata:work_wdata), .rdata_o(mr_rdata)
  );
  dingo_mr_work i_mr_work (
      .clk_i, .rst_ni(core_rst_ni), .ready_o(work_ready), .rsp_valid_i(rsp_ask_i.mrw_valid), .rsp_i(rsp_ask_i.mrw),
      .rsp_done_o(rsp_mrw_done), .req_valid_i(req_ask_i.mrw_valid), .req_i(req_ask_i.mrw), .req_done_o(req_mrw_done),
      .cmd_valid_i(mrw_valid), .cmd_i(mrw_cmd), .cmd_done_o(mrw_done), .answer_o(mrw_answer), .hold_i(mr_re||mr_we),
      .re_o(work_re), .we_o(work_we), .index_o(work_index), .wdata_o(work_wdata), .rdata_i(mr_rdata)
  );

  // ------------------------------------------------------------------------------------ commands, counters
  rtl_pkg::answers_t answers;
  logic irq;
  logic clear_valid, clear_ready, sread_valid, sread_ready, sread_qp, value_valid;
  rtl_pkg::qpi_t clear_qp, sread_qpi;
  logic [5:0] sread_idx;
  logic [63:0] value;

  dingo_admin i_admin (
      .clk_i, .rst_ni(ready_o), .idle_o(admin_idle_o), .strap_i, .aq_enable_i(aq_enable), .aq_log_depth_i(aq_log_depth),
      .asq_base_i(asq_base), .acq_base_i(acq_base), .asq_producer_i(asq_producer), .asq_consumer_o(asq_consumer), .fatal_valid_o(fatal_valid),
      .fatal_code_o(fatal_code), .halt_tx_o, .tx_idle_i, .halt_rx_o, .rx_idle_i(rx_idle_i && db_idle_o),
      .orders_o, .answers_i(answers), .qp_re_o(qp_re), .qp_rindex_o(qp_raddr),
      .qp_rdata_i(qp_admin), .mr_re_o(mr_re), .mr_we_o(mr_we), .mr_index_o(mr_index),
      .mr_wdata_o(mr_wdata), .mr_rdata_i(mr_rdata), .mrw_valid_o(mrw_valid), .mrw_o(mrw_cmd), .mrw_done_i(mrw_done),
      .gids_i(gids_o), .compute_valid_o, .compute_ready_i, .compute_o,
      .clear_valid_o(clear_valid), .clear_ready_i(clear_ready), .clear_qp_o(clear_qp), .read_valid_o(sread_valid),
      .read_ready_i(sread_ready), .read_qp_o(sread_qp), .read_qpi_o(sread_qpi), .read_idx_o(sread_idx),
      .value_valid_i(value_valid), .value_i(value), .irq_o(irq), .stat_valid_o(stat_valid[rtl_pkg::STAT_ADMIN]),
      .stat_ready_i(stat_ready[rtl_pkg::STAT_ADMIN]), .stat_o(stat[rtl_pkg::STAT_ADMIN*SW+:SW]),
      .line_valid_o(line_valid_o[0]), .line_ready_i(line_ready_i[0]),
      .line_o(line_o[0+:LW]), .line_rsp_valid_i(line_rsp_valid_i[0]),
      .line_rsp_i(line_rsp_i), .write_valid_o(write_valid_o[2]),
      .write_ready_i(write_ready_i[2]), .write_o(write_o[2*DW+:DW]),
      .wdata_valid_o(wdata_valid_o[2]), .wdata_ready_i(wdata_ready_i[2]),
      .wdata_o(wdata_o[2*BW+:BW]), .done_valid_i(done_valid_i[2]),
      .done_err_i(done_err_i)
  );

  dingo_stats i_stats (
      .clk_i, .rst_ni(core_rst_ni), .idle_o(stats_idle_o), .stat_valid_i(stat_valid), .stat_ready_o(stat_ready),
      .stat_i(stat), .qstat_valid_i, .qstat_ready_o, .qstat_i,
      .clear_valid_i(clear_valid), .clear_ready_o(clear_ready), .clear_qp_i(clear_qp), .read_valid_i(sread_valid),
      .read_ready_o(sread_ready), .read_qp_i(sread_qp), .read_qpi_i(sread_qpi), .read_idx_i(sread_idx),
      .value_valid_o(value_valid), .value_o(value)
  );

  // ------------------------------------------------------------------------------------ doorbells
  dingo_db i_db (
      .clk_i, .rst_ni(core_rst_ni), .halt_i(halt_rx_o || !ready_o), .idle_o(db_idle_o), .crowded_i(db_crowded), .db_valid_i(db_valid_o),
      .db_ready_o(db_ready), .db_i(db), .qp_we_i(orders_o.qp_we), .qp_windex_i(orders_o.qp), .qp_wdata_i(orders_o.qp_cfg),
      .cq_we_i(orders_o.cq_valid && !orders_o.cq.resize && !orders_o.cq.moderate), .cq_wdata_i(orders_o.cq), .srq_we_i(orders_o.srq_valid), .srq_wdata_i(orders_o.srq),
      .sq_valid_o(bell_o.sq), .sq_ready_i(bell_taken_i.sq), .rq_valid_o(bell_o.rq), .rq_ready_i(bell_taken_i.rq),
      .q_o(bell_o.q), .q_srq_o(bell_o.q_srq), .cq_valid_o(bell_o.cq), .cq_ready_i(cq_bell_taken), .eq_valid_o(bell_o.eq),
      .eq_ready_i(eq_bell_taken), .etx_valid_o(bell_o.etx), .etx_bad_i(bell_taken_i.etx_bad), .erx_valid_o(bell_o.erx),
      .erx_bad_i(bell_taken_i.erx_bad), .db_o(bell_o.db), .stat_valid_o(stat_valid[rtl_pkg::STAT_DB]),
      .stat_ready_i(stat_ready[rtl_pkg::STAT_DB]), .stat_o(stat[rtl_pkg::STAT_DB*SW+:SW])
  );

  dingo_push i_push (
      .clk_i, .rst_ni, .core_rst_ni, .halt_i(halt_rx_o || !ready_o), .qp_we_i(orders_o.qp_we), .qp_windex_i(orders_o.qp),
      .qp_wdata_i(orders_o.qp_cfg), .order_valid_i(order_valid), .order_i(order), .order_done_o(order_done), .push_valid_o, .push_ready_i, .push_o, .drop_o(push_drop), .s_push_awvalid_i, .s_push_awready_o, .s_push_awaddr_i,
      .s_push_wvalid_i, .s_push_wready_o, .s_push_wdata_i, .s_push_wstrb_i, .s_push_bvalid_o, .s_push_bready_i
  );

  // ------------------------------------------------------------------------------------ completions, events
  logic ev_port_valid, ev_port_ready, cq_bell_taken, eq_bell_taken, cq_info_valid;
  rtl_pkg::ev_t ev_port;
  rtl_pkg::cq_info_t cq_info;
  always_comb begin
    answers = answers_i;
    answers.cq_valid = cq_info_valid;
    answers.cq = cq_info;
  end
  dingo_events i_events (
      .clk_i, .rst_ni(core_rst_ni), .cq_idle_o, .eq_idle_o, .ev_waits_o, .halt_i(halt_rx_o), .due_o(cq_due_o), .timer_valid_o,
      .timer_next_o, .now_ns_i, .orders_i(orders_o), .cq_info_valid_o(cq_info_valid), .cq_info_o(cq_info), .bell_i(bell_o),
      .cq_bell_taken_o(cq_bell_taken), .eq_bell_taken_o(eq_bell_taken), .cqe_valid_i, .cqe_ready_o, .cqe_i, .fail_o(cq_fail_o),
      .rsp_done_o(cq_rsp_done_o), .ev_valid_i({ev_port_valid && !halt_rx_o, ev_valid_i}), .ev_ready_o({ev_port_ready, ev_ready_o}),
      .ev_i({ev_port, ev_i}), .fatal_valid_i(fatal_valid), .fatal_code_i(fatal_code), .admin_irq_i(irq), .msix_valid_o,
      .msix_ready_i, .msix_vector_o, .stat_valid_o(stat_valid[rtl_pkg::STAT_CQ+:2]),
      .stat_ready_i(stat_ready[rtl_pkg::STAT_CQ+:2]), .stat_o(stat[rtl_pkg::STAT_CQ*SW+:2*SW]),
      .write_valid_o(write_valid_o[1:0]), .write_ready_i(write_ready_i[1:0]), .write_o(write_o[0+:2*DW]),
      .wdata_valid_o(wdata_valid_o[1:0]), .wdata_ready_i(wdata_ready_i[1:0]), .wdata_o(wdata_o[0+:2*BW]),
      .done_valid_i(done_valid_i[1:0]), .done_err_i, .line_valid_o(line_valid_o[2:1]), .line_ready_i(line_ready_i[2:1]),
      .line_o(line_o[LW+:2*LW]), .line_rsp_valid_i(line_rsp_valid_i[2:1]), .line_rsp_i
  );

  wire unused_ok = &{1'b0, req_ask_i, rsp_ask_i, answers_i};
endmodule
