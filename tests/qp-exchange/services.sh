# SPDX-License-Identifier: BSD-2-Clause
# Services that the cases start: each on a port of its own on the loopback interface, ended by pid.
# Sourced by the cases; tests/e2e/native/lib.sh comes before.

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

# start_qpxd NAME [OPTION...]: sets $qpxd_pid, $qpxd_port and $qpxd_log. Prefix: ${in:-}, words before the command.
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

# metric PORT NAME: one number of the metrics that a qpxd serves.
metric() {
    python3 -c '
import sys, urllib.request
text = urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/metrics", timeout=10).read().decode()
print("".join(line.split(" ")[1] for line in text.splitlines() if line.split(" ")[0] == "qpxd_" + sys.argv[2]))' "$1" "$2"
}

# until_true COMMAND...: tries it for at most a minute.
until_true() {
    local _
    for _ in $(seq 600); do
        ! "$@" || return 0
        sleep 0.1
    done
    return 1
}
metric_is() { [ "$(metric "$1" "$2")" = "$3" ]; }

# free_port: a TCP port that was free a moment ago.
free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# verdict NAME STATUS OUT REGEX COUNT: PASS when the status is 0 and COUNT lines of OUT are like REGEX.
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

# truth NAME WHY COMMAND...: PASS when the command is true.
truth() {
    local name=$1 reason=$2
    shift 2
    if "$@"; then pass "$name"; else fail "$name" "$reason"; fi
}

# all_of NAME COUNT COMMAND: a shell command with N for its number, 0 to COUNT-1, all at the same time; sets $all_rc, $all_out.
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
