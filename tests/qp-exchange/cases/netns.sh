# SPDX-License-Identifier: BSD-2-Clause
# Two hosts as network namespaces: qpxd in one, members in both, a cable that dies.
. tests/qp-exchange/services.sh
ns_a=qpx-a-$$ ns_b=qpx-b-$$
for ns in $ns_a $ns_b; do ip netns add $ns; cleanups+=("ip netns del $ns"); done
ip link add v0 netns $ns_a type veth peer name v0 netns $ns_b
ip -n $ns_a addr add 10.79.0.1/24 dev v0
ip -n $ns_b addr add 10.79.0.2/24 dev v0
ip -n $ns_a addr add fd79::1/64 dev v0 nodad
ip -n $ns_b addr add fd79::2/64 dev v0 nodad
for ns in $ns_a $ns_b; do ip -n $ns link set v0 up; ip -n $ns link set lo up; done
in="ip netns exec $ns_a"
if start_qpxd netns --listen 18516 --keepalive 1; then
    # member NS HOST JOB RANK SIZE
    member() { exec ip netns exec "$1" timeout -k 5 60 "$bin/qpx-rank" "qpxd://$2/$3" --rank "$4" --size "$5" --no-device; }
    for family in 'IPv4 10.79.0.1' 'IPv6 [fd79::1]'; do
        read -r name host <<<"$family"
        out=$logs/netns-$name.out rc=0 pids=()
        : >"$out"
        for rank in 0 1 2 3; do
            if [ $((rank % 2)) = 0 ]; then ns=$ns_a; else ns=$ns_b; fi
            (member $ns "$host" "job-$name" $rank 4) >>"$out" 2>&1 &
            pids+=($!)
        done
        for pid in "${pids[@]}"; do wait "$pid" || rc=$?; done
        verdict "two hosts, $name" "$rc" "$out" 'with 3 peers, 0 wrong' 4
    done
    # The cable of host b dies: no FIN, no RST; the kernel's probes find out.
    (member $ns_a 10.79.0.1 dead 0 3) >"$logs/netns-dead-0.out" 2>&1 &
    first=$!
    (member $ns_b 10.79.0.1 dead 1 3) >"$logs/netns-dead-1.out" 2>&1 &
    second=$!
    two_here() { ip netns exec $ns_a "$bin/qpxd" --status qpxd://10.79.0.1 | grep -q '"here": 2'; }
    until_true two_here || true
    ip -n $ns_b link set v0 down
    (member $ns_a 10.79.0.1 dead 2 3) >"$logs/netns-dead-2.out" 2>&1 || true
    wait $first || true
    truth 'a host whose cable dies is told to the others' "$(why "$logs"/netns-dead-[02].out)" eval "grep -q 'rank 1' '$logs/netns-dead-0.out' && grep -q 'rank 1' '$logs/netns-dead-2.out'"
    kill $second 2>/dev/null || true
    wait $second 2>/dev/null || true
else
    fail 'qpxd starts in a network namespace' "$(why "$qpxd_log")"
fi
in=''
stop_services
