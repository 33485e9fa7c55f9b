#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
usage() {
    cat <<'USAGE'
Makes Dingo a provider of MORI, in a copy of a checkout, and tries it (docs/mori.md).

usage: scripts/mori.sh CHECKOUT [PART...]
CHECKOUT: of github.com/ROCm/mori; it stays as it is, the copy is build/mori/tree.
PART: run (MORI's host code, three of its examples and its shmem kernels on Dingo cards; threads of the processor are the GPU;
needs GCC and libspdlog-dev), amd (the same compiled for AMD's GPUs; nothing runs it); both unless named.
For amd: DINGO_HIP, where include/hip of ROCm 5.7 or later is, with include/hsa, hsakmt and rocm_smi (default /usr);
DINGO_HIP_CLANG, Clang 17 or later (default clang++). DINGO_GPUS: default "gfx90a gfx942".
Exit status 0 when no case failed, 1 when one did, 2 for wrong usage.
USAGE
}
case ${1:-} in
-h | --help) usage; exit 0 ;;
'') usage >&2; exit 2 ;;
esac
checkout=$(cd "$1" 2>/dev/null && pwd) && [ -e "$checkout/include/mori/shmem/shmem.hpp" ] || { echo "mori.sh: no checkout of MORI: $1" >&2; exit 2; }
shift
parts=" ${*:-run amd} "
for part in $parts; do
    case $part in run | amd) ;; *) usage >&2; exit 2 ;; esac
done
cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/build.sh
root=$PWD
at=$root/build/mori
rm -rf "$at"
mkdir -p "$at"/{tree,include/infiniband,logs,run/mori/{application,core/transport/{p2p,sdma},shmem},amd/mori/core/transport/p2p}
logs=$at/logs
failed=0
# try NAME COMMAND...: runs COMMAND as a test case; its output goes to a log in $logs.
try() {
    local name=$1 rc=0 log
    shift
    log=$logs/$(tr -c 'a-zA-Z0-9\n' _ <<<"$name").log
    timeout -s KILL 300 "$@" >"$log" 2>&1 || rc=$?
    if [ $rc = 0 ]; then
        echo "PASS mori:$name"
    else
        failed=1
        echo "FAIL mori:$name: $(grep -m 1 -E 'error|assert|undefined|wrong' "$log" || tail -n 1 "$log") ($log)"
    fi
    return $rc
}

tar -C "$checkout" --exclude=.git --exclude=build -cf - . | tar -C "$at/tree" -xf -
try 'its places are found' provider/gda/mori/hooks.py "$at/tree" || exit 1
build_preset release programs gda_cpu_hip >"$logs/build.log" 2>&1 || { tail -n 3 "$logs/build.log" >&2; exit 1; }
# Dingo's headers, laid out as if they were installed.
ln -s "$root"/provider/gda/dingo_gda*.h "$root/provider/dingodv.h" "$root/build/hw/contract/include/dingo_hw.h" "$at/include/infiniband/"
sources=(rdma.cpp providers/{dv_loader,mlx5/mlx5,bnxt/bnxt,ionic/ionic,ibverbs/ibverbs,ibverbs/ibv_shim,dingo/dingo}.cpp)
rdma=src/application/transport/rdma
examples='write_gpu write_inline_gpu atomic_gpu'

