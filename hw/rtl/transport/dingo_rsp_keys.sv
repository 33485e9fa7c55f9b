// SPDX-License-Identifier: BSD-2-Clause

/// The responder's port of the memory table: selects the part whose request goes out, and keeps the answer for
/// dingo_rsp_receive or dingo_rsp_turn. dingo_rsp_intake and dingo_rsp_wqe take their answers directly.
module dingo_rsp_keys (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  rtl_pkg::qpi_t        qp_i,           // the step's QP; cfg_i: PD and privilege for the step's requests
    input  rtl_pkg::qp_cfg_t     cfg_i,
    // one of these three requests at a time
    input  logic                 receive_valid_i,
    input  rtl_pkg::mr_req_t     receive_i,
    input  logic                 turn_valid_i,   // the next packet of a READ response:
    input  rsp_pkg::rres_t       turn_res_i,
    input  logic [31:0]          turn_offset_i,
    input  logic [12:0]          turn_bytes_i,
    input  logic                 wqe_valid_i,
    input  rtl_pkg::mr_req_t     wqe_i,
    output logic                 ask_o,          // one of them is valid: the intake waits
    input  logic                 intake_valid_i, // complete request, of any QP
    input  rtl_pkg::mr_req_t     intake_i,
    // the answer for dingo_rsp_receive or dingo_rsp_turn, until their next request
    output logic                 have_o,
    output rtl_pkg::mr_rsp_t     rsp_o,
    output logic                 mr_valid_o,
    output rtl_pkg::mr_req_t     mr_o,
    input  logic                 answer_i,       // mr_rsp_i is not for the intake
    input  rtl_pkg::mr_rsp_t     mr_rsp_i
);
  logic asked_q, have_q;
  rtl_pkg::mr_rsp_t rsp_q;

  assign ask_o = receive_valid_i || turn_valid_i || wqe_valid_i;
  assign have_o = have_q || (answer_i && asked_q);
  assign rsp_o = have_q ? rsp_q : mr_rsp_i;
  assign mr_valid_o = ask_o || intake_valid_i;
  always_comb begin
    mr_o = receive_valid_i ? receive_i : wqe_i;
    if (turn_valid_i) begin
      mr_o.key = turn_res_i.rkey;
      mr_o.va = turn_res_i.va + {32'd0, turn_offset_i};
      mr_o.len = {19'd0, turn_bytes_i};
      mr_o.access = dingo_pkg::ACC_REMOTE_READ[5:0];
    end
    mr_o.pdn = wqe_valid_i && cfg_i.has_srq ? cfg_i.srq_pdn : cfg_i.pdn;
    mr_o.privileged = cfg_i.privileged;
    mr_o.qp = qp_i;
    if (intake_valid_i) mr_o = intake_i;
  end

  always_ff @(posedge clk_i) begin
    if (receive_valid_i || turn_valid_i) begin
      asked_q <= 1'b1;
      have_q <= 1'b0;
    end else if (answer_i && asked_q) begin
      asked_q <= 1'b0;
      have_q <= 1'b1;
      rsp_q <= mr_rsp_i;
    end
    if (!rst_ni) asked_q <= 1'b0;
  end

  wire unused_ok = &{1'b0, cfg_i, turn_res_i};
endmodule
