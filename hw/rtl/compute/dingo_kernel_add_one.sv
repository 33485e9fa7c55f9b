// SPDX-License-Identifier: BSD-2-Clause

/// Compute kernel: adds one to each 32-bit little-endian word, modulo 2^32; an incomplete last word is unchanged.
/// Latency one cycle, a beat a cycle.
module dingo_kernel_add_one (
    input  logic              clk_i,
    input  logic              rst_ni,
    input  logic              s_axis_tvalid_i,
    output logic              s_axis_tready_o,
    input  logic [511:0]      s_axis_tdata_i,
    input  logic [63:0]       s_axis_tkeep_i,
    input  logic              s_axis_tlast_i,
    input  rtl_pkg::compute_t s_axis_tuser_i,
    output logic              m_axis_tvalid_o,
    input  logic              m_axis_tready_i,
    output logic [511:0]      m_axis_tdata_o,
    output logic              m_axis_tlast_o
);
  logic [511:0] sums;
  logic [1:0]   count;

  always_comb begin
    sums = '0;
    if (s_axis_tvalid_i)
      for (int w = 0; w < 16; w++) sums[w*32 +: 32] = s_axis_tdata_i[w*32 +: 32] + {31'd0, s_axis_tkeep_i[w*4 + 3]};
  end

  // Two beats deep, for a beat a cycle with s_axis_tready_o from a register.
  dingo_fifo #(.Width(513), .LogDepth(1)) u_beats (
      .clk_i, .rst_ni, .valid_i(s_axis_tvalid_i), .ready_o(s_axis_tready_o), .data_i({s_axis_tlast_i, sums}),
      .valid_o(m_axis_tvalid_o), .ready_i(m_axis_tready_i), .data_o({m_axis_tlast_o, m_axis_tdata_o}), .count_o(count)
  );

  wire unused_ok = &{1'b0, s_axis_tkeep_i, s_axis_tuser_i, count};
endmodule
