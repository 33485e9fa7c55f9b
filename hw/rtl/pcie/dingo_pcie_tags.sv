// SPDX-License-Identifier: BSD-2-Clause

/// Free tags, in a ring. A host without extended tags allows 32. When all_i changes, no tag is given until all are
/// back, then the ring is filled again. A tag a cycle; stalls while no tag is free.
module dingo_pcie_tags #(
    parameter int unsigned Log = pcie_pkg::TAG_LOG,
    parameter int unsigned SmallLog = pcie_pkg::SMALL_TAG_LOG
) (
    input  logic           clk_i,
    input  logic           rst_ni,
    input  logic           all_i,         // 2^Log tags, else 2^SmallLog
    output logic           valid_o,
    input  logic           take_i,
    output logic [Log-1:0] tag_o,
    input  logic           free_valid_i,
    input  logic [Log-1:0] free_tag_i,
    output logic           idle_o         // all tags are back
);
  logic [Log-1:0] mem[0:(1<<Log)-1];
  logic [Log:0] wr_q, rd_q, out_q;        // out: tags in use
  logic [Log:0] size;
  logic fill_q, all_q, taken, stop;

  assign size = all_q ? (Log + 1)'(1 << Log) : (Log + 1)'(1 << SmallLog);
  assign stop = all_q != all_i;
  assign valid_o = !fill_q && !stop && wr_q != rd_q;
  assign tag_o = mem[rd_q[Log-1:0]];
  assign taken = valid_o && take_i;
  assign idle_o = out_q == '0;

  always_ff @(posedge clk_i) begin
    if (fill_q || free_valid_i) mem[wr_q[Log-1:0]] <= fill_q ? wr_q[Log-1:0] : free_tag_i;
    if (!rst_ni) begin
      fill_q <= 1'b1;
      all_q <= 1'b0;
      wr_q <= '0;
      rd_q <= '0;
      out_q <= '0;
    end else begin
      out_q <= out_q + (Log + 1)'(taken) - (Log + 1)'(free_valid_i);
      if (taken) rd_q <= rd_q + 1'b1;
      if (fill_q || free_valid_i) wr_q <= wr_q + 1'b1;
      if (fill_q) fill_q <= wr_q + 1'b1 != size;
      else if (stop && idle_o) begin
        fill_q <= 1'b1;
        all_q <= all_i;
        wr_q <= '0;
        rd_q <= '0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni && free_valid_i) taken_before: assert (out_q != '0 && !fill_q);
  end
endmodule
