# SPDX-License-Identifier: BSD-2-Clause
# make_shell NAME: makes the block design with AMD's IP cores, with the ports of lint/dingo_u55c_shell.sv.
# Not run in Vivado (README.md): names of parameters are those of the cores' guides (PG203 CMAC).

# port NAME DIRECTION PIN: makes a port of the design, connected to PIN.
proc port {name direction pin args} {
    create_bd_port -dir $direction {*}$args $name
    connect_bd_net [get_bd_ports $name] [get_bd_pins $pin]
}

# axi_port NAME MODE VLNV PIN CONFIG: makes an interface port, connected to PIN.
proc axi_port {name mode vlnv pin config} {
    create_bd_intf_port -mode $mode -vlnv xilinx.com:interface:$vlnv $name
    set_property -dict $config [get_bd_intf_ports $name]
    connect_bd_intf_net [get_bd_intf_ports $name] [get_bd_intf_pins $pin]
}

proc make_shell {name} {
    create_bd_design $name

    # ---- The card's reset comes from the PCIe block (pcie.tcl, dingo_u55c_pcie.sv).
    create_bd_port -dir I -type rst core_rstn

    # ---- 100G MAC on QSFP 0, RS-FEC, 64 bytes a beat. It adds and strips the FCS, which its length limit is assumed to
    # include (9,234 bytes and 4). It forwards MAC control frames to dingo_mac.
    create_bd_cell -type ip -vlnv xilinx.com:ip:cmac_usplus mac
    set_property -dict [list \
        CONFIG.CMAC_CAUI4_MODE {1} CONFIG.NUM_LANES {4x25} CONFIG.USER_INTERFACE {AXIS} CONFIG.INCLUDE_RS_FEC {1} \
        CONFIG.GT_REF_CLK_FREQ {161.1328125} CONFIG.GT_DRP_CLK {100.00} CONFIG.GT_GROUP_SELECT {X0Y28~X0Y31} \
        CONFIG.TX_FLOW_CONTROL {0} CONFIG.RX_FLOW_CONTROL {0} CONFIG.RX_FORWARD_CONTROL_FRAMES {1} \
        CONFIG.RX_MAX_PACKET_LEN {9238}] [get_bd_cells mac]
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
    connect_bd_net [get_bd_ports core_rstn] [get_bd_pins init_reset/ext_reset_in]
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

    # ---- Frames, in the MAC's clock domains. dingo_mac, outside of this design, has the crossings and PFC.
    axi_port s_tx Slave axis_rtl:1.0 mac/axis_tx [list CONFIG.TDATA_NUM_BYTES 64 CONFIG.HAS_TKEEP 1 CONFIG.HAS_TLAST 1 \
        CONFIG.TUSER_WIDTH 1]
    set_property CONFIG.ASSOCIATED_BUSIF s_tx [get_bd_ports cmac_clk]
    port mac_rx_clk O mac/gt_rxusrclk2 -type clk
    axi_port m_rx Master axis_rtl:1.0 mac/axis_rx {}
    set_property CONFIG.ASSOCIATED_BUSIF m_rx [get_bd_ports mac_rx_clk]
    create_bd_cell -type ip -vlnv xilinx.com:ip:util_vector_logic rx_reset
    set_property -dict [list CONFIG.C_OPERATION {not} CONFIG.C_SIZE {1}] [get_bd_cells rx_reset]
    connect_bd_net [get_bd_pins mac/usr_rx_reset] [get_bd_pins rx_reset/Op1]
    port mac_rx_rstn O rx_reset/Res

    validate_bd_design
    save_bd_design
    add_files -norecurse [make_wrapper -files [get_files $name.bd] -top]
}
