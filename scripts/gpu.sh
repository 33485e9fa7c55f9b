#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
usage() {
    cat <<'USAGE'
Runs what needs a real NVIDIA GPU, on a machine that has one: builds, tests, measures, and writes a report.

usage: scripts/gpu.sh [--report FILE] [PART...]
PART: regions (a GPU's memory as memory regions), pinned (host memory that CUDA has pinned), gda (kernels post work; needs nvcc),
dlrm (click records to a training step; needs PyTorch), nccl (torch.distributed, NVSHMEM; needs two GPUs), programs (training, JAX,
CuPy, RPC, NCCL's settings; needs two GPUs), perftest (--use_cuda; needs perftest's sources with a configure script,
DINGO_PERFTEST=folder), ucx (needs UCX's sources likewise, DINGO_UCX=folder), mooncake, libfabric (need their programs, built with
CUDA: DINGO_MOONCAKE=folder, DINGO_FABTESTS=folder), rates; all unless named.
FILE: default build/gpu-report.md. What it needs: NVIDIA's driver, and what a build of Dingo needs; on a machine without a
network `scripts/bare.py unpack` brings that, then say DINGO_PACKAGES=installed.
Exit status 0 when no case failed, 1 when one did, 77 without a GPU.
USAGE
}
report=
case ${1:-} in
-h | --help) usage; exit 0 ;;
--report) report=${2:?"gpu.sh: --report needs a file"}; shift 2 ;;
esac
parts=" ${*:-regions pinned gda dlrm nccl programs perftest ucx mooncake libfabric rates} "
for part in $parts; do
    case $part in regions | pinned | gda | dlrm | nccl | programs | perftest | ucx | mooncake | libfabric | rates) ;; *) usage >&2; exit 2 ;; esac
done
cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/build.sh
report=${report:-build/gpu-report.md}
compgen -G '/dev/nvidia[0-9]*' >/dev/null || {
    echo "gpu.sh: this machine has no NVIDIA GPU (no /dev/nvidia0); tests without a GPU: scripts/test.sh native-gpu" >&2
    exit 77
}
logs=$PWD/build/test-logs/gpu
rm -rf "$logs"
mkdir -p "$logs"
: >"$logs/cases"
: >"$logs/rates"

wanted() { [[ $parts == *" $1 "* ]]; }
# suite NAME: runs a suite of tests/e2e/native; collects its cases and the rates that it measured.
suite() {
    local rc=0 out=$logs/suite-$1.out
    DINGO_REAL_GPU=1 tests/e2e/native/suite.sh "$1" 2>&1 | tee "$out" || rc=${PIPESTATUS[0]}
    # A suite that died, or printed no result, has failed.
    if ! grep -q '^FAIL ' "$out" && { [ "$rc" != 0 ] || ! grep -qE '^(PASS|SKIP) ' "$out"; }; then
        echo "FAIL gpu:$1: the suite ended with status $rc" | tee -a "$out"
    fi
    cat "$out" >>"$logs/cases"
    cat "build/test-logs/native-$1/rates" >>"$logs/rates" 2>/dev/null || true
}

# One build for all parts, with all processors in use; each suite would otherwise build its own
# part.
targets=(programs gpu_regions)
! wanted pinned || targets+=(preload_test)
! wanted dlrm || targets+=(dlrm-storage dlrm-check dlrm_feed)
command -v nvcc >/dev/null || [ ! -x /usr/local/cuda/bin/nvcc ] || PATH=$PATH:/usr/local/cuda/bin
if wanted gda || wanted rates; then ! command -v nvcc >/dev/null || targets+=(gda_traffic_cuda gpu_interchange); fi
build_preset release "${targets[@]}" >"$logs/build.log" 2>&1 || echo "FAIL gpu:build: $(tail -n 1 "$logs/build.log")" | tee -a "$logs/cases"

! wanted regions || suite gpu
if wanted pinned; then
    rc=0
    tests/gpu/pinned_pages.sh >"$logs/pinned.out" 2>&1 || rc=$?
    case $rc in
    0) echo 'PASS gpu:pages that CUDA has pinned stay' ;;
    77) echo 'SKIP gpu:pages that CUDA has pinned stay: the driver finds no GPU' ;;
    *) echo "FAIL gpu:pages that CUDA has pinned stay: $(tail -n 1 "$logs/pinned.out")" ;;
    esac | tee -a "$logs/cases"
fi
if wanted gda; then
    if command -v nvcc >/dev/null; then suite gpu-gda; else echo 'SKIP gpu:gda: no nvcc here' | tee -a "$logs/cases"; fi
