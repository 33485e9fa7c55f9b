# SPDX-License-Identifier: BSD-2-Clause
# make_pcie NAME: makes AMD's PCIe block as dingo_pcie needs it, with the ports of lint/dingo_pcie4c.sv.
# Not run in Vivado (README.md): names of parameters are those of PG213's core for HBM devices, pcie4c_uscale_plus.

proc make_pcie {name} {
    create_ip -name pcie4c_uscale_plus -vendor xilinx.com -library ip -module_name $name
    # Gen3 x16, 512 bits at 250 MHz, DW-aligned, at most one packet begins in a beat; dingo_pcie chooses the tags.
    # BAR 0: registers and the MSI-X table, BAR 2: doorbell pages. dingo_pcie sends MSI-X messages as writes.
    set_property -dict [list \
        CONFIG.mode_selection {Advanced} \
        CONFIG.PL_LINK_CAP_MAX_LINK_SPEED {8.0_GT/s} CONFIG.PL_LINK_CAP_MAX_LINK_WIDTH {X16} \
        CONFIG.axisten_if_width {512_bit} CONFIG.axisten_freq {250} \
        CONFIG.AXISTEN_IF_EXT_512_RQ_STRADDLE {false} CONFIG.AXISTEN_IF_EXT_512_RC_STRADDLE {false} \
        CONFIG.AXISTEN_IF_EXT_512_CQ_STRADDLE {false} CONFIG.AXISTEN_IF_EXT_512_CC_STRADDLE {false} \
        CONFIG.axisten_if_enable_client_tag {true} CONFIG.extended_tag_field {true} \
        CONFIG.pf0_dev_cap_max_payload {512_bytes} \
        CONFIG.vendor_id {1234} CONFIG.PF0_DEVICE_ID {D160} \
        CONFIG.PF0_Use_Class_Code_Lookup_Assistant {false} CONFIG.PF0_CLASS_CODE {020000} \
        CONFIG.pf0_bar0_64bit {true} CONFIG.pf0_bar0_scale {Kilobytes} CONFIG.pf0_bar0_size {64} \
        CONFIG.pf0_bar2_enabled {true} CONFIG.pf0_bar2_64bit {true} CONFIG.pf0_bar2_prefetchable {true} \
        CONFIG.pf0_bar2_scale {Megabytes} CONFIG.pf0_bar2_size {4} \
        CONFIG.pf0_msi_enabled {false} CONFIG.pf0_msix_enabled {true} CONFIG.MSI_X_OPTIONS {MSI-X_External} \
        CONFIG.PF0_MSIX_CAP_TABLE_SIZE {03F} CONFIG.PF0_MSIX_CAP_TABLE_BIR {BAR_1:0} \
        CONFIG.PF0_MSIX_CAP_TABLE_OFFSET {00008000} CONFIG.PF0_MSIX_CAP_PBA_BIR {BAR_1:0} \
        CONFIG.PF0_MSIX_CAP_PBA_OFFSET {0000C000} \
        CONFIG.PF0_DEV_CAP_FUNCTION_LEVEL_RESET_CAPABLE {true} \
    ] [get_ips $name]
}
