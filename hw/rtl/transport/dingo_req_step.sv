// SPDX-License-Identifier: BSD-2-Clause

/// The steps of the requester: takes the event that dingo_req_sched has chosen, reads the QP's context, does what
/// there is to do, writes the context back. No step waits for the wire or for another QP; turns of other QPs go
/// on meanwhile (dingo_req_turn).
module dingo_req_step (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        clear_i,       // what must be cleared after reset is
    output logic        idle_o,        // between two steps, and nothing on its way out
    output logic        ready_o,       // cleared after reset
    input  logic [63:0] now_ns_i,
    // what comes next; see dingo_req_sched
    input  logic        pick_i,
    output logic        take_o,
    output logic        busy_o,        // in a step of qp_o, its last cycle included
    output logic        next_o,        // the next one is chosen: next_qp_o
    output rtl_pkg::qpi_t        next_qp_o,
    output logic        rx_o,          // in the step of a READ response
    input  req_pkg::step_t       kind_i,
    input  rtl_pkg::qpi_t        pick_qp_i,
    input  rtl_pkg::commit_t     commit_i,
    input  rtl_pkg::rxp_t        rxp_i,
    input  logic        db_valid_i,    // a doorbell waits: db_i
    input  rtl_pkg::qdb_t        db_i,
    output logic        db_next_o,     // it is of the same QP as the one in work, and is taken behind it in the same step
    output logic        db_bad_o,
    input  rtl_pkg::txerr_t      txerr_i,
    input  logic        fail_valid_i,
    input  rtl_pkg::qpi_t        fail_qp_i,
    output logic        fail_valid_o,
    input  logic        qpa_valid_i,
    input  rtl_pkg::qpa_req_t    qpa_i,
    output logic        qpa_wait_o,    // taken, not begun or not done
    output rtl_pkg::qpi_t        qpa_qp_o,
    output logic        qpa_done_o,
    output rtl_pkg::req_info_t   qpa_info_o,
    // the QP of this step
    output rtl_pkg::qpi_t        qp_o,
    output logic [31:0] qpn_o,
    input  rtl_pkg::qp_t         qp_rdata_i,
    output rtl_pkg::cqi_t        cq_o,
    output logic        state_we_o,
    output rtl_pkg::qps_t        state_o,
    // a context that goes back; see dingo_req_store
    output logic        back_o,
    output req_pkg::ctx_t    c_o,
    output logic        wake_o,        // it gets another turn
    output logic        fetch_o,       // there was no room to ask for its WQE: once more, later
    input  req_pkg::ctx_t    c_i,
    output logic        between_o,     // looks at no record
    input  logic        hold_i,        // somebody else wants to: choose nothing ahead
    output rtl_pkg::qpi_t        rec_qp_o,      // of a read
    output logic        rec_re_o,
    output logic [7:0]  rec_rpos_o,
    input  req_pkg::rec_t    rec_i,
    output logic        rec_we_o,
    output logic [7:0]  rec_wpos_o,
    output req_pkg::rec_t    rec_o,
    // dingo_req_wqes
    output rtl_pkg::qp_cfg_t     cfg_o,
    output logic [31:0] producer_o,
    output logic        forget_o,
    output logic        ahead_o,       // a doorbell's blocks,
    output logic        ahead_go_o,    // in this cycle, with the context that goes back
    output logic [31:0] ahead_index_o,
    output logic [3:0]  ahead_limit_o,
    output logic        ahead_wake_o,  // the next to be sent, with which a turn comes
    input  logic        ahead_ok_i,    // in this cycle
    // dingo_req_turn: all that was posted is flushed
    output logic        flush_o,
    output rtl_pkg::qps_t        flush_st_o,
    input  logic        flushed_i,
    input  req_pkg::ctx_t    flushed_c_i,
    // dingo_req_out
    input  logic        room_i,
    output req_pkg::report_t     report_o,
    // what a READ response answers; see dingo_req_place
    output logic        place_valid_o,
    input  logic        place_ready_i,
    output logic        place_data_o,
    output logic [31:0] place_offset_o,
    output logic [12:0] place_len_o,
    output req_pkg::item_t   place_item_o,
    output req_pkg::rec_t    place_rec_o
);
  localparam int unsigned QP = rtl_pkg::QP_LOG;
  localparam logic [63:0] NEVER = '1;

  typedef enum logic [5:0] {
    CLEAR, IDLE, LOAD, START, BACK,
    ACK_READ, ACK_TEST, ACK_END,
    FAIL_READ, FAIL, ENTER, GO_BACK, RETRY, IMPLIED,
    RSP_DONE, RX, FLUSH, BEGIN_RTS, TXERR_FIND, TXERR_TEST
  } state_t;

  // ------------------------------------------------------------------------------------ registers
  state_t state_q, ack_ret_q;
  req_pkg::step_t kind_q, next_kind_q;
  logic [QP-1:0] next_qp_q;
  logic next_q;                        // an event was chosen ahead: its context comes while this one's goes back
  logic [QP-1:0] qp_q;
  req_pkg::ctx_t c_q;
  req_pkg::rec_t rec, rec_wr;
  rtl_pkg::qp_cfg_t cfg_q;
  logic [2:0] st_q;
  logic wake_q;                        // at the end of the step: ready for a turn
  logic ahead_q, ahead_wake_q;         // a doorbell's blocks are to be fetched; with a turn when they are there
  logic ahead_on_q;                    // in BACK, with such
  logic [31:0] ahead_index_q;
  logic [3:0] ahead_limit_q;
  logic [31:0] ack_psn_q, before_q;
  logic adv_q, complete_q;             // an ACK_*: with what follows from it; nothing before was missing
  logic [7:0] status_q, verr_q;        // of a failure
  logic retry_implied_q;
  req_pkg::item_t item_q, item_in;
  logic commit_err_q;
  logic [7:0] rx_opcode_q, pos_q;
  logic [12:0] rx_len_q;
  logic txerr_ok_q;
  logic [31:0] db_index_q;
  logic qpa_wait_q;
  rtl_pkg::qpa_req_t qpa_q;
  logic peer_failed_q;
  logic to_sqe_q;

  req_pkg::report_t report_q;
  logic run, choose, ending, same_q, again;

  assign report_o = report_q;
  // A step goes on when everything that one state may give has room.
  assign run = room_i;
  // Doorbells of one QP come in runs, since its completions do: one step takes them, each checked as if it were alone.
  assign again = state_q == START && kind_q.db && db_valid_i && db_i.qp == qp_q;
  assign db_next_o = again && run;
  // What can only be followed by BACK has the next event chosen.
  assign ending = !hold_i && !again && (state_q == START ? kind_q.db || kind_q.fetch : state_q == ACK_END && acked);
  assign choose = (state_q == IDLE || (state_q == BACK && !next_q) || ending) && run && pick_i;
  assign next_o = next_q;
  assign next_qp_o = next_qp_q;
  assign rec_qp_o = next_q ? next_qp_q : qp_q;
  assign take_o = choose;
  assign item_in = commit_i.item[req_pkg::ITEM_W-1:0];
  assign idle_o = state_q == IDLE && {report_q.cqe.valid, report_q.ev.valid, report_q.card.valid, report_q.qp.valid} == '0;
  assign ready_o = state_q != CLEAR;
  assign busy_o = state_q != CLEAR && state_q != IDLE;
  assign between_o = state_q == IDLE || (state_q == BACK && !next_q);
  assign qpa_wait_o = qpa_wait_q && !(state_q == BACK && kind_q.qpa);
  assign qpa_qp_o = qpa_q.qp;
  assign qp_o = qp_q;
  assign qpn_o = qpn;
  assign cq_o = cfg_q.send_cq;
  assign back_o = state_q == BACK && run;
  always_comb begin
    c_o = c_q;
    c_o.fetching = c_q.fetching || ahead_wake_q;
    c_o.asking = c_q.asking || (ahead_wake_q && !ahead_ok_i);
  end
  assign wake_o = wake_q;
  assign fetch_o = back_o && ahead_wake_q && !ahead_ok_i;

  // ------------------------------------------------------------------------------------ blocks ahead of their turn
  assign ahead_o = ahead_on_q;
  assign ahead_go_o = run;
  assign ahead_index_o = ahead_index_q;
  assign ahead_limit_o = ahead_limit_q;
  assign ahead_wake_o = ahead_wake_q;

  // ------------------------------------------------------------------------------------ a flush, a response arrives
  logic order_re;
  logic [7:0] order_pos;
  logic datagram, reliable;

  assign datagram = cfg_q.kind == dingo_pkg::QPT_UD[2:0] || cfg_q.kind == dingo_pkg::QPT_GSI[2:0];
  assign reliable = !datagram;
  assign flush_o = state_q == FLUSH;
  assign flush_st_o = st_q;
  assign place_len_o = rx_len_q;
  assign rx_o = (kind_q.rxp && state_q != IDLE) || (next_q && next_kind_q.rxp);
  assign cfg_o = cfg_q;
  assign producer_o = c_q.producer;
  assign forget_o = state_q == START && kind_q.qpa && qpa_q.op == rtl_pkg::QPA_CLEAR;

  dingo_req_order u_order (
      .clk_i,
      .rst_ni,
      .run_i(run),
      .start_i(state_q == START && kind_q.rxp),
      .up_i(up),
      .item_i(item_q),
      .opcode_i(rx_opcode_q),
      .len_i(rx_len_q),
      .path_mtu_i(cfg_q.path_mtu),
      .oldest_i(c_q.oldest),
      .sent_i(c_q.sent),
      .ordered_i(c_q.ordered),
      .head_i(c_q.head),
      .tail_i(c_q.tail),
      .valid_o(place_valid_o),
      .ready_i(place_ready_i),
      .data_o(place_data_o),
      .offset_o(place_offset_o),
      .item_o(place_item_o),
      .rec_o(place_rec_o),
      .rec_re_o(order_re),
      .rec_pos_o(order_pos),
      .rec_i(rec)
  );

  // ------------------------------------------------------------------------------------ of the QP
  logic up, empty, has_front;
  logic [31:0] qpn;
  logic [63:0] ack_ns;

  assign up = st_q == dingo_pkg::QPS_RTS[2:0] || st_q == dingo_pkg::QPS_SQD[2:0];
  assign empty = c_q.head == c_q.tail;
  assign has_front = !empty;
  assign qpn = {8'd0, cfg_q.tag, 16'(qp_q)};
  assign ack_ns = now_ns_i + (64'd4096 << cfg_q.timeout);

  // RNR NAK timer, in units of 10 us
  function automatic logic [16:0] rnr_units(input logic [4:0] code);
    case (code)
      5'd0: rnr_units = 17'd65536;
      5'd1: rnr_units = 17'd1;
      5'd2: rnr_units = 17'd2;
      5'd3: rnr_units = 17'd3;
      default: begin  // from 4 on: 4 and 6 times the powers of two
        rnr_units = code[0] ? 17'd6 : 17'd4;
        rnr_units = rnr_units << ((code - 5'd4) >> 1);
      end
    endcase
  endfunction
  logic [63:0] rnr_ns;
  assign rnr_ns = {47'd0, rnr_units(item_q.syndrome[4:0])} * 64'd10000;

  // ------------------------------------------------------------------------------------ of responses
  logic is_ack, is_rnr, is_seq, acked, rec_is_read, rec_waits;
  logic [31:0] rec_end, rx_psn, rx_span, ahead;
  logic ahead_of_send, cursor_lost;    // of what is acknowledged: `send`, and the record of `cursor`

  assign is_ack = item_q.syndrome[7:5] == roce_pkg::AETH_ACK;
  assign is_rnr = item_q.syndrome[7:5] == roce_pkg::AETH_RNR;
  assign is_seq = item_q.syndrome == roce_pkg::SYN_NAK_SEQ;
  assign rec_is_read = rec.opcode == dingo_pkg::WR_READ[7:0] && rec.packets != 24'd0;
  assign rec_waits = rec_is_read && rec.received < rec.packets;
  assign rec_end = rec.first + {8'd0, rec.packets};
  assign rx_span = c_q.sent - c_q.oldest;
  assign ahead = {8'd0, item_q.psn[23:0] - c_q.oldest[23:0]};
  assign rx_psn = c_q.oldest + ahead;
  assign ahead_of_send = rtl_pkg::idx_before(c_q.send, c_q.oldest);
  assign acked = ack_ret_q == RSP_DONE && item_q.kind == req_pkg::IT_ACK && is_ack && complete_q;  // that was all
  assign cursor_lost = ahead_of_send || $signed(c_q.cursor - c_q.head) < 0;

  // ------------------------------------------------------------------------------------ records
  logic rec_re, rec_we;
  logic [7:0] rec_rpos, rec_wpos;
  assign rec = rec_i;
  assign rec_re_o = rec_re;
  assign rec_rpos_o = rec_rpos;
  assign rec_we_o = rec_we;
  assign rec_wpos_o = rec_wpos;
  assign rec_o = rec_wr;
  always_comb begin
    rec_re = 1'b0;
    rec_rpos = c_q.head;
    case (state_q)
      LOAD: begin
        rec_re = 1'b1;
        rec_rpos = same_q ? c_q.head : c_i.head;
      end
      BACK: begin                      // as LOAD
        rec_re = next_q;
        rec_rpos = same_q ? c_q.head : c_i.head;
      end
      ACK_READ, ACK_END, FAIL_READ: rec_re = 1'b1;
      ACK_TEST: begin                  // the one behind it, which is looked at next when this one completes
        rec_re = 1'b1;
        rec_rpos = c_q.head + 8'd1;
      end
      TXERR_FIND: begin
        rec_re = 1'b1;
        rec_rpos = pos_q;
      end
      default: ;
    endcase
    if (!run) rec_re = 1'b0;
    if (state_q == RX) begin
      rec_re = order_re;
      rec_rpos = order_pos;
    end
  end
  logic data_good, rec_next, txerr_here;
  assign rec_next = has_front && rec_waits && item_q.psn == rec.first + {8'd0, rec.received};
  assign data_good = state_q == RSP_DONE && item_q.kind == req_pkg::IT_DATA && complete_q && !commit_err_q && rec_next;
  assign txerr_here = state_q == TXERR_TEST && pos_q != c_q.tail && item_q.psn - rec.first < {8'd0, rec.packets};
  always_comb begin
    rec_we = run && (data_good || txerr_here);
    rec_wpos = c_q.head;
    rec_wr = rec;
    if (state_q == TXERR_TEST) begin
      rec_wpos = pos_q;
      rec_wr.status = dingo_pkg::WCS_LOC_PROT_ERR[7:0];
      rec_wr.verr = dingo_pkg::VERR_BUS[7:0];
    end else rec_wr.received = rec.received + 24'd1;
  end

  // ------------------------------------------------------------------------------------ state of the QP, answers
  logic entering;
  assign entering = state_q == ENTER && run;
  assign state_we_o = entering && !kind_q.qpa && !(to_sqe_q && (peer_failed_q || (fail_valid_i && fail_qp_i == qp_q)));
  assign state_o = to_sqe_q ? dingo_pkg::QPS_SQE[2:0] : dingo_pkg::QPS_ERR[2:0];
  assign fail_valid_o = entering && !to_sqe_q && !kind_q.qpa && !kind_q.fail && st_q != dingo_pkg::QPS_ERR[2:0];
  assign qpa_done_o = state_q == BACK && run && kind_q.qpa;
  assign qpa_info_o.sq_producer = c_q.producer;
  assign qpa_info_o.sq_consumer = info_consumer_q;
  assign qpa_info_o.oldest_psn = c_q.oldest[23:0];
  assign qpa_info_o.sq_psn = c_q.new_psn[23:0];
  assign qpa_info_o.retries_left = c_q.retries;
  assign qpa_info_o.rnr_left = c_q.rnr;
  assign qpa_info_o.draining = qpa_q.ctx.state == dingo_pkg::QPS_SQD[2:0] && !c_q.drained;
  logic [31:0] consumer, info_consumer_q;
  assign consumer = empty ? c_q.next_index : rec.index;  // START: rec is the oldest
  logic db_good, sent_all;
  assign sent_all = c_q.next_index == c_q.producer && c_q.cursor == c_q.tail;
  assign db_good = st_q != dingo_pkg::QPS_RESET[2:0] && db_index_q - consumer <= (32'd1 << cfg_q.log_sq) &&
                   db_index_q - consumer >= c_q.producer - consumer;
  assign db_bad_o = state_q == START && run && kind_q.db && !db_good;

  // ------------------------------------------------------------------------------------ steps
  always_ff @(posedge clk_i) begin
    report_q <= '0;
    if (qpa_valid_i) qpa_q <= qpa_i;
    if (fail_valid_i && fail_qp_i == rec_qp_o) peer_failed_q <= 1'b1;
    if (!rst_ni) begin
      state_q <= CLEAR;
      kind_q <= '0;
      next_q <= 1'b0;
      qpa_wait_q <= 1'b0;
      ahead_on_q <= 1'b0;
    end else begin
      a_ahead: assert (state_q == CLEAR || state_q == IDLE || ahead_on_q == (state_q == BACK && ahead_q));
      if (qpa_valid_i) qpa_wait_q <= 1'b1;
      if (choose) begin
        next_kind_q <= kind_i;
        next_qp_q <= pick_qp_i;
        peer_failed_q <= fail_valid_i && fail_qp_i == pick_qp_i;
        commit_err_q <= commit_i.err;
        if (kind_i.commit) item_q <= item_in;
        else begin
          item_q.kind <= req_pkg::IT_STALE;
          item_q.qp <= 16'(pick_qp_i);
          item_q.psn <= {8'd0, kind_i.rxp ? rxp_i.h.psn : txerr_i.psn};
          item_q.syndrome <= rxp_i.h.syndrome;
        end
        rx_opcode_q <= rxp_i.h.opcode;
        rx_len_q <= rxp_i.h.len;
        txerr_ok_q <= txerr_i.ok;
        db_index_q <= db_i.index;
        if (ending) begin
          next_q <= 1'b1;
          same_q <= pick_qp_i == qp_q;
        end
      end
      if (run) case (state_q)
        CLEAR: if (clear_i) state_q <= IDLE;

        IDLE, BACK: begin
          next_q <= 1'b0;
          wake_q <= 1'b0;
          ahead_q <= 1'b0;
          ahead_on_q <= 1'b0;
          ahead_wake_q <= 1'b0;
          to_sqe_q <= 1'b0;
          state_q <= IDLE;
          c_q.fetching <= c_o.fetching;
          c_q.asking <= c_o.asking;
          if (state_q == BACK && kind_q.qpa) qpa_wait_q <= 1'b0;
          if (next_q) begin
            kind_q <= next_kind_q;
            qp_q <= next_qp_q;
            if (!same_q) c_q <= c_i;
            cfg_q <= qp_rdata_i.cfg;
            st_q <= qp_rdata_i.state;
            state_q <= START;
          end else if (pick_i) begin
            kind_q <= kind_i;
            qp_q <= pick_qp_i;
            same_q <= state_q == BACK && pick_qp_i == qp_q;
            state_q <= LOAD;
          end
        end
        LOAD: begin
          // what is being written back in the cycle of its choice cannot be read yet
          if (!same_q) c_q <= c_i;
          cfg_q <= qp_rdata_i.cfg;
          st_q <= qp_rdata_i.state;
          state_q <= START;
        end
        // -------------------------------------------------------------------------- an event begins
        START: begin
          state_q <= BACK;
          info_consumer_q <= consumer;
          ahead_on_q <= ahead_q && !again;
          pos_q <= c_q.head;
          before_q <= c_q.oldest;
          adv_q <= 1'b1;
          case (kind_q)
            req_pkg::STEP_COMMIT: begin              // a response whose payload is in memory
              ack_ret_q <= RSP_DONE;
              complete_q <= 1'b1;
              ack_psn_q <= item_q.psn;
              status_q <= item_q.status;
              verr_q <= item_q.verr;
              if (!up) begin
                report_q.card <= req_pkg::count_card(6'(dingo_pkg::CARD_RX_DROP_QP_STATE));
              end else if (item_q.kind == req_pkg::IT_STALE || (item_q.kind == req_pkg::IT_ACK ? ahead : item_q.psn - c_q.oldest) >= rx_span) begin
                report_q.card <= req_pkg::count_card(6'(dingo_pkg::CARD_RX_DROP_RESPONSE));
              end else begin
                state_q <= ACK_TEST;   // rec is the oldest
                if (item_q.kind == req_pkg::IT_ACK) begin
                  item_q.psn <= rx_psn;
                  ack_psn_q <= rx_psn;
                  {status_q, verr_q} <= {dingo_pkg::WCS_BAD_RESP_ERR[7:0], dingo_pkg::VERR_BAD_RESPONSE[7:0]};
                  if (is_ack) begin
                    ack_psn_q <= rx_psn + 32'd1;
                    report_q.qp <= req_pkg::count_qp(4'(dingo_pkg::QP_ACKS_RCVD));
                  end else if (is_rnr) begin
                    report_q.card <= req_pkg::count_card(6'(dingo_pkg::CARD_RNR_NAK_RETRY_ERR));
                    report_q.qp <= req_pkg::count_qp(4'(dingo_pkg::QP_RNR_NAK_RCVD));
                  end else if (is_seq) begin
                    report_q.card <= req_pkg::count_card(6'(dingo_pkg::CARD_PACKET_SEQ_ERR));
                    report_q.qp <= req_pkg::count_qp(4'(dingo_pkg::QP_SEQ_NAK_RCVD));
                  end else if (item_q.syndrome == roce_pkg::SYN_NAK_INVALID) begin
                    report_q.card <= req_pkg::count_card(6'(dingo_pkg::CARD_REQ_REMOTE_INVALID_REQUEST));
                    {status_q, verr_q} <= {dingo_pkg::WCS_REM_INV_REQ_ERR[7:0], dingo_pkg::VERR_NAK_INVALID[7:0]};
                  end else if (item_q.syndrome == roce_pkg::SYN_NAK_ACCESS) begin
                    report_q.card <= req_pkg::count_card(6'(dingo_pkg::CARD_REQ_REMOTE_ACCESS_ERRORS));
                    {status_q, verr_q} <= {dingo_pkg::WCS_REM_ACCESS_ERR[7:0], dingo_pkg::VERR_NAK_ACCESS[7:0]};
                  end else if (item_q.syndrome == roce_pkg::SYN_NAK_OP) begin
                    report_q.card <= req_pkg::count_card(6'(dingo_pkg::CARD_REQ_REMOTE_OP_ERRORS));
                    {status_q, verr_q} <= {dingo_pkg::WCS_REM_OP_ERR[7:0], dingo_pkg::VERR_NAK_OP[7:0]};
                  end
                end else if (commit_err_q) begin
                  {status_q, verr_q} <= {dingo_pkg::WCS_LOC_PROT_ERR[7:0], dingo_pkg::VERR_BUS[7:0]};
                end else if (item_q.kind == req_pkg::IT_DATA && item_q.psn == c_q.oldest && rec_next && rec.status == 8'd0) begin
                  state_q <= RSP_DONE; // the next data of the oldest: nothing before it to be acknowledged
                end
              end
            end
            req_pkg::STEP_RXP: state_q <= RX;
            req_pkg::STEP_DB: begin
              if (db_good) begin
                c_q.producer <= db_index_q;
                ahead_limit_q <= req_pkg::fill_limit(db_index_q - (ahead_q ? ahead_index_q : c_q.producer));
                // The first that brings blocks decides: they are fetched at once, with those of the doorbells behind it.
                // When nothing else is to be sent before, a turn comes with them.
                if (!ahead_q) begin
                  ahead_index_q <= c_q.producer;
                  if (st_q == dingo_pkg::QPS_RTS[2:0] && db_index_q != c_q.producer && !c_q.asking) begin
                    ahead_q <= 1'b1;
                    ahead_on_q <= !again;
                    ahead_wake_q <= !c_q.fetching && sent_all;
                  end
                  wake_q <= st_q >= dingo_pkg::QPS_RTS[2:0] && !c_q.fetching && !(st_q == dingo_pkg::QPS_RTS[2:0] && sent_all && db_index_q != c_q.producer);
                end
              end else begin
                report_q.card <= req_pkg::count_card(6'(dingo_pkg::CARD_DB_DROPPED));
              end
              if (again) begin
                db_index_q <= db_i.index;
                state_q <= START;
              end
            end
            req_pkg::STEP_FAIL: if (st_q != dingo_pkg::QPS_RESET[2:0]) state_q <= ENTER;
            req_pkg::STEP_CQ_FAIL:
            if (st_q != dingo_pkg::QPS_RESET[2:0] && st_q != dingo_pkg::QPS_ERR[2:0]) begin
              report_q.ev <= req_pkg::raise(dingo_pkg::EV_QP_FATAL[7:0]);
              state_q <= ENTER;
            end
            req_pkg::STEP_TXERR: begin
              item_q.psn <= rx_psn;
              ack_psn_q <= rx_psn + 32'd1;
              ack_ret_q <= BACK;
              if (up && ahead < rx_span) state_q <= txerr_ok_q ? ACK_READ : TXERR_FIND;
            end
            req_pkg::STEP_DUE: begin
              verr_q <= dingo_pkg::VERR_TIMEOUT[7:0];
              retry_implied_q <= 1'b0;
              if (c_q.wait_at <= now_ns_i) begin
                c_q.wait_at <= NEVER;
                wake_q <= 1'b1;
              end
              if (c_q.ack_at <= now_ns_i) begin
                c_q.ack_at <= NEVER;
                if (up && rtl_pkg::idx_before(c_q.ackreq, c_q.oldest)) begin
                  // the peer owes no answer yet
                  if (rtl_pkg::idx_before(c_q.oldest, c_q.send) && cfg_q.timeout != 5'd0) c_q.ack_at <= ack_ns;
                end else if (up) begin
                  report_q.card <= req_pkg::count_card(6'(dingo_pkg::CARD_LOCAL_ACK_TIMEOUT_ERR));
                  report_q.qp <= req_pkg::count_qp(4'(dingo_pkg::QP_TIMEOUTS));
                  c_q.implied <= 1'b0;
                  state_q <= RETRY;
                end
              end
            end
            req_pkg::STEP_QPA:
            case (qpa_q.op)
              rtl_pkg::QPA_CLEAR: begin
                c_q <= '0;
                c_q.ack_at <= NEVER;
                c_q.wait_at <= NEVER;
                info_consumer_q <= '0;
              end
              rtl_pkg::QPA_MODIFY: begin
                st_q <= qpa_q.ctx.state;
                if (qpa_q.mask[16]) begin  // SQ_PSN
                  c_q.oldest <= {8'd0, qpa_q.ctx.cfg.sq_psn};
                  c_q.send <= {8'd0, qpa_q.ctx.cfg.sq_psn};
                  c_q.sent <= {8'd0, qpa_q.ctx.cfg.sq_psn};
                  c_q.new_psn <= {8'd0, qpa_q.ctx.cfg.sq_psn};
                  c_q.ordered <= {8'd0, qpa_q.ctx.cfg.sq_psn};
                  c_q.ackreq <= {8'd0, qpa_q.ctx.cfg.sq_psn} - 32'd1;
                end
                if (qpa_q.mask[0]) begin   // STATE
                  case (qpa_q.ctx.state)
                    // what was posted before is flushed, not sent
                    dingo_pkg::QPS_RTS[2:0]: state_q <= qpa_q.old_state == dingo_pkg::QPS_SQE[2:0] ? FLUSH : BEGIN_RTS;
                    dingo_pkg::QPS_SQD[2:0]:
                    if (qpa_q.old_state != dingo_pkg::QPS_SQD[2:0] || !c_q.drained) begin
                      c_q.drained <= empty;
                      if (empty && qpa_q.ctx.cfg.sqd_notify) begin
                        report_q.ev <= req_pkg::raise(dingo_pkg::EV_SQ_DRAINED[7:0]);
                      end
                    end
                    dingo_pkg::QPS_ERR[2:0]: if (qpa_q.old_state != dingo_pkg::QPS_ERR[2:0]) state_q <= ENTER;
                    default: ;
                  endcase
                end
              end
              default: ;
            endcase
            req_pkg::STEP_FETCH: begin             // there is room to ask for the WQE that comes next
              c_q.fetching <= 1'b0;
              c_q.asking <= 1'b0;
              ahead_index_q <= c_q.next_index;
              ahead_limit_q <= req_pkg::fill_limit(c_q.producer - c_q.next_index);
              if (st_q == dingo_pkg::QPS_RTS[2:0] && c_q.next_index != c_q.producer && c_q.cursor == c_q.tail) begin
                ahead_q <= 1'b1;
                ahead_on_q <= 1'b1;
                ahead_wake_q <= 1'b1;
              end else wake_q <= st_q >= dingo_pkg::QPS_RTS[2:0];
            end
            default: begin             // a turn completed something without a packet
              adv_q <= 1'b0;
              ack_psn_q <= c_q.oldest;
              ack_ret_q <= BACK;
              state_q <= ACK_READ;
            end
          endcase
        end
        BEGIN_RTS: begin
          c_q.retries <= cfg_q.retry_cnt;
          c_q.rnr <= cfg_q.rnr_retry;
          c_q.drained <= 1'b0;
          c_q.down <= 1'b0;
          wake_q <= 1'b1;
          state_q <= BACK;
        end

        // -------------------------------------------------------------------------- what is before ack_psn_q is acknowledged
        ACK_READ: state_q <= ACK_TEST;
        ACK_TEST: begin
          complete_q <= 1'b1;
          state_q <= ACK_END;
          if (has_front) begin
            if (rec.status != 8'd0) begin
              status_q <= rec.status;
              verr_q <= rec.verr;
              state_q <= FAIL_READ;
            end else if (rec_waits) begin
              complete_q <= !rtl_pkg::idx_before(rec.first + {8'd0, rec.received}, ack_psn_q);
            end else if (rtl_pkg::idx_before(ack_psn_q, rec_end)) begin
              if (rtl_pkg::idx_before(c_q.oldest, ack_psn_q)) c_q.oldest <= ack_psn_q;
            end else begin
              c_q.oldest <= rec_end;
              c_q.head <= c_q.head + 8'd1;
              if (rec_is_read) c_q.reads <= c_q.reads - 5'd1;
              if (rec.signaled) begin
                report_q.cqe <= req_pkg::cqe(rec.index, rec_is_read ? rec.length : 32'd0, rec.opcode, 8'd0, 8'd0);
                report_q.qp <= req_pkg::count_qp(4'(dingo_pkg::QP_SEND_CQES));
              end
              // What lies behind is not completed by this, unless it has no packet or has failed.
              state_q <= rec_end == ack_psn_q && !c_q.odd ? ACK_END : ACK_TEST;
            end
          end
        end
        ACK_END: begin
          if (ahead_of_send) begin     // went back further than needed
            c_q.send <= c_q.oldest;
            c_q.read_psns <= '0;
          end
          if (cursor_lost) c_q.cursor <= c_q.head;
          if (adv_q && c_q.oldest != before_q) begin
            c_q.retries <= cfg_q.retry_cnt;
            c_q.rnr <= cfg_q.rnr_retry;
            c_q.implied <= 1'b0;
            c_q.ack_at <= reliable && rtl_pkg::idx_before(c_q.oldest, c_q.send) && cfg_q.timeout != 5'd0 ? ack_ns : NEVER;
            if (st_q == dingo_pkg::QPS_SQD[2:0] && !c_q.drained && empty) begin
              c_q.drained <= 1'b1;
              if (cfg_q.sqd_notify) begin
                report_q.ev <= req_pkg::raise(dingo_pkg::EV_SQ_DRAINED[7:0]);
              end
            end
            if ((cursor_lost ? c_q.head : c_q.cursor) != c_q.tail || c_q.next_index != c_q.producer) wake_q <= !c_q.fetching;
          end
          state_q <= ack_ret_q;
          if (acked) state_q <= BACK;
          if (empty) c_q.odd <= 1'b0;
        end

        // -------------------------------------------------------------------------- responses: behind the acknowledgement
        RSP_DONE: begin
          state_q <= BACK;
          retry_implied_q <= 1'b0;
          case (item_q.kind)
            req_pkg::IT_ACK:
            if (!complete_q) state_q <= IMPLIED;
            else if (is_rnr) begin
              if (rtl_pkg::idx_before(item_q.psn, c_q.send)) begin  // else it waits already
                if (cfg_q.rnr_retry != 3'd7 && c_q.rnr == 3'd0) begin
                  report_q.card <= req_pkg::count_card(6'(dingo_pkg::CARD_REQ_RNR_RETRIES_EXCEEDED));
                  {status_q, verr_q} <= {dingo_pkg::WCS_RNR_RETRY_EXC_ERR[7:0], dingo_pkg::VERR_RNR[7:0]};
                  state_q <= FAIL_READ;
                end else begin
                  if (cfg_q.rnr_retry != 3'd7) c_q.rnr <= c_q.rnr - 3'd1;
                  state_q <= GO_BACK;
                  c_q.wait_at <= now_ns_i + rnr_ns;
                end
              end
            end else if (is_seq) begin
              verr_q <= dingo_pkg::VERR_NAK_SEQ[7:0];
              if (rtl_pkg::idx_before(item_q.psn, c_q.send)) state_q <= RETRY;  // else on its way already
            end else if (!is_ack) state_q <= FAIL_READ;
            req_pkg::IT_BAD: if (complete_q) state_q <= FAIL_READ;
            req_pkg::IT_FAULT: state_q <= complete_q ? FAIL_READ : IMPLIED;
            req_pkg::IT_DATA:
            if (!complete_q) state_q <= IMPLIED;
            else if (commit_err_q) state_q <= FAIL_READ;
            else if (data_good) begin
              if (c_q.read_psns != 24'd0) c_q.read_psns <= c_q.read_psns - 24'd1;
              c_q.oldest <= item_q.psn + 32'd1;
              before_q <= item_q.psn;
              ack_psn_q <= item_q.psn + 32'd1;
              ack_ret_q <= BACK;
              state_q <= rec.received + 24'd1 == rec.packets ? ACK_READ : ACK_END;
            end else begin
              report_q.card <= req_pkg::count_card(6'(dingo_pkg::CARD_RX_DROP_RESPONSE));
            end
            default:                   // req_pkg::IT_SKIP
            if (!complete_q) state_q <= IMPLIED;
            else begin
              report_q.card <= req_pkg::count_card(6'(dingo_pkg::CARD_RX_DROP_RESPONSE));
            end
          endcase
        end
        IMPLIED:
        // Responses behind the lost one keep coming: one of them is enough.
        if (c_q.implied || !rtl_pkg::idx_before(c_q.oldest, c_q.send)) state_q <= BACK;
        else begin
          report_q.card <= req_pkg::count_card(6'(dingo_pkg::CARD_IMPLIED_NAK_SEQ_ERR));
          verr_q <= dingo_pkg::VERR_NAK_SEQ[7:0];
          retry_implied_q <= 1'b1;
          state_q <= RETRY;
        end
        GO_BACK: begin                 // everything from the oldest PSN on is sent again
          c_q.cursor <= c_q.head;
          c_q.send <= c_q.oldest;
          c_q.read_psns <= '0;
          c_q.since_ackreq <= '0;
          c_q.ackreq <= c_q.oldest - 32'd1;
          c_q.ack_at <= NEVER;         // starts with the first repeated packet
          wake_q <= 1'b1;
          state_q <= BACK;
        end
        RETRY:
        if (c_q.retries != 3'd0) begin
          c_q.retries <= c_q.retries - 3'd1;
          if (retry_implied_q) c_q.implied <= 1'b1;
          state_q <= GO_BACK;
        end else begin
          report_q.card <= req_pkg::count_card(6'(dingo_pkg::CARD_REQ_TRANSPORT_RETRIES_EXCEEDED));
          status_q <= dingo_pkg::WCS_RETRY_EXC_ERR[7:0];
          state_q <= FAIL_READ;
        end

        // -------------------------------------------------------------------------- the oldest WQE failed
        FAIL_READ: state_q <= FAIL;
        FAIL: begin
          state_q <= BACK;
          if (has_front) begin
            report_q.cqe <= req_pkg::cqe(rec.index, 32'd0, rec.opcode, status_q, verr_q);
            report_q.qp <= req_pkg::count_qp(4'(dingo_pkg::QP_SEND_CQES));
            report_q.card <= req_pkg::count_card(6'(dingo_pkg::CARD_REQ_CQE_ERROR));
            c_q.next_index <= rec.index + {28'd0, rec.blocks};  // the flush begins there
            c_q.head <= c_q.tail;
            to_sqe_q <= datagram;
            state_q <= ENTER;
          end
        end
        ENTER: begin
          if (has_front) c_q.next_index <= rec.index;
          c_q.head <= c_q.tail;
          c_q.cursor <= c_q.tail;
          c_q.halted <= 1'b0;
          c_q.down <= 1'b1;
          c_q.wait_at <= NEVER;
          c_q.read_psns <= '0;
          if (to_sqe_q) begin          // an interrupted message leaves no gap behind
            c_q.new_psn <= c_q.send;
            c_q.sent <= c_q.send;
            c_q.oldest <= c_q.send;
          end else begin
            c_q.send <= c_q.oldest;
            c_q.reads <= '0;
            c_q.ack_at <= NEVER;
          end
          wake_q <= 1'b1;
          state_q <= BACK;
        end
        TXERR_FIND: state_q <= pos_q == c_q.tail ? BACK : TXERR_TEST;
        TXERR_TEST: begin
          pos_q <= pos_q + 8'd1;
          state_q <= TXERR_FIND;
          if (txerr_here) begin        // as if it had been found when the packet was made
            c_q.halted <= 1'b1;
            c_q.odd <= 1'b1;
            if ($signed(c_q.cursor - pos_q) >= 0 && rtl_pkg::idx_before(item_q.psn, c_q.send)) begin
              c_q.cursor <= pos_q;
              c_q.send <= item_q.psn;
            end
            adv_q <= 1'b0;
            ack_psn_q <= c_q.oldest;
            state_q <= ACK_READ;
          end
        end

        // -------------------------------------------------------------------------- a response arrives
        RX:
        if (place_valid_o && place_ready_i) begin
          // When it finds no place after all, the QP fails before anything behind it counts.
          if (place_data_o) c_q.ordered <= place_item_o.psn + 32'd1;
          state_q <= BACK;
        end

        // -------------------------------------------------------------------------- what was posted is flushed
        FLUSH:
        if (flushed_i) begin
          c_q <= flushed_c_i;
          state_q <= BEGIN_RTS;
        end
        default: state_q <= BACK;
      endcase
    end
  end

  wire unused_ok = &{1'b0, commit_i.item, rxp_i, txerr_i, qpa_q, cfg_q};
endmodule
