#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs as root in a guest with a card whose admin queue stops answering, while all else of the card
# works: while a process and the network interface wait for commands, the device is removed, reset,
# reloaded or put to sleep. All of them must end soon, not after the commands' timeout (30 s), and
# the card must work afterwards. Prints a line for each case, and before it the time it took. The
# kernel must run with iomem=relaxed: break_card.py writes the card's registers.
#
# usage: unanswered.sh PEER CONTRACT [SLOW]   (CONTRACT: dingo_hw.h; SLOW: factor of time limits)
set -u
peer=${1:?usage: unanswered.sh PEER CONTRACT [SLOW]}
contract=${2:?usage: unanswered.sh PEER CONTRACT [SLOW]}
slow=${3:-1}
here=$(dirname "$(realpath "$0")")
pci=$(basename "$(dirname "$(grep -lx 0xd160 /sys/bus/pci/devices/*/device | head -n 1)")")
sys=/sys/bus/pci/devices/$pci
driver=/sys/bus/pci/drivers/dingo
removal=2000 reset=5000 # milliseconds
failed=0

milliseconds() { echo "${EPOCHREALTIME/./}" | cut -c1-13; }
netdev() { ls "$sys/net" 2>/dev/null; }
device() { ls "$sys/infiniband" 2>/dev/null; }
card() { python3 "$here/break_card.py" "$sys/resource0" "$contract" "$1"; }

works() {
    local n
    for n in $(seq 240); do
        if [ -n "$(netdev)" ] && [ -n "$(device)" ] && ping -c 1 -W 1 "$peer" >/dev/null 2>&1; then
            return 0
        fi
        sleep 0.05
    done
    return 1
}

# waits PID: succeeds once the process sleeps uninterruptibly (state D); fails after ten seconds.
waits() {
    local n
    for n in $(seq 100); do
        [ "$(cut -d' ' -f3 "/proc/$1/stat" 2>/dev/null)" != D ] || return 0
        sleep 0.1
    done
    return 1
}

# ends PID: succeeds once the process has exited; fails after five seconds.
ends() {
    local n
    for n in $(seq $((50 * slow))); do
        [ -e "/proc/$1" ] || return 0
        sleep 0.1
    done
    return 1
}

# within NAME MILLISECONDS COMMAND...: case: COMMAND takes at most that time while a process and the
# network interface wait for a silent card; both end, too, and afterwards everything works.
within() {
    local name=$1 most=$2 begin took rc=0 verbs net out why=''
    shift 2
    udevadm settle # udev renames the device
    works || { echo "FAIL $name: it does not work before: $(dmesg | tail -n 1)"; failed=1; return; }
    sleep 1 # a probe may still run after it has made its device, and removal would wait for it
    card silent
    ibv_rc_pingpong -g 1 -d "$(device)" >/run/unanswered.verbs 2>&1 &
    verbs=$!
    ip link set "$(netdev)" mtu 4000 >/run/unanswered.net 2>&1 &
    net=$!
    waits $verbs && waits $net || why='nobody waits for the card'
    begin=$(milliseconds)
    out=$("$@" 2>&1) || rc=$?
    took=$(($(milliseconds) - begin))
    ends $verbs || { why='a process still waits'; kill $verbs; }
    ends $net || { why='the network interface still waits'; kill $net; }
    wait $verbs && why='the process heard of no error'
    wait $net && why='the network interface heard of no error'
    [ $rc = 0 ] || why="status $rc: $(tail -n 1 <<<"$out")"
    [ $took -le $((most * slow)) ] || why="it took $took ms"
    again || why="no traffic afterwards: $(dmesg | tail -n 1)"
    echo "# $name: $took ms"
    if [ -z "$why" ]; then echo "PASS $name"; else echo "FAIL $name: $why"; failed=1; fi
}

# again: binds the driver if necessary; succeeds if the card works, with RDMA.
again() {
    [ -e "$sys" ] || echo 1 >/sys/bus/pci/rescan
    modprobe -a dingo dingo_ib
    [ -e "$driver/$pci" ] || echo "$pci" >$driver/bind
    works && ip link set "$(netdev)" mtu 9000 && sleep 1.1 # the driver does not recover from a failure soon after a recovery
}

remove() { echo 1 >"$sys/remove"; }
unbind() { echo "$pci" >$driver/unbind; }
# unbind_forgets: the next driver may enable bus mastering, so unbinding must reset the card, which
# then has no addresses of the old driver.
unbind_forgets() {
    local before
    before=$(card resets)
    unbind || return 1
    [ "$(card resets)" != "$before" ] || { echo 'the card was not reset'; return 1; }
}
rmmod_all() { rmmod dingo_ib dingo; }
function_reset() { echo 1 >"$sys/reset"; }
reload() { devlink dev reload "pci/$pci" >/dev/null; }
# Here devlink's lock is held by a task that waits for rtnl, which is held by one that waits for the
# card.
reload_beside_diagnosis() {
    devlink health diagnose "pci/$pci" reporter tx >/dev/null 2>&1 &
    sleep 0.5
    reload
}
# sleeps: suspends up to the freezing of processes, which must not fail on those that wait in the
# kernel. (lifecycle.sh also suspends the devices.)
sleeps() {
    local rc=0
    echo 0 >/sys/module/suspend/parameters/pm_test_delay
    echo freezer >/sys/power/pm_test && echo freeze >/sys/power/state || rc=1
    echo none >/sys/power/pm_test
    return $rc
}

within 'removal while commands wait' $removal remove
within 'unbinding while commands wait' $removal unbind
within 'a card that did not answer is reset before it is given away' $((removal + 3000)) unbind_forgets # starts two more programs
within 'rmmod of both modules while commands wait' $removal rmmod_all
within 'rmmod of dingo_ib while commands wait' $removal rmmod dingo_ib
within 'function-level reset while commands wait' $reset function_reset
within 'devlink reload while commands wait' $reset reload
within 'devlink reload while devlink waits for the interface' $((reset + 5000)) reload_beside_diagnosis
if [ -e /sys/power/pm_test ]; then
    within 'the machine falls asleep while commands wait' $removal sleeps # less than the interface's watchdog (5 s)
else
    echo 'SKIP the machine falls asleep while commands wait: this kernel cannot'
fi
exit $failed
