// SPDX-License-Identifier: BSD-2-Clause

/// Chooses the next event for a step, and independently the next QP for a turn (it is ready to send or flush).
/// A QP's context is in one place at a time: its events wait for the end of its turn, and its turn waits for its steps.
/// A QP's events go before its turn, but after MOST events the turn goes first, so they cannot starve it. No event is
/// chosen in a cycle in which a turn begins. Choice among the kinds of events: round robin.
module dingo_req_sched (
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic        ready_o,
    // events that wait outside: valid and QP
    input  logic        commit_i,
    input  rtl_pkg::qpi_t        commit_qp_i,
    input  logic        rxp_i,
    input  rtl_pkg::qpi_t        rxp_qp_i,
    input  logic        rxp_wait_i,    // a READ response waits, ready for a step or not: it goes before its QP's turn
    input  logic        db_i,
    input  rtl_pkg::qpi_t        db_qp_i,
    input  logic        txerr_i,
    input  rtl_pkg::qpi_t        txerr_qp_i,
    input  logic        due_i,
    input  rtl_pkg::qpi_t        due_qp_i,
    input  logic        qpa_i,
    input  rtl_pkg::qpi_t        qpa_qp_i,
    input  logic        ack_i,         // a turn completed a WQE that sends no packet
    input  rtl_pkg::qpi_t        ack_qp_i,
    // events that are queued here; always taken
    input  logic        cq_fail_i,
    input  rtl_pkg::qpi_t        cq_fail_qp_i,
    input  logic        fail_i,
    input  rtl_pkg::qpi_t        fail_qp_i,
    output logic        fails_o,       // a fail or cq_fail waits
    input  logic        fetch_i,       // this QP waits for room to fetch its next WQE
    input  rtl_pkg::qpi_t        fetch_qp_i,
    input  logic        fetch_ok_i,    // there is room
    // QPs that are ready for a turn
    input  logic        ready_i,       // push this one into the queue
    input  rtl_pkg::qpi_t        ready_qp_i,
    input  logic        woken_i,       // this one has priority: what it waited for, such as its WQE, has arrived
    output logic        woken_take_o,
    input  rtl_pkg::qpi_t        woken_qp_i,
    output logic        work_o,
    output logic        waits_o,       // a QP waits for its turn
    // QPs whose contexts are in use: current step, next step, step that is written back, turn
    input  logic        step_i,
    input  rtl_pkg::qpi_t        step_qp_i,
    input  logic        next_i,
    input  rtl_pkg::qpi_t        next_qp_i,
    input  logic        back_i,
    input  rtl_pkg::qpi_t        back_qp_i,
    input  logic        turn_i,
    input  rtl_pkg::qpi_t        turn_qp_i,
    // next turn
    input  logic        turn_ok_i,
    output logic        turn_take_o,
    output rtl_pkg::qpi_t        turn_take_qp_o,
    // next event
    output logic        valid_o,
    input  logic        take_i,
    output req_pkg::step_t       kind_o,
    output rtl_pkg::qpi_t        qp_o
);
  localparam int unsigned EVENTS = $bits(kind_o);
  localparam logic [3:0] MOST = 4'd8;  // events between two turns

  logic [EVENTS-1:0] grant;
  req_pkg::step_t req;                       // events that may be chosen
  logic fail_valid, cq_fail_valid, turn_valid, turn, same_event, fail_clear, cq_fail_clear, turn_clear, fetch_valid, fetch_clear;
  rtl_pkg::qpi_t fail_qp, cq_fail_qp, turn_qp, next_qp, fetch_qp;
  logic [3:0] since_q;
  logic work, woken, woken_last_q;           // woken_last_q: the last turn was of a woken QP
  logic [rtl_pkg::QP_LOG:0] unused_count_fail, unused_count_cq_fail, unused_count_turn, unused_count_fetch;

  assign ready_o = fail_clear && cq_fail_clear && turn_clear && fetch_clear;
  assign fails_o = fail_valid || cq_fail_valid;
  assign work = turn_valid || woken_i;
  assign work_o = work || fetch_valid;
  assign waits_o = work;
  assign next_qp = woken ? woken_qp_i : turn_qp;
  assign req.commit = commit_i && !out(commit_qp_i);
  assign req.rxp = rxp_i && !out(rxp_qp_i);
  assign req.db = db_i && !out(db_qp_i);
  assign req.fail = fail_valid && !out(fail_qp);
  assign req.cq_fail = cq_fail_valid && !out(cq_fail_qp);
  assign req.txerr = txerr_i && !out(txerr_qp_i);
  assign req.due = due_i && !out(due_qp_i);
  assign req.qpa = qpa_i && !out(qpa_qp_i);
  assign req.ack = ack_i && !out(ack_qp_i);
  assign req.fetch = fetch_valid && fetch_ok_i && !out(fetch_qp);
  assign same_event = (db_i && db_qp_i == next_qp) || (commit_i && commit_qp_i == next_qp) || (fail_valid && fail_qp == next_qp) ||
                      (cq_fail_valid && cq_fail_qp == next_qp) || (rxp_wait_i && rxp_qp_i == next_qp);
  assign turn = turn_ok_i && work && !(step_i && step_qp_i == next_qp) && !(next_i && next_qp_i == next_qp) &&
                !(back_i && back_qp_i == next_qp) && !(turn_i && turn_qp_i == next_qp) && (!same_event || since_q >= MOST);
  assign turn_take_o = turn;
  assign turn_take_qp_o = next_qp;
  assign valid_o = req != '0 && !turn;
  assign kind_o = grant;

  function automatic logic out(input logic [rtl_pkg::QP_LOG-1:0] qp);
    out = turn_i && qp == turn_qp_i;
  endfunction
  // Woken QPs go first, but alternate with queued ones: a QP whose WQEs always arrive late would else take all turns.
  assign woken = woken_i && !(woken_last_q && turn_valid);
  assign woken_take_o = turn && woken;

  always_comb begin
    case (kind_o)
      req_pkg::STEP_COMMIT: qp_o = commit_qp_i;
      req_pkg::STEP_RXP: qp_o = rxp_qp_i;
      req_pkg::STEP_DB: qp_o = db_qp_i;
      req_pkg::STEP_FAIL: qp_o = fail_qp;
      req_pkg::STEP_CQ_FAIL: qp_o = cq_fail_qp;
      req_pkg::STEP_TXERR: qp_o = txerr_qp_i;
      req_pkg::STEP_DUE: qp_o = due_qp_i;
      req_pkg::STEP_QPA: qp_o = qpa_qp_i;
      req_pkg::STEP_ACK: qp_o = ack_qp_i;
      default: qp_o = fetch_qp;
    endcase
  end

  dingo_arb #(
      .N(EVENTS)
  ) u_arb (
      .clk_i,
      .rst_ni,
      .req_i(req),
      .take_i,
      .grant_o(grant)
  );
  dingo_qp_fifo u_fail (
      .clk_i,
      .rst_ni,
      .ready_o(fail_clear),
      .push_i(fail_i),
      .push_qp_i(fail_qp_i),
      .valid_o(fail_valid),
      .pop_i(take_i && kind_o.fail),
      .qp_o(fail_qp),
      .count_o(unused_count_fail)
  );
  dingo_qp_fifo u_cq_fail (
      .clk_i,
      .rst_ni,
      .ready_o(cq_fail_clear),
      .push_i(cq_fail_i),
      .push_qp_i(cq_fail_qp_i),
      .valid_o(cq_fail_valid),
      .pop_i(take_i && kind_o.cq_fail),
      .qp_o(cq_fail_qp),
      .count_o(unused_count_cq_fail)
  );
  dingo_qp_fifo u_turn (
      .clk_i,
      .rst_ni,
      .ready_o(turn_clear),
      .push_i(ready_i),
      .push_qp_i(ready_qp_i),
      .valid_o(turn_valid),
      .pop_i(turn && !woken),
      .qp_o(turn_qp),
      .count_o(unused_count_turn)
  );

  dingo_qp_fifo u_fetch (
      .clk_i,
      .rst_ni,
      .ready_o(fetch_clear),
      .push_i(fetch_i),
      .push_qp_i(fetch_qp_i),
      .valid_o(fetch_valid),
      .pop_i(take_i && kind_o.fetch),
      .qp_o(fetch_qp),
      .count_o(unused_count_fetch)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      since_q <= '0;
      woken_last_q <= 1'b0;
    end else if (turn) begin
      woken_last_q <= woken;
      since_q <= '0;
    end else if (take_i && since_q != MOST) since_q <= since_q + 1'b1;
  end
endmodule
