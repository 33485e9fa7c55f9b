// SPDX-License-Identifier: BSD-2-Clause

/// Properties of dingo_fifo: the count stays in bounds, and any one element comes out once, unchanged, behind exactly
/// the elements that were in before it. The solver picks that element with `mark_i`.
module fifo_props (
    input logic       clk_i,
    input logic       valid_i,
    input logic       ready_i,
    input logic       mark_i,
    input logic [1:0] data_i
);
  logic rst_ni = 1'b0;
  logic ready, valid, push, pop;
  logic [1:0] data;
  logic [2:0] count;

  dingo_fifo #(
      .Width(2),
      .LogDepth(2)
  ) dut (
      .clk_i,
      .rst_ni,
      .valid_i,
      .ready_o(ready),
      .data_i,
      .valid_o(valid),
      .ready_i,
      .data_o (data),
      .count_o(count)
  );

  // Registers of the FIFO, connected by run.sh; the induction needs the stored elements.
  wire [2:0] dut_rd;
  wire [1:0] dut_mem0, dut_mem1, dut_mem2, dut_mem3;
  wire [7:0] dut_mem = {dut_mem3, dut_mem2, dut_mem1, dut_mem0};

  logic held_q = 1'b0;  // the marked element is in the FIFO
  logic [1:0] ahead_q, value_q, place;  // elements before the marked one, its value, its index in mem
  logic [2:0] count_q = 3'd0;

  assign push  = valid_i && ready;
  assign pop   = valid && ready_i;
  assign place = dut_rd[1:0] + ahead_q;

  always_ff @(posedge clk_i) begin
    rst_ni <= 1'b1;
    if (!rst_ni) begin
      held_q  <= 1'b0;
      count_q <= 3'd0;
    end else begin
      count_q <= count_q + {2'd0, push} - {2'd0, pop};
      if (!held_q) begin
        if (push && mark_i) begin
          held_q  <= 1'b1;
          value_q <= data_i;
          ahead_q <= 2'(count_q - {2'd0, pop});
        end
      end else if (pop) begin
        if (ahead_q == 2'd0) held_q <= 1'b0;
        ahead_q <= ahead_q - 2'd1;
      end
    end
  end

  always_comb begin
    if (rst_ni) begin
      a_bound : assert (count <= 3'd4);
      a_count : assert (count == count_q);
      a_full : assert (ready == (count_q != 3'd4));
      a_empty : assert (valid == (count_q != 3'd0));
      if (held_q) begin
        a_inside : assert ({1'b0, ahead_q} < count_q);
        a_stored : assert (dut_mem[{1'b0, place}*2+:2] == value_q);
        if (ahead_q == 2'd0) begin
          a_next : assert (valid && data == value_q);
        end
      end
    end
  end
endmodule
