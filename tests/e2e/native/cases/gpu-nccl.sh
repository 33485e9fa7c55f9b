# SPDX-License-Identifier: BSD-2-Clause
# torch.distributed over NCCL, a card for each of two GPUs: results, the GPU's memory registered directly and not, loss, a killed
# rank. Ratios beside NCCL's own sockets: $logs/rates. scripts/gpu.sh runs it.
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
# nccl NAME SETTINGS OPTIONS [REGEX [ARGUMENTS]]: two ranks on cards that `dingo run` starts with the options.
nccl() { plain "$1" "$2 $dingo run --cluster 2 $3 -- $ranks ${5:-}" "${4:-^rank 0: every result is right}"; }
nccl 'nccl: collectives, by host memory' 'NCCL_NET=IB NCCL_NET_GDR_LEVEL=LOC' ''
nccl "nccl: collectives, the GPU's memory registered" "$direct" ''
grep -q 'GDR 1\|GDRDMA' "$logs/$(slug "nccl: collectives, the GPU's memory registered").out" && pass 'nccl: its log says GDR' ||
    fail 'nccl: its log says GDR' "$(grep -m 1 -i gdr "$logs/$(slug "nccl: collectives, the GPU's memory registered").out")"
nccl 'nccl: 1 % loss' "$direct" '--faults drop=1%' '' --few
# Not by torchrun, which would end the other rank itself.
plain 'nccl: a rank is killed' "$direct NCCL_IB_TIMEOUT=14 TORCH_NCCL_BLOCKING_WAIT=1 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29511 \
    $dingo run --cluster 2 -- sh -c 'for r in 0 1; do RANK=\$r LOCAL_RANK=\$r python3 $dingo_root/tests/gpu/nccl.py --die & done; wait'" \
    'rank 0: the peer is gone'
nccl 'nccl: once more' "$direct" '' '' --few
for net in Socket IB; do
    NCCL_DEBUG=WARN plain "nccl: rates, $net" "NCCL_NET=$net NCCL_NET_GDR_LEVEL=SYS NCCL_SOCKET_IFNAME=lo $dingo run --cluster 2 -- $ranks --rates" '^. all_reduce'
    sed -n "s/^| all_reduce/| NCCL over $net: all_reduce/p" "$logs/$(slug "nccl: rates, $net").out" >>"$logs/rates"
done
limit=60
