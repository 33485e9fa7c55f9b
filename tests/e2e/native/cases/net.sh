# SPDX-License-Identifier: BSD-2-Clause
# Two cards in two network namespaces: RoCE v2 on UDP port 4791 over a veth pair, checked by tshark.
a=dingo-a-$$ b=dingo-b-$$
for ns in $a $b; do ip netns add $ns; cleanups+=("ip netns del $ns"); done
ip link add v0 netns $a mtu 9000 type veth peer name v0 netns $b mtu 9000
ip -n $a addr add 10.78.0.1/24 dev v0
ip -n $b addr add 10.78.0.2/24 dev v0
ip -n $a addr add fd78::1/64 dev v0 nodad
ip -n $b addr add fd78::2/64 dev v0 nodad
for ns in $a $b; do ip -n $ns link set v0 up; ip -n $ns link set lo up; done

in_ns() { as_user="ip netns exec $1"; shift; "$@"; as_user=''; }
# gso=off, so that a capture at one end shows each packet that the other end sends.
in_ns $a start_card east --wire roce:10.78.0.1,gso=off --ip 10.78.0.1/24
in_ns $b start_card west --wire roce:10.78.0.2,gso=off --ip 10.78.0.2/24

# ns_pair NAME SERVER CLIENT REGEX: case: SERVER in namespace $a, CLIENT in $b.
ns_pair() {
    local out rc_a=0 rc_b=0 pid
    out=$logs/$(slug "$1")
    ip netns exec $a timeout 60 "$dingo" run --card east -- bash -c "PATH=$dingo_root/tests/e2e/native/bin:\$PATH; $2" >"$out.A" 2>&1 &
    pid=$!
    for _ in $(seq 600); do
        ! ip netns exec $a ss -Hltn | grep -qE ':(18515|18600) ' || break
        kill -0 $pid 2>/dev/null || break
        sleep 0.05
    done
    ip netns exec $b timeout 60 "$dingo" run --card west -- bash -c "PATH=$dingo_root/tests/e2e/native/bin:\$PATH; $3" >"$out.B" 2>&1 || rc_b=$?
    wait $pid || rc_a=$?
    if [ "$rc_a $rc_b" = '0 0' ] && grep -qE "$4" "$out.B"; then pass "$1"; else fail "$1" "status A $rc_a B $rc_b: $(why "$out.A") | $(why "$out.B")"; fi
}
# start_capture NAMESPACE OUTPUT OPTIONS...: starts tcpdump and waits until it captures; sets
# $tcpdump_pid.
start_capture() {
    local ns=$1 out=$2 _
    shift 2
    ip netns exec "$ns" tcpdump -q -i v0 "$@" >"$out" 2>/dev/null &
    tcpdump_pid=$!
    for _ in $(seq 600); do
        ! ip netns exec "$ns" awk '$4 == "0003" { found = 1 } END { exit !found }' /proc/net/packet || break
        kill -0 $tcpdump_pid 2>/dev/null || break
        sleep 0.05
    done
    sleep 0.5 # until its filter is installed
}
capture=$logs/veth.pcap
start_capture $a /dev/null -s 256 -w "$capture" udp port 4791
for tool in ib_write_bw ib_read_bw ib_send_bw; do
    ns_pair "veth: $tool" "$tool -F -n 50 -s 8192" "$tool -F -n 50 -s 8192 10.78.0.1" '^ +8192'
done
# No messages of two bytes: tshark may take two random bytes with their padding for an Ethertype,
# and the rest for malformed.
for tool in 'ib_write_lat -s 64' 'ib_read_lat -s 64' ib_atomic_lat; do
    ns_pair "veth: $tool" "$tool -F -n 100" "$tool -F -n 100 10.78.0.1" '^ +[0-9]+ +100'
done
ns_pair 'veth: ibv_ud_pingpong' 'ibv_ud_pingpong -n 100 -g $(gid 4)' 'ibv_ud_pingpong -n 100 -g $(gid 4) 10.78.0.1' 'iters in'
kill -INT $tcpdump_pid
wait $tcpdump_pid 2>/dev/null || true
packets=$(tshark -r "$capture" -Y infiniband 2>/dev/null | wc -l)
all=$(tshark -r "$capture" 2>/dev/null | wc -l)
bad=$(tshark -r "$capture" -Y '_ws.malformed' 2>/dev/null | wc -l)
if [ "$packets" -gt 500 ] && [ "$packets" = "$all" ] && [ "$bad" = 0 ]; then
    pass 'tshark decodes every packet on the veth as RoCE v2'
else
    fail 'tshark decodes every packet on the veth as RoCE v2' "$packets of $all packets, $bad malformed"
