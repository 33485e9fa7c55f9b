# SPDX-License-Identifier: BSD-2-Clause
# Cases of kernel-less cards. Each prints one line: PASS name, FAIL name: why, SKIP name: why.
# Sourced by the suites on them after common.sh and build.sh.

failed=0
limit=60
server_card=alpha client_card=beta
server_address=127.0.0.1
cleanups=()

# begin_suite NAME LOGS [PACKAGE...] -- [TARGET...]: installs and builds; sets $suite, $logs (build/test-logs/LOGS), $dingo, and
# $as_user, the words before a command of an ordinary user. Cards are this suite's own and end with it.
begin_suite() {
    local packages=()
    suite=$1 logs=$dingo_root/build/test-logs/$2
    DINGO_RUN=$(mktemp -d "/tmp/dingo-${2%%-*}-XXXXXX")
    export DINGO_RUN
    shift 2
    while [ "$1" != -- ]; do
        packages+=("$1")
        shift
    done
    shift
    need_own_build "$dingo_root/build"
    rm -rf "$logs"
    mkdir -p "$logs"
    dingo=$dingo_root/build/bin/dingo
    as_user=''
    trap stop_cards EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    need_packages "${packages[@]}"
    [ $# = 0 ] || build_preset release "$@" >"$logs/build.log" 2>&1 || {
        tail -20 "$logs/build.log"
        exit 1
    }
}

