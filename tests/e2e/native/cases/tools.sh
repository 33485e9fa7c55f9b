# SPDX-License-Identifier: BSD-2-Clause
# Debian's programs, unmodified, with common options: two cards over shared memory, one card, and as
# an ordinary user. The first two cards share a process; the ordinary user's cards have one each.
start_card alpha --one-process
start_card beta --one-process

single 'ibv_devices lists the card' alpha ibv_devices 'alpha[[:space:]]+[0-9a-f]{16}'
single 'ibv_devinfo -v: RoCE v2 GIDs' alpha 'ibv_devinfo -v' 'GID\[.*RoCE v2'
single 'ibv_devinfo: port state' alpha ibv_devinfo 'state:[[:space:]]+PORT_ACTIVE'
single 'ibstat: type, state and link layer' alpha 'ibstat | tr -d "\n"' 'CA type: Dingo.*State: Active.*Link layer: Ethernet'
# libibumad supports InfiniBand ports only, on any RoCE NIC. The error must not suggest modprobe.
for tool in perfquery ibaddr sminfo; do
    single "$tool: refused as with every RoCE NIC" alpha "out=\$(! $tool 2>&1) && echo \"\$out\" && ! grep -q module <<<\"\$out\"" "can't open UMAD port"
done
single 'saquery: RoCE has no subnet manager' alpha '! saquery' 'No SM/SA found'
single 'sysfs: what NCCL reads' alpha 'cat /sys/class/infiniband/alpha/ports/1/gid_attrs/types/0; realpath /sys/class/infiniband/alpha/device' '0000:[0-9a-f]{2}:00.0'
single 'sysfs: counters of the port move' alpha 'cat /sys/class/infiniband/alpha/ports/1/hw_counters/rdma_tx_packets' '^[0-9]+$'
single 'sysfs: counters by relative paths, after cd' alpha "cd /sys/class/infiniband/alpha/ports/1 && cd hw_counters && cat admin_commands" '^[1-9][0-9]*$'
single 'other files are untouched' alpha 'cat /sys/class/net/lo/address; ls /dev/null' '00:00:00'

. tests/e2e/cases/perftest.sh

for kind in rc uc ud srq; do
    for events in '' ' -e'; do
        tool="ibv_${kind}_pingpong$events -n 500"
        pair "$tool" "$tool -g \$(gid 4)" "$tool -g \$(gid 4) A" 'iters in'
    done
    tool="ibv_${kind}_pingpong"
    pair "$tool over IPv6" "$tool -g \$(gid 6)" "$tool -g \$(gid 6) A" 'iters in'
    pair "$tool at the link-local GID" "$tool -g 0" "$tool -g 0 A" 'iters in'
done
pair 'ibv_rc_pingpong -c (data checked)' 'ibv_rc_pingpong -c -g $(gid 4)' 'ibv_rc_pingpong -c -g $(gid 4) A' 'iters in'

# A card's row counts all its traffic, including that of destroyed QPs. RETRANS and DROPS are due to
# corrupted frames.
faults() { for card in alpha beta; do "$dingo_root/build/bin/dingo-card" ctl "$DINGO_RUN/$card/control" faults ${1:+"$1"} >/dev/null; done; }
row() { COLUMNS=200 "$dingo" stats alpha | awk '$1 == "alpha" { print "qps", $(NF - 3), "msg", ($4 != "0"), "retrans", ($5 > 0), "drops", ($6 > 0) }'; }
faults corrupt=2%
lossy_pair 'ibv_rc_pingpong, frames are damaged' 'ibv_rc_pingpong -n 500 -c -g $(gid 4)' 'ibv_rc_pingpong -n 500 -c -g $(gid 4) A' 'iters in'
faults
[ "$(row)" = 'qps 0 msg 1 retrans 1 drops 1' ] && pass 'stats: a card still tells of programs that have ended' ||
    fail 'stats: a card still tells of programs that have ended' "$(row): $(COLUMNS=200 "$dingo" stats alpha | why)"

# Two processes on one card.
client_card=alpha
prefix='one card: '
for tool in ib_write_bw ib_read_bw ib_send_bw ib_atomic_bw ib_write_lat ib_read_lat ib_send_lat ib_atomic_lat; do perftest $tool; done
perftest ib_write_bw -a
perftest ib_send_bw '-e -n 500'
perftest ib_send_bw '-c UD -n 1000'
pair 'one card: ibv_rc_pingpong -e' 'ibv_rc_pingpong -e -g $(gid 4)' 'ibv_rc_pingpong -e -g $(gid 4) A' 'iters in'
for kind in rc ud; do pair "one card: ibv_${kind}_pingpong at the link-local GID" "ibv_${kind}_pingpong -g 0" "ibv_${kind}_pingpong -g 0 A" 'iters in'; done
. tests/e2e/native/cases/netlink.sh
. tests/e2e/native/cases/programs.sh
. tests/e2e/native/cases/compute.sh
. tests/e2e/native/cases/gda.sh

