# SPDX-License-Identifier: BSD-2-Clause
# The direct road between kernel-less programs (docs/reference/direct.md), and the requests that
# still go through their cards.
bench=$dingo_root/build/bin/rdma-bench
load=$dingo_root/build/bin/verbs_load
start_card alpha --own-process
start_card beta --own-process
server_card=alpha client_card=beta
lines='^ +[0-9]+ +[0-9]+ +[0-9.]+'

# moved CARD: prints "REQUESTS FRAMES": the requests for CARD's QPs, and the frames that it
# received.
moved() {
    "$dingo" --json stats "$1" | /usr/bin/python3 -c '
import json, sys
s = json.load(sys.stdin)[0]
c = s["counters"]
print(c["rx_write_requests"] + c["rx_read_requests"] + c["rx_send_requests"] + c["rx_atomic_requests"], s["wire"]["rx_frames"])'
}
# roads NAME LEAST direct|card COMMAND...: case: at least LEAST requests come to alpha while COMMAND
# runs; direct: at most a quarter of them in frames; card: at least half. $each: frames per request
# (1).
roads() {
    local name=$1 least=$2 road=$3 before after requests frames
    shift 3
    read -r -a before <<<"$(moved alpha)"
    "$@"
    read -r -a after <<<"$(moved alpha)"
    requests=$((after[0] - before[0])) frames=$((after[1] - before[1]))
    if [ $requests -lt "$least" ]; then
        fail "$name: requests" "$requests came, not $least"
    elif [ "$road" = direct ] && [ $((frames * 4)) -gt $((requests * ${each:-1})) ]; then
        fail "$name: the direct road" "$frames frames for $requests requests"
    elif [ "$road" = card ] && [ $((frames * 2)) -lt $((requests * ${each:-1})) ]; then
        fail "$name: by the card" "$frames frames for $requests requests"
    else
        pass "$name: $road"
    fi
}
verified() { pair "$1" "$bench $2 --verify" "$bench $2 --verify A" '[0-9]'; }
by_cards() {
    local -x DINGO_DIRECT=0
    "$@"
}

roads 'switched off' 1000 card by_cards perftest ib_write_lat '-s 8 -n 1000'
roads 'WRITE' 1000 direct perftest ib_write_lat '-s 8 -n 1000'
each=16 roads 'WRITE, 64 KiB' 5000 direct perftest ib_write_bw '-s 65536 -n 5000'
roads 'READ' 1000 direct perftest ib_read_lat '-s 8 -n 1000'
roads 'SEND' 1000 direct perftest ib_send_lat '-s 8 -n 1000'
roads 'SEND, small messages inline' 1000 direct perftest ib_send_lat '-s 200 -I 220 -n 1000'
for options in '-a -n 200' '-b -s 4096 -n 2000' '-q 8 -s 64 -n 2000' '-q 32 -s 64 -n 200' '-t 1 -n 500' '-Q 1 -n 500' '-l 8 -s 64 -n 800' '-s 8388608 -n 20'; do
    for tool in ib_write_bw ib_read_bw ib_send_bw; do
        [[ "$tool $options" != *read*-Q* ]] || continue
        perftest $tool "$options"
    done
done
roads 'one program has it, the other has not' 1000 card pair 'one program has it' 'ib_write_lat -F -s 8 -n 1000' 'DINGO_DIRECT=0 ib_write_lat -F -s 8 -n 1000 A' "$lines"
roads 'programs that sleep for events' 500 card perftest ib_send_lat '-s 8 -n 500 -e'
perftest ib_send_bw '-s 4096 -n 2000 -e'
roads 'FETCH_ADD' 1000 direct perftest ib_atomic_lat '-n 1000'
roads 'CMP_SWAP' 1000 direct perftest ib_atomic_bw '-A CMP_AND_SWAP -n 1000'
pair 'ibv_rc_pingpong -e' 'ibv_rc_pingpong -g 1 -e -n 2000 -c' 'ibv_rc_pingpong -g 1 -e -n 2000 -c A' 'usec/iter'
pair 'ibv_rc_pingpong -c' 'ibv_rc_pingpong -g 1 -n 5000 -c -s 4097' 'ibv_rc_pingpong -g 1 -n 5000 -c -s 4097 A' 'usec/iter'
single 'a CQ that one QP fills gives the completions of another' alpha "exec $load shared-cq"
pair 'ibv_srq_pingpong' 'ibv_srq_pingpong -g 1 -n 500 -q 4 -c' 'ibv_srq_pingpong -g 1 -n 500 -q 4 -c A' 'usec/iter'

# Every byte is verified, for kinds and sizes of messages that go by different roads.
for what in 'write-bw -s 1 -n 5000' 'write-bw -s 65537 -n 2000 -q 4' 'write-bw -s 1048577 -n 100' 'write-bw -s 16777217 -n 6' \
    'read-bw -s 4097 -n 3000' 'read-bw -s 2097152 -n 50' 'atomic-bw -n 5000' 'atomic-bw -n 2000 -q 4' \
    'send-bw -s 33 -n 20000' 'send-bw -s 4096 -n 5000 -q 8' 'send-bw -s 2000000 -n 100' 'send-lat -s 64 -n 5000' 'write-lat -s 4096 -n 5000'; do
    verified "verified: $what" "$what"
