# SPDX-License-Identifier: BSD-2-Clause
# Functions that the driver's suites share. Sourced by driver.sh, lab.sh and others.

# without_traces REGEX: filters a kernel log; drops each warning's whole trace if it has a line like
# REGEX.
without_traces() {
    awk -v provoked="$1" '
        / cut here / { text = ""; inside = 1 }
        !inside { print; next }
        { text = text $0 "\n" }
        /---\[ end trace / { inside = 0; if (text !~ provoked) printf "%s", text }
        END { if (inside) printf "%s", text }'
}

# complaints A|B [REGEX]: prints the warnings in a kernel's log, except the driver's messages on a
# card that was broken on purpose, lines like REGEX, and traces with a line like $provoked_traces.
complaints() {
    "$vm" dmesg --name "$session" "$1" --warnings 2>&1 | without_traces "${provoked_traces:-nothing else}" |
        grep -vE ' dingo [0-9a-f:.]+: (failed: .*|restoring the PCI configuration)$' |
        grep -vE "${2:-nothing else}" || true
}

# no_complaint NAME [REGEX]: case: A's kernel has no complaints.
no_complaint() {
    local text
    text=$(complaints A "${2:-}")
    if [ -z "$text" ]; then
        pass "$1: no kernel warning"
    else
        fail "$1: no kernel warning" "$(head -n 3 <<<"$text" | tr '\n' ' ' | cut -c1-300)"
    fi
}

# guest_cases NAME COMMAND: runs a program in A, whose PASS, FAIL and SKIP lines become cases.
guest_cases() {
    local out=$logs/$1.out rc=0
    limit=${limit:-300} in_guest A "$2" >"$out" 2>&1 || rc=$?
    sed -nE "s/^(PASS|FAIL|SKIP) /\1 $suite:/p" "$out"
    failed=$((failed + $(grep -c '^FAIL ' "$out" || true)))
    if [ "$rc" != 0 ] && ! grep -q '^FAIL ' "$out"; then
        fail "$1" "status $rc: $(tail -n 2 "$out" | tr '\n' ' ' | cut -c1-300)"
    fi
}

# dmabuf NAME KIND MOVES|pinned REGEX: case: peer and processor see the same bytes in a region of a
# DMA buffer, which moves MOVES times or is pinned.
dmabuf() {
    limit=300 single "DMA buffers: $1" A \
        "/root/driver/dmabuf_move \$(ls /sys/class/infiniband) \$(gid 4) $2 $3" "$4"
}

# build_test_module NAME: builds a module of tests/kmod, which uses the driver's headers, in
# $logs/NAME.
build_test_module() {
    local out=$logs/$1
    mkdir -p "$out/source"
    cp tests/kmod/"$1"/{Kbuild,*.c} kmod/ib/*.h kmod/include/*.h kmod/include/uapi/*.h "$out/source/"
    python3 hw/contract/gen.py hw/contract/dingo.toml --c "$out/source/dingo_hw.h"
    scripts/kbuild.sh "$kernel" "$out" "$out/source" modules W=1 >"$out/build.log" 2>&1 ||
        { fail "$1" "the module did not build: $(tail -n 2 "$out/build.log" | tr '\n' ' ')"; exit 1; }
}

# lying_card: cases with absurd answers of a card, some of which make a reload fail.
lying_card() {
    local lie='lie() { echo $1 >/sys/module/lying_card/parameters/lie; }
up() { udevadm settle -t 60; for n in $(seq 100); do ! ibv_devinfo >/dev/null 2>&1 || break; sleep 0.2; done; }; '
    "$vm" push --quiet --name "$session" A "$logs/lying_card/lying_card.ko" /root/driver
    single 'a state that no queue pair has is none of ours' A \
        "$lie"'insmod /root/driver/lying_card.ko && lie state && ! rdma resource show qp | grep UNKNOWN'
    single 'limits far beyond the contract are cut' A \
        "$lie"'lie large; devlink dev reload pci/0000:01:00.0 >/dev/null; up; ibv_devinfo -v' 'max_sge:[[:space:]]+15$'
    single 'and the log says which' A \
        'for what in "max_pd 2147483647" "max_cq 16777216" "max_srq 16777216" "max_frwr_pages 65536" "log_max_eth 12"; do
            dmesg | grep -q "limit ${what% *} of the card is [0-9]*, used are ${what#* }$" || { echo "nothing of $what"; exit 1; }; done'
    single 'no number of anything is negative' A 'ibv_devinfo -v >/tmp/info && ! grep -E "max_[a-z_]*:[[:space:]]*-" /tmp/info'
    single 'a card with few CQs shares them with its interface' A \
        "$lie"'lie few; devlink dev reload pci/0000:01:00.0 >/dev/null; up; ibv_devinfo -v' 'max_cq:[[:space:]]+[1-5]$'
    single 'what a card has none of is no capability' A \
        'ibv_devinfo -v | grep -E "max_srq:[[:space:]]+0$" && dmesg' 'limit max_srq of the card is 0'
    single 'and the interface still works' A 'for n in $(seq 30); do ping -c 1 -W 1 B && exit 0; done; exit 1'
    single 'a card that has nothing is refused' A \
        "$lie"'lie small; ! devlink dev reload pci/0000:01:00.0 && dmesg' 'the card has no queue pairs'
    single 'devlink knows that it is down' A 'devlink health show pci/0000:01:00.0 reporter fatal' 'state error'
    single 'and recovers it' A \
        "$lie"'lie none; devlink health recover pci/0000:01:00.0 reporter fatal && devlink health show pci/0000:01:00.0 reporter fatal' 'state healthy'
    single 'a card whose Ethernet rings hold no frame is refused' A \
        "$lie"'lie short; ! devlink dev reload pci/0000:01:00.0 && dmesg' 'the card has no Ethernet rings'
    single 'a card that has something again is taken' A \
        "$lie"'lie none; devlink dev reload pci/0000:01:00.0 >/dev/null && rmmod lying_card
        for n in $(seq 30); do ping -c 1 -W 1 B && exit 0; done; exit 1'
    single 'devlink knows that it works' A 'devlink health show pci/0000:01:00.0 reporter fatal' 'state healthy'
}

# The driver's messages in the cases of lying_card and foreign.
card_lies='the card has no (queue pairs|Ethernet rings)|recovery failed: -19|interrupt .* was lost|event of kind .* among completions'

# foreign: cases with completions and events that name objects of another queue. Needs two
# processors; reloads the device afterwards.
foreign() {
    if [ "$(in_guest A nproc)" -lt 2 ]; then
        skip "names of other queues' objects" 'the guest has one processor (--cpus 2)'
        return
    fi
    "$vm" push --quiet --name "$session" A "$logs/foreign/foreign.ko" /root/driver
    limit=120 single "a completion that names another queue's QP" A 'insmod /root/driver/foreign.ko && echo qp >/sys/module/foreign/parameters/run'
    limit=120 single "an event queue that has another's events" A 'echo event >/sys/module/foreign/parameters/run'
    limit=120 single 'the card works again' A 'rmmod foreign && devlink dev reload pci/0000:01:00.0 >/dev/null
        for n in $(seq 30); do ping -c 1 -W 1 B && exit 0; done; exit 1'
}

# late_event: cases in which the device is removed while its card reports an event. The test's
# module stays loaded until A reboots.
late_event() {
    "$vm" push --quiet --name "$session" A "$logs/late_event/late_event.ko" /root/driver
    limit=120 single 'an event at the last moment is handled before the device goes' A \
        'insmod /root/driver/late_event.ko && devlink dev reload pci/0000:01:00.0 >/dev/null && cat /sys/module/late_event/parameters/late' '^1$'
    # rdma_cm is the last client to be told of the removal: until then its listener gets
    # connections.
    limit=120 single 'the device goes, slowly, while a server listens' A \
        'for n in $(seq 60); do [ -n "$(ls /sys/class/infiniband)" ] && ping -c 1 -W 1 B >/dev/null && break; sleep 0.2; done
        echo 8000 >/sys/module/late_event/parameters/linger; setsid rping -s -P -a 10.77.0.1 >/tmp/rping 2>&1 & sleep 1
        setsid rmmod dingo_ib >/tmp/rmmod 2>&1 & sleep 1; pgrep rmmod && ls /sys/class/infiniband/*'
    single 'it takes no new connection' B '! timeout 3 rping -c -a 10.77.0.1 -C 1'
    limit=120 single 'and is gone in the end' A \
        'echo 0 >/sys/module/late_event/parameters/linger; for n in $(seq 300); do pgrep rmmod || break; sleep 0.1; done; cat /tmp/rmmod; pkill rping
        [ -z "$(ls /sys/class/infiniband)" ] && modprobe dingo_ib && udevadm settle && ls /sys/class/infiniband/*'
}

# build_kverbs, load_kverbs: build and load the test module that uses kernel verbs. kverbs NAME
# CASE: runs one of its cases.
build_kverbs() {
    build_test_module kverbs
    kverbs=$logs/kverbs
}
load_kverbs() {
    "$vm" push --quiet --name "$session" A "$kverbs/kverbs.ko" /root/driver
    single "the kernel's user of verbs loads" A 'insmod /root/driver/kverbs.ko'
}
kverbs() {
    limit=120 single "kernel verbs: $1" A \
        "echo $2 >/sys/module/kverbs/parameters/run || { dmesg | grep kverbs: | tail -n 1; exit 1; }"
}

# build_exporter: builds the module that exports DMA buffers that move, and the program that checks
# them.
build_exporter() {
    exporter=$logs/dmabuf
    tests/kmod/dmabuf_exporter/build.sh "$kernel" "$exporter" >"$logs/dmabuf-build.log" 2>&1 ||
        { fail 'DMA buffers' "the exporter did not build: $(tail -n 2 "$logs/dmabuf-build.log" | tr '\n' ' ')"; exit 1; }
}
load_exporter() {
    "$vm" push --quiet --name "$session" A "$exporter/dmabuf_exporter.ko" "$exporter/dmabuf_move" /root/driver
    single 'the exporting module loads' A 'insmod /root/driver/dmabuf_exporter.ko && ls /dev/dmabuf_exporter'
}
unload_exporter() { single "DMA buffers: nothing holds the exporter, $1" A 'rmmod dmabuf_exporter'; }

# small_traffic NAME: a few cases of each kind of traffic.
small_traffic() {
    pair "$1: RC" 'ib_write_bw -n 200' 'ib_write_bw -n 200 A' '65536'
    pair "$1: UD, with events" 'ib_send_bw -c UD -e -n 200' 'ib_send_bw -c UD -e -n 200 A' '4096'
    pair "$1: rdma_cm" 'rping -s -a 10.77.0.1 -C 10 -V' 'rping -c -a 10.77.0.1 -C 10 -V -v' 'ping data'
    single "$1: frames of the whole MTU" B 'ping -c 2 -M do -s 8972 A' ' 0% packet loss'
}
# no_stray_dma NAME: case: neither card accessed an address that its driver had not mapped at that
# time.
no_stray_dma() {
    local side errors
    for side in A B; do
        errors=$("$vm" card --quiet --name "$session" "$side" ctl stats 2>&1 | sed -n 's/.*"dma_errors": \([0-9]*\).*/\1/p')
        if [ "$errors" = 0 ]; then pass "$1: no access of ${side}'s card outside a mapping"; else
            fail "$1: no access of ${side}'s card outside a mapping" "dma_errors: ${errors:-no answer}"; fi
    done
}

# ethernet_cases: tests A's network interface with ethtool; B serves TCP, also in a VLAN.
ethernet_cases() {
    local port=18700
    "$vm" push --quiet --name "$session" A tests/kmod/ethernet.sh tests/kmod/tcp_bytes.py /root/driver
    "$vm" push --quiet --name "$session" B tests/kmod/tcp_bytes.py /root/driver
    single 'a VLAN on the other side' B \
        'n=$(cat /run/dingo/netdev); ip link add link $n name vlan77 type vlan id 77 && ip addr add 10.78.0.2/24 dev vlan77 && ip link set vlan77 up'
    (limit=1000 in_guest B "exec python3 /root/driver/tcp_bytes.py serve $port" >"$logs/ethernet-server.out" 2>&1 || true) &
    single 'the other side serves' A "for n in \$(seq 100); do ! nc -z 10.77.0.2 $port || exit 0; sleep 0.2; done; exit 1"
    limit=600 guest_cases ethernet "/root/driver/ethernet.sh 10.77.0.2 $port 10.78.0.2 fd77::2"
}

# counter_cases: tests the counters of A's queue pairs.
counter_cases() {
    "$vm" push --quiet --name "$session" A tests/kmod/qp_counters.sh /root/driver
    (limit=300 in_guest B 'for n in $(seq 6); do timeout 60 ib_write_bw -F -p 18800 -D 8 -s 65536; done' >"$logs/counters-server.out" 2>&1 || true) &
    limit=300 guest_cases qp_counters '/root/driver/qp_counters.sh 10.77.0.2'
}
