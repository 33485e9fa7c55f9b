// SPDX-License-Identifier: BSD-2-Clause

/// The steps of the requester: a step handles one event of one QP. No step waits for the wire or for another QP;
/// turns of other QPs go on meanwhile (dingo_req_turn). dingo_req_pick has the next step while its context, QP and
/// record come from the memories, dingo_req_back the context of the last one while it goes back: a step takes one
/// cycle here, and one for each further phase. It stands still without room for reports (room_i), and while a context
/// waits to go back. Registers and the order of phases are here; what a phase does, in dingo_req_event, _ack, _retry
/// and _fail, which are combinational, and in dingo_req_order.
module dingo_req_step (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        clear_i,       // the memories that reset clears are clear
    output logic        idle_o,        // between two steps, and nothing on its way out
    output logic        ready_o,       // cleared after reset
    input  logic [63:0] now_ns_i,
    // what comes next; see dingo_req_sched
    input  logic        pick_i,
    output logic        take_o,
    output logic        read_o,        // context and QP of the next step, for the next cycle
    output rtl_pkg::qpi_t        read_qp_o,
    output logic        busy_o,        // a step of qp_o is in work, also in its last cycle
    output logic        next_o,        // the next step is chosen: next_qp_o
    output rtl_pkg::qpi_t        next_qp_o,
    output logic        keep_o,        // it does not begin in this cycle: the memories keep their answers
    output logic        rx_o,          // the step in work, or the next one, is of a READ response
    input  req_pkg::step_t       kind_i,
    input  rtl_pkg::qpi_t        pick_qp_i,
    input  rtl_pkg::commit_t     commit_i,
    input  rtl_pkg::rxp_t        rxp_i,
    input  logic        db_valid_i,    // a doorbell waits: db_i
    input  rtl_pkg::qdb_t        db_i,
    output logic        db_next_o,     // db_i is of the QP in work, and is taken in the same step
    output logic        db_bad_o,
    input  logic        commit_valid_i,
    output logic        commit_next_o, // commit_i is of the QP in work, and is taken in the same step
    input  rtl_pkg::txerr_t      txerr_i,
    input  logic        fail_valid_i,
    input  rtl_pkg::qpi_t        fail_qp_i,
    output logic        fail_valid_o,
    input  logic        qpa_valid_i,
    input  rtl_pkg::qpa_req_t    qpa_i,
    output logic        qpa_wait_o,    // a command waits for its step
    output rtl_pkg::qpi_t        qpa_qp_o,
    output logic        qpa_done_o,
    output rtl_pkg::req_info_t   qpa_info_o,
    // the QP of this step
    output rtl_pkg::qpi_t        qp_o,
    input  rtl_pkg::qp_t         qp_rdata_i,
    output logic        state_we_o,
    output rtl_pkg::qps_t        state_o,
    // a context that goes back; see dingo_req_store
    output logic        back_valid_o,  // in this cycle (back_o), or in the next: the turn's goes first
    output rtl_pkg::qpi_t        back_qp_o,
    output req_pkg::back_t   back_o,
    input  logic        turn_back_i,
    output logic        fetch_o,       // there was no room to ask for back_qp_o's WQE: again later
    output logic        asks_o,        // the step in work, or the next one, may ask for blocks, and use the room
    input  req_pkg::ctx_t    c_i,
    output logic        between_o,     // no step uses a record
    input  logic        hold_i,        // a turn waits to read records: choose no next step
    output rtl_pkg::qpi_t        rec_qp_o,      // of a read
    output req_pkg::rec_access_t rec_access_o,
    input  req_pkg::rec_t    rec_i,
    // dingo_req_reads
    output logic        look_o,        // the record that is read is the one that READ data may answer
    input  logic        here_i,
    output logic        data_o,        // a READ response does, and no more is to be done for it here
    output logic [31:0] data_psn_o,
    output logic [12:0] data_len_o,
    output logic [31:0] data_offset_o,
    // dingo_req_wqes
    output rtl_pkg::qp_cfg_t     cfg_o,
    output logic [31:0] producer_o,
    output logic        forget_o,
    output req_pkg::ahead_t  ahead_o,       // a doorbell's blocks, with the context that goes back
    output rtl_pkg::qp_cfg_t     ahead_cfg_o,
    input  logic        ahead_ok_i,    // in this cycle
    // dingo_req_turn: all that was posted is flushed
    output logic        flush_o,
    output rtl_pkg::qps_t        flush_st_o,
    output req_pkg::ctx_t    flush_c_o,
    input  logic        flushed_i,
    input  req_pkg::ctx_t    flushed_c_i,
    // dingo_req_out
    input  logic        room_i,
    output req_pkg::report_t     report_o,      // of back_qp_o
    output logic [31:0] report_qpn_o,
    output rtl_pkg::cqi_t        report_cq_o,
    // a READ response and the record that it answers; see dingo_req_place
    output logic        place_valid_o,
    input  logic        place_ready_i,
    output req_pkg::place_t  place_o
);
  localparam int unsigned QP = rtl_pkg::QP_LOG;

  // ------------------------------------------------------------------------------------ registers
  req_pkg::step_t kind_q;
  logic [QP-1:0] qp_q;
  req_pkg::work_t w_q, w_d, event_w, ack_w, retry_w, fail_w;
  req_pkg::ctx_t c_q, c_d, event_c, ack_c, retry_c, fail_c;
  req_pkg::report_t report, event_report, ack_report, retry_report, fail_report;
  req_pkg::rec_t rec_wr;
  req_pkg::item_t item_in;
  rtl_pkg::qp_cfg_t cfg_q;
  logic commit_err_q, txerr_ok_q;
  rtl_pkg::gen_t txerr_gen_q;
  logic [7:0] rx_opcode_q;
  logic [12:0] rx_len_q;
  logic [63:0] rx_word_q;              // of an ATOMIC ACK
  logic qpa_wait_q, qpa_back_q;
  rtl_pkg::qpa_req_t qpa_q;
  logic peer_failed_q;
  logic run, ending, over, again, again_commit, commit_done, idle, starting, event_db_bad, acked, data_good, txerr_here;

  assign idle = w_q.phase == req_pkg::PH_IDLE;
  assign starting = w_q.phase == req_pkg::PH_START;
  // A step goes on when all reports of a phase have room, and the context of the step before has gone back.
  assign run = room_i && !back_wait;
  // Doorbells of one QP come in runs, as its completions do: one step takes them, and checks each alone.
  assign again = starting && kind_q.db && db_valid_i && db_i.qp == qp_q;
  assign db_next_o = again && run;
  // Items of one QP come in runs, too: READs leave in turns.
  assign again_commit = commit_done && commit_valid_i && item_in.qp == 16'(qp_q);
  assign commit_next_o = again_commit && run;
  assign db_bad_o = run && event_db_bad;
  // The last cycle of a step, where that is known early: the next step begins in the next cycle.
  assign ending = run && !again && !again_commit &&
      (starting ? kind_q.db || kind_q.fetch || (kind_q.rxp && plain) || commit_done : acked);
  assign over = run && w_d.phase == req_pkg::PH_BACK;
  assign item_in = commit_i.item[req_pkg::ITEM_W-1:0];
  assign idle_o = idle && !next && !back_valid_o &&
                  {report_o.cqe.valid, report_o.ev.valid, report_o.card.valid, report_o.qp.valid} == '0;
  assign ready_o = w_q.phase != req_pkg::PH_CLEAR;
  assign busy_o = ready_o && !idle;
  assign between_o = idle && !next;
  assign qpa_wait_o = qpa_wait_q;
  assign qpa_qp_o = qpa_q.qp;
  assign qp_o = qp_q;
  assign cfg_o = cfg_q;
  assign producer_o = c_q.producer;

  // ------------------------------------------------------------------------------------ the next step, the last step
  req_pkg::chosen_t pick, next_step;
  logic next, begins, same, next_failed, back_wait;
  always_comb begin
    pick.kind = kind_i;
    pick.item = item_in;
    if (!kind_i.commit) begin
      pick.item.kind = req_pkg::IT_STALE;
      pick.item.qp = 16'(pick_qp_i);
      pick.item.psn = {8'd0, kind_i.rxp ? rxp_i.h.psn : txerr_i.psn};
      pick.item.syndrome = rxp_i.h.syndrome;
    end
    pick.commit_err = commit_i.err;
    pick.txerr_ok = txerr_i.ok;
    pick.txerr_gen = txerr_i.gen;
    pick.db_index = db_i.index;
    pick.db_pushed = db_i.pushed;
  end
  assign next_o = next;
  assign keep_o = next && !begins;
  assign asks_o = (next && (next_step.kind.db || next_step.kind.fetch)) || (!idle && (kind_q.db || kind_q.fetch)) || ahead_o.valid;
  assign rec_qp_o = begins ? next_qp_o : qp_q;
  dingo_req_pick u_pick (
      .clk_i, .rst_ni, .run_i(run && ready_o), .pick_i, .chosen_i(pick), .pick_qp_i, .take_o, .read_o, .read_qp_o, .idle_i(idle),
      .ending_i(ending), .over_i(over),
      .again_i(again || again_commit), .step_qp_i(qp_q), .step_rxp_i(kind_q.rxp && !idle), .back_i(back_valid_o),
      .back_qp_i(back_qp_o), .hold_i, .fail_valid_i, .fail_qp_i, .valid_o(next), .begins_o(begins), .same_o(same),
      .rxp_o(rx_o), .qp_o(next_qp_o), .chosen_o(next_step), .peer_failed_o(next_failed));
  dingo_req_back u_back (
      .clk_i, .rst_ni, .run_i(run), .report_i(report), .qp_i(qp_q), .cfg_i(cfg_q), .over_i(over), .c_i(c_d), .w_i(w_d),
      .turn_back_i, .valid_o(back_valid_o), .qp_o(back_qp_o), .back_o, .wait_o(back_wait), .ahead_o, .ahead_cfg_o,
      .ahead_ok_i, .fetch_o, .report_o, .qpn_o(report_qpn_o), .cq_o(report_cq_o));

  // ------------------------------------------------------------------------------------ a flush, a response arrives
  logic order_re, plain, plain_last;
  logic [7:0] order_pos, order_next;

  assign flush_o = w_q.phase == req_pkg::PH_FLUSH;
  assign flush_st_o = w_q.st;
  assign flush_c_o = c_q;
  assign data_o = starting && run && kind_q.rxp && plain;
  assign data_psn_o = c_q.ordered;
  assign data_len_o = rx_len_q;
  assign place_o.len = rx_len_q;
  assign place_o.atomic = rx_opcode_q == roce_pkg::RC_ATOMIC_ACK;
  assign place_o.word = rx_word_q;
  assign forget_o = starting && kind_q.qpa && qpa_q.op == rtl_pkg::QPA_CLEAR;

  dingo_req_order u_order (
      .clk_i,
      .rst_ni,
      .run_i(run),
      .start_i(starting && kind_q.rxp && !plain),
      .up_i(w_q.st == dingo_pkg::QPS_RTS[2:0] || w_q.st == dingo_pkg::QPS_SQD[2:0]),
      .item_i(w_q.item),
      .opcode_i(rx_opcode_q),
      .len_i(rx_len_q),
      .path_mtu_i(cfg_q.path_mtu),
      .oldest_i(c_q.oldest),
      .sent_i(c_q.sent),
      .ordered_i(c_q.ordered),
      .head_i(c_q.head),
      .tail_i(c_q.tail),
      .data_at_i(c_q.data_at),
      .here_i,
      .plain_o(plain),
      .plain_last_o(plain_last),
      .plain_offset_o(data_offset_o),
      .valid_o(place_valid_o),
      .ready_i(place_ready_i),
      .data_o(place_o.data),
      .offset_o(place_o.offset),
      .item_o(place_o.item),
      .rec_o(place_o.rec),
      .rec_re_o(order_re),
      .rec_pos_o(order_pos),
      .next_pos_o(order_next),
      .rec_i
  );

  // ------------------------------------------------------------------------------------ what a phase does
  dingo_req_event u_event (
      .w_i(w_q), .c_i(c_q), .cfg_i(cfg_q), .kind_i(kind_q), .rec_i, .now_ns_i, .commit_err_i(commit_err_q),
      .txerr_ok_i(txerr_ok_q), .txerr_late_i(txerr_gen_q != c_q.gen), .qpa_i(qpa_q), .again_i(again), .db_index_i(db_i.index), .db_pushed_i(db_i.pushed),
      .w_o(event_w), .c_o(event_c), .report_o(event_report), .db_bad_o(event_db_bad), .done_o(commit_done));
  dingo_req_ack u_ack (
      .w_i(w_q), .c_i(c_q), .cfg_i(cfg_q), .rec_i, .now_ns_i, .w_o(ack_w), .c_o(ack_c), .report_o(ack_report), .over_o(acked));
  dingo_req_retry u_retry (
      .w_i(w_q), .c_i(c_q), .cfg_i(cfg_q), .rec_i, .now_ns_i, .commit_err_i(commit_err_q),
      .w_o(retry_w), .c_o(retry_c), .report_o(retry_report), .data_good_o(data_good));
  dingo_req_fail u_fail (
      .w_i(w_q), .c_i(c_q), .reliable_i(cfg_q.kind == dingo_pkg::QPT_RC[2:0]), .rec_i,
      .w_o(fail_w), .c_o(fail_c), .report_o(fail_report), .found_o(txerr_here));

  // ------------------------------------------------------------------------------------ records
  logic rec_re;
  logic [7:0] rec_rpos, rec_wpos, load_pos;
  // The oldest record; for a READ response the one that it is likely to answer
  req_pkg::ctx_t c_next;
  assign c_next = same ? back_o.c : c_i;
  assign load_pos = next_step.kind.rxp ? c_next.data_at : c_next.head;
  assign look_o = begins;
  assign rec_access_o.re = begins || rec_re;
  assign rec_access_o.rpos = begins ? load_pos : rec_rpos;
  always_comb begin
    rec_re = 1'b0;
    rec_rpos = c_q.head;
    case (w_q.phase)
      req_pkg::PH_START: begin         // the next record, for the item that the same step takes
        rec_re = again_commit;
        rec_rpos = c_q.head + 8'd1;
      end
      req_pkg::PH_ACK_READ, req_pkg::PH_ACK_END, req_pkg::PH_FAIL_READ: rec_re = 1'b1;
      req_pkg::PH_ACK_TEST: begin      // the next record: tested next when this one completes
        rec_re = 1'b1;
        rec_rpos = c_q.head + 8'd1;
      end
      req_pkg::PH_TXERR_FIND: begin
        rec_re = 1'b1;
        rec_rpos = w_q.pos;
      end
      default: ;
    endcase
    if (!run) rec_re = 1'b0;
    if (w_q.phase == req_pkg::PH_RX) begin
      rec_re = order_re;
      rec_rpos = order_pos;
    end
  end
  assign rec_access_o.we = run && (data_good || txerr_here);
  assign rec_access_o.wpos = rec_wpos;
  assign rec_access_o.rec = rec_wr;
  always_comb begin
    rec_wpos = c_q.head;
    rec_wr = rec_i;
    if (w_q.phase == req_pkg::PH_TXERR_TEST) begin
      rec_wpos = w_q.pos;
      rec_wr.status = dingo_pkg::WCS_LOC_PROT_ERR[7:0];
      rec_wr.verr = dingo_pkg::VERR_BUS[7:0];
    end else rec_wr.received = rec_i.received + 24'd1;
  end

  // ------------------------------------------------------------------------------------ state of the QP, answers
  logic entering;
  assign entering = w_q.phase == req_pkg::PH_ENTER && run;
  assign state_we_o = entering && !kind_q.qpa && !(w_q.to_sqe && (peer_failed_q || (fail_valid_i && fail_qp_i == qp_q)));
  assign state_o = w_q.to_sqe ? dingo_pkg::QPS_SQE[2:0] : dingo_pkg::QPS_ERR[2:0];
  assign fail_valid_o = entering && !w_q.to_sqe && !kind_q.qpa && !kind_q.fail && w_q.st != dingo_pkg::QPS_ERR[2:0];
  assign qpa_done_o = qpa_back_q && back_o.valid;
  assign qpa_info_o.sq_producer = back_o.c.producer;
  assign qpa_info_o.sq_consumer = w_q.info_consumer;
  assign qpa_info_o.oldest_psn = back_o.c.oldest[23:0];
  assign qpa_info_o.sq_psn = back_o.c.new_psn[23:0];
  assign qpa_info_o.retries_left = back_o.c.retries;
  assign qpa_info_o.rnr_left = back_o.c.rnr;
  assign qpa_info_o.draining = qpa_q.ctx.state == dingo_pkg::QPS_SQD[2:0] && !back_o.c.drained;

  // ------------------------------------------------------------------------------------ phases
  always_comb begin
    w_d = w_q;
    c_d = c_q;
    report = '0;
    case (w_q.phase)
      req_pkg::PH_CLEAR: if (clear_i) w_d.phase = req_pkg::PH_IDLE;
      req_pkg::PH_IDLE: ;
      req_pkg::PH_START, req_pkg::PH_BEGIN_RTS: begin
        w_d = event_w;
        c_d = event_c;
        report = event_report;
        if (data_o) begin
          c_d.ordered = c_q.ordered + 32'd1;
          c_d.data_at = c_q.data_at + {7'd0, plain_last};
          w_d.phase = req_pkg::PH_BACK;
        end
        if (again_commit) begin
          w_d.item = item_in;
          w_d.phase = req_pkg::PH_START;
        end
      end
      req_pkg::PH_ACK_READ: w_d.phase = req_pkg::PH_ACK_TEST;
      req_pkg::PH_ACK_TEST, req_pkg::PH_ACK_END: begin
        w_d = ack_w;
        c_d = ack_c;
        report = ack_report;
      end
      req_pkg::PH_RSP_DONE, req_pkg::PH_IMPLIED, req_pkg::PH_GO_BACK, req_pkg::PH_RETRY: begin
        w_d = retry_w;
        c_d = retry_c;
        report = retry_report;
      end
      req_pkg::PH_FAIL_READ: w_d.phase = req_pkg::PH_FAIL;
      req_pkg::PH_TXERR_FIND: w_d.phase = w_q.pos == c_q.tail ? req_pkg::PH_BACK : req_pkg::PH_TXERR_TEST;
      req_pkg::PH_FAIL, req_pkg::PH_ENTER, req_pkg::PH_TXERR_TEST: begin
        w_d = fail_w;
        c_d = fail_c;
        report = fail_report;
      end
      req_pkg::PH_RX:
      if (place_valid_o && place_ready_i) begin
        // If dingo_req_place finds no place for the data, the QP fails before anything behind it counts.
        if (place_o.data) begin
          c_d.ordered = place_o.item.psn + 32'd1;
          c_d.data_at = order_next;
        end
        w_d.phase = req_pkg::PH_BACK;
      end
      req_pkg::PH_FLUSH:
      if (flushed_i) begin
        c_d = flushed_c_i;
        w_d.phase = req_pkg::PH_BEGIN_RTS;
      end
      default: w_d.phase = req_pkg::PH_BACK;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (qpa_valid_i) qpa_q <= qpa_i;
    if (fail_valid_i && fail_qp_i == qp_q) peer_failed_q <= 1'b1;
    // One READ response at a time is in a step.
    if (take_o && kind_i.rxp) begin
      rx_opcode_q <= rxp_i.h.opcode;
      rx_len_q <= rxp_i.h.len;
      rx_word_q <= rxp_i.h.swap_add;
    end
    if (run) begin
      w_q <= w_d;
      c_q <= c_d;
      if (over) w_q.phase <= req_pkg::PH_IDLE;
      if (commit_next_o) commit_err_q <= commit_i.err;
      if (begins) begin
        kind_q <= next_step.kind;
        qp_q <= next_qp_o;
        c_q <= c_next;
        cfg_q <= qp_rdata_i.cfg;
        peer_failed_q <= next_failed;
        commit_err_q <= next_step.commit_err;
        txerr_ok_q <= next_step.txerr_ok;
        txerr_gen_q <= next_step.txerr_gen;
        w_q.st <= qp_rdata_i.state;
        w_q.phase <= req_pkg::PH_START;
        w_q.wake <= 1'b0;
        w_q.ahead <= 1'b0;
        w_q.ahead_on <= 1'b0;
        w_q.ahead_wake <= 1'b0;
        w_q.to_sqe <= 1'b0;
        w_q.item <= next_step.item;
        w_q.db_index <= next_step.db_index;
        w_q.db_pushed <= next_step.db_pushed;
      end
    end
    if (!rst_ni) begin
      w_q.phase <= req_pkg::PH_CLEAR;
      kind_q <= '0;
      qpa_wait_q <= 1'b0;
      qpa_back_q <= 1'b0;
    end else begin
      if (take_o && kind_i.qpa) qpa_wait_q <= 1'b0;
      if (qpa_valid_i) qpa_wait_q <= 1'b1;
      if (over) qpa_back_q <= kind_q.qpa;
      else if (back_o.valid) qpa_back_q <= 1'b0;
      a_ending: assert (!ending || over);
      a_same: assert (!(begins && same && back_valid_o) || back_qp_o == next_qp_o);
    end
  end

  wire unused_ok = &{1'b0, commit_i.word, commit_i.item, rxp_i, txerr_i, qpa_q, cfg_q, event_w, ack_w, retry_w, fail_w};
endmodule
