# SPDX-License-Identifier: BSD-2-Clause
# Tests which GIDs a process may use with shared and exclusive network namespaces. Guest A has two
# addresses, one on the card's interface and one on a VLAN on it; tests/kmod/foreign_gid.c asks the
# driver for a foreign GID, and also writes its index into a work request itself.

build_foreign_gid() {
    need_packages gcc libc6-dev libibverbs-dev
    mkdir -p "$logs/program"
    python3 hw/contract/gen.py hw/contract/dingo.toml --c "$logs/dingo_hw.h" &&
        gcc -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -I"$logs" -o "$logs/program/foreign_gid" tests/kmod/foreign_gid.c -libverbs ||
        { fail foreign_gid 'the program did not build'; exit 1; }
}
build_foreign_gid

# try NAME BEFORE OWN FOREIGN REGEX...: case: runs foreign_gid in the namespace that BEFORE enters,
# with the GIDs of these IPv4 addresses (in sysfs' notation); its output must have a line like each
# REGEX.
try() {
    local name=$1 before=$2 own=$3 foreign=$4 line out
    out=$logs/$(slug "$name").out
    shift 4
    # Polls, because a work queue adds addresses to the GID table.
    if ! in_guest A "$before bash -c 'index() { for i in \$(seq 100); do
            grep -l \"ffff:\$1\$\" /sys/class/infiniband/*/ports/1/gids/* | while read -r g; do
                i=\${g##*/}; grep -q v2 \${g%/gids/*}/gid_attrs/types/\$i && echo \$i; done | grep -m 1 . && return; sleep 0.1; done; echo none; }
        /root/foreign/foreign_gid \$(ls /sys/class/infiniband) \$(index $own) \$(index $foreign)'" >"$out" 2>&1; then
        fail "$name" "$(tail -n 2 "$out" | tr '\n' ' ' | cut -c1-200)"
        return
    fi
    for line in "$@"; do
        grep -qE "^$line\$" "$out" || { fail "$name" "no line '$line': $(tr '\n' ';' <"$out" | cut -c1-400)"; return; }
    done
    pass "$name"
}
own_works=('datagram with the own address: success' 'it arrives: success' 'connection with the own address: made')
all_work=("${own_works[@]}" 'address handle: made' 'datagram with the foreign address: success' 'connection with the foreign address: made')
driver_refuses=("${own_works[@]}" 'address handle: Invalid argument' 'connection with the foreign address: Invalid argument')
denied() { in_guest A 'ip netns exec inner bash -c "cat /sys/class/infiniband/*/ports/1/hw_counters/gid_denied"'; }
first=0a4d:0001 vlan=0a4e:0001

start() {
    boot "$@" "${vm_options[@]}"
    "$vm" push --quiet --name "$session" A "$logs/program/foreign_gid" tests/kmod/open_context.py /root/foreign
    single "$named: a VLAN in the first namespace" A 'modprobe 8021q; n=$(cat /run/dingo/netdev)
ip link add link $n name v7 type vlan id 7 && ip addr add 10.78.0.1/24 dev v7 && ip link set v7 up'
}
exclude() {
    single "$named: who has the card open when it goes into a namespace loses it" A 'set -e
d=$(ls /sys/class/infiniband)
rdma system set netns exclusive
ip netns add inner
python3 /root/foreign/open_context.py $d rdma dev set $d netns inner'
    single "$named: its interface goes there, the VLAN stays" A 'set -e
n=$(cat /run/dingo/netdev)
ip link set $n netns inner
ip -n inner link set lo up; ip -n inner link set $n up; ip -n inner addr add 10.77.0.1/24 dev $n
ip link set v7 up
for i in $(seq 100); do ! ip netns exec inner ping -c 1 -W 1 10.77.0.2 >/dev/null || exit 0; done; exit 1'
}

named=shared
start
single 'shared: another namespace' A 'ip netns add inner'
try 'shared: a process of any namespace may use every GID' 'ip netns exec inner' $first $vlan "${all_work[@]}"
try 'shared: one of the first namespace as well' env $vlan $first "${all_work[@]}"
single 'shared: it goes' A 'ip netns del inner'

named=exclusive
exclude
try 'exclusive: the address of another namespace is an error' 'ip netns exec inner' $first $vlan \
    "${driver_refuses[@]}" 'datagram with the foreign address: local QP operation error'
count=$(denied) || count=none
if [ "$count" = 1 ]; then pass 'exclusive: the card counted it'; else fail 'exclusive: the card counted it' "gid_denied: $count"; fi
single 'exclusive: the VLAN comes into the namespace' A 'ip link set v7 netns inner && ip -n inner addr add 10.78.0.1/24 dev v7 && ip -n inner link set v7 up'
try 'exclusive: its address may then be used' 'ip netns exec inner' $first $vlan "${all_work[@]}"
single 'exclusive: the card comes back' A 'ip netns del inner
for i in $(seq 100); do n=$(ls /sys/class/infiniband/*/device/net 2>/dev/null || true); [ -z "$n" ] || break; sleep 0.1; done
rdma system set netns shared && ip link set $n up && ip addr add 10.77.0.1/24 dev $n
for i in $(seq 100); do ! ping -c 1 -W 1 10.77.0.2 >/dev/null || exit 0; done; exit 1'
clean_dmesg
shut_down

# Without the capability, only the driver checks: it cannot stop a process that writes work requests
# itself.
named='a card without domains'
start --card-args '--without gid_domains'
exclude
try 'a card without domains: the driver refuses, the card does not' 'ip netns exec inner' $first $vlan \
    "${driver_refuses[@]}" 'datagram with the foreign address: success'
clean_dmesg
shut_down
