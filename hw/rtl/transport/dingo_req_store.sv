// SPDX-License-Identifier: BSD-2-Clause

/// Memories of the requester: contexts and records of all QPs, read and written by a step and by a turn, never of the
/// same QP at a time. Reads take a cycle. Records: the step goes first, the turn waits (turn_re_ok_o, turn_we_ok_o).
module dingo_req_store (
    input  logic        clk_i,
    input  logic        rst_ni,
    // a step
    input  logic        step_take_i,
    input  rtl_pkg::qpi_t        step_take_qp_i,
    input  rtl_pkg::qpi_t        step_qp_i,
    input  rtl_pkg::qpi_t        step_back_qp_i,
    input  req_pkg::back_t   step_back_i,     // never with turn_back_i
    input  logic        step_between_i,  // no step is in work or chosen: none reads a record
    input  req_pkg::rec_access_t step_access_i,
    input  rtl_pkg::qpi_t        step_rec_qp_i, // of a read
    // a turn
    input  logic        turn_take_i,   // never with step_take_i
    input  rtl_pkg::qpi_t        turn_take_qp_i,
    input  rtl_pkg::qpi_t        turn_qp_i,
    input  req_pkg::back_t   turn_back_i,
    input  req_pkg::rec_access_t turn_access_i,
    output logic        turn_re_ok_o,
    output logic        turn_we_ok_o,
    // read data for both, in the next cycle
    output req_pkg::ctx_t    c_o,
    output req_pkg::rec_t    rec_o,
    // a context is written: deadline for dingo_timers, and whether the QP is ready
    output logic        set_o,
    output rtl_pkg::qpi_t        set_qp_o,
    output logic [63:0] set_ns_o,
    output logic        ready_o        // set_qp_o is ready for a turn
);
  localparam int unsigned QP = rtl_pkg::QP_LOG;
  localparam int unsigned REC = rtl_pkg::REC_LOG;

  req_pkg::ctx_t c_back;
  req_pkg::rec_t rec_wr;
  logic turn_re, turn_we;

  assign turn_re_ok_o = step_between_i;
  assign turn_we_ok_o = !step_access_i.we;
  assign turn_re = turn_access_i.re && turn_re_ok_o;
  assign turn_we = turn_access_i.we && turn_we_ok_o;
  assign c_back = step_back_i.valid ? step_back_i.c : turn_back_i.c;
  assign rec_wr = step_access_i.we ? step_access_i.rec : turn_access_i.rec;
  assign set_o = step_back_i.valid || turn_back_i.valid;
  assign set_qp_o = step_back_i.valid ? step_back_qp_i : turn_qp_i;
  assign set_ns_o = c_back.ack_at < c_back.wait_at ? c_back.ack_at : c_back.wait_at;
  assign ready_o = step_back_i.valid ? step_back_i.wake : turn_back_i.valid && turn_back_i.wake;

  dingo_ram #(.Width(req_pkg::CTX_W), .LogDepth(QP)) u_ctx (
      .clk_i, .we_i(set_o), .waddr_i(set_qp_o), .wdata_i(c_back),
      .re_i(step_take_i || turn_take_i), .raddr_i(turn_take_i ? turn_take_qp_i : step_take_qp_i), .rdata_o(c_o));
  dingo_ram #(.Width(req_pkg::REC_W), .LogDepth(QP + REC)) u_rec (
      .clk_i, .we_i(step_access_i.we || turn_we),
      .waddr_i(step_access_i.we ? {step_qp_i, step_access_i.wpos[REC-1:0]} : {turn_qp_i, turn_access_i.wpos[REC-1:0]}), .wdata_i(rec_wr),
      .re_i(step_access_i.re || turn_re), .raddr_i(turn_re ? {turn_qp_i, turn_access_i.rpos[REC-1:0]} : {step_rec_qp_i, step_access_i.rpos[REC-1:0]}),
      .rdata_o(rec_o));

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      a_take: assert (!(step_take_i && turn_take_i));
      a_read: assert (!(step_access_i.re && turn_re));
      a_back: assert (!(step_back_i.valid && turn_back_i.valid));
      a_record: assert (!(step_access_i.we && turn_access_i.we && step_qp_i == turn_qp_i));
    end
  end
  wire unused_ok = &{1'b0, step_access_i.rpos, step_access_i.wpos, turn_access_i.rpos, turn_access_i.wpos};
endmodule