# An ordinary user's cards, directories and programs.
as_user='setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nonexistent'
root_run=$DINGO_RUN
DINGO_RUN=$(mktemp -d /tmp/dingo-user-XXXXXX)
chown 65534:65534 "$DINGO_RUN"
chmod 711 "$root_run"
prefix='ordinary user: '
server_card=gamma client_card=delta
start_card gamma --own-process
start_card delta --own-process
single 'ordinary user: ibv_devinfo' gamma ibv_devinfo 'PORT_ACTIVE'
for tool in ib_write_bw ib_read_lat ib_send_bw ib_atomic_lat; do perftest $tool; done
pair 'ordinary user: ibv_srq_pingpong -e' 'ibv_srq_pingpong -e -g $(gid 4)' 'ibv_srq_pingpong -e -g $(gid 4) A' 'iters in'
plain "another user's card is out of reach" "! DINGO_RUN=$root_run $dingo run --card alpha -- ibv_devinfo"
as_user=''
plain 'a program that becomes another user is told why it sees no card' \
    "! DINGO_RUN=$root_run $dingo run --card alpha -- setpriv --reuid=65534 --clear-groups ibv_devinfo" 'user 65534 has no access to the card in .*--share'
plain 'a program without /proc is told so' \
    "! DINGO_RUN=$root_run $dingo run --card alpha -- unshare --mount sh -c 'mount -t tmpfs none /proc; ibv_devinfo'" '/proc/self/fd: No such file.*mount /proc'
plain 'a program whose card has gone is told so' \
    "! DINGO_VIEW=$root_run/nobody LD_PRELOAD=$dingo_root/build/lib/libdingo-preload.so ibv_devinfo" 'no card in .*/nobody'
as_user='setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nonexistent'
# A card's process can read and write its clients' memory, so root's programs refuse another user's
# card; the card of a trusted user gets access to registered memory only.
start_card foreign --share
owner=$as_user foreign=$DINGO_RUN/foreign
as_user=''
plain 'a card of another user is refused with the reason' \
    "DINGO_RUN=$root_run $dingo run --card $foreign -- ibv_devinfo" 'belongs to user 65534, who could harm a program' 126
plain 'a card of another user is refused without dingo run, too' \
    "! DINGO_VIEW=$foreign LD_PRELOAD=$dingo_root/build/lib/libdingo-preload.so RDMAV_DRIVERS=$dingo_root/build/lib/libibverbs/libdingo ibv_devinfo" \
    'belongs to user 65534'
plain 'a card of another user is used when its user is trusted' \
    "DINGO_RUN=$root_run $dingo run --trust-owner --card $foreign -- ibv_devinfo" 'PORT_ACTIVE'
foreign_run="$dingo run --trust-owner --card $foreign --"
DINGO_RUN=$root_run bash -c "$foreign_run $check -p 18602" >"$logs/foreign.A" 2>&1 &
foreign_pid=$!
wait_listen 18602 $foreign_pid || true
card_of_other=$(pgrep -u 65534 -f "uverbs $foreign" | head -n 1)
plain "a trusted user's card has no memory of its clients" \
    "test -n '$card_of_other' && ! ls -l /proc/$card_of_other/fd | grep '/proc/.*/mem\|/mem (deleted)'"
plain "a trusted user's card: every byte right" "DINGO_RUN=$root_run $foreign_run $check -p 18602 127.0.0.1" 'every byte right'
wait $foreign_pid || true
plain "a trusted user's card cannot be used with rdma_cm, and why" \
    "! DINGO_RUN=$root_run $foreign_run rping -c -a 127.0.0.1 -C 1" 'another user cannot be used with rdma_cm'
as_user=$owner
stop_cards
DINGO_RUN=$root_run
as_user=''

# Two other users: a shared card serves both, also at the same time. A card that is not shared
# serves neither, whatever they try.
start_card open --share
other_users=(65534 4711)
as_other() { echo "setpriv --reuid=$1 --regid=$1 --clear-groups env HOME=/nonexistent DINGO_RUN=$(mktemp -u /tmp/dingo-user-XXXXXX)"; }
for uid in "${other_users[@]}"; do
    as_user=$(as_other "$uid")
    single "user $uid: a shared card" "$root_run/open" ibv_devinfo 'PORT_ACTIVE'
    plain "user $uid: not a card that is not shared" "$dingo run --card $root_run/alpha -- ibv_devinfo" 'start NAME .-share' 3
    by_hand="LD_PRELOAD=$dingo_root/build/lib/libdingo-preload.so RDMAV_DRIVERS=$dingo_root/build/lib/libibverbs/libdingo ibv_devinfo"
    plain "user $uid: a shared card without dingo run" "DINGO_VIEW=$root_run/open $by_hand" 'PORT_ACTIVE'
    plain "user $uid: not so a card that is not shared" "! DINGO_VIEW=$root_run/alpha $by_hand"
    plain "user $uid: not the control socket of a shared card" \
        "! /usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"$root_run/open/control\")'"
    cleanups+=("rm -rf ${as_user##*DINGO_RUN=}")
done
as_user=''
$(as_other "${other_users[0]}") timeout 60 "$dingo" run --card "$root_run/open" -- "$check" -p 18601 >"$logs/shared.A" 2>&1 &
other=$!
wait_listen 18601 $other || true
as_user=$(as_other "${other_users[1]}")
single 'two users on one shared card: every byte right' "$root_run/open" "$check -p 18601 127.0.0.1" 'every byte right'
as_user=''
wait $other || true
