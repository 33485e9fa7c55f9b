# SPDX-License-Identifier: BSD-2-Clause
# Starts services for the cases: each on its own port on the loopback interface, stopped by pid.
# Sourced by the cases after tests/e2e/native/lib.sh.

services=()
bin=$PWD/build/bin

stop_services() {
    local pid
    for pid in "${services[@]}"; do
        kill "$pid" 2>/dev/null || true
    done
    for pid in "${services[@]}"; do
        wait "$pid" 2>/dev/null || true
    done
    services=()
}
cleanups+=(stop_services)

# start_qpxd NAME [OPTION...]: starts qpxd; sets $qpxd_pid, $qpxd_port and $qpxd_log. $in: prefix of
# the command.
start_qpxd() {
    local _ name=$1
    shift
    qpxd_log=$logs/qpxd-$(slug "$name").log
    [[ " $* " == *" --listen "* ]] || set -- --listen 127.0.0.1:18516 "$@"
    # shellcheck disable=SC2086
    ${in:-} "$bin/qpxd" "$@" >"$qpxd_log" 2>&1 &
    qpxd_pid=$!
    services+=("$qpxd_pid")
    for _ in $(seq 600); do
        qpxd_port=$(grep -o 'listening on port [0-9]*' "$qpxd_log" | grep -o '[0-9]*$' || true)
        [ -z "$qpxd_port" ] || return 0
        kill -0 "$qpxd_pid" 2>/dev/null || return 1
        sleep 0.05
    done
    return 1
}

# metric PORT NAME: prints one of a qpxd's metrics.
metric() {
    python3 -c '
import sys, urllib.request
text = urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/metrics", timeout=10).read().decode()
print("".join(line.split(" ")[1] for line in text.splitlines() if line.split(" ")[0] == "qpxd_" + sys.argv[2]))' "$1" "$2"
}

# until_true COMMAND...: repeats COMMAND until it succeeds, for at most a minute.
until_true() {
    local _
    for _ in $(seq 600); do
        ! "$@" || return 0
        sleep 0.1
    done
    return 1
}
metric_is() { [ "$(metric "$1" "$2")" = "$3" ]; }

# free_port: prints a TCP port that is currently free.
free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# verdict NAME STATUS OUT REGEX COUNT: case: passes if STATUS is 0 and COUNT lines of OUT match
# REGEX.
verdict() {
    local lines
    lines=$(grep -cE "$4" "$3" || true)
    if [ "$2" != 0 ]; then
        fail "$1" "status $2: $(why "$3")"
    elif [ "$lines" != "$5" ]; then
        fail "$1" "$lines lines like /$4/ instead of $5: $(why "$3")"
    else
        pass "$1"
    fi
}

# truth NAME WHY COMMAND...: case: passes if COMMAND succeeds; WHY is the message of its failure.
truth() {
    local name=$1 reason=$2
    shift 2
    if "$@"; then pass "$name"; else fail "$name" "$reason"; fi
}

# all_of NAME COUNT COMMAND: runs a shell command COUNT times in parallel, N replaced by 0 to
# COUNT-1; sets $all_rc and $all_out.
all_of() {
    local i pids=()
    all_rc=0
    all_out=$logs/$(slug "$1").out
    : >"$all_out"
    for ((i = 0; i < $2; i++)); do
        N=$i timeout -k 5 "$limit" bash -c "$3" >>"$all_out" 2>&1 &
        pids+=($!)
    done
    for i in "${pids[@]}"; do
        wait "$i" || all_rc=$?
    done
}
