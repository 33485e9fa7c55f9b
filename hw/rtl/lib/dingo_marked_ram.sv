// SPDX-License-Identifier: BSD-2-Clause

/// dingo_ram with a mark for each word written since reset, so that a table need not be cleared word by word.
/// `written_o` comes with rdata_o; when it is 0, rdata_o is undefined.
module dingo_marked_ram #(
    parameter int unsigned Width = 32,
    parameter int unsigned LogDepth = 8
) (
    input  logic                clk_i,
    input  logic                rst_ni,
    output logic                ready_o,       // marks are cleared, at most 64 cycles after reset
    input  logic                we_i,
    input  logic [LogDepth-1:0] waddr_i,
    input  logic [   Width-1:0] wdata_i,
    input  logic                re_i,
    input  logic [LogDepth-1:0] raddr_i,
    output logic [   Width-1:0] rdata_o,
    output logic                written_o
);
  logic mark, written_q;

  dingo_ram #(
      .Width(Width),
      .LogDepth(LogDepth)
  ) u_words (
      .clk_i, .we_i, .waddr_i, .wdata_i, .re_i, .raddr_i, .rdata_o
  );
  dingo_marks #(
      .Log(LogDepth)
  ) u_marks (
      .clk_i, .rst_ni, .ready_o, .we_i, .waddr_i, .wdata_i(1'b1), .raddr_i, .rdata_o(mark)
  );

  assign written_o = written_q;
  always_ff @(posedge clk_i) if (re_i) written_q <= mark;
endmodule
