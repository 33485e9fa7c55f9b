#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
usage() {
    cat <<'USAGE'
Runs what needs a real NVIDIA GPU, on a machine that has one: builds, tests, measures, and writes a report.

usage: scripts/gpu.sh [REPORT]
REPORT: the file, default build/gpu-report.md. What it needs: NVIDIA's driver, and what a build of Dingo needs; on a machine without a
network `scripts/bare.py unpack` brings that, then say DINGO_PACKAGES=installed. With nvcc, tests/gpu/*.cu are built and run as well.
Exit status 0 when no case failed, 1 when one did, 77 without a GPU.
USAGE
}
case ${1:-} in -h | --help) usage; exit 0 ;; esac
cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/build.sh
report=${1:-build/gpu-report.md}
compgen -G '/dev/nvidia[0-9]*' >/dev/null || {
    echo "gpu.sh: this machine has no NVIDIA GPU (no /dev/nvidia0): what needs none is in scripts/test.sh native-gpu" >&2
    exit 77
}
logs=$PWD/build/test-logs/gpu
mkdir -p "$logs"
: >"$logs/cases"

# The cases of the suite, by NVIDIA's driver, and what CUDA has pinned.
DINGO_REAL_GPU=1 tests/e2e/native/suite.sh gpu 2>&1 | tee -a "$logs/cases" || true
build_preset release preload_test >"$logs/build.log" 2>&1 || echo "FAIL gpu:build of preload_test: $(tail -n 1 "$logs/build.log")" | tee -a "$logs/cases"
rc=0
tests/gpu/pinned_pages.sh >"$logs/pinned.out" 2>&1 || rc=$?
case $rc in
0) echo 'PASS gpu:pages that CUDA has pinned stay' ;;
77) echo 'SKIP gpu:pages that CUDA has pinned stay: the driver finds no GPU' ;;
*) echo "FAIL gpu:pages that CUDA has pinned stay: $(tail -n 1 "$logs/pinned.out")" ;;
esac | tee -a "$logs/cases"

for source in tests/gpu/*.cu; do
    [ -e "$source" ] || continue
    name=$(basename "$source" .cu)
    if ! command -v nvcc >/dev/null; then
        echo "SKIP gpu:$name.cu: no nvcc here"
    elif nvcc -O2 -o "$logs/$name" "$source" >"$logs/$name.out" 2>&1 && timeout -s KILL 120 "$logs/$name" >>"$logs/$name.out" 2>&1; then
        echo "PASS gpu:$name.cu"
    else
        echo "FAIL gpu:$name.cu: $(tail -n 1 "$logs/$name.out")"
    fi | tee -a "$logs/cases"
done

DINGO_RUN=$(mktemp -d /tmp/dingo-gpu-XXXXXX)
export DINGO_RUN
dingo=build/bin/dingo
trap '"$dingo" card stop --all >/dev/null 2>&1 || true; rm -rf "$DINGO_RUN"' EXIT
rc=0
"$dingo" card start alpha --own-process >"$logs/rates.out" 2>&1 &&
    timeout -s KILL 300 "$dingo" run --card alpha -- build/bin/gpu_regions rates >"$logs/rates" 2>>"$logs/rates.out" || rc=$?
[ $rc = 0 ] && echo 'PASS gpu:rates' >>"$logs/cases" || echo "FAIL gpu:rates: $(tail -n 1 "$logs/rates.out")" | tee -a "$logs/cases"

count() { grep -c "^$1 " "$logs/cases" || true; }
{
    echo "# GPUs: what was run, $(date -u '+%F %R') UTC"
    echo
    echo "- Dingo $(git rev-parse --short HEAD 2>/dev/null || echo 'without git'), Linux $(uname -r), $(nproc) processors"
    echo "- $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | paste -sd ';' || echo 'no nvidia-smi')"
    echo "- $(nvcc --version 2>/dev/null | tail -n 2 | head -n 1 || echo 'no nvcc')"
    echo
    grep '^|' "$logs/rates" 2>/dev/null || echo 'No rates.'
    echo
    sed 's/^/    /' "$logs/cases" | grep -E '^    (PASS|FAIL|SKIP) '
    echo
    echo "$(count PASS) passed, $(count FAIL) failed, $(count SKIP) skipped"
} >"$report"
cat "$report"
[ "$(count FAIL)" = 0 ]
