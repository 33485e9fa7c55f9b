# SPDX-License-Identifier: BSD-2-Clause
# torch.distributed over NCCL, with a card for each of two GPUs: results, with and without direct
# registration of GPU memory, loss, a killed rank. Rates compared with NCCL's sockets go to
# $logs/rates. Run by scripts/gpu.sh.
# shellcheck disable=SC2154  # lib.sh's variables
if ! python3 -c 'import torch; assert torch.cuda.device_count() >= 2' 2>/dev/null; then
    skip 'nccl' 'needs PyTorch and two GPUs'
    return 0
fi
export NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1 NCCL_NVLS_ENABLE=0 TORCH_SYMM_MEM_DISABLE_MULTICAST=1 NCCL_GIN_TYPE=2 NCCL_DEBUG=INFO
export TORCH_NCCL_ASYNC_ERROR_HANDLING=1
ranks="torchrun --standalone --nproc-per-node 2 $dingo_root/tests/gpu/nccl.py"
direct='NCCL_NET=IB NCCL_NET_GDR_LEVEL=SYS'
limit=180
# nccl NAME SETTINGS OPTIONS [REGEX [ARGUMENTS]]: case: two ranks on cards that `dingo run` starts
# with OPTIONS; SETTINGS are environment variables.
nccl() { plain "$1" "$2 $dingo run --cluster 2 $3 -- $ranks ${5:-}" "${4:-^rank 0: every result is right}"; }
nccl 'nccl: collectives, by host memory' 'NCCL_NET=IB NCCL_NET_GDR_LEVEL=LOC' ''
nccl "nccl: collectives, the GPU's memory registered" "$direct" ''
grep -q 'GDR 1\|GDRDMA' "$logs/$(slug "nccl: collectives, the GPU's memory registered").out" && pass 'nccl: its log says GDR' ||
    fail 'nccl: its log says GDR' "$(grep -m 1 -i gdr "$logs/$(slug "nccl: collectives, the GPU's memory registered").out")"
nccl 'nccl: 1 % loss' "$direct" '--faults drop=1%' '' --few
# Without torchrun, which would end the other rank itself. NCCL must report the peer; what PyTorch
# does with the error is not tested.
plain 'nccl: a rank is killed' "$direct NCCL_IB_TIMEOUT=14 TORCH_NCCL_BLOCKING_WAIT=1 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29511 \
    timeout -k 1 40 $dingo run --cluster 2 -- sh -c 'for r in 0 1; do RANK=\$r LOCAL_RANK=\$r python3 $dingo_root/tests/gpu/nccl.py --die & done; wait'; true" \
    'Got completion from peer .*status=IBV_WC_RETRY_EXC_ERR'
nccl 'nccl: once more' "$direct" '' '' --few
# Without NCCL's log, which would mix the lines of two processes.
NCCL_DEBUG=WARN plain 'nccl: the program of docs/gpu.md, as it is there' "cd $logs && sed -n '/cat >train.py/,/torchrun/p' $dingo_root/docs/gpu.md |
    sed 's,^    ,,; s,build/bin/dingo,$dingo,' >quick.sh && bash quick.sh" 'rank 1: 3.0'
# rates NAME SETTINGS: measures all_reduce.
rates() {
    NCCL_DEBUG=WARN plain "nccl: rates, $1" "$2 NCCL_SOCKET_IFNAME=lo $dingo run --cluster 2 -- $ranks --rates" '^. all_reduce'
    sed -n "s/^| all_reduce/| NCCL, $1: all_reduce/p" "$logs/$(slug "nccl: rates, $1").out" >>"$logs/rates"
}
rates 'its sockets' 'NCCL_NET=Socket'
rates "the GPU's memory" "$direct"
rates 'host memory' 'NCCL_NET=IB NCCL_NET_GDR_LEVEL=LOC'

# NVSHMEM's IBRC transport: libraries of Python's package nvidia-nvshmem-cu13.
shmem=$(python3 -c 'import nvidia.nvshmem; print(list(nvidia.nvshmem.__path__)[0])' 2>/dev/null || true)
if [ -z "$shmem" ] || ! command -v nvcc >/dev/null; then
    skip 'nvshmem' 'needs its library and nvcc'
elif ! nvcc -O2 -std=c++17 -rdc=true -arch=native -I"$shmem/include" tests/gpu/shmem.cu -o "$logs/shmem" -L"$shmem/lib" \
    -l:libnvshmem_host.so.3 -lnvshmem_device -lcuda -Xlinker -rpath,"$shmem/lib" >"$logs/shmem.build" 2>&1; then
    fail 'nvshmem' "$(why "$logs/shmem.build")"
else
    for vmm in 0 1; do
        plain "nvshmem: put, get, atomics over IBRC, CUDA_VMM $vmm" "NVSHMEM_BOOTSTRAP=UID NVSHMEM_REMOTE_TRANSPORT=ibrc NVSHMEM_IB_ENABLE_IBGDA=0 \
            NVSHMEM_DISABLE_P2P=1 NVSHMEM_DISABLE_NVLS=1 NVSHMEM_HCA_PREFIX=rank NVSHMEM_SYMMETRIC_SIZE=64M NVSHMEM_DISABLE_CUDA_VMM=$((1 - vmm)) \
            LD_LIBRARY_PATH=$shmem/lib $dingo run --cluster 2 -- sh -c 'for r in 0 1; do LOCAL_RANK=\$r $logs/shmem $logs/uid$vmm & done; wait' 2>&1 |
            tee $logs/shmem$vmm.log | grep -c '^PE . of 2: every word and atomic is right'" '^2$'
    done
fi
limit=60
