// SPDX-License-Identifier: BSD-2-Clause

/// Requester of all QPs: send queues to request packets; ACKs, NAKs and READ data to completions; loss recovery,
/// timers, flushing. Each event is a step (dingo_req_step), one after the other; at the same time another QP may have
/// its turn (dingo_req_turn), which sends. A packet is started only when tx_room_i is set, so none waits for the wire
/// half-way. Latencies and interlocks: docs/reference/rtl/requester.md.
module dingo_requester (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        halt_tx_i,       // start no packet and no flush; deadlines wait
    output logic        tx_idle_o,       // no packet and no flush is in work
    output logic        idle_o,          // no event waits, nothing is in work; deadlines do not count
    output logic        due_o,           // a deadline may have passed
    output logic        work_o,          // a QP is ready for a turn
    output logic        timer_valid_o,   // a timer runs
    output logic [63:0] timer_next_o,    // no timer fires before this time
    input  logic [63:0] now_ns_i,
    input  logic        xl_flush_i,
    input  logic        resume_i,        // one cycle: a paused region may have been resumed or destroyed
    input  logic [15:0] port_mtu_i,
    input  logic [(1<<rtl_pkg::GID_LOG)-1:0] gid_valid_i,
    // events
    input  logic        db_valid_i,
    output logic        db_ready_o,
    input  rtl_pkg::qdb_t        db_i,
    output logic        db_bad_o,        // one cycle: the doorbell's index is impossible for the ring (counted here)
    input  logic        push_valid_i,    // blocks of send queues; see dingo_push
    output logic        push_ready_o,
    input  rtl_pkg::push_t       push_i,
    input  logic        rxp_valid_i,     // responses
    output logic        rxp_ready_o,
    input  rtl_pkg::rxp_t        rxp_i,
    input  logic        commit_valid_i,
    output logic        commit_ready_o,
    input  rtl_pkg::commit_t     commit_i,
    input  logic        txerr_valid_i,
    output logic        txerr_ready_o,
    input  rtl_pkg::txerr_t      txerr_i,
    input  logic        cq_fail_valid_i, // always taken
    input  rtl_pkg::qpi_t        cq_fail_qp_i,
    input  logic        fail_valid_i,    // the responder moved this QP to ERR; always taken
    input  rtl_pkg::qpi_t        fail_qp_i,
    output logic        fail_valid_o,    // one cycle: this QP has entered ERR
    output rtl_pkg::qpi_t        fail_qp_o,
    input  logic        qpa_valid_i,
    input  rtl_pkg::qpa_req_t    qpa_i,
    output logic        qpa_done_o,
    output rtl_pkg::req_info_t   qpa_info_o,
    // tables
    output logic        qp_re_o,
    output rtl_pkg::qpi_t        qp_raddr_o,
    input  rtl_pkg::qp_t         qp_rdata_i,
    output logic        state_we_o,
    output rtl_pkg::qpi_t        state_index_o,
    output rtl_pkg::qps_t        state_o,
    output logic        mr_valid_o,
    output rtl_pkg::mr_req_t     mr_o,
    input  logic        mr_rsp_valid_i,
    input  rtl_pkg::mr_rsp_t     mr_rsp_i,
    output logic        mrw_valid_o,     // dingo_mr_work
    output rtl_pkg::mrw_req_t    mrw_o,
    input  logic        mrw_done_i,
    input  rtl_pkg::mrw_rsp_t    mrw_rsp_i,
    input  rtl_pkg::flow_t       flow_i, // for dingo_req_settle
    // packets
    input  logic        tx_room_i,
    output logic        txd_valid_o,
    input  logic        txd_ready_i,
    output rtl_pkg::txd_t        txd_o,
    output logic        seg_valid_o,
    input  logic        seg_ready_i,
    output rtl_pkg::seg_t        seg_o,
    output logic        inl_valid_o,
    input  logic        inl_ready_i,
    output rtl_pkg::beat_t       inl_o,
    // payload of responses
    input  logic        scat_room_i,     // dingo_scatter takes 22 orders without waiting; a packet has up to 17
    output logic        scat_valid_o,
    input  logic        scat_ready_i,
    output rtl_pkg::scat_t       scat_o,
    // completions, events, counters
    output logic        cqe_valid_o,
    input  logic        cqe_ready_i,
    output rtl_pkg::cqe_req_t    cqe_o,
    output logic        ev_valid_o,
    input  logic        ev_ready_i,
    output rtl_pkg::ev_t         ev_o,
    output logic        stat_valid_o,
    input  logic        stat_ready_i,
    output rtl_pkg::stat_t       stat_o,
    output logic        qstat_valid_o,
    input  logic        qstat_ready_i,
    output rtl_pkg::qstat_t      qstat_o,
    // dingo_host
    output logic        wqe_valid_o,     // LINE_SQ
    input  logic        wqe_ready_i,
    output rtl_pkg::rdl_req_t    wqe_o,
    input  logic        wqe_rsp_valid_i,
    output logic        line_valid_o,    // LINE_XL_SQ
    input  logic        line_ready_i,
    output rtl_pkg::rdl_req_t    line_o,
    input  logic        line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t    line_rsp_i       // of both
);

  // scheduling
  logic sched_clear, timers_clear, pick, take, fails, due_valid, wake_valid, wake_take, ready, set;
  logic qpa_wait, db_valid, db_next, commit_next, rxp_soon;
  logic [2:0] db_count;
  rtl_pkg::qdb_t db;
  req_pkg::step_t kind;
  rtl_pkg::qpi_t pick_qp, due_qp, wake_qp, qpa_qp, set_qp;
  logic [63:0] set_ns;
  // the step
  logic step_clear, step_idle, step_busy, step_keeps, step_read, step_asks, step_fetch, next, step_back_valid, fetch, turn_fetch, others, step_between, flush, flushed, forget, ahead_ok;
  rtl_pkg::qpi_t qp, next_qp, rec_qp, step_back_qp, step_read_qp;
  rtl_pkg::cqi_t step_cq;
  rtl_pkg::qp_cfg_t cfg, ahead_cfg;
  req_pkg::ctx_t flush_c;
  rtl_pkg::qps_t flush_st;
  logic [31:0] step_qpn, producer;
  req_pkg::back_t step_back;
  req_pkg::rec_access_t step_access;
  req_pkg::ahead_t ahead;
  // a turn
  logic turn_ok, turn_ready, turn_rest, turn_take, turn_busy, turn_ack, turn_re_ok, turn_we_ok, send_free, send_idle;
  rtl_pkg::qpi_t turn_take_qp, turn_qp;
  rtl_pkg::qp_cfg_t turn_cfg;
  rtl_pkg::cqi_t turn_cq;
  logic [31:0] turn_qpn;
  req_pkg::back_t turn_back;
  req_pkg::rec_access_t turn_access;
  // contexts and records
  req_pkg::ctx_t c_in;
  req_pkg::rec_t rec_in;
  // responses
  logic is_ack, ack_take, rx, place_valid, place_ready, place_idle, place_soon, place_using, place_free, place_sel;
  logic [3:0] place_seg;
  rtl_pkg::qpi_t place_qp;
  logic place_scat_valid;
  rtl_pkg::scat_t place_scat;
  // plain READs
  logic reads_idle, reads_ready, look, here, data, keep, reads_mr_valid, reads_mr_ready, reads_mr_rsp_valid, reads_scat_valid;
  logic [31:0] data_psn;
  logic [12:0] data_len;
  logic [31:0] data_offset;
  dingo_pkg::sge_t keep_sge;
  rtl_pkg::mr_req_t reads_mr;
  rtl_pkg::scat_t reads_scat;
  rtl_pkg::qp_cfg_t place_cfg;
  req_pkg::place_t place;
  // WQEs
  logic fetch_ok, cache_idle, inl_re;
  logic [3:0] seg_index;
  logic [2:0] inl_block;
  logic [511:0] block;
  rtl_pkg::seg_t seg, quick_seg;
  req_pkg::wqe_ask_t turn_ask, place_ask, ask;
  req_pkg::wqe_answer_t answer;
  req_pkg::quick_ask_t quick_ask;
  req_pkg::quick_answer_t quick_answer;
  // sources of wake-ups
  logic wqe_wake_valid, settle_wake_valid, settle_idle, settle_push, pause_clear, pause_push, pause_wake_valid;
  rtl_pkg::qpi_t wqe_wake_qp, settle_wake_qp, pause_wake_qp;
  req_pkg::settle_t settle;
  // completions, events, counts
  logic room, out_step, out_idle;
  req_pkg::item_t commit_item;
  req_pkg::report_t step_report, turn_report, report;

  assign commit_item = commit_i.item[req_pkg::ITEM_W-1:0];
  assign commit_ready_o = (take && kind.commit) || commit_next;
  assign is_ack = rxp_i.h.opcode == roce_pkg::RC_ACK;
  // ACKs and READ responses keep their order of arrival: an ACK waits for a READ response that is in a step, chosen for
  // one, or in dingo_req_reads.
  assign ack_take = rxp_valid_i && is_ack && scat_room_i && place_ready && reads_idle && !rx;
  // A response may go to dingo_req_reads while dingo_req_place gives its last orders: those leave first (in_order).
  assign rxp_soon = rxp_valid_i && !is_ack && scat_room_i && reads_ready && place_soon;
  assign turn_ok = turn_ready && room && !halt_tx_i && tx_room_i && !place_using && !flush && !step_keeps;
  // dingo_req_wqes serves the turn; dingo_req_place only between turns, when no answer for a turn is awaited.
  assign place_sel = place_using && !turn_busy;
  assign place_free = send_free && !turn_busy && quick_answer.rest;
  always_comb begin
    ask = place_sel ? place_ask : turn_ask;
    ask.load = turn_ask.load || place_ask.load;
    ask.walk = turn_ask.walk || place_ask.walk;
  end
  assign fetch = step_fetch || turn_fetch;  // at most one context is written in a cycle: that of set_qp
  assign tx_idle_o = step_clear && !turn_busy && send_idle;
  assign rxp_ready_o = (take && kind.rxp) || ack_take;
  assign txerr_ready_o = take && kind.txerr;
  assign qp_re_o = step_read || turn_take;
  assign qp_raddr_o = turn_take ? turn_take_qp : step_read_qp;
  assign state_index_o = qp;
  assign fail_qp_o = qp;
  assign wake_valid = settle_wake_valid || pause_wake_valid || wqe_wake_valid;
  assign wake_qp = settle_wake_valid ? settle_wake_qp : pause_wake_valid ? pause_wake_qp : wqe_wake_qp;
  assign idle_o = step_idle && turn_rest && place_idle && reads_idle && cache_idle && settle_idle && out_idle && !commit_valid_i && !rxp_valid_i && !db_valid_i && !db_valid && !txerr_valid_i && !fails &&
                  !qpa_wait && !fail_valid_i && !cq_fail_valid_i;
  // Not in idle_o: a command is carried out at rest, and a deadline that passes meanwhile waits until it has ended.
  assign due_o = due_valid || (timer_valid_o && timer_next_o <= now_ns_i);

  // Doorbells wait here for their steps, so that dingo_db can check the next ones.
  dingo_fifo #(.Width(3 + 32 + rtl_pkg::QP_LOG), .LogDepth(2)) u_db (
      .clk_i, .rst_ni, .valid_i(db_valid_i), .ready_o(db_ready_o), .data_i(db_i),
      .valid_o(db_valid), .ready_i((take && kind.db) || db_next), .data_o(db), .count_o(db_count));
  dingo_req_sched u_sched (
      .clk_i, .rst_ni, .ready_o(sched_clear), .commit_i(commit_valid_i), .commit_qp_i(commit_item.qp[rtl_pkg::QP_LOG-1:0]),
      .rxp_i(rxp_soon), .rxp_wait_i(rxp_valid_i && !is_ack && scat_room_i),
      .rxp_qp_i(rxp_i.qp), .db_i(db_valid), .db_qp_i(db.qp), .txerr_i(txerr_valid_i), .txerr_qp_i(txerr_i.qp),
      .due_i(due_valid && !halt_tx_i), .due_qp_i(due_qp), .qpa_i(qpa_wait && place_idle && reads_idle), .qpa_qp_i(qpa_qp), .ack_i(turn_ack),
      .ack_qp_i(turn_qp), .cq_fail_i(cq_fail_valid_i), .cq_fail_qp_i, .fail_i(fail_valid_i), .fail_qp_i, .fails_o(fails),
      .fetch_i(fetch), .fetch_qp_i(set_qp), .fetch_ok_i(fetch_ok && !step_asks && !halt_tx_i), .ready_i(ready), .ready_qp_i(set_qp),
      .woken_i(wake_valid), .woken_take_o(wake_take), .woken_qp_i(wake_qp), .work_o, .waits_o(others), .step_i(step_busy), .step_qp_i(qp),
      .next_i(next), .next_qp_i(next_qp), .back_i(step_back_valid), .back_qp_i(step_back_qp), .turn_i(turn_busy), .turn_qp_i(turn_qp), .turn_ok_i(turn_ok),
      .turn_take_o(turn_take), .turn_take_qp_o(turn_take_qp), .valid_o(pick), .take_i(take), .kind_o(kind), .qp_o(pick_qp)
  );
  dingo_timers #(.Log(rtl_pkg::QP_LOG)) u_timers (
      .clk_i, .rst_ni, .ready_o(timers_clear), .now_ns_i, .set_i(set), .set_index_i(set_qp), .set_ns_i(set_ns),
      .valid_o(timer_valid_o), .next_o(timer_next_o), .due_valid_o(due_valid), .due_ready_i(take && kind.due),
      .due_index_o(due_qp)
  );
  dingo_req_step u_step (
      .clk_i, .rst_ni, .clear_i(sched_clear && timers_clear && pause_clear), .idle_o(step_idle), .ready_o(step_clear), .now_ns_i,
      .pick_i(pick), .take_o(take), .read_o(step_read), .read_qp_o(step_read_qp), .busy_o(step_busy), .next_o(next), .next_qp_o(next_qp), .keep_o(step_keeps), .rx_o(rx), .kind_i(kind),
      .pick_qp_i(pick_qp), .commit_valid_i, .commit_next_o(commit_next), .commit_i, .rxp_i,
      .db_valid_i(db_valid), .db_i(db), .db_next_o(db_next), .db_bad_o, .txerr_i,
      .fail_valid_i, .fail_qp_i, .fail_valid_o, .qpa_valid_i, .qpa_i, .qpa_wait_o(qpa_wait), .qpa_qp_o(qpa_qp), .qpa_done_o,
      .qpa_info_o, .qp_o(qp), .qp_rdata_i, .state_we_o, .state_o, .back_valid_o(step_back_valid), .back_qp_o(step_back_qp),
      .back_o(step_back), .turn_back_i(turn_back.valid),
      .fetch_o(step_fetch), .asks_o(step_asks), .c_i(c_in), .between_o(step_between), .hold_i(turn_access.re), .rec_qp_o(rec_qp),
      .rec_access_o(step_access), .rec_i(rec_in), .look_o(look), .here_i(here), .data_o(data),
      .data_psn_o(data_psn), .data_len_o(data_len), .data_offset_o(data_offset), .cfg_o(cfg), .producer_o(producer), .forget_o(forget), .ahead_o(ahead), .ahead_cfg_o(ahead_cfg),
      .ahead_ok_i(ahead_ok), .flush_o(flush), .flush_st_o(flush_st), .flush_c_o(flush_c), .flushed_i(flushed), .flushed_c_i(turn_back.c),
      .room_i(room), .report_o(step_report), .report_qpn_o(step_qpn), .report_cq_o(step_cq), .place_valid_o(place_valid), .place_ready_i(place_ready && reads_idle), .place_o(place)
  );
  dingo_req_store u_store (
      .clk_i, .rst_ni, .step_take_i(step_read), .step_take_qp_i(step_read_qp), .step_qp_i(qp), .step_back_qp_i(step_back_qp), .step_back_i(step_back),
      .step_between_i(step_between), .step_rec_qp_i(rec_qp), .step_access_i(step_access), .turn_take_i(turn_take),
      .turn_take_qp_i(turn_take_qp), .turn_qp_i(turn_qp), .turn_back_i(turn_back),
      .turn_access_i(turn_access), .turn_re_ok_o(turn_re_ok), .turn_we_ok_o(turn_we_ok), .c_o(c_in), .rec_o(rec_in),
      .set_o(set), .set_qp_o(set_qp), .set_ns_o(set_ns), .ready_o(ready)
  );
  dingo_req_turn u_turn (
      .clk_i, .rst_ni, .run_i(room), .idle_o(send_idle), .rest_o(turn_rest), .free_o(send_free), .halt_tx_i, .others_i(others), .now_ns_i,
      .port_mtu_i, .gid_valid_i, .ready_o(turn_ready), .take_i(turn_take), .take_qp_i(turn_take_qp), .c_i(c_in),
      .qp_rdata_i, .flush_i(flush), .flush_qp_i(qp), .flush_cfg_i(cfg), .flush_st_i(flush_st), .flush_c_i(flush_c),
      .flushed_o(flushed), .busy_o(turn_busy), .qp_o(turn_qp), .qpn_o(turn_qpn), .cq_o(turn_cq), .cfg_o(turn_cfg),
      .back_o(turn_back), .fetch_o(turn_fetch), .ack_o(turn_ack), .ack_take_i(take && kind.ack),
      .rec_access_o(turn_access), .rec_re_ok_i(turn_re_ok), .rec_i(rec_in), .rec_we_ok_i(turn_we_ok), .ask_o(turn_ask),
      .answer_i(answer), .seg_index_o(seg_index), .seg_i(seg), .inl_re_o(inl_re), .inl_block_o(inl_block), .block_i(block),
      .quick_o(quick_ask), .quick_i(quick_answer), .quick_seg_i(quick_seg), .keep_o(keep), .keep_sge_o(keep_sge), .mrw_valid_o, .mrw_o, .mrw_done_i, .mrw_rsp_i, .settle_i(settle),
      .settle_push_o(settle_push), .pause_push_o(pause_push), .out_ok_i(!out_step && room),
      .report_o(turn_report), .tx_room_i, .txd_valid_o, .txd_ready_i, .txd_o, .seg_valid_o, .seg_ready_i, .seg_o,
      .inl_valid_o, .inl_ready_i, .inl_o
  );
  dingo_req_place u_place (
      .clk_i, .rst_ni, .idle_o(place_idle), .ready_o(place_ready), .soon_o(place_soon), .using_o(place_using),
      .ack_i(ack_take), .ack_qp_i(rxp_i.qp), .ack_psn_i(rxp_i.h.psn), .ack_syndrome_i(rxp_i.h.syndrome),
      .ack_len_i(rxp_i.h.len), .start_i(place_valid && place_ready && reads_idle), .place_i(place), .producer_i(producer), .cfg_i(cfg),
      .free_i(place_free), .qp_o(place_qp), .cfg_o(place_cfg), .ask_o(place_ask), .answer_i(answer),
      .seg_index_o(place_seg), .seg_i(seg), .scat_valid_o(place_scat_valid), .scat_ready_i, .scat_o(place_scat)
  );
  // Orders of dingo_req_place are of earlier packets and go first; from its first order on it has no gaps.
  assign scat_valid_o = place_scat_valid || reads_scat_valid;
  assign scat_o = place_scat_valid ? place_scat : reads_scat;
  dingo_req_reads u_reads (
      .clk_i, .rst_ni, .idle_o(reads_idle), .ready_o(reads_ready), .put_i(keep), .put_qp_i(turn_qp), .put_pos_i(turn_access.wpos),
      .put_sge_i(keep_sge), .look_i(look), .look_qp_i(rec_qp), .look_pos_i(step_access.rpos), .here_o(here), .start_i(data),
      .psn_i(data_psn), .len_i(data_len), .offset_i(data_offset), .pdn_i(cfg.pdn), .privileged_i(cfg.privileged), .mr_valid_o(reads_mr_valid),
      .mr_ready_i(reads_mr_ready), .mr_o(reads_mr), .mr_rsp_valid_i(reads_mr_rsp_valid), .mr_rsp_i,
      .scat_valid_o(reads_scat_valid), .scat_ready_i(scat_ready_i && !place_scat_valid), .scat_o(reads_scat)
  );
  dingo_req_wqes u_wqes (
      .clk_i, .rst_ni, .idle_o(cache_idle), .xl_flush_i, .forget_i(forget), .qp_i(place_sel ? place_qp : turn_qp),
      .cfg_i(place_sel ? place_cfg : turn_cfg), .ask_i(ask), .answer_o(answer),
      .sel_i(place_sel && send_free),    // dingo_req_send may still read blocks or segments of the turn's last packet
      .ahead_i(ahead), .ahead_qp_i(step_back_qp), .ahead_cfg_i(ahead_cfg), .ahead_ok_o(ahead_ok), .fetch_ok_o(fetch_ok),
      .quick_i(quick_ask), .quick_o(quick_answer), .quick_seg_o(quick_seg),
      .seg_index_i(place_sel && send_free ? place_seg : seg_index),  // as for sel_i
      .seg_o(seg), .inl_re_i(inl_re), .inl_block_i(inl_block), .block_o(block), .wake_valid_o(wqe_wake_valid),
      .wake_ready_i(wake_take && !settle_wake_valid && !pause_wake_valid), .wake_qp_o(wqe_wake_qp), .mr_valid_o, .mr_o, .mr_rsp_valid_i, .mr_rsp_i,
      .reads_mr_valid_i(reads_mr_valid), .reads_mr_ready_o(reads_mr_ready), .reads_mr_i(reads_mr), .reads_mr_rsp_valid_o(reads_mr_rsp_valid),
      .push_valid_i, .push_ready_o, .push_i, .line_wqe_valid_o(wqe_valid_o), .line_wqe_ready_i(wqe_ready_i), .line_wqe_o(wqe_o),
      .line_wqe_rsp_valid_i(wqe_rsp_valid_i), .line_valid_o, .line_ready_i, .line_o, .line_rsp_valid_i, .line_rsp_i
  );
  dingo_req_settle u_settle (
      .clk_i, .rst_ni, .idle_o(settle_idle), .flow_i, .room_o(settle.room), .push_i(settle_push), .push_qp_i(turn_qp),
      .look_qp_i(turn_qp), .waits_o(settle.waits), .wake_valid_o(settle_wake_valid), .wake_ready_i(wake_take && settle_wake_valid),
      .wake_qp_o(settle_wake_qp)
  );
  dingo_pause_queue u_pause (
      .clk_i, .rst_ni, .ready_o(pause_clear), .push_i(pause_push), .push_qp_i(turn_qp), .resume_i, .valid_o(pause_wake_valid),
      .take_i(wake_take && !settle_wake_valid), .qp_o(pause_wake_qp)
  );
  // Reports of a step go first; the turn waits.
  assign out_step = step_report.cqe.valid || step_report.ev.valid || step_report.card.valid || step_report.qp.valid;
  assign report = out_step ? step_report : room ? turn_report : '0;
  dingo_req_out u_out (
      .clk_i, .rst_ni, .room_o(room), .idle_o(out_idle), .qp_i(out_step ? step_back_qp : turn_qp), .qpn_i(out_step ? step_qpn : turn_qpn),
      .cq_i(out_step ? step_cq : turn_cq), .report_i(report), .cqe_valid_o, .cqe_ready_i, .cqe_o, .ev_valid_o, .ev_ready_i,
      .ev_o, .stat_valid_o, .stat_ready_i, .stat_o, .qstat_valid_o, .qstat_ready_i, .qstat_o
  );

  always_ff @(posedge clk_i) if (rst_ni) in_order: assert (!reads_scat_valid || place_scat_valid || place_ready);
  wire unused_ok = &{1'b0, commit_i.item, commit_item, db_count};
endmodule
