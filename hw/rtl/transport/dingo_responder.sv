// SPDX-License-Identifier: BSD-2-Clause

/// The answering half of all QPs: requests and datagrams to memory and receive completions; READ
/// responses, ACKs and NAKs. A request is checked and its payload ordered at once; completion and
/// acknowledgement follow when the payload is in memory (commit). One step at a time has a QP's context: chosen by
/// dingo_rsp_sched, done in one cycle by dingo_rsp_quick or dingo_rsp_event, or in several by dingo_rsp_receive,
/// dingo_rsp_commit or dingo_rsp_turn. A step takes 3 cycles (load, work, store); plain ones 2, overlapped. A packet that
/// may take an entry of an SRQ has 2 more, for the SRQ's state (dingo_rsp_srq).
module dingo_responder (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        halt_tx_i,
    output logic        tx_idle_o,
    output logic        idle_o,
    output logic        work_o,
    input  logic        xl_flush_i,
    input  logic        resume_i,        // a region may be paused no more
    input  logic [(1<<rtl_pkg::GID_LOG)-1:0] gid_valid_i,
    input  logic        db_valid_i,
    output logic        db_ready_o,
    input  rtl_pkg::qdb_t        db_i,
    input  logic        db_srq_i,        // db_i.qp is an SRQ
    output logic        db_bad_o,        // one cycle: an index that the ring cannot have (counted here)
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
    input  logic        cqe_done_i,      // a completion is in host memory, or was refused
    input  logic        fail_valid_i,    // the requester moved this QP to ERR; always taken
    input  rtl_pkg::qpi_t        fail_qp_i,
    output logic        fail_valid_o,
    output rtl_pkg::qpi_t        fail_qp_o,
    input  logic        qpa_valid_i,
    input  rtl_pkg::qpa_req_t    qpa_i,
    output logic        qpa_done_o,
    output rtl_pkg::rsp_info_t   qpa_info_o,
    input  logic        srqa_valid_i,    // a command about an SRQ
    input  rtl_pkg::srqa_req_t   srqa_i,
    output logic        srqa_done_o,
    output rtl_pkg::srq_info_t   srqa_info_o,
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
    output logic        mrw_valid_o,     // dingo_mr_work
    output rtl_pkg::mrw_req_t    mrw_o,
    input  logic        mrw_done_i,
    input  rtl_pkg::mrw_rsp_t    mrw_rsp_i,
    output logic        reading_o,       // the key of a READ response's payload was looked up, its order is not taken
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

  typedef enum logic [3:0] {
    INIT = 4'd0,        // marks are cleared
    IDLE = 4'd1,
    LOAD = 4'd2,        // context and QP come from their tables
    PART = 4'd3,        // dingo_rsp_receive, _commit or _turn has it
    EVENT = 4'd4,       // dingo_rsp_event, and in the next two
    NAK = 4'd5,         // the QP gets its fatal NAK
    ENTER_ERR = 4'd6,
    STORE = 4'd7,       // context goes back
    SRQ = 4'd8,         // the SRQ's state has come,
    SRQ_DONE = 4'd9     // and goes back
  } state_t;

  state_t state_q;
  rsp_pkg::step_t step_q;
  rtl_pkg::qpi_t qp_q;
  rsp_pkg::rctx_t c_q;                    // context, but while a part has it
  rtl_pkg::qp_t x_q;                      // its QP
  logic wake_q;                           // a turn is wanted
  logic again_q;                          // with it: the one that was cut short
  logic again_next, again_next_q;         // the turn that is chosen; to be loaded: is such a one
  rsp_pkg::nak_t nak_q;
  rsp_pkg::item_t item_q;
  rsp_pkg::item_t cqe_item_q;             // of the completion in `own`, of put_q
  logic item_err_q;
  logic [63:0] item_word_q;               // of an atomic
  logic put_q;                            // the step chosen before put a READ or atomic into slot put_slot_q
  logic [3:0] put_slot_q;
  logic [63:0] put_word_q;
  rtl_pkg::txerr_t txerr_q;
  logic [31:0] db_index_q;
  logic prefetch_q;                       // the RQ moved on
  logic qpa_pending_q;
  rtl_pkg::qpa_req_t qpa_q;
  logic srqa_pending_q;
  rtl_pkg::srqa_req_t srqa_q;
  logic [5:0] cqes_q;                     // completions that are not in host memory yet

  logic quick_send, quick_send_data;      // a packet of the plain step before leaves: it is the response to put_q's
  logic is_rx, is_commit, is_turn, is_srq, ev_state;
  assign is_rx = step_q == rsp_pkg::STEP_RXP;
  assign is_commit = step_q == rsp_pkg::STEP_COMMIT;
  assign is_turn = step_q == rsp_pkg::STEP_TURN;
  assign ev_state = state_q == EVENT || state_q == NAK || state_q == ENTER_ERR;
  assign is_srq = step_q == rsp_pkg::STEP_SRQ_DB || step_q == rsp_pkg::STEP_SRQA;   // a step without a QP

  // ---------------------------------------------------------------- outputs
  // Everything works only while all outputs are free, so that any state may use any of them; qp_q, x_q
  // and item_q stand still while one waits. Only the part that runs the step holds outputs.
  rsp_pkg::emit_t own, part_emit;
  rsp_pkg::emit_ready_t emit_ready;
  logic go, busy;
  dingo_rsp_report u_report (
      .own_i(own), .part_i(part_emit), .qp_i(qp_q), .cfg_i(x_q.cfg), .item_i(own.cqe ? cqe_item_q : item_q), .stat_valid_o, .stat_o, .qstat_valid_o,
      .qstat_o, .ev_valid_o, .ev_o, .cqe_valid_o, .cqe_o
  );
  assign emit_ready = {stat_ready_i, qstat_ready_i, ev_ready_i, cqe_ready_i};
  assign busy = stat_valid_o || qstat_valid_o || cqe_valid_o || ev_valid_o || scat_valid_o || txd_valid_o || seg_valid_o;
  assign go = (!stat_valid_o || stat_ready_i) && (!qstat_valid_o || qstat_ready_i) && (!cqe_valid_o || cqe_ready_i)
              && (!ev_valid_o || ev_ready_i) && (!scat_valid_o || scat_ready_i) && (!txd_valid_o || txd_ready_i)
              && (!seg_valid_o || seg_ready_i);

  // ---------------------------------------------------------------- what comes next
  rsp_pkg::step_t step;
  logic step_valid, take, tx_free, may_send, turn_ready, failures, wake_push;
  rtl_pkg::qpi_t step_qp;
  rsp_pkg::item_t commit_item;
  assign commit_item = rsp_pkg::item_t'(commit_i.item);

  dingo_rsp_sched u_sched (
      .clk_i, .rst_ni, .commit_valid_i(commit_valid_i && (!commit_item.single || tx_free)), .commit_qp_i(commit_item.qp[rtl_pkg::QP_LOG-1:0]), .cq_fail_valid_i, .cq_fail_qp_i,
      .fail_valid_i, .fail_qp_i, .db_valid_i, .db_qp_i(db_i.qp), .db_srq_i, .txerr_valid_i, .txerr_qp_i(txerr_i.qp),
      .qpa_valid_i(qpa_pending_q && !(state_q == STORE && step_q == rsp_pkg::STEP_QPA)), .qpa_qp_i(qpa_q.qp),
      .srqa_valid_i(srqa_pending_q && !(state_q == STORE && step_q == rsp_pkg::STEP_SRQA)), .srqa_srq_i(srqa_q.srq),
      .resume_valid_i(resume_valid), .resume_qp_i(resume_qp),
      // room is as of before what is on its way (dingo_scatter)
      .rxp_valid_i(in_valid && scat_room_i && !(loading && is_rx)), .rxp_qp_i(in.qp),
      .turn_ok_i(!halt_tx_i && tx_room_i && !txd_valid_o && !seg_valid_o && !quick_send && !may_send),
      .wake_i(wake_push), .wake_qp_i(qp_q), .again_i(again_q), .take_i(take), .step_o(step), .step_valid_o(step_valid),
      .step_qp_o(step_qp), .again_o(again_next), .ready_o(turn_ready), .failures_o(failures)
  );
  // An item whose response leaves in the same step waits until the packet before it has been given: tx_room counts that
  // one only then.
  assign tx_free = (!txd_valid_o || txd_ready_i) && (!seg_valid_o || seg_ready_i) && !quick_send && !may_send;
  assign may_send = loading && (is_turn || (is_commit && item_q.single));
  assign take = (state_q == IDLE || (state_q == STORE && !next_q) || early) && go && step_valid;
  assign commit_ready_o = take && step == rsp_pkg::STEP_COMMIT;
  assign db_ready_o = take && (step == rsp_pkg::STEP_DB || step == rsp_pkg::STEP_SRQ_DB);
  assign txerr_ready_o = take && step == rsp_pkg::STEP_TXERR;
  assign qp_re_o = take;
  assign qp_raddr_o = step_qp;
  assign work_o = turn_ready;

  // ---------------------------------------------------------------- READ responses that wait for a paused region
  logic pause_ready, pause_push, resume_valid;
  rtl_pkg::qpi_t resume_qp;
  dingo_pause_queue u_pause (
      .clk_i, .rst_ni, .ready_o(pause_ready), .push_i(pause_push), .push_qp_i(qp_q), .resume_i, .valid_o(resume_valid),
      .take_i(take && step == rsp_pkg::STEP_RESUME), .qp_o(resume_qp)
  );

  // ---------------------------------------------------------------- packets that wait
  logic in_valid, in_key, in_send, in_pop, in_idle, in_mr_valid, answer;
  logic rx_send_q;                        // the step is that of a SEND of one packet
  logic look_valid, look_ready, look_here, look_coming, look_err;
  logic [255:0] look_data;
  rsp_pkg::look_t look;
  rsp_pkg::ahead_t in_ahead;
  rtl_pkg::rxp_t in;
  rtl_pkg::mr_req_t in_mr;
  rtl_pkg::mr_rsp_t in_mr_rsp;
  dingo_rsp_intake u_intake (
      .clk_i, .rst_ni, .idle_o(in_idle), .rxp_valid_i, .rxp_ready_o, .rxp_i, .valid_o(in_valid), .rxp_o(in), .key_o(in_key),
      .send_o(in_send), .ahead_o(in_ahead), .look_en_i(state_q != PART || is_commit), .store_i(ctx_we),
      .store_qp_i(ctx_waddr), .store_prod_i(ctx_w.rq_prod), .store_cons_i(ctx_w.rq_cons),
      .store_send_i(state_q == STORE && rx_send_q), .look_valid_o(look_valid), .look_ready_i(look_ready), .look_o(look),
      .look_here_i(look_here), .look_coming_i(look_coming), .look_err_i(look_err), .look_data_i(look_data),
      .mr_rsp_o(in_mr_rsp), .pop_i(in_pop), .void_i(mrw_valid_o && mrw_done_i), .ask_i(key_ask), .mr_valid_o(in_mr_valid), .mr_o(in_mr),
      .mr_rsp_valid_i, .mr_rsp_i, .answer_o(answer));
  // Headers are looked at until then.
  assign in_pop = rx_end || (loading && go && quick_rx);

  // ---------------------------------------------------------------- contexts
  logic same_q;                           // the step before was of the same QP and is being stored
  rsp_pkg::rctx_t ctx_w, ctx_r;
  logic [rsp_pkg::RCTX_W-1:0] ctx_rdata;
  logic ctx_we, ctx_ready, ctx_written;   // what was not written since reset is 0
  // What is being written in the cycle of its choice cannot be read yet.
  assign ctx_r = same_q ? ctx_w : ctx_written ? rsp_pkg::rctx_t'(ctx_rdata) : '0;
  assign wake_push = state_q == STORE && go && wake_q && !c_q.queued;
  always_comb begin
    ctx_w = c_q;
    ctx_w.queued = c_q.queued || wake_q;
  end
  rtl_pkg::qpi_t ctx_waddr;
  assign ctx_we = state_q == STORE && go && !is_srq;
  assign ctx_waddr = qp_q;
  dingo_marked_ram #(
      .Width(rsp_pkg::RCTX_W),
      .LogDepth(rtl_pkg::QP_LOG)
  ) u_ctx (
      .clk_i,
      .rst_ni,
      .ready_o(ctx_ready),
      .we_i(ctx_we),
      .waddr_i(ctx_waddr),
      .wdata_i(ctx_w),
      .re_i(take),
      .raddr_i(step_qp),
      .rdata_o(ctx_rdata),
      .written_o(ctx_written)
  );

  // ---------------------------------------------------------------- steps of one cycle
  rtl_pkg::qp_t x_load;
  logic quick_rx, quick_read, quick_atomic, quick_commit, quick_put, quick_data, quick_reply, quick_db, quick, quick_wake, quick_prefetch, loading, early;
  logic next_q;                           // the step to be loaded is chosen; step_q and item_q are its
  rtl_pkg::qpi_t next_qp_q, load_qp;
  rsp_pkg::rctx_t quick_ctx;
  rsp_pkg::emit_t quick_emit;
  rsp_pkg::item_t quick_item;
  always_comb begin
    x_load = is_rx ? in.ctx : step_q == rsp_pkg::STEP_QPA ? qpa_q.ctx : qp_rdata_i;
    if (is_srq) begin
      x_load.cfg.has_srq = 1'b1;
      x_load.cfg.srq = load_qp[rtl_pkg::SRQ_LOG-1:0];
    end
  end
  dingo_rsp_quick u_quick (
      .en_i(loading), .step_i(step_q), .qp_i(load_qp), .ctx_i(ctx_r), .x_i(x_load), .h_i(in.h), .key_i(in_key), .key_ok_i(in_mr_rsp.ok),
      .send_i(in_send), .ahead_i(in_ahead), .db_index_i(db_index_q), .db_o(quick_db), .prefetch_o(quick_prefetch),
      .item_i(item_q), .item_err_i(item_err_q), .path_ok_i(gid_valid_i[x_load.cfg.sgid]), .tx_ok_i(tx_room_i && !halt_tx_i), .rx_o(quick_rx),
      .read_o(quick_read), .atomic_o(quick_atomic), .commit_o(quick_commit), .put_o(quick_put), .data_o(quick_data),
      .reply_o(quick_reply), .ctx_o(quick_ctx), .wake_o(quick_wake), .emit_o(quick_emit), .item_o(quick_item));
  assign quick = quick_rx || quick_commit || quick_reply || quick_db;
  // Behind such a step the next is chosen while it is loaded, and loaded while it is stored.
  assign loading = state_q == LOAD || (state_q == STORE && next_q);
  assign load_qp = next_q ? next_qp_q : qp_q;
  assign early = loading && quick
                 && (step == rsp_pkg::STEP_COMMIT || step == rsp_pkg::STEP_DB || step == rsp_pkg::STEP_TURN || step == rsp_pkg::STEP_RXP)
                 && (step_qp == load_qp || step_qp != qp_q);          // what is being stored cannot be read yet

  // ---------------------------------------------------------------- shared receive queues
  rsp_pkg::srq_t srq;
  rsp_pkg::rctx_t c_srq;                  // c_q with the places of its SRQ
  rsp_pkg::emit_t srq_emit;
  logic srq_load, srq_db_bad;
  assign srq_load = loading && go && !quick && x_load.cfg.has_srq
                    && (is_rx || is_srq || step_q == rsp_pkg::STEP_QPA);
  dingo_rsp_srq u_srq (
      .clk_i, .load_i(srq_load), .srq_i(loading ? x_load.cfg.srq : x_q.cfg.srq), .state_o(srq),
      .write_i(state_q == SRQ_DONE && go), .step_i(step_q), .cons_i(c_q.rq_cons), .bus_i(rx_bus), .db_index_i(db_index_q),
      .srqa_i(srqa_q), .emit_o(srq_emit), .db_bad_o(srq_db_bad), .info_o(srqa_info_o)
  );
  always_comb begin
    c_srq = c_q;
    c_srq.rq_cons = srq.cons;
    c_srq.rq_prod = is_rx && srq.error ? srq.cons : srq.prod;   // one that failed is empty
  end
  assign srqa_done_o = state_q == STORE && go && step_q == rsp_pkg::STEP_SRQA;

  // ---------------------------------------------------------------- steps of several cycles
  logic rx_end, rx_bus, rx_scat_valid, own_scat_valid, path_ok, tn_send, tn_read, rq_idle, key_ask, rq_flush;
  logic [12:0] tn_bytes;
  rsp_pkg::part_t part;
  rtl_pkg::scat_t rx_scat, own_scat;
  rtl_pkg::txd_t txd;
  rtl_pkg::mr_rsp_t key;
  assign path_ok = gid_valid_i[x_q.cfg.sgid];
  assign rq_flush = go && ((state_q == EVENT && step_q == rsp_pkg::STEP_QPA && qpa_q.op == rtl_pkg::QPA_CLEAR)
                           || (state_q == SRQ_DONE && step_q == rsp_pkg::STEP_SRQA && srqa_q.op == rtl_pkg::SRQA_DESTROY));
  dingo_rsp_work u_work (
      .clk_i, .rst_ni, .go_i(go), .busy_i(busy), .step_i(step_q),
      .start_i((loading && go && !quick && !srq_load) || (state_q == SRQ && go && is_rx)),
      .ctx_i(state_q == SRQ ? c_srq : ctx_r), .part_o(part), .emit_o(part_emit), .emit_ready_i(emit_ready), .qp_i(qp_q),
      .x_i(x_q), .c_i(c_q), .rq_idle_o(rq_idle), .h_i(in.h), .rx_end_o(rx_end), .rx_bus_o(rx_bus),
      .scat_valid_o(rx_scat_valid), .scat_ready_i, .scat_o(rx_scat), .mrw_valid_o, .mrw_o, .mrw_done_i, .mrw_rsp_i,
      .item_i(item_q), .item_err_i(item_err_q), .item_word_i(item_word_q), .put_i(put_q), .put_slot_i(put_slot_q),
      .put_item_i(cqe_item_q), .put_word_i(put_word_q), .again_i(again_next_q), .path_ok_i(path_ok), .tx_room_i,
      .cqes_done_i(cqes_q == '0), .pause_o(pause_push), .quick_send_i(quick_send), .quick_data_i(quick_send_data),
      .send_o(tn_send), .read_o(tn_read), .txd_o(txd), .bytes_o(tn_bytes), .key_o(key), .flush_i(rq_flush), .xl_flush_i,
      .prefetch_i(state_q == STORE && go && prefetch_q && !c_q.err), .look_valid_i(look_valid), .look_ready_o(look_ready),
      .look_i(look), .look_here_o(look_here), .look_coming_o(look_coming), .look_err_o(look_err), .look_data_o(look_data),
      .rwqe_valid_o, .rwqe_ready_i, .rwqe_o, .rwqe_rsp_valid_i, .line_valid_o, .line_ready_i, .line_o, .line_rsp_valid_i,
      .line_rsp_i, .in_mr_valid_i(in_mr_valid), .in_mr_i(in_mr), .key_ask_o(key_ask), .mr_valid_o, .mr_o,
      .answer_i(answer), .mr_rsp_i
  );

  // ---------------------------------------------------------------- what leaves
  dingo_rsp_leave u_leave (
      .clk_i, .rst_ni, .load_i(loading && go && quick), .rx_i(quick_rx), .read_i(quick_read), .atomic_i(quick_atomic),
      .reply_i(quick_reply), .data_i(quick_data), .item_i(quick_item), .h_i(in.h), .mr_rsp_i(in_mr_rsp),
      .store_i(state_q == STORE && go), .send_o(quick_send), .send_data_o(quick_send_data), .data_item_i(cqe_item_q),
      .ev_reply_i(go && ev_state && ev_reply), .turn_send_i(tn_send), .turn_read_i(tn_read), .turn_bytes_i(tn_bytes),
      .turn_key_i(key), .txd_i(txd), .txd_valid_o, .txd_ready_i, .txd_o, .seg_valid_o, .seg_ready_i, .seg_o,
      .scat_valid_o(own_scat_valid), .scat_ready_i, .scat_o(own_scat)
  );
  assign scat_valid_o = rx_scat_valid || own_scat_valid;
  assign scat_o = own_scat_valid ? own_scat : rx_scat;

  // ---------------------------------------------------------------- events and commands
  logic ev_wake, ev_prefetch, ev_db_bad, ev_reply;
  rsp_pkg::rctx_t ev_ctx;
  rsp_pkg::emit_t ev_emit;
  rsp_pkg::exit_t ev_exit;
  rsp_pkg::nak_t ev_nak;
  dingo_rsp_event u_event (
      .step_i(step_q), .fatal_i(state_q == NAK), .enter_err_i(state_q == ENTER_ERR), .ctx_i(c_q), .x_i(x_q),
      .wake_i(wake_q), .prefetch_i(prefetch_q), .nak_i(nak_q), .db_index_i(db_index_q), .txerr_i(txerr_q), .qpa_i(qpa_q),
      .path_ok_i(path_ok), .ctx_o(ev_ctx), .wake_o(ev_wake), .prefetch_o(ev_prefetch), .emit_o(ev_emit), .exit_o(ev_exit),
      .nak_o(ev_nak), .db_bad_o(ev_db_bad), .reply_o(ev_reply)
  );
  assign db_bad_o = go && ((state_q == EVENT && step_q == rsp_pkg::STEP_DB && ev_db_bad) || (state_q == SRQ_DONE && srq_db_bad));
  assign qpa_info_o.rq_producer = c_q.rq_prod;
  assign qpa_info_o.rq_consumer = c_q.rq_cons;
  assign qpa_info_o.rq_psn = c_q.exp_psn;
  assign qpa_info_o.msn = c_q.msn;
  assign qpa_done_o = state_q == STORE && go && step_q == rsp_pkg::STEP_QPA;

  assign fail_valid_o = state_q == ENTER_ERR && go;
  assign fail_qp_o = qp_q;
  assign state_we_o = fail_valid_o;
  assign state_index_o = qp_q;
  assign state_o = dingo_pkg::QPS_ERR[2:0];

  assign idle_o = state_q == IDLE && !busy && !commit_valid_i && !failures && !txerr_valid_i && !db_valid_i
                  && !rxp_valid_i && !resume_valid && in_idle && !qpa_pending_q && !srqa_pending_q && !cq_fail_valid_i && !fail_valid_i && rq_idle;
  // A packet may have begun a READ response whose key is looked up already: it still counts as being read.
  assign reading_o = (state_q == PART && is_turn) || (loading && is_commit) || quick_send || seg_valid_o;
  assign tx_idle_o = !((is_turn || quick_send) && state_q != IDLE && state_q != INIT) && !txd_valid_o && !seg_valid_o;

  always_ff @(posedge clk_i) begin
    if (qpa_valid_i) begin
      qpa_pending_q <= 1'b1;
      qpa_q <= qpa_i;
    end
    if (srqa_valid_i) begin
      srqa_pending_q <= 1'b1;
      srqa_q <= srqa_i;
    end
    cqes_q <= cqes_q + 6'(cqe_valid_o && cqe_ready_i) - 6'(cqe_done_i);
    if (stat_ready_i) own.stat <= 1'b0;
    if (qstat_ready_i) own.qstat <= 1'b0;
    if (ev_ready_i) own.ev <= 1'b0;
    if (cqe_ready_i) own.cqe <= 1'b0;

    put_q <= rst_ni && loading && go && quick_put;
    put_slot_q <= ctx_r.rd_next;
    if (loading && go) put_word_q <= item_word_q;
    if (go) begin
      case (state_q)
        INIT: if (ctx_ready && pause_ready) state_q <= IDLE;

        IDLE, STORE: begin
          wake_q <= 1'b0;
          again_q <= 1'b0;
          prefetch_q <= 1'b0;
          state_q <= IDLE;
          if (state_q == STORE) begin
            c_q.queued <= ctx_w.queued;
            if (step_q == rsp_pkg::STEP_QPA && !next_q) qpa_pending_q <= 1'b0;
            if (step_q == rsp_pkg::STEP_SRQA && !next_q) srqa_pending_q <= 1'b0;
          end
          if (take) begin
            qp_q <= step_qp;
            same_q <= state_q == STORE && step_qp == qp_q && !is_srq;
            state_q <= LOAD;
          end
        end

        PART:
        if (part.done) begin
          c_q <= part.ctx;
          wake_q <= part.wake;
          again_q <= part.again;
          prefetch_q <= part.prefetch;
          nak_q <= part.nak;
          state_q <= part.leave == rsp_pkg::EXIT_NAK ? NAK : part.leave == rsp_pkg::EXIT_ERR ? ENTER_ERR
                     : is_rx && x_q.cfg.has_srq ? SRQ_DONE : STORE;
        end

        SRQ: begin
          c_q <= c_srq;
          state_q <= is_rx ? PART : is_srq ? SRQ_DONE : EVENT;
        end

        SRQ_DONE: begin
          own <= srq_emit;
          state_q <= STORE;
        end

        EVENT, NAK, ENTER_ERR: begin
          a_rest: assert (state_q != EVENT || step_q != rsp_pkg::STEP_QPA || qpa_q.op != rtl_pkg::QPA_CLEAR || c_q.items == '0);
          c_q <= ev_ctx;
          own <= ev_emit;
          wake_q <= ev_wake;
          prefetch_q <= ev_prefetch;
          nak_q <= ev_nak;
          state_q <= ev_exit == rsp_pkg::EXIT_NAK ? NAK : ev_exit == rsp_pkg::EXIT_ERR ? ENTER_ERR : STORE;
        end

        LOAD: ;
        default: state_q <= IDLE;
      endcase
      if (loading) begin
        qp_q <= load_qp;
        c_q <= quick ? quick_ctx : ctx_r;
        x_q <= x_load;
        case (step_q)
          rsp_pkg::STEP_COMMIT, rsp_pkg::STEP_TURN, rsp_pkg::STEP_RXP: state_q <= quick ? STORE : srq_load ? SRQ : PART;
          default: state_q <= quick ? STORE : srq_load ? SRQ : EVENT;
        endcase
        if (quick) begin
          wake_q <= quick_wake;
          prefetch_q <= quick_prefetch;
          own <= quick_emit;
        end
        rx_send_q <= is_rx && in_send;
        if (quick_commit) cqe_item_q <= item_q;
        a_item: assert (!quick_commit || ctx_r.items != '0);
        a_items: assert (!quick_rx || ctx_r.items != '1);
        a_posted: assert (!(quick_rx && in_send) || ctx_r.rq_cons != ctx_r.rq_prod);
        next_q <= take;
        next_qp_q <= step_qp;
        if (take) same_q <= step_qp == load_qp;
      end
      if (take) begin
        step_q <= step;
        again_next_q <= again_next;
        if (step == rsp_pkg::STEP_COMMIT) begin
          item_q <= commit_item;
          item_err_q <= commit_i.err;
          item_word_q <= commit_i.word;
        end
        if (step == rsp_pkg::STEP_TXERR) txerr_q <= txerr_i;
        if (step == rsp_pkg::STEP_DB || step == rsp_pkg::STEP_SRQ_DB) db_index_q <= db_i.index;
      end
    end

    if (!rst_ni) begin
      next_q <= 1'b0;
      again_q <= 1'b0;
      state_q <= INIT;
      step_q <= rsp_pkg::STEP_COMMIT;
      qpa_pending_q <= 1'b0;
      srqa_pending_q <= 1'b0;
      cqes_q <= '0;
      own <= '0;
      rx_send_q <= 1'b0;
    end
  end

  wire unused_ok = &{1'b0, srq, qpa_q, in, txerr_q, item_q, cqe_item_q, own, db_i.pushed};
endmodule
