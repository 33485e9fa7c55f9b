// SPDX-License-Identifier: BSD-2-Clause

/// First cycle of a step (PH_START): applies a doorbell, response, timer, failure or command to the QP's context and
/// chooses the next phase. Also PH_BEGIN_RTS. Combinational: registers and memories are in dingo_req_step.
module dingo_req_event (
    input  req_pkg::work_t       w_i,
    input  req_pkg::ctx_t        c_i,
    input  rtl_pkg::qp_cfg_t     cfg_i,
    input  req_pkg::step_t       kind_i,
    input  req_pkg::rec_t        rec_i,         // the oldest record
    input  logic [63:0]          now_ns_i,
    input  logic                 commit_err_i,  // commit: host memory refused some bytes
    input  logic                 txerr_ok_i,    // txerr: the packet's payload was read
    input  logic                 txerr_late_i,  // txerr: the packet is of an older generation (gen_t)
    input  rtl_pkg::qpa_req_t    qpa_i,
    input  logic                 again_i,       // this step takes another doorbell of the QP next: db_*_i
    input  logic [31:0]          db_index_i,
    input  logic [2:0]           db_pushed_i,
    output req_pkg::work_t       w_o,
    output req_pkg::ctx_t        c_o,
    output req_pkg::report_t     report_o,
    output logic                 db_bad_o,      // the doorbell's index is impossible for the ring
    output logic                 done_o         // commit: no phase follows
);
  localparam logic [63:0] NEVER = '1;

  logic up, empty, is_ack, is_rnr, is_seq, rec_is_read, rec_next;
  logic [31:0] ahead, rx_psn, rx_span;  // a response's distance from the oldest PSN; its 32-bit PSN; limit of `ahead`
  logic [63:0] ack_ns;
  assign up = w_i.st == dingo_pkg::QPS_RTS[2:0] || w_i.st == dingo_pkg::QPS_SQD[2:0];
  assign empty = c_i.head == c_i.tail;
  assign is_ack = w_i.item.syndrome[7:5] == roce_pkg::AETH_ACK;
  assign is_rnr = w_i.item.syndrome[7:5] == roce_pkg::AETH_RNR;
  assign is_seq = w_i.item.syndrome == roce_pkg::SYN_NAK_SEQ;
  assign rec_is_read = rec_i.fetch && rec_i.packets != 24'd0;
  assign rec_next = !empty && rec_is_read && rec_i.received < rec_i.packets
                    && w_i.item.psn == rec_i.first + {8'd0, rec_i.received};
  assign rx_span = c_i.sent - c_i.oldest;
  assign ahead = {8'd0, w_i.item.psn[23:0] - c_i.oldest[23:0]};
  assign rx_psn = c_i.oldest + ahead;
  assign ack_ns = now_ns_i + (64'd4096 << cfg_i.timeout);

  // The last data of the oldest record, a READ or atomic: it completes in this cycle, with dingo_req_progress.
  logic last_data, wakes, wake, drained;
  req_pkg::ctx_t c_done, c_then;
  assign last_data = up && w_i.item.kind == req_pkg::IT_DATA && w_i.item.psn == c_i.oldest && !commit_err_i && rec_next &&
                     rec_i.status == 8'd0 && rec_i.received + 24'd1 == rec_i.packets && !c_i.odd;
  assign done_o = w_i.phase == req_pkg::PH_START && kind_i.commit && last_data;
  always_comb begin
    c_done = c_i;
    c_done.oldest = c_i.oldest + 32'd1;
    c_done.head = c_i.head + 8'd1;
    if (c_i.data_at == c_i.head) c_done.data_at = c_i.head + 8'd1;
    c_done.reads = c_i.reads - 5'd1;
    if (c_i.read_psns != 24'd0) c_done.read_psns = c_i.read_psns - 24'd1;
  end
  dingo_req_progress u_progress (
      .c_i(c_done), .cfg_i, .st_i(w_i.st), .adv_i(1'b1), .now_ns_i, .c_o(c_then), .wakes_o(wakes), .wake_o(wake), .drained_o(drained));

  logic [31:0] consumer;               // consumer index of the send queue: first block that has not completed
  logic [31:0] fresh;
  logic db_good, sent_all, fetches;
  assign consumer = empty ? c_i.next_index : rec_i.index;
  assign sent_all = c_i.next_index == c_i.producer && c_i.cursor == c_i.tail;
  // Blocks that the doorbell adds must be fetched, except pushed ones, which are in the cache (a turn checks that).
  assign fresh = w_i.db_index - c_i.producer;
  assign fetches = w_i.st == dingo_pkg::QPS_RTS[2:0] && fresh != 32'd0 && !(fresh[31:3] == '0 && fresh[2:0] <= w_i.db_pushed);
  assign db_good = w_i.st != dingo_pkg::QPS_RESET[2:0] && w_i.db_index - consumer <= (32'd1 << cfg_i.log_sq) &&
                   w_i.db_index - consumer >= c_i.producer - consumer;
  assign db_bad_o = w_i.phase == req_pkg::PH_START && kind_i.db && !db_good;

  always_comb begin
    w_o = w_i;
    c_o = c_i;
    report_o = '0;
    case (w_i.phase)
      req_pkg::PH_START: begin
        w_o.phase = req_pkg::PH_BACK;
        w_o.info_consumer = consumer;
        w_o.ahead_on = w_i.ahead && !again_i;
        w_o.pos = c_i.head;
        w_o.oldest_then = c_i.oldest;
        w_o.adv = 1'b1;
        case (kind_i)
          req_pkg::STEP_COMMIT: begin              // a response whose payload is in memory
            w_o.ack_ret = req_pkg::PH_RSP_DONE;
            w_o.complete = 1'b1;
            w_o.ack_psn = w_i.item.psn;
            w_o.status = w_i.item.status;
            w_o.verr = w_i.item.verr;
            if (!up) begin
              report_o.card = req_pkg::count_card(6'(dingo_pkg::CARD_RX_DROP_QP_STATE));
            end else if (w_i.item.kind == req_pkg::IT_STALE || (w_i.item.kind == req_pkg::IT_ACK ? ahead : w_i.item.psn - c_i.oldest) >= rx_span) begin
              report_o.card = req_pkg::count_card(6'(dingo_pkg::CARD_RX_DROP_RESPONSE));
            end else begin
              w_o.phase = req_pkg::PH_ACK_TEST;   // rec is the oldest
              if (w_i.item.kind == req_pkg::IT_ACK) begin
                w_o.item.psn = rx_psn;
                w_o.ack_psn = rx_psn;
                {w_o.status, w_o.verr} = {dingo_pkg::WCS_BAD_RESP_ERR[7:0], dingo_pkg::VERR_BAD_RESPONSE[7:0]};
                if (is_ack) begin
                  w_o.ack_psn = rx_psn + 32'd1;
                  report_o.qp = req_pkg::count_qp(4'(dingo_pkg::QP_ACKS_RCVD));
                end else if (is_rnr) begin
                  report_o.card = req_pkg::count_card(6'(dingo_pkg::CARD_RNR_NAK_RETRY_ERR));
                  report_o.qp = req_pkg::count_qp(4'(dingo_pkg::QP_RNR_NAK_RCVD));
                end else if (is_seq) begin
                  report_o.card = req_pkg::count_card(6'(dingo_pkg::CARD_PACKET_SEQ_ERR));
                  report_o.qp = req_pkg::count_qp(4'(dingo_pkg::QP_SEQ_NAK_RCVD));
                end else if (w_i.item.syndrome == roce_pkg::SYN_NAK_INVALID) begin
                  report_o.card = req_pkg::count_card(6'(dingo_pkg::CARD_REQ_REMOTE_INVALID_REQUEST));
                  {w_o.status, w_o.verr} = {dingo_pkg::WCS_REM_INV_REQ_ERR[7:0], dingo_pkg::VERR_NAK_INVALID[7:0]};
                end else if (w_i.item.syndrome == roce_pkg::SYN_NAK_ACCESS) begin
                  report_o.card = req_pkg::count_card(6'(dingo_pkg::CARD_REQ_REMOTE_ACCESS_ERRORS));
                  {w_o.status, w_o.verr} = {dingo_pkg::WCS_REM_ACCESS_ERR[7:0], dingo_pkg::VERR_NAK_ACCESS[7:0]};
                end else if (w_i.item.syndrome == roce_pkg::SYN_NAK_OP) begin
                  report_o.card = req_pkg::count_card(6'(dingo_pkg::CARD_REQ_REMOTE_OP_ERRORS));
                  {w_o.status, w_o.verr} = {dingo_pkg::WCS_REM_OP_ERR[7:0], dingo_pkg::VERR_NAK_OP[7:0]};
                end
              end else if (commit_err_i) begin
                {w_o.status, w_o.verr} = {dingo_pkg::WCS_LOC_PROT_ERR[7:0], dingo_pkg::VERR_BUS[7:0]};
              end else if (w_i.item.kind == req_pkg::IT_DATA && w_i.item.psn == c_i.oldest && rec_next && rec_i.status == 8'd0) begin
                w_o.phase = req_pkg::PH_RSP_DONE; // the next data of the oldest record acknowledges nothing before it
                if (last_data) begin
                  c_o = c_then;
                  if (wakes) w_o.wake = wake;
                  if (drained) report_o.ev = req_pkg::raise(dingo_pkg::EV_SQ_DRAINED[7:0]);
                  if (rec_i.signaled) begin
                    report_o.cqe = req_pkg::cqe(rec_i.index, rec_i.length, rec_i.opcode, 8'd0, 8'd0);
                    report_o.qp = req_pkg::count_qp(4'(dingo_pkg::QP_SEND_CQES));
                  end
                  w_o.phase = req_pkg::PH_BACK;
                end
              end
            end
          end
          req_pkg::STEP_RXP: w_o.phase = req_pkg::PH_RX;
          req_pkg::STEP_DB: begin
            if (db_good) begin
              c_o.producer = w_i.db_index;
              w_o.ahead_limit = req_pkg::fill_limit(w_i.db_index - (w_i.ahead ? w_i.ahead_index : c_i.producer));
              // The first doorbell of the step that adds blocks decides: they are fetched at once, with those of the
              // doorbells after it. When nothing else is to be sent before them, their arrival gives the QP a turn.
              if (!w_i.ahead) begin
                w_o.ahead_index = c_i.producer;
                if (fetches && !c_i.asking) begin
                  w_o.ahead = 1'b1;
                  w_o.ahead_on = !again_i;
                  w_o.ahead_wake = !c_i.fetching && sent_all;
                end
                w_o.wake = w_i.st >= dingo_pkg::QPS_RTS[2:0] && !c_i.fetching && !(fetches && sent_all);
              end
            end else begin
              report_o.card = req_pkg::count_card(6'(dingo_pkg::CARD_DB_DROPPED));
            end
            if (again_i) begin
              w_o.db_index = db_index_i;
              w_o.db_pushed = db_pushed_i;
              w_o.phase = req_pkg::PH_START;
            end
          end
          req_pkg::STEP_FAIL: if (w_i.st != dingo_pkg::QPS_RESET[2:0]) w_o.phase = req_pkg::PH_ENTER;
          req_pkg::STEP_CQ_FAIL:
          if (w_i.st != dingo_pkg::QPS_RESET[2:0] && w_i.st != dingo_pkg::QPS_ERR[2:0]) begin
            report_o.ev = req_pkg::raise(dingo_pkg::EV_QP_FATAL[7:0]);
            w_o.phase = req_pkg::PH_ENTER;
          end
          req_pkg::STEP_TXERR: begin
            w_o.item.psn = rx_psn;
            w_o.ack_psn = rx_psn + 32'd1;
            w_o.ack_ret = req_pkg::PH_BACK;
            if (up && ahead < rx_span && !txerr_late_i) w_o.phase = txerr_ok_i ? req_pkg::PH_ACK_READ : req_pkg::PH_TXERR_FIND;
          end
          req_pkg::STEP_DUE: begin
            w_o.verr = dingo_pkg::VERR_TIMEOUT[7:0];
            w_o.retry_implied = 1'b0;
            if (c_i.wait_at <= now_ns_i) begin
              c_o.wait_at = NEVER;
              w_o.wake = 1'b1;
            end
            if (c_i.ack_at <= now_ns_i) begin
              c_o.ack_at = NEVER;
              if (up && rtl_pkg::idx_before(c_i.ackreq, c_i.oldest)) begin
                // every packet that requested an ACK is acknowledged
                if (rtl_pkg::idx_before(c_i.oldest, c_i.send) && cfg_i.timeout != 5'd0) c_o.ack_at = ack_ns;
              end else if (up) begin
                report_o.card = req_pkg::count_card(6'(dingo_pkg::CARD_LOCAL_ACK_TIMEOUT_ERR));
                report_o.qp = req_pkg::count_qp(4'(dingo_pkg::QP_TIMEOUTS));
                c_o.implied = 1'b0;
                w_o.phase = req_pkg::PH_RETRY;
              end
            end
          end
          req_pkg::STEP_QPA:
          case (qpa_i.op)
            rtl_pkg::QPA_CLEAR: begin
              c_o = '0;
              c_o.gen = c_i.gen + 6'd1;
              c_o.ack_at = NEVER;
              c_o.wait_at = NEVER;
              w_o.info_consumer = '0;
            end
            rtl_pkg::QPA_MODIFY: begin
              w_o.st = qpa_i.ctx.state;
              if ((qpa_i.mask & 21'(dingo_pkg::QPM_SQ_PSN)) != '0) begin
                c_o.oldest = {8'd0, qpa_i.ctx.cfg.sq_psn};
                c_o.send = {8'd0, qpa_i.ctx.cfg.sq_psn};
                c_o.sent = {8'd0, qpa_i.ctx.cfg.sq_psn};
                c_o.new_psn = {8'd0, qpa_i.ctx.cfg.sq_psn};
                c_o.ordered = {8'd0, qpa_i.ctx.cfg.sq_psn};
                c_o.ackreq = {8'd0, qpa_i.ctx.cfg.sq_psn} - 32'd1;
              end
              if ((qpa_i.mask & 21'(dingo_pkg::QPM_STATE)) != '0) begin
                case (qpa_i.ctx.state)
                  // WQEs that were posted in SQE are flushed, not sent
                  dingo_pkg::QPS_RTS[2:0]: w_o.phase = qpa_i.old_state == dingo_pkg::QPS_SQE[2:0] ? req_pkg::PH_FLUSH : req_pkg::PH_BEGIN_RTS;
                  dingo_pkg::QPS_SQD[2:0]:
                  if (qpa_i.old_state != dingo_pkg::QPS_SQD[2:0] || !c_i.drained) begin
                    c_o.drained = empty;
                    if (empty && qpa_i.ctx.cfg.sqd_notify) begin
                      report_o.ev = req_pkg::raise(dingo_pkg::EV_SQ_DRAINED[7:0]);
                    end
                  end
                  dingo_pkg::QPS_ERR[2:0]: if (qpa_i.old_state != dingo_pkg::QPS_ERR[2:0]) w_o.phase = req_pkg::PH_ENTER;
                  default: ;
                endcase
              end
            end
            default: ;
          endcase
          req_pkg::STEP_FETCH: begin             // the cache has room to fetch the next WQE
            c_o.fetching = 1'b0;
            c_o.asking = 1'b0;
            w_o.ahead_index = c_i.next_index;
            w_o.ahead_limit = req_pkg::fill_limit(c_i.producer - c_i.next_index);
            if (w_i.st == dingo_pkg::QPS_RTS[2:0] && c_i.next_index != c_i.producer && c_i.cursor == c_i.tail) begin
              w_o.ahead = 1'b1;
              w_o.ahead_on = 1'b1;
              w_o.ahead_wake = 1'b1;
            end else w_o.wake = w_i.st >= dingo_pkg::QPS_RTS[2:0];
          end
          default: begin             // STEP_ACK: a turn completed a WQE that sends no packet
            w_o.adv = 1'b0;
            w_o.ack_psn = c_i.oldest;
            w_o.ack_ret = req_pkg::PH_BACK;
            w_o.phase = req_pkg::PH_ACK_READ;
          end
        endcase
      end
      req_pkg::PH_BEGIN_RTS: begin
        c_o.retries = cfg_i.retry_cnt;
        c_o.rnr = cfg_i.rnr_retry;
        c_o.drained = 1'b0;
        c_o.down = 1'b0;
        w_o.wake = 1'b1;
        w_o.phase = req_pkg::PH_BACK;
      end
      default: ;
    endcase
  end

  wire unused_ok = &{1'b0, cfg_i, rec_i, qpa_i};
endmodule
