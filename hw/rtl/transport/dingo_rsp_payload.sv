// SPDX-License-Identifier: BSD-2-Clause

/// The payload of a packet in dingo_rsp_receive: answer to the key's look-up (RX_KEY, RX_KEY_WAIT), orders to
/// dingo_scatter (also RX_GRH, RX_SCATTER), a paused region (RX_PAUSED), the key that a SEND invalidates (RX_INV),
/// and the last order with the item (RX_END). Combinational; RX_KEY_WAIT, RX_SCATTER and RX_INV wait for their
/// answers.
module dingo_rsp_payload (
    input  rsp_pkg::rx_t      rx_i,
    output rsp_pkg::rx_t      rx_o,
    output rsp_pkg::emit_t    emit_o,
    input  rtl_pkg::qp_cfg_t  cfg_i,
    input  rtl_pkg::rxh_t     h_i,
    input  rsp_pkg::request_t rq_i,
    input  logic              take_i,         // UC: a receive WQE is still to be taken
    input  logic              mr_done_i,
    input  rtl_pkg::mr_rsp_t  mr_rsp_i,
    input  logic              wqe_done_i,
    input  rsp_pkg::rwqe_t    wqe_i,
    input  logic              wqe_seg_valid_i,
    input  rtl_pkg::seg_t     wqe_seg_i,
    input  logic              inv_done_i,
    input  rtl_pkg::mrw_rsp_t inv_rsp_i,
    output logic              scat_valid_o,
    output rtl_pkg::scat_t    scat_o
);
  rsp_pkg::rctx_t c;
  rsp_pkg::item_t item;
  rtl_pkg::scat_atomic_t atomic;
  assign c = rx_i.c;
  assign atomic.swap = h_i.opcode == roce_pkg::RC_COMPARE_SWAP;
  assign atomic.swap_add = h_i.swap_add;
  assign atomic.compare = h_i.compare;
  always_comb begin
    item = rx_i.item;
    // A receive WQE that was given back is not the QP's.
    item.took = cfg_i.has_srq && rx_i.taken && c.rq_cons != c.held_index;
  end

  always_comb begin
    rx_o = rx_i;
    emit_o = '0;
    scat_valid_o = 1'b0;
    scat_o = '0;
    scat_o.qp = rx_i.item.qp[rtl_pkg::QP_LOG-1:0];
    scat_o.offset = rq_i.first ? '0 : rq_i.send ? c.bytes : c.bytes - c.remaining;
    scat_o.to_rsp = 1'b1;
    scat_o.has_payload = h_i.len != '0;
    case (rx_i.state)
      rsp_pkg::RX_KEY: rx_o.state = rsp_pkg::RX_KEY_WAIT;

      rsp_pkg::RX_KEY_WAIT:
      if (mr_done_i) begin
        if (rq_i.uc && !mr_rsp_i.ok) rx_o.state = rsp_pkg::RX_DROP;
        else if (take_i) rx_o.state = rsp_pkg::RX_TAKE;
        else if (mr_rsp_i.paused) rx_o.state = rsp_pkg::RX_PAUSED;
        else if (!mr_rsp_i.ok) begin
          if (rx_i.taken) rx_o.c.rq_cons = c.held_index;
          rx_o.c.failed = 1'b1;
          rx_o.item.kind = rsp_pkg::IT_NAK;
          rx_o.item.syn = roce_pkg::SYN_NAK_ACCESS;
          rx_o.item.ev = dingo_pkg::EV_QP_ACCESS_ERR[7:0];
          rx_o.state = rsp_pkg::RX_END;
        end else begin
          if (rq_i.atomic || (rq_i.write && h_i.len != '0)) begin
            scat_valid_o = 1'b1;
            scat_o.op = rq_i.atomic ? rtl_pkg::SCAT_ATOMIC : rtl_pkg::SCAT_SEG;
            if (rq_i.atomic) scat_o.item[rtl_pkg::SCAT_ATOMIC_W-1:0] = atomic;
            scat_o.seg.last = 1'b1;
            scat_o.seg.len = rq_i.atomic ? 32'd8 : {19'd0, h_i.len};
            scat_o.seg.off = mr_rsp_i.off;
            scat_o.seg.mem = mr_rsp_i.mem;
          end
          rx_o.state = rsp_pkg::RX_DONE;
        end
      end

      rsp_pkg::RX_GRH: begin
        scat_valid_o = 1'b1;
        scat_o.op = rtl_pkg::SCAT_GRH;
        scat_o.item[8*rsp_pkg::GRH_BYTES-1:0] = h_i.grh;
        rx_o.scatter = 1'b1;
        rx_o.state = rsp_pkg::RX_SCATTER;
      end

      rsp_pkg::RX_SCATTER:
      if (wqe_seg_valid_i) begin
        scat_valid_o = 1'b1;
        scat_o.op = rtl_pkg::SCAT_SEG;
        scat_o.seg = wqe_seg_i;
      end else if (wqe_done_i && wqe_i.paused) rx_o.state = rq_i.uc ? rsp_pkg::RX_DROP : rsp_pkg::RX_PAUSED;
      else if (wqe_done_i) begin
        rx_o.c.held_sge = wqe_i.sge;
        rx_o.c.held_off = wqe_i.off;
        if (wqe_i.bad) begin
          rx_o.c.failed = 1'b1;
          rx_o.c.held = 1'b0;
          rx_o.item.kind = rq_i.rc ? rsp_pkg::IT_NAK : rsp_pkg::IT_SILENT_FAIL;
          rx_o.item.syn = roce_pkg::SYN_NAK_OP;
          rx_o.item.cqe = 1'b1;
          rx_o.item.scattered = 1'b1;
          rx_o.item.tag = c.held_tag;
          rx_o.item.status = dingo_pkg::WCS_LOC_PROT_ERR[7:0];
          rx_o.item.verr = wqe_i.verr;
          rx_o.item.rq_after = c.rq_cons;
          rx_o.state = rsp_pkg::RX_END;
        end else rx_o.state = rq_i.inv ? rsp_pkg::RX_INV : rsp_pkg::RX_DONE;
      end

      rsp_pkg::RX_PAUSED: begin
        if (rx_i.taken) rx_o.c.rq_cons = c.held_index;
        if (rq_i.rc) begin
          rx_o.c.nak_sent = 1'b1;
          rx_o.c.rnr_sent = 1'b1;
          rx_o.item.kind = rsp_pkg::IT_RNR;
          rx_o.item.syn = roce_pkg::SYN_RNR | {3'd0, cfg_i.min_rnr_timer};
        end else begin
          rx_o.no_item = 1'b1;
          emit_o.stat = 1'b1;
          emit_o.stat_idx = 6'(dingo_pkg::CARD_RX_DROP_UD_NO_BUFFER);
        end
        rx_o.state = rsp_pkg::RX_END;
      end

      rsp_pkg::RX_INV:
      if (inv_done_i) begin
        rx_o.state = rsp_pkg::RX_DONE;
        if (inv_rsp_i.verr != dingo_pkg::VERR_NONE[7:0]) begin
          rx_o.c.failed = 1'b1;
          rx_o.c.held = 1'b0;
          rx_o.c.exp_psn = h_i.psn + 24'd1;
          rx_o.item.kind = rsp_pkg::IT_NAK;
          rx_o.item.syn = roce_pkg::SYN_NAK_ACCESS;
          rx_o.item.ev = dingo_pkg::EV_QP_ACCESS_ERR[7:0];
          rx_o.item.cqe = 1'b1;
          rx_o.item.scattered = 1'b1;
          rx_o.item.first = rq_i.first;
          rx_o.item.last = 1'b1;
          rx_o.item.tag = c.held_tag;
          rx_o.item.status = dingo_pkg::WCS_LOC_ACCESS_ERR[7:0];
          rx_o.item.verr = inv_rsp_i.verr;
          rx_o.item.rq_after = c.rq_cons;
          rx_o.state = rsp_pkg::RX_END;
        end
      end

      rsp_pkg::RX_END: begin
        scat_valid_o = 1'b1;
        scat_o.op = rtl_pkg::SCAT_END;
        scat_o.no_item = rx_i.no_item;
        scat_o.item = item;
        if (!rx_i.no_item) rx_o.c.items = c.items + 8'd1;
        rx_o.state = rsp_pkg::RX_IDLE;
      end

      default: ;
    endcase
  end

  wire unused_ok = &{1'b0, c, cfg_i, h_i, rq_i, mr_rsp_i, wqe_i, inv_rsp_i, item};
endmodule
