# SPDX-License-Identifier: BSD-2-Clause
# Sudden deaths: clients killed in every phase, servers killed under load, the card killed; nothing
# hangs, and no objects are left.
load=$dingo_root/build/bin/verbs_load
start_card alpha --own-process
start_card beta --own-process

# objects CARD: prints the card's numbers of queue pairs and clients.
objects() { "$dingo" --json stats "$1" | /usr/bin/python3 -c 'import json,sys; s = json.load(sys.stdin)[0]; print(len(s["qps"]), len(s["clients"]))'; }
# gone NAME CARD: case: within 30 s, the card has no queue pairs and no clients.
gone() {
    local end=$((${EPOCHREALTIME/./} + 30000000)) now
    while now=$(objects "$2"); do
        [ "$now" != '0 0' ] || { pass "$1"; return; }
        [ ${EPOCHREALTIME/./} -lt $end ] || break
    done
    fail "$1" "after 30 s there are (QPs, clients): $now"
}

# kill_in_phase PHASE COUNT: case: kills COUNT clients that hold in PHASE; all their objects
# disappear.
kill_in_phase() {
    local pid n out
    out=$logs/hold-$1.out
    for n in $(seq "$2"); do
        : >"$out" # the new process may be late, and the former's output would be taken for its own
        "$dingo" run --card alpha -- "$load" hold "$1" >"$out" 2>&1 &
        pid=$!
        for _ in $(seq 3000); do
            ! grep -q holding "$out" || break
            kill -0 $pid 2>/dev/null || break
            sleep 0.01
        done
        grep -q holding "$out" || {
            fail "kill -9 in phase $1" "run $n did not get there: $(why "$out")"
            kill -9 $pid 2>/dev/null || true
            return
        }
        kill -9 $pid
        wait $pid 2>/dev/null || true
    done
    gone "$2 clients killed -9 in phase $1 are gone" alpha
}
# 120 clients killed in defined phases, and 80 at moments that may lie between the phases.
for phase in context pd mr cq qp rts; do kill_in_phase $phase 20; done
for delay in 2 5 10 20 40; do
    for _ in $(seq 16); do
        "$dingo" run --card alpha -- "$load" many 1 16 >/dev/null 2>&1 &
        pid=$!
        sleep 0.0$delay
        pkill -9 -P $pid 2>/dev/null || true
        kill -9 $pid 2>/dev/null || true
        wait $pid 2>/dev/null || true
    done
done
gone '80 clients killed at any moment are gone' alpha

# leaf PID: prints the program's own process: the last in the chain of children below PID.
leaf() {
    local pid=$1 child
    while child=$(pgrep -P "$pid" | head -n 1) && [ -n "$child" ]; do pid=$child; done
    echo "$pid"
}

# victim NAME SIDE: case: SIDE of a running ib_write_bw is killed by SIGKILL; the other side must
# end, and a new pair must work.
victim() {
    local a b
    on alpha 'exec ib_write_bw -F -D 30 -u 10' >"$logs/victim.A" 2>&1 &
    a=$!
    wait_listen 18515 $a || true
    on beta 'exec ib_write_bw -F -D 30 -u 10 127.0.0.1' >"$logs/victim.B" 2>&1 &
    b=$!
    sleep 2
    if [ "$2" = A ]; then kill -9 "$(leaf $a)"; else kill -9 "$(leaf $b)"; fi
    for _ in $(seq 100); do
        kill -0 $a 2>/dev/null && kill -0 $b 2>/dev/null || break
        sleep 0.1
    done
    if [ "$2" = A ]; then limit_wait "$1" $b; else kill "$(leaf $a)" 2>/dev/null || true; fi
    wait $a 2>/dev/null || true
    wait $b 2>/dev/null || true
    gone "$1: nothing is left on the server's card" alpha
    gone "$1: nothing is left on the client's card" beta
    pair "$1: the next pair works" 'ib_write_bw -F -n 200' 'ib_write_bw -F -n 200 A' '65536'
}
# limit_wait NAME PID: case: the process exits with an error within 20 s, before its own 30 s (-D
# 30) end.
limit_wait() {
    local rc=0
    for _ in $(seq 200); do
        kill -0 "$2" 2>/dev/null || break
        sleep 0.1
    done
    if kill -0 "$2" 2>/dev/null; then
        fail "$1: the client ends with an error" 'it still runs after 20 s'
        kill "$2"
    else
        wait "$2" || rc=$?
        [ $rc != 0 ] && pass "$1: the client ends with an error" || fail "$1: the client ends with an error" 'it says that all is well'
    fi
}
victim 'server killed under load' A
victim 'client killed under load' B

