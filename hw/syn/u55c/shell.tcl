# SPDX-License-Identifier: BSD-2-Clause
# make_shell NAME: the block design with AMD's parts. Its ports are those of lint/dingo_u55c_shell.sv.
# Not run here (README.md): names of parameters are those of the parts' guides (PG302 QDMA, PG203 CMAC).

# port NAME DIRECTION PIN: a port of the design, joined to PIN.
proc port {name direction pin args} {
    create_bd_port -dir $direction {*}$args $name
    connect_bd_net [get_bd_ports $name] [get_bd_pins $pin]
}

# axi_port NAME MODE PIN CONFIG: an interface port of the card's clock.
proc axi_port {name mode vlnv pin config} {
    create_bd_intf_port -mode $mode -vlnv xilinx.com:interface:$vlnv $name
    set_property -dict $config [get_bd_intf_ports $name]
    connect_bd_intf_net [get_bd_intf_ports $name] [get_bd_intf_pins $pin]
}

proc make_shell {name} {
    create_bd_design $name

    # ---- PCIe: Gen3 x16, 512 bits at 250 MHz. BAR 0: registers, BAR 2: doorbell pages.
    create_bd_cell -type ip -vlnv xilinx.com:ip:qdma bridge
    set_property -dict [list \
        CONFIG.functional_mode {AXI_Bridge} CONFIG.mode_selection {Advanced} \
        CONFIG.pl_link_cap_max_link_width {X16} CONFIG.pl_link_cap_max_link_speed {8.0_GT/s} \
        CONFIG.axi_data_width {512_bit} CONFIG.axisten_freq {250} \
        CONFIG.vendor_id {1234} CONFIG.pf0_device_id {D160} CONFIG.PF0_DEVICE_ID_mqdma {D160} \
        CONFIG.pf0_class_code_base_mqdma {02} CONFIG.pf0_class_code_sub_mqdma {00} \
        CONFIG.pf0_bar0_64bit_qdma {true} CONFIG.pf0_bar0_scale_qdma {Kilobytes} CONFIG.pf0_bar0_size_qdma {64} \
        CONFIG.pf0_pciebar2axibar_0 {0x0000000000000000} \
        CONFIG.pf0_bar2_enabled_qdma {true} CONFIG.pf0_bar2_64bit_qdma {true} CONFIG.pf0_bar2_prefetchable_qdma {true} \
        CONFIG.pf0_bar2_scale_qdma {Megabytes} CONFIG.pf0_bar2_size_qdma {4} \
        CONFIG.pf0_pciebar2axibar_2 {0x0000000010000000} \
        CONFIG.PF0_MSIX_CAP_TABLE_SIZE_qdma {03F} \
        CONFIG.axibar_num {1} CONFIG.axibar_0 {0x0000000000000000} CONFIG.axibar_highaddr_0 {0xFFFFFFFFFFFFFFFF} \
        CONFIG.axibar2pciebar_0 {0x0000000000000000}] [get_bd_cells bridge]

    create_bd_cell -type ip -vlnv xilinx.com:ip:util_ds_buf refclk
    set_property CONFIG.C_BUF_TYPE IBUFDSGTE [get_bd_cells refclk]
    create_bd_intf_port -mode Slave -vlnv xilinx.com:interface:diff_clock_rtl:1.0 pcie_refclk
    set_property CONFIG.FREQ_HZ 100000000 [get_bd_intf_ports pcie_refclk]
    connect_bd_intf_net [get_bd_intf_ports pcie_refclk] [get_bd_intf_pins refclk/CLK_IN_D]
    connect_bd_net [get_bd_pins refclk/IBUF_OUT] [get_bd_pins bridge/sys_clk_gt]
    connect_bd_net [get_bd_pins refclk/IBUF_DS_ODIV2] [get_bd_pins bridge/sys_clk]
    port pcie_perstn I bridge/sys_rst_n -type rst
    create_bd_intf_port -mode Master -vlnv xilinx.com:interface:pcie_7x_mgt_rtl:1.0 pcie
    connect_bd_intf_net [get_bd_intf_ports pcie] [get_bd_intf_pins bridge/pcie_mgt]
    port core_clk O bridge/axi_aclk -type clk
    port core_rstn O bridge/axi_aresetn -type rst
    port irq_vld I bridge/usr_irq_in_vld
    port irq_vec I bridge/usr_irq_in_vec -from 10 -to 0
    port irq_ack O bridge/usr_irq_out_ack
    port irq_fail O bridge/usr_irq_out_fail

    # ---- BARs to two AXI4-Lite ports of 64 bits. Not SmartConnect: its AXI4-Lite side has 32.
    create_bd_cell -type ip -vlnv xilinx.com:ip:axi_interconnect bars
    set_property CONFIG.NUM_MI 2 [get_bd_cells bars]
    connect_bd_intf_net [get_bd_intf_pins bridge/M_AXI_BRIDGE] [get_bd_intf_pins bars/S00_AXI]
    set lite [list CONFIG.PROTOCOL AXI4LITE CONFIG.DATA_WIDTH 64 CONFIG.HAS_PROT 0]
    axi_port m_reg Master aximm_rtl:1.0 bars/M00_AXI [concat $lite [list CONFIG.ADDR_WIDTH 16]]
    axi_port m_db Master aximm_rtl:1.0 bars/M01_AXI [concat $lite [list CONFIG.ADDR_WIDTH 22]]

    # ---- Host memory: the card's bursts have at most 64 beats of 64 bytes and never cross 4 KiB.
    create_bd_cell -type ip -vlnv xilinx.com:ip:smartconnect host
    set_property CONFIG.NUM_SI 1 [get_bd_cells host]
    axi_port s_host Slave aximm_rtl:1.0 host/S00_AXI [list CONFIG.PROTOCOL AXI4 CONFIG.DATA_WIDTH 512 CONFIG.ADDR_WIDTH 64 \
        CONFIG.ID_WIDTH 7 CONFIG.NUM_READ_OUTSTANDING 64 CONFIG.NUM_WRITE_OUTSTANDING 32 \
        CONFIG.HAS_LOCK 0 CONFIG.HAS_CACHE 0 CONFIG.HAS_PROT 0 CONFIG.HAS_QOS 0 CONFIG.HAS_REGION 0 CONFIG.SUPPORTS_NARROW_BURST 0]
    connect_bd_intf_net [get_bd_intf_pins host/M00_AXI] [get_bd_intf_pins bridge/S_AXI_BRIDGE]

    # ---- 100G MAC on QSFP 0, RS-FEC, frames of 64 bytes a beat; it adds and strips the FCS.
    create_bd_cell -type ip -vlnv xilinx.com:ip:cmac_usplus mac
    set_property -dict [list \
        CONFIG.CMAC_CAUI4_MODE {1} CONFIG.NUM_LANES {4x25} CONFIG.USER_INTERFACE {AXIS} CONFIG.INCLUDE_RS_FEC {1} \
        CONFIG.GT_REF_CLK_FREQ {161.1328125} CONFIG.GT_DRP_CLK {100.00} CONFIG.GT_GROUP_SELECT {X0Y28~X0Y31} \
        CONFIG.TX_FLOW_CONTROL {0} CONFIG.RX_FLOW_CONTROL {0} CONFIG.RX_MAX_PACKET_LEN {9234}] [get_bd_cells mac]
    create_bd_intf_port -mode Slave -vlnv xilinx.com:interface:diff_clock_rtl:1.0 qsfp_refclk
    set_property CONFIG.FREQ_HZ 161132812 [get_bd_intf_ports qsfp_refclk]
    connect_bd_intf_net [get_bd_intf_ports qsfp_refclk] [get_bd_intf_pins mac/gt_ref_clk]
    create_bd_intf_port -mode Master -vlnv xilinx.com:interface:gt_rtl:1.0 qsfp
    connect_bd_intf_net [get_bd_intf_ports qsfp] [get_bd_intf_pins mac/gt_serial_port]

    create_bd_cell -type ip -vlnv xilinx.com:ip:util_ds_buf init
    create_bd_intf_port -mode Slave -vlnv xilinx.com:interface:diff_clock_rtl:1.0 init_clk
    set_property CONFIG.FREQ_HZ 100000000 [get_bd_intf_ports init_clk]
    connect_bd_intf_net [get_bd_intf_ports init_clk] [get_bd_intf_pins init/CLK_IN_D]
    connect_bd_net [get_bd_pins init/IBUF_OUT] [get_bd_pins mac/init_clk] [get_bd_pins mac/drp_clk]
    create_bd_cell -type ip -vlnv xilinx.com:ip:proc_sys_reset init_reset
    connect_bd_net [get_bd_pins init/IBUF_OUT] [get_bd_pins init_reset/slowest_sync_clk]
    connect_bd_net [get_bd_pins bridge/axi_aresetn] [get_bd_pins init_reset/ext_reset_in]
    connect_bd_net [get_bd_pins init_reset/peripheral_reset] [get_bd_pins mac/sys_reset]

    port cmac_clk O mac/gt_txusrclk2 -type clk
    port cmac_reset O mac/usr_tx_reset -type rst
    port cmac_rx_aligned O mac/stat_rx_aligned
    port cmac_rx_enable I mac/ctl_rx_enable
    port cmac_tx_enable I mac/ctl_tx_enable
    port cmac_tx_send_rfi I mac/ctl_tx_send_rfi
    connect_bd_net [get_bd_pins mac/gt_rxusrclk2] [get_bd_pins mac/rx_clk]
    create_bd_cell -type ip -vlnv xilinx.com:ip:xlconstant one
    foreach pin {ctl_rx_rsfec_enable ctl_rx_rsfec_enable_correction ctl_rx_rsfec_enable_indication ctl_tx_rsfec_enable} {
        connect_bd_net [get_bd_pins one/dout] [get_bd_pins mac/$pin]
    }

    # ---- Between the clocks. To the MAC whole frames only (FIFO_MODE 2): 256 beats hold the longest one.
    # From the MAC frames cross in dingo_rx_cdc, outside of this design.
    create_bd_cell -type ip -vlnv xilinx.com:ip:axis_data_fifo tx_fifo
    set_property -dict [list CONFIG.TDATA_NUM_BYTES {64} CONFIG.HAS_TKEEP {1} CONFIG.HAS_TLAST {1} \
        CONFIG.TUSER_WIDTH {1} CONFIG.IS_ACLK_ASYNC {1} CONFIG.FIFO_MODE {2} CONFIG.FIFO_DEPTH {256}] [get_bd_cells tx_fifo]
    set frames [list CONFIG.TDATA_NUM_BYTES 64 CONFIG.HAS_TKEEP 1 CONFIG.HAS_TLAST 1]
    axi_port s_tx Slave axis_rtl:1.0 tx_fifo/S_AXIS [concat $frames [list CONFIG.TUSER_WIDTH 1]]
    connect_bd_intf_net [get_bd_intf_pins tx_fifo/M_AXIS] [get_bd_intf_pins mac/axis_tx]
    port mac_rx_clk O mac/gt_rxusrclk2 -type clk
    axi_port m_rx Master axis_rtl:1.0 mac/axis_rx {}
    set_property CONFIG.ASSOCIATED_BUSIF m_rx [get_bd_ports mac_rx_clk]
    foreach {cell pin net} {
        tx_fifo s_axis_aclk bridge/axi_aclk   tx_fifo m_axis_aclk mac/gt_txusrclk2
        tx_fifo s_axis_aresetn bridge/axi_aresetn
        bars ACLK bridge/axi_aclk bars S00_ACLK bridge/axi_aclk bars M00_ACLK bridge/axi_aclk bars M01_ACLK bridge/axi_aclk
        bars ARESETN bridge/axi_aresetn bars S00_ARESETN bridge/axi_aresetn
        bars M00_ARESETN bridge/axi_aresetn bars M01_ARESETN bridge/axi_aresetn
        host aclk bridge/axi_aclk host aresetn bridge/axi_aresetn
    } { connect_bd_net [get_bd_pins $net] [get_bd_pins $cell/$pin] }
    create_bd_cell -type ip -vlnv xilinx.com:ip:util_vector_logic rx_reset
    set_property -dict [list CONFIG.C_OPERATION {not} CONFIG.C_SIZE {1}] [get_bd_cells rx_reset]
    connect_bd_net [get_bd_pins mac/usr_rx_reset] [get_bd_pins rx_reset/Op1]
    port mac_rx_rstn O rx_reset/Res
    set_property CONFIG.ASSOCIATED_BUSIF {m_reg:m_db:s_host:s_tx} [get_bd_ports core_clk]

    # ---- Addresses: the BARs as the bridge translates them; all of host memory behind s_host.
    assign_bd_address -offset 0x00000000 -range 64K [get_bd_addr_segs m_reg/Reg]
    assign_bd_address -offset 0x10000000 -range 4M [get_bd_addr_segs m_db/Reg]
    assign_bd_address [get_bd_addr_segs bridge/S_AXI_BRIDGE/BAR0]

    validate_bd_design
    save_bd_design
    add_files -norecurse [make_wrapper -files [get_files $name.bd] -top]
}
