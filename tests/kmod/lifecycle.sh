#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs as root in a guest with a card: tests the driver's life cycle; each step ends with a ping
# over the card. Prints a line for each case: PASS name, FAIL name: why. Reset, reload and recovery
# run with an RDMA
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

# works: waits for the interface and the RDMA device; succeeds if the interface carries frames.
works() {
    local n
    for n in $(seq 120); do
        if [ -n "$(netdev)" ] && [ -n "$(ls "$sys/infiniband" 2>/dev/null)" ] &&
            ping -c 1 -W 2 "$peer" >/dev/null 2>&1; then
            return 0
        fi
        sleep 0.5
    done
    return 1
}

# check NAME COMMAND...: case: COMMAND succeeds, and afterwards everything works.
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

# opened COMMAND...: runs COMMAND while a process waits for events of the RDMA device.
opened() {
    local pid n rc=0
    udevadm settle # udev renames the device
    ibv_asyncwatch -d "$(ls "$sys/infiniband")" >/tmp/lifecycle.events 2>&1 &
    pid=$!
    for n in $(seq 100); do
        # shellcheck disable=SC2010
        ! ls -l /proc/$pid/fd 2>/dev/null | grep -q infinibandevent || break
        sleep 0.1
    done
    "$@" || rc=$?
    for n in $(seq 50); do
        ! grep -q DEVICE_FATAL /tmp/lifecycle.events || break
        sleep 0.1
    done
    kill $pid 2>/dev/null
    wait $pid 2>/dev/null
    grep -q DEVICE_FATAL /tmp/lifecycle.events || { echo "no DEVICE_FATAL event"; rc=1; }
    return $rc
}

