// SPDX-License-Identifier: BSD-2-Clause

/// FIFO of QPs that holds each QP at most once, so it never overflows; pushing a QP that is in it has no effect.
/// A QP is in it while its bits `pushed` and `popped` differ: a push inverts one, a pop the other.
module dingo_qp_fifo (
    input  logic clk_i,
    input  logic rst_ni,
    output logic ready_o,              // cleared after reset; push_i must be 0 before
    input  logic push_i,
    input  rtl_pkg::qpi_t push_qp_i,
    output logic valid_o,
    input  logic pop_i,
    output rtl_pkg::qpi_t qp_o,
    output logic [rtl_pkg::QP_LOG:0] count_o
);
  localparam int unsigned LOG = rtl_pkg::QP_LOG;

  logic [LOG-1:0] mem[0:(1<<LOG)-1];
  logic [LOG:0] wr_q, rd_q;
  logic pop, push, same;
  logic pushed, popped, popped_out;    // of push_qp_i; popped_out: of qp_o
  logic [1:0] ready;
  dingo_marks #(.Log(LOG)) u_pushed (
      .clk_i, .rst_ni, .ready_o(ready[0]), .we_i(push), .waddr_i(push_qp_i), .wdata_i(!pushed), .raddr_i(push_qp_i),
      .rdata_o(pushed)
  );
  dingo_marks #(.Log(LOG), .Reads(2)) u_popped (
      .clk_i, .rst_ni, .ready_o(ready[1]), .we_i(pop), .waddr_i(qp_o), .wdata_i(!popped_out), .raddr_i({push_qp_i, qp_o}),
      .rdata_o({popped, popped_out})
  );

  assign ready_o = ready == '1;
  assign valid_o = wr_q != rd_q;
  assign count_o = wr_q - rd_q;
  assign qp_o = mem[rd_q[LOG-1:0]];
  assign pop = pop_i && valid_o;
  assign same = pop && qp_o == push_qp_i;
  assign push = push_i && ready_o && (same || pushed == popped);

  always_ff @(posedge clk_i) begin
    if (push) mem[wr_q[LOG-1:0]] <= push_qp_i;
    if (!rst_ni) begin
      wr_q <= '0;
      rd_q <= '0;
    end else begin
      if (push) wr_q <= wr_q + 1'b1;
      if (pop) rd_q <= rd_q + 1'b1;
      assert (!(push_i && !ready_o));
    end
  end
endmodule
