#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs multi-threaded code under ThreadSanitizer: unit tests, then whole runs of rdma-bench. Prints
# a PASS, FAIL or SKIP line for each.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
rc=0
tests/unit.sh tsan || rc=1
tests/rdma-bench/threads.sh || rc=1
exit $rc
