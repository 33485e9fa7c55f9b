// SPDX-License-Identifier: BSD-2-Clause

/// The admin queue: fetches commands one after the other (dingo_admin_fetch), checks every field (dingo_admin_check), asks
/// the tables (dingo_admin_verdict), does them, writes answer and completion (dingo_admin_out, dingo_admin_reply). Commands that change what engines use are done while everything stands still (dingo_admin_halt).
/// A command takes two host accesses, 8 cycles for the checks, 8 for what the tables say, and the halt.
module dingo_admin (
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic        idle_o,
    input  rtl_pkg::strap_t      strap_i,
    // dingo_regs
    input  logic        aq_enable_i,
    input  logic [ 3:0] aq_log_depth_i,
    input  logic [63:0] asq_base_i,
    input  logic [63:0] acq_base_i,
    input  logic [31:0] asq_producer_i,
    output logic [31:0] asq_consumer_o,   // commands completed since enabling
    output logic        fatal_valid_o,
    output logic [31:0] fatal_code_o,
    // standing still
    output logic        halt_tx_o,
    input  logic        tx_idle_i,
    output logic        halt_rx_o,
    input  logic        rx_idle_i,
    output logic        halt_db_o,
    output logic        xl_flush_o,       // pulse: page lists may be gone
    output logic        resume_o,         // pulse: a region may be paused no more
    // tables
    output logic        qp_re_o,
    output rtl_pkg::qpi_t        qp_rindex_o,
    input  rtl_pkg::qp_t         qp_rdata_i,
    output logic        qp_we_o,
    output rtl_pkg::qpi_t        qp_windex_o,
    output rtl_pkg::qp_cfg_t     qp_wdata_o,
    output logic        state_we_o,
    output rtl_pkg::qps_t        state_o,          // new state of QP qp_windex_o
    output logic        mr_re_o,
    output logic        mr_we_o,
    output rtl_pkg::mri_t        mr_index_o,
    output rtl_pkg::mr_t         mr_wdata_o,
    input  rtl_pkg::mr_t         mr_rdata_i,
    output logic        mrw_valid_o,      // dingo_mr_work: what a command leaves to it, until it is done
    output rtl_pkg::mrw_req_t    mrw_o,
    input  logic        mrw_done_i,
    output logic        port_we_o,
    output rtl_pkg::port_t       port_o,
    output logic        gid_we_o,
    output rtl_pkg::gidi_t       gid_index_o,
    output rtl_pkg::gid_t        gid_o,
    input  logic [(1<<rtl_pkg::GID_LOG)*rtl_pkg::GID_W-1:0] gids_i,
    output logic        mac_we_o,
    output logic [rtl_pkg::MAC_LOG-1:0] mac_index_o,
    output logic        mac_valid_o,
    output logic [47:0] mac_o,
    output logic        cq_valid_o,
    output rtl_pkg::cq_cfg_t     cq_o,
    input  logic        cq_info_valid_i,  // the answer to a resize
    input  rtl_pkg::cq_info_t    cq_info_i,
    output logic        eq_valid_o,
    output rtl_pkg::eq_cfg_t     eq_o,
    output logic        srq_valid_o,      // one cycle: made, or gone
    output rtl_pkg::srq_cfg_t    srq_o,
    output logic        forget_valid_o,
    output rtl_pkg::ev_t         forget_o,
    output logic        etx_valid_o,
    output logic        erx_valid_o,
    output rtl_pkg::eth_cfg_t    eth_o,
    output logic        rss_valid_o,
    output rtl_pkg::rss_t        rss_o,
    // engines: both get every request; done is one cycle, with the answer
    output logic        qpa_valid_o,      // one cycle
    output rtl_pkg::qpa_req_t    qpa_o,
    input  logic        req_done_i,
    input  rtl_pkg::req_info_t   req_info_i,
    input  logic        rsp_done_i,
    input  rtl_pkg::rsp_info_t   rsp_info_i,
    // the responder: commands about SRQs
    output logic        srqa_valid_o,     // one cycle
    output rtl_pkg::srqa_req_t   srqa_o,
    input  logic        srqa_done_i,      // one cycle, with the answer
    input  rtl_pkg::srq_info_t   srq_info_i,
    // dingo_compute_slot
    output logic        compute_valid_o,
    input  logic        compute_ready_i,
    output rtl_pkg::qpi_t        compute_qp_o,
    output rtl_pkg::kernel_t     compute_kernel_o,
    output logic [31:0] compute_param_o,
    // dingo_stats
    output logic        clear_valid_o,
    input  logic        clear_ready_i,
    output rtl_pkg::qpi_t        clear_qp_o,
    output logic        read_valid_o,
    input  logic        read_ready_i,
    output logic        read_qp_o,
    output rtl_pkg::qpi_t        read_qpi_o,
    output logic [ 5:0] read_idx_o,
    input  logic        value_valid_i,
    input  logic [63:0] value_i,
    output logic        stat_valid_o,
    input  logic        stat_ready_i,
    output rtl_pkg::stat_t       stat_o,
    output logic        irq_o,            // pulse: the completion is in host memory
    // dingo_host
    output logic        line_valid_o,
    input  logic        line_ready_i,
    output rtl_pkg::rdl_req_t    line_o,
    input  logic        line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t    line_rsp_i,
    output logic        write_valid_o,
    input  logic        write_ready_i,
    output rtl_pkg::dma_req_t    write_o,
    output logic        wdata_valid_o,
    input  logic        wdata_ready_i,
    output rtl_pkg::beat_t       wdata_o,
    input  logic        done_valid_i,
    input  logic        done_err_i
);
  typedef enum logic [4:0] {
    IDLE    = 5'd0,
    FETCH   = 5'd1,
    CHECK   = 5'd2,
    HALT    = 5'd3,    // wait for rest
    LOOKUP  = 5'd4,    // tables
    LOOKED  = 5'd5,
    DECIDE  = 5'd6,
    ATTACH  = 5'd7,    // page lists of its rings
    WRITE   = 5'd8,    // tables change
    USERS   = 5'd9,    // second CQ of a QP
    ENGINE  = 5'd10,   // engines take note
    AFTER   = 5'd11,
    FORGET  = 5'd12,
    CLEARC  = 5'd13,   // counters of a new QP
    COMPUTE = 5'd14,   // the QP's kernel
    OUT     = 5'd15,   // the answer goes to the host
    COUNT   = 5'd16,
    REPLY   = 5'd17,
    DEAD    = 5'd18,
    RESIZE  = 5'd19,   // the CQ says what its old ring holds
    SRQ     = 5'd20,   // the responder does what the command says of an SRQ
    DROP_MR = 5'd21,   // a region or window goes
    UNBIND  = 5'd22    // windows of a QP that is no more: nobody gets through them, so the card goes on meanwhile
  } state_e;

  state_e state_q;
  logic [31:0] status_q, detail_q;
  logic [63:0] result_q;
  logic [31:0] available_q;           // QUERY_SRQ, the second result; else 0
  logic [31:0] consumer_q;
  logic enable_q;
  logic [2:0] settle_q;               // the checks are long sums: they have 8 cycles (a multicycle path)
  logic at_rest;
  rtl_pkg::qp_t qp_q;
  rtl_pkg::mr_t mr_q;
  logic req_seen_q, rsp_seen_q;
  rtl_pkg::req_info_t req_info_q;
  rtl_pkg::rsp_info_t rsp_info_q;
  logic cq_second_q;                  // the receive CQ of a QP
  logic counted_q, forgot_q;
  logic counted_all;                  // the command; the error besides when it is one
  logic irq_q;

  // ------------------------------------------------------------------------------------ the command
  logic [1023:0] cmd;
  logic fetch_start, fetch_done, fetch_err, fetch_line_valid;
  rtl_pkg::rdl_req_t fetch_line;
  dingo_admin_fetch i_fetch (
      .clk_i, .rst_ni, .start_i(fetch_start), .addr_i(asq_base_i[63:6] + 58'({slot, 1'b0})), .done_o(fetch_done),
      .err_o(fetch_err), .cmd_o(cmd), .line_valid_o(fetch_line_valid), .line_ready_i, .line_o(fetch_line),
      .line_rsp_valid_i, .line_rsp_i
  );
  logic [31:0] op, check_status, check_detail, modify_status, modify_detail;
  logic check_halt;
  rtl_pkg::qp_t modified;
  dingo_pkg::admin_hdr_t hdr;
  dingo_pkg::cmd_query_device_t qd;
  dingo_pkg::cmd_query_stats_t qs;
  dingo_pkg::cmd_set_mac_t sm;
  dingo_pkg::cmd_set_gid_t sg;
  dingo_pkg::cmd_destroy_t destroy;
  dingo_pkg::cmd_create_mr_t mr;
  dingo_pkg::cmd_create_qp_t qp;
  dingo_pkg::cmd_modify_qp_t mq;
  dingo_pkg::cmd_query_qp_t qq;
  dingo_pkg::cmd_set_compute_t sc;
  assign hdr = cmd[63:0];
  assign qd = cmd[191:0];
  assign qs = cmd[255:0];
  assign sm = cmd[191:0];
  assign sg = cmd[319:0];
  assign destroy = cmd[127:0];
  assign mr = cmd[511:0];
  assign qp = cmd[639:0];
  assign mq = cmd[831:0];
  assign qq = cmd[191:0];
  assign sc = cmd[255:0];
  assign op = 32'(hdr.opcode);

  dingo_admin_check i_check (
      .judge_i(state_q == CHECK), .cmd_i(cmd), .strap_i, .status_o(check_status), .detail_o(check_detail), .halt_o(check_halt)
  );
  dingo_admin_modify i_modify (
      .cmd_i(cmd[831:0]), .qp_i(qp_q), .gids_i, .status_o(modify_status), .detail_o(modify_detail), .qp_o(modified)
  );

  // QPN of the command: find_qp compares index and tag
  logic [31:0] qpn;
  logic qp_found;
  always_comb
    case (op)
      dingo_pkg::OP_CREATE_QP: qpn = qp.qpn;
      dingo_pkg::OP_MODIFY_QP: qpn = mq.qpn;
      dingo_pkg::OP_QUERY_QP: qpn = qq.qpn;
      dingo_pkg::OP_QUERY_STATS: qpn = qs.id;
      dingo_pkg::OP_SET_COMPUTE: qpn = sc.qpn;
      default: qpn = destroy.id;
    endcase
  assign qp_found = qp_q.cfg.valid && qp_q.cfg.tag == qpn[23:16] && qpn[31:24] == '0
      && 32'(qpn[15:0]) < 32'd1 << rtl_pkg::QP_LOG;

  // The kernel that QUERY_COMPUTE asks for
  logic kernel_known;
  logic [319:0] kernel_result;
  logic [63:0] unused_range;
  dingo_compute_info i_kernel (
      .index_i(destroy.id), .known_o(kernel_known), .smallest_o(unused_range[31:0]), .largest_o(unused_range[63:32]),
      .result_o(kernel_result)
  );

  // Objects that exist, and their users
  rtl_pkg::cqi_t cqi;
  rtl_pkg::eqi_t eqi, cq_eq;
  logic cq_there, cq_used, eq_there, eq_used, send_cq_there, recv_cq_there, has_async, eth_tx, eth_there;
  rtl_pkg::ethi_t eth_ring;
  dingo_admin_users i_users (
      .clk_i, .rst_ni, .cmd_i(cmd), .qp_i(qp_q), .second_i(cq_second_q), .write_i(state_q == WRITE),
      .write_second_i(state_q == USERS), .cqi_o(cqi), .eqi_o(eqi), .cq_eq_o(cq_eq), .cq_there_o(cq_there),
      .cq_used_o(cq_used), .eq_there_o(eq_there), .eq_used_o(eq_used), .send_cq_there_o(send_cq_there),
      .recv_cq_there_o(recv_cq_there), .async_o(has_async), .eth_tx_o(eth_tx),
      .eth_ring_o(eth_ring), .eth_there_o(eth_there)
  );

  logic srq_there, srq_used, srq_limit_ok, about_srq;
  rtl_pkg::srq_cfg_t srq_entry;
  dingo_admin_srqs i_srqs (
      .clk_i, .rst_ni, .cmd_i(cmd), .cfg_i(qp_q.cfg), .lookup_i(state_q == LOOKUP), .write_i(state_q == WRITE),
      .there_o(srq_there), .used_o(srq_used), .limit_ok_o(srq_limit_ok), .entry_o(srq_entry), .valid_o(srq_valid_o),
      .srq_o, .srqa_o
  );
  assign about_srq = op == dingo_pkg::OP_CREATE_SRQ || op == dingo_pkg::OP_DESTROY_SRQ || op == dingo_pkg::OP_MODIFY_SRQ
      || op == dingo_pkg::OP_QUERY_SRQ;
  assign srqa_valid_o = state_q == WRITE && about_srq;

  logic [31:0] verdict;
  dingo_admin_verdict i_verdict (
      .cmd_i(cmd), .qp_i(qp_q), .qp_found_i(qp_found), .mr_i(mr_q), .modify_status_i(modify_status),
      .kernel_known_i(kernel_known), .cq_there_i(cq_there), .cq_used_i(cq_used), .eq_there_i(eq_there), .eq_used_i(eq_used),
      .send_cq_there_i(send_cq_there), .recv_cq_there_i(recv_cq_there), .async_i(has_async), .eth_there_i(eth_there),
      .srq_there_i(srq_there), .srq_used_i(srq_used), .srq_limit_ok_i(srq_limit_ok),
      .status_o(verdict)
  );

  logic makes_ring, attach_none, attach_start, attach_done, attach_line_valid;
  logic [31:0] attach_status, attach_detail;
  rtl_pkg::rdl_req_t attach_line;
  dingo_admin_attach i_attach (
      .clk_i, .rst_ni, .cmd_i(cmd), .none_o(attach_none), .start_i(attach_start), .done_o(attach_done),
      .status_o(attach_status), .detail_o(attach_detail), .line_valid_o(attach_line_valid), .line_ready_i,
      .line_o(attach_line), .line_rsp_valid_i, .line_rsp_i
  );
  assign makes_ring = op == dingo_pkg::OP_CREATE_EQ || op == dingo_pkg::OP_CREATE_CQ || op == dingo_pkg::OP_CREATE_ETH
      || op == dingo_pkg::OP_CREATE_QP || op == dingo_pkg::OP_RESIZE_CQ || op == dingo_pkg::OP_CREATE_SRQ;
  assign line_valid_o = fetch_line_valid || attach_line_valid;
  assign line_o = attach_line_valid ? attach_line : fetch_line;

  // ------------------------------------------------------------------------------------ answers
  logic [1023:0] limits, info;
  dingo_pkg::admin_cpl_t cpl;
  dingo_admin_answers i_answers (
      .strap_i, .qp_i(qp_q), .req_info_i(req_info_q), .rsp_info_i(rsp_info_q), .limits_o(limits), .qp_info_o(info)
  );
  always_comb begin
    cpl = '0;
    cpl.cmd_id = hdr.cmd_id;
    cpl.opcode = hdr.opcode;
    cpl.status = status_q;
    cpl.detail = detail_q;
    cpl.result[63:0] = result_q;
    cpl.result[95:64] = available_q;
    if (op == dingo_pkg::OP_QUERY_COMPUTE && status_q == dingo_pkg::ST_OK) cpl.result = kernel_result;
    cpl.owner = {7'd0, !consumer_q[{1'b0, aq_log_depth_i}]};
  end

  logic [31:0] slot;
  logic [31:0] counters, stats_len;
  logic [63:0] out_addr;
  logic [15:0] out_len;
  logic [1023:0] out_data;
  logic decided, out_start, out_start_stats, out_done, out_err, out_write_valid, out_wdata_valid;
  logic reply_start, reply_done, reply_err, reply_write_valid, reply_wdata_valid;
  rtl_pkg::dma_req_t out_write, reply_write;
  rtl_pkg::beat_t out_wdata, reply_wdata;
  assign slot = consumer_q & ((32'd1 << aq_log_depth_i) - 32'd1);
  assign counters = qs.scope[0] ? dingo_pkg::QP_COUNTERS : dingo_pkg::CARD_COUNTERS;
  assign stats_len = qs.out_len < {counters[28:0], 3'd0} ? qs.out_len : {counters[28:0], 3'd0};
  always_comb begin
    out_addr = qq.out_addr;
    out_len = 16'd128;
    out_data = info;
    case (op)
      dingo_pkg::OP_QUERY_DEVICE: begin
        out_addr = qd.out_addr;
        out_len = qd.out_len < 32'd128 ? qd.out_len[15:0] : 16'd128;
        out_data = limits;
      end
      dingo_pkg::OP_QUERY_STATS: begin
        out_addr = qs.out_addr;
        out_len = stats_len[15:0];
      end
      default: ;
    endcase
  end
  dingo_admin_out i_out (
      .clk_i, .rst_ni, .start_i(out_start), .start_stats_i(out_start_stats), .addr_i(out_addr), .len_i(out_len),
      .data_i(out_data), .done_o(out_done), .err_o(out_err), .read_valid_o, .read_ready_i, .read_idx_o, .value_valid_i,
      .value_i, .write_valid_o(out_write_valid), .write_ready_i, .write_o(out_write), .wdata_valid_o(out_wdata_valid),
      .wdata_ready_i, .wdata_o(out_wdata), .written_i(done_valid_i), .written_err_i(done_err_i)
  );
  dingo_admin_reply i_reply (
      .clk_i, .rst_ni, .start_i(reply_start), .addr_i(acq_base_i + {26'd0, slot, 6'd0}), .cpl_i(cpl), .done_o(reply_done),
      .err_o(reply_err), .write_valid_o(reply_write_valid), .write_ready_i, .write_o(reply_write),
      .wdata_valid_o(reply_wdata_valid), .wdata_ready_i, .wdata_o(reply_wdata), .written_i(done_valid_i),
      .written_err_i(done_err_i)
  );
  assign write_valid_o = out_write_valid || reply_write_valid;
  assign write_o = out_write_valid ? out_write : reply_write;
  assign wdata_valid_o = out_wdata_valid || reply_wdata_valid;
  assign wdata_o = out_wdata_valid ? out_wdata : reply_wdata;

  // ------------------------------------------------------------------------------------ outputs by state
  // What the parts begin with
  assign decided = state_q == DECIDE && &settle_q && verdict == dingo_pkg::ST_OK;
  assign fetch_start = state_q == IDLE && aq_enable_i && enable_q && asq_producer_i != consumer_q;
  assign attach_start = decided && makes_ring && !attach_none;
  assign out_start = (decided && op == dingo_pkg::OP_QUERY_DEVICE && qd.out_len != '0)
      || (state_q == ENGINE && req_seen_q && rsp_seen_q && op == dingo_pkg::OP_QUERY_QP);
  assign out_start_stats = decided && op == dingo_pkg::OP_QUERY_STATS && stats_len != '0;
  assign reply_start = state_q == COUNT && stat_ready_i && counted_all;

  dingo_admin_halt i_halt (
      .clk_i, .rst_ni,
      .start_i(state_q == CHECK && &settle_q && check_status == dingo_pkg::ST_OK && op != dingo_pkg::OP_NOP && check_halt),
      .wait_i(state_q == HALT), .release_i(reply_start || state_q == UNBIND || state_q == DEAD), .tx_idle_i, .rx_idle_i, .halt_tx_o, .halt_rx_o,
      .rest_o(at_rest)
  );
  assign halt_db_o = halt_rx_o;
  assign asq_consumer_o = consumer_q;
  assign irq_o = irq_q;
  assign fatal_code_o = dingo_pkg::FATAL_ADMIN_BUS;
  assign idle_o = (state_q == IDLE && !irq_q && !fetch_start && aq_enable_i == enable_q) || state_q == DEAD;

  assign qp_re_o = state_q == LOOKUP;
  assign qp_rindex_o = qpn[rtl_pkg::QP_LOG-1:0];
  assign mr_re_o = state_q == LOOKUP;
  logic makes_mr, pauses_mr;
  rtl_pkg::mr_t made;
  assign makes_mr = op == dingo_pkg::OP_CREATE_MR || op == dingo_pkg::OP_REREG_MR;
  assign pauses_mr = op == dingo_pkg::OP_PAUSE_MR;
  assign mr_index_o = makes_mr ? mr.key[16+:rtl_pkg::MR_LOG] : destroy.id[16+:rtl_pkg::MR_LOG];
  assign mr_we_o = state_q == WRITE && (makes_mr || pauses_mr);
  always_comb begin
    mr_wdata_o = pauses_mr ? mr_q : made;
    mr_wdata_o.paused = pauses_mr;
  end
  assign mrw_valid_o = state_q == DROP_MR || state_q == UNBIND;
  always_comb begin
    mrw_o = '0;
    mrw_o.op = state_q == UNBIND ? rtl_pkg::MRW_FORGET : rtl_pkg::MRW_DESTROY;
    mrw_o.qp = qp_windex_o;
    mrw_o.key = destroy.id;
  end
  rtl_pkg::qp_cfg_t created;
  dingo_admin_entries i_entries (
      .cmd_i(cmd), .cqi_i(cqi), .eqi_i(eqi), .cq_eq_i(cq_eq), .eth_ring_i(eth_ring), .srq_i(srq_entry), .mr_o(made), .qp_o(created), .port_o, .gid_o, .cq_o,
      .eq_o, .eth_o, .rss_o
  );
  logic destroy_qp_now;
  assign destroy_qp_now = state_q == AFTER && op == dingo_pkg::OP_DESTROY_QP;
  assign qp_windex_o = qpn[rtl_pkg::QP_LOG-1:0];
  assign qp_we_o = (state_q == WRITE && (op == dingo_pkg::OP_CREATE_QP || op == dingo_pkg::OP_MODIFY_QP)) || destroy_qp_now;
  assign qp_wdata_o = op == dingo_pkg::OP_CREATE_QP ? created : op == dingo_pkg::OP_MODIFY_QP ? modified.cfg : '0;
  assign state_we_o = qp_we_o;
  assign state_o = op == dingo_pkg::OP_MODIFY_QP ? modified.state : 3'(dingo_pkg::QPS_RESET);

  logic to_reset;
  assign to_reset = op == dingo_pkg::OP_MODIFY_QP && modified.state == 3'(dingo_pkg::QPS_RESET);
  assign qpa_valid_o = state_q == WRITE && (op == dingo_pkg::OP_CREATE_QP || op == dingo_pkg::OP_MODIFY_QP
      || op == dingo_pkg::OP_DESTROY_QP || op == dingo_pkg::OP_QUERY_QP);
  always_comb begin
    qpa_o = '0;
    qpa_o.op = op == dingo_pkg::OP_QUERY_QP ? rtl_pkg::QPA_QUERY
        : op == dingo_pkg::OP_MODIFY_QP && !to_reset ? rtl_pkg::QPA_MODIFY : rtl_pkg::QPA_CLEAR;
    qpa_o.destroy = op == dingo_pkg::OP_DESTROY_QP;
    qpa_o.old_state = qp_q.state;
    qpa_o.mask = op == dingo_pkg::OP_MODIFY_QP ? mq.mask[20:0] : '0;
    qpa_o.qp = qp_windex_o;
    qpa_o.ctx = op == dingo_pkg::OP_MODIFY_QP ? modified
        : op == dingo_pkg::OP_CREATE_QP ? {3'(dingo_pkg::QPS_RESET), created} : qp_q;
  end

  assign port_we_o = state_q == WRITE && op == dingo_pkg::OP_SET_PORT;
  assign gid_we_o = state_q == WRITE && op == dingo_pkg::OP_SET_GID;
  assign gid_index_o = sg.index[rtl_pkg::GID_LOG-1:0];
  assign mac_we_o = state_q == WRITE && op == dingo_pkg::OP_SET_MAC;
  assign mac_index_o = sm.index[rtl_pkg::MAC_LOG-1:0];
  assign mac_valid_o = sm.valid[0];
  assign mac_o = sm.mac;
  assign cq_valid_o = state_q == WRITE && (op == dingo_pkg::OP_CREATE_CQ || op == dingo_pkg::OP_DESTROY_CQ || op == dingo_pkg::OP_RESIZE_CQ
      || op == dingo_pkg::OP_MODIFY_CQ);
  assign eq_valid_o = state_q == WRITE && (op == dingo_pkg::OP_CREATE_EQ || op == dingo_pkg::OP_DESTROY_EQ);
  assign etx_valid_o = state_q == WRITE && (op == dingo_pkg::OP_CREATE_ETH || op == dingo_pkg::OP_DESTROY_ETH) && eth_tx;
  assign erx_valid_o = state_q == WRITE && (op == dingo_pkg::OP_CREATE_ETH || op == dingo_pkg::OP_DESTROY_ETH) && !eth_tx;
  assign rss_valid_o = state_q == WRITE && op == dingo_pkg::OP_SET_RSS;

  assign forget_valid_o = state_q == FORGET;
  assign forget_o.kind = op == dingo_pkg::OP_DESTROY_QP ? 8'(dingo_pkg::EV_QP_FATAL)
      : op == dingo_pkg::OP_DESTROY_SRQ ? (forgot_q ? 8'(dingo_pkg::EV_SRQ_LIMIT) : 8'(dingo_pkg::EV_SRQ_ERR))
      : forgot_q ? 8'(dingo_pkg::EV_CQ_ERR) : 8'(dingo_pkg::EV_COMPLETION);
  assign forget_o.id = destroy.id;
  assign forget_o.data = '0;
  assign xl_flush_o = state_q == FORGET
      || (state_q == AFTER && (to_reset || op == dingo_pkg::OP_DESTROY_MR || op == dingo_pkg::OP_REREG_MR || op == dingo_pkg::OP_RESIZE_CQ || op == dingo_pkg::OP_DESTROY_EQ || op == dingo_pkg::OP_DESTROY_ETH));
  assign resume_o = state_q == AFTER && (op == dingo_pkg::OP_DESTROY_MR || op == dingo_pkg::OP_REREG_MR);
  assign compute_valid_o = state_q == COMPUTE;
  assign compute_qp_o = qp_windex_o;
  assign compute_kernel_o = op == dingo_pkg::OP_SET_COMPUTE ? sc.kernel[1:0] : rtl_pkg::KERNEL_PASS;
  assign compute_param_o = op == dingo_pkg::OP_SET_COMPUTE ? sc.param : '0;
  assign clear_valid_o = state_q == CLEARC;
  assign clear_qp_o = qp_windex_o;
  assign read_qp_o = qs.scope[0];
  assign read_qpi_o = qp_windex_o;
  assign counted_all = counted_q || status_q == dingo_pkg::ST_OK;
  assign stat_valid_o = state_q == COUNT;
  assign stat_o.idx = counted_q ? 6'(dingo_pkg::CARD_ADMIN_ERRORS) : 6'(dingo_pkg::CARD_ADMIN_COMMANDS);
  assign stat_o.by = 16'd1;

  // ------------------------------------------------------------------------------------ steps
  assign fatal_valid_o = (fetch_done && fetch_err) || (reply_done && reply_err);

  always_ff @(posedge clk_i) begin
    irq_q <= 1'b0;
    if (!rst_ni) begin
      state_q      <= IDLE;
      enable_q     <= 1'b0;
      consumer_q   <= '0;
      settle_q     <= '0;
    end else begin
      settle_q <= state_q == CHECK || state_q == DECIDE ? settle_q + 1'b1 : '0;
      // Enabling starts both rings afresh.
      if (state_q == IDLE) begin
        enable_q <= aq_enable_i;
        if (!aq_enable_i || !enable_q) consumer_q <= '0;
      end
      case (state_q)
        IDLE:
        if (fetch_start) begin
          state_q  <= FETCH;
          status_q <= dingo_pkg::ST_OK;
          detail_q <= '0;
          result_q <= '0;
          available_q <= '0;
          counted_q <= 1'b0;
          forgot_q <= 1'b0;
          cq_second_q <= 1'b0;
        end
        FETCH: if (fetch_done) state_q <= fetch_err ? DEAD : CHECK;
        CHECK:
        if (&settle_q) begin
          status_q <= check_status;
          detail_q <= check_detail;
          if (check_status != dingo_pkg::ST_OK) state_q <= COUNT;
          else if (op == dingo_pkg::OP_NOP) state_q <= COUNT;
          else state_q <= check_halt ? HALT : LOOKUP;
        end
        HALT: if (at_rest) state_q <= LOOKUP;
        LOOKUP: state_q <= LOOKED;
        LOOKED: begin
          qp_q    <= qp_rdata_i;
          mr_q    <= mr_rdata_i;
          state_q <= DECIDE;
        end
        DECIDE:
        if (&settle_q) begin
          status_q <= verdict;
          if (verdict == dingo_pkg::ST_BAD_FIELD) detail_q <= op == dingo_pkg::OP_MODIFY_SRQ ? 32'd12 : modify_detail;
          req_seen_q   <= 1'b0;
          rsp_seen_q   <= 1'b0;
          if (verdict != dingo_pkg::ST_OK) state_q <= COUNT;
          else if (op == dingo_pkg::OP_QUERY_STATS) begin
            result_q <= {32'd0, stats_len};
            state_q  <= out_start_stats ? OUT : COUNT;
          end else if (op == dingo_pkg::OP_QUERY_DEVICE) state_q <= out_start ? OUT : COUNT;
          else state_q <= attach_start ? ATTACH : WRITE;
        end
        ATTACH:
        if (attach_done) begin
          status_q <= attach_status;
          if (attach_status == dingo_pkg::ST_BAD_FIELD) detail_q <= attach_detail;
          state_q <= attach_status == dingo_pkg::ST_OK ? WRITE : COUNT;
        end
        WRITE: begin
          if (op == dingo_pkg::OP_CREATE_QP || op == dingo_pkg::OP_DESTROY_QP) cq_second_q <= 1'b1;
          case (op)
            dingo_pkg::OP_DESTROY_CQ: state_q <= FORGET;
            dingo_pkg::OP_DESTROY_EQ, dingo_pkg::OP_REREG_MR, dingo_pkg::OP_DESTROY_ETH: state_q <= AFTER;
            dingo_pkg::OP_DESTROY_MR: state_q <= DROP_MR;
            dingo_pkg::OP_RESIZE_CQ: state_q <= RESIZE;
            dingo_pkg::OP_CREATE_SRQ, dingo_pkg::OP_DESTROY_SRQ, dingo_pkg::OP_MODIFY_SRQ, dingo_pkg::OP_QUERY_SRQ: state_q <= SRQ;
            dingo_pkg::OP_SET_COMPUTE: state_q <= COMPUTE;
            dingo_pkg::OP_CREATE_QP, dingo_pkg::OP_DESTROY_QP: state_q <= USERS;
            dingo_pkg::OP_MODIFY_QP, dingo_pkg::OP_QUERY_QP: state_q <= ENGINE;
            default: state_q <= COUNT;
          endcase
        end
        DROP_MR: if (mrw_done_i) state_q <= AFTER;
        UNBIND: if (mrw_done_i) state_q <= COUNT;
        RESIZE:
        if (cq_info_valid_i) begin
          if (cq_info_i.error) status_q <= dingo_pkg::ST_BAD_STATE;
          else result_q <= {32'd0, cq_info_i.producer};
          state_q <= AFTER;            // lists of the old ring may be gone
        end
        SRQ:
        if (srqa_done_i) begin
          if (op == dingo_pkg::OP_QUERY_SRQ) begin
            result_q <= {48'd0, srq_info_i.limit};
            available_q <= srq_info_i.available;
          end
          state_q <= op == dingo_pkg::OP_DESTROY_SRQ ? FORGET : COUNT;
        end
        USERS: state_q <= ENGINE;
        ENGINE:
        if (req_seen_q && rsp_seen_q) begin
          if (op == dingo_pkg::OP_QUERY_QP) state_q <= OUT;
          else if (op == dingo_pkg::OP_CREATE_QP) state_q <= CLEARC;
          else state_q <= AFTER;
        end
        CLEARC: if (clear_ready_i) state_q <= COMPUTE;
        AFTER: state_q <= op == dingo_pkg::OP_DESTROY_QP ? FORGET : to_reset ? COMPUTE : COUNT;
        COMPUTE: if (compute_ready_i) state_q <= to_reset ? UNBIND : COUNT;
        FORGET: begin
          forgot_q <= 1'b1;
          if (op == dingo_pkg::OP_DESTROY_QP) state_q <= UNBIND;
          else if (forgot_q) state_q <= COUNT;
        end
        OUT:
        if (out_done) begin
          if (out_err) begin
            status_q <= dingo_pkg::ST_BUS_ERROR;
            result_q <= '0;
          end
          state_q <= COUNT;
        end
        COUNT:
        if (stat_ready_i) begin
          counted_q <= 1'b1;
          if (counted_all) state_q <= REPLY;
        end
        REPLY:
        if (reply_done) begin
          consumer_q <= consumer_q + 1'b1;
          irq_q      <= !reply_err;
          state_q    <= reply_err ? DEAD : IDLE;
        end
        default: ;  // DEAD: only a reset helps
      endcase
      if (qpa_valid_o) begin
        req_seen_q <= 1'b0;
        rsp_seen_q <= 1'b0;
      end
      if (req_done_i) begin
        req_seen_q <= 1'b1;
        req_info_q <= req_info_i;
      end
      if (rsp_done_i) begin
        rsp_seen_q <= 1'b1;
        rsp_info_q <= rsp_info_i;
      end
    end
  end

  wire unused_ok = &{1'b0, hdr, qd, qs, sm, sg, mr, qp, mq, qq, sc, unused_range, asq_base_i[5:0], destroy, counters, stats_len};
endmodule
