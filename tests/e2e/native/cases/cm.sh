# SPDX-License-Identifier: BSD-2-Clause
# Kernel-less rdma_cm: Debian's programs over librdmacm, between two cards and on one; refusals,
# sudden deaths, loss.
start_card alpha --ip 10.77.0.1/24 --ip fd77::1/64
start_card beta --ip 10.77.0.2/24 --ip fd77::2/64

# shellcheck source=tests/e2e/native/cm_lib.sh
. "$dingo_root/tests/e2e/native/cm_lib.sh"

single 'the device is there' alpha 'stat -c %F /dev/infiniband/rdma_cm; cat /sys/class/misc/rdma_cm/abi_version' '^4$'
single 'a channel is readable only while it has an event' alpha "/usr/bin/python3 $dingo_root/tests/e2e/native/cm_events.py 10.77.0.1" '^ok'
cm_pair 'rping, every byte checked' 'rping -s -a 10.77.0.1 -V -C 100 -S 4000' 'rping -c -a 10.77.0.1 -V -C 100 -S 4000'
cm_pair 'rping over IPv6' 'rping -s -a fd77::1 -V -C 20' 'rping -c -a fd77::1 -V -C 20'
cm_pair 'rping to a wildcard listener' 'rping -s -V -C 20' 'rping -c -a 10.77.0.1 -V -C 20'
cm_pair 'rping over IPv6 to a wildcard listener of both families' 'rping -s -a ::0 -V -C 20' 'rping -c -a 10.77.0.1 -V -C 20'
cm_pair 'rping with a source address' 'rping -s -a 10.77.0.1 -V -C 20' 'rping -c -a 10.77.0.1 -I 10.77.0.2 -V -C 20'
cm_pair 'ucmatose' ucmatose 'ucmatose -s 10.77.0.1' 'return status 0'
cm_pair 'ucmatose: 20 connections, data' 'ucmatose -c 20 -C 20 -S 1000' 'ucmatose -s 10.77.0.1 -c 20 -C 20 -S 1000' 'return status 0'
cm_pair 'ucmatose migrates its identifiers' 'ucmatose -c 5 -m' 'ucmatose -s 10.77.0.1 -c 5 -m' 'return status 0'
cm_pair 'ucmatose with a type of service' 'ucmatose -t 96' 'ucmatose -s 10.77.0.1 -t 96' 'return status 0'
cm_pair 'udaddy: datagrams' udaddy 'udaddy -s 10.77.0.1' 'return status 0'
cm_pair 'udaddy: 10 connections over IPv6' 'udaddy -b fd77::1 -c 10' 'udaddy -s fd77::1 -c 10' 'return status 0'
cm_pair 'rdma_client and rdma_server: endpoints' rdma_server 'rdma_client -s 10.77.0.1' 'end 0'
last="DINGO_SHARE=0 /usr/bin/python3 $dingo_root/tests/e2e/native/last_message.py 200"
cm_pair 'messages just before rdma_disconnect() arrive' "$last server 10.77.0.1" "$last client 10.77.0.1" '^200 rounds'
cm_pair 'rstream: rsockets' 'rstream -S 4096 -C 100' 'rstream -s 10.77.0.1 -S 4096 -C 100' 'custom'
cm_pair 'rstream: rsockets, data verified' 'rstream -S 65536 -C 20 -T v' 'rstream -s 10.77.0.1 -S 65536 -C 20 -T v' 'custom'
head -c 3M /dev/urandom >"$logs/rcopy.in"
cm_pair 'rcopy: a file' 'rcopy & p=$!; for i in $(seq 300); do [ "$(stat -c %s '"$logs"'/rcopy.out 2>/dev/null)" != 3145728 ] || break; sleep 0.1; done; sleep 0.5; kill $p; cmp '"$logs"'/rcopy.in '"$logs"'/rcopy.out && echo same' \
    "rcopy $logs/rcopy.in 10.77.0.1:$logs/rcopy.out" '3145728 bytes in'
cm_pair 'riostream' 'riostream -S 4096 -C 20' 'riostream -s 10.77.0.1 -S 4096 -C 20' 'custom'
for tool in ib_write_bw ib_read_bw ib_send_bw; do
    cm_perftest $tool '-R'
    cm_perftest $tool '-R -q 4 -n 500'
done
for tool in ib_write_lat ib_read_lat ib_send_lat; do cm_perftest $tool '-R -n 200'; done
cm_perftest ib_send_bw '-c UD -R -n 500'

