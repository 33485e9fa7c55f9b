// SPDX-License-Identifier: BSD-2-Clause

/// Brings the card to rest for a command and keeps it there until release_i. First it halts sending; when that is at
/// rest, receiving and doorbells, too. A stage is at rest when all its modules are idle for 8 cycles in a row: work
/// that passes between two modules makes one of them busy within that time.
module dingo_admin_halt (
    input  logic clk_i,
    input  logic rst_ni,
    input  logic start_i,      // one cycle
    input  logic wait_i,       // the command waits for rest_o; from the cycle after start_i
    input  logic release_i,
    input  logic tx_idle_i,
    input  logic rx_idle_i,
    output logic halt_tx_o,
    output logic halt_rx_o,    // halts receiving and doorbells
    output logic rest_o        // the card is at rest
);
  localparam logic [3:0] LONG_ENOUGH = 4'd8;
  logic halting_q;
  logic halt_rx_q;             // second stage: sending is at rest
  logic [3:0] rest_q;          // consecutive idle cycles

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
