// SPDX-License-Identifier: BSD-2-Clause

/// Carries a bit to another clock through two registers. The bit must come from a register (dingo_mac_sync.xdc).
(* KEEP_HIERARCHY = "TRUE" *)
module dingo_mac_sync (
    input  logic clk_i,
    input  logic bit_i,
    output logic bit_o
);
  (* ASYNC_REG = "TRUE" *) logic meta_q = 1'b0, there_q = 1'b0;
  always_ff @(posedge clk_i) begin
    meta_q <= bit_i;
    there_q <= meta_q;
  end
  assign bit_o = there_q;
endmodule
