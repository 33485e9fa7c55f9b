// SPDX-License-Identifier: BSD-2-Clause

/// The answering half of all QPs: requests and datagrams to memory and receive completions; READ
/// responses, ACKs and NAKs. A request is checked and its payload ordered at once; completion and
/// acknowledgement follow when the payload is in memory (commit).
module dingo_responder (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        halt_tx_i,
    output logic        tx_idle_o,
    output logic        idle_o,
    output logic        work_o,
    input  logic        xl_flush_i,
    input  logic [(1<<rtl_pkg::GID_LOG)-1:0] gid_valid_i,
    input  logic        db_valid_i,
    output logic        db_ready_o,
    input  rtl_pkg::qdb_t        db_i,
    output logic        db_bad_o,
    input  logic        rxp_valid_i,     // requests and datagrams
    output logic        rxp_ready_o,
    input  rtl_pkg::rxp_t        rxp_i,
    input  logic        commit_valid_i,
    output logic        commit_ready_o,
    input  rtl_pkg::commit_t     commit_i,
    input  logic        txerr_valid_i,
    output logic        txerr_ready_o,
    input  rtl_pkg::txerr_t      txerr_i,
    input  logic        cq_fail_valid_i,
    input  rtl_pkg::qpi_t        cq_fail_qp_i,
    input  logic        fail_valid_i,    // the requester moved this QP to ERR; always taken
    input  rtl_pkg::qpi_t        fail_qp_i,
    output logic        fail_valid_o,
    output rtl_pkg::qpi_t        fail_qp_o,
    input  logic        qpa_valid_i,
    input  rtl_pkg::qpa_req_t    qpa_i,
    output logic        qpa_done_o,
    output rtl_pkg::rsp_info_t   qpa_info_o,
    output logic        qp_re_o,
    output rtl_pkg::qpi_t        qp_raddr_o,
    input  rtl_pkg::qp_t         qp_rdata_i,
    output logic        state_we_o,
    output rtl_pkg::qpi_t        state_index_o,
    output rtl_pkg::qps_t        state_o,
    output logic        mr_valid_o,
    output rtl_pkg::mr_req_t     mr_o,
    input  logic        mr_rsp_valid_i,
    input  rtl_pkg::mr_rsp_t     mr_rsp_i,
    input  logic        tx_room_i,
    output logic        txd_valid_o,
    input  logic        txd_ready_i,
    output rtl_pkg::txd_t        txd_o,
    output logic        seg_valid_o,
    input  logic        seg_ready_i,
    output rtl_pkg::seg_t        seg_o,
    input  logic        scat_room_i,
    output logic        scat_valid_o,
    input  logic        scat_ready_i,
    output rtl_pkg::scat_t       scat_o,
    output logic        cqe_valid_o,
    input  logic        cqe_ready_i,
    output rtl_pkg::cqe_req_t    cqe_o,
    output logic        ev_valid_o,
    input  logic        ev_ready_i,
    output rtl_pkg::ev_t         ev_o,
    output logic        stat_valid_o,
    input  logic        stat_ready_i,
    output rtl_pkg::stat_t       stat_o,
    output logic        qstat_valid_o,
    input  logic        qstat_ready_i,
    output rtl_pkg::qstat_t      qstat_o,
    output logic        rwqe_valid_o,    // LINE_RQ
    input  logic        rwqe_ready_i,
    output rtl_pkg::rdl_req_t    rwqe_o,
    input  logic        rwqe_rsp_valid_i,
    output logic        line_valid_o,    // LINE_XL_RQ
    input  logic        line_ready_i,
    output rtl_pkg::rdl_req_t    line_o,
    input  logic        line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t    line_rsp_i
);

  typedef enum logic [5:0] {
    INIT = 6'd0,        // contexts are cleared
    IDLE = 6'd1,
    LOAD = 6'd2,        // context and QP come from their tables
    STORE = 6'd3,       // context goes back
    // phase 1: a packet
    RX_CHECK = 6'd4,
    RX_OPEN = 6'd5,     // its receive WQE is read
    RX_LENGTH = 6'd6,
    RX_KEY = 6'd7,
    RX_KEY_WAIT = 6'd8,
    RX_GRH = 6'd9,
    RX_SCATTER = 6'd10,
    RX_DONE = 6'd11,    // all orders for its payload are given
    RX_END = 6'd12,
    // phase 2: an item
    CM_ITEM = 6'd13,
    CM_FIND = 6'd14,    // repeated READ
    CM_NEW = 6'd15,
    CM_FAIL = 6'd17,    // this packet ends the QP
    CM_NAK = 6'd18,
    // turns
    TN_START = 6'd19,
    TN_NEXT = 6'd20,
    TN_GET = 6'd21,
    TN_KEY = 6'd22,
    TN_KEY_WAIT = 6'd23,
    TN_SEND = 6'd24,
    TN_PICK = 6'd25,
    TN_REPLY = 6'd26,
    TN_FLUSH = 6'd27,
    TN_FETCH = 6'd28,
    // events
    EV_DB = 6'd29,
    EV_CQ_FAIL = 6'd30,
    EV_FAIL = 6'd31,
    EV_TXERR = 6'd32,
    EV_QPA = 6'd33,
    ENTER_ERR = 6'd34
  } state_t;
  localparam logic [4:0] BURST = 5'd16;   // packets, or flushed WQEs, of a turn

  state_t state_q;
  logic [2:0] step_q;
  rtl_pkg::qpi_t qp_q;
  rsp_pkg::rctx_t c_q;                    // context in work
  rtl_pkg::qp_t x_q;                      // its QP
  rsp_pkg::item_t it_q;                   // of the packet, or the one that came back
  logic item_err_q;
  logic report_ok_q;                      // a packet left as asked for: nothing to do
  logic no_item_q;                        // the packet ends here
  logic taken_q;                          // it took a receive WQE
  logic prefetch_q;                       // the RQ moved on
  logic wake_q;                           // a turn is wanted
  logic turn_q;                           // in the middle of a turn
  logic [4:0] used_q;
  logic [3:0] rd_now_q;                   // READ that is being answered
  logic open_q, scatter_q;                // pulses to dingo_rsp_wqe, with what they need in c_q
  logic [5:0] stat_idx_q;
  logic [3:0] qstat_idx_q;
  logic [7:0] ev_kind_q;
  logic [7:0] cqe_status_q, cqe_verr_q;
  logic [31:0] cqe_tag_q;
  logic [31:0] db_index_q;
  logic qpa_pending_q;
  rtl_pkg::qpa_req_t qpa_q;
  logic mr_have_q;
  rtl_pkg::mr_rsp_t mr_q;
  rtl_pkg::qpi_t init_q;

  // ---------------------------------------------------------------- outputs: one register each
  // A state does its work when all of them are free, so it may use any of them.
  logic go;
  assign go = (!stat_valid_o || stat_ready_i) && (!qstat_valid_o || qstat_ready_i) && (!cqe_valid_o || cqe_ready_i)
              && (!ev_valid_o || ev_ready_i) && (!scat_valid_o || scat_ready_i) && (!txd_valid_o || txd_ready_i)
              && (!seg_valid_o || seg_ready_i);
  // qp_q, x_q and it_q stand still while one waits.
  assign stat_o.idx = stat_idx_q;
  assign stat_o.by = 16'd1;
  assign qstat_o.qp = qp_q;
  assign qstat_o.idx = qstat_idx_q;
  assign qstat_o.by = 16'd1;
  assign ev_o.kind = ev_kind_q;
  assign ev_o.id = qpn;
  assign ev_o.data = '0;
  always_comb begin
    cqe_o = '0;
    cqe_o.cq = x_q.cfg.recv_cq;
    cqe_o.from_rsp = 1'b1;
    cqe_o.qp = qp_q;
    cqe_o.wqe_index = cqe_tag_q;
    cqe_o.qpn_op = {dingo_pkg::WC_RECV[7:0], qpn[23:0]};
    cqe_o.status = cqe_status_q;
    cqe_o.verr = cqe_verr_q;
    if (cqe_status_q == dingo_pkg::WCS_SUCCESS[7:0]) begin
      cqe_o.qpn_op[31:24] = it_q.opcode;
      cqe_o.byte_len = it_q.bytes;
      cqe_o.imm = it_q.imm;
      cqe_o.src_qpn = it_q.src_qpn;
      cqe_o.vlan = it_q.vlan;
      cqe_o.flags = it_q.flags;
    end
  end
  logic busy_out;
  assign busy_out = stat_valid_o || qstat_valid_o || cqe_valid_o || ev_valid_o || scat_valid_o || txd_valid_o || seg_valid_o;

  // ---------------------------------------------------------------- what comes next
  logic [2:0] step;
  logic step_valid, take, turn_ready, failures, wake_push;
  rtl_pkg::qpi_t step_qp;
  rsp_pkg::item_t commit_item;
  assign commit_item = rsp_pkg::item_t'(commit_i.item);

  dingo_rsp_sched u_sched (
      .clk_i,
      .rst_ni,
      .commit_valid_i(commit_valid_i),
      .commit_qp_i(commit_item.qp[rtl_pkg::QP_LOG-1:0]),
      .cq_fail_valid_i,
      .cq_fail_qp_i,
      .fail_valid_i,
      .fail_qp_i,
      .db_valid_i,
      .db_qp_i(db_i.qp),
      .txerr_valid_i,
      .txerr_qp_i(txerr_i.qp),
      .qpa_valid_i(qpa_pending_q),
      .qpa_qp_i(qpa_q.qp),
      // room is as of before what is on its way
      .rxp_valid_i(rxp_valid_i && scat_room_i && !scat_valid_o),
      .rxp_qp_i(rxp_i.qp),
      .turn_ok_i(!halt_tx_i && tx_room_i && !txd_valid_o && !seg_valid_o),
      .wake_i(wake_push),
      .wake_qp_i(qp_q),
      .take_i(take),
      .step_o(step),
      .step_valid_o(step_valid),
      .step_qp_o(step_qp),
      .ready_o(turn_ready),
      .failures_o(failures)
  );
  assign take = state_q == IDLE && go && step_valid;
  assign commit_ready_o = take && step == rsp_pkg::STEP_COMMIT;
  assign db_ready_o = take && step == rsp_pkg::STEP_DB;
  assign txerr_ready_o = take && step == rsp_pkg::STEP_TXERR;
  assign rxp_ready_o = state_q == RX_END && go;   // its headers are looked at until then
  assign qp_re_o = take;
  assign qp_raddr_o = step_qp;
  assign work_o = turn_ready;

  // ---------------------------------------------------------------- contexts
  logic ctx_we;
  rsp_pkg::rctx_t ctx_w;
  logic [rsp_pkg::RCTX_W-1:0] ctx_r;
  assign ctx_we = state_q == INIT || (state_q == STORE && go);
  assign wake_push = state_q == STORE && go && wake_q && !c_q.queued;
  always_comb begin
    ctx_w = c_q;
    ctx_w.queued = c_q.queued || wake_q;
    if (state_q == INIT) ctx_w = '0;
  end
  dingo_ram #(
      .Width(rsp_pkg::RCTX_W),
      .LogDepth(rtl_pkg::QP_LOG)
  ) u_ctx (
      .clk_i,
      .we_i(ctx_we),
      .waddr_i(state_q == INIT ? init_q : qp_q),
      .wdata_i(ctx_w),
      .re_i(take),
      .raddr_i(step_qp),
      .rdata_o(ctx_r)
  );

  // ---------------------------------------------------------------- checks
  rtl_pkg::rxh_t h;
  assign h = rxp_i.h;
  logic op_send, op_write, op_read, op_atomic, op_first, op_last, op_imm;
  logic duplicate, ahead, order_ok, valid_ok, takes_rq, rd_ok, rd_cancel, fits;
  logic [3:0] rd_slot;
  dingo_rsp_check u_check (
      .ctx_i(c_q),
      .cfg_i(x_q.cfg),
      .h_i(h),
      .send_o(op_send),
      .write_o(op_write),
      .read_o(op_read),
      .atomic_o(op_atomic),
      .first_o(op_first),
      .last_o(op_last),
      .imm_o(op_imm),
      .duplicate_o(duplicate),
      .ahead_o(ahead),
      .order_ok_o(order_ok),
      .valid_ok_o(valid_ok),
      .takes_rq_o(takes_rq),
      .rd_ok_o(rd_ok),
      .rd_cancel_o(rd_cancel),
      .rd_slot_o(rd_slot),
      .fits_o(fits)
  );
  logic is_rc, key_needed, fits_wqe, rq_empty;
  logic [31:0] taken_bytes, payload;
  assign is_rc = x_q.cfg.kind == dingo_pkg::QPT_RC[2:0];
  assign payload = {19'd0, h.len};
  assign taken_bytes = is_rc ? (op_first ? 32'd0 : c_q.bytes) : 32'(rsp_pkg::GRH_BYTES);
  assign fits_wqe = {4'd0, taken_bytes} + {4'd0, payload} <= {4'd0, c_q.held_cap[31:0]} || c_q.held_cap[35:32] != '0;
  assign key_needed = op_first ? h.dma_len != '0 : h.len != '0;
  assign rq_empty = c_q.rq_cons == c_q.rq_prod;

  // Oldest slot first: from rd_next on, then from 0 on
  logic [3:0] pick;
  logic [15:0] pick_from;
  assign pick_from = (c_q.rd_pending >> c_q.rd_next) << c_q.rd_next;
  always_comb begin
    pick = '0;
    for (int i = 15; i >= 0; i--) if (c_q.rd_pending[i]) pick = 4'(i);
    for (int i = 15; i >= 0; i--) if (pick_from[i]) pick = 4'(i);
  end

  // ---------------------------------------------------------------- receive WQEs
  logic w_done, w_bad, w_bus;
  logic [7:0] w_verr;
  logic [31:0] w_tag, w_off;
  logic [3:0] w_nsge, w_sge;
  logic [35:0] w_cap;
  logic w_line_valid, w_mr_valid, w_seg_valid, w_seg_ready;
  logic [31:0] w_line_index;
  logic [1:0] w_line_part;
  rtl_pkg::mr_req_t w_mr;
  rtl_pkg::seg_t w_seg;
  logic line_valid, line_err;
  logic [511:0] line_data;
  dingo_rsp_wqe u_wqe (
      .clk_i,
      .rst_ni,
      .open_i(open_q),
      .head_only_i(turn_q),
      .scatter_i(scatter_q),
      .again_i(taken_q),
      .index_i(c_q.held_index),
      .log_stride_i(x_q.cfg.log_rq_stride),
      .bytes_i(is_rc ? h.len : h.len + 13'(rsp_pkg::GRH_BYTES)),
      .sge_i(c_q.held_sge),
      .off_i(c_q.held_off),
      .nsge_i(c_q.held_nsge),
      .pdn_i(x_q.cfg.pdn),
      .privileged_i(x_q.cfg.privileged),
      .done_o(w_done),
      .bad_o(w_bad),
      .bus_o(w_bus),
      .verr_o(w_verr),
      .tag_o(w_tag),
      .nsge_o(w_nsge),
      .cap_o(w_cap),
      .sge_o(w_sge),
      .off_o(w_off),
      .line_valid_o(w_line_valid),
      .line_index_o(w_line_index),
      .line_part_o(w_line_part),
      .line_rsp_valid_i(line_valid),
      .line_err_i(line_err),
      .line_data_i(line_data),
      .mr_valid_o(w_mr_valid),
      .mr_o(w_mr),
      .mr_rsp_valid_i(mr_rsp_valid_i),
      .mr_rsp_i,
      .seg_valid_o(w_seg_valid),
      .seg_ready_i(w_seg_ready),
      .seg_o(w_seg)
  );
  assign w_seg_ready = state_q == RX_SCATTER && go;
  logic w_done_q;                         // done_o may come while an output waits
  logic cache_idle, cache_flush;
  dingo_rq_cache u_cache (
      .clk_i,
      .rst_ni,
      .idle_o(cache_idle),
      .flush_i(cache_flush),
      .xl_flush_i,
      .qp_i(qp_q),
      .mem_i(x_q.cfg.rq),
      .log_rq_i(x_q.cfg.log_rq),
      .log_stride_i(x_q.cfg.log_rq_stride),
      .req_valid_i(w_line_valid),
      .req_index_i(w_line_index),
      .req_part_i(w_line_part),
      .rsp_valid_o(line_valid),
      .rsp_err_o(line_err),
      .rsp_data_o(line_data),
      .pf_valid_i(state_q == STORE && go && prefetch_q && !c_q.err),
      .pf_index_i(c_q.rq_cons),
      .pf_end_i(c_q.rq_prod),
      .line_valid_o(rwqe_valid_o),
      .line_ready_i(rwqe_ready_i),
      .line_o(rwqe_o),
      .line_rsp_valid_i(rwqe_rsp_valid_i),
      .xl_line_valid_o(line_valid_o),
      .xl_line_ready_i(line_ready_i),
      .xl_line_o(line_o),
      .xl_line_rsp_valid_i(line_rsp_valid_i),
      .rsp_i(line_rsp_i)
  );

  // ---------------------------------------------------------------- READs and what leaves
  logic rd_new, rd_find, rd_get, rd_step, rd_done, rd_hit;
  logic [3:0] rd_found;
  rsp_pkg::rres_t res;
  assign rd_new = state_q == CM_ITEM && go && it_q.kind == rsp_pkg::IT_READ && rd_accept;
  assign rd_find = state_q == CM_ITEM && go && it_q.kind == rsp_pkg::IT_DUP_READ && rd_accept && !it_q.atomic;
  assign rd_get = state_q == TN_NEXT && go && used_q != BURST && c_q.rd_pending != '0 && tx_room_i && !busy_out;
  assign rd_step = state_q == TN_SEND && go;
  logic rd_accept;                        // a READ's item still counts
  assign rd_accept = !c_q.dead && !c_q.err && !c_q.fatal;
  dingo_rsp_reads u_reads (
      .clk_i,
      .rst_ni,
      .qp_i(qp_q),
      .path_mtu_i(x_q.cfg.path_mtu),
      .new_i(rd_new),
      .find_i(rd_find),
      .get_i(rd_get),
      .step_i(rd_step),
      .slot_i(state_q == TN_NEXT ? rd_now_q : c_q.rd_next),
      .used_i(c_q.rd_used),
      .psn_i(it_q.psn),
      .va_i(it_q.va),
      .rkey_i(it_q.tag),
      .length_i(it_q.bytes),
      .msn_i(c_q.msn + 24'd1),
      .done_o(rd_done),
      .hit_o(rd_hit),
      .slot_o(rd_found),
      .res_o(res)
  );
  logic rd_done_q;

  rtl_pkg::txd_t txd;
  logic [31:0] res_offset;
  logic [12:0] res_bytes;
  logic res_last;
  dingo_rsp_packet u_packet (
      .qp_i(qp_q),
      .cfg_i(x_q.cfg),
      .ctx_i(c_q),
      .res_i(res),
      .read_i(state_q == TN_GET || state_q == TN_KEY || state_q == TN_KEY_WAIT || state_q == TN_SEND),
      .txd_o(txd),
      .offset_o(res_offset),
      .bytes_o(res_bytes),
      .last_o(res_last)
  );

  // ---------------------------------------------------------------- keys
  logic own_mr;
  assign own_mr = (state_q == RX_KEY || state_q == TN_KEY) && go;
  assign mr_valid_o = own_mr || w_mr_valid;
  always_comb begin
    mr_o = w_mr;
    if (state_q == TN_KEY) begin
      mr_o.key = res.rkey;
      mr_o.va = res.va + {32'd0, res_offset};
      mr_o.len = {19'd0, res_bytes};
      mr_o.access = dingo_pkg::ACC_REMOTE_READ[5:0];
    end else if (state_q == RX_KEY) begin
      mr_o.key = op_first ? h.rkey : c_q.write_rkey;
      mr_o.va = op_first ? h.va : c_q.write_va;
      mr_o.len = op_first ? h.dma_len : payload;   // the whole message first, then what is left of it packet by packet
      mr_o.access = op_read ? dingo_pkg::ACC_REMOTE_READ[5:0] : dingo_pkg::ACC_REMOTE_WRITE[5:0];
    end
  end

  // ---------------------------------------------------------------- small things
  logic [31:0] qpn;
  assign qpn = {8'd0, x_q.cfg.tag, 16'(qp_q)};
  logic [31:0] db_held, rq_held;
  assign db_held = db_index_q - c_q.rq_cons;
  assign rq_held = c_q.rq_prod - c_q.rq_cons;
  logic db_bad;
  assign db_bad = x_q.state == dingo_pkg::QPS_RESET[2:0] || db_held > 32'd1 << x_q.cfg.log_rq || db_held < rq_held;
  logic path_ok, reply_owed;
  assign path_ok = gid_valid_i[x_q.cfg.sgid];
  assign reply_owed = c_q.reply_pending && !c_q.fatal && !c_q.failed && c_q.rd_pending == '0 && path_ok;
  logic [20:0] mask;
  assign mask = qpa_q.mask;
  logic to_state, to_err;
  assign to_state = qpa_q.op == rtl_pkg::QPA_MODIFY && (mask & dingo_pkg::QPM_STATE[20:0]) != '0;
  assign to_err = to_state && qpa_q.ctx.state == dingo_pkg::QPS_ERR[2:0] && qpa_q.old_state != dingo_pkg::QPS_ERR[2:0];
  logic [23:0] packets;
  assign packets = rsp_pkg::packets_of(h.dma_len, x_q.cfg.path_mtu);
  logic answers;                          // QP state in which responses leave
  assign answers = x_q.state == dingo_pkg::QPS_RTR[2:0] || x_q.state == dingo_pkg::QPS_RTS[2:0]
                   || x_q.state == dingo_pkg::QPS_SQD[2:0] || x_q.state == dingo_pkg::QPS_SQE[2:0];

  assign idle_o = state_q == IDLE && !busy_out && !commit_valid_i && !failures && !txerr_valid_i && !db_valid_i
                  && !rxp_valid_i && !qpa_pending_q && !cq_fail_valid_i && !fail_valid_i && cache_idle;
  assign tx_idle_o = !turn_q && !txd_valid_o && !seg_valid_o;

  assign qpa_info_o.rq_producer = c_q.rq_prod;
  assign qpa_info_o.rq_consumer = c_q.rq_cons;
  assign qpa_info_o.rq_psn = c_q.exp_psn;
  assign qpa_info_o.msn = c_q.msn;
  assign qpa_done_o = state_q == STORE && go && step_q == rsp_pkg::STEP_QPA;
  assign cache_flush = state_q == EV_QPA && go && qpa_q.op == rtl_pkg::QPA_CLEAR;
  assign fail_valid_o = state_q == ENTER_ERR && go;
  assign fail_qp_o = qp_q;
  assign state_we_o = fail_valid_o;
  assign state_index_o = qp_q;
  assign state_o = dingo_pkg::QPS_ERR[2:0];
  assign db_bad_o = state_q == EV_DB && go && db_bad;


  always_ff @(posedge clk_i) begin
    open_q <= 1'b0;
    scatter_q <= 1'b0;
    if (w_done) w_done_q <= 1'b1;
    if (rd_done) rd_done_q <= 1'b1;
    if (mr_rsp_valid_i) begin
      mr_have_q <= state_q == RX_KEY_WAIT || state_q == TN_KEY_WAIT;
      mr_q <= mr_rsp_i;
    end
    if (qpa_valid_i) begin
      qpa_pending_q <= 1'b1;
      qpa_q <= qpa_i;
    end
    if (stat_ready_i) stat_valid_o <= 1'b0;
    if (qstat_ready_i) qstat_valid_o <= 1'b0;
    if (cqe_ready_i) cqe_valid_o <= 1'b0;
    if (ev_ready_i) ev_valid_o <= 1'b0;
    if (scat_ready_i) scat_valid_o <= 1'b0;
    if (txd_ready_i) txd_valid_o <= 1'b0;
    if (seg_ready_i) seg_valid_o <= 1'b0;

    if (go) begin
      case (state_q)
        INIT: begin
          init_q <= init_q + 1'b1;
          if (init_q == '1) state_q <= IDLE;
        end

        IDLE: begin
          step_q <= step;
          qp_q <= step_qp;
          wake_q <= 1'b0;
          no_item_q <= 1'b0;
          taken_q <= 1'b0;
          prefetch_q <= 1'b0;
          used_q <= '0;
          mr_have_q <= 1'b0;
          w_done_q <= 1'b0;
          rd_done_q <= 1'b0;
          if (take) begin
            turn_q <= step == rsp_pkg::STEP_TURN;
            it_q <= '0;
            if (step == rsp_pkg::STEP_COMMIT) begin
              it_q <= commit_item;
              item_err_q <= commit_i.err;
            end
            if (step == rsp_pkg::STEP_TXERR) it_q.psn <= txerr_i.psn;
            report_ok_q <= txerr_i.ok;
            db_index_q <= db_i.index;
            state_q <= LOAD;
          end
        end

        LOAD: begin
          c_q <= rsp_pkg::rctx_t'(ctx_r);
          x_q <= qp_rdata_i;
          case (step_q)
            rsp_pkg::STEP_COMMIT: state_q <= CM_ITEM;
            rsp_pkg::STEP_CQ_FAIL: state_q <= EV_CQ_FAIL;
            rsp_pkg::STEP_FAIL: state_q <= EV_FAIL;
            rsp_pkg::STEP_TXERR: state_q <= EV_TXERR;
            rsp_pkg::STEP_DB: state_q <= EV_DB;
            rsp_pkg::STEP_QPA: begin
              x_q <= qpa_q.ctx;
              state_q <= EV_QPA;
            end
            rsp_pkg::STEP_TURN: state_q <= TN_START;
            default: begin
              x_q <= rxp_i.ctx;
              state_q <= RX_CHECK;
            end
          endcase
        end

        STORE: begin
          turn_q <= 1'b0;
          if (step_q == rsp_pkg::STEP_QPA) qpa_pending_q <= 1'b0;
          state_q <= IDLE;
        end

        // -------------------------------------------------------------- phase 1
        RX_CHECK: begin
          it_q.qp <= 16'(qp_q);
          it_q.psn <= h.psn;
          it_q.ud <= !is_rc;
          state_q <= RX_END;
          if (c_q.err || c_q.failed) begin
            no_item_q <= 1'b1;
            stat_valid_o <= 1'b1;
            stat_idx_q <= 6'(dingo_pkg::CARD_RX_DROP_QP_STATE);
          end else if (!is_rc) begin
            if (h.qkey != x_q.cfg.qkey || rq_empty) begin
              no_item_q <= 1'b1;
              stat_valid_o <= 1'b1;
              stat_idx_q <= h.qkey != x_q.cfg.qkey ? 6'(dingo_pkg::CARD_BAD_QKEY)
                                                   : 6'(dingo_pkg::CARD_RX_DROP_UD_NO_BUFFER);
            end else begin
              open_q <= 1'b1;
              state_q <= RX_OPEN;
            end
          end else begin
            if (x_q.state == dingo_pkg::QPS_RTR[2:0] && !c_q.comm_est) begin
              c_q.comm_est <= 1'b1;
              ev_valid_o <= 1'b1;
              ev_kind_q <= dingo_pkg::EV_COMM_EST[7:0];
            end
            if (duplicate) begin
              stat_valid_o <= 1'b1;
              stat_idx_q <= 6'(dingo_pkg::CARD_DUPLICATE_REQUEST);
              qstat_valid_o <= 1'b1;
              qstat_idx_q <= 4'(dingo_pkg::QP_DUPLICATES);
              it_q.kind <= op_read || op_atomic ? rsp_pkg::IT_DUP_READ : rsp_pkg::IT_DUP_ACK;
              it_q.atomic <= op_atomic;
              it_q.nak_sent <= c_q.nak_sent;
              if (!op_read) it_q.psn <= c_q.exp_psn - 24'd1;
              it_q.tag <= h.rkey;
              it_q.va <= h.va;
              it_q.bytes <= h.dma_len;
            end else if (ahead) begin
              no_item_q <= c_q.nak_sent || c_q.rnr_sent;   // one NAK for each gap
              if (!c_q.rnr_sent) begin                     // else sent before the peer saw the RNR NAK
                stat_valid_o <= 1'b1;
                stat_idx_q <= 6'(dingo_pkg::CARD_OUT_OF_SEQUENCE);
                qstat_valid_o <= 1'b1;
                qstat_idx_q <= 4'(dingo_pkg::QP_OUT_OF_SEQUENCE);
                c_q.nak_sent <= 1'b1;
                it_q.kind <= rsp_pkg::IT_SEQ;
                it_q.psn <= c_q.exp_psn;
              end
            end else begin
              c_q.nak_sent <= 1'b0;
              c_q.rnr_sent <= 1'b0;
              if (!order_ok || !valid_ok || (op_read && !rd_ok)) begin
                c_q.failed <= 1'b1;
                it_q.kind <= rsp_pkg::IT_NAK;
                it_q.syn <= rsp_pkg::SYN_NAK_INVALID;
                it_q.ev <= dingo_pkg::EV_QP_REQ_ERR[7:0];
              end else if (takes_rq && !c_q.held && rq_empty) begin
                stat_valid_o <= 1'b1;
                stat_idx_q <= 6'(dingo_pkg::CARD_OUT_OF_BUFFER);
                c_q.nak_sent <= 1'b1;
                c_q.rnr_sent <= 1'b1;
                it_q.kind <= rsp_pkg::IT_RNR;
                it_q.syn <= rsp_pkg::SYN_RNR | {3'd0, x_q.cfg.min_rnr_timer};
              end else if (takes_rq && !c_q.held) begin
                open_q <= 1'b1;
                state_q <= RX_OPEN;
              end else begin
                if (op_read && rd_cancel) c_q.rd_pending[rd_slot] <= 1'b0;
                state_q <= RX_LENGTH;
              end
            end
          end
          if (!c_q.held) c_q.held_index <= c_q.rq_cons;
          it_q.rq_after <= c_q.rq_cons;
        end

        RX_OPEN:
        if (w_done_q) begin
          w_done_q <= 1'b0;
          taken_q <= 1'b1;
          prefetch_q <= 1'b1;
          c_q.rq_cons <= c_q.rq_cons + 32'd1;
          c_q.held_tag <= w_tag;
          c_q.held_cap <= w_cap;
          c_q.held_nsge <= w_nsge;
          c_q.held_sge <= '0;
          c_q.held_off <= '0;
          if (w_bad || w_bus) begin
            c_q.failed <= 1'b1;
            it_q.kind <= is_rc ? rsp_pkg::IT_NAK : rsp_pkg::IT_UD_FAIL;
            it_q.syn <= rsp_pkg::SYN_NAK_OP;
            it_q.cqe <= 1'b1;
            it_q.tag <= w_tag;
            it_q.status <= dingo_pkg::WCS_LOC_QP_OP_ERR[7:0];
            it_q.verr <= w_bus ? dingo_pkg::VERR_WQE_FETCH[7:0] : dingo_pkg::VERR_WQE_SIZE[7:0];
            it_q.rq_after <= c_q.rq_cons + 32'd1;
            state_q <= RX_END;
          end else state_q <= RX_LENGTH;
        end

        RX_LENGTH: begin
          state_q <= RX_END;
          if (is_rc && !fits) begin
            if (taken_q) c_q.rq_cons <= c_q.held_index;
            c_q.failed <= 1'b1;
            it_q.kind <= rsp_pkg::IT_NAK;
            it_q.syn <= rsp_pkg::SYN_NAK_INVALID;
            it_q.ev <= dingo_pkg::EV_QP_REQ_ERR[7:0];
          end else if ((op_send || !is_rc) && !fits_wqe) begin
            stat_valid_o <= 1'b1;
            stat_idx_q <= is_rc ? 6'(dingo_pkg::CARD_RESP_LOCAL_LENGTH_ERROR) : 6'(dingo_pkg::CARD_RX_DROP_UD_LENGTH);
            if (is_rc) begin
              c_q.failed <= 1'b1;
              c_q.held <= 1'b0;
              it_q.kind <= rsp_pkg::IT_NAK;
              it_q.syn <= rsp_pkg::SYN_NAK_INVALID;
              it_q.cqe <= 1'b1;
              it_q.tag <= c_q.held_tag;
              it_q.status <= dingo_pkg::WCS_LOC_LEN_ERR[7:0];
              it_q.verr <= dingo_pkg::VERR_RQ_TOO_SHORT[7:0];
              it_q.rq_after <= c_q.rq_cons;
            end else begin
              no_item_q <= 1'b1;
              c_q.rq_cons <= c_q.held_index;
            end
          end else if (!is_rc) state_q <= RX_GRH;
          else if (op_send) begin
            if (h.len != '0) begin
              scatter_q <= 1'b1;
              state_q <= RX_SCATTER;
            end else state_q <= RX_DONE;
          end else state_q <= key_needed ? RX_KEY : RX_DONE;
        end

        RX_KEY: begin
          mr_have_q <= 1'b0;
          state_q <= RX_KEY_WAIT;
        end

        RX_KEY_WAIT:
        if (mr_have_q) begin
          if (!mr_q.ok) begin
            if (taken_q) c_q.rq_cons <= c_q.held_index;
            c_q.failed <= 1'b1;
            it_q.kind <= rsp_pkg::IT_NAK;
            it_q.syn <= rsp_pkg::SYN_NAK_ACCESS;
            it_q.ev <= dingo_pkg::EV_QP_ACCESS_ERR[7:0];
            state_q <= RX_END;
          end else begin
            if (op_write && h.len != '0) begin
              scat_valid_o <= 1'b1;
              scat_o <= '0;
              scat_o.op <= rtl_pkg::SCAT_SEG;
              scat_o.seg.last <= 1'b1;
              scat_o.seg.len <= payload;
              scat_o.seg.off <= mr_q.off;
              scat_o.seg.mem <= mr_q.mem;
            end
            state_q <= RX_DONE;
          end
        end

        RX_GRH: begin
          scat_valid_o <= 1'b1;
          scat_o <= '0;
          scat_o.op <= rtl_pkg::SCAT_GRH;
          scat_o.item[319:0] <= h.grh;
          scatter_q <= 1'b1;
          state_q <= RX_SCATTER;
        end

        RX_SCATTER:
        if (w_seg_valid) begin
          scat_valid_o <= 1'b1;
          scat_o <= '0;
          scat_o.op <= rtl_pkg::SCAT_SEG;
          scat_o.seg <= w_seg;
        end else if (w_done_q) begin
          w_done_q <= 1'b0;
          c_q.held_sge <= w_sge;
          c_q.held_off <= w_off;
          if (w_bad) begin
            c_q.failed <= 1'b1;
            c_q.held <= 1'b0;
            it_q.kind <= is_rc ? rsp_pkg::IT_NAK : rsp_pkg::IT_UD_FAIL;
            it_q.syn <= rsp_pkg::SYN_NAK_OP;
            it_q.cqe <= 1'b1;
            it_q.scattered <= 1'b1;
            it_q.tag <= c_q.held_tag;
            it_q.status <= dingo_pkg::WCS_LOC_PROT_ERR[7:0];
            it_q.verr <= w_verr;
            it_q.rq_after <= c_q.rq_cons;
            state_q <= RX_END;
          end else state_q <= RX_DONE;
        end

        RX_DONE: begin
          state_q <= RX_END;
          it_q.kind <= op_read && is_rc ? rsp_pkg::IT_READ : rsp_pkg::IT_DATA;
          it_q.write <= op_write && is_rc;
          it_q.first <= op_first || !is_rc;
          it_q.last <= op_last || !is_rc;
          it_q.ack <= h.ackreq && is_rc;
          it_q.imm <= h.imm;
          it_q.tag <= c_q.held_tag;
          it_q.rq_after <= op_write && is_rc && taken_q ? c_q.held_index : c_q.rq_cons;
          it_q.flags <= h.se ? dingo_pkg::CQE_FLAGS_SOLICITED_MASK[7:0] : 8'd0;
          it_q.opcode <= dingo_pkg::WC_RECV[7:0];
          if (!is_rc) begin
            it_q.cqe <= 1'b1;
            it_q.bytes <= taken_bytes + payload;
            it_q.src_qpn <= {h.has_vlan ? {1'b0, h.vlan[15:13]} : 4'd0, 4'd0, h.src_qpn};
            it_q.vlan <= h.has_vlan ? h.vlan : 16'd0;
            if (h.opcode[0]) it_q.opcode <= dingo_pkg::WC_RECV_IMM[7:0];
            if (!h.opcode[0]) it_q.imm <= '0;
            it_q.flags <= (h.se ? dingo_pkg::CQE_FLAGS_SOLICITED_MASK[7:0] : 8'd0)
                          | (h.opcode[0] ? dingo_pkg::CQE_FLAGS_IMM_MASK[7:0] : 8'd0)
                          | (h.ipv4 ? dingo_pkg::CQE_FLAGS_IPV4_MASK[7:0] : 8'd0)
                          | (h.has_vlan ? dingo_pkg::CQE_FLAGS_VLAN_MASK[7:0] : 8'd0)
                          | dingo_pkg::CQE_FLAGS_GRH_MASK[7:0];
          end else if (op_read) begin
            it_q.tag <= h.rkey;
            it_q.va <= h.va;
            it_q.bytes <= h.dma_len;
            c_q.rd_inflight <= c_q.rd_inflight + 5'd1;
            c_q.exp_psn <= c_q.exp_psn + packets;
          end else begin
            c_q.exp_psn <= c_q.exp_psn + 24'd1;
            it_q.cqe <= takes_rq && op_last;
            it_q.bytes <= op_send ? taken_bytes + payload : op_first ? h.dma_len : c_q.bytes;
            if (op_imm) begin
              it_q.opcode <= op_write ? dingo_pkg::WC_RECV_WRITE_IMM[7:0] : dingo_pkg::WC_RECV_IMM[7:0];
              it_q.flags <= (h.se ? dingo_pkg::CQE_FLAGS_SOLICITED_MASK[7:0] : 8'd0)
                            | dingo_pkg::CQE_FLAGS_IMM_MASK[7:0];
            end else it_q.imm <= '0;
            c_q.message <= op_last ? rsp_pkg::MSG_NONE : op_send ? rsp_pkg::MSG_SEND : rsp_pkg::MSG_WRITE;
            c_q.held <= op_send && !op_last;
            c_q.bytes <= op_send ? taken_bytes + payload : op_first ? h.dma_len : c_q.bytes;
            if (op_write) begin
              if (op_first) c_q.write_rkey <= h.rkey;
              c_q.write_va <= (op_first ? h.va : c_q.write_va) + {51'd0, h.len};
              c_q.remaining <= (op_first ? h.dma_len : c_q.remaining) - payload;
            end
          end
        end

        RX_END: begin
          scat_valid_o <= 1'b1;
          scat_o <= '0;
          scat_o.op <= rtl_pkg::SCAT_END;
          scat_o.no_item <= no_item_q;
          scat_o.to_rsp <= 1'b1;
          scat_o.has_payload <= h.len != '0;
          scat_o.item <= it_q;
          if (!no_item_q) c_q.items <= c_q.items + 8'd1;
          a_items: assert (c_q.items != '1);
          state_q <= STORE;
        end

        // -------------------------------------------------------------- phase 2
        CM_ITEM: begin
          a_item: assert (c_q.items != '0);
          c_q.items <= c_q.items - 8'd1;
          if (c_q.items == 8'd1 && c_q.err) wake_q <= 1'b1;   // the flush waited for it
          if (it_q.kind == rsp_pkg::IT_READ) c_q.rd_inflight <= c_q.rd_inflight - 5'd1;
          state_q <= STORE;
          if (!c_q.dead) begin
            case (it_q.kind)
              rsp_pkg::IT_DATA:
              if (item_err_q) begin
                it_q.kind <= it_q.ud ? rsp_pkg::IT_UD_FAIL : rsp_pkg::IT_NAK;
                it_q.syn <= rsp_pkg::SYN_NAK_OP;
                it_q.ev <= it_q.write ? dingo_pkg::EV_QP_FATAL[7:0] : 8'd0;
                it_q.cqe <= !it_q.write;
                it_q.status <= dingo_pkg::WCS_LOC_PROT_ERR[7:0];
                it_q.verr <= dingo_pkg::VERR_BUS[7:0];
                c_q.held <= 1'b0;
                c_q.exp_psn <= it_q.ud ? c_q.exp_psn : it_q.psn;
                state_q <= CM_FAIL;
              end else begin
                if (it_q.first) begin
                  stat_valid_o <= 1'b1;
                  stat_idx_q <= it_q.write ? 6'(dingo_pkg::CARD_RX_WRITE_REQUESTS) : 6'(dingo_pkg::CARD_RX_SEND_REQUESTS);
                end
                if (it_q.last && !it_q.ud) c_q.msn <= c_q.msn + 24'd1;
                if (it_q.cqe) begin
                  cqe_valid_o <= 1'b1;
                  cqe_status_q <= dingo_pkg::WCS_SUCCESS[7:0];
                  cqe_verr_q <= dingo_pkg::VERR_NONE[7:0];
                  cqe_tag_q <= it_q.tag;
                  qstat_valid_o <= 1'b1;
                  qstat_idx_q <= 4'(dingo_pkg::QP_RECV_CQES);
                end
                if (it_q.ack && !c_q.fatal && !c_q.err) begin
                  c_q.reply_pending <= 1'b1;
                  c_q.reply_syn <= rsp_pkg::SYN_ACK;
                  c_q.reply_psn <= it_q.psn;
                  wake_q <= 1'b1;
                end
              end
              rsp_pkg::IT_READ:
              if (rd_accept) begin
                stat_valid_o <= 1'b1;
                stat_idx_q <= 6'(dingo_pkg::CARD_RX_READ_REQUESTS);
                c_q.msn <= c_q.msn + 24'd1;
                // its response acknowledges everything before it
                if (c_q.reply_syn[7:5] == '0) c_q.reply_pending <= 1'b0;
                state_q <= CM_NEW;
              end
              rsp_pkg::IT_DUP_ACK:  // a NAK on its way says as much
              if (rd_accept && !(c_q.reply_pending && it_q.nak_sent)) begin
                c_q.reply_pending <= 1'b1;
                c_q.reply_syn <= rsp_pkg::SYN_ACK;
                c_q.reply_psn <= it_q.psn;
                wake_q <= 1'b1;
              end
              rsp_pkg::IT_DUP_READ:
              if (rd_accept && !it_q.atomic) state_q <= CM_FIND;
              else begin
                stat_valid_o <= 1'b1;
                stat_idx_q <= 6'(dingo_pkg::CARD_RX_DROP_DUPLICATE);
              end
              rsp_pkg::IT_SEQ, rsp_pkg::IT_RNR:
              if (rd_accept) begin
                qstat_valid_o <= 1'b1;
                qstat_idx_q <= it_q.kind == rsp_pkg::IT_RNR ? 4'(dingo_pkg::QP_RNR_NAK_SENT)
                                                            : 4'(dingo_pkg::QP_SEQ_NAK_SENT);
                if (it_q.kind == rsp_pkg::IT_RNR) begin
                  stat_valid_o <= 1'b1;
                  stat_idx_q <= 6'(dingo_pkg::CARD_RNR_NAK_SENT);
                end
                c_q.reply_pending <= 1'b1;
                c_q.reply_syn <= it_q.kind == rsp_pkg::IT_RNR ? it_q.syn : rsp_pkg::SYN_NAK_SEQ;
                c_q.reply_psn <= it_q.psn;
                wake_q <= 1'b1;
              end
              default: begin  // NAK, UD_FAIL
                if (item_err_q && it_q.scattered) it_q.verr <= dingo_pkg::VERR_BUS[7:0];
                state_q <= CM_FAIL;
              end
            endcase
          end
        end

        CM_FIND:
        if (rd_done_q) begin
          rd_done_q <= 1'b0;
          if (rd_hit) begin
            c_q.rd_pending[rd_found] <= 1'b1;
            wake_q <= 1'b1;
            state_q <= STORE;
          end else begin
            stat_valid_o <= 1'b1;
            stat_idx_q <= 6'(dingo_pkg::CARD_RX_DROP_DUPLICATE);
            state_q <= STORE;
          end
        end

        CM_NEW:
        if (rd_done_q) begin
          rd_done_q <= 1'b0;
          c_q.rd_used[c_q.rd_next] <= 1'b1;
          c_q.rd_pending[c_q.rd_next] <= 1'b1;
          c_q.rd_answered[c_q.rd_next] <= 1'b0;
          c_q.rd_next <= {4'd0, c_q.rd_next} + 8'd1 == x_q.cfg.max_dest_rd ? 4'd0 : c_q.rd_next + 4'd1;
          wake_q <= 1'b1;
          state_q <= STORE;
        end

        CM_FAIL: begin
          c_q.dead <= 1'b1;
          c_q.failed <= 1'b1;
          c_q.rq_cons <= it_q.rq_after;      // what later packets took is there again
          if (it_q.cqe) begin
            stat_valid_o <= 1'b1;
            stat_idx_q <= 6'(dingo_pkg::CARD_RESP_CQE_ERROR);
            qstat_valid_o <= 1'b1;
            qstat_idx_q <= 4'(dingo_pkg::QP_RECV_CQES);
            cqe_valid_o <= 1'b1;
            cqe_status_q <= it_q.status;
            cqe_verr_q <= it_q.verr;
            cqe_tag_q <= it_q.tag;
          end
          state_q <= !it_q.ud ? CM_NAK : c_q.err ? STORE : ENTER_ERR;
        end

        CM_NAK: begin
          if (!c_q.err && !c_q.fatal) begin
            stat_valid_o <= 1'b1;
            stat_idx_q <= it_q.syn == rsp_pkg::SYN_NAK_INVALID ? 6'(dingo_pkg::CARD_RESP_INVALID_REQUESTS)
                          : it_q.syn == rsp_pkg::SYN_NAK_ACCESS ? 6'(dingo_pkg::CARD_RESP_REMOTE_ACCESS_ERRORS)
                                                                : 6'(dingo_pkg::CARD_RESP_REMOTE_OP_ERRORS);
            ev_valid_o <= it_q.ev != '0;
            ev_kind_q <= it_q.ev;
            c_q.failed <= 1'b1;
            c_q.fatal <= 1'b1;
            c_q.reply_pending <= 1'b1;
            c_q.reply_syn <= it_q.syn;
            c_q.reply_psn <= it_q.psn;
            wake_q <= 1'b1;
          end
          state_q <= STORE;
        end

        // -------------------------------------------------------------- turns
        TN_START: begin
          c_q.queued <= 1'b0;
          state_q <= STORE;
          if (c_q.err) begin
            if (c_q.items == '0) begin       // else the last item brings it back
              if (c_q.held) begin
                c_q.held <= 1'b0;
                stat_valid_o <= 1'b1;
                stat_idx_q <= 6'(dingo_pkg::CARD_RESP_CQE_FLUSH_ERROR);
                qstat_valid_o <= 1'b1;
                qstat_idx_q <= 4'(dingo_pkg::QP_RECV_CQES);
                cqe_valid_o <= 1'b1;
                cqe_status_q <= dingo_pkg::WCS_WR_FLUSH_ERR[7:0];
                cqe_verr_q <= dingo_pkg::VERR_FLUSHED[7:0];
                cqe_tag_q <= c_q.held_tag;
              end
              state_q <= TN_FLUSH;
            end
          end else if (is_rc && answers && (c_q.rd_pending != '0 || c_q.reply_pending)) begin
            if (path_ok) state_q <= TN_PICK;
            else begin                       // our address has gone: the peer hears nothing
              c_q.rd_pending <= '0;
              c_q.reply_pending <= 1'b0;
              if (c_q.fatal) state_q <= ENTER_ERR;
            end
          end
        end

        TN_NEXT:
        if (!busy_out) begin
          if (c_q.rd_pending == '0 && !c_q.reply_pending) state_q <= STORE;
          else if (used_q == BURST || !tx_room_i) begin
            wake_q <= 1'b1;
            state_q <= STORE;
          end else state_q <= c_q.rd_pending != '0 ? TN_GET : TN_REPLY;
        end

        TN_GET:
        if (rd_done_q) begin
          rd_done_q <= 1'b0;
          state_q <= res_bytes != '0 ? TN_KEY : TN_SEND;
        end

        TN_KEY: begin
          mr_have_q <= 1'b0;
          state_q <= TN_KEY_WAIT;
        end

        TN_KEY_WAIT:
        if (mr_have_q) begin
          if (mr_q.ok) state_q <= TN_SEND;
          else begin                         // the region went away while it was being read
            c_q.rd_pending <= '0;
            it_q.syn <= rsp_pkg::SYN_NAK_ACCESS;
            it_q.ev <= dingo_pkg::EV_QP_ACCESS_ERR[7:0];
            it_q.psn <= txd.psn;
            state_q <= CM_NAK;
          end
        end

        TN_SEND: begin
          used_q <= used_q + 5'd1;
          txd_valid_o <= 1'b1;
          txd_o <= txd;
          seg_valid_o <= res_bytes != '0;
          seg_o.last <= 1'b1;
          seg_o.len <= {19'd0, res_bytes};
          seg_o.off <= mr_q.off;
          seg_o.mem <= mr_q.mem;
          if (res_last) begin
            c_q.rd_pending[rd_now_q] <= 1'b0;
            c_q.rd_answered[rd_now_q] <= 1'b1;
            state_q <= TN_PICK;
          end else state_q <= TN_NEXT;
        end

        TN_PICK: begin  // C9-110: an earlier one interrupts the one that was being sent
          rd_now_q <= pick;
          state_q <= TN_NEXT;
        end

        TN_REPLY: begin
          txd_valid_o <= 1'b1;
          txd_o <= txd;
          c_q.reply_pending <= 1'b0;
          qstat_valid_o <= c_q.reply_syn[7:5] == '0;
          qstat_idx_q <= 4'(dingo_pkg::QP_ACKS_SENT);
          state_q <= c_q.fatal ? ENTER_ERR : STORE;
        end

        TN_FLUSH:
        if (rq_empty) state_q <= STORE;
        else if (used_q == BURST) begin
          wake_q <= 1'b1;
          state_q <= STORE;
        end else begin
          c_q.held_index <= c_q.rq_cons;
          open_q <= 1'b1;
          state_q <= TN_FETCH;
        end

        TN_FETCH:  // only for the tag: what else may be wrong no longer matters
        if (w_done_q) begin
          w_done_q <= 1'b0;
          used_q <= used_q + 5'd1;
          c_q.rq_cons <= c_q.rq_cons + 32'd1;
          stat_valid_o <= 1'b1;
          stat_idx_q <= 6'(dingo_pkg::CARD_RESP_CQE_FLUSH_ERROR);
          qstat_valid_o <= 1'b1;
          qstat_idx_q <= 4'(dingo_pkg::QP_RECV_CQES);
          cqe_valid_o <= 1'b1;
          cqe_status_q <= dingo_pkg::WCS_WR_FLUSH_ERR[7:0];
          cqe_verr_q <= dingo_pkg::VERR_FLUSHED[7:0];
          cqe_tag_q <= w_tag;
          state_q <= TN_FLUSH;
        end

        // -------------------------------------------------------------- events
        EV_DB: begin
          if (!db_bad) begin
            c_q.rq_prod <= db_index_q;
            prefetch_q <= 1'b1;
            wake_q <= c_q.err;
          end
          state_q <= STORE;
        end

        EV_CQ_FAIL:
        if (c_q.err || x_q.state == dingo_pkg::QPS_ERR[2:0] || x_q.state == dingo_pkg::QPS_RESET[2:0]) state_q <= STORE;
        else begin
          ev_valid_o <= 1'b1;
          ev_kind_q <= dingo_pkg::EV_QP_FATAL[7:0];
          state_q <= ENTER_ERR;
        end

        EV_FAIL, ENTER_ERR: begin
          c_q.err <= 1'b1;
          c_q.rd_pending <= '0;
          c_q.reply_pending <= 1'b0;
          c_q.message <= rsp_pkg::MSG_NONE;
          wake_q <= 1'b1;
          state_q <= STORE;
        end

        EV_TXERR:
        if (c_q.err || c_q.fatal || report_ok_q) state_q <= STORE;
        else begin
          c_q.rd_pending <= '0;
          it_q.syn <= rsp_pkg::SYN_NAK_OP;
          it_q.ev <= dingo_pkg::EV_QP_ACCESS_ERR[7:0];
          state_q <= CM_NAK;
        end

        EV_QPA: begin
          state_q <= STORE;
          if (qpa_q.op == rtl_pkg::QPA_CLEAR) begin
            a_rest: assert (c_q.items == '0);
            c_q <= '0;
            c_q.queued <= c_q.queued;        // its place in the ready queue stays
          end else if (qpa_q.op == rtl_pkg::QPA_MODIFY) begin
            if ((mask & dingo_pkg::QPM_RQ_PSN[20:0]) != '0) c_q.exp_psn <= x_q.cfg.rq_psn;
            if ((mask & dingo_pkg::QPM_MAX_DEST_RD_ATOMIC[20:0]) != '0) begin
              c_q.rd_used <= '0;
              c_q.rd_pending <= '0;
              c_q.rd_answered <= '0;
              c_q.rd_next <= '0;
            end
            if (to_err) begin
              c_q.err <= 1'b1;
              c_q.rd_pending <= '0;
              c_q.reply_pending <= 1'b0;
              c_q.message <= rsp_pkg::MSG_NONE;
              wake_q <= 1'b1;
            end
          end
          if (reply_owed && (to_err || (qpa_q.op == rtl_pkg::QPA_CLEAR && qpa_q.destroy))) begin
            txd_valid_o <= 1'b1;
            txd_o <= txd;
            qstat_valid_o <= c_q.reply_syn[7:5] == '0;
            qstat_idx_q <= 4'(dingo_pkg::QP_ACKS_SENT);
          end
        end

        default: state_q <= IDLE;
      endcase
    end

    if (!rst_ni) begin
      state_q <= INIT;
      init_q <= '0;
      turn_q <= 1'b0;
      qpa_pending_q <= 1'b0;
      open_q <= 1'b0;
      scatter_q <= 1'b0;
      stat_valid_o <= 1'b0;
      qstat_valid_o <= 1'b0;
      cqe_valid_o <= 1'b0;
      ev_valid_o <= 1'b0;
      scat_valid_o <= 1'b0;
      txd_valid_o <= 1'b0;
      seg_valid_o <= 1'b0;
    end
  end


  wire unused_ok = &{1'b0, commit_i, rxp_i, qpa_q, txd, w_bus, mr_q};
endmodule
