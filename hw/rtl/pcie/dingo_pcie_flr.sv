// SPDX-License-Identifier: BSD-2-Clause

/// A function-level reset of PCIe, as the card knows it: CTRL.RESET is written, the card's bus guard ends what
/// it has begun, and when neither a read nor a write is on its way and the card is ready, the core is told.
module dingo_pcie_flr (
    input  logic clk_i,
    input  logic rst_ni,
    input  logic flr_i,           // in process, until it is told
    output logic flr_done_o,
    output logic clear_o,         // the MSI-X table
    output logic reset_valid_o,
    input  logic reset_ready_i,
    input  logic settled_i,       // the write of CTRL.RESET has had its effect
    input  logic bus_idle_i,
    input  logic card_ready_i
);
  typedef enum logic [1:0] {
    IDLE  = 2'd0,
    RESET = 2'd1,
    DRAIN = 2'd2,
    TOLD  = 2'd3
  } state_t;
  state_t state_q;
  logic [5:0] wait_q;             // the card takes some cycles from the write to not ready

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
