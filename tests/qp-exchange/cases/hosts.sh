# SPDX-License-Identifier: BSD-2-Clause
# Two hosts: connected network namespaces with a card each; qp-exchange over TCP, RDMA over the
# wire.
east=qpx-e-$$ west=qpx-w-$$
for ns in $east $west; do ip netns add $ns; cleanups+=("ip netns del $ns"); done
ip link add v0 netns $east mtu 9000 type veth peer name v0 netns $west mtu 9000
n=1
for ns in $east $west; do
    ip -n $ns addr add 10.79.0.$n/24 dev v0
    ip -n $ns addr add fd79::$n/64 dev v0 nodad
    ip -n $ns link set v0 up
    ip -n $ns link set lo up
    n=$((n + 1))
done
in_ns() { as_user="ip netns exec $1"; shift; "$@"; as_user=''; }
in_ns $east start_card qpx-east --wire roce --ip 10.79.0.1/24 --ip fd79::1/64
in_ns $west start_card qpx-west --wire roce --ip 10.79.0.2/24 --ip fd79::2/64
hello=$PWD/build/bin/write_hello

# hosts NAME ADDRESS: case with the server in $east and the client in $west.
hosts() {
    local out rc_a=0 rc_b=0 pid
    out=$logs/$(slug "$1")
    ip netns exec $east timeout 60 "$dingo" run --card qpx-east -- "$hello" >"$out.A" 2>&1 &
    pid=$!
    ip netns exec $west timeout 60 "$dingo" run --card qpx-west -- "$hello" "$2" >"$out.B" 2>&1 || rc_b=$?
    wait $pid || rc_a=$?
    if [ "$rc_a $rc_b" = '0 0' ] && grep -q "from .*hello from the client's memory" "$out.A"; then
        pass "$1"
    else
        fail "$1" "status A $rc_a B $rc_b: $(why "$out.A") | $(why "$out.B")"
    fi
}
hosts 'two hosts over IPv4' 10.79.0.1
hosts 'two hosts over IPv6' fd79::1
hosts 'two hosts over a link-local address with its interface' \
    "$(ip -n $east -6 -o addr show dev v0 scope link | awk '{sub("/.*", "", $4); print $4}')%v0"
for round in 1 2 3; do hosts "the server restarts at once on its port ($round)" 10.79.0.1; done
# The wire is cut: the client's connect() must fail in time.
ip -n $east link set v0 down
out=$logs/cut.out rc=0
ip netns exec $west timeout 30 "$dingo" run --card qpx-west -- "$hello" 10.79.0.1 >"$out" 2>&1 || rc=$?
if [ $rc = 1 ] && grep -qE 'no answer in time|No route to host' "$out"; then pass 'a host that is gone is told'; else fail 'a host that is gone is told' "status $rc: $(why "$out")"; fi
in_ns $east "$dingo" card stop qpx-east >/dev/null
in_ns $west "$dingo" card stop qpx-west >/dev/null
