# SPDX-License-Identifier: BSD-2-Clause
# UCX with CUDA: from GPU memory to GPU memory over rc_verbs and ud_verbs. Debian builds UCX without
# CUDA, so it is built here from $DINGO_UCX, its sources with a configure script (made by
# ./autogen.sh). Run by scripts/gpu.sh.
# shellcheck disable=SC2154  # lib.sh's variables
source=${DINGO_UCX:-}
cuda=${CUDA_HOME:-/usr/local/cuda}
if [ ! -x "$source/configure" ] || [ ! -r "$cuda/include/cuda.h" ]; then
    skip 'UCX with CUDA' "needs UCX's sources (DINGO_UCX=folder with its configure script) and $cuda/include/cuda.h"
    return 0
fi
ucx=$source/dingo-build
if ! { [ -x "$ucx/bin/ucx_perftest" ] || (mkdir -p "$ucx/build" && cd "$ucx/build" &&
    NVCC=/bin/false ../../configure --prefix="$ucx" --with-cuda="$cuda" --with-verbs --with-rdmacm --without-mlx5 --without-java --without-go \
        --disable-doxygen-doc --enable-examples --with-iodemo-cuda --disable-debug --disable-assertions && make -j"$(nproc)" && make install); } \
    >"$logs/ucx.build" 2>&1; then
    fail 'UCX builds with CUDA' "$(tail -n 1 "$logs/ucx.build")"
    return 0
fi
export LD_LIBRARY_PATH=$ucx/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
start_card alpha --own-process --ip 10.77.0.1/24
start_card beta --own-process --ip 10.77.0.2/24
limit=90
# UCX probes DMABuf support with an invalid descriptor and expects EBADF.
single "ucx_info: the card takes DMABufs" alpha "$ucx/bin/ucx_info -d | grep -A 12 'Memory domain: alpha'" 'register: unlimited, dmabuf'
for transport in rc ud; do
    for what in 'tag_lat -s 8' 'tag_bw -s 65536' 'tag_bw -s 4194304 -n 300' 'ucp_put_bw -s 1048576 -n 300' 'ucp_get -s 65536' 'ucp_am_bw -s 262144'; do
        settings="UCX_TLS=$transport,cuda_copy UCX_NET_DEVICES"
        pair "ucx_perftest $what over $transport, cuda" "$settings=alpha:1 $ucx/bin/ucx_perftest -p 13400" \
            "$settings=beta:1 $ucx/bin/ucx_perftest -p 13400 A -n 1000 -w 20 -f -m cuda,cuda -t $what 2>&1" '^ +[0-9]+ +[0-9.]+' 13400
    done
done
# Programs that verify the data they receive; they connect by rdma_cm, at the card's address.
peer=10.77.0.1
client_server=$ucx/build/examples/ucp_client_server
for memory in 'cuda cuda' 'cuda host' 'host cuda'; do
    for how in tag stream am; do
        # The server serves until it is killed.
        plain "ucp_client_server -c $how, ${memory/ / to }" "rm -f $logs/server.out; export UCX_TLS=rc,cuda_copy
            $dingo run --card alpha -- $client_server -p 13401 -c $how -m ${memory#* } -i 20 -s 30000 >$logs/server.out 2>&1 & server=\$!
            for i in \$(seq 100); do ! grep -q listening $logs/server.out || break; sleep 0.1; done
            $dingo run --card beta -- $client_server -p 13401 -a $peer -c $how -m ${memory% *} -i 20 -s 30000 >/dev/null; status=\$?
            for i in \$(seq 50); do ! grep -q 'TEST SUCCESS' $logs/server.out || break; sleep 0.1; done
            kill \$server; grep -o 'TEST SUCCESS' $logs/server.out | head -n 1; exit \$status" '^TEST SUCCESS'
    done
    plain "io_demo with checks, ${memory/ / to }" "rm -f $logs/server.out; export UCX_TLS=rc,cuda_copy
        $dingo run --card alpha -- $ucx/bin/io_demo -p 13402 -q -d 1:2000000 -m ${memory#* } >$logs/server.out 2>&1 & server=\$!
        for i in \$(seq 100); do ! grep -q 'started listener' $logs/server.out || break; sleep 0.1; done
        $dingo run --card beta -- $ucx/bin/io_demo -p 13402 -q -o read,write -d 1:2000000 -i 300 -m ${memory% *} $peer 2>&1
        status=\$?
        kill \$server
        exit \$status"
done
limit=60
