// SPDX-License-Identifier: BSD-2-Clause

/// Selects the next operation of dingo_cq, in this order of priority: a command, a written entry, a deadline, a
/// doorbell, a new entry of the clients (round-robin). Combinational but for the arbiter's state.
module dingo_cq_next (
    input  logic clk_i,
    input  logic rst_ni,
    input  logic room_i,             // an operation may begin
    input  logic cfg_valid_i,
    input  logic done_valid_i,
    input  logic due_valid_i,
    input  logic db_valid_i,         // a doorbell; new entries wait for it
    input  logic db_room_i,          // the doorbell may begin
    input  logic post_room_i,
    input  logic [cq_pkg::CLIENTS-1:0] cqe_valid_i,
    output logic [cq_pkg::CLIENTS-1:0] cqe_ready_o,
    input  logic [cq_pkg::CLIENTS*rtl_pkg::CQE_REQ_W-1:0] cqe_i,
    output logic                       issue_o,
    output cq_pkg::pick_t              pick_o,
    output logic [cq_pkg::CLIENTS-1:0] grant_o,
    output rtl_pkg::cqe_req_t          granted_o
);
  localparam int unsigned ReqW = rtl_pkg::CQE_REQ_W;
  logic [cq_pkg::CLIENTS-1:0] grant;
  logic [ReqW-1:0] granted_bits;
  logic cfg, done, due, db, post;

  assign cfg = room_i && cfg_valid_i;
  assign done = room_i && !cfg_valid_i && done_valid_i;
  assign due = room_i && !cfg_valid_i && !done_valid_i && due_valid_i;
  assign db = room_i && !cfg_valid_i && !done_valid_i && !due && db_valid_i && db_room_i;
  assign post = room_i && !cfg_valid_i && !done_valid_i && !due && !db_valid_i && post_room_i;
  assign pick_o = {cfg, done, due, db, post};
  assign issue_o = cfg || done || due || db || (post && grant != '0);

  dingo_arb #(
      .N(cq_pkg::CLIENTS)
  ) u_arb (
      .clk_i,
      .rst_ni,
      .req_i(cqe_valid_i),
      .take_i(post),
      .grant_o(grant)
  );
  always_comb begin
    granted_bits = '0;
    for (int i = 0; i < cq_pkg::CLIENTS; i++) if (grant[i]) granted_bits = granted_bits | cqe_i[i*ReqW +: ReqW];
  end
  assign grant_o = grant;
  assign granted_o = granted_bits;
  assign cqe_ready_o = post ? grant : '0;
endmodule
