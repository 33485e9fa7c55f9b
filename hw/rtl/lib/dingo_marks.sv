// SPDX-License-Identifier: BSD-2-Clause

/// 2^Log bits that a reset clears: a row of bits a cycle, at most 64 cycles. Reads are combinational and give the
/// value before a write of the same cycle. Each column of bits is a memory with one write port.
module dingo_marks #(
    parameter int unsigned Log = 8,
    parameter int unsigned Reads = 1
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    output logic                 ready_o,     // cleared; no write or read before
    input  logic                 we_i,
    input  logic [Log-1:0]       waddr_i,
    input  logic                 wdata_i,
    input  logic [Reads*Log-1:0] raddr_i,
    output logic [Reads-1:0]     rdata_o
);
  localparam int unsigned LogWide = Log > 7 ? Log - 6 : 1;
  localparam int unsigned LogRows = Log - LogWide;

  localparam int unsigned Wide = 1 << LogWide;
  if (Log < 2) $error("dingo_marks: Log is at least 2, a row and a column");

  logic [LogRows:0] walk_q;
  logic [LogRows-1:0] row;

  assign ready_o = walk_q[LogRows];
  assign row = ready_o ? waddr_i[Log-1:LogWide] : walk_q[LogRows-1:0];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) walk_q <= '0;
    else if (!ready_o) walk_q <= walk_q + 1'b1;
  end

  logic [Reads*Wide-1:0] rows;
  for (genvar c = 0; c < Wide; c++) begin : g_column
    logic mem[0:(1<<LogRows)-1];
    always_ff @(posedge clk_i)
      if (!ready_o || (we_i && waddr_i[LogWide-1:0] == LogWide'(c))) mem[row] <= ready_o && wdata_i;
    for (genvar r = 0; r < Reads; r++) begin : g_read
      assign rows[r*Wide+c] = mem[raddr_i[r*Log+LogWide +: LogRows]];
    end
  end
  for (genvar r = 0; r < Reads; r++) begin : g_bit
    logic [Wide-1:0] bits;
    assign bits = rows[r*Wide +: Wide];
    assign rdata_o[r] = bits[raddr_i[r*Log +: LogWide]];
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni) not_before: assert (ready_o || !we_i);
  end
endmodule
