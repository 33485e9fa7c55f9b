// SPDX-License-Identifier: BSD-2-Clause

/// Phase 1 of a packet: the checks, in the order of the specification, and the orders for its payload. The
/// PSN and the message move on here; what the peer and the host hear of it follows when the item comes back.
module dingo_rsp_receive (
    input  logic              clk_i,
    input  logic              rst_ni,
    input  logic              go_i,          // all outputs of the responder are free
    input  logic              start_i,       // with ctx_i
    input  rsp_pkg::rctx_t    ctx_i,
    output logic              done_o,        // stays until the next start
    output rsp_pkg::rctx_t    ctx_o,         // new context, also while it is worked on
    input  rtl_pkg::qp_t      x_i,           // its QP, from the cycle after start_i on
    output rsp_pkg::emit_t    emit_o,
    input  rsp_pkg::emit_ready_t emit_ready_i,
    input  rtl_pkg::qpi_t     qp_i,
    input  rtl_pkg::rxh_t     h_i,           // stable until done_o
    output logic              end_o,         // the packet is done with
    output logic              prefetch_o,    // the RQ moved on
    output logic              bus_o,         // and its entry could not be read
    // dingo_rsp_wqe: entry, offsets and limits are those of ctx_o
    output logic              open_o,
    output logic              scatter_o,
    output logic              again_o,
    output logic [12:0]       bytes_o,
    input  logic              wqe_done_i,    // stays until wqe_taken_o
    output logic              wqe_taken_o,
    input  rsp_pkg::rwqe_t    wqe_i,
    input  logic              wqe_seg_valid_i,
    output logic              wqe_seg_ready_o,
    input  rtl_pkg::seg_t     wqe_seg_i,
    output logic              mr_valid_o,    // PD and privilege are the QP's
    output rtl_pkg::mr_req_t  mr_o,
    input  logic              mr_done_i,     // answer to the last mr_valid_o
    input  rtl_pkg::mr_rsp_t  mr_rsp_i,
    output logic              inv_valid_o,   // dingo_mr_work: the key that the packet names, until it is done
    input  logic              inv_done_i,
    input  rtl_pkg::mrw_rsp_t inv_rsp_i,
    output logic              scat_valid_o,
    input  logic              scat_ready_i,
    output rtl_pkg::scat_t    scat_o
);
  typedef enum logic [3:0] {
    IDLE = 4'd0,
    RX_CHECK = 4'd1,
    RX_OPEN = 4'd2,     // its receive WQE is read
    RX_LENGTH = 4'd3,
    RX_KEY = 4'd4,
    RX_KEY_WAIT = 4'd5,
    RX_GRH = 4'd6,
    RX_SCATTER = 4'd7,
    RX_DONE = 4'd8,     // all orders for its payload are given
    RX_END = 4'd9,
    RX_UC = 4'd10,      // UC: does it begin or go on with a message?
    RX_TAKE = 4'd11,    // UC: its receive WQE, when all else is right
    RX_DROP = 4'd12,    // UC: the message ends here, and its receive WQE is the next one's
    RX_INV = 4'd13,     // before END: once a lookup finds the key gone, all that was granted through it is ordered
    RX_PAUSED = 4'd14   // a region is paused: as if the packet had not come
  } state_t;

  state_t state_q;
  rsp_pkg::rctx_t c_q;
  rsp_pkg::item_t it_q;
  logic no_item_q;      // the packet ends here
  logic taken_q;        // it took a receive WQE
  logic bus_q;          // the WQE could not be read
  rsp_pkg::item_t item; // it_q, and
  always_comb begin
    item = it_q;
    item.took = x_i.cfg.has_srq && taken_q && c_q.rq_cons != c_q.held_index;  // else it was put back
  end
  rtl_pkg::rxh_t h;
  assign h = h_i;

  logic op_send, op_write, op_read, op_atomic, op_first, op_last, op_imm, op_inv;
  logic duplicate, ahead, order_ok, valid_ok, takes_rq, rd_ok, rd_cancel, fits;
  logic [3:0] rd_slot;
  dingo_rsp_check u_check (
      .ctx_i(c_q),
      .cfg_i(x_i.cfg),
      .h_i(h),
      .send_o(op_send),
      .write_o(op_write),
      .read_o(op_read),
      .atomic_o(op_atomic),
      .first_o(op_first),
      .last_o(op_last),
      .imm_o(op_imm),
      .inv_o(op_inv),
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
  logic op_fetch;       // READ or atomic
  logic is_rc, is_uc, is_ud, take, broken, key_needed, fits_wqe, rq_empty;
  logic [31:0] taken_bytes, payload;
  assign op_fetch = op_read || op_atomic;
  assign is_rc = x_i.cfg.kind == dingo_pkg::QPT_RC[2:0];
  assign is_uc = x_i.cfg.kind == dingo_pkg::QPT_UC[2:0];
  assign is_ud = !is_rc && !is_uc;
  assign take = is_uc && takes_rq && !c_q.held && !taken_q;
  // UC: the message before this packet has no end; or this packet has no beginning.
  assign broken = op_first ? c_q.message != rsp_pkg::MSG_NONE : duplicate || ahead || !order_ok;
  assign payload = {19'd0, h.len};
  assign taken_bytes = !is_ud ? (op_first ? 32'd0 : c_q.bytes) : 32'(rsp_pkg::GRH_BYTES);
  assign fits_wqe = {4'd0, taken_bytes} + {4'd0, payload} <= {4'd0, c_q.held_cap[31:0]} || c_q.held_cap[35:32] != '0;
  assign key_needed = op_first ? h.dma_len != '0 : h.len != '0;
  assign rq_empty = c_q.rq_cons == c_q.rq_prod;

  logic [23:0] packets;
  assign packets = rsp_pkg::packets_of(h.dma_len, x_i.cfg.path_mtu);

  assign done_o = state_q == IDLE;
  assign ctx_o = c_q;
  assign end_o = state_q == RX_END && go_i;
  assign prefetch_o = taken_q;
  assign bus_o = bus_q;
  assign again_o = taken_q;
  assign bytes_o = !is_ud ? h.len : h.len + 13'(rsp_pkg::GRH_BYTES);
  assign wqe_taken_o = go_i && wqe_done_i && (state_q == RX_OPEN || (state_q == RX_SCATTER && !wqe_seg_valid_i));
  assign wqe_seg_ready_o = state_q == RX_SCATTER && go_i;

  assign inv_valid_o = state_q == RX_INV;
  assign mr_valid_o = state_q == RX_KEY && go_i;
  always_comb begin
    mr_o = '0;
    mr_o.key = op_first ? h.rkey : c_q.write_rkey;
    mr_o.va = op_first ? h.va : c_q.write_va;
    mr_o.len = op_first ? h.dma_len : payload;   // the whole message first, then what is left of it packet by packet
    mr_o.access = op_read ? dingo_pkg::ACC_REMOTE_READ[5:0] : op_atomic ? dingo_pkg::ACC_REMOTE_ATOMIC[5:0] : dingo_pkg::ACC_REMOTE_WRITE[5:0];
  end

  always_ff @(posedge clk_i) begin
    open_o <= 1'b0;
    scatter_o <= 1'b0;
    if (emit_ready_i.stat) emit_o.stat <= 1'b0;
    if (emit_ready_i.qstat) emit_o.qstat <= 1'b0;
    if (emit_ready_i.ev) emit_o.ev <= 1'b0;
    if (emit_ready_i.cqe) emit_o.cqe <= 1'b0;
    if (scat_ready_i) scat_valid_o <= 1'b0;
    if (start_i) begin
      c_q <= ctx_i;
      it_q <= '0;
      no_item_q <= 1'b0;
      taken_q <= 1'b0;
      bus_q <= 1'b0;
      state_q <= RX_CHECK;
    end else if (go_i) begin
      case (state_q)
        RX_CHECK: begin
          it_q.qp <= 16'(qp_i);
          it_q.psn <= h.psn;
          it_q.silent <= !is_rc;
          state_q <= RX_END;
          if (c_q.err || c_q.failed) begin
            no_item_q <= 1'b1;
            emit_o.stat <= 1'b1;
            emit_o.stat_idx <= 6'(dingo_pkg::CARD_RX_DROP_QP_STATE);
          end else if (is_ud) begin
            if (h.qkey != x_i.cfg.qkey || rq_empty) begin
              no_item_q <= 1'b1;
              emit_o.stat <= 1'b1;
              emit_o.stat_idx <= h.qkey != x_i.cfg.qkey ? 6'(dingo_pkg::CARD_BAD_QKEY)
                                                   : 6'(dingo_pkg::CARD_RX_DROP_UD_NO_BUFFER);
            end else begin
              open_o <= 1'b1;
              state_q <= RX_OPEN;
            end
          end else begin
            if (x_i.state == dingo_pkg::QPS_RTR[2:0] && !c_q.comm_est) begin
              c_q.comm_est <= 1'b1;
              emit_o.ev <= 1'b1;
              emit_o.ev_kind <= dingo_pkg::EV_COMM_EST[7:0];
            end
            if (is_uc) begin
              if (duplicate || ahead) begin
                emit_o.stat <= 1'b1;
                emit_o.stat_idx <= 6'(dingo_pkg::CARD_OUT_OF_SEQUENCE);
                emit_o.qstat <= 1'b1;
                emit_o.qstat_idx <= 4'(dingo_pkg::QP_OUT_OF_SEQUENCE);
              end
              state_q <= RX_UC;
            end else if (duplicate) begin
              emit_o.stat <= 1'b1;
              emit_o.stat_idx <= 6'(dingo_pkg::CARD_DUPLICATE_REQUEST);
              emit_o.qstat <= 1'b1;
              emit_o.qstat_idx <= 4'(dingo_pkg::QP_DUPLICATES);
              it_q.kind <= op_fetch ? rsp_pkg::IT_DUP_READ : rsp_pkg::IT_DUP_ACK;
              it_q.atomic <= op_atomic;
              it_q.nak_sent <= c_q.nak_sent;
              if (!op_fetch) it_q.psn <= c_q.exp_psn - 24'd1;
              it_q.tag <= h.rkey;
              it_q.va <= h.va;
              it_q.bytes <= h.dma_len;
            end else if (ahead) begin
              no_item_q <= c_q.nak_sent || c_q.rnr_sent;   // one NAK for each gap
              if (!c_q.rnr_sent) begin                     // else sent before the peer saw the RNR NAK
                emit_o.stat <= 1'b1;
                emit_o.stat_idx <= 6'(dingo_pkg::CARD_OUT_OF_SEQUENCE);
                emit_o.qstat <= 1'b1;
                emit_o.qstat_idx <= 4'(dingo_pkg::QP_OUT_OF_SEQUENCE);
                c_q.nak_sent <= 1'b1;
                it_q.kind <= rsp_pkg::IT_SEQ;
                it_q.psn <= c_q.exp_psn;
              end
            end else begin
              c_q.nak_sent <= 1'b0;
              c_q.rnr_sent <= 1'b0;
              if (!order_ok || !valid_ok || (op_fetch && !rd_ok)) begin
                c_q.failed <= 1'b1;
                it_q.kind <= rsp_pkg::IT_NAK;
                it_q.syn <= roce_pkg::SYN_NAK_INVALID;
                it_q.ev <= dingo_pkg::EV_QP_REQ_ERR[7:0];
              end else if (takes_rq && !c_q.held && rq_empty) begin
                emit_o.stat <= 1'b1;
                emit_o.stat_idx <= 6'(dingo_pkg::CARD_OUT_OF_BUFFER);
                c_q.nak_sent <= 1'b1;
                c_q.rnr_sent <= 1'b1;
                it_q.kind <= rsp_pkg::IT_RNR;
                it_q.syn <= roce_pkg::SYN_RNR | {3'd0, x_i.cfg.min_rnr_timer};
              end else if (takes_rq && !c_q.held) begin
                open_o <= 1'b1;
                state_q <= RX_OPEN;
              end else begin
                if (op_fetch && rd_cancel) c_q.rd_pending[rd_slot] <= 1'b0;
                state_q <= RX_LENGTH;
              end
            end
          end
          if (!c_q.held) c_q.held_index <= c_q.rq_cons;
          it_q.rq_after <= c_q.rq_cons;
        end

        RX_UC: begin
          c_q.exp_psn <= h.psn + 24'd1;
          if (broken) begin
            emit_o.stat <= 1'b1;
            emit_o.stat_idx <= 6'(dingo_pkg::CARD_RX_DROP_UC);
            c_q.message <= rsp_pkg::MSG_NONE;
          end
          if (op_first) begin
            c_q.held_sge <= '0;
            c_q.held_off <= '0;
          end
          no_item_q <= broken && !op_first;
          state_q <= broken && !op_first ? RX_END : op_first && !valid_ok ? RX_DROP : RX_LENGTH;
        end

        RX_TAKE: begin
          if (rq_empty) begin
            emit_o.stat <= 1'b1;
            emit_o.stat_idx <= 6'(dingo_pkg::CARD_OUT_OF_BUFFER);
          end else open_o <= 1'b1;
          state_q <= rq_empty ? RX_DROP : RX_OPEN;
        end

        RX_DROP: begin
          if (taken_q) c_q.rq_cons <= c_q.held_index;
          c_q.message <= rsp_pkg::MSG_NONE;
          no_item_q <= 1'b1;
          emit_o.stat <= 1'b1;
          emit_o.stat_idx <= 6'(dingo_pkg::CARD_RX_DROP_UC);
          state_q <= RX_END;
        end

        RX_OPEN:
        if (wqe_done_i) begin
          taken_q <= 1'b1;
          bus_q <= wqe_i.bus;
          if (wqe_i.bus && x_i.cfg.has_srq) begin
            emit_o.ev <= 1'b1;
            emit_o.ev_kind <= dingo_pkg::EV_SRQ_ERR[7:0];
          end
          c_q.rq_cons <= c_q.rq_cons + 32'd1;
          c_q.held_tag <= wqe_i.tag;
          c_q.held_cap <= wqe_i.cap;
          c_q.held_nsge <= wqe_i.nsge;
          c_q.held_sge <= '0;
          c_q.held_off <= '0;
          if (wqe_i.bad || wqe_i.bus) begin
            c_q.failed <= 1'b1;
            it_q.kind <= is_rc ? rsp_pkg::IT_NAK : rsp_pkg::IT_SILENT_FAIL;
            it_q.syn <= roce_pkg::SYN_NAK_OP;
            it_q.cqe <= 1'b1;
            it_q.tag <= wqe_i.tag;
            it_q.status <= dingo_pkg::WCS_LOC_QP_OP_ERR[7:0];
            it_q.verr <= wqe_i.bus ? dingo_pkg::VERR_WQE_FETCH[7:0] : dingo_pkg::VERR_WQE_SIZE[7:0];
            it_q.rq_after <= c_q.rq_cons + 32'd1;
            state_q <= RX_END;
          end else state_q <= RX_LENGTH;
        end

        RX_LENGTH: begin
          state_q <= RX_END;
          if (is_uc && (!fits || (op_send && !take && !fits_wqe))) state_q <= RX_DROP;
          else if (take && (op_send || !key_needed)) state_q <= RX_TAKE;
          else if (is_rc && !fits) begin
            if (taken_q) c_q.rq_cons <= c_q.held_index;
            c_q.failed <= 1'b1;
            it_q.kind <= rsp_pkg::IT_NAK;
            it_q.syn <= roce_pkg::SYN_NAK_INVALID;
            it_q.ev <= dingo_pkg::EV_QP_REQ_ERR[7:0];
          end else if (op_send && !fits_wqe) begin
            emit_o.stat <= 1'b1;
            emit_o.stat_idx <= is_rc ? 6'(dingo_pkg::CARD_RESP_LOCAL_LENGTH_ERROR) : 6'(dingo_pkg::CARD_RX_DROP_UD_LENGTH);
            if (is_rc) begin
              c_q.failed <= 1'b1;
              c_q.held <= 1'b0;
              it_q.kind <= rsp_pkg::IT_NAK;
              it_q.syn <= roce_pkg::SYN_NAK_INVALID;
              it_q.cqe <= 1'b1;
              it_q.tag <= c_q.held_tag;
              it_q.status <= dingo_pkg::WCS_LOC_LEN_ERR[7:0];
              it_q.verr <= dingo_pkg::VERR_RQ_TOO_SHORT[7:0];
              it_q.rq_after <= c_q.rq_cons;
            end else begin
              no_item_q <= 1'b1;
              c_q.rq_cons <= c_q.held_index;
            end
          end else if (is_ud) state_q <= RX_GRH;
          else if (op_send) begin
            if (h.len != '0) begin
              scatter_o <= 1'b1;
              state_q <= RX_SCATTER;
            end else state_q <= op_inv ? RX_INV : RX_DONE;
          end else state_q <= key_needed ? RX_KEY : RX_DONE;
        end

        RX_KEY: begin
          state_q <= RX_KEY_WAIT;
        end

        RX_KEY_WAIT:
        if (mr_done_i) begin
          if (is_uc && !mr_rsp_i.ok) state_q <= RX_DROP;
          else if (take) state_q <= RX_TAKE;
          else if (mr_rsp_i.paused) state_q <= RX_PAUSED;
          else if (!mr_rsp_i.ok) begin
            if (taken_q) c_q.rq_cons <= c_q.held_index;
            c_q.failed <= 1'b1;
            it_q.kind <= rsp_pkg::IT_NAK;
            it_q.syn <= roce_pkg::SYN_NAK_ACCESS;
            it_q.ev <= dingo_pkg::EV_QP_ACCESS_ERR[7:0];
            state_q <= RX_END;
          end else begin
            if (op_atomic || (op_write && h.len != '0)) begin
              scat_valid_o <= 1'b1;
              scat_o <= '0;
              scat_o.op <= op_atomic ? rtl_pkg::SCAT_ATOMIC : rtl_pkg::SCAT_SEG;
              if (op_atomic) scat_o.item[rtl_pkg::SCAT_ATOMIC_W-1:0] <= {h.opcode == roce_pkg::RC_COMPARE_SWAP, h.swap_add, h.compare};
              scat_o.seg.last <= 1'b1;
              scat_o.seg.len <= op_atomic ? 32'd8 : payload;
              scat_o.seg.off <= mr_rsp_i.off;
              scat_o.seg.mem <= mr_rsp_i.mem;
            end
            state_q <= RX_DONE;
          end
        end

        RX_GRH: begin
          scat_valid_o <= 1'b1;
          scat_o <= '0;
          scat_o.op <= rtl_pkg::SCAT_GRH;
          scat_o.item[319:0] <= h.grh;
          scatter_o <= 1'b1;
          state_q <= RX_SCATTER;
        end

        RX_SCATTER:
        if (wqe_seg_valid_i) begin
          scat_valid_o <= 1'b1;
          scat_o <= '0;
          scat_o.op <= rtl_pkg::SCAT_SEG;
          scat_o.seg <= wqe_seg_i;
        end else if (wqe_done_i && wqe_i.paused) state_q <= is_uc ? RX_DROP : RX_PAUSED;
        else if (wqe_done_i) begin
          c_q.held_sge <= wqe_i.sge;
          c_q.held_off <= wqe_i.off;
          if (wqe_i.bad) begin
            c_q.failed <= 1'b1;
            c_q.held <= 1'b0;
            it_q.kind <= is_rc ? rsp_pkg::IT_NAK : rsp_pkg::IT_SILENT_FAIL;
            it_q.syn <= roce_pkg::SYN_NAK_OP;
            it_q.cqe <= 1'b1;
            it_q.scattered <= 1'b1;
            it_q.tag <= c_q.held_tag;
            it_q.status <= dingo_pkg::WCS_LOC_PROT_ERR[7:0];
            it_q.verr <= wqe_i.verr;
            it_q.rq_after <= c_q.rq_cons;
            state_q <= RX_END;
          end else state_q <= op_inv ? RX_INV : RX_DONE;
        end

        RX_PAUSED: begin
          if (taken_q) c_q.rq_cons <= c_q.held_index;
          if (is_rc) begin
            c_q.nak_sent <= 1'b1;
            c_q.rnr_sent <= 1'b1;
            it_q.kind <= rsp_pkg::IT_RNR;
            it_q.syn <= roce_pkg::SYN_RNR | {3'd0, x_i.cfg.min_rnr_timer};
          end else begin
            no_item_q <= 1'b1;
            emit_o.stat <= 1'b1;
            emit_o.stat_idx <= 6'(dingo_pkg::CARD_RX_DROP_UD_NO_BUFFER);
          end
          state_q <= RX_END;
        end

        RX_INV:
        if (inv_done_i) begin
          state_q <= RX_DONE;
          if (inv_rsp_i.verr != dingo_pkg::VERR_NONE[7:0]) begin
            c_q.failed <= 1'b1;
            c_q.held <= 1'b0;
            c_q.exp_psn <= h.psn + 24'd1;
            it_q.kind <= rsp_pkg::IT_NAK;
            it_q.syn <= roce_pkg::SYN_NAK_ACCESS;
            it_q.ev <= dingo_pkg::EV_QP_ACCESS_ERR[7:0];
            it_q.cqe <= 1'b1;
            it_q.scattered <= 1'b1;
            it_q.first <= op_first;
            it_q.last <= 1'b1;
            it_q.tag <= c_q.held_tag;
            it_q.status <= dingo_pkg::WCS_LOC_ACCESS_ERR[7:0];
            it_q.verr <= inv_rsp_i.verr;
            it_q.rq_after <= c_q.rq_cons;
            state_q <= RX_END;
          end
        end

        RX_DONE: begin
          state_q <= RX_END;
          it_q.kind <= op_fetch && is_rc ? rsp_pkg::IT_READ : rsp_pkg::IT_DATA;
          it_q.atomic <= op_atomic;
          it_q.write <= op_write && !is_ud;
          it_q.first <= op_first || is_ud;
          it_q.last <= op_last && !is_ud;
          it_q.ack <= h.ackreq && is_rc;
          it_q.imm <= h.imm;
          it_q.tag <= c_q.held_tag;
          it_q.rq_after <= op_write && !is_ud && (taken_q || c_q.held) ? c_q.held_index : c_q.rq_cons;
          it_q.flags <= h.se ? dingo_pkg::CQE_FLAGS_SOLICITED_MASK[7:0] : 8'd0;
          it_q.opcode <= dingo_pkg::WC_RECV[7:0];
          if (is_ud) begin
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
          end else if (op_fetch) begin
            it_q.tag <= h.rkey;
            it_q.va <= h.va;
            it_q.bytes <= h.dma_len;
            c_q.rd_inflight <= c_q.rd_inflight + 5'd1;
            c_q.rd_take <= rsp_pkg::rd_behind(c_q.rd_take, x_i.cfg.max_dest_rd);
            c_q.exp_psn <= c_q.exp_psn + packets;
          end else begin
            c_q.exp_psn <= h.psn + 24'd1;
            it_q.cqe <= takes_rq && op_last;
            it_q.bytes <= op_send ? taken_bytes + payload : op_first ? h.dma_len : c_q.bytes;
            if (op_inv) begin
              it_q.opcode <= dingo_pkg::WC_RECV_INV[7:0];
              it_q.imm <= roce_pkg::be32(h.imm);
              it_q.flags <= (h.se ? dingo_pkg::CQE_FLAGS_SOLICITED_MASK[7:0] : 8'd0)
                            | dingo_pkg::CQE_FLAGS_INV_MASK[7:0];
            end else if (op_imm) begin
              it_q.opcode <= op_write ? dingo_pkg::WC_RECV_WRITE_IMM[7:0] : dingo_pkg::WC_RECV_IMM[7:0];
              it_q.flags <= (h.se ? dingo_pkg::CQE_FLAGS_SOLICITED_MASK[7:0] : 8'd0)
                            | dingo_pkg::CQE_FLAGS_IMM_MASK[7:0];
            end else it_q.imm <= '0;
            c_q.message <= op_last ? rsp_pkg::MSG_NONE : op_send ? rsp_pkg::MSG_SEND : rsp_pkg::MSG_WRITE;
            if (takes_rq) c_q.held <= op_send && !op_last;
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
          scat_o.item <= item;
          if (!no_item_q) c_q.items <= c_q.items + 8'd1;
          a_items: assert (c_q.items != '1);
          state_q <= IDLE;
        end

        default: state_q <= IDLE;
      endcase
    end
    if (!rst_ni) begin
      state_q <= IDLE;
      open_o <= 1'b0;
      scatter_o <= 1'b0;
      scat_valid_o <= 1'b0;
      emit_o <= '0;
    end
  end
  wire unused_ok = &{1'b0, x_i, h_i, mr_rsp_i, inv_rsp_i};
endmodule
