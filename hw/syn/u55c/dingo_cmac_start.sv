// SPDX-License-Identifier: BSD-2-Clause

/// Starts AMD's 100G MAC as its guide (PG203) requires: enables the receiver first; sends remote fault until the
/// receiver is aligned, then enables frames. `aligned_i` is in the receive clock's domain; everything else is in
/// that of `clk_i`, the transmit clock.
module dingo_cmac_start (
    input  logic clk_i,
    input  logic rst_ni,
    input  logic aligned_i,
    output logic rx_enable_o,
    output logic tx_enable_o,
    output logic tx_send_rfi_o,
    output logic up_o
);
  (* ASYNC_REG = "TRUE" *) logic [1:0] aligned_q;

  always_ff @(posedge clk_i) begin
    aligned_q <= {aligned_q[0], aligned_i};
    if (!rst_ni) begin
      rx_enable_o   <= 1'b0;
      tx_enable_o   <= 1'b0;
      tx_send_rfi_o <= 1'b0;
      up_o          <= 1'b0;
    end else begin
      rx_enable_o   <= 1'b1;
      tx_enable_o   <= aligned_q[1];
      tx_send_rfi_o <= !aligned_q[1];
      up_o          <= aligned_q[1];
    end
  end
endmodule