# run_cases DIRECTORY [NAME...]: the files of cases there, all unless named. Status 0 when no case failed.
run_cases() {
    local directory=$1 name
    shift
    [ $# -gt 0 ] || set -- "$directory"/*.sh
    for name in "$@"; do
        name=$(basename "$name" .sh)
        [ -r "$directory/$name.sh" ] || {
            usage >&2
            die "no cases '$name'"
        }
        # shellcheck source=/dev/null
        . "$directory/$name.sh"
    done
    [ "$failed" = 0 ]
}

pass() { echo "PASS $suite:$1"; }
skip() { echo "SKIP $suite:$1: $2"; }
fail() {
    echo "FAIL $suite:$1: $2"
    failed=$((failed + 1))
}
slug() { tr -c 'A-Za-z0-9._\n-' '_' <<<"$1"; }
# why FILE...: the last lines that say something; nothing is fine, too, where `set -e` looks at an assignment.
why() { { grep -hvE '^ *$|^-+$' "$@" 2>/dev/null || true; } | tail -n 3 | tr '\n\t' '  ' | cut -c1-300; }

# on CARD COMMAND: a shell command that sees the card, or several ("alpha beta"; tests/e2e/native/bin has `gid`).
on() { # shellcheck disable=SC2086  # the prefixes and the cards are words
    $as_user timeout -k 5 "$limit" "$dingo" run $(printf -- '--card %s ' $1) -- bash -c "PATH=$dingo_root/tests/e2e/native/bin:\$PATH; $2"
}

# single NAME CARD COMMAND [REGEX]: a command that must succeed and print a line like REGEX.
single() {
    local name=$1 out rc=0
    out=$logs/$(slug "$name").out
    on "$2" "$3" >"$out" 2>&1 || rc=$?
    if [ $rc != 0 ]; then
        fail "$name" "status $rc: $(why "$out")"
    elif [ -n "${4:-}" ] && ! grep -qE "$4" "$out"; then
        fail "$name" "no line like /$4/: $(why "$out")"
    else
        pass "$name"
    fi
}

# plain NAME COMMAND [REGEX [STATUS]]: a command of this host.
plain() {
    local name=$1 out rc=0
    out=$logs/$(slug "$name").out
    # shellcheck disable=SC2086
    $as_user timeout -k 5 "$limit" bash -c "$2" >"$out" 2>&1 || rc=$?
    if [ $rc != "${4:-0}" ]; then
        fail "$name" "status $rc: $(why "$out")"
    elif [ -n "${3:-}" ] && ! grep -qE "$3" "$out"; then
        fail "$name" "no line like /$3/: $(why "$out")"
    else
        pass "$name"
    fi
}

# sent CARD: bytes that it has sent on its wire.
sent() { "$dingo" --json stats "$1" | /usr/bin/python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["wire"]["tx_bytes"])'; }

# wait_listen PORT PID: until the port has a listener, or the process is gone. A busy machine may take its time.
wait_listen() { wait_socket listening "$@"; }
# wait_connected PORT PID: the same, until somebody is connected to it.
wait_connected() { wait_socket established "$@"; }
wait_socket() {
    local _
    for _ in $(seq 600); do
        ! ss -Htn state "$1" "sport = :$2" | grep -q . || return 0
        kill -0 "$3" 2>/dev/null || return 1
        sleep 0.05
    done
    return 1
}
# until_line FILE TEXT [PID]: it is written within 30 s, before the process ends.
until_line() {
    local _
    for _ in $(seq 600); do
        ! grep -q "$2" "$1" 2>/dev/null || return 0
        [ -z "${3:-}" ] || kill -0 "$3" 2>/dev/null || break
        sleep 0.05
    done
    grep -q "$2" "$1" 2>/dev/null
}
# until_gone PID: the process ends within 30 s.
until_gone() {
    local _
    for _ in $(seq 600); do
        kill -0 "$1" 2>/dev/null || return 0
        sleep 0.05
    done
    return 1
}

# pair NAME SERVER CLIENT [REGEX [PORT]]: the server with $server_card, the client with $client_card; A in CLIENT
# stands for the server's address.
pair() {
    local name=$1 dir rc_a=0 rc_b=0 pid
    dir=$logs/$(slug "$name")
    on "$server_card" "$2" >"$dir.A" 2>&1 &
    pid=$!
    wait_listen "${5:-18515}" $pid || true
    on "$client_card" "${3// A/ $server_address}" >"$dir.B" 2>&1 || rc_b=$?
    wait $pid || rc_a=$?
    if [ -n "${lossy:-}" ] && { [ $rc_a = 0 ] && lost_last_ack "$dir.A" "$dir.B" "$4" || [ $rc_b = 0 ] && lost_last_ack "$dir.B" "$dir.A" "$4"; }; then
        pass "$name"
    elif [ "$rc_a $rc_b" != '0 0' ]; then
        fail "$name" "status A $rc_a B $rc_b: $(why "$dir.A") | $(why "$dir.B")"
    elif [ -n "${4:-}" ] && ! grep -qE "$4" "$dir.B"; then
        fail "$name" "the client printed no line like /$4/: $(why "$dir.B")"
    else
        pass "$name"
    fi
}
# lossy_pair NAME SERVER CLIENT REGEX: programs that do not wait for each other at their end, on a wire that loses
# frames. A program leaves when it has all messages and ACKs; if its own last ACK was lost, the other side's retries
# find nobody, as on every device.
lossy_pair() { local lossy=yes && pair "$@"; }
# lost_last_ack FINISHED OTHER REGEX: the one printed its result, the other one only missed an ACK.
lost_last_ack() { grep -qE "$3" "$1" && grep -q 'transport retry counter exceeded' "$2"; }

# perftest TOOL [OPTIONS]: a perftest pair with the same options on both sides.
perftest() {
    local tool=$1 options=${2:-}
    pair "$prefix$tool${options:+ $options}" "$tool -F $options" "$tool -F $options A" '^ +[0-9]+ +[0-9]+ +[0-9.]+'
}
cm_perftest() { :; } # the suite `cm` has them: they wait for a listener in another way
prefix=''

start_card() {
    # shellcheck disable=SC2086
    $as_user "$dingo" card start "$@" >>"$logs/cards.log" 2>&1 || {
        fail "card start $*" "$(tail -n 3 "$logs/cards.log" | tr '\n' ' ')"
        exit 1
    }
}
# card_pid NAME: the process that serves it.
card_pid() { "$dingo" --json card show "$1" | /usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["pid"])'; }
stop_cards() {
    local c
    # shellcheck disable=SC2086
    [ ! -x "$dingo" ] || $as_user "$dingo" card stop --all >>"$logs/cards.log" 2>&1 || true
    for c in "${cleanups[@]}"; do eval "$c"; done
    rm -rf "$DINGO_RUN"
}
