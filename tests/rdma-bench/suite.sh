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
suite=bench
logs=$PWD/build/test-logs/bench
rm -rf "$logs"
mkdir -p "$logs"
need_packages "${build_packages[@]}" "${native_packages[@]}" procps python3
build_preset release "${native_targets[@]}" rdma-bench >"$logs/build.log" 2>&1 || { tail -20 "$logs/build.log"; exit 1; }
dingo=$PWD/build/bin/dingo
bench=$PWD/build/bin/rdma-bench
# Not perftest's: somebody may measure on this machine.
port=18615
# bench_pair NAME REGEX ARGUMENTS...: server and client with these arguments, one string each (the client's, when it has others).
bench_pair() {
    pair "$1" "$bench $3 -F -p $port" "$bench ${4:-$3} -F -p $port A" "$2" $port
}
as_user=''
DINGO_RUN=$(mktemp -d /tmp/dingo-bench-XXXXXX)
export DINGO_RUN
. tests/native/lib.sh
trap stop_cards EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
start_card alpha
start_card beta
wanted=("$@")
[ ${#wanted[@]} -gt 0 ] || for file in tests/rdma-bench/cases/*.sh; do wanted+=("$(basename "$file" .sh)"); done
for name in "${wanted[@]}"; do
    [ -r "tests/rdma-bench/cases/$name.sh" ] || { usage >&2; die "no cases '$name'"; }
    # shellcheck source=/dev/null
    . "tests/rdma-bench/cases/$name.sh"
done
[ "$failed" = 0 ]
