# SPDX-License-Identifier: BSD-2-Clause
# Cards that share one process (docs/reference/kernel-less.md) behave as if each had its own, and
# start and stop one by one.
check=$dingo_root/build/bin/verbs_check load=$dingo_root/build/bin/verbs_load
json() { /usr/bin/python3 -c "import json,sys; s = json.load(sys.stdin); print($1)"; }
counter() { "$dingo" --json stats "$1" | json "s[0]['wire']['$2']"; }
# truth NAME WHY COMMAND...: case: COMMAND succeeds.
truth() {
    local name=$1 because=$2
    shift 2
    if "$@"; then pass "$name"; else fail "$name" "$because"; fi
}
# ends PID: succeeds if the process exits within 30 s; its status is in $rc.
ends() {
    rc=0
    if ! until_gone "$1"; then
        kill -9 "$1"
        wait "$1" 2>/dev/null || true
        return 1
    fi
    wait "$1" || rc=$?
}

start_card alpha --one-process
start_card beta --one-process
start_card gamma --own-process
shared=$(card_pid alpha)
truth 'two cards, one process' "$shared and $(card_pid beta)" [ "$shared" = "$(card_pid beta)" ]
truth 'a card with a process of its own' "gamma is in $shared" [ "$shared" != "$(card_pid gamma)" ]
plain 'card show names the cards of the process' "$dingo card show beta" '^process_serves +alpha beta$'
plain 'card show says what is in use' "$dingo card show beta" '^ +qp +[0-9]+ of [0-9]+$'
plain 'a card on another wire cannot share a process' "$dingo card start delta --one-process --wire none" 'needs a process of its own' 2
start_card epsilon --one-process --wire roce:127.0.79.1 --ip 127.0.79.1/8
start_card zeta --one-process --wire roce:127.0.79.2 --ip 127.0.79.2/8
truth 'cards on UDP are in it, too' "$shared, $(card_pid epsilon) and $(card_pid zeta)" [ "$shared $shared" = "$(card_pid epsilon) $(card_pid zeta)" ]
server_card=epsilon client_card=zeta
pair 'UDP in one process: verbs_check, every byte' "$check" "$check A" 'every byte right' 18600
perftest ib_write_bw '-s 65536 -n 500'
for name in epsilon zeta; do $dingo card stop $name >>"$logs/cards.log"; done
plain 'a card of several users cannot either' "$dingo card start delta --one-process --share" 'needs a process of its own' 2
plain 'nor is it asked for both' "$dingo card start delta --one-process --own-process" 'excludes' 2
plain 'what is wrong with a card is told, and it leaves nothing' \
    "! $dingo card start delta --one-process --faults frobnicate=1 && [ ! -e $DINGO_RUN/delta ]" 'frobnicate'

for pairing in 'one process: alpha beta' 'out of the process: alpha gamma' 'into the process: gamma beta'; do
    read -r server_card client_card <<<"${pairing#*: }"
    prefix="${pairing%: *}: "
    pair "${prefix}verbs_check, every byte" "$check" "$check A" 'every byte right' 18600
    pair "${prefix}ibv_rc_pingpong -c" 'ibv_rc_pingpong -c -g $(gid 4)' 'ibv_rc_pingpong -c -g $(gid 4) A' 'iters in'
    for tool in ib_write_bw ib_read_bw ib_send_bw ib_atomic_bw ib_write_lat; do perftest $tool '-n 1000'; done
    perftest ib_send_bw '-e -n 500'
    perftest ib_send_bw '-c UD -n 1000'
done
server_card=alpha client_card=beta prefix=''

# Each card has its own counters, faults and capture.
sent=$(counter alpha tx_frames) of_gamma=$(counter gamma rx_frames)
perftest ib_write_bw '-n 2000'
truth 'frames are counted by the cards that send and take them' "alpha sent nothing" [ "$(counter alpha tx_frames)" -gt "$sent" ]
more=$(($(counter gamma rx_frames) - of_gamma)) # ARP and ND requests go to all cards
truth 'and by no other' "gamma took $more frames" [ $more -lt 20 ]
"$dingo-card" ctl "$DINGO_RUN/alpha/control" faults 'drop=2%' >/dev/null
pair 'one card of the process loses frames: every byte right' "$check" "$check A" 'every byte right' 18600
truth 'its faults are its own' "alpha $(counter alpha fault_dropped), beta $(counter beta fault_dropped)" \
    [ "$(counter alpha fault_dropped) $(counter beta fault_dropped)" = "$(counter alpha fault_dropped) 0" ]
truth 'and happen' 'none was dropped' [ "$(counter alpha fault_dropped)" -gt 0 ]
"$dingo-card" ctl "$DINGO_RUN/alpha/control" faults >/dev/null
start_card delta --one-process --pcap "$logs/delta.pcap"
server_card=delta
perftest ib_write_bw '-n 100 -s 8192'
"$dingo" card stop delta >/dev/null
plain 'the capture of one card of the process: every ICRC is right' "/usr/bin/python3 $dingo_root/tests/e2e/native/icrc.py $logs/delta.pcap" '[1-9][0-9]* packets, 0 wrong'
plain 'its log is its own' "cat $DINGO_RUN/beta/log" 'RDMA device beta'
server_card=alpha

