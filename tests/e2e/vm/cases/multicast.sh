# SPDX-License-Identifier: BSD-2-Clause
# rdma-core's mckey: a receiver exits with status 0 only if it has received every message. Sourced
# by basic.sh and smoke.sh.

# mckey_pair NAME RECEIVER-OPTIONS SENDER-OPTIONS
mckey_pair() {
    pair "mckey: $1" "$(mckey_receiver 10 -b 10.77.0.1 "$2")" "mckey -m 239.1.2.3 -C 10 -b 10.77.0.2 -s $3" 'return status 0'
}

single 'ibv_devinfo -v: multicast groups' A 'ibv_devinfo -v' 'max_mcast_grp:[[:space:]]+[1-9]'
mckey_pair 'a group of two guests' '' ''
mckey_pair 'four queue pairs in a group, 1000 bytes' '-c 4 -S 1000' '-S 1000'
mckey_pair 'a sender that is no member' '' '-o'
single 'mckey: receiver and sender in one guest' A \
    'mckey -m 239.1.2.4 -b 10.77.0.1 -C 10 >/tmp/mckey & sleep 1; mckey -m 239.1.2.4 -b 10.77.0.1 -C 10 -s && wait $! && tail -1 /tmp/mckey' \
    'return status 0'
# On RoCE v2, Linux' rdma_cm joins only IPv4 groups; others fail with ENOTSUPP (524), unknown to
# strerror().
single 'mckey: an IPv6 group is refused by rdma_cm' A '! mckey -m ff0e::1:2 -b fd77::1 -C 10' 'failure joining: Unknown error 524'