sysfs_reset() { echo 1 >"$sys/reset"; }
reload() { devlink dev reload "pci/$pci" >/dev/null; }
recoveries() { dmesg | grep -c "$pci: recovered"; }
# recovers REGEX COMMAND...: succeeds if the driver notices what COMMAND broke and recovers the
# card. REGEX matches the last failure of its health reporter (the card's event may come before the
# periodic check).
recovers() {
    local failure=$1 before n
    shift
    before=$(recoveries)
    sleep 2 # the driver does not recover from a failure soon after a recovery
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
# no_answer: a command without an answer fails after the contract's ADMIN_TIMEOUT_MS.
no_answer() {
    local rc=0
    break_card silent || return 1
    timeout 50 rdma statistic show >/dev/null 2>&1 || rc=$?
    [ $rc != 0 ] && [ $rc != 124 ] || { echo "a command without an answer ended with status $rc"; return 1; }
}
# sleep_and_wake: suspends for 3 s, as far as the kernel's pm_test goes: the card's state survives.
sleep_and_wake() {
    local before rc=0
    before=$(dmesg | grep -c "$pci: failed")
    echo 3 >/sys/module/suspend/parameters/pm_test_delay
    echo platform >/sys/power/pm_test && echo freeze >/sys/power/state || rc=1
    echo none >/sys/power/pm_test
    works || rc=1
    sleep 2 # the driver checks the card each second
    [ "$(dmesg | grep -c "$pci: failed")" = "$before" ] || { dmesg | grep "$pci: failed" | tail -n 1; rc=1; }
    return $rc
}
# beside_an_image: while a program keeps /dev/snapshot open to write a hibernation image, nothing is
# frozen: a failed card must recover, also if the machine slept meanwhile, and after the program has
# closed it.
beside_an_image() {
    local rc=0 reason='fatal error|could not access the admin queue'
    exec 9</dev/snapshot || return 1
    recovers "$reason" break_card unreadable && sleep_and_wake && recovers "$reason" break_card unreadable || rc=1
    exec 9<&-
    [ $rc = 0 ] && recovers "$reason" break_card unreadable
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
# many_addresses: with more addresses than its table holds, the card must still receive for all of
# them.
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

# The RDMA module is unloaded and loaded alone.
loaded() { lsmod | grep -q "^$1 "; }
aux() { find /sys/bus/auxiliary/devices -name 'dingo.rdma.*' | wc -l; }
rdma_reloads() {
    local n index out
    index=$(cat "$sys/net/$(netdev)/ifindex")
    out=$(mktemp)
    ping -q -i 0.05 -c 200 "$peer" >"$out" 2>&1 &
    for n in $(seq 5); do
        rmmod dingo_ib && [ ! -e "$sys/infiniband" ] && modprobe dingo_ib && [ -e "$sys/infiniband" ] ||
            { echo "broke at $n"; return 1; }
        sleep 1
    done
    wait
    grep -q ' 0% packet loss' "$out" || { tail -n 2 "$out" | tr '\n' ' '; return 1; }
    [ "$index" = "$(cat "$sys/net/$(netdev)/ifindex")" ] || { echo "another network interface"; return 1; }
}
rdma_goes() { udevadm settle && python3 "$here/open_context.py" "$(ls "$sys/infiniband")" rmmod dingo_ib && modprobe dingo_ib; }
wrong_order() {
    ! rmmod dingo 2>/tmp/lifecycle.rmmod || { echo "dingo went before dingo_ib"; return 1; }
    grep -q 'in use by: dingo_ib' /tmp/lifecycle.rmmod || { cat /tmp/lifecycle.rmmod; return 1; }
}
right_order() {
    rmmod dingo_ib && [ "$(aux)" = 1 ] || { echo "the auxiliary device is not there without dingo_ib"; return 1; }
    rmmod dingo && [ "$(aux)" = 0 ] || { echo "the auxiliary device is there without dingo"; return 1; }
    modprobe dingo && udevadm settle && loaded dingo_ib || { echo "dingo_ib was not loaded for the card"; return 1; }
}
# unload_rdma: unloads the users of ib_core, in as many rounds as needed, then ib_core.
unload_rdma() {
    local users
    while users=$(lsmod | awk '$1 == "ib_core" { gsub(",", " ", $4); print $4 }') && [ -n "$users" ]; do
        # shellcheck disable=SC2086
        rmmod $users 2>/tmp/lifecycle.rmmod
        [ "$users" != "$(lsmod | awk '$1 == "ib_core" { gsub(",", " ", $4); print $4 }')" ] ||
            { cat /tmp/lifecycle.rmmod; return 1; }
    done
    ! loaded ib_core || rmmod ib_core
}
reaches_peer() {
    local n
    for n in $(seq 20); do
        ! ping -c 1 -W 2 "$peer" >/dev/null 2>&1 || return 0
        sleep 0.5
    done
    echo "no answer of the peer $1"
    return 1
}
without_rdma() {
    unload_rdma && rmmod dingo && modprobe dingo && udevadm settle && reaches_peer 'without ib_core' && reload &&
        reaches_peer 'after a reload' && sysfs_reset && reaches_peer 'after a reset' || return 1
    udevadm settle
    ! loaded ib_core && ! loaded dingo_ib || { lsmod | grep -E '^(ib_core|dingo)'; return 1; }
}
ethernet_only() {
    local rc=0
    echo 'blacklist dingo_ib' >/etc/modprobe.d/no-dingo-ib.conf
    udevadm control --reload
    without_rdma || rc=1
    rm /etc/modprobe.d/no-dingo-ib.conf
    udevadm control --reload
    modprobe -a ib_uverbs rdma_ucm ib_umad dingo_ib || rc=1
    return $rc
}

# RDMA is disabled by devlink, also after a reset, and enabled again.
param() { devlink dev param set "pci/$pci" name enable_rdma value "$1" cmode driverinit; }
rdma_by_parameter() {
    param false && reload && reaches_peer 'without RDMA' && [ "$(aux)" = 0 ] && [ ! -e "$sys/infiniband" ] ||
        { echo 'RDMA is still there'; param true; return 1; }
    sysfs_reset && reaches_peer 'without RDMA, after a reset' && [ "$(aux)" = 0 ] || { echo 'a reset brought it back'; return 1; }
    param true && reload && udevadm settle && [ "$(aux)" = 1 ]
}
# devlink's tx reporter: diagnoses the rings and recreates them under traffic.
tx_reporter() {
    local rc=0 n
    ping -q -i 0.05 -c 100 "$peer" >/tmp/lifecycle.ping 2>&1 &
    devlink health diagnose "pci/$pci" reporter tx | grep -q 'tx done' || { echo 'no diagnosis'; rc=1; }
    for n in 1 2 3; do
        devlink health recover "pci/$pci" reporter tx || rc=1
        sleep 0.6
    done
    wait
    [ "$(sed -nE 's/.* ([0-9]+) received.*/\1/p' /tmp/lifecycle.ping)" -gt 80 ] || { tail -n 2 /tmp/lifecycle.ping; rc=1; }
    return $rc
}
# traces: each admin command and each change of state is a trace event.
traces() {
    local t=/sys/kernel/tracing
    mountpoint -q $t || mount -t tracefs nodev $t || return 1
    echo 1 >$t/events/dingo/enable && rdma statistic show >/dev/null && sysfs_reset && works || return 1
    echo 0 >$t/events/dingo/enable
    grep -qE "dingo_admin: $pci opcode 0x02 status 0 detail 0 error 0 in [0-9]+ ns" $t/trace &&
        grep -qE "dingo_state: $pci is down: reset" $t/trace && grep -qE "dingo_state: $pci is up: started" $t/trace ||
        { tail -n 3 $t/trace; return 1; }
}

check "traffic before" true
check "RDMA off and on by devlink's enable_rdma" rdma_by_parameter
check "devlink's reporter of the rings" tx_reporter
check "trace events" traces
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
if [ -e /sys/power/pm_test ]; then
    check "the machine sleeps and wakes, with an open context" opened sleep_and_wake
    check "it sleeps again" sleep_and_wake
else
    echo "SKIP the machine sleeps and wakes: this kernel cannot"
fi
if [ -e /sys/power/pm_test ] && [ -e /dev/snapshot ]; then
    check "recoveries while an image of the machine is written" beside_an_image
else
    echo "SKIP recoveries while an image of the machine is written: this kernel cannot"
fi
check "twenty reloads of the modules" module_reloads
check "dingo_ib goes and comes five times while the interface carries traffic" rdma_reloads
check "dingo_ib goes with an open context: DEVICE_FATAL, then EIO" opened rdma_goes
check "dingo does not go before dingo_ib" wrong_order
check "dingo takes its auxiliary device along, and brings dingo_ib back" right_order
check "the interface without ib_core: traffic, reload, reset" ethernet_only
exit $failed
