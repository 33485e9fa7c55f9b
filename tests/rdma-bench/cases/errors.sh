# SPDX-License-Identifier: BSD-2-Clause
# Typical errors of new users: each gives a message and an exit status. Sourced by suite.sh.

# says NAME STATUS REGEX ARGUMENTS...: case: a single rdma-bench exits with STATUS and prints a line
# like REGEX.
says() {
    local name=$1 status=$2 regex=$3 out rc=0
    shift 3
    out=$logs/$(slug "$name").out
    timeout 30 "$dingo" run --card alpha -- "$bench" "$@" >"$out" 2>&1 || rc=$?
    if [ $rc != "$status" ]; then
        fail "$name" "status $rc, not $status: $(why "$out")"
    elif ! grep -qE -- "$regex" "$out"; then
        fail "$name" "no line like /$regex/: $(why "$out")"
    else
        pass "$name"
    fi
}
says 'no arguments: the help' 2 'usage: rdma-bench TEST'
says '--help' 0 'rdma-bench compare' --help
says '--version' 0 '^rdma-bench [0-9]' --version
says 'help of a test' 0 '--tx-depth' write-bw --help
says 'unknown test' 2 "no test 'frob'" frob
says 'unknown option' 2 'frob' write-bw --frob
says 'an option of perftest that is not here' 2 '-g.*multicast' send-bw -g
says 'unknown device: lists the devices' 3 "no device 'nope'; there are: alpha" write-bw -d nope
plain 'no device at all: dingo run makes one' "IBV_DRIVERS=none $bench write-bw 2>&1" 'no RDMA device.*dingo run -- rdma-bench' 3
says 'no such port of the device' 3 'no port 7' write-bw -i 7
says 'unknown host' 4 'no-such-host.invalid' write-bw no-such-host.invalid
says 'closed port' 4 'nobody listens' write-bw -p 18799 127.0.0.1
says 'unknown memory kind' 2 "no memory kind 'foo'; there are: host" write-bw --mem foo
says 'memory that this machine has not' 3 'CUDA' write-bw --mem cuda
says 'unknown counter: lists those there are' 3 'hw_counters/rdma_tx_packets' write-bw -W hw_counters/nope
says 'a negative number of messages' 2 '-5 not in range 5' write-bw -n -5
says 'an empty host is no server' 2 'host: the value is empty' write-bw ''
says 'an empty size is not the default' 2 '--size: the value is empty' write-bw -s ''
says 'more completions than the device has: which options' 3 'at most [0-9]+; take a smaller -t and -r' send-bw -q 16384
says 'no security of this name' 2 'foo' write-bw --security foo
says 'a results file where none can be' 2 '/nope/x: create: No such file' write-bw --json /nope/x
says 'too much inline data' 3 'ibv_create_qp.*errno 22' write-bw -I 60000

# differ NAME STATUS_A REGEX_A SERVER STATUS_B REGEX_B CLIENT: case: both sides exit with these
# statuses and print lines like these.
differ() {
    local name=$1 base rc_a=0 rc_b=0 pid
    base=$logs/$(slug "$name")
    on "$server_card" "$bench $4 -p $port" >"$base.A" 2>&1 &
    pid=$!
    wait_listen $port $pid || true
    on "$client_card" "$bench $7 -p $port 127.0.0.1" >"$base.B" 2>&1 || rc_b=$?
    wait $pid || rc_a=$?
    if [ "$rc_a $rc_b" != "$2 $5" ]; then
        fail "$name" "statuses $rc_a and $rc_b, not $2 and $5: $(why "$base.A") | $(why "$base.B")"
    elif ! grep -qE -- "$3" "$base.A" || ! grep -qE -- "$6" "$base.B"; then
        fail "$name" "not /$3/ and /$6/: $(why "$base.A") | $(why "$base.B")"
    else
        pass "$name"
    fi
}
differ 'different sizes: both sides say so' 2 '-s: 64 here, 128 at the peer' 'write-bw -s 64' 2 '-s: 128 here, 64 at the peer' 'write-bw -s 128'
differ 'different QPs and direction' 2 '-q: 2 here, 1 at the peer; -b: given here' 'write-bw -q 2 -b' 2 '-q: 1 here' 'write-bw'
differ 'different tests' 2 'test: write-bw here, send-lat at the peer' write-bw 2 'test: send-lat here' send-lat
# A latency test with datagrams hangs after a lost one.
start_card epsilon --wire shm:holes --faults drop=5%
start_card zeta --wire shm:holes --faults drop=5%
server_card=epsilon client_card=zeta
differ 'a lost datagram: both sides say so, with the QP' 4 'the peer gave up: no message was completed' 'send-lat -c UD -s 64 -n 5000' \
    1 'ran for [0-9]+ ms of them\): a message was lost, and UD does not retransmit .*\[QP 0x[0-9a-f]+, state RTS\]' 'send-lat -c UD -s 64 -n 5000'
server_card=alpha client_card=beta
differ 'a GID that there is not: lists the table' 4 'GID index 77' write-bw 2 'GID index 77 is not in use; the table has 0: fe80' 'write-bw -x 77'
differ 'below a limit' 0 'BW average' 'write-bw -n 50' 6 'is below -w' 'write-bw -n 50 -w 100000000'

