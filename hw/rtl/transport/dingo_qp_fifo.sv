// SPDX-License-Identifier: BSD-2-Clause

/// Queue of QPs in which each stands at most once, so it never overflows. Whether a QP is in it: two
/// bits that each have one writer, different while it is.
module dingo_qp_fifo (
    input  logic clk_i,
    input  logic rst_ni,
    output logic ready_o,              // cleared after reset; nothing may be pushed before
    input  logic push_i,
    input  rtl_pkg::qpi_t push_qp_i,
    output logic valid_o,
    input  logic pop_i,
    output rtl_pkg::qpi_t qp_o,
    output logic [rtl_pkg::QP_LOG:0] count_o
);
  localparam int unsigned LOG = rtl_pkg::QP_LOG;

  logic [LOG-1:0] mem[0:(1<<LOG)-1];
  logic pushed[0:(1<<LOG)-1];          // written by pushes
  logic popped[0:(1<<LOG)-1];          // written by pops
  logic [LOG:0] wr_q, rd_q, clear_q;
  logic pop, push, same;

  assign ready_o = clear_q[LOG];
  assign valid_o = wr_q != rd_q;
  assign count_o = wr_q - rd_q;
  assign qp_o = mem[rd_q[LOG-1:0]];
  assign pop = pop_i && valid_o;
  assign same = pop && qp_o == push_qp_i;
  assign push = push_i && ready_o && (same || pushed[push_qp_i] == popped[push_qp_i]);

  always_ff @(posedge clk_i) begin
    if (!ready_o) pushed[clear_q[LOG-1:0]] <= 1'b0;
    else if (push) pushed[push_qp_i] <= !pushed[push_qp_i];
    if (!ready_o) popped[clear_q[LOG-1:0]] <= 1'b0;
    else if (pop) popped[qp_o] <= !popped[qp_o];
    if (push) mem[wr_q[LOG-1:0]] <= push_qp_i;
    if (!rst_ni) begin
      wr_q <= '0;
      rd_q <= '0;
      clear_q <= '0;
    end else begin
      if (!ready_o) clear_q <= clear_q + 1'b1;
      if (push) wr_q <= wr_q + 1'b1;
      if (pop) rd_q <= rd_q + 1'b1;
      assert (!(push_i && !ready_o));
    end
  end
endmodule
