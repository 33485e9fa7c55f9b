// SPDX-License-Identifier: BSD-2-Clause

/// The responder's step in work: registers, contexts of all QPs, and the order of states. A plain step is done by
/// dingo_rsp_quick in the cycle in which its context is loaded, and stored in the next one; others take LOAD, their
/// work (dingo_rsp_work, or dingo_rsp_event in one state) and STORE. A step that uses an SRQ has two more states, for
/// the SRQ's state (dingo_rsp_srq). It stands still while an output of the responder is taken (go_i).
module dingo_rsp_step (
    input  logic                clk_i,
    input  logic                rst_ni,
    input  logic                ready_i,        // dingo_rsp_front is ready after reset
    input  logic                go_i,           // all outputs of the responder are free
    output rsp_pkg::now_t       now_o,
    output rtl_pkg::qpi_t       qp_o,           // QP of the step, from the cycle after loading on
    output rtl_pkg::qp_t        x_o,
    output rsp_pkg::emit_t      own_o,          // reports of plain steps and events
    input  rsp_pkg::emit_ready_t emit_ready_i,
    // the choice of dingo_rsp_front
    input  logic                step_valid_i,
    input  rsp_pkg::step_t      step_i,
    input  rtl_pkg::qpi_t       step_qp_i,
    input  logic                again_next_i,
    output logic                take_o,         // qp_rdata_i and the context come in the next cycle
    input  rtl_pkg::qp_t        qp_rdata_i,
    input  rtl_pkg::commit_t    commit_i,
    input  rtl_pkg::txerr_t     txerr_i,
    input  logic [31:0]         db_index_i,
    input  rtl_pkg::qpa_req_t   qpa_i,
    input  rtl_pkg::srqa_req_t  srqa_i,
    input  rtl_pkg::rxp_t       in_i,           // the packet in front, and what was looked up for it
    input  logic                in_key_i,
    input  logic                in_key_ok_i,
    input  logic                in_send_i,
    input  rsp_pkg::ahead_t     in_ahead_i,
    input  logic [(1<<rtl_pkg::GID_LOG)-1:0] gid_valid_i,
    input  logic                tx_ok_i,        // a packet may be sent
    output rsp_pkg::quick_t     quick_o,
    // dingo_rsp_work
    output logic                start_o,
    output rsp_pkg::rctx_t      start_ctx_o,
    input  rsp_pkg::part_t      part_i,
    input  logic                rx_bus_i,       // a packet's receive WQE could not be read
    output logic                path_ok_o,      // the QP's source address is there
    output logic                flush_o,        // receive WQEs of the QP or SRQ are void
    output logic                prefetch_o,     // one cycle: the receive queue moved on
    // ends
    output logic                store_o,        // the context is stored
    output logic                wake_o,         // one cycle: the QP wants a turn
    output logic                again_o,        // its turn was cut short
    output logic                reply_o,        // an event's ACK or NAK leaves
    output logic                enter_err_o,    // one cycle: the QP goes to ERR
    output logic                db_bad_o,       // one cycle
    output logic                qpa_done_o,
    output rtl_pkg::rsp_info_t  qpa_info_o,
    output logic                srqa_done_o,
    output rtl_pkg::srq_info_t  srqa_info_o
);
  rsp_pkg::state_t state_q;
  rsp_pkg::step_t step_q;
  rtl_pkg::qpi_t qp_q;
  rsp_pkg::rctx_t c_q;                    // context, while no part has it
  rtl_pkg::qp_t x_q;
  logic wake_q;                           // a turn is wanted
  logic again_q;                          // with wake_q: this turn was cut short
  logic again_next_q;                     // the turn to be loaded was cut short
  rsp_pkg::nak_t nak_q;
  rsp_pkg::item_t item_q;
  rsp_pkg::item_t cqe_item_q;
  logic item_err_q;
  logic [63:0] item_word_q;
  logic put_q;
  logic [3:0] put_slot_q;
  logic [63:0] put_word_q;
  rtl_pkg::txerr_t txerr_q;
  logic [31:0] db_index_q;
  logic prefetch_q;                       // the receive queue moved on
  logic rx_send_q;                        // the step is that of a SEND of one packet
  logic next_q;                           // STORE: the step to be loaded is chosen; step_q and item_q are its
  rtl_pkg::qpi_t next_qp_q, load_qp;
  logic same_q;                           // the step before was of the same QP and is being stored
  logic is_rx, is_commit, is_turn, is_srq, ev_state, loading, early, take;
  rsp_pkg::item_t commit_item;
  assign commit_item = rsp_pkg::item_t'(commit_i.item);
  assign is_rx = step_q == rsp_pkg::STEP_RXP;
  assign is_commit = step_q == rsp_pkg::STEP_COMMIT;
  assign is_turn = step_q == rsp_pkg::STEP_TURN;
  assign is_srq = step_q == rsp_pkg::STEP_SRQ_DB || step_q == rsp_pkg::STEP_SRQA;   // a step without a QP
  assign ev_state = state_q == rsp_pkg::ST_EVENT || state_q == rsp_pkg::ST_NAK || state_q == rsp_pkg::ST_ENTER_ERR;

  assign now_o.state = state_q;
  assign now_o.step = step_q;
  assign now_o.c = c_q;
  assign now_o.loading = loading;
  assign now_o.item = item_q;
  assign now_o.item_err = item_err_q;
  assign now_o.item_word = item_word_q;
  assign now_o.again = again_next_q;
  assign now_o.rx_send = rx_send_q;
  assign now_o.cqe_item = cqe_item_q;
  assign now_o.put = put_q;
  assign now_o.put_slot = put_slot_q;
  assign now_o.put_word = put_word_q;
  assign qp_o = qp_q;
  assign x_o = x_q;

  // ---------------------------------------------------------------- contexts
  rsp_pkg::rctx_t ctx_w, ctx_r;
  logic [rsp_pkg::RCTX_W-1:0] ctx_rdata;
  logic ctx_ready, ctx_written;           // what was not written since reset is 0
  // A context that is written in the cycle of its choice cannot be read yet.
  assign ctx_r = same_q ? ctx_w : ctx_written ? rsp_pkg::rctx_t'(ctx_rdata) : '0;
  always_comb begin
    ctx_w = c_q;
    ctx_w.queued = c_q.queued || wake_q;
  end
  assign store_o = state_q == rsp_pkg::ST_STORE && go_i && !is_srq;
  assign wake_o = state_q == rsp_pkg::ST_STORE && go_i && wake_q && !c_q.queued;
  assign again_o = again_q;
  dingo_marked_ram #(
      .Width(rsp_pkg::RCTX_W),
      .LogDepth(rtl_pkg::QP_LOG)
  ) u_ctx (
      .clk_i, .rst_ni, .ready_o(ctx_ready), .we_i(store_o), .waddr_i(qp_q), .wdata_i(ctx_w), .re_i(take),
      .raddr_i(step_qp_i), .rdata_o(ctx_rdata), .written_o(ctx_written)
  );

  // ---------------------------------------------------------------- plain steps
  rtl_pkg::qp_t x_load;
  logic quick_rx, quick_commit, quick_put, quick_data, quick_reply, quick_db, quick, quick_wake, quick_prefetch;
  rsp_pkg::rctx_t quick_ctx;
  rsp_pkg::emit_t quick_emit;
  always_comb begin
    x_load = is_rx ? in_i.ctx : step_q == rsp_pkg::STEP_QPA ? qpa_i.ctx : qp_rdata_i;
    if (is_srq) begin
      x_load.cfg.has_srq = 1'b1;
      x_load.cfg.srq = load_qp[rtl_pkg::SRQ_LOG-1:0];
    end
  end
  dingo_rsp_quick u_quick (
      .en_i(loading), .step_i(step_q), .qp_i(load_qp), .ctx_i(ctx_r), .x_i(x_load), .h_i(in_i.h), .key_i(in_key_i),
      .key_ok_i(in_key_ok_i), .send_i(in_send_i), .ahead_i(in_ahead_i), .db_index_i(db_index_q), .db_o(quick_db),
      .prefetch_o(quick_prefetch), .item_i(item_q), .item_err_i(item_err_q), .path_ok_i(gid_valid_i[x_load.cfg.sgid]),
      .tx_ok_i, .rx_o(quick_rx), .read_o(quick_o.read), .atomic_o(quick_o.atomic), .commit_o(quick_commit),
      .put_o(quick_put), .data_o(quick_data), .reply_o(quick_reply), .ctx_o(quick_ctx), .wake_o(quick_wake),
      .emit_o(quick_emit), .item_o(quick_o.item), .offset_o(quick_o.offset)
  );
  assign quick = quick_rx || quick_commit || quick_reply || quick_db;
  assign quick_o.any = quick;
  assign quick_o.rx = quick_rx;
  assign quick_o.reply = quick_reply;
  assign quick_o.data = quick_data;
  // Behind a plain step the next one is chosen while it is loaded, and loaded while it is stored.
  assign loading = state_q == rsp_pkg::ST_LOAD || (state_q == rsp_pkg::ST_STORE && next_q);
  assign load_qp = next_q ? next_qp_q : qp_q;
  assign early = loading && quick
                 && (step_i == rsp_pkg::STEP_COMMIT || step_i == rsp_pkg::STEP_DB || step_i == rsp_pkg::STEP_TURN
                     || step_i == rsp_pkg::STEP_RXP)
                 && (step_qp_i == load_qp || step_qp_i != qp_q);      // what is being stored cannot be read yet
  assign take = (state_q == rsp_pkg::ST_IDLE || (state_q == rsp_pkg::ST_STORE && !next_q) || early) && go_i
                && step_valid_i;
  assign take_o = take;

  // ---------------------------------------------------------------- shared receive queues
  rsp_pkg::srq_t srq;
  rsp_pkg::rctx_t c_srq;                  // c_q with producer and consumer of its SRQ
  rsp_pkg::emit_t srq_emit;
  logic srq_load, srq_db_bad;
  assign srq_load = loading && go_i && !quick && x_load.cfg.has_srq
                    && (is_rx || is_srq || step_q == rsp_pkg::STEP_QPA);
  dingo_rsp_srq u_srq (
      .clk_i, .load_i(srq_load), .srq_i(loading ? x_load.cfg.srq : x_q.cfg.srq), .state_o(srq),
      .write_i(state_q == rsp_pkg::ST_SRQ_DONE && go_i), .step_i(step_q), .cons_i(c_q.rq_cons), .bus_i(rx_bus_i),
      .db_index_i(db_index_q), .srqa_i, .emit_o(srq_emit), .db_bad_o(srq_db_bad), .info_o(srqa_info_o)
  );
  always_comb begin
    c_srq = c_q;
    c_srq.rq_cons = srq.cons;
    c_srq.rq_prod = is_rx && srq.error ? srq.cons : srq.prod;   // one that failed is empty
  end
  assign srqa_done_o = state_q == rsp_pkg::ST_STORE && go_i && step_q == rsp_pkg::STEP_SRQA;

  // ---------------------------------------------------------------- dingo_rsp_work
  assign start_o = (loading && go_i && !quick && !srq_load) || (state_q == rsp_pkg::ST_SRQ && go_i && is_rx);
  assign start_ctx_o = state_q == rsp_pkg::ST_SRQ ? c_srq : ctx_r;
  assign path_ok_o = gid_valid_i[x_q.cfg.sgid];
  assign flush_o = go_i && ((state_q == rsp_pkg::ST_EVENT && step_q == rsp_pkg::STEP_QPA
                             && qpa_i.op == rtl_pkg::QPA_CLEAR)
                            || (state_q == rsp_pkg::ST_SRQ_DONE && step_q == rsp_pkg::STEP_SRQA
                                && srqa_i.op == rtl_pkg::SRQA_DESTROY));
  assign prefetch_o = state_q == rsp_pkg::ST_STORE && go_i && prefetch_q && !c_q.err;

  // ---------------------------------------------------------------- events and commands
  logic ev_wake, ev_prefetch, ev_db_bad, ev_reply;
  rsp_pkg::rctx_t ev_ctx;
  rsp_pkg::emit_t ev_emit;
  rsp_pkg::exit_t ev_exit;
  rsp_pkg::nak_t ev_nak;
  dingo_rsp_event u_event (
      .step_i(step_q), .fatal_i(state_q == rsp_pkg::ST_NAK), .enter_err_i(state_q == rsp_pkg::ST_ENTER_ERR),
      .ctx_i(c_q), .x_i(x_q), .wake_i(wake_q), .prefetch_i(prefetch_q), .nak_i(nak_q), .db_index_i(db_index_q), .txerr_i(txerr_q),
      .qpa_i, .path_ok_i(path_ok_o), .ctx_o(ev_ctx), .wake_o(ev_wake), .prefetch_o(ev_prefetch), .emit_o(ev_emit),
      .exit_o(ev_exit), .nak_o(ev_nak), .db_bad_o(ev_db_bad), .reply_o(ev_reply)
  );
  assign reply_o = go_i && ev_state && ev_reply;
  assign enter_err_o = state_q == rsp_pkg::ST_ENTER_ERR && go_i;
  assign db_bad_o = go_i && ((state_q == rsp_pkg::ST_EVENT && step_q == rsp_pkg::STEP_DB && ev_db_bad)
                             || (state_q == rsp_pkg::ST_SRQ_DONE && srq_db_bad));
  assign qpa_info_o.rq_producer = c_q.rq_prod;
  assign qpa_info_o.rq_consumer = c_q.rq_cons;
  assign qpa_info_o.rq_psn = c_q.exp_psn;
  assign qpa_info_o.msn = c_q.msn;
  assign qpa_done_o = state_q == rsp_pkg::ST_STORE && go_i && step_q == rsp_pkg::STEP_QPA;

  // ---------------------------------------------------------------- states
  always_ff @(posedge clk_i) begin
    if (emit_ready_i.stat) own_o.stat <= 1'b0;
    if (emit_ready_i.qstat) own_o.qstat <= 1'b0;
    if (emit_ready_i.ev) own_o.ev <= 1'b0;
    if (emit_ready_i.cqe) own_o.cqe <= 1'b0;
    put_q <= rst_ni && loading && go_i && quick_put;
    put_slot_q <= ctx_r.rd_next;
    if (loading && go_i) put_word_q <= item_word_q;
    if (go_i) begin
      case (state_q)
        rsp_pkg::ST_INIT: if (ctx_ready && ready_i) state_q <= rsp_pkg::ST_IDLE;

        rsp_pkg::ST_IDLE, rsp_pkg::ST_STORE: begin
          wake_q <= 1'b0;
          again_q <= 1'b0;
          prefetch_q <= 1'b0;
          state_q <= rsp_pkg::ST_IDLE;
          if (state_q == rsp_pkg::ST_STORE) c_q.queued <= ctx_w.queued;
          if (take) begin
            qp_q <= step_qp_i;
            same_q <= state_q == rsp_pkg::ST_STORE && step_qp_i == qp_q && !is_srq;
            state_q <= rsp_pkg::ST_LOAD;
          end
        end

        rsp_pkg::ST_PART:
        if (part_i.done) begin
          c_q <= part_i.ctx;
          wake_q <= part_i.wake;
          again_q <= part_i.again;
          prefetch_q <= part_i.prefetch;
          nak_q <= part_i.nak;
          state_q <= part_i.leave == rsp_pkg::EXIT_NAK ? rsp_pkg::ST_NAK
                     : part_i.leave == rsp_pkg::EXIT_ERR ? rsp_pkg::ST_ENTER_ERR
                     : is_rx && x_q.cfg.has_srq ? rsp_pkg::ST_SRQ_DONE : rsp_pkg::ST_STORE;
        end

        rsp_pkg::ST_SRQ: begin
          c_q <= c_srq;
          state_q <= is_rx ? rsp_pkg::ST_PART : is_srq ? rsp_pkg::ST_SRQ_DONE : rsp_pkg::ST_EVENT;
        end

        rsp_pkg::ST_SRQ_DONE: begin
          own_o <= srq_emit;
          state_q <= rsp_pkg::ST_STORE;
        end

        rsp_pkg::ST_EVENT, rsp_pkg::ST_NAK, rsp_pkg::ST_ENTER_ERR: begin
          a_rest: assert (state_q != rsp_pkg::ST_EVENT || step_q != rsp_pkg::STEP_QPA || qpa_i.op != rtl_pkg::QPA_CLEAR
                          || c_q.items == '0);
          c_q <= ev_ctx;
          own_o <= ev_emit;
          wake_q <= ev_wake;
          prefetch_q <= ev_prefetch;
          nak_q <= ev_nak;
          state_q <= ev_exit == rsp_pkg::EXIT_NAK ? rsp_pkg::ST_NAK
                     : ev_exit == rsp_pkg::EXIT_ERR ? rsp_pkg::ST_ENTER_ERR : rsp_pkg::ST_STORE;
        end

        rsp_pkg::ST_LOAD: ;
        default: state_q <= rsp_pkg::ST_IDLE;
      endcase
      if (loading) begin
        qp_q <= load_qp;
        c_q <= quick ? quick_ctx : ctx_r;
        x_q <= x_load;
        case (step_q)
          rsp_pkg::STEP_COMMIT, rsp_pkg::STEP_TURN, rsp_pkg::STEP_RXP:
          state_q <= quick ? rsp_pkg::ST_STORE : srq_load ? rsp_pkg::ST_SRQ : rsp_pkg::ST_PART;
          default: state_q <= quick ? rsp_pkg::ST_STORE : srq_load ? rsp_pkg::ST_SRQ : rsp_pkg::ST_EVENT;
        endcase
        if (quick) begin
          wake_q <= quick_wake;
          prefetch_q <= quick_prefetch;
          own_o <= quick_emit;
        end
        rx_send_q <= is_rx && in_send_i;
        if (quick_commit) cqe_item_q <= item_q;
        a_item: assert (!quick_commit || ctx_r.items != '0);
        a_items: assert (!quick_rx || ctx_r.items != '1);
        a_posted: assert (!(quick_rx && in_send_i) || ctx_r.rq_cons != ctx_r.rq_prod);
        next_q <= take;
        next_qp_q <= step_qp_i;
        if (take) same_q <= step_qp_i == load_qp;
      end
      if (take) begin
        step_q <= step_i;
        again_next_q <= again_next_i;
        if (step_i == rsp_pkg::STEP_COMMIT) begin
          item_q <= commit_item;
          item_err_q <= commit_i.err;
          item_word_q <= commit_i.word;
        end
        if (step_i == rsp_pkg::STEP_TXERR) txerr_q <= txerr_i;
        if (step_i == rsp_pkg::STEP_DB || step_i == rsp_pkg::STEP_SRQ_DB) db_index_q <= db_index_i;
      end
    end

    if (!rst_ni) begin
      next_q <= 1'b0;
      again_q <= 1'b0;
      state_q <= rsp_pkg::ST_INIT;
      step_q <= rsp_pkg::STEP_COMMIT;
      own_o <= '0;
      rx_send_q <= 1'b0;
    end
  end

  wire unused_ok = &{1'b0, srq, qpa_i, srqa_i, in_i, txerr_q, item_q, cqe_item_q, own_o, is_turn, is_commit};
endmodule