# running OPTIONS: starts server and client in the background and waits until messages move; sets
# $server and $client.
running() {
    rm -f "$logs"/running.[AB] # the last run's output must not be taken for this one's
    # shellcheck disable=SC2086  # the options are words
    "$dingo" run --card alpha -- "$bench" $1 -F -p $port >"$logs/running.A" 2>&1 &
    server=$!
    wait_listen $port $server || true
    # shellcheck disable=SC2086
    "$dingo" run --card beta -- "$bench" $1 -F -p $port --progress 127.0.0.1 >"$logs/running.B" 2>&1 &
    client=$!
    for _ in $(seq 600); do
        ! grep -qs 'messages/s' "$logs/running.B" || return 0
        kill -0 $client 2>/dev/null || return 0
        sleep 0.05
    done
}
# ended NAME PID STATUS FILE REGEX: case: the process exits with STATUS within 30 s, and FILE has a
# line like REGEX.
ended() {
    local rc=0
    if ! until_gone "$2"; then
        kill -9 "$2"
        fail "$1" 'still runs after 30 s'
        return
    fi
    wait "$2" || rc=$?
    if [ $rc != "$3" ]; then
        fail "$1" "status $rc, not $3: $(why "$4")"
    elif ! grep -qE -- "$5" "$4"; then
        fail "$1" "no line like /$5/: $(why "$4")"
    else
        pass "$1"
    fi
}
for test in write-bw send-bw 'send-bw -c UD' read-bw write-lat send-lat 'send-bw -e'; do
    running "$test -D 30 -f 0"
    kill -INT $client 2>/dev/null || true
    ended "$test: Ctrl-C at the client: what was measured" $client 130 "$logs/running.B" 'interrupted: the row has'
    ended "$test: Ctrl-C at the client: the server hears of it" $server 130 "$logs/running.A" 'the peer was interrupted'
    running "$test -D 30 -f 0"
    kill -INT $server 2>/dev/null || true
    ended "$test: Ctrl-C at the server: the client's measurement" $client 130 "$logs/running.B" 'interrupted: the row has'
    ended "$test: Ctrl-C at the server" $server 130 "$logs/running.A" 'interrupted'
    running "$test -D 30 -f 0"
    kill -9 $server 2>/dev/null || true
    wait $server 2>/dev/null || true
    ended "$test: the server is killed: the client says so" $client 4 "$logs/running.B" 'the peer is gone'
    running "$test -D 30 -f 0"
    kill -9 $client 2>/dev/null || true
    wait $client 2>/dev/null || true
    ended "$test: the client is killed: the server says so" $server 4 "$logs/running.A" 'the peer is gone'
done
interval_row=' 65536 +[0-9]+ +[0-9.]+ +[0-9.]+'
for test in write-bw 'write-bw -b'; do
    running "$test -D 1 --run_infinitely"
    for _ in $(seq 600); do
        [ "$(grep -cE "$interval_row" "$logs/running.B")" -lt 2 ] || break
        sleep 0.05
    done
    kill -INT $client 2>/dev/null || true
    ended "$test --run_infinitely ends with Ctrl-C: a row each second" $client 130 "$logs/running.B" "$interval_row"
    ended "$test --run_infinitely: the server too" $server 130 "$logs/running.A" 'interrupted'
    plain "$test --run_infinitely: no row without messages" "! grep -E ' 65536 +0 ' $logs/running.A $logs/running.B"
done

# All processes are stopped for a while, as in a frozen virtual machine; the client continues first.
card_pids="$(card_pid alpha) $(card_pid beta)"
running 'send-bw -c UD -D 12 -f 0'
# shellcheck disable=SC2086  # one or more of them
kill -STOP $card_pids
sleep 0.4 # the client polls the present completions
kill -STOP $client $server
sleep 7
kill -CONT $client
sleep 0.5
# shellcheck disable=SC2086
kill -CONT $server $card_pids
ended 'a machine that stood still for longer than a standstill takes' $client 0 "$logs/running.B" ' 4096 +[0-9]+ +[0-9.]+ '
ended 'that machine: the server' $server 0 "$logs/running.A" ' 4096 +[0-9]+ +[0-9.]+ '

# Results that cannot be written: a full disk, a closed pipe.
"$dingo" run --card alpha -- "$bench" write-bw -n 50 -p $port >"$logs/full.A" 2>&1 &
server=$!
wait_listen $port $server || true
rc=0
timeout 30 "$dingo" run --card beta -- "$bench" write-bw -n 50 -p $port 127.0.0.1 2>"$logs/full.B" >/dev/full || rc=$?
if [ $rc = 1 ] && grep -q 'standard output: No space left' "$logs/full.B"; then
    pass 'a table that cannot be written is an error'
else
    fail 'a table that cannot be written is an error' "status $rc: $(why "$logs/full.B")"
fi
ended 'a table that cannot be written: the server hears of it' $server 4 "$logs/full.A" 'the peer gave up: standard output'
"$dingo" run --card alpha -- "$bench" write-bw -D 1 --run_infinitely -p $port >"$logs/head.A" 2>&1 &
server=$!
wait_listen $port $server || true
"$dingo" run --card beta -- "$bench" write-bw -D 1 --run_infinitely -p $port 127.0.0.1 2>"$logs/head.B" | head -n 1 >/dev/null &
client=$!
ended '| head ends a run without end: the server hears of it' $server 4 "$logs/head.A" 'standard output: Broken pipe'
wait $client || true

# A second server on the same port; a second client during a run.
running 'write-bw -D 30'
says 'a second client is told that nobody listens any more' 4 'nobody listens' write-bw -p $port 127.0.0.1
kill -INT $client 2>/dev/null || true
wait $client $server 2>/dev/null || true
"$dingo" run --card alpha -- "$bench" write-bw -p 18790 >"$logs/waiting.A" 2>&1 &
server=$!
wait_listen 18790 $server || true
says 'a second server at once: the port is in use' 4 '18790.*another server runs' write-bw -p 18790
kill -INT $server 2>/dev/null || true
ended 'Ctrl-C while waiting for a client' $server 130 "$logs/waiting.A" 'interrupted'
