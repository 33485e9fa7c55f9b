// SPDX-License-Identifier: BSD-2-Clause

/// The answering half of all QPs: requests and datagrams to memory and receive completions; READ responses, ACKs and
/// NAKs. A request is checked and its payload ordered at once; completion and acknowledgement follow when the payload
/// is in memory (commit). One step at a time has a QP's context: dingo_rsp_front chooses it, dingo_rsp_step has it in
/// registers and does it in one cycle (dingo_rsp_quick, dingo_rsp_event), or dingo_rsp_work in several;
/// dingo_rsp_leave and dingo_rsp_report have what leaves. A step takes 3 cycles (load, work, store); plain ones 2,
/// overlapped.
module dingo_responder (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        halt_tx_i,       // send nothing
    output logic        tx_idle_o,       // nothing is being sent
    output logic        idle_o,          // no step, nothing waits but turns
    output logic        work_o,          // some QP waits for a turn
    input  logic        xl_flush_i,
    input  logic        resume_i,        // a paused region was resumed
    input  logic [(1<<rtl_pkg::GID_LOG)-1:0] gid_valid_i,
    input  logic        db_valid_i,
    output logic        db_ready_o,
    input  rtl_pkg::qdb_t        db_i,
    input  logic        db_srq_i,        // db_i.qp is an SRQ
    output logic        db_bad_o,        // one cycle: an index that the ring cannot have (counted here)
    input  logic        rxp_valid_i,     // requests and datagrams
    output logic        rxp_ready_o,
    input  rtl_pkg::rxp_t        rxp_i,
    input  logic        commit_valid_i,  // items that come back from dingo_scatter
    output logic        commit_ready_o,
    input  rtl_pkg::commit_t     commit_i,
    input  logic        txerr_valid_i,   // what became of a packet
    output logic        txerr_ready_o,
    input  rtl_pkg::txerr_t      txerr_i,
    input  logic        cq_fail_valid_i, // the CQ of this QP has failed
    input  rtl_pkg::qpi_t        cq_fail_qp_i,
    input  logic        cqe_done_i,      // a completion is in host memory, or was refused
    input  logic        fail_valid_i,    // the requester moved this QP to ERR; always taken
    input  rtl_pkg::qpi_t        fail_qp_i,
    output logic        fail_valid_o,    // one cycle: this QP goes to ERR
    output rtl_pkg::qpi_t        fail_qp_o,
    input  logic        qpa_valid_i,     // a command about a QP
    input  rtl_pkg::qpa_req_t    qpa_i,
    output logic        qpa_done_o,
    output rtl_pkg::rsp_info_t   qpa_info_o,
    input  logic        srqa_valid_i,    // a command about an SRQ
    input  rtl_pkg::srqa_req_t   srqa_i,
    output logic        srqa_done_o,
    output rtl_pkg::srq_info_t   srqa_info_o,
    output logic        qp_re_o,         // QP table; the answer comes in the next cycle
    output rtl_pkg::qpi_t        qp_raddr_o,
    input  rtl_pkg::qp_t         qp_rdata_i,
    output logic        state_we_o,
    output rtl_pkg::qpi_t        state_index_o,
    output rtl_pkg::qps_t        state_o,
    output logic        mr_valid_o,
    output rtl_pkg::mr_req_t     mr_o,
    input  logic        mr_rsp_valid_i,
    input  rtl_pkg::mr_rsp_t     mr_rsp_i,
    output logic        mrw_valid_o,     // dingo_mr_work; stays until mrw_done_i
    output rtl_pkg::mrw_req_t    mrw_o,
    input  logic        mrw_done_i,
    input  rtl_pkg::mrw_rsp_t    mrw_rsp_i,
    output logic        reading_o,       // the key of a READ response's payload was looked up, and its order is not taken yet
    input  logic        tx_room_i,
    output logic        txd_valid_o,
    input  logic        txd_ready_i,
    output rtl_pkg::txd_t        txd_o,
    output logic        seg_valid_o,
    input  logic        seg_ready_i,
    output rtl_pkg::seg_t        seg_o,
    input  logic        scat_room_i,
    output logic        scat_valid_o,
    input  logic        scat_ready_i,
    output rtl_pkg::scat_t       scat_o,
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
    output logic        rwqe_valid_o,    // LINE_RQ: entries of receive queues
    input  logic        rwqe_ready_i,
    output rtl_pkg::rdl_req_t    rwqe_o,
    input  logic        rwqe_rsp_valid_i,
    output logic        line_valid_o,    // LINE_XL_RQ: their page lists
    input  logic        line_ready_i,
    output rtl_pkg::rdl_req_t    line_o,
    input  logic        line_rsp_valid_i,
    input  rtl_pkg::rdl_rsp_t    line_rsp_i
);

  rsp_pkg::now_t now;
  rsp_pkg::quick_t quick;
  rsp_pkg::part_t part;
  rsp_pkg::emit_t own, part_emit;
  rsp_pkg::emit_ready_t emit_ready;
  rsp_pkg::step_t step;
  rsp_pkg::item_t commit_item;
  rsp_pkg::rctx_t start_ctx;
  rsp_pkg::look_t look;
  rsp_pkg::ahead_t in_ahead;
  rtl_pkg::qpi_t step_qp, qp;
  rtl_pkg::qp_t x;
  rtl_pkg::rxp_t in;
  rtl_pkg::qpa_req_t qpa;
  rtl_pkg::srqa_req_t srqa;
  rtl_pkg::mr_req_t in_mr;
  rtl_pkg::mr_rsp_t in_mr_rsp, key;
  rtl_pkg::txd_t txd;
  rtl_pkg::scat_t rx_scat, own_scat;
  logic [255:0] look_data;
  logic [12:0] tn_bytes;
  logic [5:0] cqes_q;                     // completions that are not in host memory yet
  logic go, busy, front_ready, front_idle, step_valid, take, again, again_next, wake, store, start, stored, is_turn;
  logic quick_send, quick_send_data;      // a packet of the plain step before leaves; it is a response
  logic in_key, in_send, in_mr_valid, answer, key_ask, rx_end, rx_bus, rx_scat_valid, own_scat_valid, path_ok;
  logic enter_err, tn_send, tn_read, rq_idle, rq_flush, prefetch, reply, pause, look_valid, look_ready, look_here, look_coming, look_err;

  // ---------------------------------------------------------------- outputs
  // A step goes on only while all outputs are free, so that any state may use any of them; step, QP and item stay while
  // one waits. Only the step in work holds outputs.
  assign emit_ready = {stat_ready_i, qstat_ready_i, ev_ready_i, cqe_ready_i};
  assign busy = stat_valid_o || qstat_valid_o || cqe_valid_o || ev_valid_o || scat_valid_o || txd_valid_o
                || seg_valid_o;
  assign go = (!stat_valid_o || stat_ready_i) && (!qstat_valid_o || qstat_ready_i) && (!cqe_valid_o || cqe_ready_i)
              && (!ev_valid_o || ev_ready_i) && (!scat_valid_o || scat_ready_i) && (!txd_valid_o || txd_ready_i)
              && (!seg_valid_o || seg_ready_i);
  dingo_rsp_report u_report (
      .own_i(own), .part_i(part_emit), .qp_i(qp), .cfg_i(x.cfg), .item_i(own.cqe ? now.cqe_item : now.item),
      .stat_valid_o, .stat_o, .qstat_valid_o, .qstat_o, .ev_valid_o, .ev_o, .cqe_valid_o, .cqe_o
  );
  assign scat_valid_o = rx_scat_valid || own_scat_valid;
  assign scat_o = own_scat_valid ? own_scat : rx_scat;
  assign qp_re_o = take;
  assign qp_raddr_o = step_qp;
  assign fail_valid_o = enter_err;
  assign fail_qp_o = qp;
  assign state_we_o = enter_err;
  assign state_index_o = qp;
  assign state_o = dingo_pkg::QPS_ERR[2:0];

  assign is_turn = now.step == rsp_pkg::STEP_TURN;
  assign idle_o = now.state == rsp_pkg::ST_IDLE && !busy && front_idle && rq_idle;
  // A READ response that leaves, and whose key was looked up before, counts as being read until its order is taken.
  assign reading_o = (now.state == rsp_pkg::ST_PART && is_turn) || (now.loading && now.step == rsp_pkg::STEP_COMMIT)
                     || quick_send || seg_valid_o;
  assign tx_idle_o = !((is_turn || quick_send) && now.state != rsp_pkg::ST_IDLE && now.state != rsp_pkg::ST_INIT)
                     && !txd_valid_o && !seg_valid_o;
  always_ff @(posedge clk_i) begin
    cqes_q <= cqes_q + 6'(cqe_valid_o && cqe_ready_i) - 6'(cqe_done_i);
    if (!rst_ni) cqes_q <= '0;
  end

  // ---------------------------------------------------------------- what comes next
  assign commit_item = rsp_pkg::item_t'(commit_i.item);
  dingo_rsp_front u_front (
      .clk_i, .rst_ni, .ready_o(front_ready), .idle_o(front_idle), .work_o, .go_i(go), .now_i(now), .quick_i(quick),
      .qp_i(qp), .valid_o(step_valid), .step_o(step), .qp_o(step_qp), .again_o(again_next), .take_i(take), .halt_tx_i,
      .tx_room_i, .tx_held_i(txd_valid_o || seg_valid_o),
      .tx_stalled_i((txd_valid_o && !txd_ready_i) || (seg_valid_o && !seg_ready_i)), .quick_send_i(quick_send),
      .scat_room_i, .commit_valid_i, .commit_ready_o, .commit_item_i(commit_item), .cq_fail_valid_i, .cq_fail_qp_i,
      .fail_valid_i, .fail_qp_i, .db_valid_i, .db_ready_o, .db_qp_i(db_i.qp), .db_srq_i, .txerr_valid_i, .txerr_ready_o,
      .txerr_qp_i(txerr_i.qp), .qpa_valid_i, .qpa_i, .qpa_o(qpa), .srqa_valid_i, .srqa_i, .srqa_o(srqa), .resume_i,
      .pause_i(pause), .wake_i(wake), .again_i(again), .store_i(store), .rxp_valid_i, .rxp_ready_o, .rxp_i, .in_o(in),
      .in_key_o(in_key), .in_mr_rsp_o(in_mr_rsp), .in_send_o(in_send), .in_ahead_o(in_ahead), .rx_end_i(rx_end),
      .void_i(mrw_valid_o && mrw_done_i), .look_valid_o(look_valid), .look_ready_i(look_ready), .look_o(look),
      .look_here_i(look_here), .look_coming_i(look_coming), .look_err_i(look_err), .look_data_i(look_data),
      .key_ask_i(key_ask), .mr_valid_o(in_mr_valid), .mr_o(in_mr), .mr_rsp_valid_i, .mr_rsp_i, .answer_o(answer)
  );

  // ---------------------------------------------------------------- the step in work
  dingo_rsp_step u_step (
      .clk_i, .rst_ni, .ready_i(front_ready), .go_i(go), .now_o(now), .qp_o(qp), .x_o(x), .own_o(own),
      .emit_ready_i(emit_ready), .step_valid_i(step_valid), .step_i(step), .step_qp_i(step_qp),
      .again_next_i(again_next), .take_o(take), .qp_rdata_i, .commit_i, .txerr_i, .db_index_i(db_i.index), .qpa_i(qpa), .srqa_i(srqa), .in_i(in),
      .in_key_i(in_key), .in_key_ok_i(in_mr_rsp.ok), .in_send_i(in_send), .in_ahead_i(in_ahead), .gid_valid_i,
      .tx_ok_i(tx_room_i && !halt_tx_i), .quick_o(quick), .start_o(start), .start_ctx_o(start_ctx), .part_i(part),
      .rx_bus_i(rx_bus), .path_ok_o(path_ok), .flush_o(rq_flush), .prefetch_o(prefetch), .store_o(store), .wake_o(wake),
      .again_o(again), .reply_o(reply), .enter_err_o(enter_err), .db_bad_o, .qpa_done_o, .qpa_info_o, .srqa_done_o,
      .srqa_info_o
  );
  dingo_rsp_work u_work (
      .clk_i, .rst_ni, .go_i(go), .busy_i(busy), .step_i(now.step), .start_i(start), .ctx_i(start_ctx), .part_o(part),
      .emit_o(part_emit), .emit_ready_i(emit_ready), .qp_i(qp), .x_i(x), .c_i(now.c), .rq_idle_o(rq_idle), .h_i(in.h),
      .rx_end_o(rx_end), .rx_bus_o(rx_bus), .scat_valid_o(rx_scat_valid), .scat_ready_i, .scat_o(rx_scat), .mrw_valid_o,
      .mrw_o, .mrw_done_i, .mrw_rsp_i, .item_i(now.item), .item_err_i(now.item_err), .item_word_i(now.item_word),
      .put_i(now.put), .put_slot_i(now.put_slot), .put_item_i(now.cqe_item), .put_word_i(now.put_word),
      .again_i(now.again), .path_ok_i(path_ok), .tx_room_i, .cqes_done_i(cqes_q == '0), .pause_o(pause),
      .quick_send_i(quick_send), .quick_data_i(quick_send_data), .send_o(tn_send), .read_o(tn_read), .txd_o(txd),
      .bytes_o(tn_bytes), .key_o(key), .flush_i(rq_flush), .xl_flush_i, .prefetch_i(prefetch),
      .look_valid_i(look_valid), .look_ready_o(look_ready), .look_i(look), .look_here_o(look_here), .look_coming_o(look_coming),
      .look_err_o(look_err), .look_data_o(look_data), .rwqe_valid_o, .rwqe_ready_i, .rwqe_o, .rwqe_rsp_valid_i,
      .line_valid_o, .line_ready_i, .line_o, .line_rsp_valid_i, .line_rsp_i, .in_mr_valid_i(in_mr_valid),
      .in_mr_i(in_mr), .key_ask_o(key_ask), .mr_valid_o, .mr_o, .answer_i(answer), .mr_rsp_i
  );

  // ---------------------------------------------------------------- what leaves
  assign stored = now.state == rsp_pkg::ST_STORE && go;
  dingo_rsp_leave u_leave (
      .clk_i, .rst_ni, .load_i(now.loading && go && quick.any), .rx_i(quick.rx), .read_i(quick.read),
      .atomic_i(quick.atomic), .reply_i(quick.reply), .data_i(quick.data), .item_i(quick.item), .offset_i(quick.offset), .h_i(in.h),
      .mr_rsp_i(in_mr_rsp), .store_i(stored), .send_o(quick_send), .send_data_o(quick_send_data),
      .data_item_i(now.cqe_item), .ev_reply_i(reply), .turn_send_i(tn_send), .turn_read_i(tn_read),
      .turn_bytes_i(tn_bytes), .turn_key_i(key), .txd_i(txd), .txd_valid_o, .txd_ready_i, .txd_o, .seg_valid_o,
      .seg_ready_i, .seg_o, .scat_valid_o(own_scat_valid), .scat_ready_i, .scat_o(own_scat)
  );

  wire unused_ok = &{1'b0, now, quick, in, own, db_i.pushed};
endmodule
