#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Prints a Markdown table: the blocks, branches and bits of the RTL that the conformance suite and the packet scripts reach.
# usage: tests/hw/rtl/coverage.sh [GTEST-FILTER]    default: every test on the engine rtl, and every script
# KINDS="line toggle": blocks and branches, then bits. Each kind has its own build and run, because counting bits makes the
# simulation slow. A test that does not end within LIMIT=200 seconds adds no counts.
# Builds and counts stay in build/coverage; build/coverage/missed.txt lists the points that no test reaches.
set -euo pipefail
cd "$(dirname "$0")/../../.."
. scripts/lib/common.sh
. scripts/lib/build.sh
need_packages "${build_packages[@]}" libgtest-dev verilator
top=$PWD/build/coverage
export CCACHE_DIR=${CCACHE_DIR:-$DINGO_CACHE/ccache} CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
for kind in ${KINDS:-line toggle}; do
    build=$top/$kind
    cmake --preset release -B "$build" -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache \
        -DDINGO_PROVIDER=OFF $rtl_engine_options -DDINGO_RTL_COVERAGE="$kind" >&2
    cmake --build "$build" --target conformance wire_script >&2
    mkdir -p "$build/counts"
    rm -f "$build/counts"/*
    {
        "$build/bin/conformance" --gtest_list_tests --gtest_filter="${1:-*/rtl}" |
            awk '/^[^ ]/ { suite = $1 } /^ / { print "conformance --gtest_brief=1 --gtest_filter=" suite $1 }'
        [ $# -gt 0 ] || printf 'wire_script rtl %s\n' "$PWD"/tests/packet_scripts/scripts/*.pkt "$build"/tests/packet_scripts/generated/*.pkt
    } | DINGO_RTL_COVERAGE=$build/counts/c xargs -P "$(nproc)" -I{} \
        sh -c "timeout ${LIMIT:-200} '$build/bin/'{} >&2; case \$? in 0 | 77) ;; *) echo '# $kind: {} did not pass, or not in time' ;; esac"
done
tests/hw/rtl/coverage.py --missed "$top"/*/counts/c.* >"$top/missed.txt"
tests/hw/rtl/coverage.py "$top"/*/counts/c.*
