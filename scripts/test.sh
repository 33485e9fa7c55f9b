#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
usage() {
    cat <<'EOF'
Builds everything and runs every test suite. Needs Debian 12 and root; installs and caches what is missing.

usage: scripts/test.sh [--list] [--budget MINUTES] [--in-turn] [SUITE...]

Suites run in three lanes side by side: what computes (builds, unit tests, proofs), what drives cards on this host and then some guests, what drives guests.
Results come in the order of --list. What fails beside others, as cases that wait for a time may, runs again alone at the end, and
that counts. With --in-turn one suite runs at a time.
Without SUITE all run but those that --list gives as "by name". With --budget none begins, and none goes on, when the time is over: what that leaves out is
counted as skipped and says so. Each suite is a program that prints one line per case,
"PASS name", "FAIL name: why" or "SKIP name: why"; this script counts them. Logs: build/test-logs/SUITE.log.
Exit status 0 when nothing failed. Last line: N passed, N failed, N skipped
EOF
}

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/build.sh
. scripts/lib/suites.sh

# name|lane|program|what it does; in order of usefulness per second. Each suite works alone in a
# fresh tree, and beside those of other lanes: suites that need the same ports, guests or network
# namespaces are in one lane. Each pair of guests has its own, so some of their suites follow those of
# lane cards, which would end long before lane guests.
suites=(
    "style|cpu|tests/style.sh|formatting, licences, names, shell syntax"
    "scripts|cpu|tests/scripts/suite.sh|what the scripts share: the cache keeps only what was built, engines that are asked for"
    "unit|cpu|tests/unit.sh release|contract, packets, model, card, wire, conformance (ctest)"
    "testplan|cpu|tests/testplan/suite.sh|every promised behaviour has a test that exists"
    "lint|cpu|tests/hw/rtl/lint/run.sh|the SystemVerilog card: Verilator's -Wall, widths of structures, waivers"
    "kmod|cpu|tests/kmod/build.sh|dingo.ko and dingo_ib.ko on 6.12 and 7.2 without a warning, sparse, checkpatch"
    "native|cards|tests/e2e/native/suite.sh tools|kernel-less cards: perftest with its options, pingpongs, many clients, an ordinary user"
    "native-pair|cards|tests/e2e/native/suite.sh pair|kernel-less: dingo pair: server and client, their ends and failures, nothing left behind"
    "native-cluster|cards|tests/e2e/native/suite.sh cluster|kernel-less: dingo run --cluster: a card for each rank of mpirun and of other launchers"
    "native-cm|cards|tests/e2e/native/suite.sh cm|kernel-less: rdma_cm with rping, ucmatose, udaddy, rsockets, perftest -R; refusals, deaths, loss"
    "native-view|cards|tests/e2e/native/suite.sh view|kernel-less: rdma_cm in a view of several cards, of one process and of several"
    "native-net|cards|tests/e2e/native/suite.sh net|kernel-less cards in two network namespaces: UDP 4791, tshark, ICRC"
    "native-life|cards|tests/e2e/native/suite.sh lifecycle|kernel-less: kill -9 of clients, servers and the card; idle cost"
    "native-host|cards|tests/e2e/native/suite.sh host|kernel-less: several cards in one process, beside one that has its own; stop, kill -9, faults, capture"
    "native-refs|cards|tests/e2e/native/suite.sh refs|kernel-less: cards of two processes: payloads stay in memory, which is taken back whoever stops or dies"
    "native-direct|cards|tests/e2e/native/suite.sh direct|kernel-less: programs of one host carry out WRITE, READ and SEND themselves: every byte, events, faults, deaths"
    "native-paused|cards|tests/e2e/native/suite.sh paused|kernel-less: the peer's card gets no processor for a while: retries are not used up"
    "native-attacks|cards|tests/e2e/native/suite.sh attacks|kernel-less: clients that come, attack and are killed by a seed"
    "native-dlrm|cards|tests/e2e/native/suite.sh dlrm|kernel-less: click records stream into a trainer's buffers, preprocessed as they land; kills, loss, PyTorch where it is"
    "native-gpu|cards|tests/e2e/native/suite.sh gpu|kernel-less: a GPU's memory as regions, with a driver of ours: every byte, refusals, deaths, slow copies"
    "native-promises|cards|tests/e2e/native/suite.sh promises|what the man pages of libibverbs and librdmacm promise, each promise a case"
    "native-pyverbs|cards|tests/e2e/native/suite.sh pyverbs|this host's pyverbs suite on a kernel-less card"
    "install|cards|tests/packaging/suite.sh install|cmake --install: all or nothing, any prefix, no RPATH, uninstall"
    "bench|cards|tests/rdma-bench/suite.sh|rdma-bench on kernel-less cards: every test and option, verified data, what a new user meets, reports"
    "rtl|cards|tests/e2e/native/suite.sh rtl|kernel-less: the SystemVerilog card under Verilator with this host's programs, alone, with the model and under loss"
    "formal|cpu|tests/hw/rtl/formal/run.sh|proofs of the RTL's small control blocks (yosys-smtbmc, z3)"
    "native-rxe|guests|tests/e2e/native/suite.sh rxe|a kernel-less card and the kernel's rdma_rxe in a guest: both roles, every byte"
    "exchange|cards|tests/qp-exchange/suite.sh|qp-exchange: two peers on kernel-less cards, two hosts in namespaces, installation, fuzzing"
    "vm|guests|tests/e2e/vm/suite.sh basic|two guests: tools, perftest with its options, pingpongs, rdma_cm, iperf3"
    "vm-rxe|guests|tests/e2e/vm/suite.sh rxe|the kernel's rdma_rxe as the peer, both roles"
    "vm-faults|guests|tests/e2e/vm/suite.sh faults|drop, reorder and corruption on the wire, data checked"
    "vm-lifecycle|guests|tests/e2e/vm/suite.sh lifecycle|kill -9, link down, reload, unplug, dead card"
    "vm-driver|cards|tests/e2e/vm/suite.sh driver|the driver: resets, reloads, broken cards, DMA buffers that move or are pinned"
    "vm-ethernet|guests|tests/e2e/vm/suite.sh ethernet|the network interface: checksums, segments, rings, channels and RSS by ethtool, every byte of TCP; counters of QPs"
    "vm-capture|guests|tests/e2e/vm/suite.sh capture|tshark decodes what is on the wire"
    "vm-apps|guests|tests/e2e/vm/suite.sh apps|what kernels have on verbs: NFS, iSER, RDS, NVMe with SRQs under loss; a bond, an exclusive namespace"
    "vm-namespaces|guests|tests/e2e/vm/suite.sh namespaces|whose addresses a process may use, with network namespaces shared and exclusive"
    "vm-7.2|guests|tests/e2e/vm/suite.sh --kernel 7.2 smoke|the same driver on the newer kernel"
    "vm-p2p|cards|tests/e2e/vm/suite.sh --kernel 7.2 p2p|card memory and PCIe peer to peer: NVMe disk and two cards below one switch"
    "threads|cpu|tests/threads.sh|what has threads, under ThreadSanitizer; whole runs of rdma-bench too"
    "vm-rtl|guests|tests/e2e/vm/suite.sh rtl|two guests with the SystemVerilog card under Verilator, then one with the kernel's rdma_rxe"
    "vm-promises|cards|tests/e2e/vm/suite.sh promises|the man pages' promises under dingo_ib.ko"
    "vm-pyverbs|guests|tests/e2e/vm/suite.sh pyverbs|Debian's pyverbs suite"
    "sanitizers|cpu|tests/unit.sh asan|the same under AddressSanitizer and UBSan"
    "tidy|cpu|tests/tidy.sh|clang-tidy finds nothing"
    "vm-lab|guests|tests/e2e/vm/suite.sh lab|the driver on a debug kernel behind an IOMMU, where scripts/kernel-lab.sh has built one"
)

