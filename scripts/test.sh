#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
usage() {
    cat <<'EOF'
Builds everything and runs every test suite. Needs Debian 12 and root; installs and caches what is missing.

usage: scripts/test.sh [--list] [--budget MINUTES] [SUITE...]

Without SUITE all run but those that --list gives as "by name". With --budget none begins, and none goes on, when the time is over: what that leaves out is
counted as skipped and says so. Each suite is a program that prints one line per case,
"PASS name", "FAIL name: why" or "SKIP name: why"; this script counts them. Logs: build/test-logs/SUITE.log.
Exit status 0 when nothing failed. Last line: N passed, N failed, N skipped
EOF
}

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/build.sh

# Name, program, what it does; what says most in the least time comes first. Each works alone in a fresh tree.
suites=(
    "style|tests/style.sh|formatting, licences, names, shell syntax"
    "scripts|tests/scripts/suite.sh|what the scripts share: the cache keeps only what was built, engines that are asked for"
    "unit|tests/unit.sh release|contract, packets, model, card, wire, conformance (ctest)"
    "testplan|tests/testplan/suite.sh|every promised behaviour has a test that exists"
    "lint|tests/hw/rtl/lint/run.sh|the SystemVerilog card: Verilator's -Wall, widths of structures, waivers"
    "kmod|tests/kmod/build.sh|dingo.ko on 6.12 and 7.2 without a warning, sparse, checkpatch"
    "native|tests/e2e/native/suite.sh tools|kernel-less cards: perftest with its options, pingpongs, many clients, an ordinary user"
    "native-pair|tests/e2e/native/suite.sh pair|kernel-less: dingo pair: server and client, their ends and failures, nothing left behind"
    "native-cluster|tests/e2e/native/suite.sh cluster|kernel-less: dingo run --cluster: a card for each rank of mpirun and of other launchers"
    "native-cm|tests/e2e/native/suite.sh cm|kernel-less: rdma_cm with rping, ucmatose, udaddy, rsockets, perftest -R; refusals, deaths, loss"
    "native-view|tests/e2e/native/suite.sh view|kernel-less: rdma_cm in a view of several cards, of one process and of several"
    "native-net|tests/e2e/native/suite.sh net|kernel-less cards in two network namespaces: UDP 4791, tshark, ICRC"
    "native-life|tests/e2e/native/suite.sh lifecycle|kernel-less: kill -9 of clients, servers and the card; idle cost"
    "native-host|tests/e2e/native/suite.sh host|kernel-less: several cards in one process, beside one that has its own; stop, kill -9, faults, capture"
    "native-promises|tests/e2e/native/suite.sh promises|what the man pages of libibverbs and librdmacm promise, each promise a case"
    "native-pyverbs|tests/e2e/native/suite.sh pyverbs|this host's pyverbs suite on a kernel-less card"
    "install|tests/packaging/suite.sh install|cmake --install: all or nothing, any prefix, no RPATH, uninstall"
    "bench|tests/rdma-bench/suite.sh|rdma-bench on kernel-less cards: every test and option, verified data, what a new user meets, reports"
    "rtl|tests/e2e/native/suite.sh rtl|kernel-less: the SystemVerilog card under Verilator with this host's programs, alone, with the model and under loss"
    "native-rxe|tests/e2e/native/suite.sh rxe|a kernel-less card and the kernel's rdma_rxe in a guest: both roles, every byte"
    "exchange|tests/qp-exchange/suite.sh|qp-exchange: two peers on kernel-less cards, two hosts in namespaces, installation, fuzzing"
    "vm|tests/e2e/vm/suite.sh basic|two guests: tools, perftest with its options, pingpongs, rdma_cm, iperf3"
    "vm-rxe|tests/e2e/vm/suite.sh rxe|the kernel's rdma_rxe as the peer, both roles"
    "vm-faults|tests/e2e/vm/suite.sh faults|drop, reorder and corruption on the wire, data checked"
    "vm-lifecycle|tests/e2e/vm/suite.sh lifecycle|kill -9, link down, reload, unplug, dead card"
    "vm-driver|tests/e2e/vm/suite.sh driver|the driver: resets, reloads, broken cards, DMA buffers that move or are pinned"
    "vm-capture|tests/e2e/vm/suite.sh capture|tshark decodes what is on the wire"
    "vm-7.2|tests/e2e/vm/suite.sh --kernel 7.2 smoke|the same driver on the newer kernel"
    "vm-rtl|tests/e2e/vm/suite.sh rtl|two guests with the SystemVerilog card under Verilator, then one with the kernel's rdma_rxe"
    "threads|tests/threads.sh|what has threads, under ThreadSanitizer; whole runs of rdma-bench too"
    "formal|tests/hw/rtl/formal/run.sh|proofs of the RTL's small control blocks (yosys-smtbmc, z3)"
    "sanitizers|tests/unit.sh asan|the same under AddressSanitizer and UBSan"
    "vm-promises|tests/e2e/vm/suite.sh promises|the man pages' promises under dingo.ko"
    "vm-pyverbs|tests/e2e/vm/suite.sh pyverbs|Debian's pyverbs suite"
)

