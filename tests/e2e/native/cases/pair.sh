# SPDX-License-Identifier: BSD-2-Clause
# `dingo pair`: starts a server, and a client when the server listens; leaves nothing behind.
# shellcheck disable=SC2154  # lib.sh's variables
p="$dingo pair"
running() { "$dingo" card list -q | tr '\n' ' '; }
# nothing_left NAME: case: no card runs, and perftest's port is free.
nothing_left() {
    local cards
    cards=$(running)
    if [ -n "$cards" ]; then fail "$1: no card is left" "$cards"
    elif ss -Hltn 'sport = :18515' | grep -q .; then fail "$1: nobody keeps the port" "$(ss -Hltnp 'sport = :18515')"
    else pass "$1: nothing is left"; fi
}

for _ in 1 2 3; do plain 'pair: ib_write_bw, the client is shown' "$p alice bob -- ib_write_bw -F -n 500" '^ +65536 +500'; done
nothing_left 'pair'
plain 'pair: names of cards may be left out' "$p -- ib_send_lat -F -n 100" '^ +2 +100'
plain 'pair: one card for both' "$p alice alice -- ib_read_bw -F -n 100" '^ +65536 +100'
plain 'pair: a server that takes its time' "$p alice bob -- sh -c 'sleep 2; exec ib_write_bw -F -n 100' -- ib_write_bw -F -n 100" '^ +65536 +100'
plain 'pair: the client has options of its own' "$p -- ib_write_bw -F -- ib_write_bw -F --report_gbits" 'Gb/sec'
plain 'pair: rdma_cm, the address of the card' "$p -- rping -s -C 3 -a {ip} -- rping -v -c -C 3 -a {ip}" 'ping data'
plain 'pair: the server says when it is ready' "$p --wait-for 'here I am' -- sh -c 'sleep 1; echo here I am; sleep 1' -- echo client of" 'client of localhost'
plain 'pair: nothing is appended' "$p --no-address --wait-for x -- sh -c 'echo x' -- echo the end" 'the end$'
nothing_left 'pair, other forms'

plain 'pair: the exit status is the client'"'"'s' "$p --wait-for x -- sh -c 'echo x; sleep 20' -- sh -c 'exit 7' client" '' 7
plain 'pair: a server that fails is shown with its words' "$p -- sh -c 'echo no such luck; exit 5' -- true" 'no such luck' 5
plain 'pair: so is one that fails beside its client' "$p --no-address --wait-for x -- sh -c 'echo x; echo out of luck; sleep 1; exit 5' -- sleep 1" 'out of luck' 5
plain 'pair: a program that is not there' "$p -- no-such-program" 'cannot run no-such-program' 127
plain 'pair: a server that never listens' "$p --wait 1 -- sleep 60 -- true" 'listens neither on a TCP port' 1
plain 'pair: a client without an end is ended' "$p --no-address --timeout 1 --wait-for x -- sh -c 'echo x; sleep 60' -- sleep 60" 'did not exit within 1 s' 124
nothing_left 'pair, when it failed'
plain 'pair: without a command' "$p alice bob" 'dingo pair A B -- COMMAND' 2

# `dingo pair` is interrupted while a daemonised grandchild of the server holds the port.
daemon='import os, socket, time
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("127.0.0.1", 18515)); s.listen()
time.sleep(60)'
"$dingo" pair --no-address alice bob -- sh -c "setsid /usr/bin/python3 -c '$daemon' & wait" -- sleep 60 >"$logs/interrupted.out" 2>&1 &
pid=$!
wait_listen 18515 $pid || true
kill -TERM $pid || true  # if it has exited already, its status shows that
rc=0
wait $pid || rc=$?
[ $rc = 143 ] && pass 'pair: SIGTERM ends it' || fail 'pair: SIGTERM ends it' "status $rc: $(why "$logs/interrupted.out")"
nothing_left 'pair, interrupted'

start_card alice
plain 'pair: a card that ran already runs on' "$p alice bob -- ib_write_bw -F -n 100 && $dingo card list -q" '^alice$'
[ "$(running)" = 'alice ' ] && pass 'pair: only what it started is stopped' || fail 'pair: only what it started is stopped' "$(running)"
