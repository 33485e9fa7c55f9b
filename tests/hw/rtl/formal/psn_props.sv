// SPDX-License-Identifier: BSD-2-Clause

/// Properties of the sequence number helpers of rtl_pkg, for all operands: psn_before(a, b) exactly when
/// `b` is 1 to 2^23 steps ahead of `a` modulo 2^24; idx_before likewise, 2^31 steps modulo 2^32.
module psn_props (
    input logic        clk_i,
    input logic [23:0] a,
    input logic [23:0] b,
    input logic [23:0] c,
    input logic [31:0] x,
    input logic [31:0] y,
    input logic [ 2:0] mtu
);
  logic [23:0] ab, bc, ac;
  logic [31:0] xy;
  logic before_ab, before_ba;

  assign ab = b - a;
  assign bc = c - b;
  assign ac = c - a;
  assign xy = y - x;
  assign before_ab = rtl_pkg::psn_before(a, b);
  assign before_ba = rtl_pkg::psn_before(b, a);

  always_comb begin
    a_window : assert (before_ab == (ab != 24'd0 && ab <= 24'h800000));
    a_self : assert (!rtl_pkg::psn_before(a, a));
    a_one : assert (a == b || before_ab || before_ba);
    a_both : assert (!(before_ab && before_ba) || ab == 24'h800000);
    a_moved : assert (rtl_pkg::psn_before(a + c, b + c) == before_ab);
    if (ab < 24'h400000 && bc < 24'h400000 && before_ab && rtl_pkg::psn_before(b, c)) begin
      a_chain : assert (rtl_pkg::psn_before(a, c) && !rtl_pkg::psn_before(c, a) && ac > ab);
    end
    a_index : assert (rtl_pkg::idx_before(x, y) == (xy != 32'd0 && xy <= 32'h80000000));
    // Within a window of 2^23, the card's 32-bit numbers and the wire's 24-bit numbers have the same order.
    if (xy < 32'h800000) begin
      a_wire : assert (rtl_pkg::psn_before(x[23:0], y[23:0]) == rtl_pkg::idx_before(x, y));
    end
    if (mtu >= 3'd1 && mtu <= 3'd5) begin
      a_mtu : assert (rtl_pkg::pmtu_bytes(mtu) == 13'd256 << (mtu - 3'd1));
    end
  end
  wire unused_ok = &{1'b0, clk_i};
endmodule