for verb in write read; do
    cm_pair "fio, RDMA engine: $verb" 'fio --name=server --ioengine=rdma --port=18540 --bs=16k --size=4m --rw=read --iodepth=16' \
        "fio --name=client --ioengine=rdma --hostname=10.77.0.1 --port=18540 --verb=$verb --bs=16k --size=4m --rw=write --iodepth=16" 'err= 0'
done

# qperf uses the same address for TCP and rdma_cm: give a card an address of the machine.
start_card gamma --wire roce:127.0.78.1 --ip 127.0.78.1/8
start_card delta --wire roce:127.0.78.2 --ip 127.0.78.2/8
on gamma 'qperf -lp 18541' >"$logs/qperf-server" 2>&1 &
qperf_server=$!
wait_listen 18541 $qperf_server || true
# On a busy machine qperf's client sometimes connects before its server listens, and is rejected. Only
# then it is run again.
for measure in rc_bw rc_lat rc_rdma_write_bw rc_rdma_read_lat ver_rc_fetch_add; do
    single "qperf -cm1 $measure" delta "for n in 1 2 3; do
        got=\$(qperf -lp 18541 -cm1 -t 1 127.0.78.1 $measure 2>&1); rc=\$?
        echo \"\$got\"
        case \$got in *'Event rejected'*) ;; *) break ;; esac
    done; exit \$rc" '= +[0-9]'
done
# Without rdma_cm, qperf sends a LID but no GID, without which ib_core makes no address on RoCE:
# both sides are refused at once, and the server continues. The client prints the error, or
# "server:" if the server failed first and printed it.
for measure in rc_bw uc_bw ud_lat; do
    single "qperf $measure knows LIDs only" delta "! qperf -lp 18541 -t 1 127.0.78.1 $measure" '(RTR|address handle): Invalid argument|^server:'
done
plain 'qperf: the words of a refusal' "grep -q 'RTR: Invalid argument' $logs/qperf*rc_bw_knows* $logs/qperf-server"
single 'qperf: the server serves on' delta 'qperf -lp 18541 -cm1 -t 1 127.0.78.1 rc_lat' '= +[0-9]'
kill -9 "$(leaf $qperf_server)" 2>/dev/null || true
wait $qperf_server 2>/dev/null || true
single 'nobody listens at 127.0.0.1: REJECTED with status 8' alpha '! rping -c -a 127.0.0.1 -v -C 1' 'RDMA_CM_EVENT_REJECTED, error 8'
for name in gamma delta; do $as_user "$dingo" card stop $name >>"$logs/cards.log" 2>&1; done

client_card=alpha
prefix='one card: '
cm_pair 'one card: rping' 'rping -s -a 10.77.0.1 -V -C 20' 'rping -c -a 10.77.0.1 -V -C 20'
cm_pair 'one card: ucmatose' 'ucmatose -c 10' 'ucmatose -s 10.77.0.1 -c 10' 'return status 0'
cm_pair 'one card: udaddy' 'udaddy -c 10' 'udaddy -s 10.77.0.1 -c 10' 'return status 0'
cm_perftest ib_write_bw '-R -n 500'

# A loopback address means the card itself, whatever its own addresses are.
cm_pair 'loopback: rping' 'rping -s -a 127.0.0.1 -V -C 20' 'rping -c -a 127.0.0.1 -V -C 20'
cm_pair 'loopback: rping over IPv6' 'rping -s -a ::1 -V -C 20' 'rping -c -a ::1 -V -C 20'
cm_pair 'loopback: rping to a wildcard listener' 'rping -s -V -C 20' 'rping -c -a 127.0.0.1 -V -C 20'
cm_pair 'loopback: ucmatose' 'ucmatose -b 127.0.0.1 -c 10' 'ucmatose -s 127.0.0.1 -c 10' 'return status 0'
cm_pair 'loopback: udaddy' 'udaddy -c 10' 'udaddy -s 127.0.0.1 -c 10' 'return status 0'
cm_pair 'loopback: rstream' 'rstream -S 4096 -C 100' 'rstream -s 127.0.0.1 -S 4096 -C 100' 'custom'
client_card=beta
cm_pair 'a listener at 127.0.0.1 takes what comes to any address' 'rping -s -a 127.0.0.1 -V -C 20' 'rping -c -a 10.77.0.1 -V -C 20'
single "from 127.0.0.1 no other host is reached: EINVAL" beta '! rping -c -a 10.77.0.1 -I 127.0.0.1 -v -C 1' 'Invalid argument'
if [ "$(id -u)" = 0 ]; then
    single 'fi_pingpong, verbs, msg' alpha "$dingo_root/tests/e2e/native/pingpong.sh 10.77.0.1/24 -p verbs -e msg" '^1m '
    single 'fi_pingpong, verbs, ofi_rxm' alpha "$dingo_root/tests/e2e/native/pingpong.sh 10.77.0.1/24 -p 'verbs;ofi_rxm' -e rdm" '^1m '
