#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs as root in a guest with a card: tests counters to which QPs are bound. The peer runs a server
# `ib_write_bw -D` in a loop. Prints a line for each case: PASS name, FAIL name: why.
#
# usage: qp_counters.sh PEER
set -u
peer=${1:?usage: qp_counters.sh PEER}
device=$(ls /sys/class/infiniband)
link=$device/1
failed=0

check() { # NAME COMMAND...: case: COMMAND succeeds
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
port() { cat "/sys/class/infiniband/$device/ports/1/hw_counters/rdma_tx_bytes"; }
shown() { rdma statistic qp show link "$link" | tr -s "\n " " "; }
bytes() { sed -nE 's/.*rdma_tx_bytes ([0-9]+).*/\1/p' <<<"$1"; }
# write SECONDS: runs ib_write_bw in the background; its output is in /tmp/qp_counters.out.
write() {
    local n
    for n in $(seq 50); do
        ib_write_bw -F -p 18800 -D "$1" -s 65536 "$peer" >/tmp/qp_counters.out 2>&1 && break
        sleep 0.2
    done &
    for n in $(seq 100); do [ -z "$(rdma resource show qp link "$link" | grep 'type RC.*RTS')" ] || break; sleep 0.1; done
}
lqpn() { rdma resource show qp link "$link" | sed -nE 's/.*lqpn ([0-9]+) .*type RC .*state RTS.*/\1/p' | head -n 1; }

by_type() {
    local before after text first second payload
    rdma statistic qp set link "$link" auto type on || return 1
    before=$(port)
    write 8
    sleep 1
    text=$(shown)
    first=$(bytes "$text")
    [ "${first:-0}" -gt 65536 ] && grep -qi "lqpn" <<<"$text" || { echo "shown: $text"; return 1; }
    ! grep -q 'eth_tx\|admin_' <<<"$text" || { echo 'counters that no QP has'; return 1; }
    sleep 1
    second=$(bytes "$(shown)")
    [ "${second:-0}" -gt "$first" ] || { echo "$first, then $second"; return 1; }
    # The port's counters include the bound counter's traffic, and count it once.
    after=$(port)
    [ $((after - before)) -ge "$second" ] || { echo "the port has $((after - before)) of $second"; return 1; }
    wait
    after=$(($(port) - before))
    payload=$(awk '$1 == 65536 { print $2 * 65536 }' /tmp/qp_counters.out)
    # With -D, ib_write_bw reports only part of what it sends.
    [ -n "$payload" ] && [ $after -gt $((payload / 2)) ] && [ $after -lt $((payload * 4)) ] ||
        { echo "the port counted $after, sent were ${payload:-none}"; return 1; }
    before=$(port)
    rdma statistic qp set link "$link" auto off || return 1
    [ "$(port)" = "$before" ] || { echo 'the port lost what was counted'; return 1; }
    [ -z "$(shown)" ]
}
by_number() {
    local qpn text before
    rdma statistic qp set link "$link" auto off
    write 8
    qpn=$(lqpn)
    [ -n "$qpn" ] || { echo 'no QP'; return 1; }
    rdma statistic qp bind link "$link" lqpn "$qpn" || return 1
    sleep 1
    text=$(shown)
    before=$(bytes "$text")
    [ "${before:-0}" -gt 65536 ] && grep -qiE "lqpn:? <?$qpn" <<<"$text" || { echo "shown: $text"; return 1; }
    # shellcheck disable=SC2046
    rdma statistic qp unbind link "$link" cntn $(sed -nE 's/.*cntn ([0-9]+).*/\1/p' <<<"$text") lqpn "$qpn" || return 1
    [ -z "$(shown)" ] || { shown; return 1; }
    wait
    [ "$(port)" -ge "$before" ]
}
with_dead_card() { # a reset destroys QPs and counters
    rdma statistic qp set link "$link" auto type on || return 1
    write 3
    [ "$(bytes "$(shown)")" -gt 65536 ] || { echo 'nothing was bound'; return 1; }
    echo 1 >"/sys/class/infiniband/$device/device/reset"
    wait
    udevadm settle
    rdma link show "$link" | grep -q . && [ -z "$(shown)" ]
}
check "QPs are counted by their type, and the port counts them once" by_type
check "a QP is bound and unbound by its number" by_number
check "a reset of the card ends counters" with_dead_card
exit $failed
