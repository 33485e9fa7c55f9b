# SPDX-License-Identifier: BSD-2-Clause
# Pins and clocks of dingo_u55c_top. AMD's IP cores place the lanes of PCIe (quads 224 to 227) and of QSFP 0 (quad
# 130). Not tried on a board: check every pin against AMD's board file before a bitstream is loaded.

set_property PACKAGE_PIN AR15 [get_ports pcie_refclk_p]
set_property PACKAGE_PIN AR14 [get_ports pcie_refclk_n]
create_clock -name pcie_refclk -period 10.000 [get_ports pcie_refclk_p]
set_property PACKAGE_PIN BF41 [get_ports pcie_perst_n]
set_property IOSTANDARD LVCMOS18 [get_ports pcie_perst_n]
set_property PULLUP true [get_ports pcie_perst_n]
set_false_path -from [get_ports pcie_perst_n]

set_property PACKAGE_PIN AD42 [get_ports qsfp0_refclk_p]
set_property PACKAGE_PIN AD43 [get_ports qsfp0_refclk_n]
create_clock -name qsfp0_refclk -period 6.206 [get_ports qsfp0_refclk_p]

set_property PACKAGE_PIN BK43 [get_ports clk_100mhz_p]
set_property PACKAGE_PIN BK44 [get_ports clk_100mhz_n]
set_property IOSTANDARD LVDS [get_ports {clk_100mhz_p clk_100mhz_n}]
create_clock -name clk_100mhz -period 10.000 [get_ports clk_100mhz_p]

# The HBM is not used, but the satellite controller must not read this pin as an alarm.
set_property PACKAGE_PIN BE45 [get_ports hbm_cattrip]
set_property IOSTANDARD LVCMOS18 [get_ports hbm_cattrip]
set_false_path -to [get_ports hbm_cattrip]

# Single bits that cross to another clock through two registers: link state and alignment.
set_false_path -to [get_pins -hierarchical -filter {NAME =~ up_q_reg[0]/D || NAME =~ */aligned_q_reg[0]/D}]

# Crossings in dingo_mac have their own constraints (dingo_mac_gray.xdc, dingo_mac_sync.xdc). Frames cross in memories that one
# clock writes and the other reads: block RAM, whose output register has the reader's clock only.

# The checks of an admin command, against its fields and the tables, and MODIFY_QP's new context: their inputs are stable for 8 cycles before the results are used (settle_q).
set_multicycle_path 8 -setup -through [get_pins -hierarchical -filter {NAME =~ */i_admin/i_check/*_o* || NAME =~ */i_admin/i_verdict/*_o* || NAME =~ */i_admin/i_modify/*_o*}]
set_multicycle_path 7 -hold -through [get_pins -hierarchical -filter {NAME =~ */i_admin/i_check/*_o* || NAME =~ */i_admin/i_verdict/*_o* || NAME =~ */i_admin/i_modify/*_o*}]

set_property CFGBVS GND [current_design]
set_property CONFIG_VOLTAGE 1.8 [current_design]
set_property BITSTREAM.GENERAL.COMPRESS TRUE [current_design]
set_property CONFIG_MODE SPIx4 [current_design]
set_property BITSTREAM.CONFIG.SPI_BUSWIDTH 4 [current_design]
set_property BITSTREAM.CONFIG.SPI_32BIT_ADDR YES [current_design]
set_property BITSTREAM.CONFIG.CONFIGRATE 85.0 [current_design]
