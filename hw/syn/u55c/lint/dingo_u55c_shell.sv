// SPDX-License-Identifier: BSD-2-Clause

/// Ports of the block design that shell.tcl makes, for lint only: Vivado takes the real one. All of AMD's
/// parts are in it: PCIe bridge, 100G MAC, FIFOs between its clocks and the card's, AXI interconnects.
module dingo_u55c_shell (
    input  logic         pcie_refclk_clk_p, pcie_refclk_clk_n, pcie_perstn,
    input  logic [15:0]  pcie_rxp, pcie_rxn,
    output logic [15:0]  pcie_txp, pcie_txn,
    input  logic         qsfp_refclk_clk_p, qsfp_refclk_clk_n, init_clk_clk_p, init_clk_clk_n,
    input  logic [3:0]   qsfp_grx_p, qsfp_grx_n,
    output logic [3:0]   qsfp_gtx_p, qsfp_gtx_n,
    // the card's clock, 250 MHz: the bridge's user clock
    output logic         core_clk,
    output logic [0:0]   core_rstn,
    // BAR 0 and BAR 2
    output logic [15:0]  m_reg_awaddr, m_reg_araddr,
    output logic         m_reg_awvalid, m_reg_wvalid, m_reg_bready, m_reg_arvalid, m_reg_rready,
    input  logic         m_reg_awready, m_reg_wready, m_reg_bvalid, m_reg_arready, m_reg_rvalid,
    output logic [63:0]  m_reg_wdata,
    output logic [7:0]   m_reg_wstrb,
    input  logic [63:0]  m_reg_rdata,
    input  logic [1:0]   m_reg_bresp, m_reg_rresp,
    output logic [21:0]  m_db_awaddr, m_db_araddr,
    output logic         m_db_awvalid, m_db_wvalid, m_db_bready, m_db_arvalid, m_db_rready,
    input  logic         m_db_awready, m_db_wready, m_db_bvalid, m_db_arready, m_db_rvalid,
    output logic [63:0]  m_db_wdata,
    output logic [7:0]   m_db_wstrb,
    input  logic [63:0]  m_db_rdata,
    input  logic [1:0]   m_db_bresp, m_db_rresp,
    // host memory
    input  logic [6:0]   s_host_arid, s_host_awid,
    input  logic [63:0]  s_host_araddr, s_host_awaddr,
    input  logic [7:0]   s_host_arlen, s_host_awlen,
    input  logic [2:0]   s_host_arsize, s_host_awsize,
    input  logic [1:0]   s_host_arburst, s_host_awburst,
    input  logic         s_host_arvalid, s_host_awvalid, s_host_wvalid, s_host_wlast, s_host_rready, s_host_bready,
    output logic         s_host_arready, s_host_awready, s_host_wready, s_host_rvalid, s_host_rlast, s_host_bvalid,
    input  logic [511:0] s_host_wdata,
    input  logic [63:0]  s_host_wstrb,
    output logic [511:0] s_host_rdata,
    output logic [6:0]   s_host_rid, s_host_bid,
    output logic [1:0]   s_host_rresp, s_host_bresp,
    // interrupts
    input  logic         irq_vld,
    input  logic [10:0]  irq_vec,
    output logic         irq_ack, irq_fail,
    // frames: out of core_clk, in of mac_rx_clk
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
    // the MAC's control, of cmac_clk
    output logic         cmac_clk,
    output logic         cmac_reset,
    output logic         cmac_rx_aligned,
    input  logic         cmac_rx_enable, cmac_tx_enable, cmac_tx_send_rfi
);
endmodule