# Run only when they are named: they build Dingo several times more, measure rates, or take hours.
by_name=(
    "vm-sweeps|guests|tests/e2e/vm/suite.sh sweeps|hundreds of resets, unplugs and kills, a fault at each admin command, a fuzzer of uverbs; for a machine with KVM"
    "rtl-thorough|cpu|tests/unit.sh thorough|conformance of the simulated card with three times as many random rounds"
    "attack-rates|cards|tests/e2e/native/suite.sh attack-rates|kernel-less: what a client loses by attacks on its card; wants a machine of its own"
    "native-busy|cards|tests/e2e/native/suite.sh busy|kernel-less: a bad wire beside processes that burn: retries are not used up; wants a machine of its own"
    "packages|cpu|tests/packaging/suite.sh packages|Debian packages in clean roots of 12 and 13: lintian, install, use, upgrade, remove, purge"
    "trixie|cpu|tests/packaging/suite.sh trixie|Debian 13: gcc 14 and clang 19 build without a warning, native programs run"
    "bookworm|cpu|tests/packaging/suite.sh bookworm|Debian 12 in a root: gcc 12 and clang 14 build without a warning, native programs run"
    "arm64|cpu|tests/packaging/suite.sh arm64|unit tests of contract, packets, transport and model for arm64, under qemu-user"
    "readme|cpu|tests/packaging/suite.sh readme|README.md's quick start, pasted line by line in clean roots of Debian 12 and 13, as a user"
    "rdma-core|cards|tests/packaging/suite.sh rdma-core|the provider inside another rdma-core, which DINGO_RDMA_CORE names (git's head): builds, loads, keeps the promises"
    "containers|cpu|tests/packaging/suite.sh containers|the container file with podman: an image, and the compose file's two containers over RoCE v2"
)

