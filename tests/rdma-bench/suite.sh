#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
usage() {
    cat <<'USAGE'
rdma-bench as users start it, on kernel-less cards: one PASS, FAIL or SKIP line a case.

usage: tests/rdma-bench/suite.sh [CASES...]
CASES are the files of tests/rdma-bench/cases without .sh; without any, all run. Outputs: build/test-logs/bench/.
Exit status 0 when no case failed.
USAGE
}
case ${1:-} in -h | --help) usage; exit 0 ;; esac
cd "$(dirname "$0")/../.."
. scripts/lib/common.sh
. scripts/lib/build.sh
. tests/e2e/native/lib.sh
# Through the cards; the suite native-direct runs rdma-bench on the direct road.
export DINGO_DIRECT=0
begin_suite bench bench "${build_packages[@]}" "${native_packages[@]}" procps python3 -- "${native_targets[@]}" rdma-bench coyote8
bench=$PWD/build/bin/rdma-bench
# shellcheck disable=SC2034  # used by the cases
coyote8=$PWD/build/bin/coyote8
port=18615
. tests/rdma-bench/lib.sh
run_cases tests/rdma-bench/cases "$@"
