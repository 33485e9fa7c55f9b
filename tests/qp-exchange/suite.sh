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
suite=exchange
logs=$PWD/build/test-logs/exchange
rm -rf "$logs"
mkdir -p "$logs"
need_packages "${build_packages[@]}" "${native_packages[@]}" "${exchange_packages[@]}"
build_preset release "${native_targets[@]}" "${exchange_targets[@]}" >"$logs/build.log" 2>&1 || { tail -20 "$logs/build.log"; exit 1; }
dingo=$PWD/build/bin/dingo
as_user=''
DINGO_RUN=$(mktemp -d /tmp/dingo-exchange-XXXXXX)
export DINGO_RUN
. tests/native/lib.sh
trap stop_cards EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
wanted=("$@")
[ ${#wanted[@]} -gt 0 ] || for file in tests/qp-exchange/cases/*.sh; do wanted+=("$(basename "$file" .sh)"); done
for name in "${wanted[@]}"; do
    [ -r "tests/qp-exchange/cases/$name.sh" ] || { usage >&2; die "no cases '$name'"; }
    # shellcheck source=/dev/null
    . "tests/qp-exchange/cases/$name.sh"
done
[ "$failed" = 0 ]
