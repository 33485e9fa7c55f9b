// SPDX-License-Identifier: BSD-2-Clause

/// What the requester remembers: a context for each QP and its records, taken out and written back by a step
/// and by a turn, never both of one QP at a time. The step goes first; the turn waits a cycle.
module dingo_req_store (
    input  logic        clk_i,
    input  logic        rst_ni,
    // a step: context in the next cycle; records of its QP
    input  logic        step_take_i,
    input  rtl_pkg::qpi_t        step_take_qp_i,
    input  rtl_pkg::qpi_t        step_qp_i,
    input  logic        step_back_i,
    input  req_pkg::ctx_t    step_c_i,
    input  logic        step_wake_i,   // with back: it wants a turn
    input  logic        step_between_i,  // it looks at no record: between two steps
    input  logic        step_re_i,
    input  rtl_pkg::qpi_t        step_rec_qp_i, // of a read
    input  logic [7:0]  step_rpos_i,
    input  logic        step_we_i,
    input  logic [7:0]  step_wpos_i,
    input  req_pkg::rec_t    step_rec_i,
    // a turn
    input  logic        turn_take_i,   // never with step_take_i
    input  rtl_pkg::qpi_t        turn_take_qp_i,
    input  rtl_pkg::qpi_t        turn_qp_i,
    input  logic        turn_back_i,
    output logic        turn_back_ok_o,
    input  req_pkg::ctx_t    turn_c_i,
    input  logic        turn_wake_i,
    input  logic        turn_re_i,
    output logic        turn_re_ok_o,
    input  logic [7:0]  turn_rpos_i,
    input  logic        turn_we_i,
    output logic        turn_we_ok_o,
    input  logic [7:0]  turn_wpos_i,
    input  req_pkg::rec_t    turn_rec_i,
    // of both, in the cycle behind
    output req_pkg::ctx_t    c_o,
    output req_pkg::rec_t    rec_o,
    // what follows from a context that goes back
    output logic        set_o,         // its deadline
    output rtl_pkg::qpi_t        set_qp_o,
    output logic [63:0] set_ns_o,
    output logic        ready_o        // set_qp_o wants a turn
);
  localparam int unsigned QP = rtl_pkg::QP_LOG;
  localparam int unsigned REC = rtl_pkg::REC_LOG;

  req_pkg::ctx_t c_back;
  req_pkg::rec_t rec_wr;
  logic turn_re, turn_we;

  assign turn_back_ok_o = !step_back_i;
  assign turn_re_ok_o = step_between_i;
  assign turn_we_ok_o = !step_we_i;
  assign turn_re = turn_re_i && turn_re_ok_o;
  assign turn_we = turn_we_i && turn_we_ok_o;
  assign c_back = step_back_i ? step_c_i : turn_c_i;
  assign rec_wr = step_we_i ? step_rec_i : turn_rec_i;
  assign set_o = step_back_i || turn_back_i;
  assign set_qp_o = step_back_i ? step_qp_i : turn_qp_i;
  assign set_ns_o = c_back.ack_at < c_back.wait_at ? c_back.ack_at : c_back.wait_at;
  assign ready_o = step_back_i ? step_wake_i : turn_back_i && turn_wake_i;

  dingo_ram #(.Width(req_pkg::CTX_W), .LogDepth(QP)) u_ctx (
      .clk_i, .we_i(set_o), .waddr_i(set_qp_o), .wdata_i(c_back),
      .re_i(step_take_i || turn_take_i), .raddr_i(turn_take_i ? turn_take_qp_i : step_take_qp_i), .rdata_o(c_o));
  dingo_ram #(.Width(req_pkg::REC_W), .LogDepth(QP + REC)) u_rec (
      .clk_i, .we_i(step_we_i || turn_we),
      .waddr_i(step_we_i ? {step_qp_i, step_wpos_i[REC-1:0]} : {turn_qp_i, turn_wpos_i[REC-1:0]}), .wdata_i(rec_wr),
      .re_i(step_re_i || turn_re), .raddr_i(turn_re ? {turn_qp_i, turn_rpos_i[REC-1:0]} : {step_rec_qp_i, step_rpos_i[REC-1:0]}),
      .rdata_o(rec_o));

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      a_take: assert (!(step_take_i && turn_take_i));
      a_read: assert (!(step_re_i && turn_re));
      a_back: assert (!(step_back_i && turn_back_i && step_qp_i == turn_qp_i));
      a_record: assert (!(step_we_i && turn_we_i && step_qp_i == turn_qp_i));
    end
  end
  wire unused_ok = &{1'b0, step_rpos_i, step_wpos_i, turn_rpos_i, turn_wpos_i};
endmodule
