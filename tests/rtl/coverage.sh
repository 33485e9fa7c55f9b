#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Which blocks, branches and bits of the SystemVerilog card the conformance suite reaches: a Markdown table.
# usage: tests/rtl/coverage.sh [GTEST-FILTER]    default: every test on the engine rtl
# The counters make the simulation slow: a test gets LIMIT=100 seconds, and what it reached counts only when it ended.
# Build and counts are kept in build/coverage; the points that nothing reaches: build/coverage/missed.txt.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/lib/common.sh
. scripts/lib/build.sh
need_packages "${build_packages[@]}" libgtest-dev verilator
build=$PWD/build/coverage
export CCACHE_DIR=${CCACHE_DIR:-$DINGO_CACHE/ccache} CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
cmake --preset release -B "$build" -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache \
    -DDINGO_PROVIDER=OFF -DDINGO_RTL_ENGINE=ON -DDINGO_RTL_COVERAGE=ON >&2
cmake --build "$build" --target conformance >&2
mkdir -p "$build/counts"
rm -f "$build/counts"/*
"$build/bin/conformance" --gtest_list_tests --gtest_filter="${1:-*/rtl}" |
    awk '/^[^ ]/ { suite = $1 } /^ / { print suite $1 }' |
    DINGO_RTL_COVERAGE=$build/counts/c xargs -P "$(nproc)" -I{} \
        sh -c "timeout ${LIMIT:-100} '$build/bin/conformance' --gtest_brief=1 --gtest_filter={} >&2 || echo '# {} did not pass, or not in time'"
tests/rtl/coverage.py --missed "$build/counts"/c.* >"$build/missed.txt"
tests/rtl/coverage.py "$build/counts"/c.*
