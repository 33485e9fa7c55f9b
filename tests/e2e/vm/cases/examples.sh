# SPDX-License-Identifier: BSD-2-Clause
# rdma-core's own examples: verbs pingpongs and the connection manager. Sourced by basic.sh.
for kind in rc uc ud srq; do
    for events in '' ' -e'; do
        tool="ibv_${kind}_pingpong$events -n 500"
        pair "$tool" "$tool -g \$(gid 4)" "$tool -g \$(gid 4) A" 'iters in'
    done
    tool="ibv_${kind}_pingpong"
    pair "$tool over IPv6" "$tool -g \$(gid 6)" "$tool -g \$(gid 6) A" 'iters in'
done
pair 'ibv_rc_pingpong with 256-byte packets' 'ibv_rc_pingpong -m 256 -g $(gid 4)' \
    'ibv_rc_pingpong -m 256 -g $(gid 4) A' 'iters in'
pair 'ibv_rc_pingpong with completion timestamps or without' 'ibv_rc_pingpong -N -g $(gid 4)' \
    'ibv_rc_pingpong -N -g $(gid 4) A' 'iters in'
pair 'ibv_rc_pingpong -c (data checked)' 'ibv_rc_pingpong -c -g $(gid 4)' \
    'ibv_rc_pingpong -c -g $(gid 4) A' 'iters in'
pair 'ibv_srq_pingpong with 32 queue pairs' 'ibv_srq_pingpong -q 32 -g $(gid 4)' \
    'ibv_srq_pingpong -q 32 -g $(gid 4) A' 'iters in'

pair 'rping, data checked' 'rping -s -a 10.77.0.1 -C 50 -V' 'rping -c -a 10.77.0.1 -C 50 -V -v' 'ping data'
pair 'rping over IPv6' 'rping -s -a fd77::1 -C 20 -V' 'rping -c -a fd77::1 -C 20 -V' ''
pair 'rping, 64 KiB' 'rping -s -a 10.77.0.1 -C 20 -V -S 65000' \
    'rping -c -a 10.77.0.1 -C 20 -V -S 65000' ''
pair 'ucmatose' 'ucmatose -b 10.77.0.1' 'ucmatose -b 10.77.0.2 -s 10.77.0.1' 'return status 0'
pair 'ucmatose, 10 connections, 100 messages' 'ucmatose -b 10.77.0.1 -c 10 -C 100' \
    'ucmatose -b 10.77.0.2 -s 10.77.0.1 -c 10 -C 100' 'return status 0'
pair 'udaddy' 'udaddy -b 10.77.0.1' 'udaddy -b 10.77.0.2 -s 10.77.0.1' 'return status 0'
pair 'rdma_server and rdma_client' 'rdma_server' 'rdma_client -s 10.77.0.1' 'rdma_client: end 0'
pair 'rdma_xserver and rdma_xclient' 'rdma_xserver' 'rdma_xclient -s 10.77.0.1' 'end 0'
pair 'cmtime' 'cmtime -b 10.77.0.1 -c 20' 'cmtime -b 10.77.0.2 -s 10.77.0.1 -c 20' 'connect'
pair 'rstream' 'rstream -b 10.77.0.1 -S 4096 -I 100' 'rstream -s 10.77.0.1 -S 4096 -I 100' '[0-9]'
