// SPDX-License-Identifier: BSD-2-Clause

/// One bit for each of 2^Log, all 0 after reset: it takes no more than 64 cycles, a row of bits each. Reads give
/// the bit at once, before what is written in this cycle.
module dingo_marks #(
    parameter int unsigned Log = 8,
    parameter int unsigned Reads = 1
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    output logic                 ready_o,     // cleared; nothing is written or read before
    input  logic                 we_i,
    input  logic [Log-1:0]       waddr_i,
    input  logic                 wdata_i,
    input  logic [Reads*Log-1:0] raddr_i,
    output logic [Reads-1:0]     rdata_o
);
  localparam int unsigned LogWide = Log > 7 ? Log - 6 : 1;
  localparam int unsigned LogRows = Log - LogWide;

  logic [(1<<LogWide)-1:0] mem[0:(1<<LogRows)-1];
  logic [LogRows:0] walk_q;

  assign ready_o = walk_q[LogRows];

  always_ff @(posedge clk_i) begin
    if (!ready_o) mem[walk_q[LogRows-1:0]] <= '0;
    else if (we_i) mem[waddr_i[Log-1:LogWide]][waddr_i[LogWide-1:0]] <= wdata_i;
    if (!rst_ni) walk_q <= '0;
    else if (!ready_o) walk_q <= walk_q + 1'b1;
  end

  for (genvar r = 0; r < Reads; r++) begin : g_read
    logic [Log-1:0] addr;
    assign addr = raddr_i[r*Log +: Log];
    assign rdata_o[r] = mem[addr[Log-1:LogWide]][addr[LogWide-1:0]];
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) not_before: assert (ready_o || !we_i);
  end
endmodule
