# SPDX-License-Identifier: BSD-2-Clause
# The RTL card under Verilator with the kernel driver: two such cards, then one and the kernel's
# rdma_rxe.
. scripts/lib/build.sh
[ -n "${DINGO_BUILD:-}" ] || build_rtl_engine >"$logs/build.log" 2>&1 || { fail "the rtl engine builds" "see $logs/build.log"; return; }

# both TOOL OPTIONS: cases with the server in A, then in B.
both() {
    pair "$1 $2" "$1 $2" "$1 $2 A" '^ +[0-9]+ +[0-9]+ +[0-9.]+'
    pair "$1 $2 (server B)" "$1 $2" "$1 $2 B" '^ +[0-9]+ +[0-9]+ +[0-9.]+' --server B
}

# lossy PEER VM-OPTION...: common programs, with the server in either guest and 1 % loss each way.
lossy() {
    local peer=$1 tool side
    boot "${@:2}" --faults drop=1% "${vm_options[@]}"
    for tool in 'ib_write_bw -u 17 -n 200 -s 4096 -m 1024' 'ib_read_bw -u 17 -n 200 -s 4096 -m 1024 -o 16' 'ib_send_bw -u 17 -n 200 -s 4096 -m 1024' \
        'ib_write_lat -u 17 -n 100' 'ib_read_lat -u 17 -n 100 -o 16' 'ib_send_lat -u 17 -n 100'; do
        for side in A B; do
            limit=300 pair "$peer, 1 % lost: $tool, server $side" "$tool" "$tool $side" '^ +[0-9]+ +[0-9]+ +[0-9.]+' --server $side
        done
    done
    pair "$peer, 1 % lost: ibv_rc_pingpong -c" 'ibv_rc_pingpong -c -n 200 -g $(gid 4)' 'ibv_rc_pingpong -c -n 200 -g $(gid 4) A' 'iters in'
    pair "$peer, 1 % lost: rping" 'rping -s -a 10.77.0.1 -C 20 -V' 'rping -c -a 10.77.0.1 -C 20 -V -v' 'ping data'
    single "$peer: frames were lost, and sent again" A \
        'grep . /sys/class/infiniband/*/ports/1/hw_counters/{local_ack_timeout_err,packet_seq_err,out_of_sequence}' ':[1-9]'
    shut_down
}

boot --engine rtl "${vm_options[@]}"
single 'the driver says what the card is' A ibv_devinfo 'board_id:[[:space:]]+dingo-rtl'
single 'ping' A 'ping -c 3 -i 0.3 -w 20 10.77.0.2' ' 0% packet loss'
single 'ping of 8000 bytes over IPv6' A 'ping -c 2 -w 20 -s 8000 fd77::2' ' 0% packet loss'
pair 'iperf3' 'iperf3 -s -1' 'iperf3 -c A -t 2' receiver
for tool in ib_write_bw ib_read_bw ib_send_bw; do perftest $tool '-n 20 -s 4096'; done
for tool in ib_write_lat ib_read_lat ib_send_lat ib_atomic_bw ib_atomic_lat; do perftest $tool '-n 20'; done
perftest ib_send_bw '-c UC -n 20 -s 4096'
perftest ib_write_bw '-R -n 20 -s 4096'
# -u 17: four QPs share the simulation's 1 MiB/s, so an ACK may take longer than perftest's default
# 67 ms.
perftest ib_send_bw '-e -q 4 -n 20 -u 17'
perftest ib_send_bw '-c UD -n 20 -s 1024'
pair 'ibv_rc_pingpong -c' 'ibv_rc_pingpong -c -n 50 -g $(gid 4)' 'ibv_rc_pingpong -c -n 50 -g $(gid 4) A' 'iters in'
pair 'ibv_ud_pingpong' 'ibv_ud_pingpong -n 50 -g $(gid 4)' 'ibv_ud_pingpong -n 50 -g $(gid 4) A' 'iters in'
pair rping 'rping -s -a 10.77.0.1 -C 10 -V' 'rping -c -a 10.77.0.1 -C 10 -V -v' 'ping data'
pair 'ibv_srq_pingpong -c' 'ibv_srq_pingpong -c -q 4 -n 50 -g $(gid 4)' 'ibv_srq_pingpong -c -q 4 -n 50 -g $(gid 4) A' 'iters in'
single 'a full GID table takes what fits' A \
    'for i in $(seq 30); do ip addr add 10.88.$i.1/24 dev enp1s0; done; sleep 1; n=$(grep -vc "^0000:0000:0000:0000:0000:0000:0000:0000$" <(cat /sys/class/infiniband/*/ports/1/gids/*)); for i in $(seq 30); do ip addr del 10.88.$i.1/24 dev enp1s0; done; echo "$n GIDs"' '^16 GIDs'
single 'the driver leaves and comes back' A 'modprobe -r dingo_ib dingo && modprobe dingo && udevadm settle; for i in $(seq 50); do ! ping -c 1 -W 1 10.77.0.2 >/dev/null || break; done; ibv_devinfo' PORT_ACTIVE
perftest ib_write_bw '-n 20 -s 4096 -x $(gid 4)'
shut_down

lossy 'two of them' --engine rtl
lossy 'with the model' --engine-a rtl
lossy 'with rxe' --engine-a rtl --rxe-b

boot --engine-a rtl --rxe-b "${vm_options[@]}"
# rxe serves 128 outstanding READs, the RTL 16, and perftest does not negotiate.
both ib_write_bw '-n 20 -s 4096 -m 1024'
both ib_read_bw '-n 20 -s 4096 -m 1024 -o 16'
both ib_send_bw '-n 20 -s 4096 -m 1024'
both ib_write_lat '-n 20'
both ib_read_lat '-n 20 -o 16'
both ib_send_lat '-n 20'
both ib_send_bw '-c UD -n 20 -s 1024'
pair 'rping with rxe' 'rping -s -a 10.77.0.1 -C 10 -V' 'rping -c -a 10.77.0.1 -C 10 -V -v' 'ping data'
check=build/bin/verbs_check
if [ -x $check ]; then
    for side in A B; do "$vm" push --quiet --name "$session" $side $check /root; done
    pair 'verbs_check with rxe' '/root/verbs_check -p 18515' '/root/verbs_check -p 18515 A' 'every byte right'
    pair 'verbs_check with rxe (server B)' '/root/verbs_check -p 18515' '/root/verbs_check -p 18515 B' 'every byte right' --server B
else
    skip 'verbs_check with rxe' "no $check: build the target verbs_check"
fi
clean_dmesg
