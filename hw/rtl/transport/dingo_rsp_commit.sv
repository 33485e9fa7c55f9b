// SPDX-License-Identifier: BSD-2-Clause

/// Phase 2 of a packet: its item came back, its bytes are in host memory. Completes the receive WQE, advances the MSN,
/// makes an ACK, NAK or READ response pending; or fails the QP, which makes the items of all later packets void.
module dingo_rsp_commit (
    input  logic              clk_i,
    input  logic              rst_ni,
    input  logic              go_i,          // all outputs of the responder are free
    input  logic              start_i,       // with ctx_i
    input  rsp_pkg::rctx_t    ctx_i,
    output logic              done_o,        // stays until the next start
    output rsp_pkg::rctx_t    ctx_o,         // new context; intermediate values before done_o
    output logic              wake_o,        // the QP is ready for a turn
    input  rtl_pkg::qp_t      x_i,           // its QP, from the cycle after start_i on
    output rsp_pkg::emit_t    emit_o,
    input  rsp_pkg::emit_ready_t emit_ready_i,
    output rsp_pkg::exit_t    exit_o,
    output rsp_pkg::nak_t     nak_o,
    input  rsp_pkg::item_t    item_i,        // with start_i
    input  logic              item_err_i,
    output logic              rd_new_o,      // dingo_rsp_reads: slot rd_next of ctx_o
    output logic              rd_find_o,
    input  logic              rd_done_i,     // stays until the next operation
    input  logic              rd_hit_i,
    input  logic [3:0]        rd_found_i
);
  typedef enum logic [2:0] {
    IDLE = 3'd0,
    CM_ITEM = 3'd1,
    CM_FIND = 3'd2,     // repeated READ
    CM_NEW = 3'd3,      // new READ or atomic
    CM_FAIL = 3'd4      // this packet fails the QP
  } state_t;

  state_t state_q;
  rsp_pkg::rctx_t c_q;
  rsp_pkg::item_t it_q;
  logic item_err_q;
  logic rd_accept;      // the QP still sends replies
  logic open;           // c_q.open after this packet
  assign open = (c_q.open || it_q.took) && !it_q.cqe;
  assign rd_accept = !c_q.dead && !c_q.err && !c_q.fatal;

  assign done_o = state_q == IDLE;
  assign ctx_o = c_q;
  assign nak_o.syn = it_q.syn;
  assign nak_o.ev = it_q.ev;
  assign nak_o.psn = it_q.psn;
  assign rd_new_o = state_q == CM_ITEM && go_i && it_q.kind == rsp_pkg::IT_READ && rd_accept && !item_err_q;
  assign rd_find_o = state_q == CM_ITEM && go_i && it_q.kind == rsp_pkg::IT_DUP_READ && rd_accept;

  always_ff @(posedge clk_i) begin
    if (emit_ready_i.stat) emit_o.stat <= 1'b0;
    if (emit_ready_i.qstat) emit_o.qstat <= 1'b0;
    if (emit_ready_i.ev) emit_o.ev <= 1'b0;
    if (emit_ready_i.cqe) emit_o.cqe <= 1'b0;
    if (start_i) begin
      c_q <= ctx_i;
      it_q <= item_i;
      item_err_q <= item_err_i;
      wake_o <= 1'b0;
      exit_o <= rsp_pkg::EXIT_STORE;
      state_q <= CM_ITEM;
    end else if (go_i) begin
      case (state_q)
        CM_ITEM: begin
          a_item: assert (c_q.items != '0);
          c_q.items <= c_q.items - 8'd1;
          if (c_q.items == 8'd1 && (c_q.err || c_q.reply_pending)) wake_o <= 1'b1;   // a flush or an ACK waited
          if (it_q.kind == rsp_pkg::IT_READ) c_q.rd_inflight <= c_q.rd_inflight - 5'd1;
          state_q <= IDLE;
          if (!c_q.dead) begin
            case (it_q.kind)
              rsp_pkg::IT_DATA:
              if (item_err_q) begin
                it_q.kind <= it_q.silent ? rsp_pkg::IT_SILENT_FAIL : rsp_pkg::IT_NAK;
                it_q.syn <= roce_pkg::SYN_NAK_OP;
                it_q.ev <= it_q.write ? dingo_pkg::EV_QP_FATAL[7:0] : 8'd0;
                // An entry that a WRITE took returns to the RQ, but an SRQ's entry completes as flushed.
                it_q.cqe <= !it_q.write || (it_q.cqe && (it_q.took || c_q.open));
                it_q.status <= it_q.write ? dingo_pkg::WCS_WR_FLUSH_ERR[7:0] : dingo_pkg::WCS_LOC_PROT_ERR[7:0];
                it_q.verr <= it_q.write ? dingo_pkg::VERR_FLUSHED[7:0] : dingo_pkg::VERR_BUS[7:0];
                c_q.held <= 1'b0;
                c_q.exp_psn <= it_q.silent ? c_q.exp_psn : it_q.psn;
                state_q <= CM_FAIL;
              end else begin
                if (it_q.first) begin
                  emit_o.stat <= 1'b1;
                  emit_o.stat_idx <= it_q.write ? 6'(dingo_pkg::CARD_RX_WRITE_REQUESTS) : 6'(dingo_pkg::CARD_RX_SEND_REQUESTS);
                end
                if (it_q.last) c_q.msn <= c_q.msn + 24'd1;
                c_q.open <= open;
                if (it_q.cqe) begin
                  emit_o.cqe <= 1'b1;
                  emit_o.cqe_status <= dingo_pkg::WCS_SUCCESS[7:0];
                  emit_o.cqe_verr <= dingo_pkg::VERR_NONE[7:0];
                  emit_o.cqe_tag <= it_q.tag;
                  emit_o.qstat <= 1'b1;
                  emit_o.qstat_idx <= 4'(dingo_pkg::QP_RECV_CQES);
                end
                if (it_q.ack && !c_q.fatal && !c_q.err) begin
                  c_q.reply_pending <= 1'b1;
                  c_q.reply_syn <= roce_pkg::SYN_ACK;
                  c_q.reply_psn <= it_q.psn;
                  wake_o <= 1'b1;
                end
              end
              rsp_pkg::IT_READ:
              if (item_err_q) begin          // an atomic failed in host memory
                it_q.kind <= rsp_pkg::IT_NAK;
                it_q.syn <= roce_pkg::SYN_NAK_OP;
                it_q.ev <= dingo_pkg::EV_QP_FATAL[7:0];
                c_q.held <= 1'b0;
                c_q.exp_psn <= it_q.psn;
                state_q <= CM_FAIL;
              end else if (rd_accept) begin
                emit_o.stat <= 1'b1;
                emit_o.stat_idx <= it_q.atomic ? 6'(dingo_pkg::CARD_RX_ATOMIC_REQUESTS) : 6'(dingo_pkg::CARD_RX_READ_REQUESTS);
                c_q.msn <= c_q.msn + 24'd1;
                // The response acknowledges all packets before it.
                if (c_q.reply_syn[7:5] == roce_pkg::AETH_ACK) c_q.reply_pending <= 1'b0;
                state_q <= CM_NEW;
              end
              rsp_pkg::IT_DUP_ACK:  // a pending NAK acknowledges as much
              if (rd_accept) begin
                if (!(c_q.reply_pending && it_q.nak_sent)) begin
                  c_q.reply_pending <= 1'b1;
                  c_q.reply_syn <= roce_pkg::SYN_ACK;
                  c_q.reply_psn <= it_q.psn;
                end
                c_q.rd_refused <= 1'b0;      // the ACK comes behind that READ; its RNR NAK acknowledges, too
                wake_o <= 1'b1;
              end
              rsp_pkg::IT_DUP_READ:
              if (rd_accept) state_q <= CM_FIND;
              else begin
                emit_o.stat <= 1'b1;
                emit_o.stat_idx <= 6'(dingo_pkg::CARD_RX_DROP_DUPLICATE);
              end
              rsp_pkg::IT_SEQ, rsp_pkg::IT_RNR:
              if (rd_accept) begin
                emit_o.qstat <= 1'b1;
                emit_o.qstat_idx <= it_q.kind == rsp_pkg::IT_RNR ? 4'(dingo_pkg::QP_RNR_NAK_SENT)
                                                            : 4'(dingo_pkg::QP_SEQ_NAK_SENT);
                if (it_q.kind == rsp_pkg::IT_RNR) begin
                  emit_o.stat <= 1'b1;
                  emit_o.stat_idx <= 6'(dingo_pkg::CARD_RNR_NAK_SENT);
                end
                c_q.reply_pending <= 1'b1;
                c_q.reply_syn <= it_q.kind == rsp_pkg::IT_RNR ? it_q.syn : roce_pkg::SYN_NAK_SEQ;
                c_q.reply_psn <= it_q.psn;
                wake_o <= 1'b1;
              end
              default: begin  // NAK, SILENT_FAIL
                if (item_err_q && it_q.scattered) begin
                  it_q.syn <= roce_pkg::SYN_NAK_OP;
                  it_q.ev <= '0;
                  it_q.status <= dingo_pkg::WCS_LOC_PROT_ERR[7:0];
                  it_q.verr <= dingo_pkg::VERR_BUS[7:0];
                end else if (it_q.last) begin  // SEND with invalidate: the message is complete, but its key is refused
                  c_q.msn <= c_q.msn + 24'd1;
                  emit_o.stat <= it_q.first;
                  emit_o.stat_idx <= 6'(dingo_pkg::CARD_RX_SEND_REQUESTS);
                end
                state_q <= CM_FAIL;
              end
            endcase
          end else begin                     // void; an SRQ's entry cannot be returned, so it is flushed
            c_q.open <= open;
            if (it_q.cqe && (it_q.took || c_q.open))
              emit_o <= rsp_pkg::emit_failure(6'(dingo_pkg::CARD_RESP_CQE_FLUSH_ERROR), 4'(dingo_pkg::QP_RECV_CQES),
                                              dingo_pkg::WCS_WR_FLUSH_ERR[7:0], dingo_pkg::VERR_FLUSHED[7:0], it_q.tag);
          end
        end

        CM_FIND:
        if (rd_done_i) begin
          if (rd_hit_i) begin
            c_q.rd_pending[rd_found_i] <= 1'b1;
            c_q.rd_refused <= 1'b0;
            wake_o <= 1'b1;
            state_q <= IDLE;
          end else begin
            emit_o.stat <= 1'b1;
            emit_o.stat_idx <= 6'(dingo_pkg::CARD_RX_DROP_DUPLICATE);
            state_q <= IDLE;
          end
        end

        CM_NEW:
        if (rd_done_i) begin
          c_q.rd_used[c_q.rd_next] <= 1'b1;
          c_q.rd_pending[c_q.rd_next] <= 1'b1;
          c_q.rd_answered[c_q.rd_next] <= 1'b0;
          c_q.rd_next <= rsp_pkg::rd_behind(c_q.rd_next, x_i.cfg.max_dest_rd);
          wake_o <= 1'b1;
          state_q <= IDLE;
        end

        CM_FAIL: begin
          c_q.dead <= 1'b1;
          c_q.failed <= 1'b1;
          c_q.rq_cons <= it_q.rq_after;      // returns the entries that later packets took
          c_q.open <= open;
          if (it_q.cqe)
            emit_o <= rsp_pkg::emit_failure(it_q.status == dingo_pkg::WCS_WR_FLUSH_ERR[7:0] ? 6'(dingo_pkg::CARD_RESP_CQE_FLUSH_ERROR)
                                                                                           : 6'(dingo_pkg::CARD_RESP_CQE_ERROR),
                                            4'(dingo_pkg::QP_RECV_CQES), it_q.status, it_q.verr, it_q.tag);
          if (it_q.silent && it_q.write && !c_q.err) begin
            emit_o.ev <= 1'b1;
            emit_o.ev_kind <= dingo_pkg::EV_QP_FATAL[7:0];
          end
          exit_o <= !it_q.silent ? rsp_pkg::EXIT_NAK : c_q.err ? rsp_pkg::EXIT_STORE : rsp_pkg::EXIT_ERR;
          state_q <= IDLE;
        end

        default: state_q <= IDLE;
      endcase
    end
    if (!rst_ni) begin
      state_q <= IDLE;
      wake_o <= 1'b0;
      emit_o <= '0;
    end
  end
  wire unused_ok = &{1'b0, x_i, it_q};
endmodule
