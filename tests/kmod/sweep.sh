#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The guest's side of the suite sweeps; runs as root. The last line of each command's output is its
# result: how often it did its work, and the longest time.
#
# usage: sweep.sh COMMAND ...
#   traffic PEER|-             perftest until /run/sweep-end exists: server with -, else client
#   churn GID [PEER]           three perftest servers, or clients with PEER, and verbs_churn
#   resets COUNT PEER          function-level resets under traffic, with an open RDMA context
#   works PEER SECONDS         waits until PEER answers and the RDMA device exists
#   kills COUNT                kill -9 of the programs of traffic and churn at random moments
#   attempt GID                probe, open, every object once, interface down and up; each step may
#                              fail, but must not hang
#   again-bound PEER           rebinds the driver, which must work
#   at-once remove|reset       removes or resets the card; prints the time that took
#   offer-disk|withdraw-disk   NVMe over Fabrics with a shared receive queue, at 10.77.0.1
#   use-disk|leave-disk        the other side, which reads the disk until /run/sweep-end exists
#   nvme-resets COUNT PEER     function-level resets of a card over which an NVMe disk is offered
#   dmabuf-resets COUNT GID PEER  the same for a card with a region of a DMA buffer that moves
#   moving                     waits until the card sends or receives
#   stop                       ends traffic and churn; the caller removes /run/sweep-end
#   left                       waits until no process has RDMA objects
# DINGO_SECONDS: commands with COUNT start no new round after so many seconds, even if COUNT is not
# reached.
set -u
end=/run/sweep-end
here=$(dirname "$(realpath "$0")")
patience=${DINGO_PATIENCE:-60}

