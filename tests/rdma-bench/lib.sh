# SPDX-License-Identifier: BSD-2-Clause
# Functions for the suites of rdma-bench. Sourced after begin_suite, with $bench (the program) and
# $port (not perftest's, which may be in use on this machine).
# bench_pair NAME REGEX ARGUMENTS [CLIENT'S]: case: server and client with ARGUMENTS, or the client
# with its own; each is one string.
bench_pair() {
    pair "$1" "$bench $3 -F -p $port" "$bench ${4:-$3} -F -p $port A" "$2" $port
}
# bench_clients NAME COUNT STATUS REGEX ARGUMENTS [SERVER'S]: case: a server with COUNT clients on
# two cards; all exit with STATUS, and the server prints a line like REGEX.
bench_clients() {
    local name=$1 count=$2 status=$3 regex=$4 rc_a=0 rc=0 worst=0 pid pids=() n card where
    where=$logs/$(slug "$name")
    $as_user timeout -k 5 $limit "$dingo" run --card alpha -- "$bench" $5 -F -p $port --clients "$count" ${6:-} >"$where.A" 2>&1 &
    pid=$!
    wait_listen $port $pid || true
    for n in $(seq "$count"); do
        card=beta
        [ $((n % 2)) = 1 ] || card=alpha
        $as_user timeout -k 5 $limit "$dingo" run --card $card -- "$bench" $5 -F -p $port $server_address >"$where.B$n" 2>&1 &
        pids+=($!)
    done
    for n in "${pids[@]}"; do
        rc=0
        wait "$n" || rc=$?
        [ $rc = 0 ] || worst=$rc
    done
    wait $pid || rc_a=$?
    if [ "$rc_a $worst" = "$status $status" ] && grep -qE "$regex" "$where.A"; then
        pass "$name"
    else
        fail "$name" "status A $rc_a, of the clients $worst: $(why "$where.A") | $(why "$where.B1")"
    fi
}
# page NAME REGEX FILE: what a browser shows of a report, as node runs its script, has a line like REGEX.
page() {
    if command -v node >/dev/null; then
        plain "$1" "node tests/rdma-bench/report/page.js $3" "$2"
    else
        skip "$1" "needs node (package nodejs)"
    fi
}
start_card alpha
start_card beta
