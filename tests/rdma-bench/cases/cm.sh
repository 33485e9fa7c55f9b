# SPDX-License-Identifier: BSD-2-Clause
# -R and -z: rdma_cm of two kernel-less cards connects the queue pairs (-R), carries the programs'
# exchange (-z), or both.
row='^ *[0-9]+ +[0-9]+ +[0-9.]+'
for options in 'write-bw -R --verify -n 200' 'read-bw -R --verify -n 200 -q 4' 'send-bw -R -T 96 -b --threads 2 -q 4 -n 200' \
    'write-lat -R -n 100' 'atomic-lat -R -n 100'; do
    bench_pair "$options" "$row" "$options"
done
bench_pair 'write-bw -R --ipv6' 'fd77|253:119' 'write-bw -R -x 2 -n 200'

# listeners: prints the number of listeners of the server's rdma_cm.
listeners() {
    "$dingo_root/build/bin/dingo-card" ctl "$DINGO_RUN/alpha/control" stats |
        /usr/bin/python3 -c 'import json,sys; print(json.load(sys.stdin)["rdma_cm"]["listeners"])'
}
# start_listener NAME OPTIONS: starts a server over rdma_cm; sets $pid and $out.
start_listener() {
    local _
    out=$logs/$(slug "$1")
    $as_user timeout -k 5 "$limit" "$dingo" run --card alpha -- "$dingo_root/build/bin/rdma-bench" $2 -F -p $port >"$out.A" 2>&1 &
    pid=$!
    for _ in $(seq 600); do
        [ "$(listeners)" = 0 ] || return 0
        kill -0 $pid 2>/dev/null || return 0
        sleep 0.05
    done
}
# cm_pair NAME ADDRESS OPTIONS: case: a pair without TCP.
cm_pair() {
    local rc_a=0 rc_b=0
    start_listener "$1" "$3"
    on beta "$dingo_root/build/bin/rdma-bench $3 -F -p $port $2" >"$out.B" 2>&1 || rc_b=$?
    wait $pid || rc_a=$?
    if [ "$rc_a $rc_b" = '0 0' ] && grep -qE "$row" "$out.B"; then
        pass "$1"
    else
        fail "$1" "status A $rc_a B $rc_b: $(why "$out.A") | $(why "$out.B")"
    fi
}
cm_pair 'write-bw -z' 10.77.0.1 'write-bw -z --verify -n 200'
cm_pair 'write-bw -R -z' 10.77.0.1 'write-bw -R -z --verify -n 200'
cm_pair 'write-bw -R -z --ipv6' fd77::1 'write-bw -R -z --ipv6 --verify -n 200'

# A server that waits over rdma_cm uses no processor time and is interrupted by Ctrl-C.
start_listener 'Ctrl-C at a server with -z' 'write-bw -z'
sleep 2
server=$(pgrep -P $pid)
before=$(awk '{ print $14 + $15 }' "/proc/$server/stat")
sleep 2
ticks=$(($(awk '{ print $14 + $15 }' "/proc/$server/stat") - before))
if [ $ticks -lt 50 ]; then pass 'a server with -z waits without work'; else fail 'a server with -z waits without work' "$ticks ticks of 200"; fi
kill -INT "$server"
rc=0
wait $pid || rc=$?
if [ $rc = 130 ]; then pass 'Ctrl-C at a server with -z'; else fail 'Ctrl-C at a server with -z' "status $rc: $(why "$out.A")"; fi
