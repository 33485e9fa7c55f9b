# SPDX-License-Identifier: BSD-2-Clause
# Two hosts on one wire, each in two VLANs, of which one is common; they connect over a third
# network, without RDMA. Neither side alone can know which of its GIDs reaches the other.
east=qpx-ve-$$ west=qpx-vw-$$
for ns in $east $west; do ip netns add $ns; cleanups+=("ip netns del $ns"); done
ip link add v0 netns $east type veth peer name v0 netns $west
for ns in $east $west; do ip -n $ns link set v0 up; ip -n $ns link set lo up; done
ip -n $east addr add 192.168.79.1/24 dev v0
ip -n $west addr add 192.168.79.2/24 dev v0
# vlan ID: makes the VLAN on both ends of the wire; on kernels without 802.1Q, a separate wire
# instead.
vlan() {
    if ip -n $east link add link v0 name "vlan$1" type vlan id "$1" 2>/dev/null; then
        ip -n $west link add link v0 name "vlan$1" type vlan id "$1"
    else
        ip link add "vlan$1" netns $east type veth peer name "vlan$1" netns $west
    fi
    for ns in $east $west; do ip -n $ns link set "vlan$1" up; done
}
for id in 10 20 30; do vlan $id; done
ip -n $east -d link show vlan10 2>/dev/null | grep -q 'vlan protocol 802.1Q' ||
    skip 'VLANs on one wire' 'this kernel has no 802.1Q: the cases below have a wire for each network'
ip -n $east addr add 10.81.10.1/24 dev vlan10
ip -n $east addr add 10.81.20.1/24 dev vlan20
ip -n $west addr add 10.81.30.2/24 dev vlan30
ip -n $west addr add 10.81.20.2/24 dev vlan20
ip -n $east addr add fd81:20::1/64 dev vlan20 nodad
ip -n $west addr add fd81:20::2/64 dev vlan20 nodad
ip -n $west addr add 10.81.10.2/24 dev vlan10
in_ns() { as_user="ip netns exec $1"; shift; "$@"; as_user=''; }
pair=$PWD/build/bin/qpx_c_pair

# start EAST_ADDRESSES WEST_ADDRESSES: starts cards with these addresses, in the order of their GID
# tables.
start() {
    local a b
    for a in $1; do set -- "$1" "$2" "${3:-} --ip $a"; done
    for b in $2; do set -- "$1" "$2" "$3" "${4:-} --ip $b"; done
    # shellcheck disable=SC2086
    { in_ns $east start_card vlan-east --wire roce $3; in_ns $west start_card vlan-west --wire roce $4; }
}
stop() {
    in_ns $east "$dingo" card stop vlan-east >/dev/null
    in_ns $west "$dingo" card stop vlan-west >/dev/null
}
# meet NAME REGEX COMMAND [HOST]: case: COMMAND listens in $east and connects from $west; both exit
# with status 0 and print a line like REGEX.
meet() {
    local out rc_a=0 rc_b=0 pid
    out=$logs/$(slug "$1")
    ip netns exec $east timeout 60 "$dingo" run --card vlan-east -- $3 >"$out.A" 2>&1 &
    pid=$!
    ip netns exec $west timeout 60 "$dingo" run --card vlan-west -- $3 "${4:-192.168.79.1}" >"$out.B" 2>&1 || rc_b=$?
    wait $pid || rc_a=$?
    if [ "$rc_a $rc_b" = '0 0' ] && grep -qE "$2" "$out.A" && grep -qE "$2" "$out.B"; then
        pass "$1"
    else
        fail "$1" "status A $rc_a B $rc_b: $(why "$out.A") | $(why "$out.B")"
    fi
}

export QPX_LIBRARY PYTHONPATH
QPX_LIBRARY=$(ls "$PWD"/build/qp-exchange/libqp*.so | head -n 1) PYTHONPATH=$PWD/qp-exchange/python
start '10.81.10.1/24 10.81.20.1/24' '10.81.30.2/24 10.81.20.2/24'
common='between 10.81.20.(1 and 10.81.20.2|2 and 10.81.20.1)$'
meet 'two networks on each side: both take the one that they share (C)' "$common" "$pair"
meet 'the pair for who changes the states by verbs (C)' "$common" "$pair -r"
meet 'two networks on each side (Python)' "$common" "python3 tests/qp-exchange/c/pair.py"
meet 'two networks on each side (C++)' '^(from|written to) ' "$PWD/build/bin/write_hello"
# Checks that the GIDs that the sides would choose alone do not fit, or the cases above would prove
# nothing.
out=$logs/alone rc=0
ip netns exec $east timeout 30 "$dingo" run --card vlan-east -- "$pair" -c >"$out.A" 2>&1 &
pid=$!
ip netns exec $west timeout 30 "$dingo" run --card vlan-west -- "$pair" -c 192.168.79.1 >"$out.B" 2>&1 || rc=$?
wait $pid || true
if [ $rc != 0 ] && grep -qE 'no route|nobody answers|retry counter exceeded' "$out.A" "$out.B"; then
    pass 'two networks on each side: without candidates they do not meet'
else
    fail 'two networks on each side: without candidates they do not meet' "status $rc: $(why "$out.A") | $(why "$out.B")"
fi
stop
# One family in common.
start '10.81.10.1/24 fd81:20::1/64' '10.81.30.2/24 fd81:20::2/64'
meet 'the network that both share is one of IPv6' 'between fd81:20::(1 and fd81:20::2|2 and fd81:20::1)$' "$pair"
stop
# Both networks are common: they choose the one of their connection, whatever the order of the GID
# tables.
start '10.81.10.1/24 10.81.20.1/24' '10.81.20.2/24 10.81.10.2/24'
for net in 10 20; do
    meet "both networks in common, connected over VLAN $net" "between 10.81.$net.(1 and 10.81.$net.2|2 and 10.81.$net.1)\$" "$pair -m" "10.81.$net.1"
done
meet 'both networks in common, connected over neither' 'between 10.81.(10.1 and 10.81.10.2|10.2 and 10.81.10.1|20.1 and 10.81.20.2|20.2 and 10.81.20.1)$' "$pair -m"
stop
