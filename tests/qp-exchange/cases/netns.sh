# SPDX-License-Identifier: BSD-2-Clause
# Two hosts as network namespaces: qpxd in one, members in both, a wire that fails.
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
    # The wire of host b fails, without FIN or RST; TCP keep-alives detect it.
    (member $ns_a 10.79.0.1 dead 0 3) >"$logs/netns-dead-0.out" 2>&1 &
    first=$!
    (member $ns_b 10.79.0.1 dead 1 3) >"$logs/netns-dead-1.out" 2>&1 &
    second=$!
    two_here() { ip netns exec $ns_a "$bin/qpxd" --status qpxd://10.79.0.1 | grep -q '"here": 2'; }
    until_true two_here || true
    ip -n $ns_b link set v0 down
    (member $ns_a 10.79.0.1 dead 2 3) >"$logs/netns-dead-2.out" 2>&1 || true
    wait $first || true
    truth 'a host whose wire dies is told to the others' "$(why "$logs"/netns-dead-[02].out)" eval "grep -q 'rank 1' '$logs/netns-dead-0.out' && grep -q 'rank 1' '$logs/netns-dead-2.out'"
    kill $second 2>/dev/null || true
    wait $second 2>/dev/null || true
else
    fail 'qpxd starts in a network namespace' "$(why "$qpxd_log")"
fi
# A host may own all addresses of its /64, so limits count these as one host.
ip -n $ns_b link set v0 up
ip -n $ns_a addr add fd7a::1/64 dev v0 nodad
# The kernel removed the IPv6 addresses when the link went down.
for address in fd79::2 fd79::3 fd7a::2; do ip -n $ns_b addr replace $address/64 dev v0 nodad; done
if start_qpxd netns-limit --listen 18517 --max-clients-per-address 1; then
    plain 'qpxd counts the clients of an IPv6 /64 together' "ip netns exec $ns_b python3 - <<'END'
import socket

def client(source, target, patience=1):
    s = socket.create_connection((target, 18517), timeout=10, source_address=(source, 0))
    s.settimeout(patience)
    try:
        return s, s.recv(4096)
    except TimeoutError:
        return s, b''

first, said = client('fd79::2', 'fd79::1')
assert said == b'', said
second, said = client('fd79::3', 'fd79::1', 20)
assert b'1 clients of fd79::/64, the most allowed' in said, said
third, said = client('fd7a::2', 'fd7a::1')
assert said == b'', said
fourth, said = client('10.79.0.2', '10.79.0.1')
assert said == b'', said
fifth, said = client('10.79.0.2', '10.79.0.1', 20)
assert b'1 clients of this address' in said, said
print('counted')
END" '^counted$'
else
    fail 'qpxd with a limit starts in a network namespace' "$(why "$qpxd_log")"
fi
in=''
stop_services
