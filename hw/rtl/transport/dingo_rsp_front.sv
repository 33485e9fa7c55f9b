// SPDX-License-Identifier: BSD-2-Clause

/// What the responder does next: packets that wait (dingo_rsp_intake), READ responses that wait for a paused region
/// (dingo_pause_queue), commands, and the choice among all events, packets and turns (dingo_rsp_sched). The choice
/// holds in this cycle; take_i takes it.
module dingo_rsp_front (
    input  logic                clk_i,
    input  logic                rst_ni,
    output logic                ready_o,        // memories are cleared after reset
    output logic                idle_o,         // nothing waits
    output logic                work_o,         // some QP waits for a turn
    input  logic                go_i,           // all outputs of the responder are free
    input  rsp_pkg::now_t       now_i,          // the step in work
    input  rsp_pkg::quick_t     quick_i,
    input  rtl_pkg::qpi_t       qp_i,           // its QP
    // the choice
    output logic                valid_o,
    output rsp_pkg::step_t      step_o,
    output rtl_pkg::qpi_t       qp_o,
    output logic                again_o,        // STEP_TURN: the turn was cut short
    input  logic                take_i,
    // what is needed to send
    input  logic                halt_tx_i,
    input  logic                tx_room_i,
    input  logic                tx_held_i,      // a packet waits in the output registers,
    input  logic                tx_stalled_i,   // and is not taken in this cycle
    input  logic                quick_send_i,   // the plain step before sends
    input  logic                scat_room_i,
    // events
    input  logic                commit_valid_i,
    output logic                commit_ready_o,
    input  rsp_pkg::item_t      commit_item_i,
    input  logic                cq_fail_valid_i,
    input  rtl_pkg::qpi_t       cq_fail_qp_i,
    input  logic                fail_valid_i,
    input  rtl_pkg::qpi_t       fail_qp_i,
    input  logic                db_valid_i,
    output logic                db_ready_o,
    input  rtl_pkg::qpi_t       db_qp_i,
    input  logic                db_srq_i,
    input  logic                txerr_valid_i,
    output logic                txerr_ready_o,
    input  rtl_pkg::qpi_t       txerr_qp_i,
    input  logic                qpa_valid_i,
    input  rtl_pkg::qpa_req_t   qpa_i,
    output rtl_pkg::qpa_req_t   qpa_o,          // the command that waits or is in work
    input  logic                srqa_valid_i,
    input  rtl_pkg::srqa_req_t  srqa_i,
    output rtl_pkg::srqa_req_t  srqa_o,
    input  logic                resume_i,
    input  logic                pause_i,        // READ responses of qp_i wait for a paused region
    // a step's end
    input  logic                wake_i,         // qp_i wants a turn
    input  logic                again_i,        // its turn was cut short
    input  logic                store_i,        // its context is stored
    // packets
    input  logic                rxp_valid_i,
    output logic                rxp_ready_o,
    input  rtl_pkg::rxp_t       rxp_i,
    output rtl_pkg::rxp_t       in_o,           // the packet in front
    output logic                in_key_o,       // the answer for its key has come: in_mr_rsp_o
    output rtl_pkg::mr_rsp_t    in_mr_rsp_o,
    output logic                in_send_o,      // a SEND of one packet: in_ahead_o
    output rsp_pkg::ahead_t     in_ahead_o,
    input  logic                rx_end_i,       // dingo_rsp_receive does not need it any more
    input  logic                void_i,         // a key was invalidated: answers do not count
    output logic                look_valid_o,   // dingo_rq_cache
    input  logic                look_ready_i,
    output rsp_pkg::look_t      look_o,
    input  logic                look_here_i,
    input  logic                look_coming_i,
    input  logic                look_err_i,
    input  logic [255:0]        look_data_i,
    // the memory table
    input  logic                key_ask_i,      // a part of the step asks
    output logic                mr_valid_o,
    output rtl_pkg::mr_req_t    mr_o,
    input  logic                mr_rsp_valid_i,
    input  rtl_pkg::mr_rsp_t    mr_rsp_i,
    output logic                answer_o        // mr_rsp_i is a part's
);
  logic qpa_pending_q, srqa_pending_q;
  rtl_pkg::qpa_req_t qpa_q;
  rtl_pkg::srqa_req_t srqa_q;
  logic is_rx, is_commit, is_turn, storing, store, failures, may_send, tx_free;
  assign is_rx = now_i.step == rsp_pkg::STEP_RXP;
  assign is_commit = now_i.step == rsp_pkg::STEP_COMMIT;
  assign is_turn = now_i.step == rsp_pkg::STEP_TURN;
  assign storing = now_i.state == rsp_pkg::ST_STORE;
  assign store = storing && go_i;
  assign qpa_o = qpa_q;
  assign srqa_o = srqa_q;

  // ---------------------------------------------------------------- the choice
  // An item whose response leaves in the same step waits until the packet before it has been given: tx_room counts
  // that one only then.
  assign tx_free = !tx_stalled_i && !quick_send_i && !may_send;
  assign may_send = now_i.loading && (is_turn || (is_commit && now_i.item.single));
  dingo_rsp_sched u_sched (
      .clk_i, .rst_ni, .commit_valid_i(commit_valid_i && (!commit_item_i.single || tx_free)),
      .commit_qp_i(commit_item_i.qp[rtl_pkg::QP_LOG-1:0]), .cq_fail_valid_i, .cq_fail_qp_i, .fail_valid_i, .fail_qp_i,
      .db_valid_i, .db_qp_i, .db_srq_i, .txerr_valid_i, .txerr_qp_i,
      .qpa_valid_i(qpa_pending_q && !(storing && now_i.step == rsp_pkg::STEP_QPA)), .qpa_qp_i(qpa_q.qp),
      .srqa_valid_i(srqa_pending_q && !(storing && now_i.step == rsp_pkg::STEP_SRQA)), .srqa_srq_i(srqa_q.srq),
      .resume_valid_i(resume_valid), .resume_qp_i(resume_qp),
      // scat_room_i does not count yet what is on its way to dingo_scatter.
      .rxp_valid_i(in_valid && scat_room_i && !(now_i.loading && is_rx)), .rxp_qp_i(in_o.qp),
      .turn_ok_i(!halt_tx_i && tx_room_i && !tx_held_i && !quick_send_i && !may_send), .wake_i, .wake_qp_i(qp_i),
      .again_i, .take_i, .step_o, .step_valid_o(valid_o), .step_qp_o(qp_o), .again_o, .ready_o(work_o),
      .failures_o(failures)
  );
  assign commit_ready_o = take_i && step_o == rsp_pkg::STEP_COMMIT;
  assign db_ready_o = take_i && (step_o == rsp_pkg::STEP_DB || step_o == rsp_pkg::STEP_SRQ_DB);
  assign txerr_ready_o = take_i && step_o == rsp_pkg::STEP_TXERR;

  // ---------------------------------------------------------------- READ responses that wait for a paused region
  logic resume_valid;
  rtl_pkg::qpi_t resume_qp;
  dingo_pause_queue u_pause (
      .clk_i, .rst_ni, .ready_o, .push_i(pause_i), .push_qp_i(qp_i), .resume_i, .valid_o(resume_valid),
      .take_i(take_i && step_o == rsp_pkg::STEP_RESUME), .qp_o(resume_qp)
  );

  // ---------------------------------------------------------------- packets that wait
  logic in_valid, in_pop, in_idle;
  assign in_pop = rx_end_i || (now_i.loading && go_i && quick_i.rx);  // its headers are used until then
  dingo_rsp_intake u_intake (
      .clk_i, .rst_ni, .idle_o(in_idle), .rxp_valid_i, .rxp_ready_o, .rxp_i, .valid_o(in_valid), .rxp_o(in_o),
      .key_o(in_key_o), .send_o(in_send_o), .ahead_o(in_ahead_o),
      .look_en_i(now_i.state != rsp_pkg::ST_PART || is_commit), .store_i, .store_qp_i(qp_i),
      .store_prod_i(now_i.c.rq_prod), .store_cons_i(now_i.c.rq_cons), .store_send_i(storing && now_i.rx_send),
      .look_valid_o, .look_ready_i, .look_o, .look_here_i, .look_coming_i, .look_err_i, .look_data_i,
      .mr_rsp_o(in_mr_rsp_o), .pop_i(in_pop), .void_i, .ask_i(key_ask_i), .mr_valid_o, .mr_o, .mr_rsp_valid_i,
      .mr_rsp_i, .answer_o
  );

  // ---------------------------------------------------------------- commands that wait
  always_ff @(posedge clk_i) begin
    if (qpa_valid_i) begin
      qpa_pending_q <= 1'b1;
      qpa_q <= qpa_i;
    end
    if (srqa_valid_i) begin
      srqa_pending_q <= 1'b1;
      srqa_q <= srqa_i;
    end
    if (store && now_i.step == rsp_pkg::STEP_QPA && !now_i.loading) qpa_pending_q <= 1'b0;
    if (store && now_i.step == rsp_pkg::STEP_SRQA && !now_i.loading) srqa_pending_q <= 1'b0;
    if (!rst_ni) begin
      qpa_pending_q <= 1'b0;
      srqa_pending_q <= 1'b0;
    end
  end
  assign idle_o = !commit_valid_i && !failures && !txerr_valid_i && !db_valid_i && !rxp_valid_i && !resume_valid &&
                  in_idle && !qpa_pending_q && !srqa_pending_q && !cq_fail_valid_i && !fail_valid_i;

  wire unused_ok = &{1'b0, now_i, quick_i, commit_item_i, in_o};
endmodule