# Cards start and stop while others work.
pair_running() { # pair_running SERVER CLIENT: ib_write_bw for 6 s in the background; $a and $b are the two
    on "$1" "exec ib_write_bw -F -D 6 -p 18620" >"$logs/running.A" 2>&1 &
    a=$!
    wait_listen 18620 $a || true
    on "$2" "exec ib_write_bw -F -D 6 -p 18620 127.0.0.1" >"$logs/running.B" 2>&1 &
    b=$!
    sleep 1.5
}
pair_running alpha beta
start_card delta --one-process
truth 'a card is added to a busy process' "it is in $(card_pid delta)" [ "$(card_pid delta)" = "$shared" ]
client_card=delta
pair 'and works beside the traffic' 'ibv_rc_pingpong -c -n 200 -g $(gid 4)' 'ibv_rc_pingpong -c -n 200 -g $(gid 4) A' 'iters in'
"$dingo" card stop delta >/dev/null
truth 'a card is stopped beside traffic' 'its directory is there' [ ! -e "$DINGO_RUN/delta" ]
rc_a=0 rc_b=0
wait $a || rc_a=$?
wait $b || rc_b=$?
truth 'the traffic does not notice' "status $rc_a $rc_b: $(why "$logs/running.B")" [ "$rc_a $rc_b" = '0 0' ]

"$dingo" run --card alpha -- "$load" watch >"$logs/watch.out" 2>&1 &
watch=$!
"$dingo" run --card beta -- "$load" watch >"$logs/watch-beta.out" 2>&1 &
other=$!
until_line "$logs/watch.out" holding $watch && until_line "$logs/watch-beta.out" holding $other || true
"$dingo" card stop alpha >/dev/null
if ends $watch; then
    plain 'a stopped card: its client gets DEVICE_FATAL' "cat $logs/watch.out" 'event: local catastrophic error'
else
    fail 'a stopped card: its client gets DEVICE_FATAL' 'it waits on'
fi
truth 'the client of another card of the process does not' "$(why "$logs/watch-beta.out")" kill -0 $other
plain 'the first card of the process is gone, the process serves on' "$dingo card list" "^beta +running +uverbs1 +$shared "
client_card=beta server_card=gamma
pair 'the other card works on' "$check" "$check A" 'every byte right' 18600
start_card alpha --one-process
truth 'it comes back into the same process' "$(card_pid alpha), not $shared" [ "$(card_pid alpha)" = "$shared" ]
server_card=alpha
pair 'and works' "$check" "$check A" 'every byte right' 18600

# Idle cards, and killed ones.
start_card delta --one-process
ticks() { awk '{print $14 + $15}' "/proc/$shared/stat"; }
sleep 2
before=$(ticks)
sleep 5
used=$(($(ticks) - before))
truth 'three idle cards in a process use no processor' "$used ticks of 10 ms in 5 s" [ $used -le 1 ]
"$dingo" run --card alpha -- "$load" stream >"$logs/stream.out" 2>&1 &
stream=$!
until_line "$logs/stream.out" holding $stream || true
sleep 0.5
kill -9 "$shared"
truth 'process killed: a polling client of one card ends' 'it still polls' ends $stream
if ends $other && grep -q 'event: local catastrophic error' "$logs/watch-beta.out" && grep -q 'errno 5' "$logs/watch-beta.out"; then
    pass 'process killed: the client of another gets DEVICE_FATAL, then errors'
else
    fail 'process killed: the client of another gets DEVICE_FATAL, then errors' "$(why "$logs/watch-beta.out")"
fi
truth 'process killed: all its cards are dead, and no other' "$("$dingo" card list)" \
    [ "$("$dingo" --json card list | json '[c["name"] for c in s if c["state"] == "dead"]')" = "['alpha', 'beta', 'delta']" ]
start_card alpha --one-process
start_card beta --one-process
pair 'process killed: new cards of the same names work' "$check" "$check A" 'every byte right' 18600
server_card=gamma
pair 'process killed: and reach the others' "$check" "$check A" 'every byte right' 18600
shared=$(card_pid alpha)
"$dingo" card stop alpha >/dev/null
"$dingo" card stop beta >/dev/null
for _ in $(seq 600); do [ -e "/proc/$shared" ] || break; sleep 0.05; done # until its parent has seen it
truth 'the process ends with its last card' "$shared runs on" [ ! -e "/proc/$shared" ]
# A full run directory, or deleted files in it, end no card.
start_card alpha --one-process
start_card beta --one-process
rm -rf "$DINGO_RUN/alpha/sys"
"$dingo_root/build/bin/dingo-card" ctl "$DINGO_RUN/alpha/control" link down >/dev/null
"$dingo_root/build/bin/dingo-card" ctl "$DINGO_RUN/alpha/control" link up >/dev/null
truth 'files of /sys are gone: the cards go on' "$("$dingo" card list)" \
    [ "$("$dingo" --json card list | json '[c["state"] for c in s if c["name"] in ("alpha", "beta")]')" = "['running', 'running']" ]
server_card=beta client_card=beta
pair 'files of /sys are gone: the other card serves on' "$check" "$check A" 'every byte right' 18600

# killed_start NAME OPTION: case: `dingo card start` is killed while its card opens its capture, a
# FIFO without a reader.
killed_start() {
    local fifo=$logs/killed.fifo starter
    rm -f "$fifo"
    mkfifo "$fifo"
    "$dingo" card start omega "$2" --pcap "$fifo" >/dev/null 2>&1 &
    starter=$!
    sleep 1.5
    kill -9 $starter
    wait $starter 2>/dev/null || true
    timeout 2 cat "$fifo" >/dev/null || true
    sleep 0.5
    plain "$1" "! $dingo --json card show omega | grep running && $dingo card start omega $2 && $dingo card stop omega" 'omega stopped'
    rm -f "$fifo"
}
killed_start 'a start that is killed leaves no card' --own-process
killed_start 'nor one in a process that has others' --one-process
