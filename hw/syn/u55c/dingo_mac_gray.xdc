# SPDX-License-Identifier: BSD-2-Clause
# Scoped to dingo_mac_gray (project.tcl): a Gray-coded number crosses to another clock. Delay and skew of its bits are below
# the shortest period of the three clocks (3.103 ns), so that bits of two changes are never sampled together. Not run in
# Vivado.
set_max_delay -datapath_only 3.1 -from [get_cells {gray_q_reg[*]}] -to [get_cells {meta_q_reg[*]}]
set_bus_skew 3.1 -from [get_cells {gray_q_reg[*]}] -to [get_cells {meta_q_reg[*]}]
