// SPDX-License-Identifier: BSD-2-Clause

/// First states of a packet in dingo_rsp_receive, in the order of the specification's checks: RX_CHECK (state of the
/// QP, Q_Key, PSN, opcode, receive WQEs left) and, for UC, RX_UC (does the packet begin or continue a message?). What
/// follows is RX_OPEN or RX_LENGTH; RX_END when the packet goes no further, with the item that says what the peer
/// hears. Combinational.
module dingo_rsp_admit (
    input  rsp_pkg::rx_t      rx_i,
    output rsp_pkg::rx_t      rx_o,
    output rsp_pkg::emit_t    emit_o,
    input  rtl_pkg::qpi_t     qp_i,
    input  rtl_pkg::qp_t      x_i,
    input  rtl_pkg::rxh_t     h_i,
    input  rsp_pkg::request_t rq_i
);
  rsp_pkg::rctx_t c;
  logic rq_empty;
  logic broken;         // UC: the message before this packet has no end, or this packet's message has no beginning
  assign c = rx_i.c;
  assign rq_empty = c.rq_cons == c.rq_prod;
  assign broken = rq_i.first ? c.message != rsp_pkg::MSG_NONE : rq_i.duplicate || rq_i.ahead || !rq_i.order_ok;

  always_comb begin
    rx_o = rx_i;
    emit_o = '0;
    case (rx_i.state)
      rsp_pkg::RX_CHECK: begin
        rx_o.item.qp = 16'(qp_i);
        rx_o.item.psn = h_i.psn;
        rx_o.item.silent = !rq_i.rc;
        rx_o.state = rsp_pkg::RX_END;
        if (c.err || c.failed) begin
          rx_o.no_item = 1'b1;
          emit_o.stat = 1'b1;
          emit_o.stat_idx = 6'(dingo_pkg::CARD_RX_DROP_QP_STATE);
        end else if (rq_i.ud) begin
          if (h_i.qkey != x_i.cfg.qkey || rq_empty) begin
            rx_o.no_item = 1'b1;
            emit_o.stat = 1'b1;
            emit_o.stat_idx = h_i.qkey != x_i.cfg.qkey ? 6'(dingo_pkg::CARD_BAD_QKEY)
                                                       : 6'(dingo_pkg::CARD_RX_DROP_UD_NO_BUFFER);
          end else begin
            rx_o.open = 1'b1;
            rx_o.state = rsp_pkg::RX_OPEN;
          end
        end else begin
          if (x_i.state == dingo_pkg::QPS_RTR[2:0] && !c.comm_est) begin
            rx_o.c.comm_est = 1'b1;
            emit_o.ev = 1'b1;
            emit_o.ev_kind = dingo_pkg::EV_COMM_EST[7:0];
          end
          if (rq_i.uc) begin
            if (rq_i.duplicate || rq_i.ahead) begin
              emit_o.stat = 1'b1;
              emit_o.stat_idx = 6'(dingo_pkg::CARD_OUT_OF_SEQUENCE);
              emit_o.qstat = 1'b1;
              emit_o.qstat_idx = 4'(dingo_pkg::QP_OUT_OF_SEQUENCE);
            end
            rx_o.state = rsp_pkg::RX_UC;
          end else if (rq_i.duplicate) begin
            emit_o.stat = 1'b1;
            emit_o.stat_idx = 6'(dingo_pkg::CARD_DUPLICATE_REQUEST);
            emit_o.qstat = 1'b1;
            emit_o.qstat_idx = 4'(dingo_pkg::QP_DUPLICATES);
            rx_o.item.kind = rq_i.fetch ? rsp_pkg::IT_DUP_READ : rsp_pkg::IT_DUP_ACK;
            rx_o.item.atomic = rq_i.atomic;
            rx_o.item.nak_sent = c.nak_sent;
            if (!rq_i.fetch) rx_o.item.psn = c.exp_psn - 24'd1;
            rx_o.item.tag = h_i.rkey;
            rx_o.item.va = h_i.va;
            rx_o.item.bytes = h_i.dma_len;
          end else if (rq_i.ahead) begin
            rx_o.no_item = c.nak_sent || c.rnr_sent;   // one NAK for each gap
            if (!c.rnr_sent) begin                     // else the peer sent it before it got the RNR NAK
              emit_o.stat = 1'b1;
              emit_o.stat_idx = 6'(dingo_pkg::CARD_OUT_OF_SEQUENCE);
              emit_o.qstat = 1'b1;
              emit_o.qstat_idx = 4'(dingo_pkg::QP_OUT_OF_SEQUENCE);
              rx_o.c.nak_sent = 1'b1;
              rx_o.item.kind = rsp_pkg::IT_SEQ;
              rx_o.item.psn = c.exp_psn;
            end
          end else begin
            rx_o.c.nak_sent = 1'b0;
            rx_o.c.rnr_sent = 1'b0;
            if (!rq_i.order_ok || !rq_i.valid_ok || (rq_i.fetch && !rq_i.rd_ok)) begin
              rx_o.c.failed = 1'b1;
              rx_o.item.kind = rsp_pkg::IT_NAK;
              rx_o.item.syn = roce_pkg::SYN_NAK_INVALID;
              rx_o.item.ev = dingo_pkg::EV_QP_REQ_ERR[7:0];
            end else if (rq_i.takes_rq && !c.held && rq_empty) begin
              emit_o.stat = 1'b1;
              emit_o.stat_idx = 6'(dingo_pkg::CARD_OUT_OF_BUFFER);
              rx_o.c.nak_sent = 1'b1;
              rx_o.c.rnr_sent = 1'b1;
              rx_o.item.kind = rsp_pkg::IT_RNR;
              rx_o.item.syn = roce_pkg::SYN_RNR | {3'd0, x_i.cfg.min_rnr_timer};
            end else if (rq_i.takes_rq && !c.held) begin
              rx_o.open = 1'b1;
              rx_o.state = rsp_pkg::RX_OPEN;
            end else begin
              if (rq_i.fetch && rq_i.rd_cancel) rx_o.c.rd_pending[rq_i.rd_slot] = 1'b0;
              rx_o.state = rsp_pkg::RX_LENGTH;
            end
          end
        end
        if (!c.held) rx_o.c.held_index = c.rq_cons;
        rx_o.item.rq_after = c.rq_cons;
      end

      rsp_pkg::RX_UC: begin
        rx_o.c.exp_psn = h_i.psn + 24'd1;
        if (broken) begin
          emit_o.stat = 1'b1;
          emit_o.stat_idx = 6'(dingo_pkg::CARD_RX_DROP_UC);
          rx_o.c.message = rsp_pkg::MSG_NONE;
        end
        if (rq_i.first) begin
          rx_o.c.held_sge = '0;
          rx_o.c.held_off = '0;
        end
        rx_o.no_item = broken && !rq_i.first;
        rx_o.state = broken && !rq_i.first ? rsp_pkg::RX_END
                     : rq_i.first && !rq_i.valid_ok ? rsp_pkg::RX_DROP : rsp_pkg::RX_LENGTH;
      end

      default: ;
    endcase
  end

  wire unused_ok = &{1'b0, c, x_i, h_i, rq_i};
endmodule
