// SPDX-License-Identifier: BSD-2-Clause

/// FIFO of 2^LogDepth entries, both sides valid/ready; an entry can be popped in the cycle after its push.
/// No combinational path leads from one side to the other.
module dingo_fifo #(
    parameter int unsigned Width = 32,
    parameter int unsigned LogDepth = 3
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic             valid_i,
    output logic             ready_o,
    input  logic [Width-1:0] data_i,
    output logic             valid_o,
    input  logic             ready_i,
    output logic [Width-1:0] data_o,
    output logic [LogDepth:0] count_o  // entries held
);
  logic [Width-1:0] mem[0:(1<<LogDepth)-1];
  logic [LogDepth:0] wr_q, rd_q;
  // The same as count_o, but from flip-flops: long paths begin at valid_o and ready_o.
  logic valid_q, full_q;
  logic push, pop;

  assign push = valid_i && ready_o;
  assign pop = valid_o && ready_i;
  assign count_o = wr_q - rd_q;
  assign ready_o = !full_q;
  assign valid_o = valid_q;
  assign data_o = mem[rd_q[LogDepth-1:0]];

  // The flags change only with push or pop, so simulation checks them only then; induction starts in any state.
`ifdef FORMAL
  wire looks = 1'b1;
`else
  wire looks = push || pop;
`endif

  always_ff @(posedge clk_i) begin
    if (push) mem[wr_q[LogDepth-1:0]] <= data_i;
    if (!rst_ni) begin
      wr_q <= '0;
      rd_q <= '0;
      valid_q <= 1'b0;
      full_q <= 1'b0;
    end else begin
      if (looks) flags: assert (valid_q == (count_o != '0) && full_q == (count_o == {1'b1, {LogDepth{1'b0}}}) && full_q == count_o[LogDepth]);
      if (push) wr_q <= wr_q + 1'b1;
      if (pop) rd_q <= rd_q + 1'b1;
      if (push && !pop) begin
        valid_q <= 1'b1;
        full_q <= &count_o[LogDepth-1:0];
      end else if (pop && !push) begin
        valid_q <= count_o[LogDepth:1] != '0;
        full_q <= 1'b0;
      end
    end
  end
endmodule