fi
# Captures whole packets to check the ICRC by icrc.py, which shares no code with Dingo.
start_capture $a /dev/null -c 200 -w "$capture.full" udp port 4791
ns_pair 'veth: ib_write_bw, captured whole' 'ib_write_bw -F -n 50 -s 8192' 'ib_write_bw -F -n 50 -s 8192 10.78.0.1' '^ +8192'
kill -INT $tcpdump_pid 2>/dev/null || true
wait $tcpdump_pid 2>/dev/null || true
plain 'veth: the ICRC of every packet is right' "/usr/bin/python3 $dingo_root/tests/e2e/native/icrc.py $capture.full" 'packets, 0 wrong'

# Another program on the server's host sends NAKs for outstanding packets from its own UDP port:
# they must have no effect.
dropped() { in_ns $b on west 'cat /sys/class/infiniband/west/ports/1/hw_counters/rx_drop_address'; }
before=$(dropped)
ip netns exec $a /usr/bin/python3 "$dingo_root/tests/e2e/native/forge.py" v0 10.78.0.2 10.78.0.1 50000 4 >"$logs/forge.out" 2>&1 &
forge_pid=$!
for _ in $(seq 600); do ! ip netns exec $a awk '$4 == "0003" { found = 1 } END { exit !found }' /proc/net/packet || break; sleep 0.05; done
ns_pair 'veth: NAKs from another port of the peer do not end a connection' 'ib_write_bw -F -D 3 -s 65536' 'ib_write_bw -F -D 3 -s 65536 10.78.0.1' '^ +65536'
if wait $forge_pid && [ "$(dropped)" -gt "$before" ]; then
    pass 'veth: NAKs from another port are counted'
else
    fail 'veth: NAKs from another port are counted' "rx_drop_address $before, then $(dropped); $(why "$logs/forge.out")"
fi

ns_pair 'veth: verbs_check, every byte' "$dingo_root/build/bin/verbs_check" "$dingo_root/build/bin/verbs_check 10.78.0.1" ''
in_ns $a "$dingo" card stop east >/dev/null
in_ns $b "$dingo" card stop west >/dev/null
in_ns $a start_card east --wire roce:10.78.0.1 --ip 10.78.0.1/24
in_ns $b start_card west --wire roce:10.78.0.2 --ip 10.78.0.2/24
# By default (GSO) several packets of the client arrive at the server's end as one, larger than any
# MTU.
start_capture $a "$logs/runs" -nn 'udp port 4791 and greater 12000'
ns_pair 'veth: ib_write_bw, packets in runs' 'ib_write_bw -F -n 200' 'ib_write_bw -F -n 200 10.78.0.1' '^ +65536'
kill -INT $tcpdump_pid 2>/dev/null || true
wait $tcpdump_pid 2>/dev/null || true
[ "$(grep -c UDP, "$logs/runs")" -gt 20 ] && pass 'veth: runs of packets cross in one piece' || fail 'veth: runs of packets cross in one piece' "$(wc -l <"$logs/runs") seen"
# While somebody captures on the interface, packets leave one by one.
start_capture $b "$logs/no-runs" -nn 'udp port 4791 and greater 12000'
sleep 1 # the card checks once per second
ns_pair 'veth: ib_write_bw, captured where it leaves' 'ib_write_bw -F -n 200' 'ib_write_bw -F -n 200 10.78.0.1' '^ +65536'
kill -INT $tcpdump_pid 2>/dev/null || true
wait $tcpdump_pid 2>/dev/null || true
! grep -q UDP, "$logs/no-runs" && pass 'veth: a capture at the sender shows single packets' || fail 'veth: a capture at the sender shows single packets' "$(grep -c UDP, "$logs/no-runs") runs"
plain 'veth: doctor says what limits' "ip netns exec $a $dingo doctor" 'v0, veth: MTU 9000 allows path MTU 4096; segmentation offload [(]GSO[)] is used'
in_ns $a "$dingo" card stop east >/dev/null
in_ns $b "$dingo" card stop west >/dev/null
in_ns $a start_card east --wire 'roce:[fd78::1]' --ip fd78::1/64
in_ns $b start_card west --wire 'roce:[fd78::2]' --ip fd78::2/64
ns_pair 'veth: ib_write_bw over IPv6' 'ib_write_bw -F -x $(gid 6) -n 500' 'ib_write_bw -F -x $(gid 6) -n 500 10.78.0.1' '^ +65536'

# A path MTU that is too small is reported with an explanation.
ip -n $a link set v0 mtu 1500
ip -n $b link set v0 mtu 1500
ns_pair 'veth with MTU 1500: -m 1024 works' 'ib_write_bw -F -m 1024 -x $(gid 6) -n 200' 'ib_write_bw -F -m 1024 -x $(gid 6) -n 200 10.78.0.1' '^ +65536'

# RoCE inside encrypted tunnels.
in_ns $a "$dingo" card stop east >/dev/null
in_ns $b "$dingo" card stop west >/dev/null
. "$dingo_root/tests/e2e/native/tunnels.sh"
wireguard_cases
ipsec_cases
