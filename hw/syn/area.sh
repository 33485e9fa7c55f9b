#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Area of each module of the RTL on an UltraScale+ device, as Yosys maps it: LUTs, flip-flops, block
# RAMs, DSPs, and the cells on the longest path. Synthesis only: no placement, no timing.
# usage: hw/syn/area.sh [MODULE...]    prints a Markdown table; default: the card's parts
# LOG=4: log2 of QPs, CQs, MRs, small to limit the run time. LIMIT=60: seconds for a module.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. scripts/lib/common.sh
. scripts/lib/yosys.sh
LOG=${LOG:-4} LIMIT=${LIMIT:-60}
out=build/area
mkdir -p "$out"
parts=(dingo_pcie_reads dingo_pcie_writes dingo_pcie_mwr dingo_pcie_rq dingo_pcie_cq dingo_pcie_msix dingo_axi_guard dingo_dma_lines dingo_dma_read dingo_dma_write dingo_xlat dingo_gather dingo_atomics dingo_scatter
    dingo_compute_slot dingo_compute_receive dingo_wire_tx dingo_wire_rx dingo_eth_tx dingo_eth_rx
    dingo_tx_mux dingo_dispatch dingo_requester dingo_responder
    dingo_regs dingo_db dingo_qp_table dingo_mr_table dingo_port dingo_cq dingo_eq dingo_stats dingo_admin)
[ $# -eq 0 ] || parts=("$@")
root=$(yosys_root) || exit 125
package=$out/dingo_pkg.sv
python3 hw/contract/gen.py hw/contract/dingo.toml --sv "$package" || exit
python3 hw/contract/log_table.py --sv "$out/dingo_log_pkg.sv" || exit
packages=(hw/rtl/*_pkg.sv hw/rtl/*/*_pkg.sv)    # rtl_pkg before those of a part
mapfile -t sources < <(find hw/rtl -name 'dingo_*.sv' | sort)

# synthesize MODULE: flattened; writes its cells to MODULE.stat, its longest path to MODULE.ltp.
synthesize() {
    timeout "$LIMIT" "$root/run/yosys" -q -p "
        read_verilog -sv -DDINGO_QP_LOG=$LOG -DDINGO_CQ_LOG=$LOG -DDINGO_MR_LOG=$LOG -DDINGO_EQ_LOG=2 -DDINGO_GID_LOG=2 \
            $package $out/dingo_log_pkg.sv ${packages[*]}
        read_verilog -sv -defer ${sources[*]}
        hierarchy -check -top $1
        chformal -remove
        synth_xilinx -family xcup -flatten -noiopad -top $1
        tee -q -o $out/$1.stat stat
        delete t:FD* t:SRL* t:RAM* t:URAM* t:DSP*
        tee -q -o $out/$1.ltp ltp" >"$out/$1.log" 2>&1
}

# row MODULE: a row of the table from MODULE.stat and MODULE.ltp.
row() {
    local longest carry
    longest=$(sed -n 's/.*(length=\([0-9]*\)).*/\1/p' "$out/$1.ltp" | head -n 1)
    carry=$(grep -c '^ *[0-9]*:.*carry' "$out/$1.ltp")
    awk -v name="$1" -v longest="$longest ($carry carry)" '
        NF != 2 { next }
        $1 ~ /^LUT[1-6]$/ { lut += $2 }
        $1 ~ /^(RAM32M16|RAM64M8)$/ { mem += 8 * $2 }
        $1 ~ /^(RAM32M|RAM64M|RAM256X1[SD])$/ { mem += 4 * $2 }
        $1 ~ /^(RAM32X1D|RAM64X1D|RAM128X1S)$/ { mem += 2 * $2 }
        $1 ~ /^RAM128X1D$/ { mem += 4 * $2 }
        $1 ~ /^SRL/ { mem += $2 }
        $1 ~ /^FD[CPRS]E/ { ff += $2 }
        $1 ~ /^RAMB36/ { bram += $2 }
        $1 ~ /^RAMB18/ { bram += $2 / 2 }
        $1 ~ /^DSP/ { dsp += $2 }
        END { printf "| `%s` | %d | %d | %d | %.1f | %d | %s |\n", name, lut + mem, mem, ff, bram, dsp, longest }
    ' "$out/$1.stat"
}

echo '| module | LUT | of them memory | FF | BRAM36 | DSP | cells on the longest path |'
echo '| --- | --- | --- | --- | --- | --- | --- |'
for module in "${parts[@]}"; do
    rm -f "$out/$module".{stat,ltp}
    synthesize "$module"
    case $? in
        0) row "$module" ;;
        124) echo "| \`$module\` | not within $LIMIT s | | | | | |" ;;
        *) echo "| \`$module\` | failed: $out/$module.log | | | | | |" ;;
    esac
done