pci() { grep -lx 0xd160 /sys/bus/pci/devices/*/device | sed -n '1s,/device$,,; 1s,.*/,,p'; }
device() { ls "/sys/bus/pci/devices/$(pci)/infiniband" 2>/dev/null; }
milliseconds() { echo "${EPOCHREALTIME/./}" | cut -c1-13; }
# moved: prints the 4-byte words that the card has sent and received.
moved() { cat /sys/class/infiniband/*/ports/1/counters/port_{xmit,rcv}_data 2>/dev/null | awk '{ n += $1 } END { print n + 0 }'; }

# begins N COUNT: succeeds if there is time for round N of COUNT; prints the progress.
begins() {
    [ "$1" -le "$2" ] && { [ -z "${DINGO_SECONDS:-}" ] || [ $SECONDS -lt "$DINGO_SECONDS" ]; } && echo "# $(($1 - 1)) of $2 done"
}

# works PEER SECONDS: waits until PEER answers and the RDMA device exists; prints the time that
# took.
works() {
    local begin now
    begin=$(milliseconds)
    until [ -n "$(device)" ] && ping -c 1 -W 1 "$1" >/dev/null 2>&1; do
        now=$(milliseconds)
        [ $((now - begin)) -lt $(($2 * 1000)) ] || { echo "does not work after $2 s: $(dmesg | tail -n 1)"; return 1; }
        sleep 0.02
    done
    now=$(milliseconds)
    echo "works after $((now - begin)) ms"
}

# moving: waits until the card sends or receives at least 64 KiB in 0.2 s.
moving() {
    local before n
    for ((n = 0; n < patience * 5; n++)); do
        before=$(moved)
        sleep 0.2
        [ $(($(moved) - before)) -lt 16384 ] || return 0
    done
    return 1
}

# again COMMAND...: repeats COMMAND until $end exists; kills runs that hang.
again() {
    while [ ! -e $end ]; do
        nice -n 19 timeout -s KILL 40 "$@" >>/run/sweep.out 2>&1 # nice: polling must not starve the disturbing commands
        sleep 0.1
    done
}

# shellcheck disable=SC2086
traffic() {
    local peer=$1
    [ "$peer" != - ] || peer=
    again ib_write_bw -D 12 -u 12 $peer
}

# churn GID-INDEX [PEER]
# shellcheck disable=SC2086
churn() {
    local port=18520 tool
    for tool in ib_write_bw ib_send_bw ib_read_bw; do
        again $tool -p $port -D 5 -u 12 ${2:-} &
        port=$((port + 1))
    done
    again "$here/verbs_churn" "$(device)" "$1"
    wait
}

resets() {
    local count=$1 peer=$2 n begin took slowest=0 under=0 fatal=0 pid out i
    for ((n = 1; ; n++)); do
        begins $n "$count" || break
        works "$peer" "$patience" >/dev/null || { echo "does not work before reset $n"; return 1; }
        moving && under=$((under + 1))
        : >/run/sweep.events
        begin=$SECONDS
        until [ -s /run/sweep.events ]; do
            [ $((SECONDS - begin)) -lt "$patience" ] || { echo "no RDMA device before reset $n"; return 1; }
            udevadm settle # udev renames the device
            stdbuf -oL ibv_asyncwatch -d "$(device)" >/run/sweep.events 2>/dev/null &
            pid=$!
            until [ -s /run/sweep.events ] || [ ! -e /proc/$pid ]; do sleep 0.1; done
        done
        sleep "0.$((RANDOM % 9 + 1))"
        begin=$(milliseconds)
        echo 1 >"/sys/bus/pci/devices/$(pci)/reset" || { echo "reset $n failed"; return 1; }
        out=$(works "$peer" "$patience") || { echo "reset $n: $out"; return 1; }
        took=$(($(milliseconds) - begin))
        [ $took -le $slowest ] || slowest=$took
        for ((i = 0; i < 50; i++)); do ! grep -q DEVICE_FATAL /run/sweep.events || break; sleep 0.1; done
        kill $pid 2>/dev/null
        wait $pid 2>/dev/null
        ! grep -q DEVICE_FATAL /run/sweep.events || fatal=$((fatal + 1))
    done
    n=$((n - 1))
    moving || { echo "no traffic after the last of $n resets"; return 1; }
    echo "$n of $count resets, $under of them under traffic, $fatal seen by an open context, works again after $slowest ms at most"
    [ $n -gt 0 ] && [ $under = $n ] && [ $fatal = $n ]
}

# stop: kills the programs, and keeps again() from starting new ones.
stop() {
    touch $end
    pkill -KILL "$programs"
    return 0
}

driver=/sys/bus/pci/drivers/dingo
unbound() { [ ! -e "$driver/$1" ] || echo "$1" >$driver/unbind; }
bound() { [ -e "$driver/$1" ] || echo "$1" >$driver/bind; }

# attempt GID-INDEX: see usage.
attempt() {
    local card probe=done rc=0 n name
    card=$(pci)
    unbound "$card"
    bound "$card" 2>/dev/null || probe=failed
    for ((n = 0; n < 300; n++)); do
        [ $probe = done ] && [ -z "$(device)" ] || break
        sleep 0.1
    done
    cat /sys/class/infiniband/*/ports/1/hw_counters/* >/dev/null 2>&1
    echo 'no device' >/run/attempt.out
    if [ -n "$(device)" ]; then
        timeout -s KILL 400 "$here/verbs_churn" "$(device)" "$1" once >/run/attempt.out 2>&1 || rc=$?
    fi
    name=$(ls "/sys/bus/pci/devices/$card/net" 2>/dev/null)
    if [ -n "$name" ]; then
        ip link set "$name" down
        ip link set "$name" up
    fi
    echo "probe $probe, $(tail -n 1 /run/attempt.out)"
    return $rc
}

again-bound() {
    local card
    card=$(pci)
    if [ -z "$card" ]; then
        echo 1 >/sys/bus/pci/rescan
        card=$(pci)
    fi
    unbound "$card"
    bound "$card" || { echo 'probe failed'; return 1; }
    works "$1" "$patience"
}

at-once() {
    local begin card
    card=$(pci)
    begin=$(milliseconds)
    echo 1 >"/sys/bus/pci/devices/$card/$1"
    echo "$1 took $(($(milliseconds) - begin)) ms"
}

nvmet=/sys/kernel/config/nvmet
offer-disk() {
    modprobe loop && modprobe nvmet-rdma use_srq=1 || return 1
    mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config || return 1
    truncate -s 32M /tmp/disk && losetup /dev/loop0 /tmp/disk && cd $nvmet &&
        mkdir -p subsystems/dingo/namespaces/1 ports/1 &&
        echo 1 >subsystems/dingo/attr_allow_any_host &&
        echo -n /dev/loop0 >subsystems/dingo/namespaces/1/device_path &&
        echo 1 >subsystems/dingo/namespaces/1/enable &&
        echo rdma >ports/1/addr_trtype && echo ipv4 >ports/1/addr_adrfam &&
        echo 10.77.0.1 >ports/1/addr_traddr && echo 4420 >ports/1/addr_trsvcid &&
        ln -s $nvmet/subsystems/dingo ports/1/subsystems/
}
withdraw-disk() {
    rm $nvmet/ports/1/subsystems/dingo
    rmdir $nvmet/ports/1 $nvmet/subsystems/dingo/namespaces/1 $nvmet/subsystems/dingo &&
        losetup -d /dev/loop0 && rmmod nvmet-rdma
}
disk=transport=rdma,traddr=10.77.0.1,trsvcid=4420,nqn=dingo
use-disk() {
    local n
    modprobe nvme-rdma && echo $disk,reconnect_delay=1,ctrl_loss_tmo=1200 >/dev/nvme-fabrics || return 1
    while [ ! -e $end ]; do
        dd if=/dev/nvme0n1 of=/dev/null bs=64k iflag=direct status=none || sleep 0.2
    done
}
leave-disk() {
    local n
    echo 1 >/sys/class/nvme/nvme0/delete_controller
    for n in $(seq 100); do [ -e /sys/class/nvme/nvme0 ] || break; sleep 0.1; done
    [ ! -e /sys/class/nvme/nvme0 ] && rmmod nvme-rdma
}

# nvme-resets: the peer uses the disk all the time, and must reconnect after each reset.
nvme-resets() {
    local count=$1 peer=$2 n begin took slowest=0 out
    for ((n = 1; ; n++)); do
        begins $n "$count" || break
        moving || { echo "the disk is not used before reset $n"; return 1; }
        sleep "0.$((RANDOM % 9 + 1))"
        begin=$(milliseconds)
        echo 1 >"/sys/bus/pci/devices/$(pci)/reset" || { echo "reset $n failed"; return 1; }
        out=$(works "$peer" "$patience") || { echo "reset $n: $out"; return 1; }
        took=$(($(milliseconds) - begin))
        [ $took -le $slowest ] || slowest=$took
        # nvmet_rdma drops its listener when any device is removed: offer the port again.
        rm $nvmet/ports/1/subsystems/dingo && ln -s $nvmet/subsystems/dingo $nvmet/ports/1/subsystems/ ||
            { echo "reset $n: the port is not offered again"; return 1; }
    done
    n=$((n - 1))
    moving || { echo "the disk is not used after the last of $n resets"; return 1; }
    echo "$n of $count resets with an NVMe disk offered, works again after $slowest ms at most"
    [ $n -gt 0 ]
}

dmabuf-resets() {
    local count=$1 gid=$2 peer=$3 n begin took slowest=0 out pid
    for ((n = 1; ; n++)); do
        begins $n "$count" || break
        : >/run/sweep.dmabuf
        "$here/dmabuf_move" "$(device)" "$gid" exporter 1000000 >/run/sweep.dmabuf 2>&1 &
        pid=$!
        until grep -q 'contents are right' /run/sweep.dmabuf || [ ! -e /proc/$pid ]; do sleep 0.1; done
        sleep "1.$((RANDOM % 9))"
        [ -e /proc/$pid ] || { echo "no moves before reset $n: $(tail -n 1 /run/sweep.dmabuf)"; return 1; }
        begin=$(milliseconds)
        echo 1 >"/sys/bus/pci/devices/$(pci)/reset" || { echo "reset $n failed"; return 1; }
        out=$(works "$peer" "$patience") || { echo "reset $n: $out"; return 1; }
        took=$(($(milliseconds) - begin))
        [ $took -le $slowest ] || slowest=$took
        timeout "$patience" tail -f --pid=$pid /dev/null || { echo "reset $n: the program hangs"; return 1; }
        wait $pid && { echo "reset $n: the program did not hear of it"; return 1; }
        rmmod dmabuf_exporter && insmod "$here/dmabuf_exporter.ko" || { echo "reset $n: the buffer is still held"; return 1; }
    done
    "$here/dmabuf_move" "$(device)" "$gid" exporter 5 >/run/sweep.dmabuf 2>&1 || { echo "afterwards: $(tail -n 1 /run/sweep.dmabuf)"; return 1; }
    n=$((n - 1))
    echo "$n of $count resets with a moving buffer, works again after $slowest ms at most"
    [ $n -gt 0 ]
}

programs='^(ib_write_bw|ib_send_bw|ib_read_bw|verbs_churn)$'
kills() {
    local count=$1 n=0 idle=0 pids
    while begins $((n + 1)) "$count"; do
        sleep "0.$(printf %03d $((RANDOM % 400)))"
        mapfile -t pids < <(pgrep "$programs")
        if [ ${#pids[@]} = 0 ]; then
            idle=$((idle + 1))
            [ $idle -lt $((patience * 10)) ] || { echo "only $n kills: nothing runs"; return 1; }
            continue
        fi
        idle=0
        kill -KILL "${pids[RANDOM % ${#pids[@]}]}" 2>/dev/null && n=$((n + 1))
    done
    echo "$n of $count kills"
    [ $n -gt 0 ]
}

# left: waits until no process has objects, as the kernel destroys a killed process's objects with a
# delay.
left() {
    local n what
    for ((n = 0; n < patience * 2; n++)); do
        what=$(for kind in qp cq mr pd cm_id ctx srq; do rdma resource show $kind 2>/dev/null; done | grep ' pid ')
        [ -n "$what" ] || { echo 'nothing left'; return 0; }
        sleep 0.5
    done
    echo "left: $(head -n 3 <<<"$what" | tr '\n' ' ')"
    return 1
}

"$@"
