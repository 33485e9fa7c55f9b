#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Proves properties of small control blocks of hw/rtl (yosys-smtbmc, z3). The properties are in NAME_props.sv. They
# are checked for all inputs: for some cycles from reset (bounded) and, where induction closes, for all time. Then
# each block is broken on purpose, and its properties must find the error.
# usage: tests/hw/rtl/formal/run.sh [NAME...]
set -uo pipefail
cd "$(dirname "$0")/../../../.." || exit 1
. scripts/lib/common.sh
. scripts/lib/yosys.sh
out=build/formal
mkdir -p "$out"
wanted=" $* "

# A proof has: files, bounded depth, induction length (0: none), registers of the block that the properties
# read (wire=register), and one or more errors to insert (file:sed expression).
declare -A files depth induct sees breaks flags clocks
lib=hw/rtl/lib/

files[psn]="" depth[psn]=1 induct[psn]=0 sees[psn]=""
breaks[psn]='hw/rtl/rtl_pkg.sv:s/psn_before = .signed(a - b) < 0/psn_before = a < b/'

files[arb]="${lib}dingo_arb.sv" depth[arb]=12 induct[arb]=2 sees[arb]="dut_mask=mask_q"
breaks[arb]="${lib}dingo_arb.sv:s/~(grant_o | (grant_o - 1'b1))/~(grant_o - 1'b1)/"

files[fifo]="${lib}dingo_fifo.sv" depth[fifo]=16 induct[fifo]=2
sees[fifo]="dut_rd=rd_q dut_mem0=mem[0] dut_mem1=mem[1] dut_mem2=mem[2] dut_mem3=mem[3]"
breaks[fifo]="${lib}dingo_fifo.sv:s/ready_o = !full_q/ready_o = 1'b1/"

files[qp_fifo]="hw/rtl/transport/dingo_qp_fifo.sv hw/rtl/lib/dingo_marks.sv" depth[qp_fifo]=16 induct[qp_fifo]=2
sees[qp_fifo]="dut_wr=wr_q dut_rd=rd_q dut_clear=u_pushed.walk_q dut_clear_popped=u_popped.walk_q"
for i in 0 1 2 3; do sees[qp_fifo]+=" dut_mem$i=mem[$i]"; done
for i in 0 1; do for c in 0 1; do
    sees[qp_fifo]+=" dut_pushed$i$c=u_pushed.g_column[$c].mem[$i] dut_popped$i$c=u_popped.g_column[$c].mem[$i]"
done; done
breaks[qp_fifo]='hw/rtl/transport/dingo_qp_fifo.sv:s/(same || /(/'

guard="hw/rtl/host/dingo_axi_guard.sv ${lib}dingo_fifo.sv"
# -noassert: the guard's own assertions restrict the core; these properties hold for any core.
flags[axi_credit]=-noassert flags[axi_beats]=-noassert
files[axi_credit]=$guard depth[axi_credit]=8 induct[axi_credit]=2
sees[axi_credit]="dut_reads=reads_q dut_writes=writes_q dut_ar_wr=i_ar.wr_q dut_ar_rd=i_ar.rd_q dut_aw_wr=i_aw.wr_q
    dut_aw_rd=i_aw.rd_q dut_len_wr=i_len.wr_q dut_len_rd=i_len.rd_q dut_w_wr=i_w.wr_q dut_w_rd=i_w.rd_q
    dut_w0=i_w.mem[0] dut_w1=i_w.mem[1] dut_len=len dut_beat=beat_q"
for i in ar aw len w; do sees[axi_credit]+=" dut_${i}_valid=i_$i.valid_q dut_${i}_full=i_$i.full_q"; done
breaks[axi_credit]='hw/rtl/host/dingo_axi_guard.sv:s/m_rvalid_i && m_rready_o && m_rlast_i/m_rvalid_i \&\& m_rready_o/
hw/rtl/host/dingo_axi_guard.sv:s/m_bvalid_i && m_bready_o)/m_bvalid_i \&\& bready_i)/'

