# SPDX-License-Identifier: BSD-2-Clause
# Runs each perftest tool with each option that Dingo promises to support. Sourced by tests/e2e/vm
# and tests/e2e/native, which define perftest TOOL [OPTIONS], and cm_perftest for connections by
# rdma_cm.
bandwidth=(ib_write_bw ib_read_bw ib_send_bw ib_atomic_bw)
latency=(ib_write_lat ib_read_lat ib_send_lat ib_atomic_lat)

for tool in "${bandwidth[@]}" "${latency[@]}"; do perftest $tool; done

for tool in ib_write_bw ib_read_bw ib_send_bw; do
    # Few messages of each size: those of megabytes take long in emulated guests.
    limit=300 perftest $tool '-a -n 20'
    perftest $tool '-n 5 -s 8388608'
    perftest $tool '-m 256 -n 500'
    perftest $tool '-m 512 -n 500'
    perftest $tool '-m 1024 -n 500'
    perftest $tool '-m 2048 -n 500'
    perftest $tool '-m 4096 -n 500'
    perftest $tool '-q 16 -n 200'
    cm_perftest $tool '-R'
    cm_perftest $tool '-R -q 4 -n 500'
    perftest $tool '-x $(gid 6)'
    perftest $tool '-x $(gid 4)'
done
for tool in "${bandwidth[@]}"; do
    perftest $tool '-b'
    perftest $tool '-D 2'
done
# perftest refuses -e for WRITE, which has no completion at the responder.
for tool in ib_read_bw ib_send_bw ib_atomic_bw; do perftest $tool '-e -n 500'; done
for tool in ib_write_lat ib_read_lat ib_send_lat; do
    limit=300 perftest $tool '-a -n 20'
    perftest $tool '-D 2'
    cm_perftest $tool '-R -n 200'
    [ $tool = ib_write_lat ] || perftest $tool '-e -n 200'
    perftest $tool '-x $(gid 6) -n 200'
done
perftest ib_atomic_bw '-A CMP_AND_SWAP'
perftest ib_atomic_bw '-A FETCH_AND_ADD'
perftest ib_atomic_bw '-q 16 -n 200'
perftest ib_atomic_bw '-o 1'
perftest ib_write_bw '-I 64 -s 64'
perftest ib_write_bw '-I 0 -s 64'
perftest ib_send_bw '-I 32 -s 32'
perftest ib_write_lat '-I 64 -s 64'
perftest ib_send_lat '-I 64 -s 64'
perftest ib_write_bw '-b -q 16 -n 200'
perftest ib_write_bw '-l 16 -n 512 -s 1024'
perftest ib_write_bw '-t 1 -n 500'
perftest ib_read_bw '-o 1 -n 500'
perftest ib_send_bw '--use-srq -q 4 -n 500'
perftest ib_send_bw '--use-srq -q 16 -n 200'
perftest ib_send_lat '--use-srq -n 200'
for transport in UD UC; do
    perftest ib_send_bw "-c $transport -n 1000"
    perftest ib_send_lat "-c $transport -n 500"
done
perftest ib_write_bw '-c UC -n 1000'
perftest ib_write_lat '-c UC -n 500'
perftest ib_send_bw '-c UD -s 2048 -n 1000'
perftest ib_send_bw '-c UD -q 4 -n 500'
perftest ib_send_bw '-c UD -x $(gid 6) -n 500'
cm_perftest ib_send_bw '-c UD -R -n 500'
perftest ib_send_bw '-r 1 -n 200'