fi
! wanted dlrm || suite gpu-dlrm
! wanted nccl || suite gpu-nccl
! wanted programs || suite gpu-programs
! wanted perftest || suite gpu-perftest
! wanted ucx || suite gpu-ucx
! wanted mooncake || suite gpu-mooncake
! wanted libfabric || suite gpu-libfabric

if wanted rates; then
    DINGO_RUN=$(mktemp -d /tmp/dingo-gpu-XXXXXX)
    export DINGO_RUN
    dingo=build/bin/dingo
    trap '"$dingo" card stop --all >/dev/null 2>&1 || true; rm -rf "$DINGO_RUN"' EXIT
    # rate NAME CARDS COMMAND...: runs COMMAND on CARDS and adds the table rows that it prints to
    # the rates.
    rate() {
        local name=$1 cards=$2 rc=0
        shift 2
        # shellcheck disable=SC2046
        timeout -s KILL 120 "$dingo" run $(printf -- '--card %s ' $cards) -- "$@" >"$logs/$name.out" 2>&1 || rc=$?
        grep '^|' "$logs/$name.out" >>"$logs/rates" || rc=1
        [ $rc = 0 ] && echo "PASS gpu:$name" || echo "FAIL gpu:$name: $(tail -n 1 "$logs/$name.out")"
    }
    {
        "$dingo" card start alpha --own-process >"$logs/cards.out" 2>&1 && "$dingo" card start beta --own-process >>"$logs/cards.out" 2>&1 ||
            echo "FAIL gpu:cards: $(tail -n 1 "$logs/cards.out")"
        rate 'rates of regions' alpha build/bin/gpu_regions rates
        # First, both ends use the first GPU's memory; then the client uses the second GPU's ($# > 0
        # is true only for the client, whose argument is the server's address). A row has
        # rdma-bench's average.
        gpus=(0)
        [ "$(nvidia-smi -L | wc -l)" -lt 2 ] || gpus+=('$(($# > 0))')
        for gpu in "${gpus[@]}"; do
            for test in 'write-bw -s 1M' 'write-bw -s 1M -b' 'write-bw -s 1M -b -q 4' 'write-bw -s 64K -q 8' 'send-bw -s 1M -q 2' 'read-bw -s 1M -q 4'; do
                rc=0 name="$test, two cards of two processes, $([ "$gpu" = 0 ] && echo 'one GPU' || echo 'two GPUs')"
                timeout -s KILL 60 "$dingo" pair gamma delta --own-process -- sh -c "exec build/bin/rdma-bench $test --mem cuda:$gpu -D 3 -F \"\$@\"" rate \
                    >"$logs/bench.out" 2>&1 || rc=$?
                awk -v name="$name" '$1 ~ /^[0-9]+$/ && NF >= 4 {rate = $4} END {if (rate == "") exit 1; printf "| %s | %.1f GB/s |\n", name, rate * 1.048576 / 1000}' \
                    "$logs/bench.out" >>"$logs/rates" || rc=1
                [ $rc = 0 ] && echo "PASS gpu:rates of $name" || echo "FAIL gpu:rates of $name: $(tail -n 1 "$logs/bench.out")"
            done
        done
        [ ! -x build/bin/gda_traffic_cuda ] || rate 'rates of gda' 'alpha beta' build/bin/gda_traffic_cuda rates 1024 8 2000
    } | tee -a "$logs/cases"
fi

count() { grep -c "^$1 " "$logs/cases" || true; }
{
    echo "# GPUs: what was run, $(date -u '+%F %R') UTC"
    echo
    echo "- Dingo $(git rev-parse --short HEAD 2>/dev/null || echo 'without git'), Linux $(uname -r), $(nproc) processors"
    echo "- $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | paste -sd ';' || echo 'no nvidia-smi')"
    echo "- $(nvcc --version 2>/dev/null | tail -n 2 | head -n 1 || echo 'no nvcc')"
    echo
    if grep -q '^|' "$logs/rates"; then printf '| what | measured |\n| --- | --- |\n'; grep '^|' "$logs/rates"; else echo 'No rates.'; fi
    echo
    sed 's/^/    /' "$logs/cases" | grep -E '^    (PASS|FAIL|SKIP) '
    echo
    echo "$(count PASS) passed, $(count FAIL) failed, $(count SKIP) skipped"
} >"$report"
cat "$report"
[ "$(count FAIL)" = 0 ]
