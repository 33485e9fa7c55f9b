// SPDX-License-Identifier: BSD-2-Clause

/// Plain steps, decided in the cycle in which the context arrives: a WRITE of one packet or the rest of a longer one; a
/// READ or an atomic; a SEND of one packet whose receive WQE dingo_rsp_ahead guessed right; a doorbell; an item that
/// comes back without error; a turn with only an ACK or NAK to send. Packets must have the expected PSN. A READ's or
/// atomic's response of one packet leaves in the step of its item. The effects are those of dingo_rsp_receive, _event,
/// _commit and _turn, which handle everything that is not plain. Combinational.
module dingo_rsp_quick (
    input  logic              en_i,          // the result is used; 0 saves simulation time
    input  rsp_pkg::step_t    step_i,
    input  rtl_pkg::qpi_t     qp_i,
    input  rsp_pkg::rctx_t    ctx_i,
    input  rtl_pkg::qp_t      x_i,
    input  rtl_pkg::rxh_t     h_i,
    input  logic              key_i,         // dingo_rsp_intake looked up the packet's key
    input  logic              key_ok_i,      // the key is good; for key_i and send_i
    input  logic              send_i,        // dingo_rsp_ahead looked up WQE and key: ahead_i
    input  rsp_pkg::ahead_t   ahead_i,
    input  logic [31:0]       db_index_i,
    input  rsp_pkg::item_t    item_i,        // the item that came back
    input  logic              item_err_i,
    input  logic              path_ok_i,     // the QP's source GID is valid
    input  logic              tx_ok_i,       // a packet may leave
    output logic              rx_o,          // plain packet; its item is item_o
    output logic              read_o,        // with rx_o: a READ
    output logic              atomic_o,      // with rx_o: an atomic
    output logic              commit_o,      // plain commit
    output logic              put_o,         // with commit_o: a READ or atomic, to be put into slot rd_next of ctx_i
    output logic              data_o,        // with put_o: its response leaves with this step
    output logic              reply_o,       // plain turn: the ACK or NAK leaves with this step
    output logic              db_o,          // plain doorbell
    output logic              prefetch_o,    // plain packet or doorbell: fetch entries of the RQ ahead
    // results of a plain step
    output rsp_pkg::rctx_t    ctx_o,
    output logic              wake_o,
    output rsp_pkg::emit_t    emit_o,
    output rsp_pkg::item_t    item_o,
    output logic [31:0]       offset_o       // plain packet: of its payload in the message
);
  localparam logic [1:0] WAIT_MOST = 2'd3;
  localparam logic [31:0] SHORT = 32'd256;
  localparam logic [31:0] AHEAD = 32'd16;    // a doorbell fetches ahead only if fewer entries were posted
  logic is_rc, is_uc, answers, room, wait_ack, expected, next_psn, write, middle, ends, follows, read, atomic, fetch, slot_free, send;
  logic [4:0] op;
  logic [31:0] cons_next, rq_held, db_held;
  logic [23:0] psn_one, psn_read;      // exp_psn after the packet; after a READ
  logic [23:0] msn_next;
  logic one_packet;                    // a READ of one packet
  // Another packet's item will come back soon, and its ACK acknowledges this packet too.
  assign wait_ack = ctx_i.items != 8'd1 && item_i.bytes <= SHORT && ctx_i.waited != WAIT_MOST;
  assign is_rc = x_i.cfg.kind == dingo_pkg::QPT_RC[2:0];
  assign is_uc = x_i.cfg.kind == dingo_pkg::QPT_UC[2:0];
  assign answers = x_i.state == dingo_pkg::QPS_RTR[2:0] || x_i.state == dingo_pkg::QPS_RTS[2:0]
                   || x_i.state == dingo_pkg::QPS_SQD[2:0] || x_i.state == dingo_pkg::QPS_SQE[2:0];
  assign room = h_i.len <= rtl_pkg::pmtu_bytes(x_i.cfg.path_mtu);

  // Look-ups are only made for packets of connected QPs, and not for empty messages. `held` on UC: the receive WQE of a
  // dropped message, which the next SEND must take.
  assign next_psn = en_i && step_i == rsp_pkg::STEP_RXP && key_ok_i && h_i.psn == ctx_i.exp_psn && !ctx_i.err && !ctx_i.failed
                    && !(x_i.state == dingo_pkg::QPS_RTR[2:0] && !ctx_i.comm_est) && room && !(is_uc && ctx_i.held);
  assign expected = next_psn && ctx_i.message == rsp_pkg::MSG_NONE;
  // A later packet of a WRITE; h_i.rkey and h_i.va are the guess of dingo_rsp_intake.
  assign middle = op == roce_pkg::OP_WRITE_MIDDLE;
  assign ends = op == roce_pkg::OP_WRITE_LAST;
  assign follows = next_psn && key_i && ctx_i.message == rsp_pkg::MSG_WRITE && (x_i.cfg.access & dingo_pkg::ACC_REMOTE_WRITE[4:0]) != '0
                   && h_i.rkey == ctx_i.write_rkey && h_i.va == ctx_i.write_va
                   && ((middle && h_i.len == rtl_pkg::pmtu_bytes(x_i.cfg.path_mtu) && {19'd0, h_i.len} < ctx_i.remaining)
                       || (ends && {19'd0, h_i.len} == ctx_i.remaining));
  assign op = h_i.opcode[4:0];
  assign write = expected && key_i && op == roce_pkg::OP_WRITE_ONLY && (x_i.cfg.access & dingo_pkg::ACC_REMOTE_WRITE[4:0]) != '0 && {19'd0, h_i.len} == h_i.dma_len;
  assign send = expected && send_i && ahead_i.good && ahead_i.index == ctx_i.rq_cons && !ctx_i.held;
  // A slot with a repetition, which must be cancelled, is not plain.
  assign slot_free = {3'b0, ctx_i.rd_inflight} < x_i.cfg.max_dest_rd && !ctx_i.rd_pending[ctx_i.rd_take];
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
  assign msn_next = ctx_i.msn + 24'd1;
  assign one_packet = h_i.dma_len <= {19'd0, rtl_pkg::pmtu_bytes(x_i.cfg.path_mtu)};
  assign psn_one = ctx_i.exp_psn + 24'd1;
  assign psn_read = ctx_i.exp_psn + rsp_pkg::packets_of(h_i.dma_len, x_i.cfg.path_mtu);
  assign cons_next = ctx_i.rq_cons + 32'd1;
  assign rq_held = ctx_i.rq_prod - ctx_i.rq_cons;
  assign db_held = db_index_i - ctx_i.rq_cons;
  assign db_o = en_i && step_i == rsp_pkg::STEP_DB && !ctx_i.err && !x_i.cfg.has_srq && x_i.state != dingo_pkg::QPS_RESET[2:0]
                && db_held <= 32'd1 << x_i.cfg.log_rq && db_held >= rq_held;
  // The RQ comes to its next group, or a doorbell adds entries among the AHEAD next ones.
  assign prefetch_o = at_rx ? op_send && (cons_next[2:0] & 3'(4'd7 >> (x_i.cfg.log_rq_stride - 4'd5))) == '0 : step_i == rsp_pkg::STEP_DB && rq_held < AHEAD;
  assign reply_o = en_i && step_i == rsp_pkg::STEP_TURN && !ctx_i.err && !ctx_i.fatal && ctx_i.rd_pending == '0 && ctx_i.reply_pending
                   && is_rc && answers && path_ok_i;

  // Results are selected by the kind of packet or item, in parallel with the decision whether it is plain; they are
  // used only if it is.
  logic at_rx, at_commit, at_turn, op_read, op_fetch, op_send, op_follows, at_put, leaves;
  assign at_rx = en_i && step_i == rsp_pkg::STEP_RXP;
  assign at_commit = en_i && step_i == rsp_pkg::STEP_COMMIT;
  assign at_turn = en_i && step_i == rsp_pkg::STEP_TURN;
  assign op_read = op == roce_pkg::OP_READ_REQUEST;
  assign op_fetch = op_read || op == roce_pkg::OP_COMPARE_SWAP || op == roce_pkg::OP_FETCH_ADD;
  assign op_send = op == roce_pkg::OP_SEND_ONLY || op == roce_pkg::OP_SEND_ONLY_IMM;
  assign op_follows = middle || ends;
  assign offset_o = op_follows ? ctx_i.bytes - ctx_i.remaining : '0;
  assign at_put = at_commit && item_i.kind == rsp_pkg::IT_READ;
  // The response is one packet, and nothing else of this QP must leave before it. It replaces an ACK that is owed.
  assign leaves = item_i.single && tx_ok_i && path_ok_i && answers && ctx_i.rd_pending == '0
                  && !(ctx_i.reply_pending && ctx_i.reply_syn[7:5] != roce_pkg::AETH_ACK);
  assign data_o = put_o && leaves;

  always_comb begin
    ctx_o = ctx_i;
    wake_o = 1'b0;
    emit_o = '0;
    item_o = '0;
    if (at_rx) begin
      ctx_o.nak_sent = 1'b0;
      ctx_o.rnr_sent = 1'b0;
      ctx_o.held = 1'b0;
      ctx_o.exp_psn = op_read ? psn_read : psn_one;
      ctx_o.items = ctx_i.items + 8'd1;
      item_o.kind = op_fetch ? rsp_pkg::IT_READ : rsp_pkg::IT_DATA;
      item_o.qp = 16'(qp_i);
      item_o.psn = h_i.psn;
      item_o.write = op_follows || op == roce_pkg::OP_WRITE_ONLY;
      item_o.first = !op_follows;
      item_o.last = !middle;
      item_o.silent = !is_rc;
      item_o.ack = h_i.ackreq && is_rc;
      item_o.rq_after = op_send ? cons_next : ctx_i.rq_cons;
      item_o.bytes = op_follows ? ctx_i.bytes : op_fetch ? h_i.dma_len : {19'd0, h_i.len};
      item_o.tag = op_send ? ahead_i.tag : op_fetch ? h_i.rkey : '0;
      if (op_follows) begin
        ctx_o.write_va = ctx_i.write_va + {51'd0, h_i.len};
        ctx_o.remaining = ctx_i.remaining - {19'd0, h_i.len};
        if (ends) ctx_o.message = rsp_pkg::MSG_NONE;
      end
      if (op_fetch) begin
        ctx_o.rd_inflight = ctx_i.rd_inflight + 5'd1;
        ctx_o.rd_take = rsp_pkg::rd_behind(ctx_i.rd_take, x_i.cfg.max_dest_rd);
        item_o.atomic = !op_read;
        item_o.single = !op_read || one_packet;
        item_o.va = h_i.va;
      end
      if (op_send) begin
        ctx_o.rq_cons = cons_next;
        item_o.cqe = 1'b1;
        item_o.opcode = dingo_pkg::WC_RECV[7:0];
        item_o.flags = h_i.se ? dingo_pkg::CQE_FLAGS_SOLICITED_MASK[7:0] : 8'd0;
        if (h_i.opcode[0]) begin
          item_o.opcode = dingo_pkg::WC_RECV_IMM[7:0];
          item_o.flags = item_o.flags | dingo_pkg::CQE_FLAGS_IMM_MASK[7:0];
          item_o.imm = h_i.imm;
        end
      end
    end
    if (en_i && step_i == rsp_pkg::STEP_DB) ctx_o.rq_prod = db_index_i;
    if (at_commit) begin
      ctx_o.items = ctx_i.items - 8'd1;
      if (!at_put) ctx_o.open = (ctx_i.open || item_i.took) && !item_i.cqe;
      if (ctx_i.items == 8'd1 && (ctx_i.err || ctx_i.reply_pending)) wake_o = 1'b1;
      if (item_i.last || at_put) ctx_o.msn = msn_next;
      if (at_put) begin                       // the response acknowledges all packets before it
        ctx_o.rd_inflight = ctx_i.rd_inflight - 5'd1;
        if (ctx_i.reply_syn[7:5] == roce_pkg::AETH_ACK) ctx_o.reply_pending = 1'b0;
        ctx_o.rd_used[ctx_i.rd_next] = 1'b1;
        ctx_o.rd_pending[ctx_i.rd_next] = !leaves;
        ctx_o.rd_answered[ctx_i.rd_next] = leaves;
        ctx_o.rd_next = rsp_pkg::rd_behind(ctx_i.rd_next, x_i.cfg.max_dest_rd);
        if (leaves) ctx_o.waited = '0;
        wake_o = !leaves;
      end else if (item_i.ack && !ctx_i.fatal && !ctx_i.err) begin
        ctx_o.reply_pending = 1'b1;
        ctx_o.reply_syn = roce_pkg::SYN_ACK;
        ctx_o.reply_psn = item_i.psn;
        ctx_o.waited = wait_ack ? ctx_i.waited + 2'd1 : 2'd0;
        wake_o = !wait_ack;
      end
      emit_o.stat = item_i.first || at_put;
      emit_o.stat_idx = at_put ? (item_i.atomic ? 6'(dingo_pkg::CARD_RX_ATOMIC_REQUESTS) : 6'(dingo_pkg::CARD_RX_READ_REQUESTS)) : item_i.write ? 6'(dingo_pkg::CARD_RX_WRITE_REQUESTS) : 6'(dingo_pkg::CARD_RX_SEND_REQUESTS);
      emit_o.qstat = item_i.cqe && !at_put;
      emit_o.qstat_idx = 4'(dingo_pkg::QP_RECV_CQES);
      emit_o.cqe = item_i.cqe && !at_put;
      emit_o.cqe_status = dingo_pkg::WCS_SUCCESS[7:0];
      emit_o.cqe_verr = dingo_pkg::VERR_NONE[7:0];
      emit_o.cqe_tag = item_i.tag;
    end
    if (at_turn) begin
      ctx_o.queued = 1'b0;
      ctx_o.reply_pending = 1'b0;
      ctx_o.waited = '0;
      emit_o.qstat = ctx_i.reply_syn[7:5] == roce_pkg::AETH_ACK;
      emit_o.qstat_idx = 4'(dingo_pkg::QP_ACKS_SENT);
    end
  end
  wire unused_ok = &{1'b0, x_i, h_i, item_i};
endmodule
