// SPDX-License-Identifier: BSD-2-Clause

/// Carries a counter to another clock as a gray number: it grows by at most one per cycle, so one bit changes at a
/// time. The bits must arrive within one period of each other (dingo_mac_gray.xdc). clear_i only while the other side
/// does not use it.
(* KEEP_HIERARCHY = "TRUE" *)
module dingo_mac_gray #(
    parameter int unsigned Width = 8
) (
    input  logic             from_clk_i,
    input  logic             clear_i,
    input  logic             step_i,     // the number grows by one
    output logic [Width-1:0] here_o,     // the number
    input  logic             to_clk_i,
    output logic [Width-1:0] there_o     // the number 2 to 3 cycles of to_clk_i ago
);
  function automatic logic [Width-1:0] to_gray(input logic [Width-1:0] v);
    to_gray = v ^ (v >> 1);
  endfunction
  function automatic logic [Width-1:0] from_gray(input logic [Width-1:0] v);
    for (int i = 0; i < Width; i++) from_gray[i] = ^(v >> i);
  endfunction

  logic [Width-1:0] here_q /* verilator public_flat_rw */ = '0, here_d;
  // Its highest bit equals here_q's: without DONT_TOUCH a tool may merge the two, and the constraints miss that bit.
  (* DONT_TOUCH = "TRUE" *) logic [Width-1:0] gray_q = '0;
  assign here_d = clear_i ? '0 : here_q + Width'(step_i);
  always_ff @(posedge from_clk_i) begin
    here_q <= here_d;
    gray_q <= to_gray(here_d);
  end
  assign here_o = here_q;

  (* ASYNC_REG = "TRUE" *) logic [Width-1:0] meta_q = '0, there_q = '0;
  always_ff @(posedge to_clk_i) begin
    meta_q <= gray_q;
    there_q <= meta_q;
  end
  assign there_o = from_gray(there_q);
endmodule
