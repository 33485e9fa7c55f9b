// SPDX-License-Identifier: BSD-2-Clause

/// The end of a step: writes its context back while the next step begins, and requests blocks that a doorbell
/// announced. Reports of each cycle of a step leave in the next cycle. Waits only when a turn writes its context back.
module dingo_req_back (
    input  logic        clk_i,
    input  logic        rst_ni,
    // a cycle of a step: its report and QP
    input  logic        run_i,
    input  req_pkg::report_t     report_i,
    input  rtl_pkg::qpi_t        qp_i,
    input  rtl_pkg::qp_cfg_t     cfg_i,
    input  logic        over_i,        // with run_i: the last cycle of the step
    input  req_pkg::ctx_t        c_i,
    input  req_pkg::work_t       w_i,
    // the context to write back; the turn's goes first
    input  logic        turn_back_i,
    output logic        valid_o,
    output rtl_pkg::qpi_t        qp_o,
    output req_pkg::back_t       back_o,
    output logic        wait_o,        // valid_o, but not written in this cycle
    // request for blocks
    output req_pkg::ahead_t      ahead_o,
    output rtl_pkg::qp_cfg_t     ahead_cfg_o,   // log_sq and sq only
    input  logic        ahead_ok_i,    // in this cycle
    output logic        fetch_o,       // no room to request the QP's WQE: a later step repeats it
    output req_pkg::report_t     report_o,
    output logic [31:0] qpn_o,
    output rtl_pkg::cqi_t        cq_o
);
  logic valid_q, wake_q, on_q, ahead_wake_q;
  logic [31:0] index_q;
  logic [3:0] limit_q;
  logic [4:0] log_sq_q;
  rtl_pkg::xmem_t sq_q;
  rtl_pkg::qpi_t qp_q;
  logic [7:0] tag_q;
  rtl_pkg::cqi_t cq_q;
  req_pkg::ctx_t c_q, c_back;
  req_pkg::report_t report_q;

  assign valid_o = valid_q;
  assign qp_o = qp_q;
  assign wait_o = valid_q && turn_back_i;
  always_comb begin
    c_back = c_q;
    if (valid_q) begin
      c_back.fetching = c_q.fetching || ahead_wake_q;
      c_back.asking = c_q.asking || (ahead_wake_q && !ahead_ok_i);
    end
  end
  assign back_o.valid = valid_q && !turn_back_i;
  assign back_o.c = c_back;
  assign back_o.wake = wake_q;
  assign ahead_o.valid = valid_q && on_q;
  assign ahead_o.go = !turn_back_i;
  assign ahead_o.index = index_q;
  assign ahead_o.limit = limit_q;
  assign ahead_o.wake = ahead_wake_q;
  assign fetch_o = back_o.valid && ahead_wake_q && !ahead_ok_i;
  assign report_o = report_q;
  assign qpn_o = {8'd0, tag_q, 16'(qp_q)};
  assign cq_o = cq_q;
  always_comb begin
    ahead_cfg_o = '0;
    ahead_cfg_o.log_sq = log_sq_q;
    ahead_cfg_o.sq = sq_q;
  end

  always_ff @(posedge clk_i) begin
    report_q <= run_i ? report_i : '0;
    if (run_i) begin
      qp_q <= qp_i;
      tag_q <= cfg_i.tag;
      cq_q <= cfg_i.send_cq;
      log_sq_q <= cfg_i.log_sq;
      sq_q <= cfg_i.sq;
      wake_q <= w_i.wake;
      on_q <= w_i.ahead_on;
      ahead_wake_q <= w_i.ahead_wake;
      index_q <= w_i.ahead_index;
      limit_q <= w_i.ahead_limit;
    end
    if (over_i) c_q <= c_i;
    else if (back_o.valid) begin
      c_q.fetching <= c_back.fetching;
      c_q.asking <= c_back.asking;
    end
    if (!rst_ni) valid_q <= 1'b0;
    else if (over_i) valid_q <= 1'b1;
    else if (!turn_back_i) valid_q <= 1'b0;
    if (rst_ni) begin
      a_over: assert (!over_i || (run_i && !wait_o));
      a_ahead: assert (!over_i || w_i.ahead_on == w_i.ahead);
    end
  end

  wire unused_ok = &{1'b0, cfg_i, w_i};
endmodule