run_part() {
    # Adapts MORI's headers to GCC: peer to peer and SDMA, which need AMD's GPUs, are empty;
    # application.hpp has only what the examples use. GCC compiles host and device code in one pass,
    # so of two variants of a class's operators one is cut out; GCC 12 rejects static_assert(false)
    # even in a discarded branch.
    local in=$at/run example
    : >"$in/mori/core/transport/p2p/p2p.hpp"
    : >"$in/mori/core/transport/sdma/sdma.hpp"
    printf '#include "mori/application/%s.hpp"\n' transport/rdma/rdma utils/check >"$in/mori/application/application.hpp"
    sed 's/defined(__HIPCC__) || defined(__CUDACC__)/0/' "$at/tree/include/mori/application/application_device_types.hpp" \
        >"$in/mori/application/application_device_types.hpp"
    sed 's/static_assert(false)/static_assert(true)/' "$at/tree/include/mori/shmem/shmem_ibgda_kernels.hpp" >"$in/mori/shmem/shmem_ibgda_kernels.hpp"
    local fake=$root/build/tests/provider/gda/fake
    local flags=(-std=c++20 -O1 -g -w -include iostream -DSPDLOG_FMT_EXTERNAL -DMORI_DEVICE_NIC_DINGO -I"$root/tests/provider/gda/cpu_hip"
        -I"$in" -I"$at/include" -I"$at/tree/include" -I"$at/tree")
    local link=(-L"$fake" -l:libamdhip64.so.7 -lspdlog -lfmt -ldl -lpthread -Wl,-rpath,"$fake")
    local source objects=()
    for source in "${sources[@]}"; do
        objects+=("$in/$(basename "$source").o")
        try "$source compiles" g++ "${flags[@]}" -c "$at/tree/$rdma/$source" -o "${objects[-1]}" || return 0
    done
    export DINGO_RUN=$at/cards LD_LIBRARY_PATH=$root/build/lib
    mkdir -p "$DINGO_RUN"
    trap '"$root/build/bin/dingo" card stop --all >/dev/null 2>&1 || true' EXIT
    build/bin/dingo card start mori_a --own-process >"$logs/cards" 2>&1
    build/bin/dingo card start mori_b --own-process >>"$logs/cards" 2>&1
    build/bin/dingo card start lossy_a --own-process --faults drop=1%,duplicate=1%,reorder=1% >>"$logs/cards" 2>&1
    build/bin/dingo card start lossy_b --own-process --faults drop=1%,duplicate=1%,reorder=1% >>"$logs/cards" 2>&1
    for example in $examples; do
        sed -E 's/(\w+)<<<([^,]+), *1>>>\((.*)\);/cpu_hip_launch(\2, [\&] { \1(\3); });/' "$at/tree/examples/local_rdma_ops/$example.cpp" >"$in/$example.cpp"
        try "example $example is built" g++ "${flags[@]}" -D__HIPCC__ "$in/$example.cpp" "${objects[@]}" "${link[@]}" -o "$in/$example" &&
            try "example $example runs" build/bin/dingo run --card mori_a -- "$in/$example" || true
    done
    try 'shmem kernels are built' g++ "${flags[@]}" -D__HIPCC__ tests/provider/gda/mori/shmem_threads.cpp "${objects[@]}" "${link[@]}" -o "$in/shmem_threads" || return 0
    try 'shmem: 16 threads on one QP' build/bin/dingo run --card mori_a --card mori_b -- "$in/shmem_threads" 16 1 100 || true
    try 'shmem: 64 threads on 8 QPs' build/bin/dingo run --card mori_a --card mori_b -- "$in/shmem_threads" 64 8 20 || true
    try 'shmem: 16 threads on 4 QPs, 1 % loss' build/bin/dingo run --card lossy_a --card lossy_b -- "$in/shmem_threads" 16 4 50 || true
}

amd_part() {
    local hip=${DINGO_HIP:-/usr} clang=${DINGO_HIP_CLANG:-clang++} gpu example
    local -a copies=() headers=() host=(g++ -std=c++20 -w -D__HIP_PLATFORM_AMD__ -DSPDLOG_FMT_EXTERNAL -fsyntax-only)
    [ "$hip" = /usr ] || headers=(-isystem "$hip/include")
    if [ ! -e "$hip/include/hip/hip_ext_ocp.h" ]; then
        : >"$at/amd/mori/core/transport/p2p/p2p.hpp"
        copies=(-I"$at/amd")
        echo "NOTE mori: HIP in $hip is older than ROCm 7: MORI's peer to peer copies need that and are left out"
    fi
    # compiles NAME PLAIN FILE COMPILER...: case: FILE of the patched copy compiles. Skipped if
    # unpatched MORI does not compile PLAIN either: that is no fault of Dingo.
    compiles() {
        local name=$1 plain=$2 file=$3 why
        shift 3
        if ! "$@" "${copies[@]}" -I"$checkout/include" -I"$checkout" "${headers[@]}" "$plain" >"$logs/plain" 2>&1; then
            why=$(grep -m 1 error "$logs/plain" || tail -n 1 "$logs/plain")
            echo "SKIP mori:$name: not even MORI as it is: $why"
            return 0
        fi
        try "$name" "$@" -DMORI_DEVICE_NIC_DINGO "${copies[@]}" -I"$at/include" -I"$at/tree/include" -I"$at/tree" "${headers[@]}" "$file" || true
    }
    compiles 'amd: host: rdma.cpp compiles' "$checkout/$rdma/rdma.cpp" "$at/tree/$rdma/rdma.cpp" "${host[@]}"
    compiles 'amd: host: dingo.cpp compiles' "$checkout/$rdma/providers/ionic/ionic.cpp" "$at/tree/$rdma/providers/dingo/dingo.cpp" "${host[@]}"
    for gpu in ${DINGO_GPUS:-gfx90a gfx942}; do
        local -a device=("$clang" -x hip --offload-arch="$gpu" --cuda-device-only --rocm-path="$hip" -nogpulib -std=c++17 -O2 -w -S -o /dev/null)
        local kernel=$root/tests/provider/gda/mori/kernel_amd.hip.cpp
        compiles "amd: $gpu: shmem kernels compile" "$kernel" "$kernel" "${device[@]}"
        for example in $examples; do
            compiles "amd: $gpu: example $example compiles" "$checkout/examples/local_rdma_ops/$example.cpp" \
                "$at/tree/examples/local_rdma_ops/$example.cpp" "${device[@]}"
        done
    done
}

[[ $parts != *' run '* ]] || run_part
[[ $parts != *' amd '* ]] || amd_part
exit $failed
