# SPDX-License-Identifier: BSD-2-Clause
# Runs cases on kernel-less cards. Each prints one line: PASS name, FAIL name: why, SKIP name: why.
# Sourced by the suites after common.sh and build.sh.

failed=0
limit=60
server_card=alpha client_card=beta
server_address=127.0.0.1
cleanups=()

# begin_suite NAME LOGS [PACKAGE...] -- [TARGET...]: installs packages and builds targets; sets
# $suite, $logs (build/test-logs/LOGS), $dingo, and $as_user, the prefix of commands (empty; cases
# may set it to run as an ordinary user). The suite has its own run directory; its cards end with
# it.
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

# run_cases DIRECTORY [NAME...]: runs the named files of cases in DIRECTORY, by default all.
# Succeeds if no case failed.
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
# why FILE...: prints the last three lines that are neither blank nor rules. Succeeds without such
# lines, too, so that `set -e` does not end assignments of its output.
why() { { grep -hvE '^ *$|^-+$' "$@" 2>/dev/null || true; } | tail -n 3 | tr '\n\t' '  ' | cut -c1-300; }

# on CARD COMMAND: runs a shell command on CARD, or on several ("alpha beta"); `gid` of
# tests/e2e/native/bin is in its PATH.
on() { # shellcheck disable=SC2086  # the prefixes and the cards are words
    $as_user timeout -k 5 "$limit" "$dingo" run $(printf -- '--card %s ' $1) -- bash -c "PATH=$dingo_root/tests/e2e/native/bin:\$PATH; $2"
}

# program_below PID: prints the process of perftest, rdma-bench or verbs_load below PID. (The card's
# list of clients does not tell which is which: the peer is a client of both cards.)
program_below() {
    local pid
    for pid in $(pgrep -P "$1"); do
        case $(cat "/proc/$pid/comm" 2>/dev/null) in ib_* | rdma-bench | verbs_load) echo "$pid" ;; *) program_below "$pid" ;; esac
    done
}
kill_program() { # shellcheck disable=SC2046  # a program may have several processes
    kill -9 $(program_below "$1")
}

# single NAME CARD COMMAND [REGEX]: case: COMMAND on CARD succeeds and prints a line like REGEX.
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

# plain NAME COMMAND [REGEX [STATUS]]: case: COMMAND on this host exits with STATUS (0) and prints a
# line like REGEX.
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

# sent CARD: prints the bytes that CARD has sent on its wire.
sent() { "$dingo" --json stats "$1" | /usr/bin/python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["wire"]["tx_bytes"])'; }

# wait_listen PORT PID: waits until the TCP port has a listener; fails after 30 s or when PID has
# exited.
wait_listen() { wait_socket listening "$@"; }
# wait_connected PORT PID: the same for a connection to the port.
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
# until_line FILE TEXT [PID]: succeeds once FILE contains TEXT; fails after 30 s or when PID has
# exited.
until_line() {
    local _
    for _ in $(seq 600); do
        ! grep -q "$2" "$1" 2>/dev/null || return 0
        [ -z "${3:-}" ] || kill -0 "$3" 2>/dev/null || break
        sleep 0.05
    done
    grep -q "$2" "$1" 2>/dev/null
}
# until_gone PID: succeeds once the process has exited; fails after 30 s.
until_gone() {
    local _
    for _ in $(seq 600); do
        kill -0 "$1" 2>/dev/null || return 0
        sleep 0.05
    done
    return 1
}

# pair NAME SERVER CLIENT [REGEX [PORT]]: case: SERVER on $server_card and CLIENT on $client_card
# succeed, and CLIENT prints a line like REGEX. A in CLIENT stands for the server's address.
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
# lossy_pair NAME SERVER CLIENT REGEX: like pair, for programs that do not wait for each other at
# their end, on a lossy wire. A program exits when it has all messages and ACKs; if its own last ACK
# was lost, the other side's retries are exceeded, as on every device. That is no failure.
lossy_pair() { local lossy=yes && pair "$@"; }
# lost_last_ack FINISHED OTHER REGEX: succeeds if one log has a result and the other reports
# exceeded retries.
lost_last_ack() { grep -qE "$3" "$1" && grep -q 'transport retry counter exceeded' "$2"; }

# perftest TOOL [OPTIONS]: case: a perftest pair with the same options on both sides.
perftest() {
    local tool=$1 options=${2:-}
    pair "$prefix$tool${options:+ $options}" "$tool -F $options" "$tool -F $options A" '^ +[0-9]+ +[0-9]+ +[0-9.]+'
}
cm_perftest() { :; } # only the suite `cm` runs these (cm_lib.sh), as their listeners are rdma_cm's
prefix=''

start_card() {
    # shellcheck disable=SC2086
    $as_user "$dingo" card start "$@" >>"$logs/cards.log" 2>&1 || {
        fail "card start $*" "$(tail -n 3 "$logs/cards.log" | tr '\n' ' ')"
        exit 1
    }
}
# card_pid NAME: prints the pid of the card's process.
card_pid() { "$dingo" --json card show "$1" | /usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["pid"])'; }
stop_cards() {
    local c
    # shellcheck disable=SC2086
    [ ! -x "$dingo" ] || $as_user "$dingo" card stop --all >>"$logs/cards.log" 2>&1 || true
    for c in "${cleanups[@]}"; do eval "$c"; done
    rm -rf "$DINGO_RUN"
}
