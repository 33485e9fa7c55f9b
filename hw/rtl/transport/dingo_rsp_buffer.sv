// SPDX-License-Identifier: BSD-2-Clause

/// The receive WQE of a packet in dingo_rsp_receive: RX_OPEN (it has come), RX_LENGTH (packet and message have the
/// right length and fit), and for UC RX_TAKE and RX_DROP. UC takes a receive WQE after all other checks, and gives it
/// back when the message is dropped. Combinational; waits in RX_OPEN for wqe_done_i.
module dingo_rsp_buffer (
    input  rsp_pkg::rx_t      rx_i,
    output rsp_pkg::rx_t      rx_o,
    output rsp_pkg::emit_t    emit_o,
    input  rtl_pkg::qp_t      x_i,
    input  rtl_pkg::rxh_t     h_i,
    input  rsp_pkg::request_t rq_i,
    input  logic              take_i,         // UC: a receive WQE is still to be taken
    input  logic              key_needed_i,   // the packet has a key to be looked up
    input  logic [31:0]       taken_bytes_i,  // bytes of the message before this packet
    input  logic              wqe_done_i,
    input  rsp_pkg::rwqe_t    wqe_i
);
  rsp_pkg::rctx_t c;
  logic rq_empty, fits_wqe;
  assign c = rx_i.c;
  assign rq_empty = c.rq_cons == c.rq_prod;
  logic [35:0] bytes;                         // of the message so far, this packet included
  assign bytes = {4'd0, taken_bytes_i} + {23'd0, h_i.len};
  assign fits_wqe = bytes <= c.held_cap && bytes <= 36'(dingo_pkg::MAX_MSG);

  always_comb begin
    rx_o = rx_i;
    emit_o = '0;
    case (rx_i.state)
      rsp_pkg::RX_TAKE: begin
        if (rq_empty) begin
          emit_o.stat = 1'b1;
          emit_o.stat_idx = 6'(dingo_pkg::CARD_OUT_OF_BUFFER);
        end else rx_o.open = 1'b1;
        rx_o.state = rq_empty ? rsp_pkg::RX_DROP : rsp_pkg::RX_OPEN;
      end

      rsp_pkg::RX_DROP: begin
        if (rx_i.taken) rx_o.c.rq_cons = c.held_index;
        rx_o.c.message = rsp_pkg::MSG_NONE;
        rx_o.no_item = 1'b1;
        emit_o.stat = 1'b1;
        emit_o.stat_idx = 6'(dingo_pkg::CARD_RX_DROP_UC);
        rx_o.state = rsp_pkg::RX_END;
      end

      rsp_pkg::RX_OPEN:
      if (wqe_done_i) begin
        rx_o.taken = 1'b1;
        rx_o.bus = wqe_i.bus;
        if (wqe_i.bus && x_i.cfg.has_srq) begin
          emit_o.ev = 1'b1;
          emit_o.ev_kind = dingo_pkg::EV_SRQ_ERR[7:0];
        end
        rx_o.c.rq_cons = c.rq_cons + 32'd1;
        rx_o.c.held_tag = wqe_i.tag;
        rx_o.c.held_cap = wqe_i.cap;
        rx_o.c.held_nsge = wqe_i.nsge;
        rx_o.c.held_sge = '0;
        rx_o.c.held_off = '0;
        if (wqe_i.bad || wqe_i.bus) begin
          rx_o.c.failed = 1'b1;
          rx_o.item.kind = rq_i.rc ? rsp_pkg::IT_NAK : rsp_pkg::IT_SILENT_FAIL;
          rx_o.item.syn = roce_pkg::SYN_NAK_OP;
          rx_o.item.cqe = 1'b1;
          rx_o.item.tag = wqe_i.tag;
          rx_o.item.status = dingo_pkg::WCS_LOC_QP_OP_ERR[7:0];
          rx_o.item.verr = wqe_i.bus ? dingo_pkg::VERR_WQE_FETCH[7:0] : dingo_pkg::VERR_WQE_SIZE[7:0];
          rx_o.item.rq_after = c.rq_cons + 32'd1;
          rx_o.state = rsp_pkg::RX_END;
        end else rx_o.state = rsp_pkg::RX_LENGTH;
      end

      rsp_pkg::RX_LENGTH: begin
        rx_o.state = rsp_pkg::RX_END;
        if (rq_i.uc && (!rq_i.fits || (rq_i.send && !take_i && !fits_wqe))) rx_o.state = rsp_pkg::RX_DROP;
        else if (take_i && (rq_i.send || !key_needed_i)) rx_o.state = rsp_pkg::RX_TAKE;
        else if (rq_i.rc && !rq_i.fits) begin
          if (rx_i.taken) rx_o.c.rq_cons = c.held_index;
          rx_o.c.failed = 1'b1;
          rx_o.item.kind = rsp_pkg::IT_NAK;
          rx_o.item.syn = roce_pkg::SYN_NAK_INVALID;
          rx_o.item.ev = dingo_pkg::EV_QP_REQ_ERR[7:0];
        end else if (rq_i.send && !fits_wqe) begin
          emit_o.stat = 1'b1;
          emit_o.stat_idx = rq_i.rc ? 6'(dingo_pkg::CARD_RESP_LOCAL_LENGTH_ERROR)
                                    : 6'(dingo_pkg::CARD_RX_DROP_UD_LENGTH);
          if (rq_i.rc) begin
            rx_o.c.failed = 1'b1;
            rx_o.c.held = 1'b0;
            rx_o.item.kind = rsp_pkg::IT_NAK;
            rx_o.item.syn = roce_pkg::SYN_NAK_INVALID;
            rx_o.item.cqe = 1'b1;
            rx_o.item.tag = c.held_tag;
            rx_o.item.status = dingo_pkg::WCS_LOC_LEN_ERR[7:0];
            rx_o.item.verr = dingo_pkg::VERR_RQ_TOO_SHORT[7:0];
            rx_o.item.rq_after = c.rq_cons;
          end else begin
            rx_o.no_item = 1'b1;
            rx_o.c.rq_cons = c.held_index;
          end
        end else if (rq_i.ud) rx_o.state = rsp_pkg::RX_GRH;
        else if (rq_i.send) begin
          if (h_i.len != '0) begin
            rx_o.scatter = 1'b1;
            rx_o.state = rsp_pkg::RX_SCATTER;
          end else rx_o.state = rq_i.inv ? rsp_pkg::RX_INV : rsp_pkg::RX_DONE;
        end else rx_o.state = key_needed_i ? rsp_pkg::RX_KEY : rsp_pkg::RX_DONE;
      end

      default: ;
    endcase
  end

  wire unused_ok = &{1'b0, c, x_i, h_i, rq_i, wqe_i};
endmodule
