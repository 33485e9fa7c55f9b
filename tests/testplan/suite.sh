#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Checks that every promised behaviour has a test (check.py explains the lines). ctest knows only
# the tests of built programs, so these are built first, with the options of tests/unit.sh.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/lib/common.sh
. scripts/lib/build.sh
need_packages "${build_packages[@]}" "${test_packages[@]}"
mkdir -p build/test-logs
DINGO_CMAKE_OPTIONS=$rtl_engine_options build_preset release >build/test-logs/testplan-build.log 2>&1 || {
    tail -20 build/test-logs/testplan-build.log
    exit 1
}
exec tests/testplan/check.py
