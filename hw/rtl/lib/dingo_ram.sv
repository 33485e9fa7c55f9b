// SPDX-License-Identifier: BSD-2-Clause

/// Memory with one write and one read port; read data comes in the next cycle. A read of the address that is
/// written in the same cycle gives the old word.
module dingo_ram #(
    parameter int unsigned Width = 32,
    parameter int unsigned LogDepth = 8
) (
    input  logic                clk_i,
    input  logic                we_i,
    input  logic [LogDepth-1:0] waddr_i,
    input  logic [   Width-1:0] wdata_i,
    input  logic                re_i,
    input  logic [LogDepth-1:0] raddr_i,
    output logic [   Width-1:0] rdata_o
);
  logic [Width-1:0] mem[0:(1<<LogDepth)-1];
  logic [Width-1:0] rdata_q;

  assign rdata_o = rdata_q;

  always_ff @(posedge clk_i) begin
    if (we_i) mem[waddr_i] <= wdata_i;
    if (re_i) rdata_q <= mem[raddr_i];
  end
endmodule