files[axi_beats]=$guard depth[axi_beats]=8 induct[axi_beats]=0 sees[axi_beats]=""
breaks[axi_beats]="hw/rtl/host/dingo_axi_guard.sv:s/drain_i . 64'd0 : wstrb_i/wstrb_i/"

files[axi_drain]=$guard depth[axi_drain]=14 induct[axi_drain]=0 sees[axi_drain]="" flags[axi_drain]=-noassert
breaks[axi_drain]="hw/rtl/host/dingo_axi_guard.sv:s/len_valid && (drain_i || wvalid_i)/len_valid \&\& wvalid_i/"

files[tx_room]="hw/rtl/transport/dingo_tx_mux.sv ${lib}dingo_fifo.sv ${lib}dingo_arb.sv" depth[tx_room]=8 induct[tx_room]=6
sees[tx_room]="dut_txd0=txd_count0 dut_txd1=txd_count1 dut_seg0=seg_count0 dut_seg1=seg_count1 dut_inl=inl_count"
breaks[tx_room]="hw/rtl/transport/dingo_tx_mux.sv:s/count1 < (TXD_LOG + 1)'(2)/count1 < (TXD_LOG + 1)'(4)/"

files[mac_guard]="hw/rtl/wire/dingo_mac_guard.sv" depth[mac_guard]=12 induct[mac_guard]=2
sees[mac_guard]="dut_open=open_q dut_cut=cut_q dut_within=within_q dut_lost=lost_q"
breaks[mac_guard]="hw/rtl/wire/dingo_mac_guard.sv:s/room && core_rst_ni && !cut_q/room \&\& core_rst_ni/
hw/rtl/wire/dingo_mac_guard.sv:s/lost_q <= drop/lost_q <= !core_rst_ni/"

files[pcie_tags]="hw/rtl/pcie/dingo_pcie_tags.sv" depth[pcie_tags]=16 induct[pcie_tags]=3 flags[pcie_tags]=-noassert
sees[pcie_tags]="dut_wr=wr_q dut_rd=rd_q dut_out=out_q dut_fill=fill_q dut_all=all_q dut_mem0=mem[0] dut_mem1=mem[1] dut_mem2=mem[2] dut_mem3=mem[3]"
breaks[pcie_tags]="hw/rtl/pcie/dingo_pcie_tags.sv:s/stop && idle_o/stop/
hw/rtl/pcie/dingo_pcie_tags.sv:s/valid_o = !fill_q && !stop/valid_o = !fill_q/
hw/rtl/pcie/dingo_pcie_tags.sv:s/if (taken) rd_q/if (take_i) rd_q/"

mac=hw/rtl/mac/
# Two unrelated clocks: in a step of the solver neither, one or both have an edge.
files[mac_fifo]="${mac}dingo_mac_fifo.sv ${mac}dingo_mac_gray.sv" depth[mac_fifo]=10 induct[mac_fifo]=2 clocks[mac_fifo]=two
sees[mac_fifo]="dut_wr=wr_q dut_start=start_q dut_seen=seen_q dut_rd=i_beats.here_q dut_rd_gray=i_beats.gray_q
    dut_rd_meta=i_beats.meta_q dut_rd_there=i_beats.there_q dut_frames=i_frames.here_q dut_frames_gray=i_frames.gray_q
    dut_frames_meta=i_frames.meta_q dut_frames_there=i_frames.there_q dut_fresh=fresh_q dut_valid=valid_q dut_word=word_q"
for i in 0 1 2 3; do sees[mac_fifo]+=" dut_mem$i=mem[$i]"; done
breaks[mac_fifo]="${mac}dingo_mac_fifo.sv:s/wr_q <= start_q/wr_q <= start_q + P'(1)/
${mac}dingo_mac_fifo.sv:s/room_q <= held < P'((1 << LogDepth) - 1)/room_q <= !held[LogDepth]/
${mac}dingo_mac_fifo.sv:s/step_i(push_i && last_i)/step_i(push_i)/
${mac}dingo_mac_fifo.sv:s/frames_there != seen_d/frames_there != seen_q/
${mac}dingo_mac_gray.sv:s/gray_q <= to_gray(here_d)/gray_q <= here_d/"

