// SPDX-License-Identifier: BSD-2-Clause

/// Compute kernel that changes nothing, the default of every QP. Latency one cycle, a beat a cycle.
module dingo_kernel_pass (
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
  // Two beats deep, for a beat a cycle with s_axis_tready_o from a register.
  logic [1:0] count;

  dingo_fifo #(.Width(513), .LogDepth(1)) u_beats (
      .clk_i, .rst_ni, .valid_i(s_axis_tvalid_i), .ready_o(s_axis_tready_o), .data_i({s_axis_tlast_i, s_axis_tdata_i}),
      .valid_o(m_axis_tvalid_o), .ready_i(m_axis_tready_i), .data_o({m_axis_tlast_o, m_axis_tdata_o}), .count_o(count)
  );

  wire unused_ok = &{1'b0, s_axis_tkeep_i, s_axis_tuser_i, count};
endmodule