# These build Dingo several times more, in roots of their own: they run when they are named.
by_name=(
    "packages|tests/packaging/suite.sh packages|Debian packages in clean roots of 12 and 13: lintian, install, use, upgrade, remove, purge"
    "trixie|tests/packaging/suite.sh trixie|Debian 13: gcc 14 and clang 19 build without a warning, native programs run"
    "bookworm|tests/packaging/suite.sh bookworm|Debian 12 in a root: gcc 12 and clang 14 build without a warning, native programs run"
    "arm64|tests/packaging/suite.sh arm64|unit tests of contract, packets, transport and model for arm64, under qemu-user"
    "containers|tests/packaging/suite.sh containers|the container file with podman: an image, and the compose file's two containers over RoCE v2"
)

field() { cut -d'|' -f"$1" <<<"$2"; }

wanted=()
budget=0
while [ $# -gt 0 ]; do
    arg=$1
    shift
    case $arg in
        --budget)
            [[ ${1:-} =~ ^[1-9][0-9]*$ ]] || die "--budget needs a number of minutes"
            budget=$((SECONDS + $1 * 60))
            shift ;;
        --list) for s in "${suites[@]}" "${by_name[@]}"; do printf '%-15s %s\n' "$(field 1 "$s")" "$(field 3 "$s")"; done; printf 'by name: '; for s in "${by_name[@]}"; do printf '%s ' "$(field 1 "$s")"; done; echo; exit 0 ;;
        -h | --help) usage; exit 0 ;;
        -*) usage >&2; die "unknown option $arg" ;;
        *) wanted+=("$arg") ;;
    esac
done
known=" $(for s in "${suites[@]}" "${by_name[@]}"; do field 1 "$s"; done | tr '\n' ' ')"
for w in "${wanted[@]}"; do
    [[ $known == *" $w "* ]] || die "no suite '$w'; there are:$known"
done

need_packages "${build_packages[@]}" "${test_packages[@]}"
# Warnings are errors here; not for who builds Dingo with a compiler that was not tried.
export DINGO_WERROR=ON
need_own_build "$PWD/build"
logs=$PWD/build/test-logs
mkdir -p "$logs"
passed=0 failed=0 skipped=0
failures=()
[ ${#wanted[@]} -eq 0 ] || suites+=("${by_name[@]}")
for suite in "${suites[@]}"; do
    name=$(field 1 "$suite") program=$(field 2 "$suite")
    [ ${#wanted[@]} -eq 0 ] || [[ " ${wanted[*]} " == *" $name "* ]] || continue
    start=$SECONDS
    printf '== %s: %s\n' "$name" "$(field 3 "$suite")"
    limit=()
    if [ $budget != 0 ]; then
        if [ $((budget - start)) -lt 60 ]; then
            echo "SKIP $name: no time left (--budget)"
            skipped=$((skipped + 1))
            continue
        fi
        limit=(timeout -k 30 $((budget - start)))
    fi
    rc=0
    # shellcheck disable=SC2086  # the program's arguments are words
    "${limit[@]}" $program </dev/null >"$logs/$name.log" 2>&1 || rc=$?
    if [ $budget != 0 ] && [ $SECONDS -ge $budget ] && [ $rc != 0 ]; then
        echo "SKIP $name: cut short, the time was over (--budget)" >>"$logs/$name.log"
        rc=0
    fi
    p=$(grep -c '^PASS ' "$logs/$name.log" || true)
    f=$(grep -c '^FAIL ' "$logs/$name.log" || true)
    s=$(grep -c '^SKIP ' "$logs/$name.log" || true)
    # A suite that died or printed no result has failed, whatever it counted.
    if [ "$f" = 0 ] && { [ "$rc" != 0 ] || [ $((p + s)) = 0 ]; }; then
        f=1
        echo "FAIL $name: the suite ended with status $rc after $p cases" >>"$logs/$name.log"
        tail -n 15 "$logs/$name.log"
    fi
    grep -E '^(FAIL|SKIP|# second try) ' "$logs/$name.log" || true
    printf '   %d passed, %d failed, %d skipped (%d s; %s)\n' "$p" "$f" "$s" $((SECONDS - start)) "build/test-logs/$name.log"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    [ "$f" = 0 ] || failures+=("$name")
done
[ ${#failures[@]} -eq 0 ] || printf 'failed suites: %s\n' "${failures[*]}"
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" = 0 ]
