// SPDX-License-Identifier: BSD-2-Clause

/// Chooses the responder's next step. Commits go first, since everything waits for them; then events; then packets. A
/// turn begins when no packet waits, or after MOST packets, so that one ACK acknowledges several packets. Queues the
/// failures, which must be taken at once, and the QPs that wait for their turns.
module dingo_rsp_sched (
    input  logic          clk_i,
    input  logic          rst_ni,
    input  logic          commit_valid_i,
    input  rtl_pkg::qpi_t commit_qp_i,
    input  logic          cq_fail_valid_i,
    input  rtl_pkg::qpi_t cq_fail_qp_i,
    input  logic          fail_valid_i,
    input  rtl_pkg::qpi_t fail_qp_i,
    input  logic          db_valid_i,
    input  rtl_pkg::qpi_t db_qp_i,
    input  logic          db_srq_i,         // db_qp_i is an SRQ
    input  logic          txerr_valid_i,
    input  rtl_pkg::qpi_t txerr_qp_i,
    input  logic          qpa_valid_i,
    input  rtl_pkg::qpi_t qpa_qp_i,
    input  logic          srqa_valid_i,
    input  rtl_pkg::srqi_t srqa_srq_i,
    input  logic          resume_valid_i,   // this QP's READ responses waited for a paused region
    input  rtl_pkg::qpi_t resume_qp_i,
    input  logic          rxp_valid_i,      // a packet waits, and there is room for its orders
    input  rtl_pkg::qpi_t rxp_qp_i,
    input  logic          turn_ok_i,        // a turn may begin
    input  logic          wake_i,           // this QP is ready for a turn; it is not in the queue
    input  rtl_pkg::qpi_t wake_qp_i,
    input  logic          again_i,          // with wake_i: its turn was cut short and continues before others; else 0
    input  logic          take_i,           // step_o begins
    output rsp_pkg::step_t step_o,
    output logic          step_valid_o,
    output rtl_pkg::qpi_t step_qp_o,
    output logic          again_o,          // with STEP_TURN: continues a turn that was cut short
    output logic          ready_o,          // a QP waits for its turn
    output logic          failures_o        // a failure waits
);
  logic cqf_valid, fail_valid, turn_valid, queue_valid, again_q;
  rtl_pkg::qpi_t cqf_qp, fail_qp, turn_qp, queue_qp, again_qp_q;
  logic cqf_room, fail_room, turn_room;
  logic [rtl_pkg::QP_LOG:0] cqf_count, fail_count, turn_count;
  localparam logic [1:0] MOST = 2'd3;       // packets between two turns
  logic [1:0] packets_q;

  // None overflows: a QP fails once and is queued for a turn once; of CQ failures, one for each completion for a failed
  // CQ, fewer than 2^QP_LOG wait at a time.
  dingo_fifo #(.Width(rtl_pkg::QP_LOG), .LogDepth(rtl_pkg::QP_LOG)) u_cq_fails (
      .clk_i, .rst_ni,
      .valid_i(cq_fail_valid_i), .ready_o(cqf_room), .data_i(cq_fail_qp_i),
      .valid_o(cqf_valid), .ready_i(take_i && step_o == rsp_pkg::STEP_CQ_FAIL), .data_o(cqf_qp), .count_o(cqf_count)
  );
  dingo_fifo #(.Width(rtl_pkg::QP_LOG), .LogDepth(rtl_pkg::QP_LOG)) u_fails (
      .clk_i, .rst_ni,
      .valid_i(fail_valid_i), .ready_o(fail_room), .data_i(fail_qp_i),
      .valid_o(fail_valid), .ready_i(take_i && step_o == rsp_pkg::STEP_FAIL), .data_o(fail_qp), .count_o(fail_count)
  );
  dingo_fifo #(.Width(rtl_pkg::QP_LOG), .LogDepth(rtl_pkg::QP_LOG)) u_turns (
      .clk_i, .rst_ni,
      .valid_i(wake_i && !again_i), .ready_o(turn_room), .data_i(wake_qp_i),
      .valid_o(queue_valid), .ready_i(take_i && step_o == rsp_pkg::STEP_TURN && !again_q), .data_o(queue_qp), .count_o(turn_count)
  );
  assign turn_valid = queue_valid || again_q;
  assign turn_qp = again_q ? again_qp_q : queue_qp;
  assign again_o = again_q;

  always_comb begin
    step_valid_o = 1'b1;
    if (commit_valid_i) begin
      step_o = rsp_pkg::STEP_COMMIT;
      step_qp_o = commit_qp_i;
    end else if (cqf_valid) begin
      step_o = rsp_pkg::STEP_CQ_FAIL;
      step_qp_o = cqf_qp;
    end else if (fail_valid) begin
      step_o = rsp_pkg::STEP_FAIL;
      step_qp_o = fail_qp;
    end else if (txerr_valid_i) begin
      step_o = rsp_pkg::STEP_TXERR;
      step_qp_o = txerr_qp_i;
    end else if (db_valid_i) begin
      step_o = db_srq_i ? rsp_pkg::STEP_SRQ_DB : rsp_pkg::STEP_DB;
      step_qp_o = db_qp_i;
    end else if (qpa_valid_i) begin
      step_o = rsp_pkg::STEP_QPA;
      step_qp_o = qpa_qp_i;
    end else if (srqa_valid_i) begin
      step_o = rsp_pkg::STEP_SRQA;
      step_qp_o = rtl_pkg::QP_LOG'(srqa_srq_i);
    end else if (resume_valid_i) begin
      step_o = rsp_pkg::STEP_RESUME;
      step_qp_o = resume_qp_i;
    end else if (turn_valid && turn_ok_i && !again_i && (packets_q == MOST || !rxp_valid_i)) begin
      step_o = rsp_pkg::STEP_TURN;
      step_qp_o = turn_qp;
    end else begin
      step_o = rsp_pkg::STEP_RXP;
      step_qp_o = rxp_qp_i;
      step_valid_o = rxp_valid_i;
    end
  end

  assign ready_o = turn_valid;
  assign failures_o = cqf_valid || fail_valid;

  always_ff @(posedge clk_i) begin
    if (take_i && step_o == rsp_pkg::STEP_RXP && packets_q != MOST) packets_q <= packets_q + 2'd1;
    if (take_i && step_o == rsp_pkg::STEP_TURN) packets_q <= '0;
    if (take_i && step_o == rsp_pkg::STEP_TURN) again_q <= 1'b0;
    if (wake_i && again_i) begin
      again_q <= 1'b1;
      again_qp_q <= wake_qp_i;
    end
    if (!rst_ni) begin
      packets_q <= '0;
      again_q <= 1'b0;
    end else begin
      a_again: assert (!(wake_i && again_i && again_q));
      a_cq_fails: assert (!cq_fail_valid_i || cqf_room);
      a_fails: assert (!fail_valid_i || fail_room);
      a_turns: assert (!wake_i || turn_room);
    end
  end
  wire unused_ok = &{1'b0, cqf_room, fail_room, turn_room, cqf_count, fail_count, turn_count};
endmodule
