# SPDX-License-Identifier: BSD-2-Clause
# perftest with --use_cuda: from GPU memory to GPU memory. Debian builds perftest without CUDA, so
# it is built here from $DINGO_PERFTEST, its sources with a configure script (made by ./autogen.sh).
# Run by scripts/gpu.sh.
# shellcheck disable=SC2154  # lib.sh's variables
source=${DINGO_PERFTEST:-}
cuda=${CUDA_HOME:-/usr/local/cuda}
if [ ! -x "$source/configure" ] || [ ! -r "$cuda/include/cuda.h" ]; then
    skip 'perftest --use_cuda' "needs perftest's sources (DINGO_PERFTEST=folder with its configure script) and $cuda/include/cuda.h"
    return 0
fi
if ! (cd "$source" && { [ -x ib_write_bw ] && grep -q '^#define HAVE_CUDA 1' config.h ||
    { ./configure CUDA_H_PATH="$cuda/include/cuda.h" --enable-cudart=no && make -j"$(nproc)"; }; }) >"$logs/perftest.build" 2>&1; then
    fail 'perftest: builds with CUDA' "$(tail -n 1 "$logs/perftest.build")"
    return 0
fi
start_card alpha --own-process
start_card beta --own-process
for memory in '--use_cuda=0' '--use_cuda=0 --use_cuda_dmabuf'; do
    for test in 'ib_write_bw -s 65536 -n 2000' 'ib_read_bw -s 65536 -n 1000' 'ib_send_bw -s 65536 -n 1000' 'ib_atomic_bw -n 500' \
        'ib_send_lat -s 8 -n 500' 'ib_read_lat -s 8 -n 500' 'ib_write_bw -a -n 200' 'ib_write_bw -b -q 4 -s 1048576 -n 500'; do
        pair "$test $memory" "$source/$test $memory" "$source/$test $memory A 2>&1" '^ *[0-9]+ +[0-9]+ +[0-9.]+ +[0-9.]+'
    done
done
