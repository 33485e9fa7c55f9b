#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Builds one preset and runs its ctest tests: one PASS, FAIL or SKIP line for each.
# usage: tests/unit.sh release|asan|tsan|thorough
# thorough: the release build's conformance suite of the simulated card, with three times as many
# random rounds.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/build.sh
name=$1
preset=$1
[ "$name" != thorough ] || preset=release

# Only these have threads; all else is single-threaded by construction. Without tests of hostile
# clients, which take long and run in the other builds.
targets=()
[ "$preset" != tsan ] || targets=(base_test doorbell_scanner_test card_test uverbs_test rdma_cm_test wire_test test_qpx_net test_qpx_peer test_qpx_group rdma_bench_run_test)
# Tests need both engines; the default build for users has no engine rtl, so that they need not wait
# for Verilator.
[ "$preset" != release ] || export DINGO_CMAKE_OPTIONS=$rtl_engine_options
build_preset "$preset" "${targets[@]}"
results=build/test-logs/ctest-$name.xml
mkdir -p build/test-logs
rm -f "$results"
select=()
[ "$name" != thorough ] || { export DINGO_THOROUGH=1; select=(-R '^Conformance/.*/rtl'); }
[ "$preset" != tsan ] || select=(-R "$(IFS='|'; echo "^(${targets[*]})\\.|^base\\.|^card\\.|^wire\\.|^qpx\\.(net|peer|group)\\.|^bench\\.run\\.")" -E 'NOT_BUILT|^card\.tool|^wire\.model\.|UverbsHostile|UcmaHostile')
if [ "$preset" = asan ]; then
    # With -E alone, ctest would number the tests differently than with --rerun-failed, and run
    # others again.
    select=(-R . -E TooManyWindows)
    echo "SKIP asan:TooManyWindows: 4,096 mappings of guest memory were not tried under AddressSanitizer; the release run has it"
fi
rc=0
ctest --preset "$preset" -j "$(nproc)" --timeout 600 "${select[@]}" --output-junit "$PWD/$results" || rc=$?
[ -s "$results" ] || { echo "FAIL $name: ctest ended with status $rc and no results"; exit 1; }
# Tests run in parallel on a busy machine: failed ones run once more, alone, and the first failure
# is shown.
again=${results%.xml}-again.xml
rm -f "$again"
[ $rc = 0 ] || ctest --preset "$preset" -j 1 --timeout 600 --rerun-failed --output-junit "$PWD/$again" || true
python3 tests/unit_report.py "$results" "$again" "$name"
