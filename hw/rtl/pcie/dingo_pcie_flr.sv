// SPDX-License-Identifier: BSD-2-Clause

/// Function-level reset of PCIe. Writes CTRL.RESET, on which the card's bus guard ends the bursts that it has begun.
/// When no read and no write is outstanding and the card is ready again, the core is told.
module dingo_pcie_flr (
    input  logic clk_i,
    input  logic rst_ni,
    input  logic flr_i,           // the core has a reset in process, until flr_done_o
    output logic flr_done_o,
    output logic clear_o,         // clears the MSI-X table
    output logic reset_valid_o,   // write CTRL.RESET
    input  logic reset_ready_i,
    input  logic settled_i,       // the write of CTRL.RESET is answered
    input  logic bus_idle_i,      // no read and no write is outstanding
    input  logic card_ready_i
);
  typedef enum logic [1:0] {
    IDLE  = 2'd0,
    RESET = 2'd1,
    DRAIN = 2'd2,
    TOLD  = 2'd3
  } state_t;
  state_t state_q;
  logic [5:0] wait_q;             // card_ready_i falls some cycles after the write

  assign flr_done_o = state_q == TOLD;
  assign clear_o = state_q == RESET;
  assign reset_valid_o = state_q == RESET;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= IDLE;
    else begin
      case (state_q)
        IDLE: if (flr_i) state_q <= RESET;
        RESET: if (reset_ready_i) state_q <= DRAIN;
        DRAIN: if (wait_q == '1 && bus_idle_i && card_ready_i) state_q <= TOLD;
        default: if (!flr_i) state_q <= IDLE;
      endcase
    end
    if (state_q != DRAIN || !settled_i) wait_q <= '0;
    else if (wait_q != '1) wait_q <= wait_q + 1'b1;
  end
endmodule
