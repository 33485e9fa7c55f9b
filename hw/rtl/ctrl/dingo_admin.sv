// SPDX-License-Identifier: BSD-2-Clause

/// The admin queue. It executes one command at a time: fetch (dingo_admin_fetch), check of the fields
/// (dingo_admin_check) and against the tables (dingo_admin_verdict), changes (dingo_admin_orders), answer and
/// completion (dingo_admin_tell); dingo_admin_seq has the state machine. Commands that change what engines use are
/// executed while the card is at rest (dingo_admin_halt). A command takes two host accesses, 8 cycles for each of the
/// two checks, and the halt.
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
    // bringing the card to rest
    output logic        halt_tx_o,
    input  logic        tx_idle_i,
    output logic        halt_rx_o,        // halts receiving and doorbells
    input  logic        rx_idle_i,
    // tables and engines
    output rtl_pkg::orders_t     orders_o,
    input  rtl_pkg::answers_t    answers_i,
    output logic        qp_re_o,
    output rtl_pkg::qpi_t        qp_rindex_o,
    input  rtl_pkg::qp_t         qp_rdata_i,
    output logic        mr_re_o,
    output logic        mr_we_o,
    output rtl_pkg::mri_t        mr_index_o,
    output rtl_pkg::mr_t         mr_wdata_o,
    input  rtl_pkg::mr_t         mr_rdata_i,
    output logic        mrw_valid_o,      // request to dingo_mr_work, held until mrw_done_i
    output rtl_pkg::mrw_req_t    mrw_o,
    input  logic        mrw_done_i,
    input  logic [(1<<rtl_pkg::GID_LOG)*rtl_pkg::GID_W-1:0] gids_i,
    output logic        compute_valid_o,
    input  logic        compute_ready_i,
    output rtl_pkg::compute_cfg_t compute_o,
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
  admin_pkg::state_t state;
  admin_pkg::start_t start;
  admin_pkg::needs_t needs;
  admin_pkg::result_t result;
  logic again, cq_second, counts_error;
  rtl_pkg::qp_t qp_q;
  rtl_pkg::mr_t mr_q;
  rtl_pkg::req_info_t req_info_q;
  rtl_pkg::rsp_info_t rsp_info_q;
  always_ff @(posedge clk_i) begin
    if (rst_ni && state == admin_pkg::LOOKED) begin
      qp_q <= qp_rdata_i;
      mr_q <= mr_rdata_i;
    end
    if (rst_ni && answers_i.req_done) req_info_q <= answers_i.req;
    if (rst_ni && answers_i.rsp_done) rsp_info_q <= answers_i.rsp;
  end

  // ------------------------------------------------------------------------------------ fetch
  logic [1023:0] cmd;
  logic [31:0] op, slot;
  logic fetch_done, fetch_err, fetch_line_valid;
  rtl_pkg::rdl_req_t fetch_line;
  assign slot = asq_consumer_o & ((32'd1 << aq_log_depth_i) - 32'd1);
  dingo_admin_fetch i_fetch (
      .clk_i, .rst_ni, .start_i(start.fetch), .addr_i(asq_base_i[63:6] + 58'({slot, 1'b0})), .done_o(fetch_done),
      .err_o(fetch_err), .cmd_o(cmd), .line_valid_o(fetch_line_valid), .line_ready_i, .line_o(fetch_line),
      .line_rsp_valid_i, .line_rsp_i
  );
  dingo_pkg::admin_hdr_t hdr;
  dingo_pkg::cmd_query_stats_t qs;
  dingo_pkg::cmd_destroy_t destroy;
  dingo_pkg::cmd_create_mr_t mr;
  dingo_pkg::cmd_create_qp_t qp;
  dingo_pkg::cmd_modify_qp_t mq;
  dingo_pkg::cmd_query_qp_t qq;
  dingo_pkg::cmd_set_compute_t sc;
  assign hdr = cmd[dingo_pkg::ADMIN_HDR_W-1:0];
  assign qs = cmd[dingo_pkg::CMD_QUERY_STATS_W-1:0];
  assign destroy = cmd[dingo_pkg::CMD_DESTROY_W-1:0];
  assign mr = cmd[dingo_pkg::CMD_CREATE_MR_W-1:0];
  assign qp = cmd[dingo_pkg::CMD_CREATE_QP_W-1:0];
  assign mq = cmd[dingo_pkg::CMD_MODIFY_QP_W-1:0];
  assign qq = cmd[dingo_pkg::CMD_QUERY_QP_W-1:0];
  assign sc = cmd[dingo_pkg::CMD_SET_COMPUTE_W-1:0];
  assign op = 32'(hdr.opcode);

  // QPN of the command: qp_found compares index and tag
  logic [31:0] qpn;
  rtl_pkg::qpi_t qpi;
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
  assign qpi = qpn[rtl_pkg::QP_LOG-1:0];
  assign qp_found = qp_q.cfg.valid && qp_q.cfg.tag == qpn[23:16] && qpn[31:24] == '0
      && 32'(qpn[15:0]) < 32'd1 << rtl_pkg::QP_LOG;

  // ------------------------------------------------------------------------------------ checks
  admin_pkg::judged_t check, modify, attach;
  rtl_pkg::qp_t modified;
  logic [31:0] verdict;
  dingo_admin_check i_check (
      .judge_i(state == admin_pkg::CHECK), .cmd_i(cmd), .strap_i, .status_o(check.status), .detail_o(check.detail),
      .halt_o(needs.halt)
  );
  dingo_admin_modify i_modify (
      .cmd_i(mq), .qp_i(qp_q), .gids_i, .status_o(modify.status), .detail_o(modify.detail), .qp_o(modified)
  );

  // Existing objects and their numbers of users
  rtl_pkg::cqi_t cqi;
  rtl_pkg::eqi_t eqi, cq_eq;
  logic cq_there, cq_used, eq_there, eq_used, send_cq_there, recv_cq_there, has_async, eth_tx, eth_there, kernel_known;
  rtl_pkg::ethi_t eth_ring;
  dingo_admin_users i_users (
      .clk_i, .rst_ni, .cmd_i(cmd), .qp_i(qp_q), .second_i(cq_second), .write_i(state == admin_pkg::WRITE),
      .write_second_i(state == admin_pkg::USERS), .cqi_o(cqi), .eqi_o(eqi), .cq_eq_o(cq_eq), .cq_there_o(cq_there),
      .cq_used_o(cq_used), .eq_there_o(eq_there), .eq_used_o(eq_used), .send_cq_there_o(send_cq_there),
      .recv_cq_there_o(recv_cq_there), .async_o(has_async), .eth_tx_o(eth_tx), .eth_ring_o(eth_ring), .eth_there_o(eth_there)
  );
  logic srq_there, srq_used, srq_limit_ok, srq_valid;
  rtl_pkg::srq_cfg_t srq_entry, srq;
  rtl_pkg::srqa_req_t srqa;
  dingo_admin_srqs i_srqs (
      .clk_i, .rst_ni, .cmd_i(cmd), .cfg_i(qp_q.cfg), .lookup_i(state == admin_pkg::LOOKUP), .write_i(state == admin_pkg::WRITE),
      .there_o(srq_there), .used_o(srq_used), .limit_ok_o(srq_limit_ok), .entry_o(srq_entry), .valid_o(srq_valid),
      .srq_o(srq), .srqa_o(srqa)
  );
  dingo_admin_verdict i_verdict (
      .cmd_i(cmd), .qp_i(qp_q), .qp_found_i(qp_found), .mr_i(mr_q), .modify_status_i(modify.status),
      .kernel_known_i(kernel_known), .cq_there_i(cq_there), .cq_used_i(cq_used), .eq_there_i(eq_there), .eq_used_i(eq_used),
      .send_cq_there_i(send_cq_there), .recv_cq_there_i(recv_cq_there), .async_i(has_async), .eth_there_i(eth_there),
      .srq_there_i(srq_there), .srq_used_i(srq_used), .srq_limit_ok_i(srq_limit_ok),
      .status_o(verdict)
  );

  logic makes_ring, attach_none, attach_done, attach_line_valid;
  rtl_pkg::rdl_req_t attach_line;
  dingo_admin_attach i_attach (
      .clk_i, .rst_ni, .cmd_i(cmd), .none_o(attach_none), .start_i(start.attach), .done_o(attach_done),
      .status_o(attach.status), .detail_o(attach.detail), .line_valid_o(attach_line_valid), .line_ready_i,
      .line_o(attach_line), .line_rsp_valid_i, .line_rsp_i
  );
  assign makes_ring = op == dingo_pkg::OP_CREATE_EQ || op == dingo_pkg::OP_CREATE_CQ || op == dingo_pkg::OP_CREATE_ETH
      || op == dingo_pkg::OP_CREATE_QP || op == dingo_pkg::OP_RESIZE_CQ || op == dingo_pkg::OP_CREATE_SRQ;
  assign needs.attach = makes_ring && !attach_none;
  assign line_valid_o = fetch_line_valid || attach_line_valid;
  assign line_o = attach_line_valid ? attach_line : fetch_line;

  // ------------------------------------------------------------------------------------ execution
  logic at_rest, reply_done, reply_err;
  admin_pkg::ended_t out_ended, reply_ended;
  dingo_admin_seq i_seq (
      .clk_i, .rst_ni, .idle_o, .aq_enable_i, .asq_producer_i, .consumer_o(asq_consumer_o), .op_i(op), .needs_i(needs),
      .state_o(state), .again_o(again), .cq_second_o(cq_second), .start_o(start), .result_o(result), .irq_o,
      .error_o(counts_error), .fetch_i({fetch_done, fetch_err}), .check_i(check), .at_rest_i(at_rest), .verdict_i(verdict),
      .modify_detail_i(modify.detail), .attach_done_i(attach_done), .attach_i(attach), .mrw_done_i,
      .qpa_valid_i(orders_o.qpa_valid), .answers_i, .clear_ready_i, .compute_ready_i, .out_i(out_ended), .stat_ready_i,
      .reply_i(reply_ended)
  );
  dingo_admin_halt i_halt (
      .clk_i, .rst_ni, .start_i(start.halt), .wait_i(state == admin_pkg::HALT),
      .release_i(start.reply || state == admin_pkg::UNBIND || state == admin_pkg::DEAD), .tx_idle_i, .rx_idle_i, .halt_tx_o,
      .halt_rx_o, .rest_o(at_rest)
  );
  assign {reply_done, reply_err} = reply_ended;
  assign fatal_valid_o = (fetch_done && fetch_err) || (reply_done && reply_err);
  assign fatal_code_o = dingo_pkg::FATAL_ADMIN_BUS;

  rtl_pkg::mr_t made;
  dingo_admin_orders i_orders (
      .state_i(state), .again_i(again), .cmd_i(cmd), .qp_i(qpi), .qp_ctx_i(qp_q), .modified_i(modified), .cqi_i(cqi), .eqi_i(eqi),
      .cq_eq_i(cq_eq), .eth_tx_i(eth_tx), .eth_ring_i(eth_ring), .srq_entry_i(srq_entry), .srq_valid_i(srq_valid), .srq_i(srq),
      .srqa_i(srqa), .mr_o(made), .to_reset_o(needs.to_reset), .orders_o
  );
  assign qp_re_o = state == admin_pkg::LOOKUP;
  assign qp_rindex_o = qpi;

  logic makes_mr, pauses_mr;
  assign makes_mr = op == dingo_pkg::OP_CREATE_MR || op == dingo_pkg::OP_REREG_MR;
  assign pauses_mr = op == dingo_pkg::OP_PAUSE_MR;
  assign mr_re_o = state == admin_pkg::LOOKUP;
  assign mr_we_o = state == admin_pkg::WRITE && (makes_mr || pauses_mr);
  assign mr_index_o = makes_mr ? mr.key[16+:rtl_pkg::MR_LOG] : destroy.id[16+:rtl_pkg::MR_LOG];
  always_comb begin
    mr_wdata_o = pauses_mr ? mr_q : made;
    mr_wdata_o.paused = pauses_mr;
  end
  assign mrw_valid_o = state == admin_pkg::DROP_MR || state == admin_pkg::UNBIND;
  always_comb begin
    mrw_o = '0;
    mrw_o.op = state == admin_pkg::UNBIND ? rtl_pkg::MRW_FORGET : rtl_pkg::MRW_DESTROY;
    mrw_o.qp = qpi;
    mrw_o.key = destroy.id;
  end
  assign compute_valid_o = state == admin_pkg::COMPUTE;
  assign compute_o.send = op != dingo_pkg::OP_SET_COMPUTE || sc.direction == dingo_pkg::COMPUTE_SEND;
  assign compute_o.receive = op != dingo_pkg::OP_SET_COMPUTE || sc.direction == dingo_pkg::COMPUTE_RECEIVE;
  assign compute_o.qp = qpi;
  assign compute_o.kernel = op == dingo_pkg::OP_SET_COMPUTE ? sc.kernel[1:0] : rtl_pkg::KERNEL_PASS;
  assign compute_o.param = op == dingo_pkg::OP_SET_COMPUTE ? sc.param : '0;
  assign clear_valid_o = state == admin_pkg::CLEARC;
  assign clear_qp_o = qpi;
  assign read_qp_o = qs.scope[0];
  assign read_qpi_o = qpi;
  assign stat_valid_o = state == admin_pkg::COUNT;
  assign stat_o.idx = counts_error ? 6'(dingo_pkg::CARD_ADMIN_ERRORS) : 6'(dingo_pkg::CARD_ADMIN_COMMANDS);
  assign stat_o.by = 16'd1;

  dingo_admin_tell i_tell (
      .clk_i, .rst_ni, .cmd_i(cmd), .strap_i, .start_i(start), .result_i(result),
      .owner_i(!asq_consumer_o[{1'b0, aq_log_depth_i}]), .reply_addr_i(acq_base_i + {26'd0, slot, 6'd0}), .qp_i(qp_q),
      .req_info_i(req_info_q), .rsp_info_i(rsp_info_q), .kernel_known_o(kernel_known), .out_o(needs.out),
      .stats_len_o(needs.stats_len), .out_ended_o(out_ended), .reply_ended_o(reply_ended), .read_valid_o, .read_ready_i,
      .read_idx_o, .value_valid_i, .value_i, .write_valid_o, .write_ready_i, .write_o, .wdata_valid_o, .wdata_ready_i, .wdata_o,
      .written_i(done_valid_i), .written_err_i(done_err_i)
  );

  wire unused_ok = &{1'b0, hdr, qs, mr, qp, mq, qq, sc, asq_base_i[5:0], destroy};
endmodule
