#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs as root in a guest with a card: tests the network interface's settings by ethtool, each with
# TCP traffic whose bytes are verified. The peer runs `tcp_bytes.py serve`. Prints a line for each
# case: PASS name, FAIL name: why.
#
# usage: ethernet.sh PEER PORT VLAN-PEER PEER6      (VLAN-PEER: its address in VLAN 77; PEER6: its IPv6 address)
set -u
peer=${1:?usage: ethernet.sh PEER PORT VLAN-PEER PEER6}
port=$2
vlan_peer=$3
peer6=$4
here=$(dirname "$(realpath "$0")")
pci=$(basename "$(dirname "$(grep -lx 0xd160 /sys/bus/pci/devices/*/device | head -n 1)")")
sys=/sys/bus/pci/devices/$pci
dev=$(ls "$sys/net")
bytes=2000000
failed=0

# check NAME COMMAND...: case: COMMAND succeeds.
check() {
    local name=$1 out rc=0
    shift
    out=$("$@" 2>&1) || rc=$?
    if [ $rc = 0 ]; then
        echo "PASS $name"
    else
        echo "FAIL $name: status $rc: $(tail -n 2 <<<"$out" | tr '\n' ' ')"
        failed=1
    fi
}
tcp() { python3 "$here/tcp_bytes.py" check "$1" "$port" "${2:-$bytes}" "${3:-1}"; }
feature() { ethtool -k "$dev" | grep -qE "^\s*$1: $2" || { ethtool -k "$dev" | grep "$1"; return 1; }; }
counter() { ethtool -S "$dev" | sed -nE "s/^ *$1: //p"; }
sent() { cat "/sys/class/net/$dev/statistics/tx_$1"; }
refused() { # COMMAND...: succeeds if COMMAND fails with a message
    local out
    ! out=$("$@" 2>&1) || { echo "accepted: $*"; return 1; }
    [ -n "$out" ]
}

offloads_are_on() {
    local name
    for name in tx-checksum-ip-generic tcp-segmentation-offload tx-tcp6-segmentation rx-checksumming receive-hashing; do
        feature "$name" on || return 1
    done
}
# segments: the card makes more frames than the stack gave it (TSO), and both counters agree.
segments() {
    local packets bytes_sent was_packets was_bytes n
    was_packets=$(counter eth_tx_packets) was_bytes=$(counter eth_tx_bytes)
    packets=$(sent packets) bytes_sent=$(sent bytes)
    timeout 60 tcpdump -ni "$dev" -c 5 "tcp and greater 3200 and dst $peer" >/tmp/ethernet.long 2>/tmp/ethernet.tcpdump &
    for n in $(seq 200); do ! grep -q '^listening' /tmp/ethernet.tcpdump || break; sleep 0.1; done
    tcp "$peer" 6000000 || return 1
    wait $! || { echo 'the stack gave the card no long frame'; return 1; }
    sleep 0.5
    packets=$(($(sent packets) - packets)) bytes_sent=$(($(sent bytes) - bytes_sent))
    was_packets=$(($(counter eth_tx_packets) - was_packets)) was_bytes=$(($(counter eth_tx_bytes) - was_bytes))
    [ $packets -gt 600 ] || { echo "$packets frames"; return 1; }
    # A few frames may pass between the two readings.
    [ $((packets - was_packets)) -le 3 ] && [ $((was_packets - packets)) -le 3 ] ||
        { echo "the interface counts $packets, the card $was_packets"; return 1; }
    [ "$(counter eth_tx_errors)" = 0 ]
}
all_csum_ok() { ethtool -S "$dev" | awk '/rx[0-9]+_csum_ok:/ { n += $2 } END { print n }'; }
checked() { # the card verifies the checksums of most frames, and of none when that is off
    local frames ok
    frames=$(counter eth_rx_packets) ok=$(all_csum_ok)
    tcp "$peer" || return 1
    frames=$(($(counter eth_rx_packets) - frames)) ok=$(($(all_csum_ok) - ok))
    [ $ok -gt $((frames * 8 / 10)) ] || { echo "$ok of $frames frames"; return 1; }
    ethtool -K "$dev" rx off && ok=$(all_csum_ok) && tcp "$peer" && [ "$(all_csum_ok)" = "$ok" ] && ethtool -K "$dev" rx on
}
each_off() {
    local name
    for name in tso tx rx rxhash sg; do
        ethtool -K "$dev" $name off && tcp "$peer" && ethtool -K "$dev" $name on || { echo "$name"; return 1; }
    done
    ethtool -K "$dev" tx on sg on tso on rx on rxhash on && offloads_are_on
}
over_vlan() {
    ip link add link "$dev" name vlan77 type vlan id 77 && ip addr add "${vlan_peer%.*}.1/24" dev vlan77 &&
        ip link set vlan77 up || return 1
    local rc=0
    ethtool -k vlan77 | grep -q '^tcp-segmentation-offload: on' || { echo 'no TSO above the VLAN'; rc=1; }
    tcp "$vlan_peer" || rc=1
    ip link del vlan77
    return $rc
}
most_channels() { ethtool -l "$dev" | awk '/^Combined:/ { print $2; exit }'; }
many_flows() { tcp "$peer" 300000 8; }
ring_sizes() {
    local size
    for size in 64 100 4096; do
        ethtool -G "$dev" rx $size tx $size && tcp "$peer" || return 1
    done
    [ "$(ethtool -g "$dev" | awk '/^RX:/ { n = $2 } END { print n }')" = 4096 ] || { ethtool -g "$dev"; return 1; }
    refused ethtool -G "$dev" rx 32 && refused ethtool -G "$dev" tx 8192 && refused ethtool -G "$dev" rx 0 &&
        ethtool -G "$dev" rx 512 tx 256 && tcp "$peer"
}
channels() {
    local most
    most=$(most_channels)
    ethtool -L "$dev" combined 1 && tcp "$peer" && [ "$(ls -d /sys/class/net/"$dev"/queues/tx-* | wc -l)" = 1 ] || return 1
    refused ethtool -L "$dev" combined $((most + 1)) && refused ethtool -L "$dev" combined 0 &&
        refused ethtool -L "$dev" rx 1 || return 1
    ethtool -L "$dev" combined "$most" && many_flows && [ "$(ls -d /sys/class/net/"$dev"/queues/rx-* | wc -l)" = "$most" ]
}
# spreading: the RSS table directs all frames to one ring.
spreading() {
    local one other was_one was_other ring
    ethtool -x "$dev" | grep -q 'toeplitz: on' || { ethtool -x "$dev" | tail -n 5; return 1; }
    # A guest with one processor has one channel.
    [ "$(most_channels)" -gt 1 ] || { ethtool -X "$dev" equal 1 && refused ethtool -X "$dev" weight 1 1 && many_flows && ethtool -X "$dev" default; return; }
    for ring in 0 1; do
        ethtool -X "$dev" weight $((1 - ring)) $ring || return 1
        ! ethtool -x "$dev" | grep -qE "^ +[0-9]+:.* $((1 - ring))( |$)" || { ethtool -x "$dev"; return 1; }
        was_one=$(counter rx${ring}_packets) was_other=$(counter rx$((1 - ring))_packets)
        many_flows || return 1
        one=$(($(counter rx${ring}_packets) - was_one)) other=$(($(counter rx$((1 - ring))_packets) - was_other))
        # ARP frames go to the first ring.
        [ $one -gt 200 ] && [ $other -lt 20 ] || { echo "ring $ring: $one frames, the other: $other"; return 1; }
    done
    refused ethtool -X "$dev" hfunc xor && refused ethtool -X "$dev" equal 9 && refused ethtool -L "$dev" combined 1 &&
        ethtool -X "$dev" default
}
a_key() { local n; for n in $(seq 40); do printf '%s%02x' "${sep:-}" "$n"; sep=:; done; }
# after_a_reset: the user's settings survive a reset of the card.
after_a_reset() {
    local key before
    key=$(a_key)
    ethtool -X "$dev" hkey "$key" equal 1 && ethtool -G "$dev" rx 128 || return 1
    before=$(ethtool -x "$dev"; ethtool -g "$dev")
    grep -q "$key" <<<"$before" || { echo "another key"; return 1; }
    devlink dev reload "pci/$pci" >/dev/null && sleep 1 || return 1
    [ "$before" = "$(ethtool -x "$dev"; ethtool -g "$dev")" ] || { echo 'others after the reset'; return 1; }
    tcp "$peer" && ethtool -X "$dev" default && ethtool -G "$dev" rx 512 tx 512
}
under_traffic() {
    local n most rc=0
    most=$(most_channels)
    tcp "$peer" 20000000 &
    for n in 1 2 3 4; do
        ethtool -G "$dev" rx $((64 << n)) && ethtool -L "$dev" combined $((n % most + 1)) && ip link set "$dev" mtu $((1400 + n)) || rc=1
    done
    wait $! || rc=1
    ip link set "$dev" mtu 1500
    ethtool -L "$dev" combined "$(most_channels)" && return $rc
}

ip link set "$dev" mtu 1500
# interrupts: prints the number of interrupts. With a long coalescing time there are fewer for as
# many frames.
interrupts() { awk -v name="dingo-comp.*@$pci" '$0 ~ name { for (i = 2; $i ~ /^[0-9]+$/; i++) n += $i } END { print n + 0 }' /proc/interrupts; }
# of_pings: prints the interrupts caused by 500 pings, one each 2 ms, whether the last was answered
# or not.
of_pings() { local was; was=$(interrupts); ping -q -i 0.002 -c 500 "$peer" >/dev/null || return 1; echo $(($(interrupts) - was)); }
coalescing() {
    local few many
    ethtool -C "$dev" adaptive-rx off rx-usecs 0 rx-frames 0 && many=$(of_pings) &&
        ethtool -C "$dev" rx-usecs 50000 rx-frames 64 && few=$(of_pings) || return 1
    ethtool -c "$dev" | grep -qE '^rx-usecs:\s+50000' || { ethtool -c "$dev"; return 1; }
    [ "$few" -lt $((many / 2)) ] || { echo "$many interrupts, then $few"; return 1; }
    refused ethtool -C "$dev" rx-usecs 70000 && refused ethtool -C "$dev" rx-usecs 0 rx-frames 8 && refused ethtool -C "$dev" tx-usecs 5 || return 1
    devlink dev reload "pci/$pci" >/dev/null && sleep 1 && ethtool -c "$dev" | grep -qE '^rx-usecs:\s+50000' && ping -q -c 2 "$peer" >/dev/null || return 1
    ethtool -C "$dev" adaptive-rx on && tcp "$peer" 10000000 && ethtool -L "$dev" combined 1 && tcp "$peer" && ethtool -C "$dev" adaptive-rx off rx-usecs 0 rx-frames 0 &&
        ethtool -L "$dev" combined "$(most_channels)" && tcp "$peer"
}

check "offloads are on" offloads_are_on
check "TCP is cut by the card, and counted alike" segments
check "received sums are looked at" checked
check "IPv6" tcp "$peer6"
check "each offload switched off and on" each_off
check "offloads above a VLAN" over_vlan
check "many flows" many_flows
check "sizes of the rings" ring_sizes
check "number of channels" channels
check "a table spreads what comes" spreading
check "interrupts wait, by a time or adaptively" coalescing
check "key, table and sizes outlive a reset" after_a_reset
check "changes under traffic" under_traffic
check "MTU of 9000" sh -c "ip link set $dev mtu 9000; python3 $here/tcp_bytes.py check $peer $port $bytes; rc=\$?; ip link set $dev mtu 1500; exit \$rc"
exit $failed
