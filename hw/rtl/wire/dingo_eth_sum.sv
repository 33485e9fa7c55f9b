// SPDX-License-Identifier: BSD-2-Clause

/// One's complement sum of a part of each frame that passes, a beat a cycle. The sum comes six cycles after the
/// frame's last beat. Never stalls.
module dingo_eth_sum (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic         valid_i,
    input  logic         last_i,
    input  logic [511:0] data_i,
    input  logic [13:0]  from_i,       // first byte of the part, even; the same for all beats of a frame
    input  logic [13:0]  to_i,         // byte after the part; the same for all beats
    output logic         done_o,       // one cycle for each frame
    output logic [15:0]  sum_o         // first byte of a pair in bits 15:8; 0 only if all bytes are 0
);
  // ---- 1: bytes outside the part become 0
  logic [7:0]   at_q;
  logic [31:0]  high_in, low_in;
  logic [511:0] words_q;
  logic         valid1_q, last1_q, begun, ended;
  assign begun = at_q > from_i[13:6];
  assign ended = at_q > to_i[13:6];
  always_comb begin
    for (int i = 0; i < 32; i++) begin
      high_in[i] = (begun || (at_q == from_i[13:6] && 5'(i) >= from_i[5:1])) && !ended &&
                   (at_q != to_i[13:6] || {5'(i), 1'b0} < to_i[5:0]);
      low_in[i] = high_in[i] && (at_q != to_i[13:6] || {5'(i), 1'b1} < to_i[5:0]);
    end
  end
  always_ff @(posedge clk_i) begin
    valid1_q <= valid_i && rst_ni;
    last1_q <= last_i;
    if (valid_i) at_q <= last_i ? '0 : at_q + 8'd1;
    for (int i = 0; i < 32; i++) begin
      words_q[i*16+8 +: 8] <= high_in[i] ? data_i[i*16 +: 8] : '0;
      words_q[i*16 +: 8] <= low_in[i] ? data_i[i*16+8 +: 8] : '0;
    end
    if (!rst_ni) at_q <= '0;
  end

  // ---- 2, 3: add groups of four
  logic [17:0] eight_q [8];
  logic [19:0] two_q [2];
  logic        valid2_q, valid3_q, valid4_q, last2_q, last3_q, last4_q, valid5_q;
  logic [31:0] acc_q;
  logic        first_q;
  logic [16:0] fold_q;
  always_ff @(posedge clk_i) begin
    valid2_q <= valid1_q && rst_ni;
    last2_q <= last1_q;
    for (int i = 0; i < 8; i++)
      eight_q[i] <= 18'(words_q[i*64 +: 16]) + 18'(words_q[i*64+16 +: 16]) + 18'(words_q[i*64+32 +: 16]) + 18'(words_q[i*64+48 +: 16]);
    valid3_q <= valid2_q && rst_ni;
    last3_q <= last2_q;
    for (int i = 0; i < 2; i++)
      two_q[i] <= 20'(eight_q[i*4]) + 20'(eight_q[i*4+1]) + 20'(eight_q[i*4+2]) + 20'(eight_q[i*4+3]);
    // ---- 4: accumulate the beats
    valid4_q <= valid3_q && rst_ni;
    last4_q <= last3_q;
    if (valid3_q) begin
      acc_q <= (first_q ? '0 : acc_q) + 32'(two_q[0]) + 32'(two_q[1]);
      first_q <= last3_q;
    end
    // ---- 5, 6: end-around carry
    valid5_q <= valid4_q && last4_q && rst_ni;
    fold_q <= 17'(acc_q[15:0]) + 17'(acc_q[31:16]);
    done_o <= valid5_q && rst_ni;
    sum_o <= fold_q[15:0] + 16'(fold_q[16]);
    if (!rst_ni) first_q <= 1'b1;
  end
  wire unused_ok = &{1'b0, from_i[0]};
endmodule
