// SPDX-License-Identifier: BSD-2-Clause

/// One lane: ln(max(x, 0) + 1) as an IEEE 754 single, by the integer algorithm of docs/reference/compute.md. Eleven
/// stages, a word a cycle; en_i[k] enables stage k.
module dingo_lane_log (
    input  logic        clk_i,
    input  logic [10:0] en_i,
    input  logic [31:0] x_i,
    output logic [31:0] y_o
);
  // ---- 0: max(x, 0) + 1
  logic [31:0] number0_q;
  // ---- 1: shifted so that its highest non-zero byte is on top; 2: so that its highest bit is, which is dropped
  logic [31:0] number1_q;
  logic [1:0]  byte1, byte1_q;
  logic [2:0]  bit2;
  logic [30:0] fraction2_q;
  logic [4:0]  power2_q;
  // ---- 3: table
  logic [69:0] segment3_q;
  logic [34:0] base3_q;
  logic [23:0] t3_q;
  // ---- 4, 5: slope at t
  logic [31:0] bend4_q;
  logic [23:0] c1_4_q, t4_q, slope5_q, t5_q;
  logic [34:0] base4_q, base5_q;
  // ---- 6, 7: rise within the segment
  logic [47:0] rise6_q, rise7_q;
  logic [34:0] base6_q, base7_q;
  // ---- 8: sum in units of 2^-30; 9: its 24 highest bits and the one below, for rounding; 10: single
  logic [34:0] sum8_q;
  logic [24:0] top, top9_q;
  logic [7:0]  exponent, exponent9_q;
  logic        zero9_q;
  logic [31:0] y_q;

  always_comb begin
    byte1 = '0;
    for (int i = 1; i < 4; i++) if (number0_q[i*8 +: 8] != '0) byte1 = 2'(i);
    bit2 = '0;
    for (int i = 1; i < 8; i++) if (number1_q[24 + i]) bit2 = 3'(i);
  end

  // ln 2 <= sum < 32, or 0
  always_comb begin
    top = sum8_q[29:5];
    exponent = 8'd126;
    for (int k = 30; k < 35; k++)
      if (sum8_q[k]) begin
        top = sum8_q[k -: 25];
        exponent = 8'(127 + k - 30);
      end
  end

  always_ff @(posedge clk_i) begin
    if (en_i[0]) number0_q <= x_i[31] ? 32'd1 : x_i + 32'd1;
    if (en_i[1]) begin
      number1_q <= number0_q << {2'd3 - byte1, 3'd0};
      byte1_q <= byte1;
    end
    if (en_i[2]) begin
      fraction2_q <= 31'(number1_q << (3'd7 - bit2));
      power2_q <= {byte1_q, bit2};
    end
    if (en_i[3]) begin
      segment3_q <= dingo_log_pkg::segment(fraction2_q[30:24]);
      base3_q <= dingo_log_pkg::powers(power2_q);
      t3_q <= fraction2_q[23:0];
    end
    if (en_i[4]) begin
      bend4_q <= 32'(segment3_q[69:54]) * 32'(t3_q[23:8]);
      c1_4_q <= segment3_q[53:30];
      base4_q <= base3_q + {5'd0, segment3_q[29:0]};
      t4_q <= t3_q;
    end
    if (en_i[5]) begin
      slope5_q <= c1_4_q - {8'd0, bend4_q[31:16]};
      base5_q <= base4_q;
      t5_q <= t4_q;
    end
    if (en_i[6]) begin
      rise6_q <= 48'(slope5_q) * 48'(t5_q);
      base6_q <= base5_q;
    end
    if (en_i[7]) begin
      rise7_q <= rise6_q;
      base7_q <= base6_q;
    end
    if (en_i[8]) sum8_q <= base7_q + {11'd0, rise7_q[47:24]};
    if (en_i[9]) begin
      top9_q <= top;
      exponent9_q <= exponent;
      zero9_q <= sum8_q == '0;
    end
    // A mantissa that rounds up to 2^24 carries into the exponent, as it must.
    if (en_i[10]) y_q <= zero9_q ? '0 : {1'b0, exponent9_q, top9_q[23:1]} + {31'd0, top9_q[0]};
  end
  assign y_o = y_q;

  wire unused_ok = &{1'b0, top9_q[24], bend4_q[15:0], rise7_q[23:0]};
endmodule
