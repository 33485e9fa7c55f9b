# SPDX-License-Identifier: BSD-2-Clause
# Runs programs that attack cards. Sourced by cases.

# program NAME COMMAND: runs COMMAND; its lines "PASS what: ..." and "FAIL what: why" become cases.
program() {
    local name=$1 out rc=0 verdict what rest
    shift
    out=$logs/$(slug "$name").out
    timeout -k 5 900 "$@" >"$out" 2>&1 || rc=$?
    while IFS=' ' read -r verdict what rest; do
        case $verdict in
        PASS) pass "$name ${what%:}" ;;
        FAIL) fail "$name ${what%:}" "$rest" ;;
        esac
    done <"$out"
    grep -qE '^(PASS|FAIL) ' "$out" || fail "$name" "status $rc: $(why "$out")"
}
