// SPDX-License-Identifier: BSD-2-Clause

/// Steps of the responder other than packets, commits and turns, each one cycle: a doorbell, a failure reported by a CQ
/// or the requester, a payload that could not be read, a command. Also the two failures that other steps end in: a
/// fatal NAK, and the transition to ERR. Combinational: registers are in dingo_responder.
module dingo_rsp_event (
    input  rsp_pkg::step_t    step_i,
    input  logic              fatal_i,      // instead of step_i: the QP gets fatal NAK nak_i
    input  logic              enter_err_i,  // instead of step_i: the QP goes to ERR
    input  rsp_pkg::rctx_t    ctx_i,
    input  rtl_pkg::qp_t      x_i,
    input  logic              wake_i,       // default of wake_o
    input  logic              prefetch_i,
    input  rsp_pkg::nak_t     nak_i,
    input  logic [31:0]       db_index_i,
    input  rtl_pkg::txerr_t   txerr_i,
    input  rtl_pkg::qpa_req_t qpa_i,
    input  logic              path_ok_i,    // the QP's source GID is valid
    output rsp_pkg::rctx_t    ctx_o,
    output logic              wake_o,
    output logic              prefetch_o,   // the RQ has new entries
    output rsp_pkg::emit_t    emit_o,
    output rsp_pkg::exit_t    exit_o,
    output rsp_pkg::nak_t     nak_o,
    output logic              db_bad_o,     // the doorbell's index is impossible for the ring
    output logic              reply_o       // the ACK or NAK that is owed leaves before ERR or destruction
);
  logic [31:0] db_held, rq_held;
  logic db_bad, clear, to_err, reply_owed;
  assign db_held = db_index_i - ctx_i.rq_cons;
  assign rq_held = ctx_i.rq_prod - ctx_i.rq_cons;
  assign db_bad = x_i.cfg.has_srq || x_i.state == dingo_pkg::QPS_RESET[2:0] || db_held > 32'd1 << x_i.cfg.log_rq || db_held < rq_held;
  assign db_bad_o = db_bad;

  assign clear = qpa_i.op == rtl_pkg::QPA_CLEAR;
  assign to_err = qpa_i.op == rtl_pkg::QPA_MODIFY && (qpa_i.mask & dingo_pkg::QPM_STATE[20:0]) != '0
                  && x_i.state == dingo_pkg::QPS_ERR[2:0] && qpa_i.old_state != dingo_pkg::QPS_ERR[2:0];
  assign reply_owed = ctx_i.reply_pending && !ctx_i.fatal && !ctx_i.failed && ctx_i.rd_pending == '0 && path_ok_i
                      && (to_err || (clear && qpa_i.destroy));

  always_comb begin
    ctx_o = ctx_i;
    wake_o = wake_i;
    prefetch_o = prefetch_i;
    emit_o = '0;
    exit_o = rsp_pkg::EXIT_STORE;
    nak_o = nak_i;
    reply_o = 1'b0;
    if (fatal_i) begin
      if (!ctx_i.err && !ctx_i.fatal) begin
        emit_o.stat = 1'b1;
        emit_o.stat_idx = nak_i.syn == roce_pkg::SYN_NAK_INVALID ? 6'(dingo_pkg::CARD_RESP_INVALID_REQUESTS)
                          : nak_i.syn == roce_pkg::SYN_NAK_ACCESS ? 6'(dingo_pkg::CARD_RESP_REMOTE_ACCESS_ERRORS)
                                                                  : 6'(dingo_pkg::CARD_RESP_REMOTE_OP_ERRORS);
        emit_o.ev = nak_i.ev != '0;
        emit_o.ev_kind = nak_i.ev;
        ctx_o.failed = 1'b1;
        ctx_o.fatal = 1'b1;
        ctx_o.reply_pending = 1'b1;
        ctx_o.reply_syn = nak_i.syn;
        ctx_o.reply_psn = nak_i.psn;
        wake_o = 1'b1;
      end
    end else if (enter_err_i || step_i == rsp_pkg::STEP_FAIL) begin
      ctx_o.err = 1'b1;
      ctx_o.rd_pending = '0;
      ctx_o.reply_pending = 1'b0;
      ctx_o.message = rsp_pkg::MSG_NONE;
      wake_o = 1'b1;
    end else
      case (step_i)
        rsp_pkg::STEP_DB:
        if (!db_bad) begin
          ctx_o.rq_prod = db_index_i;
          prefetch_o = 1'b1;
          wake_o = ctx_i.err;
        end else begin
          emit_o.stat = 1'b1;
          emit_o.stat_idx = 6'(dingo_pkg::CARD_DB_DROPPED);
        end

        rsp_pkg::STEP_CQ_FAIL:
        if (!ctx_i.err && x_i.state != dingo_pkg::QPS_ERR[2:0] && x_i.state != dingo_pkg::QPS_RESET[2:0]) begin
          emit_o.ev = 1'b1;
          emit_o.ev_kind = dingo_pkg::EV_QP_FATAL[7:0];
          exit_o = rsp_pkg::EXIT_ERR;
        end

        rsp_pkg::STEP_TXERR:
        if (!ctx_i.err && !ctx_i.fatal && !txerr_i.ok && txerr_i.gen == ctx_i.gen) begin
          ctx_o.rd_pending = '0;
          nak_o.syn = roce_pkg::SYN_NAK_OP;
          nak_o.ev = dingo_pkg::EV_QP_ACCESS_ERR[7:0];
          nak_o.psn = txerr_i.psn;
          exit_o = rsp_pkg::EXIT_NAK;
        end

        rsp_pkg::STEP_RESUME: wake_o = 1'b1;

        rsp_pkg::STEP_QPA: begin
          if (clear) begin
            ctx_o = '0;
            ctx_o.gen = ctx_i.gen + 6'd1;
            ctx_o.queued = ctx_i.queued;     // the QP stays in the queue for turns
          end else if (qpa_i.op == rtl_pkg::QPA_MODIFY) begin
            if ((qpa_i.mask & dingo_pkg::QPM_RQ_PSN[20:0]) != '0) ctx_o.exp_psn = x_i.cfg.rq_psn;
            if ((qpa_i.mask & dingo_pkg::QPM_MAX_DEST_RD_ATOMIC[20:0]) != '0) begin
              ctx_o.rd_used = '0;
              ctx_o.rd_pending = '0;
              ctx_o.rd_answered = '0;
              ctx_o.rd_refused = 1'b0;
              ctx_o.rd_next = '0;
              ctx_o.rd_take = '0;
            end
            if (to_err) begin
              ctx_o.err = 1'b1;
              ctx_o.rd_pending = '0;
              ctx_o.reply_pending = 1'b0;
              ctx_o.message = rsp_pkg::MSG_NONE;
              wake_o = 1'b1;
            end
          end
          if (reply_owed) begin
            reply_o = 1'b1;
            emit_o.qstat = ctx_i.reply_syn[7:5] == roce_pkg::AETH_ACK;
            emit_o.qstat_idx = 4'(dingo_pkg::QP_ACKS_SENT);
          end
        end

        default: ;
      endcase
  end

  wire unused_ok = &{1'b0, x_i, txerr_i, qpa_i};
endmodule
