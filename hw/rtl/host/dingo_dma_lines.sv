// SPDX-License-Identifier: BSD-2-Clause

/// Reads of whole lines. The client's number is the AXI ID, so that the answers of a client come in the order of its
/// requests and pass in the same cycle; clients always take them. An error marks its line and the rest of the request.
/// Requests take one cycle to the address channel; they stall at 2^LogOutstanding outstanding ones.
module dingo_dma_lines #(
    parameter int unsigned LogOutstanding = 7
) (
    input  logic clk_i,
    input  logic rst_ni,
    output logic idle_o,
    input  logic [rtl_pkg::LINES-1:0]                    line_valid_i,
    output logic [rtl_pkg::LINES-1:0]                    line_ready_o,
    input  logic [rtl_pkg::LINES*rtl_pkg::RDL_REQ_W-1:0] line_i,
    output logic [rtl_pkg::LINES-1:0]                    line_rsp_valid_o,
    output rtl_pkg::rdl_rsp_t                            line_rsp_o,
    output logic         error_o,     // one request failed
    // read address and data channels
    output logic         ar_valid_o,
    input  logic         ar_ready_i,
    output logic [  5:0] ar_id_o,
    output logic [ 57:0] ar_line_o,
    output logic [  2:0] ar_len_o,    // lines - 1
    input  logic         r_valid_i,
    input  logic [  5:0] r_id_i,
    input  logic [511:0] r_data_i,
    input  logic         r_err_i,
    input  logic         r_last_i
);
  localparam int unsigned N = rtl_pkg::LINES;
  localparam int unsigned W = rtl_pkg::RDL_REQ_W;

  // ---------------------------------------------------------------- requests
  logic [N-1:0] grant;
  logic can_take, taken, ar_room;
  rtl_pkg::rdl_req_t chosen;
  logic [5:0] chosen_id;
  logic [2:0] chosen_len;
  logic [1:0] ar_count;
  logic [LogOutstanding:0] outstanding_q;

  assign can_take = ar_room && !outstanding_q[LogOutstanding];
  assign taken = can_take && line_valid_i != '0;
  assign line_ready_o = can_take ? grant : '0;

  dingo_arb #(.N(N)) u_arb (.clk_i, .rst_ni, .req_i(line_valid_i), .take_i(taken), .grant_o(grant));

  always_comb begin
    chosen = '0;
    chosen_id = '0;
    for (int unsigned i = 0; i < N; i++) begin
      if (grant[i]) begin
        chosen = line_i[i*W +: W];
        chosen_id = 6'(i);
      end
    end
  end

  assign chosen_len = 3'(chosen.lines - 4'd1);

  dingo_fifo #(.Width(67), .LogDepth(1)) u_ar (
      .clk_i, .rst_ni,
      .valid_i(taken), .ready_o(ar_room), .data_i({chosen_id, chosen.addr, chosen_len}),
      .valid_o(ar_valid_o), .ready_i(ar_ready_i), .data_o({ar_id_o, ar_line_o, ar_len_o}),
      .count_o(ar_count)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) outstanding_q <= '0;
    else outstanding_q <= outstanding_q + {{LogOutstanding{1'b0}}, taken}
                          - {{LogOutstanding{1'b0}}, r_valid_i && r_last_i};
  end

  assign idle_o = outstanding_q == '0;

  // ---------------------------------------------------------------- answers
  logic [N-1:0] failed_q;  // a line of the client's request in progress had an error
  logic err;

  assign err = r_err_i || failed_q[r_id_i[3:0]];
  assign line_rsp_o.err = err;
  assign line_rsp_o.last = r_last_i;
  assign line_rsp_o.data = r_data_i;
  assign error_o = r_valid_i && r_last_i && err;

  always_comb begin
    line_rsp_valid_o = '0;
    for (int unsigned i = 0; i < N; i++) line_rsp_valid_o[i] = r_valid_i && r_id_i == 6'(i);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) failed_q <= '0;
    else if (r_valid_i) failed_q[r_id_i[3:0]] <= err && !r_last_i;
  end

  wire unused_ok = &{1'b0, ar_count};

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (r_valid_i) client_known: assert (r_id_i < 6'(N) && outstanding_q != '0);
      if (taken) one_page: assert (chosen.lines != '0 && chosen.lines <= 4'd8 &&
                                   {1'b0, chosen.addr[5:0]} + {3'b0, chosen.lines} <= 7'd64);
    end
  end
endmodule
