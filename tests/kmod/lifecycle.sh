#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs as root inside a guest with a card: the driver's life cycle, each step ended by a ping over
# the card. One line a case: PASS name, FAIL name: why. Reset, reload and recovery run with an RDMA
# device open. The kernel must run with iomem=relaxed: break_card.py writes the card's registers.
#
# usage: lifecycle.sh PEER CONTRACT      (CONTRACT: the header dingo_hw.h)
set -u
peer=${1:?usage: lifecycle.sh PEER CONTRACT}
contract=${2:?usage: lifecycle.sh PEER CONTRACT}
here=$(dirname "$(realpath "$0")")
pci=$(basename "$(dirname "$(grep -lx 0xd160 /sys/bus/pci/devices/*/device | head -n 1)")")
sys=/sys/bus/pci/devices/$pci
failed=0

netdev() { ls "$sys/net" 2>/dev/null; }

# works: the interface carries frames and there is an RDMA device; gives both a while to appear.
works() {
    local n
    for n in $(seq 20); do
        if [ -n "$(netdev)" ] && [ -n "$(ls "$sys/infiniband" 2>/dev/null)" ] &&
            ping -c 1 -W 2 "$peer" >/dev/null 2>&1; then
            return 0
        fi
        sleep 0.5
    done
    return 1
}

# check NAME COMMAND...: the command succeeds, and afterwards everything works.
check() {
    local name=$1 out rc=0
    shift
    out=$("$@" 2>&1) || rc=$?
    if [ $rc != 0 ]; then
        echo "FAIL $name: status $rc: $(tail -n 1 <<<"$out")"
        failed=1
    elif ! works; then
        echo "FAIL $name: no traffic afterwards: $(dmesg | tail -n 1)"
        failed=1
    else
        echo "PASS $name"
    fi
}

# opened COMMAND...: run it while a process waits for events of the RDMA device.
opened() {
    local pid rc=0
    ibv_asyncwatch -d "$(ls "$sys/infiniband")" >/tmp/lifecycle.events 2>&1 &
    pid=$!
    sleep 1
    "$@" || rc=$?
    sleep 1
    kill $pid 2>/dev/null
    wait $pid 2>/dev/null
    grep -q DEVICE_FATAL /tmp/lifecycle.events || { echo "no DEVICE_FATAL event"; rc=1; }
    return $rc
}

sysfs_reset() { echo 1 >"$sys/reset"; }
reload() { devlink dev reload "pci/$pci" >/dev/null; }
recoveries() { dmesg | grep -c "$pci: recovered"; }
# recovers REGEX COMMAND...: the driver notices what COMMAND did, and brings the card back;
# REGEX: what its reporter then has as the last failure (the event of the card may come before the next look at it).
recovers() {
    local failure=$1 before n
    shift
    before=$(recoveries)
    sleep 2 # a failure soon after a recovery is left to the administrator
    "$@" || return 1
    for n in $(seq 120); do
        [ "$(recoveries)" = "$before" ] || break
        sleep 0.5
    done
    [ "$(recoveries)" -gt "$before" ] || { echo "did not recover"; return 1; }
    devlink health diagnose "pci/$pci" reporter fatal | grep -qE "$failure" ||
        { devlink health diagnose "pci/$pci" reporter fatal | tr '\n' ' '; return 1; }
}
lose_bars() { recovers 'does not answer|was restarted' setpci -s "$pci" COMMAND=0; }
break_card() { python3 "$here/break_card.py" "$sys/resource0" "$contract" "$1"; }
# A command that waits for an answer ends with an error, in the contract's ADMIN_TIMEOUT_MS and some.
no_answer() {
    local rc=0
    break_card silent || return 1
    timeout 50 rdma statistic show >/dev/null 2>&1 || rc=$?
    [ $rc != 0 ] && [ $rc != 124 ] || { echo "a command without an answer ended with status $rc"; return 1; }
}
remove_rescan() { echo 1 >"$sys/remove" && echo 1 >/sys/bus/pci/rescan; }
module_reloads() {
    local n
    for n in $(seq 20); do
        modprobe -r dingo_ib dingo && modprobe dingo && udevadm settle || { echo "broke at $n"; return 1; }
    done
}
mtu_changes() {
    local mtu was rc=0
    was=$(cat "$sys/net/$(netdev)/mtu")
    ping -q -i 0.01 -w 4 "$peer" >/dev/null 2>&1 &
    for mtu in 1500 9216 1280 4000 9000; do
        ip link set "$(netdev)" mtu $mtu || rc=1
        sleep 0.3
    done
    wait
    ip link set "$(netdev)" mtu "$was"
    return $rc
}
# More addresses than the card's table holds: the card must take all of them nevertheless.
many_addresses() {
    local n rc=0
    for n in $(seq 80); do
        ip maddr add "33:33:00:00:77:$(printf %02x "$n")" dev "$(netdev)" || rc=1
    done
    sleep 1
    for n in $(seq 80); do
        ip maddr del "33:33:00:00:77:$(printf %02x "$n")" dev "$(netdev)" || rc=1
    done
    return $rc
}

check "traffic before" true
check "MTU changes under traffic" mtu_changes
check "more multicast addresses than the table holds" many_addresses
check "function-level reset with an open context" opened sysfs_reset
check "devlink reload with an open context" opened reload
check "recovery from lost BARs with an open context" opened lose_bars
check "a second recovery" lose_bars
check "no answer to a command, with an open context" opened recovers 'command timed out' no_answer
check "unreadable admin ring (STATUS.FATAL), with an open context" \
    opened recovers 'fatal error|could not access the admin queue' break_card unreadable
check "both again" recovers 'fatal error|could not access the admin queue' break_card unreadable
check "remove and rescan with an open context" opened remove_rescan
check "twenty reloads of the module" module_reloads
exit $failed
