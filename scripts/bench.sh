#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
usage() {
    cat <<'EOF'
Prints the numbers of docs/performance.md, measured now on this machine.

usage: scripts/bench.sh [--json] [model] [rtl] [rtl-speed] [provider] [exchange] [native] [direct] [perftest] [pairs] [guests]    default: all
  --json    also puts the figures, this machine, commit and date into docs/performance/PART.json, which goes to stdout, and
            renders docs/performance.md; what the part prints goes to stderr
  native    kernel-less cards and the kernel's TCP side by side: bandwidth, latency, message rate
  direct    rdma-bench on the direct road and by the cards, side by side. DIRECT_ROUNDS=5
  model     two cards joined in one process, one thread, ICRC made and checked
  rtl       two SystemVerilog cards, cycle by cycle, on a stated PCIe and wire: goodput, message rate, latency
  rtl-speed how fast the simulated clock of SystemVerilog cards runs under perftest, kernel-less
  provider  instructions per ibv_post_send and ibv_poll_cq (valgrind, exact)
  exchange  qp-exchange between two processes on loopback, warm and cold, plain and with TLS
  perftest  rdma-bench beside perftest on the same kernel-less card, interleaved; instructions per message (valgrind)
            PERFTEST_ROUNDS=7, PERFTEST_PIN="CARD SERVER CLIENT" (a processor each); native: NATIVE_ROUNDS=3
  pairs     the same rows in hundreds of short pairs on processors of their own, where there are more than two; ratios with
            their standard errors. PAIRS_SECONDS=60 a row, PAIRS_GROUPS="CARD,SERVER,CLIENT ...". PAIRS_AGAINST=TREE/build/bin:
            perftest on cards of that earlier build beside perftest on cards of this one
  guests    ib_write_bw and ib_send_lat on Dingo and on rdma_rxe, the same two guests' worth of machine, one run
EOF
}

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/build.sh
# Switches the direct road off; only parts that measure it switch it on.
export DINGO_DIRECT=0
. scripts/lib/bench_native.sh
. scripts/lib/bench_direct.sh
. scripts/lib/bench_perftest.sh
. scripts/lib/bench_rtl_speed.sh

bench_model() {
    build_preset release model_bench >/dev/null
    build/bin/model_bench
}

bench_rtl() {
    need_packages verilator
    DINGO_CMAKE_OPTIONS=$rtl_engine_options build_preset release rtl_bench >/dev/null
    build/bin/rtl_bench
}

# instructions "FUNCTION..." MODE...: prints the instructions per message in these functions, as the
# difference of two runs (1000 and 3000 messages), which leaves out start and end.
instructions() {
    local n count=() functions
    read -ra functions <<<"$1"
    shift
    for n in 1000 3000; do
        count+=("$(valgrind --tool=callgrind --callgrind-out-file=/dev/null "${functions[@]/#/--toggle-collect=}" build/bin/provider_hot_path "$n" "$@" 2>&1 |
            sed -n 's/.*Collected : //p')")
    done
    echo $(((count[1] - count[0]) / 2000))
}

bench_exchange() {
    build_preset release qpx_bench qpxd_bench >/dev/null
    build/bin/qpx_bench
    build/bin/qpxd_bench
}

bench_provider() {
    need_packages valgrind
    build_preset release provider_hot_path >/dev/null
    printf '%-34s %8s %14s\n' 'instructions per call' locked 'thread domain'
    printf '%-34s %8s %14s\n' 'ibv_post_send, inline 8 B, one WR' "$(instructions dingo_post_send locked)" "$(instructions dingo_post_send single)"
    local wr="wr_start wr_send wr_set_inline_data wr_complete"
    printf '%-34s %8s %14s\n' 'ibv_wr_*, the same' "$(instructions "$wr" extended)" "$(instructions "$wr" extended single)"
    printf '%-34s %8s %14s\n' 'ibv_post_send, WRITE of one SGE' "$(instructions dingo_post_send write)" "$(instructions dingo_post_send write single)"
    printf '%-34s %8s %14s\n' 'ibv_post_recv, one SGE' "$(instructions dingo_post_recv receive)" "$(instructions dingo_post_recv receive single)"
    printf '%-34s %8s %14s\n' 'ibv_poll_cq, one completion' "$(instructions dingo_poll_cq locked)" "$(instructions dingo_poll_cq single)"
    printf '%-34s %8s %14s\n' 'ibv_poll_cq, one receive' "$(instructions dingo_poll_cq receive)" "$(instructions dingo_poll_cq receive single)"
}

# last_row COMMAND FIELD: runs COMMAND as server and client in the session; prints that column of
# the last row of the client's table, or 0.
last_row() {
    local out value
    out=$(mktemp -d)
    scripts/vm.sh run --name "$session" --quiet --timeout 300 --out "$out" -- "$1" -- "$1 A" >/dev/null || true
    value=$(awk -v f="$2" '/^ *[0-9]+ +[0-9]+ / {v = $f} END {print v}' "$out/B.out")
    rm -r "$out"
    echo "${value:-0}"
}

bench_guests() {
    local kind bw lat
    declare -A bws lats
    for kind in card rxe; do
        session=bench-$kind-$$
        options=(--parent $$)
        [ $kind = card ] || options+=(--rxe)
        scripts/vm.sh up --name "$session" "${options[@]}" >&2
        trap 'scripts/vm.sh down --name "$session" >/dev/null 2>&1 || true' EXIT
        # Median of three, because other load on the machine disturbs single runs.
        bw=$(for _ in 1 2 3; do last_row 'ib_write_bw -s 65536 -D 5' 4; done | sort -n | sed -n 2p)
        lat=$(for _ in 1 2 3; do last_row 'ib_send_lat -s 2 -n 1000' 5; done | sort -n | sed -n 2p)
        bws[$kind]=$bw lats[$kind]=$lat
        scripts/vm.sh down --name "$session" >&2
    done
    printf '%-34s %10s %10s %8s\n' 'guest to guest (median of 3)' dingo rdma_rxe ratio
    awk -v d="${bws[card]}" -v r="${bws[rxe]}" 'BEGIN {printf "%-34s %10.1f %10.1f %8.1f\n", "ib_write_bw 64 KiB, MiB/s", d, r, r ? d / r : 0}'
    awk -v d="${lats[card]}" -v r="${lats[rxe]}" 'BEGIN {printf "%-34s %10.1f %10.1f %8.2f\n", "ib_send_lat 2 B typical, us", d, r, r ? d / r : 0}'
}

json=''
parts=()
for arg in "$@"; do
    case $arg in
        model | rtl | rtl-speed | provider | exchange | native | direct | perftest | pairs | guests) parts+=("$arg") ;;
        --json) json=yes ;;
        -h | --help) usage; exit 0 ;;
        *) usage >&2; die "no part '$arg'" ;;
    esac
done
[ ${#parts[@]} -gt 0 ] || parts=(model rtl rtl-speed provider exchange native direct perftest pairs guests)
need_packages "${build_packages[@]}" libgtest-dev libgmock-dev libbenchmark-dev zlib1g-dev
for part in "${parts[@]}"; do
    run=bench_${part//-/_}
    if [ -z "$json" ]; then
        "$run"
    elif [ -r "docs/performance/$part.json" ]; then
        "$run" | tee /dev/stderr | scripts/lib/performance.py record "$part"
        scripts/lib/performance.py render --write
    else
        echo "bench.sh: $part has no table in docs/performance: its figures are only printed" >&2
        "$run" >&2
    fi
done
