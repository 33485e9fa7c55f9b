# SPDX-License-Identifier: BSD-2-Clause
# rdma-bench on the kernel's devices, with QPs connected by rdma_cm: parameters exchanged over TCP
# (-R), or without TCP (-z). Sourced by basic.sh.
if install_rdma_bench; then
    # bench OPTIONS [ADDRESS]: case: same options on both sides; verifies all bytes where the test
    # can.
    bench() {
        pair "rdma-bench $1${2:+ $2}" "rdma-bench $1 -F" "rdma-bench $1 -F ${2:-A}" '^ [0-9]+ +[0-9]+ +[0-9.]+ +[0-9.]+'
    }
    bench 'write-bw -R -n 100 --verify'
    bench 'read-bw -R -q 5 -s 4096 -n 100 --verify'
    bench 'send-bw -R -q 3 -b -n 50'
    bench 'write-lat -R -n 100 --verify'
    bench 'atomic-lat -R -n 50'
    bench 'send-bw -R -T 104 -n 50'
    bench 'write-bw -R --ipv6 -q 2 -n 50 --verify' fd77::1
    bench 'send-bw -R -z -q 40 -s 64 -n 50 --use-srq' 10.77.0.1
    bench 'write-bw -z -n 50 --verify' 10.77.0.1
    pair 'rdma-bench -R: the table says who connected the QPs' 'rdma-bench write-bw -R -F -n 50' 'rdma-bench write-bw -R -F -n 50 A' '^ rdma_cm QPs.*: ON$'
    single 'rdma-bench -R: one host, TCP over an address that is no RDMA device' A \
        '(rdma-bench write-bw -R -F -n 50 -p 18700 >/dev/null 2>&1 & sleep 1; rdma-bench write-bw -R -F -n 50 -p 18700 127.0.0.1; wait)' '^ 65536 +50 '
    single 'rdma-bench -R: given on one side only' A \
        '(rdma-bench write-bw -p 18701 >/dev/null 2>&1 & sleep 1; rdma-bench write-bw -R -p 18701 127.0.0.1 2>&1; wait)' 'R: given here, not given at the peer'
fi
