#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Lint with Verilator's -Wall: the card at its full and its smallest size, the adapters to PCIe and to the MAC. Also checks the widths
# of the packages' types and the number of waivers. The checks must also fail on copies that are broken on purpose.
set -uo pipefail
cd "$(dirname "$0")/../../../.." || exit 1
. scripts/lib/common.sh
need_packages verilator python3
out=build/lint
rm -rf "$out" && mkdir -p "$out"
python3 hw/contract/gen.py hw/contract/dingo.toml --sv "$out/dingo_pkg.sv" || exit
python3 hw/contract/log_table.py --sv "$out/dingo_log_pkg.sv" || exit
# Each waiver in the code states its reason; more of them need a review.
waivers_allowed=5

# packages FIND_ARGUMENT...: prints package files in the order of their dependencies: common ones before those of one folder.
packages() { find "$@" -name '*_pkg.sv' -printf '%d %p\n' | sort -n | cut -d ' ' -f 2; }

# lint RTL_DIR TOP [FILE|OPTION...]: fails on any warning or error. Each TOP is read with its own packages only, because -Wall
# reports what TOP does not use of them.
lint() {
    local dir=$1 top=$2 parts=("$1")
    shift 2
    case $top in
    dingo_pcie) parts=("$dir/lib" "$dir/pcie") ;;
    dingo_mac) parts=("$dir/mac") ;;
    *) parts+=(-not -path "*/pcie/*" -not -path "*/mac/*") ;;
    esac
    # shellcheck disable=SC2046  # names without blanks
    timeout 900 verilator --lint-only --relative-includes -Wall -Wno-DECLFILENAME --top-module "$top" "$@" \
        "$out/dingo_pkg.sv" "$out/dingo_log_pkg.sv" \
        $(packages "${parts[@]}") $(find "${parts[@]}" -name 'dingo_*.sv' | sort)
}
# Checks that the ports in the board's top fit. AMD's IP blocks are stubs that have only ports.
shell_lint() {
    # shellcheck disable=SC2046  # names without blanks
    timeout 900 verilator --lint-only --relative-includes -Wall -Wno-DECLFILENAME -Wno-UNDRIVEN -Wno-UNUSEDSIGNAL -Wno-PINCONNECTEMPTY \
        -Wno-UNUSEDPARAM --top-module dingo_u55c_top "$out/dingo_pkg.sv" "$out/dingo_log_pkg.sv" \
        $(packages hw/rtl) $(find hw/rtl hw/syn/u55c -name '*.sv' -not -name '*_pkg.sv' | sort)
}
widths() {
    # shellcheck disable=SC2046  # names without blanks
    timeout 300 verilator --lint-only --relative-includes --top-module widths "$out/dingo_pkg.sv" $(packages "$1") \
        tests/hw/rtl/lint/widths.sv
}
# marks LOG: lints dingo_marks with 2^LOG bits
marks() { verilator --lint-only --relative-includes -Wall --top-module dingo_marks -GLog="$1" hw/rtl/lib/dingo_marks.sv; }
marks_refused() { [[ $(marks 1 2>&1) == *'Log is at least 2'* ]]; }
# check NAME COMMAND...: prints PASS if COMMAND succeeds.
check() {
    local name=$1 log
    log=$out/$(tr -c 'A-Za-z0-9\n' _ <<<"$1").log
    shift
    if "$@" >"$log" 2>&1; then
        echo "PASS lint:$name"
    else
        echo "FAIL lint:$name: $(grep -m1 -E '%(Error|Warning)' "$log" | cut -c1-250)"
    fi
}
refuses() { ! "$@"; }

check 'the card' lint hw/rtl dingo_card
check 'the card with few objects' lint hw/rtl dingo_card -DDINGO_QP_LOG=4 -DDINGO_CQ_LOG=4 -DDINGO_MR_LOG=4 -DDINGO_EQ_LOG=2 -DDINGO_GID_LOG=2
check 'the adapter to PCIe' lint hw/rtl dingo_pcie
check 'the adapter to the MAC' lint hw/rtl dingo_mac
check 'the card on a U55C' shell_lint
check 'widths of structures' widths hw/rtl
check 'marks of four' marks 2
check 'marks of two are refused, with the reason' marks_refused
cp -r hw/rtl "$out/broken"
sed -i 's/BEAT_W = 521/BEAT_W = 520/' "$out/broken/rtl_pkg.sv"
check 'a wrong width is found' refuses widths "$out/broken"
cp hw/rtl/rtl_pkg.sv "$out/broken/"
sed -i '0,/^endmodule/s//  logic nobody_reads_this;\nendmodule/' "$out/broken/lib/dingo_fifo.sv"
check 'a signal that nobody uses is found' refuses lint "$out/broken" dingo_card
check 'and in the adapter' refuses lint "$out/broken" dingo_pcie
waivers=$(grep -rhc 'lint_off' --include='*.sv' --include='*.svh' hw/rtl | awk '{ n += $1 } END { print n }')
check "$waivers waivers, $waivers_allowed allowed" test "$waivers" -le $waivers_allowed
