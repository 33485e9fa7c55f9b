#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
usage() {
    cat <<'USAGE'
qp-exchange with processes, kernel-less cards, network namespaces and whatever else a unit test has not: one PASS, FAIL or
SKIP line a case.

usage: tests/qp-exchange/suite.sh [CASES...]
CASES are the files of tests/qp-exchange/cases without .sh; without any, all run. Outputs: build/test-logs/exchange/.
Exit status 0 when no case failed.
USAGE
}
case ${1:-} in -h | --help) usage; exit 0 ;; esac
cd "$(dirname "$0")/../.."
. scripts/lib/common.sh
. scripts/lib/build.sh
. tests/e2e/native/lib.sh
begin_suite exchange exchange "${build_packages[@]}" "${native_packages[@]}" "${exchange_packages[@]}" -- "${native_targets[@]}" "${exchange_targets[@]}"
run_cases tests/qp-exchange/cases "$@"
