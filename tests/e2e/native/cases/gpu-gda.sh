# SPDX-License-Identifier: BSD-2-Clause
# gda.sh's cases with kernels on an NVIDIA GPU, and with more warps than a CPU has threads. Needs
# nvcc. Run by scripts/gpu.sh.
# shellcheck disable=SC2154  # lib.sh's variables
build_preset release gda_traffic_cuda gpu_interchange >>"$logs/build.log" 2>&1 || { fail 'build' "$(tail -n 2 "$logs/build.log" | tr '\n' ' ')"; exit 1; }
gda=$dingo_root/build/bin/gda_traffic_cuda
interchange=$dingo_root/build/bin/gpu_interchange
start_card alpha --own-process
start_card beta --own-process
limit=120
single 'gda on a GPU: 1,024 warps post to one QP' 'alpha beta' "$gda traffic 32768 1 4 32" 'every byte and atomic is right'
single 'gda on a GPU: 1,024 warps post to 64 QPs' 'alpha beta' "$gda traffic 32768 64 4 32" 'every byte and atomic is right'
single 'gda on a GPU: lanes of a warp post to 64 QPs' 'alpha beta' "$gda traffic 4096 64 4 1" 'every byte and atomic is right'
. tests/e2e/native/cases/gda.sh
single 'gda on a GPU: 1,024 warps, 64 QPs, 1 % loss' 'lossy_a lossy_b' "$gda traffic 32768 64 2 32" 'every byte and atomic is right'
for memory in pinned cuda; do
    for bytes in 1024 1 1048576; do
        single "gpu_interchange --mem $memory --size $bytes" 'alpha beta' "$interchange --mem $memory --size $bytes --value 7" \
            "^Success! All $bytes bytes verified with value 7\$"
    done
    single "gpu_interchange --mem $memory on one card" alpha "$interchange --mem $memory" '^=== Example completed successfully! ===$'
done
if command -v compute-sanitizer >/dev/null; then
    limit=300
    for tool in memcheck racecheck synccheck; do
        single "gda under compute-sanitizer $tool" 'alpha beta' \
            "compute-sanitizer --tool $tool --error-exitcode 9 $gda traffic 256 4 4 32 2>&1" 'every byte and atomic is right'
    done
else
    skip 'gda under compute-sanitizer' 'no compute-sanitizer here'
fi
limit=60
