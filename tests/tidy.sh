#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# clang-tidy (.clang-tidy): a separate suite, as it takes minutes without stored verdicts
# (tests/tidy.py).
set -uo pipefail
cd "$(dirname "$0")/.."
log=build/test-logs/tidy-configure.log
mkdir -p "${log%/*}"
# clang-tidy needs the flags of a configured tree and the contract's generated header; nothing is
# compiled.
if ! { cmake -S . -B build/tidy -G Ninja -DCMAKE_BUILD_TYPE=Release -DDINGO_PROVIDER=OFF -DDINGO_RTL=OFF && cmake --build build/tidy --target dingo_contract_files; } >"$log" 2>&1; then
    echo "FAIL tidy:clang-tidy can be run: $(tail -n 3 "$log" | tr '\n' ' ')"
    exit 1
fi
name='tidy:clang-tidy finds nothing in hw (but the Verilated engine), qp-exchange, rdma-bench, tests/support and tests/conformance'
findings=$(tests/tidy.py build/tidy 2>&1) || findings+=" tests/tidy.py ended with status $?"
if [ -z "$findings" ]; then
    echo "PASS $name"
else
    echo "$findings"
    echo "FAIL $name: $(tr '\n' ' ' <<<"$findings" | cut -c1-400)"
    exit 1
fi
