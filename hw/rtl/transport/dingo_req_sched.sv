// SPDX-License-Identifier: BSD-2-Clause

/// What the requester does next: events in turn, and the turns of QPs that are ready to send or flush:
/// when no event waits, and after so many events that a flood of them starves nobody.
module dingo_req_sched (
    input  logic        clk_i,
    input  logic        rst_ni,
    output logic        ready_o,
    // events that wait elsewhere
    input  logic        commit_i,
    input  rtl_pkg::qpi_t        commit_qp_i,
    input  logic        rxp_i,
    input  rtl_pkg::qpi_t        rxp_qp_i,
    input  logic        rxp_wait_i,    // there is one, which can be taken soon
    input  logic        db_i,
    input  rtl_pkg::qpi_t        db_qp_i,
    input  logic        txerr_i,
    input  rtl_pkg::qpi_t        txerr_qp_i,
    input  logic        due_i,
    input  rtl_pkg::qpi_t        due_qp_i,
    input  logic        qpa_i,
    input  rtl_pkg::qpi_t        qpa_qp_i,
    // events that wait here
    input  logic        cq_fail_i,
    input  rtl_pkg::qpi_t        cq_fail_qp_i,
    input  logic        fail_i,
    input  rtl_pkg::qpi_t        fail_qp_i,
    output logic        fails_o,       // one of them waits
    // turns
    input  logic        turn_ok_i,
    input  logic        ready_i,       // this QP gets a turn, behind the others
    input  rtl_pkg::qpi_t        ready_qp_i,
    input  logic        woken_i,       // this one soon: its WQE has come
    output logic        woken_take_o,
    input  rtl_pkg::qpi_t        woken_qp_i,
    output logic        work_o,
    // choice
    output logic        valid_o,
    input  logic        take_i,
    output logic [8:0]  kind_o,        // one-hot, in the order below
    output rtl_pkg::qpi_t        qp_o
);
  localparam int unsigned EVENTS = 8;
  localparam logic [3:0] MOST = 4'd8;  // events between two turns

  logic [EVENTS-1:0] req, grant;
  logic fail_valid, cq_fail_valid, turn_valid, turn, fail_clear, cq_fail_clear, turn_clear;
  rtl_pkg::qpi_t fail_qp, cq_fail_qp, turn_qp;
  logic [3:0] since_q;
  logic woken, woken_last_q;           // the last turn was of one that was woken

  assign ready_o = fail_clear && cq_fail_clear && turn_clear;
  assign fails_o = fail_valid || cq_fail_valid;
  assign work_o = turn_valid || woken_i;
  assign req = {qpa_i, due_i, txerr_i, cq_fail_valid, fail_valid, db_i, rxp_i, commit_i};
  assign turn = turn_ok_i && work_o && ((req == '0 && !rxp_wait_i) || since_q >= MOST);
  assign valid_o = turn || req != '0;
  assign kind_o = turn ? 9'h100 : {1'b0, grant};
  // Those that are woken go first, but in turn with the others: a QP whose WQEs always come late would
  // otherwise be the only one.
  assign woken = woken_i && !(woken_last_q && turn_valid);
  assign woken_take_o = take_i && turn && woken;

  always_comb begin
    case (kind_o)
      9'h001: qp_o = commit_qp_i;
      9'h002: qp_o = rxp_qp_i;
      9'h004: qp_o = db_qp_i;
      9'h008: qp_o = fail_qp;
      9'h010: qp_o = cq_fail_qp;
      9'h020: qp_o = txerr_qp_i;
      9'h040: qp_o = due_qp_i;
      9'h080: qp_o = qpa_qp_i;
      default: qp_o = woken ? woken_qp_i : turn_qp;
    endcase
  end

  dingo_arb #(
      .N(EVENTS)
  ) u_arb (
      .clk_i,
      .rst_ni,
      .req_i(req),
      .take_i(take_i && !turn),
      .grant_o(grant)
  );
  dingo_qp_fifo u_fail (
      .clk_i,
      .rst_ni,
      .ready_o(fail_clear),
      .push_i(fail_i),
      .push_qp_i(fail_qp_i),
      .valid_o(fail_valid),
      .pop_i(take_i && kind_o[3]),
      .qp_o(fail_qp)
  );
  dingo_qp_fifo u_cq_fail (
      .clk_i,
      .rst_ni,
      .ready_o(cq_fail_clear),
      .push_i(cq_fail_i),
      .push_qp_i(cq_fail_qp_i),
      .valid_o(cq_fail_valid),
      .pop_i(take_i && kind_o[4]),
      .qp_o(cq_fail_qp)
  );
  dingo_qp_fifo u_turn (
      .clk_i,
      .rst_ni,
      .ready_o(turn_clear),
      .push_i(ready_i),
      .push_qp_i(ready_qp_i),
      .valid_o(turn_valid),
      .pop_i(take_i && turn && !woken),
      .qp_o(turn_qp)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      since_q <= '0;
      woken_last_q <= 1'b0;
    end else if (take_i) begin
      if (turn) woken_last_q <= woken;
      since_q <= turn ? '0 : since_q == MOST ? MOST : since_q + 1'b1;
    end
  end
endmodule
