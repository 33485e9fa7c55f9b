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

# A vm.sh that starts nothing. Its file "started" has a line for each session that it would start.
mkdir -p "$work/vm/scripts"
ln -s "$PWD/scripts/lib" "$work/vm/scripts/lib"
cat >"$work/vm/stubs" <<'END'
prepare() {
    echo >>"$stubs/prepared"
    for _ in $(seq 100); do [ ! -e "$stubs/go" ] || return 0; sleep 0.05; done
}
start_session() {
    own_session=1
    mkdir -p "$session"
    record_pid "$session/supervisor.pid" "$keeper"
    echo >>"$stubs/started"
}
wait_ready() { :; }
end_session() { rm -rf "$session"; }
END
sed 's|^main "$@"; exit|. "$stubs/stubs"; &|' scripts/vm.sh >"$work/vm/scripts/vm.sh"
chmod +x "$work/vm/scripts/vm.sh"
# starts ARGUMENTS...: prints that vm.sh's status.
starts() (
    rc=0
    stubs=$work/vm keeper=$$ DINGO_VM_DIR=$work/own "$work/vm/scripts/vm.sh" "$@" >/dev/null 2>&1 || rc=$?
    echo $rc
)
starts up --name t >"$work/first" &
first=$!
for _ in $(seq 600); do [ ! -e "$work/vm/prepared" ] || break; sleep 0.05; done
second=$(starts up --name t)
touch "$work/vm/go"
wait $first
check 'vm: of two that start one session, the second is refused' '0 125 1' "$(cat "$work/first") $second $(wc -l <"$work/vm/started")"
check 'vm: a session that runs is neither started nor ended by another' '125 yes' \
    "$(starts --name t -- true -- true) $([ -e "$work/own/t" ] && echo yes)"
check 'vm: no session is named like the locks, or a directory above' '125 125 1' \
    "$(starts up --name slots) $(starts up --name ..) $(wc -l <"$work/vm/started")"
