// SPDX-License-Identifier: BSD-2-Clause

/// Ports of the block design that shell.tcl makes (AMD's 100G MAC), for lint only: Vivado uses the real design.
module dingo_u55c_shell (
    input  logic         qsfp_refclk_clk_p, qsfp_refclk_clk_n, init_clk_clk_p, init_clk_clk_n,
    input  logic [3:0]   qsfp_grx_p, qsfp_grx_n,
    output logic [3:0]   qsfp_gtx_p, qsfp_gtx_n,
    // the card's reset
    input  logic         core_rstn,
    // frames: sent ones in the domain of cmac_clk, received ones of mac_rx_clk
    input  logic         s_tx_tvalid, s_tx_tlast, s_tx_tuser,
    output logic         s_tx_tready,
    input  logic [511:0] s_tx_tdata,
    input  logic [63:0]  s_tx_tkeep,
    output logic         mac_rx_clk,
    output logic [0:0]   mac_rx_rstn,
    output logic         m_rx_tvalid, m_rx_tlast,
    output logic [0:0]   m_rx_tuser,
    output logic [511:0] m_rx_tdata,
    output logic [63:0]  m_rx_tkeep,
    // the MAC's control, in the domain of cmac_clk
    output logic         cmac_clk,
    output logic         cmac_reset,
    output logic         cmac_rx_aligned,
    input  logic         cmac_rx_enable, cmac_tx_enable, cmac_tx_send_rfi
);
endmodule
