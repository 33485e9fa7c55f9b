// SPDX-License-Identifier: BSD-2-Clause

/// Properties of dingo_qp_fifo (4 QPs): a QP that is pushed comes out once, in the order of first
/// pushes, however often it is pushed while it waits; nothing else comes out.
module qp_fifo_props (
    input logic       clk_i,
    input logic       push_i,
    input logic       pop_i,
    input logic [1:0] qp_i
);
  logic rst_ni = 1'b0;
  logic ready, valid, pop;
  logic [1:0] qp;

  dingo_qp_fifo dut (
      .clk_i,
      .rst_ni,
      .ready_o(ready),
      .push_i,
      .push_qp_i(qp_i),
      .valid_o(valid),
      .pop_i,
      .qp_o(qp)
  );

  // connected by run.sh
  wire [2:0] dut_wr, dut_rd;
  wire [1:0] dut_clear, dut_clear_popped;  // next row to clear; a row has two bits, 2: all are clear
  wire [1:0] dut_mem0, dut_mem1, dut_mem2, dut_mem3;
  wire dut_pushed00, dut_pushed01, dut_pushed10, dut_pushed11;  // row, column
  wire dut_popped00, dut_popped01, dut_popped10, dut_popped11;
  wire [7:0] dut_mem = {dut_mem3, dut_mem2, dut_mem1, dut_mem0};
  wire [3:0] dut_pushed = {dut_pushed11, dut_pushed10, dut_pushed01, dut_pushed00};
  wire [3:0] dut_popped = {dut_popped11, dut_popped10, dut_popped01, dut_popped00};

  logic [3:0] waits_q = 4'd0;  // QPs that were pushed and not popped
  logic [2:0] count;
  (* anyconst *) wire [1:0] who;
  logic [1:0] ahead_q = 2'd0;  // QPs in front of `who` while it waits
  logic [1:0] at0, at1, at2, at3, place, at_who;
  logic [3:0] next;

  assign pop = pop_i && valid;
  assign count = {2'd0, waits_q[0]} + {2'd0, waits_q[1]} + {2'd0, waits_q[2]} + {2'd0, waits_q[3]};
  assign at0 = dut_mem[{1'b0, dut_rd[1:0]}*2+:2];
  assign at1 = dut_mem[{1'b0, 2'(dut_rd[1:0] + 2'd1)}*2+:2];
  assign at2 = dut_mem[{1'b0, 2'(dut_rd[1:0] + 2'd2)}*2+:2];
  assign at3 = dut_mem[{1'b0, 2'(dut_rd[1:0] + 2'd3)}*2+:2];
  assign place = dut_rd[1:0] + ahead_q;
  assign at_who = dut_mem[{1'b0, place}*2+:2];

  always_comb begin
    next = waits_q;
    if (pop) next[qp] = 1'b0;
    if (push_i) next[qp_i] = 1'b1;
  end

  always_ff @(posedge clk_i) begin
    rst_ni <= 1'b1;
    if (!rst_ni) waits_q <= 4'd0;
    else begin
      waits_q <= next;
      if (push_i && qp_i == who && (!waits_q[who] || (pop && qp == who))) ahead_q <= 2'(count - {2'd0, pop});
      else if (pop) ahead_q <= ahead_q - 2'd1;
    end
  end

  always_comb begin
    if (!ready) assume (!push_i);  // required by ready_o
    if (rst_ni) begin
      a_some : assert (valid == (waits_q != 4'd0));
      if (valid) begin
        a_pushed : assert (waits_q[qp]);
      end
      if (waits_q[who] && ahead_q == 2'd0) begin
        a_order : assert (valid && qp == who);
      end
      // invariants for the induction
      a_count : assert (3'(dut_wr - dut_rd) == count);
      a_clear : assert (dut_clear <= 2'd2 && dut_clear == dut_clear_popped);
      if (waits_q[who]) begin
        a_inside : assert ({1'b0, ahead_q} < count && at_who == who);
      end
      if (ready) begin
        a_flags : assert ((dut_pushed ^ dut_popped) == waits_q);
      end else begin
        a_none : assert (waits_q == 4'd0 && dut_clear < 2'd2);
        a_zero : assert (((dut_pushed | dut_popped) & ~(4'hf << {dut_clear[0], 1'b0})) == 4'd0);
      end
      a_in0 : assert (count < 3'd1 || waits_q[at0]);
      a_in1 : assert (count < 3'd2 || (waits_q[at1] && at1 != at0));
      a_in2 : assert (count < 3'd3 || (waits_q[at2] && at2 != at0 && at2 != at1));
      a_in3 : assert (count < 3'd4 || (waits_q[at3] && at3 != at0 && at3 != at1 && at3 != at2));
    end
  end
endmodule
