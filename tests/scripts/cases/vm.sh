# SPDX-License-Identifier: BSD-2-Clause
# scripts/vm.sh: whose sessions it reads, and which it may start. Sourced by suite.sh.
# sourced DIRECTORY COMMAND...: prints vm.sh's status with sessions in DIRECTORY, and "sourced" if it
# has read the session x there.
sourced() (
    rm -f "$work/marker"
    dir=$1 rc=0
    shift
    DINGO_VM_DIR=$dir scripts/vm.sh "$@" >/dev/null 2>&1 || rc=$?
    echo "$rc$([ ! -e "$work/marker" ] || echo ' sourced')"
)
mkdir -p "$work/sessions/x"
echo "touch '$work/marker'" >"$work/sessions/x/conf"
echo ended >"$work/sessions/x/state"
check 'vm: its own sessions are listed' '0 sourced' "$(sourced "$work/sessions" list)"
ln -s sessions "$work/link"
check 'vm: a link to sessions is refused' 125 "$(sourced "$work/link/" list)"
if [ "$(id -u)" = 0 ]; then
    chown -R nobody "$work/sessions"
    for command in list 'exec --name x A true' 'run --name x -- true -- true' 'down --all'; do
        # shellcheck disable=SC2086  # words
        check "vm: $command with another user's sessions" 125 "$(sourced "$work/sessions" $command)"
    done
    check "vm: another user's sessions stay" yes "$([ -e "$work/sessions/x/conf" ] && echo yes)"
else
    echo "SKIP scripts:vm: another user's sessions: needs root"
fi
