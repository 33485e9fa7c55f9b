// SPDX-License-Identifier: BSD-2-Clause

/// Deadlines of CQs' waiting events (moderation). The deadline of a CQ is set one cycle after a change: first_at +
/// period while an event waits, else never.
module dingo_cq_due (
    input  logic             clk_i,
    input  logic             rst_ni,
    output logic             ready_o,
    output logic             idle_o,          // no deadline is being set
    input  logic [63:0]      now_ns_i,
    input  cq_pkg::outcome_t outcome_i,
    output logic             timer_valid_o,   // a deadline may be set
    output logic [63:0]      timer_next_o,    // no deadline is before this time
    output logic             due_valid_o,     // the deadline of due_cq_o may have passed
    input  logic             due_ready_i,
    output rtl_pkg::cqi_t    due_cq_o
);
  logic set_q, set_never_q;
  rtl_pkg::cqi_t set_cq_q;
  logic [63:0] set_from_q;
  logic [25:0] set_period_q;
  always_ff @(posedge clk_i) begin
    set_q <= rst_ni && outcome_i.we && (outcome_i.dyn.waits || outcome_i.waited);
    set_never_q <= !outcome_i.dyn.waits;
    set_cq_q <= outcome_i.cq;
    set_from_q <= outcome_i.dyn.first_at;
    set_period_q <= outcome_i.period;
  end
  assign idle_o = !set_q;

  dingo_timers #(.Log(rtl_pkg::CQ_LOG)) u_timers (
      .clk_i, .rst_ni, .ready_o, .now_ns_i, .set_i(set_q), .set_index_i(set_cq_q),
      .set_ns_i(set_never_q ? '1 : set_from_q + {38'd0, set_period_q}), .valid_o(timer_valid_o), .next_o(timer_next_o),
      .due_valid_o, .due_ready_i, .due_index_o(due_cq_o)
  );

  wire unused_ok = &{1'b0, outcome_i};
endmodule
