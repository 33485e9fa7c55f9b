# SPDX-License-Identifier: BSD-2-Clause
# Scoped to dingo_mac_sync (project.tcl): a level crosses to another clock, with any delay. Not run in Vivado.
set_false_path -to [get_pins meta_q_reg/D]
