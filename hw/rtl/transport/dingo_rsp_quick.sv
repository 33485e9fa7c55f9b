// SPDX-License-Identifier: BSD-2-Clause

/// The steps that are most of the traffic, each decided in the cycle in which the context comes: a WRITE of
/// one packet or the rest of a longer one, a READ or an atomic that is what the QP expects, such a SEND for whose receive WQE dingo_rsp_ahead guessed right, a
/// doorbell, the return of an item whose bytes are in memory or of such a READ or atomic, a turn in which
/// nothing but an ACK or NAK is owed. They do what dingo_rsp_receive, _event, _commit and _turn would do;
/// whatever is not plain goes to those. Combinational.
module dingo_rsp_quick (
    input  logic              en_i,          // it is looked at; 0 otherwise, which spares a simulation its work
    input  rsp_pkg::step_t    step_i,
    input  rtl_pkg::qpi_t     qp_i,
    input  rsp_pkg::rctx_t    ctx_i,
    input  rtl_pkg::qp_t      x_i,
    input  rtl_pkg::rxh_t     h_i,
    input  logic              key_i,         // the key was looked up,
    input  logic              key_ok_i,      // and is good; of a SEND too
    input  logic              send_i,        // dingo_rsp_ahead has looked at it
    input  rsp_pkg::ahead_t   ahead_i,
    input  logic [31:0]       db_index_i,
    input  rsp_pkg::item_t    item_i,        // that came back
    input  logic              item_err_i,
    input  logic              path_ok_i,     // our address is there
    output logic              rx_o,          // a packet that is plain; its item is item_o
    output logic              read_o,        // a READ: it has no payload
    output logic              atomic_o,      // or it is an atomic
    output logic              commit_o,
    output logic              put_o,         // of a READ or atomic: slot rd_next of ctx_i is its
    output logic              reply_o,
    output logic              db_o,
    output logic              prefetch_o,    // entries of the RQ will be wanted
    output rsp_pkg::rctx_t    ctx_o,
    output logic              wake_o,
    output rsp_pkg::emit_t    emit_o,
    output rsp_pkg::item_t    item_o
);
  localparam logic [1:0] WAIT_MOST = 2'd3;
  localparam logic [31:0] SHORT = 32'd256;
  localparam logic [31:0] AHEAD = 32'd16;    // no entry behind these is fetched ahead for what is in front now
  logic is_rc, is_uc, answers, room, wait_ack, expected, next_psn, write, middle, ends, follows, read, atomic, fetch, slot_free, send;
  logic [4:0] op;
  logic [3:0] slot;
  logic [31:0] cons_next, rq_held, db_held;
  // The item of another packet will come back soon, and its ACK will stand for this one too.
  assign wait_ack = ctx_i.items != 8'd1 && item_i.bytes <= SHORT && ctx_i.waited != WAIT_MOST;
  assign is_rc = x_i.cfg.kind == dingo_pkg::QPT_RC[2:0];
  assign is_uc = x_i.cfg.kind == dingo_pkg::QPT_UC[2:0];
  assign answers = x_i.state == dingo_pkg::QPS_RTR[2:0] || x_i.state == dingo_pkg::QPS_RTS[2:0]
                   || x_i.state == dingo_pkg::QPS_SQD[2:0] || x_i.state == dingo_pkg::QPS_SQE[2:0];
  assign room = h_i.len <= rtl_pkg::pmtu_bytes(x_i.cfg.path_mtu);

  // What was looked up is a WRITE or SEND of one packet on a connected QP, and longer than nothing.
  // The receive WQE of a UC message that was dropped waits for the next SEND.
  assign next_psn = en_i && step_i == rsp_pkg::STEP_RXP && key_ok_i && h_i.psn == ctx_i.exp_psn && !ctx_i.err && !ctx_i.failed
                    && !(x_i.state == dingo_pkg::QPS_RTR[2:0] && !ctx_i.comm_est) && room && !(is_uc && ctx_i.held);
  assign expected = next_psn && ctx_i.message == rsp_pkg::MSG_NONE;
  // Of a longer WRITE a packet behind the first, at the place and with the key that dingo_rsp_intake guessed: it
  // has put them into headers where such a packet has none.
  assign middle = op == roce_pkg::OP_WRITE_MIDDLE;
  assign ends = op == roce_pkg::OP_WRITE_LAST;
  assign follows = next_psn && key_i && ctx_i.message == rsp_pkg::MSG_WRITE && (x_i.cfg.access & dingo_pkg::ACC_REMOTE_WRITE[4:0]) != '0
                   && h_i.rkey == ctx_i.write_rkey && h_i.va == ctx_i.write_va
                   && ((middle && h_i.len == rtl_pkg::pmtu_bytes(x_i.cfg.path_mtu) && {19'd0, h_i.len} < ctx_i.remaining)
                       || (ends && {19'd0, h_i.len} == ctx_i.remaining));
  assign op = h_i.opcode[4:0];
  assign write = expected && key_i && op == roce_pkg::OP_WRITE_ONLY && (x_i.cfg.access & dingo_pkg::ACC_REMOTE_WRITE[4:0]) != '0 && {19'd0, h_i.len} == h_i.dma_len;
  assign send = expected && send_i && ahead_i.good && ahead_i.index == ctx_i.rq_cons && !ctx_i.held;
  // A slot with a repetition, which would end, is not plain.
  assign slot = rsp_pkg::rd_slot(ctx_i.rd_next, ctx_i.rd_inflight, x_i.cfg.max_dest_rd);
  assign slot_free = {3'b0, ctx_i.rd_inflight} < x_i.cfg.max_dest_rd && !ctx_i.rd_pending[slot];
  assign read = expected && key_i && is_rc && op == roce_pkg::OP_READ_REQUEST && slot_free && h_i.len == '0
                && (x_i.cfg.access & dingo_pkg::ACC_REMOTE_READ[4:0]) != '0 && h_i.dma_len <= dingo_pkg::MAX_MSG;
  assign atomic = expected && key_i && is_rc && (op == roce_pkg::OP_COMPARE_SWAP || op == roce_pkg::OP_FETCH_ADD) && slot_free
                  && h_i.len == '0 && (x_i.cfg.access & dingo_pkg::ACC_REMOTE_ATOMIC[4:0]) != '0 && h_i.va[2:0] == '0;
  assign fetch = read || atomic;
  assign read_o = read;
  assign atomic_o = atomic;
  assign rx_o = write || send || fetch || follows;
  assign put_o = en_i && step_i == rsp_pkg::STEP_COMMIT && item_i.kind == rsp_pkg::IT_READ && !item_err_i && !ctx_i.dead && !ctx_i.err && !ctx_i.fatal;
  assign commit_o = (en_i && step_i == rsp_pkg::STEP_COMMIT && item_i.kind == rsp_pkg::IT_DATA && !item_err_i && !ctx_i.dead) || put_o;
  assign cons_next = ctx_i.rq_cons + 32'd1;
  assign rq_held = ctx_i.rq_prod - ctx_i.rq_cons;
  assign db_held = db_index_i - ctx_i.rq_cons;
  assign db_o = en_i && step_i == rsp_pkg::STEP_DB && !ctx_i.err && !x_i.cfg.has_srq && x_i.state != dingo_pkg::QPS_RESET[2:0]
                && db_held <= 32'd1 << x_i.cfg.log_rq && db_held >= rq_held;
  // The next group begins, or entries are new among those that are fetched ahead.
  assign prefetch_o = send ? (cons_next[2:0] & 3'(4'd7 >> (x_i.cfg.log_rq_stride - 4'd5))) == '0 : db_o && rq_held < AHEAD;
  assign reply_o = en_i && step_i == rsp_pkg::STEP_TURN && !ctx_i.err && !ctx_i.fatal && ctx_i.rd_pending == '0 && ctx_i.reply_pending
                   && is_rc && answers && path_ok_i;

  always_comb begin
    ctx_o = ctx_i;
    wake_o = 1'b0;
    emit_o = '0;
    item_o = '0;
    if (rx_o) begin
      ctx_o.nak_sent = 1'b0;
      ctx_o.rnr_sent = 1'b0;
      ctx_o.held = 1'b0;
      ctx_o.exp_psn = ctx_i.exp_psn + (read ? rsp_pkg::packets_of(h_i.dma_len, x_i.cfg.path_mtu) : 24'd1);
      ctx_o.items = ctx_i.items + 8'd1;
      item_o.kind = rsp_pkg::IT_DATA;
      item_o.qp = 16'(qp_i);
      item_o.psn = h_i.psn;
      item_o.write = write || follows;
      item_o.first = !follows;
      item_o.last = !middle;
      item_o.silent = !is_rc;
      item_o.ack = h_i.ackreq && is_rc;
      item_o.rq_after = ctx_i.rq_cons;
      item_o.bytes = {19'd0, h_i.len};
    end
    if (follows) begin
      item_o.bytes = ctx_i.bytes;
      ctx_o.write_va = ctx_i.write_va + {51'd0, h_i.len};
      ctx_o.remaining = ctx_i.remaining - {19'd0, h_i.len};
      if (ends) ctx_o.message = rsp_pkg::MSG_NONE;
    end
    if (fetch) begin
      ctx_o.rd_inflight = ctx_i.rd_inflight + 5'd1;
      item_o.kind = rsp_pkg::IT_READ;
      item_o.atomic = atomic;
      item_o.tag = h_i.rkey;
      item_o.va = h_i.va;
      item_o.bytes = h_i.dma_len;
    end
    if (send) begin
      ctx_o.rq_cons = cons_next;
      item_o.rq_after = cons_next;
      item_o.cqe = 1'b1;
      item_o.tag = ahead_i.tag;
      item_o.opcode = dingo_pkg::WC_RECV[7:0];
      item_o.flags = h_i.se ? dingo_pkg::CQE_FLAGS_SOLICITED_MASK[7:0] : 8'd0;
      if (h_i.opcode[0]) begin
        item_o.opcode = dingo_pkg::WC_RECV_IMM[7:0];
        item_o.flags = item_o.flags | dingo_pkg::CQE_FLAGS_IMM_MASK[7:0];
        item_o.imm = h_i.imm;
      end
    end
    if (db_o) ctx_o.rq_prod = db_index_i;
    if (commit_o) begin
      ctx_o.items = ctx_i.items - 8'd1;
      if (!put_o) ctx_o.open = (ctx_i.open || item_i.took) && !item_i.cqe;
      if (ctx_i.items == 8'd1 && (ctx_i.err || ctx_i.reply_pending)) wake_o = 1'b1;
      if (item_i.last && !put_o) ctx_o.msn = ctx_i.msn + 24'd1;
      if (put_o) begin                       // its response acknowledges everything before it
        ctx_o.rd_inflight = ctx_i.rd_inflight - 5'd1;
        ctx_o.msn = ctx_i.msn + 24'd1;
        if (ctx_i.reply_syn[7:5] == roce_pkg::AETH_ACK) ctx_o.reply_pending = 1'b0;
        ctx_o.rd_used[ctx_i.rd_next] = 1'b1;
        ctx_o.rd_pending[ctx_i.rd_next] = 1'b1;
        ctx_o.rd_answered[ctx_i.rd_next] = 1'b0;
        ctx_o.rd_next = {4'd0, ctx_i.rd_next} + 8'd1 == x_i.cfg.max_dest_rd ? 4'd0 : ctx_i.rd_next + 4'd1;
        wake_o = 1'b1;
      end else if (item_i.ack && !ctx_i.fatal && !ctx_i.err) begin
        ctx_o.reply_pending = 1'b1;
        ctx_o.reply_syn = roce_pkg::SYN_ACK;
        ctx_o.reply_psn = item_i.psn;
        ctx_o.waited = wait_ack ? ctx_i.waited + 2'd1 : 2'd0;
        wake_o = !wait_ack;
      end
      emit_o.stat = item_i.first || put_o;
      emit_o.stat_idx = put_o ? (item_i.atomic ? 6'(dingo_pkg::CARD_RX_ATOMIC_REQUESTS) : 6'(dingo_pkg::CARD_RX_READ_REQUESTS)) : item_i.write ? 6'(dingo_pkg::CARD_RX_WRITE_REQUESTS) : 6'(dingo_pkg::CARD_RX_SEND_REQUESTS);
      emit_o.qstat = item_i.cqe && !put_o;
      emit_o.qstat_idx = 4'(dingo_pkg::QP_RECV_CQES);
      emit_o.cqe = item_i.cqe && !put_o;
      emit_o.cqe_status = dingo_pkg::WCS_SUCCESS[7:0];
      emit_o.cqe_verr = dingo_pkg::VERR_NONE[7:0];
      emit_o.cqe_tag = item_i.tag;
    end
    if (reply_o) begin
      ctx_o.queued = 1'b0;
      ctx_o.reply_pending = 1'b0;
      ctx_o.waited = '0;
      emit_o.qstat = ctx_i.reply_syn[7:5] == roce_pkg::AETH_ACK;
      emit_o.qstat_idx = 4'(dingo_pkg::QP_ACKS_SENT);
    end
  end
  wire unused_ok = &{1'b0, x_i, h_i, item_i};
endmodule
