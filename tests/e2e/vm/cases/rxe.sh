# SPDX-License-Identifier: BSD-2-Clause
# The kernel's rdma_rxe as the peer, in both roles, with 1 byte to 1 MiB.

# reversed TOOL OPTIONS: case: the server is rxe (B), the client is Dingo's card (A).
reversed() {
    local tool=$1 options=$2
    pair "$tool $options (client: our card)" "$tool $options" "$tool $options B" \
        '^ +[0-9]+ +[0-9]+ +[0-9.]+' --server B
}

boot --rxe-b "${vm_options[@]}"
# Short runs: rxe reaches about 20 MB/s under emulation.
for mtu in 1024 4096; do
    for size in 1 64 1024 4096 65536 1048576; do
        n=100
        [ $size -lt 65536 ] || n=20
        for tool in ib_write_bw ib_read_bw ib_send_bw; do
            options="-m $mtu -s $size -n $n"
            perftest $tool "$options"
            reversed $tool "$options"
        done
    done
done
for tool in ib_atomic_bw ib_write_lat ib_read_lat ib_send_lat ib_atomic_lat; do
    options='-n 100'
    perftest $tool "$options"
    reversed $tool "$options"
done
for transport in UC UD; do
    perftest ib_send_bw "-c $transport -n 100 -s 1024"
    reversed ib_send_bw "-c $transport -n 100 -s 1024"
done
perftest ib_write_bw '-x $(gid 6) -n 50'
perftest ib_send_bw '-b -n 50'
perftest ib_write_bw '-R -n 50'
if install_rdma_bench; then
    for test in write-bw read-bw send-bw; do
        options="$test -F -R -s 4096 -q 2 -n 50 --verify"
        pair "rdma-bench $options" "rdma-bench $options" "rdma-bench $options A" '0 wrong$'
        pair "rdma-bench $options (client: our card)" "rdma-bench $options" "rdma-bench $options B" '0 wrong$' --server B
    done
fi
pair 'rping' 'rping -s -a 10.77.0.1 -C 20 -V' 'rping -c -a 10.77.0.1 -C 20 -V' ''
# One datagram: mckey destroys its queue pair right after its last post, when rxe has sent only one.
pair 'mckey, rxe sends' "$(mckey_receiver 1 -b 10.77.0.1)" 'mckey -m 239.1.2.3 -b 10.77.0.2 -C 10 -s' 'return status 0'
pair 'mckey, our card sends' "$(mckey_receiver 10 -b 10.77.0.2)" 'mckey -m 239.1.2.3 -b 10.77.0.1 -C 10 -s' 'return status 0' --server B
pair 'ibv_rc_pingpong -c' 'ibv_rc_pingpong -c -n 200 -g $(gid 4)' 'ibv_rc_pingpong -c -n 200 -g $(gid 4) A' 'iters in'
clean_dmesg