wanted=()
budget=0
side_by_side=1
while [ $# -gt 0 ]; do
    arg=$1
    shift
    case $arg in
        --budget)
            [[ ${1:-} =~ ^[1-9][0-9]*$ ]] || die "--budget needs a number of minutes"
            budget=$((SECONDS + $1 * 60))
            shift ;;
        --list) for s in "${suites[@]}" "${by_name[@]}"; do printf '%-15s %s\n' "$(field 1 "$s")" "$(field 4 "$s")"; done; printf 'by name: '; for s in "${by_name[@]}"; do printf '%s ' "$(field 1 "$s")"; done; echo; exit 0 ;;
        --in-turn) side_by_side='' ;;
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
# Warnings are errors in tests, but not for users, whose compilers may be untested.
export DINGO_WERROR=ON
need_own_build "$PWD/build"
logs=$PWD/build/test-logs
mkdir -p "$logs"
[ ${#wanted[@]} -eq 0 ] || suites+=("${by_name[@]}")
chosen=()
for suite in "${suites[@]}"; do
    name=$(field 1 "$suite")
    [ ${#wanted[@]} -eq 0 ] || [[ " ${wanted[*]} " == *" $name "* ]] || continue
    [ -n "$side_by_side" ] || suite="$name|one|${suite#*|*|}"
    chosen+=("$suite")
done
# For all suites, build the simulated card with profile-guided optimisation (minutes after each
# change of the RTL), as many of them wait for it.
[ ${#wanted[@]} -gt 0 ] || export DINGO_TRAIN_RTL=1
# Build all before lanes start: a suite that builds more could replace a program that another lane
# runs. Failures are ignored here; each suite reports them.
if [ "$(lanes "${chosen[@]}" | wc -w)" -gt 1 ]; then
    DINGO_CMAKE_OPTIONS=$rtl_engine_options build_preset release >"$logs/build.log" 2>&1 || true
    printf '== build (%d s; %s)\n' "$SECONDS" build/test-logs/build.log
fi
run_suites "$logs" "$budget" "${chosen[@]}"
if [ ${#failures[@]} -gt 0 ]; then
    printf 'failed suites: %s\n' "${failures[*]}"
    # Repeated here, because viewers may cut the middle of a log of thousands of lines.
    printf '   %s\n' "${failed_cases[@]:0:40}"
    [ ${#failed_cases[@]} -le 40 ] || printf '   and %d more\n' $((${#failed_cases[@]} - 40))
fi
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" = 0 ]
