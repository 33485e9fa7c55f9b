// SPDX-License-Identifier: BSD-2-Clause

/// Brings the card to rest for a command and keeps it there: first nobody starts to send, and when that is at rest,
/// receiving and doorbells stop, too. At rest means for 8 cycles in a row: what is between two modules shows in one
/// of them by then.
module dingo_admin_halt (
    input  logic clk_i,
    input  logic rst_ni,
    input  logic start_i,      // one cycle
    input  logic wait_i,       // it is waited for rest_o, from the cycle behind start_i on
    input  logic release_i,
    input  logic tx_idle_i,
    input  logic rx_idle_i,
    output logic halt_tx_o,
    output logic halt_rx_o,    // doorbells, too
    output logic rest_o        // everything stands still
);
  localparam logic [3:0] LONG_ENOUGH = 4'd8;
  logic halting_q;
  logic halt_rx_q;             // sending is at rest
  logic [3:0] rest_q;          // cycles at rest

  assign halt_tx_o = halting_q;
  assign halt_rx_o = halting_q && halt_rx_q;
  assign rest_o = rest_q == LONG_ENOUGH && halt_rx_q;

  always_ff @(posedge clk_i) begin
    if (wait_i) begin
      if (tx_idle_i && (rx_idle_i || !halt_rx_q)) rest_q <= rest_q + 1'b1;
      else rest_q <= '0;
      if (rest_q == LONG_ENOUGH) begin
        rest_q <= '0;
        halt_rx_q <= 1'b1;
      end
    end
    if (start_i) begin
      halting_q <= 1'b1;
      halt_rx_q <= 1'b0;
      rest_q <= '0;
    end
    if (release_i) halting_q <= 1'b0;
    if (!rst_ni) begin
      halting_q <= 1'b0;
      halt_rx_q <= 1'b0;
      rest_q <= '0;
    end
  end
endmodule
