#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# How good are the tests? Makes single small errors in one part of the sources, one at a time, and runs that part's tests:
# what no test sees is a hole. The sources are as before at the end; a run that was killed is mended by the next one.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/build.sh
usage() {
    cat <<'USAGE'
usage: scripts/mutate.sh PART [COUNT [SEED [SECONDS]]]
  PART     model packet provider driver uverbs qpx
  COUNT    mutants that compile (25); SEED chooses which (1); no mutant is begun after SECONDS (0: no limit)
One line a mutant (killed, survived, invalid), then the score. A survivor may be equivalent: read it. docs/mutation.md has results.
USAGE
}
[ $# -ge 1 ] && [ "$1" != --help ] || { usage; exit $(($# == 0 ? 2 : 0)); }

build=build/mutate
bin=$build/bin
skip='' limit=180 paths=() tests=()
gtest() { tests+=(--test "$bin/$1 --gtest_brief=1 --gtest_fail_fast ${2:-}"); }
case $1 in
model)
    paths=(hw/model/src) targets='model_test test_transport conformance wire_script'
    gtest test_transport
    gtest model_test
    tests+=(--test "ctest --test-dir $build -R ^wire[.]model[.] --stop-on-failure -Q")
    # These two compare long runs of the model with itself.
    gtest conformance --gtest_filter=-*Equality*:*LongestMessage*
    ;;
packet)
    paths=(hw/packet) targets='test_packet wire_script' skip='text'
    gtest test_packet
    tests+=(--test "ctest --test-dir $build -R ^wire[.]model[.] --stop-on-failure -Q")
    ;;
provider)
    # The data path. What talks to the kernel needs a card: tests/native.
    paths=(provider/{send,send_ex,recv,cq,cq_poll,cq_poll_ex}.c provider/{wqe,completion,doorbell,ring}.h)
    targets='provider_send_test provider_data_path_test'
    tests+=(--test "ctest --test-dir $build -R ^provider[.] --stop-on-failure -Q")
    ;;
driver)
    paths=(hw/card/uverbs/driver) targets='uverbs_driver_test'
    gtest uverbs_driver_test
    ;;
uverbs)
    paths=(hw/card/uverbs) targets='uverbs_test uverbs_sysfs_test' skip='/driver/|/preload/'
    gtest uverbs_test
    gtest uverbs_sysfs_test
    ;;
qpx)
    paths=(qp-exchange/src/wire qp-exchange/src/peer) targets='test_qpx_wire test_qpx_peer'
    gtest test_qpx_wire
    gtest test_qpx_peer
    ;;
*)
    usage >&2
    exit 2
    ;;
esac

export CCACHE_DIR=${CCACHE_DIR:-$DINGO_CACHE/ccache} CCACHE_BASEDIR=$dingo_root CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
mkdir -p "$build"
# Compiling is most of a mutant's time. A mutant may well leave something unused: that is no error here.
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Mutants -DCMAKE_C_FLAGS='-O1 -w' -DCMAKE_CXX_FLAGS='-O1 -w' -DDINGO_RTL=OFF \
    -DDINGO_UNITY=OFF -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache >"$build/configure.log"
exec python3 scripts/lib/mutate.py --build "$build" --target "$targets" --count "${2:-25}" --seed "${3:-1}" --until "${4:-0}" \
    --limit "$limit" --skip "$skip" "${tests[@]}" "${paths[@]}"
