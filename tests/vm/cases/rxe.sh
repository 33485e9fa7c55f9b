# SPDX-License-Identifier: BSD-2-Clause
# The kernel's rdma_rxe at the other end of the cable, in both roles, 1 byte to 1 MiB.

# reversed NAME TOOL OPTIONS: the server is rxe (B), the client is our card (A). Roles are per
# guest in vm.sh, so the server starts in the background of B.
reversed() {
    local tool=$1 options=$2 name out rc=0
    name="$tool $options (client: our card)"
    out=$logs/$(slug "$name").out
    in_guest B "setsid $tool $options >/tmp/server.out 2>&1 </dev/null & sleep 1" >/dev/null 2>&1 || true
    limit=120 in_guest A "for i in 1 2 3 4 5; do timeout 100 $tool $options B && exit 0; sleep 1; done; exit 1" \
        >"$out" 2>&1 || rc=$?
    in_guest B "pkill -x $tool; cat /tmp/server.out" >"$out.server" 2>&1 || true
    if [ $rc = 0 ] && grep -qE '^ +[0-9]+ +[0-9]+ +[0-9.]+' "$out"; then
        pass "$name"
    else
        fail "$name" "status $rc: $(tail -n 2 "$out" "$out.server" | tr '\n' ' ' | cut -c1-300)"
        check_alive
    fi
}

boot --rxe-b "${vm_options[@]}"
# Neither side needs to be quick here: rxe under emulation manages about 20 MB/s.
for mtu in 1024 4096; do
    for size in 1 64 1024 4096 65536 1048576; do
        n=100
        [ $size -lt 65536 ] || n=20
        for tool in ib_write_bw ib_read_bw ib_send_bw; do
            perftest $tool "-m $mtu -s $size -n $n"
            reversed $tool "-m $mtu -s $size -n $n"
        done
    done
done
for tool in ib_atomic_bw ib_write_lat ib_read_lat ib_send_lat ib_atomic_lat; do
    perftest $tool '-n 100'
    reversed $tool '-n 100'
done
for transport in UC UD; do
    perftest ib_send_bw "-c $transport -n 100 -s 1024"
    reversed ib_send_bw "-c $transport -n 100 -s 1024"
done
perftest ib_write_bw '-x $(gid 6) -n 50'
perftest ib_send_bw '-b -n 50'
perftest ib_write_bw '-R -n 50'
pair 'rping' 'rping -s -a 10.77.0.1 -C 20 -V' 'rping -c -a 10.77.0.1 -C 20 -V' ''
pair 'ibv_rc_pingpong -c' 'ibv_rc_pingpong -c -n 200 -g $(gid 4)' 'ibv_rc_pingpong -c -n 200 -g $(gid 4) A' 'iters in'
clean_dmesg
