# SPDX-License-Identifier: BSD-2-Clause
# Cards of two processes: frames refer to payloads in clients' memory
# (docs/reference/shm-references.md), and the references are revoked in time.
load=$dingo_root/build/bin/verbs_load
bench=$dingo_root/build/bin/rdma-bench
start_card alpha --own-process
start_card beta --own-process
start_card plain --own-process --wire shm:default,refs=off

# referred CARD: prints the number of frames that CARD sent with a reference instead of the payload.
referred() { "$dingo" --json stats "$1" | /usr/bin/python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["wire"]["tx_referred"])'; }
# refers NAME CARD BEFORE yes|no: case: since the count BEFORE, the card has sent such frames, or
# none.
refers() {
    local now
    now=$(referred "$2")
    if { [ "$4" = yes ] && [ "$now" -gt "$3" ]; } || { [ "$4" = no ] && [ "$now" = "$3" ]; }; then pass "$1"; else fail "$1" "$3 before, $now after"; fi
}
verified() { pair "$1" "$bench $2 --verify" "$bench $2 --verify A" '[0-9]'; }

server_card=alpha client_card=beta
perftest ib_write_bw '-s 65536 -n 5000'
refers 'WRITE: payloads stay in memory' beta 0 yes
before=$(referred beta)
perftest ib_send_bw '-a -n 500'
refers 'SEND: payloads stay in memory' beta "$before" yes
before=$(referred alpha)
perftest ib_read_bw '-s 65536 -n 2000'
refers 'READ: payloads of responses stay in memory' alpha "$before" yes
for what in 'write-bw -s 65536 -n 3000' 'write-bw -s 1048576 -n 300' 'send-bw -s 512 -n 5000' 'send-bw -s 4097 -n 3000' 'write-bw -s 1000003 -n 100 -q 4'; do
    verified "verified: $what" "$what"
done

client_card=plain
before=$(referred alpha)
verified 'a card with refs=off sends' 'write-bw -s 65536 -n 500'
refers 'refs=off: nothing stays in memory' plain 0 no
server_card=plain client_card=alpha
verified 'a card with refs=off receives' 'write-bw -s 65536 -n 500'
refers 'refs=off: nothing is handed to it' alpha "$before" no
server_card=alpha client_card=beta

# Every admin command revokes the references in the rings: the data must still be right.
on beta "exec $load churn 1000000" >"$logs/churn.out" 2>&1 &
churn=$!
verified 'while queue pairs and regions come and go' 'write-bw -s 262144 -n 3000'
kill -0 $churn || fail 'the load ran meanwhile' "$(why "$logs/churn.out")"
kill_program $churn 2>/dev/null || true
wait $churn 2>/dev/null || true

# start_flow: starts endless WRITEs from beta to alpha; sets $server and $client.
start_flow() {
    on alpha "exec ib_write_bw -F -s 65536 -D 60" >"$logs/flow.A" 2>&1 &
    server=$!
    wait_listen 18515 $server || true
    on beta "exec ib_write_bw -F -s 65536 -D 60 127.0.0.1" >"$logs/flow.B" 2>&1 &
    client=$!
    wait_connected 18515 $server || true
    sleep 1
}
end_flow() {
    kill_program $server 2>/dev/null || true
    kill_program $client 2>/dev/null || true
    wait $server $client 2>/dev/null || true
}
# A stopped peer does not keep other clients' memory.
start_flow
kill -STOP "$(card_pid alpha)"
limit=20 single 'the peer is stopped: regions come and go at the sender' beta "$load churn 50"
kill -CONT "$(card_pid alpha)"
end_flow
sleep 2 # a peer stopped in the middle of a frame was disconnected, and connects again
verified 'the peer goes on' 'write-bw -s 65536 -n 1000'
start_flow
kill -9 "$(card_pid alpha)"
limit=20 single 'the peer is killed: regions come and go at the sender' beta "$load churn 50"
end_flow
start_card alpha --own-process
perftest ib_write_bw '-s 65536 -n 2000'
start_flow
kill -9 "$(card_pid beta)"
limit=20 single 'the sender is killed: the receiver serves on' alpha "$load churn 50"
end_flow
start_card beta --own-process
verified 'after all that' 'write-bw -s 65536 -n 1000'
