// SPDX-License-Identifier: BSD-2-Clause

/// Empties what lies between two clocks after a reset of either side, whatever value its registers have (a clock may
/// have runt pulses around its reset). Handshake of four steps: side `a` stops and raises `flush`; `b` stops, clears
/// itself and answers; `a` clears itself and, when no side is in reset, lowers `flush`; `b` withdraws its answer, and
/// both run again. So no number is cleared while the other side uses it. A side is stopped while its `run` is low;
/// about 20 cycles of the slower clock.
module dingo_mac_flush (
    input  logic a_clk_i,
    input  logic a_up_i,    // not in reset
    output logic a_run_o,
    output logic a_clear_o,
    input  logic b_clk_i,
    input  logic b_up_i,
    output logic b_run_o,
    output logic b_clear_o
);
  logic flush_q = 1'b1, need_q = 1'b1, a_run_q = 1'b0, ack_here, ask_here, down;
  logic ask_q = 1'b0, b_run_q = 1'b0, flush_there;
  logic [3:0] ack_q = '0;  // b has been cleared for as many cycles as bits are set

  dingo_mac_sync i_ack (.clk_i(a_clk_i), .bit_i(ack_q[3]), .bit_o(ack_here));
  dingo_mac_sync i_ask (.clk_i(a_clk_i), .bit_i(ask_q), .bit_o(ask_here));
  dingo_mac_sync i_flush (.clk_i(b_clk_i), .bit_i(flush_q), .bit_o(flush_there));

  assign down = !a_up_i || ask_here;
  always_ff @(posedge a_clk_i) begin
    if (down) need_q <= 1'b1;
    if (!flush_q) flush_q <= (need_q || down) && !ack_here;
    else if (ack_here && !down) begin
      flush_q <= 1'b0;
      need_q <= 1'b0;
    end
    a_run_q <= !down && !need_q && !flush_q && !ack_here;
  end
  assign a_run_o = a_run_q;
  assign a_clear_o = flush_q && ack_here;

  always_ff @(posedge b_clk_i) begin
    if (!b_up_i) ask_q <= 1'b1;
    else if (flush_there) ask_q <= 1'b0;
    ack_q <= {ack_q[2:0], flush_there};
    b_run_q <= b_up_i && !ask_q && !flush_there && ack_q == '0;
  end
  assign b_run_o = b_run_q;
  assign b_clear_o = ack_q[0];
endmodule