# The card is killed: a waiting client gets an event, a polling one ends, and a new card can take
# the name.
"$dingo" run --card alpha -- "$load" watch >"$logs/watch.out" 2>&1 &
watch=$!
"$dingo" run --card alpha -- "$load" stream >"$logs/stream.out" 2>&1 &
stream=$!
until_line "$logs/watch.out" holding $watch && until_line "$logs/stream.out" holding $stream || true
sleep 0.5
kill -9 "$(card_pid alpha)"
rc=0
until_gone $watch || true
until_gone $stream || true
if kill -0 $watch 2>/dev/null; then
    fail 'card killed: DEVICE_FATAL, then errors' 'the client still waits after 30 s'
    kill -9 $watch
else
    wait $watch || rc=$?
    if [ $rc = 0 ] && grep -q 'event: local catastrophic error' "$logs/watch.out" && grep -q 'errno 5' "$logs/watch.out"; then
        pass 'card killed: DEVICE_FATAL, then errors'
    else
        fail 'card killed: DEVICE_FATAL, then errors' "status $rc: $(why "$logs/watch.out")"
    fi
fi
if kill -0 $stream 2>/dev/null; then
    fail 'card killed: a polling client ends' 'it still polls after 30 s'
    kill -9 $stream
else
    pass 'card killed: a polling client ends'
fi
wait $stream 2>/dev/null || true
plain 'card killed: dingo says so' "$dingo card show alpha" 'dead'
start_card alpha --own-process
pair 'card killed: a new card of the same name works' 'ib_write_bw -F -n 200' 'ib_write_bw -F -n 200 A' '65536'

# A client that blocks a thread of its card delays neither the card's end nor a new card of that
# name.
start_card gamma --own-process
if ! cc "$dingo_root/tests/e2e/native/held_events.c" -o "$logs/held_events" -libverbs -pthread 2>"$logs/held_events.cc"; then
    fail 'a client that holds an event thread' "cc: $(why "$logs/held_events.cc")"
else
    "$dingo" run --card gamma -- "$logs/held_events" >"$logs/held_events.out" 2>&1 &
    holder=$!
    if until_line "$logs/held_events.out" holding $holder; then
        plain 'a card whose thread a client holds ends at once' "timeout 8 $dingo card stop gamma" 'card gamma stopped'
        start_card gamma --own-process
        plain 'a card whose thread a client holds: the next one of that name works' "$dingo run --card gamma -- ibv_devinfo" 'PORT_ACTIVE'
    else
        wait $holder && status=0 || status=$?
        [ $status = 77 ] && skip 'a client that holds an event thread' 'no userfaultfd' ||
            fail 'a client that holds an event thread' "status $status: $(why "$logs/held_events.out")"
    fi
    kill -9 $holder 2>/dev/null || true
    wait $holder 2>/dev/null || true
fi
"$dingo" card stop gamma >/dev/null 2>&1 || true

# An idle card uses no processor time and little memory.
card_pid=$(card_pid alpha)
ticks() { awk '{print $14 + $15}' "/proc/$card_pid/stat"; }
sleep 2
before=$(ticks)
sleep 5
used=$(($(ticks) - before))
[ $used -le 1 ] && pass 'an idle card uses no processor' || fail 'an idle card uses no processor' "$used ticks of 10 ms in 5 s"
"$dingo" run --card alpha -- "$load" hold rts >"$logs/hold-memory.out" 2>&1 &
holder=$!
until_line "$logs/hold-memory.out" holding $holder || true
rss=$(awk '/^VmRSS/ {print $2}' "/proc/$card_pid/status")
[ "$rss" -lt 65536 ] && pass 'a card needs less than 64 MiB' || fail 'a card needs less than 64 MiB' "$rss KiB"
kill -9 $holder
wait $holder 2>/dev/null || true
