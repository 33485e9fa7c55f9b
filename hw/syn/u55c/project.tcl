# SPDX-License-Identifier: BSD-2-Clause
# Makes the Vivado project of the card for an Alveo U55C and, with "build" as argument, the bitstream.
#   vivado -mode batch -source hw/syn/u55c/project.tcl [-tclargs build]
# Not run in Vivado (README.md). Written for 2023.2; other releases may have other versions of AMD's IP cores.
set here [file normalize [file dirname [info script]]]
set root [file normalize $here/../../..]
set out $root/build/u55c
file mkdir $out

# Generate the contract's packages here: no build is needed.
exec python3 $root/hw/contract/gen.py $root/hw/contract/dingo.toml --sv $out/dingo_pkg.sv
exec python3 $root/hw/contract/log_table.py --sv $out/dingo_log_pkg.sv

create_project dingo_u55c $out -part xcu55c-fsvh2892-2L-e -force
set_property target_language Verilog [current_project]

# Packages first: they must be compiled before the modules.
set packages [list $out/dingo_pkg.sv $out/dingo_log_pkg.sv {*}[glob $root/hw/rtl/*_pkg.sv $root/hw/rtl/*/*_pkg.sv]]
set sources [concat [glob $root/hw/rtl/*/dingo_*.sv] $root/hw/rtl/dingo_card.sv [glob $here/*.sv]]
add_files -norecurse [concat $packages $sources]
add_files -fileset constrs_1 $here/dingo_u55c.xdc
# Each applies to all instances of the module of its name; LATE: after the clocks are defined.
foreach module {dingo_mac_gray dingo_mac_sync} {
    add_files -fileset constrs_1 $here/$module.xdc
    set_property -dict [list SCOPED_TO_REF $module PROCESSING_ORDER LATE USED_IN_SYNTHESIS false] [get_files $module.xdc]
}
# Checks that only a simulator can do are excluded by this macro; assertions are not.
set_property verilog_define {SYNTHESIS=1} [current_fileset]
# Packages include types/ relative to their own folder.
set_property include_dirs [list $root/hw/rtl $root/hw/rtl/ctrl] [current_fileset]

source $here/pcie.tcl
make_pcie dingo_pcie4c
source $here/shell.tcl
make_shell dingo_u55c_shell
set_property top dingo_u55c_top [current_fileset]
update_compile_order -fileset sources_1

set_property strategy Performance_ExploreWithRemap [get_runs impl_1]
set_property STEPS.SYNTH_DESIGN.ARGS.FLATTEN_HIERARCHY rebuilt [get_runs synth_1]

if {[lindex $argv 0] eq "build"} {
    launch_runs impl_1 -to_step write_bitstream -jobs 8
    wait_on_run impl_1
    open_run impl_1
    report_utilization -hierarchical -file $out/utilization.txt
    report_timing_summary -max_paths 20 -file $out/timing.txt
    report_cdc -details -file $out/cdc.txt
    report_bus_skew -file $out/bus_skew.txt
    if {[get_property SLACK [get_timing_paths]] < 0} { error "timing is not met: $out/timing.txt" }
}