done

ctl="$dingo_root/build/bin/dingo-card ctl $DINGO_RUN/beta/control"
# Faults apply to all requests: while they are set, requests go through the card; afterwards they
# return to the direct road.
pair 'frames are lost from the middle on' 'ib_write_bw -F -s 4096 -D 4' "(sleep 1.5; $ctl faults drop=1%; sleep 1; $ctl faults) >/dev/null & ib_write_bw -F -s 4096 -D 4 A" "$lines"
roads 'after the faults' 1000 direct perftest ib_write_lat '-s 8 -n 1000'

for_ever='-F -s 65536 -D 60'
# start_flow COMMAND [LOG]: starts endless requests from beta to alpha; sets $server and $client.
start_flow() {
    local log=${2:-$logs/flow}
    on alpha "exec $1" >"$log.A" 2>&1 &
    server=$!
    wait_listen 18515 $server || true
    on beta "exec $1 127.0.0.1" >"$log.B" 2>&1 &
    client=$!
    wait_connected 18515 $server || true
    sleep 1
}
end_flow() {
    kill_program $server 2>/dev/null || true
    kill_program $client 2>/dev/null || true
    wait $server $client 2>/dev/null || true
}
# idle CARD NAME: case: CARD has no clients within 10 s.
idle() {
    local _
    for _ in $(seq 100); do
        [ "$("$dingo" --json stats "$1" | /usr/bin/python3 -c 'import json,sys; print(len(json.load(sys.stdin)[0]["clients"]))')" != 0 ] || { pass "$2"; return; }
        sleep 0.1
    done
    fail "$2" 'clients are left'
}
for tool in ib_write_bw ib_send_bw; do
    start_flow "$tool $for_ever"
    kill_program $client
    sleep 0.5
    end_flow
    idle alpha "$tool: the sender is killed: nothing is left at the receiver's card"
    start_flow "$tool $for_ever"
    kill_program $server
    until_gone $client && pass "$tool: the receiver is killed: the sender ends" || fail "$tool: the receiver is killed: the sender ends" 'it goes on'
    sleep 0.5
    end_flow
    idle beta "$tool: the receiver is killed: nothing is left at the sender's card"
    perftest $tool '-s 4096 -n 500'
done
# garbage COMMAND: case: with garbage in all words that both programs can write, neither crashes,
# and SIGTERM still ends them.
garbage() {
    local name="garbage in the pages of ${1##*/}" dir programs rc_a=0 rc_b=0
    local -x limit=15
    dir=$logs/$(slug "$name")
    start_flow "$1" "$dir"
    programs="$(program_below $client) $(program_below $server)"
    # shellcheck disable=SC2086  # two words
    /usr/bin/python3 tests/e2e/native/scribble.py $programs 2 >"$dir.S" 2>&1 || true
    # shellcheck disable=SC2086
    kill $programs 2>/dev/null || true
    wait $server || rc_a=$?
    wait $client || rc_b=$?
    case "$rc_a $rc_b" in
        *124* | *13[1-9]*) fail "$name" "status A $rc_a B $rc_b: $(why "$dir.A") | $(why "$dir.B")" ;;
        *) grep -q 'words written' "$dir.S" && pass "$name" || fail "$name" "$(why "$dir.S")" ;;
    esac
}
for what in 'ib_write_bw -F -s 65536 -D 60' 'ib_send_bw -F -b -s 64 -D 60' 'ib_send_lat -F -s 64 -D 60' \
    "$bench send-bw -s 4096 -n 100000000 --verify" "$bench read-bw -s 4096 -q 4 -n 100000000 --verify"; do
    garbage "$what"
done
perftest ib_send_lat '-s 8 -n 1000'
# While a sender is stopped, the receiver's card and other programs on it continue.
start_flow "ib_send_bw $for_ever"
stopped=$(program_below $client)
kill -STOP "$stopped"
single 'regions and queue pairs come and go while a sender is stopped' alpha "exec $load churn 100"
pair 'WRITE while a sender is stopped' 'ib_write_lat -F -s 8 -n 1000 -p 18516' 'ib_write_lat -F -s 8 -n 1000 -p 18516 A' "$lines" 18516
kill -CONT "$stopped"
end_flow
start_flow "ib_write_bw $for_ever"
single 'regions and queue pairs come and go beside it' alpha "exec $load churn 300"
end_flow
# The peer's card is killed: as without the direct road, the sender's retries are exceeded.
start_flow "ib_write_bw $for_ever"
kill -9 "$(card_pid alpha)"
if until_gone $client; then pass "the receiver's card is killed: the sender ends"; else fail "the receiver's card is killed: the sender ends" "$(why "$logs/flow.B")"; fi
end_flow
start_card alpha --own-process
roads 'after all that' 1000 direct perftest ib_send_lat '-s 8 -n 1000'
