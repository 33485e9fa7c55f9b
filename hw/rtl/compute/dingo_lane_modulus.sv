// SPDX-License-Identifier: BSD-2-Clause

/// One lane: x modulo m. The quotient by the reciprocal floor((2^32 - 1) / m) is exact or one too small. Eleven stages,
/// a word a cycle; en_i[k] enables stage k. The caller delays reciprocal and m to the stages that use them.
module dingo_lane_modulus (
    input  logic        clk_i,
    input  logic [10:0] en_i,
    input  logic [31:0] x_i,
    input  logic [31:0] reciprocal1_i,   // for stage 1
    input  logic [31:0] m4_i,            // for stage 4
    input  logic [31:0] m8_i,            // for stage 8
    output logic [31:0] y_o
);
  // Three stages for each product, so that the multiplier's own registers are used.
  logic [31:0] x0_q, x1_q, x2_q, x3_q, x4_q, x5_q, x6_q;
  logic [63:0] product1_q, product2_q;
  logic [31:0] quotient3_q;
  logic [32:0] product4_q, product5_q, product6_q;
  logic [32:0] rest7_q;                  // below 2 m
  logic [32:0] rest8_q;
  logic [33:0] less8_q;
  logic [31:0] rest9_q, y_q;

  always_ff @(posedge clk_i) begin
    if (en_i[0]) x0_q <= x_i;
    if (en_i[1]) begin
      product1_q <= 64'(x0_q) * 64'(reciprocal1_i);
      x1_q <= x0_q;
    end
    if (en_i[2]) begin
      product2_q <= product1_q;
      x2_q <= x1_q;
    end
    if (en_i[3]) begin
      quotient3_q <= product2_q[63:32];
      x3_q <= x2_q;
    end
    if (en_i[4]) begin
      product4_q <= 33'(quotient3_q) * 33'(m4_i);
      x4_q <= x3_q;
    end
    if (en_i[5]) begin
      product5_q <= product4_q;
      x5_q <= x4_q;
    end
    if (en_i[6]) begin
      product6_q <= product5_q;
      x6_q <= x5_q;
    end
    if (en_i[7]) rest7_q <= {1'b0, x6_q} - product6_q;
    if (en_i[8]) begin
      rest8_q <= rest7_q;
      less8_q <= {1'b0, rest7_q} - {2'b0, m8_i};
    end
    if (en_i[9]) rest9_q <= less8_q[33] ? rest8_q[31:0] : less8_q[31:0];
    if (en_i[10]) y_q <= rest9_q;
  end
  assign y_o = y_q;

  wire unused_ok = &{1'b0, product2_q[31:0], rest8_q[32], less8_q[32]};
endmodule
