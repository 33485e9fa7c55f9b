// SPDX-License-Identifier: BSD-2-Clause

/// Pipeline stage before a step: takes the event that dingo_req_sched has chosen and holds it while context, QP and
/// record are read, during the current step. It waits, with the memories' outputs unchanged, until that step ends. A
/// context is taken from the memory only if no step has a newer one; that of the previous step comes from
/// dingo_req_back.
module dingo_req_pick (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        run_i,
    // the next event; see dingo_req_sched
    input  logic        pick_i,
    input  req_pkg::chosen_t chosen_i,
    input  rtl_pkg::qpi_t        pick_qp_i,
    output logic        take_o,
    output logic        read_o,        // read context and QP of read_qp_o; data in the next cycle
    output rtl_pkg::qpi_t        read_qp_o,
    // the current step
    input  logic        idle_i,        // there is none
    input  logic        ending_i,      // this is its last cycle, known early
    input  logic        over_i,        // this is its last cycle
    input  logic        again_i,       // it takes the waiting event itself
    input  rtl_pkg::qpi_t        step_qp_i,
    input  logic        step_rxp_i,    // it handles a READ response
    // the previous step, whose context is being written back
    input  logic        back_i,
    input  rtl_pkg::qpi_t        back_qp_i,
    input  logic        hold_i,        // a turn waits to read records: choose nothing
    input  logic        fail_valid_i,  // the responder moved this QP to ERR
    input  rtl_pkg::qpi_t        fail_qp_i,
    // the event that is held
    output logic        valid_o,
    output logic        begins_o,      // it becomes the current step
    output logic        same_o,        // take its context from dingo_req_back
    output logic        rxp_o,         // it or the current step handles a READ response
    output rtl_pkg::qpi_t        qp_o,
    output req_pkg::chosen_t chosen_o,
    output logic        peer_failed_o  // the responder moved qp_o to ERR after the event was taken
);
  logic valid_q, same_q, stale_q, peer_failed_q, blocked, step_same, back_same, peer_fails;
  rtl_pkg::qpi_t qp_q;
  req_pkg::chosen_t chosen_q;

  assign valid_o = valid_q;
  assign qp_o = qp_q;
  assign chosen_o = chosen_q;
  assign same_o = same_q;
  assign rxp_o = step_rxp_i || (valid_q && chosen_q.kind.rxp);
  assign begins_o = valid_q && run_i && !stale_q && (idle_i || ending_i);
  assign read_o = take_o || stale_q;
  assign read_qp_o = stale_q ? qp_q : pick_qp_i;
  assign peer_fails = fail_valid_i && fail_qp_i == qp_q;
  assign peer_failed_o = peer_failed_q || peer_fails;

  // A step may change its QP's state until it ends. A context that is written in this cycle cannot be read yet, and
  // dingo_req_back overwrites its copy when the current step ends.
  assign step_same = !idle_i && step_qp_i == pick_qp_i;
  assign back_same = back_i && back_qp_i == pick_qp_i;
  assign blocked = (valid_q && qp_q == pick_qp_i) || (step_same && !ending_i) || (back_same && !idle_i && !step_same) || again_i ||
                   (hold_i && (valid_q || !idle_i)) ||
                   (chosen_i.kind.rxp && ((valid_q && chosen_q.kind.rxp) || (step_rxp_i && !ending_i))) ||
                   (chosen_i.kind.qpa && rxp_o);
  assign take_o = pick_i && run_i && !blocked && (!valid_q || begins_o);

  always_ff @(posedge clk_i) begin
    if (take_o) begin
      qp_q <= pick_qp_i;
      chosen_q <= chosen_i;
      same_q <= step_same || back_same;
      peer_failed_q <= fail_valid_i && fail_qp_i == pick_qp_i;
    end else if (peer_fails) peer_failed_q <= 1'b1;
    // The current step ends and this one does not begin: dingo_req_back gets that step's context, and the context of
    // this one is in the memory by then, so it is read again.
    stale_q <= rst_ni && over_i && valid_q && same_q && !begins_o;
    if (stale_q) same_q <= 1'b0;
    if (!rst_ni) valid_q <= 1'b0;
    else if (take_o) valid_q <= 1'b1;
    else if (begins_o) valid_q <= 1'b0;
  end
endmodule