else
    for endpoint in msg ofi_rxm; do skip "fi_pingpong, verbs, $endpoint" 'an interface for it can only root make'; done
fi
prefix=''
nothing_left 'nothing is left of them'

# Multicast groups.
limit=30
mcast 'multicast: from one card to the other' '-m 239.1.2.3' beta/10.77.0.2 alpha/10.77.0.1
mcast 'multicast: over IPv6' '-m ff0e::17' beta/fd77::2 alpha/fd77::1
mcast 'multicast: one card' '-m 239.1.2.3' alpha/10.77.0.1 alpha/10.77.0.1
mcast 'multicast: receivers at both cards, a sender that has not joined' '-m 239.1.2.3 -o' beta/10.77.0.2 alpha/10.77.0.1 alpha/10.77.0.1 beta/10.77.0.2
mcast 'multicast: three connections' '-c 3 -m 239.1.2.3' beta/10.77.0.2 alpha/10.77.0.1
on alpha 'mckey -m 239.1.2.3 -b 10.77.0.1 -C 10' >"$logs/killed-receiver" 2>&1 &
receiver=$!
wait_joined alpha 1 $receiver || true
kill -9 "$(leaf $receiver)"
wait $receiver 2>/dev/null || true
mcast 'multicast: after a receiver that was killed' '-m 239.1.2.3' beta/10.77.0.2 alpha/10.77.0.1
limit=60
nothing_left 'multicast: nothing is left'

# Refusals.
single 'nobody listens: REJECTED with status 8' beta '! rping -c -a 10.77.0.1 -v -C 1' 'RDMA_CM_EVENT_REJECTED, error 8'
single 'no such neighbour: ADDR_ERROR' beta '! rping -c -a 10.77.0.99 -v -C 1' 'RDMA_CM_EVENT_ADDR_ERROR'
single 'no route: ENETUNREACH' beta '! rping -c -a 10.99.0.1 -v -C 1' 'Network is unreachable'
single "an address that is no card's: EADDRNOTAVAIL" beta '! rping -s -a 10.77.0.1 -v -C 1' 'Cannot assign requested address'
single 'a multicast address of InfiniBand: ENODEV' alpha '! mckey -M ff0e::17 -b fd77::1' 'failure joining: No such device'
on alpha 'rping -s -a 10.77.0.1 -P' >"$logs/persistent" 2>&1 &
holder=$!
wait_count alpha listeners 1 $holder || true
single 'a port that is taken: EADDRINUSE' alpha '! rping -s -a 10.77.0.1 -C 1' 'Address already in use'

# Sudden deaths.
kill_clients 3 beta 'rping -c -a 10.77.0.1 -V' beta ids
single 'a server outlives clients that were killed' beta 'rping -c -a 10.77.0.1 -V -C 5'
kill -9 "$(leaf $holder)"
wait $holder 2>/dev/null || true
nothing_left 'nothing is left of killed ones'

"$dingo_root/build/bin/dingo-card" ctl "$DINGO_RUN/alpha/control" faults 'drop=5%,duplicate=5%,reorder=5%' >/dev/null
limit=120
cm_pair 'five percent loss: ucmatose' 'ucmatose -c 10' 'ucmatose -s 10.77.0.1 -c 10' 'return status 0'
"$dingo_root/build/bin/dingo-card" ctl "$DINGO_RUN/alpha/control" faults >/dev/null
limit=60
nothing_left 'nothing is left after loss'

# Live migration of QEMU, which has its own librdmacm and libibverbs (rdma-core 56), and asks for
# more events than it reads.
# shellcheck disable=SC2031  # dingo_root is set again in the subshell alone
qemu=$(
    . "$dingo_root/scripts/lib/common.sh"
    . "$dingo_root/scripts/lib/qemu.sh"
    root=$(qemu_root) && qemu_command "$root" && echo "${qemu_command[*]}"
)
limit=300
for pin_all in off on; do
    mkdir -p "$logs/migration-$pin_all"
    plain "live migration of QEMU, every byte (rdma-pin-all $pin_all)" \
        "/usr/bin/python3 $dingo_root/tests/e2e/native/migrate.py $dingo alpha beta 10.77.0.2 $logs/migration-$pin_all $pin_all $qemu" '^migrated [0-9]+ bytes'
done
limit=60
nothing_left 'nothing is left of the migrated machine'
. "$dingo_root/tests/e2e/native/cases/iser.sh"
nothing_left 'nothing is left of iSER'
