# SPDX-License-Identifier: BSD-2-Clause
# A short round: the administrator's tools, and one case of each kind.
boot "${vm_options[@]}"
. tests/e2e/vm/cases/tools.sh
for tool in ib_write_bw ib_read_bw ib_send_bw ib_atomic_bw ib_write_lat ib_read_lat ib_send_lat ib_atomic_lat; do
    perftest $tool
done
pair ibv_rc_pingpong 'ibv_rc_pingpong -g $(gid 4)' 'ibv_rc_pingpong -g $(gid 4) A' 'iters in'
pair ibv_ud_pingpong 'ibv_ud_pingpong -g $(gid 4)' 'ibv_ud_pingpong -g $(gid 4) A' 'iters in'
pair rping 'rping -s -a 10.77.0.1 -C 10 -V' 'rping -c -a 10.77.0.1 -C 10 -V -v' 'ping data'
. tests/e2e/vm/cases/multicast.sh
clean_dmesg
