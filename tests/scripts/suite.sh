#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
usage() {
    cat <<'USAGE'
What the scripts share (scripts/lib), without building or downloading anything: one PASS or FAIL line a case.

usage: tests/scripts/suite.sh [CASES...]
CASES are the files of tests/scripts/cases without .sh; without any, all run. Exit status 0 when no case failed.
USAGE
}
case ${1:-} in -h | --help) usage; exit 0 ;; esac
cd "$(dirname "$0")/../.."
. scripts/lib/common.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
DINGO_CACHE=$work/cache
DINGO_QUIET=1
failed=0

pass() { echo "PASS scripts:$1"; }
fail() {
    echo "FAIL scripts:$1: $2"
    failed=$((failed + 1))
}
# check NAME EXPECTED GOT: case: GOT equals EXPECTED.
check() { if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "expected '$2', got '$3'"; fi; }

[ $# -gt 0 ] || set -- tests/scripts/cases/*.sh
for name in "$@"; do
    name=$(basename "$name" .sh)
    [ -r "tests/scripts/cases/$name.sh" ] || die "no cases '$name'"
    # shellcheck source=/dev/null
    . "tests/scripts/cases/$name.sh"
done
[ "$failed" = 0 ]