order=(psn arb fifo qp_fifo axi_credit axi_beats axi_drain tx_room mac_guard mac_fifo pcie_tags)

# compile NAME RTL_DIR: writes NAME's properties with the sources of RTL_DIR (hw/rtl or a broken copy) as SMT2.
compile() {
    local name=$1 dir=$2 list="$2/rtl_pkg.sv $2/pcie/pcie_pkg.sv" f connects='' pair edges=async2sync
    [ -z "${clocks[$name]-}" ] || edges=clk2fflogic
    for f in ${files[$name]}; do list+=" ${f/#hw\/rtl/$dir}"; done
    for pair in ${sees[$name]}; do connects+="connect -set ${pair%%=*} \\dut.${pair#*=}; "; done
    run_yosys -q -e 'implicitly declared|Resizing cell port|is assigned in a block' \
        -p "read_verilog -sv -formal -DDINGO_QP_LOG=2 ${flags[$name]-} $list
            read_verilog -sv -formal tests/hw/rtl/formal/${name}_props.sv
            hierarchy -check -top ${name}_props; proc; flatten; opt_clean; memory -nomap; memory_map
            cd ${name}_props; $connects cd; check -assert; opt -full; dffunmap; $edges; chformal -lower; opt_clean
            write_smt2 -wires $out/$name.smt2" >"$out/$name.log" 2>&1
}

# smt NAME ARG...: succeeds when every property holds: exit status 0 and "Status: PASSED" in the log.
smt() {
    local name=$1
    shift
    run_smtbmc -s z3 --timeout 120 "$@" "$out/$name.smt2" >>"$out/$name.log" 2>&1 &&
        grep -q 'Status: PASSED' <(tail -n 2 "$out/$name.log")
}

# broken NAME FILE:SED: breaks a copy and succeeds when the properties give a counterexample.
broken() {
    local name=$1 file=${2%%:*} copy=$out/broken-$1
    rm -rf "$copy"
    cp -r hw/rtl "$copy"
    sed -i "${2#*:}" "$copy/${file#hw/rtl/}"
    ! cmp -s "$file" "$copy/${file#hw/rtl/}" || { echo "nothing was broken" >>"$out/$name.log"; return 1; }
    compile "$name" "$copy" || return 1
    ! smt "$name" -t $((depth[$name] + 4)) && tail -n 2 "$out/$name.log" | grep -q 'Status: FAILED'
}

# say NAME STATUS LOG: prints one line of result.
say() {
    if [ "$2" = 0 ]; then echo "PASS formal:$1"; else echo "FAIL formal:$1: see $3"; fi
}

yosys_root >/dev/null || { echo "SKIP formal: Yosys could not be had"; exit 0; }
for name in "${order[@]}"; do
    [ "$wanted" = "  " ] || [[ $wanted == *" $name "* ]] || continue
    if ! compile "$name" hw/rtl; then
        say "$name can be read" 1 "$out/$name.log"
        continue
    fi
    smt "$name" -t "${depth[$name]}"
    say "$name holds for ${depth[$name]} cycles from reset" $? "$out/$name.proof.log"
    if [ "${induct[$name]}" != 0 ]; then
        smt "$name" -i -t "${induct[$name]}"
        say "$name holds for all time (induction)" $? "$out/$name.proof.log"
    fi
    mv "$out/$name.log" "$out/$name.proof.log"
    while read -r fault; do
        broken "$name" "$fault"
        say "$name broken on purpose is found: ${fault#*:}" $? "$out/$name.log"
    done <<<"${breaks[$name]}"
done
