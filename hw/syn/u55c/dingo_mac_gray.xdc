# SPDX-License-Identifier: BSD-2-Clause
# Scoped to dingo_mac_gray (project.tcl): a gray number goes from clock to clock. Its bits arrive within the shortest of the
# three clocks' periods (3.103 ns) of each other and of their edge, so that no two changes are seen mixed. Not run in Vivado.
set_max_delay -datapath_only 3.1 -from [get_cells {gray_q_reg[*]}] -to [get_cells {meta_q_reg[*]}]
set_bus_skew 3.1 -from [get_cells {gray_q_reg[*]}] -to [get_cells {meta_q_reg[*]}]
