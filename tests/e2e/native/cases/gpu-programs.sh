# SPDX-License-Identifier: BSD-2-Clause
# Third-party programs on two GPUs with a card each, started as users start them: training by DDP,
# FSDP, a pipeline and Hugging Face's Trainer; JAX and CuPy over NCCL; PyTorch's RPC over ibverbs;
# NCCL's settings. Results are checked. Run by scripts/gpu.sh.
# shellcheck disable=SC2154  # lib.sh's variables
if ! python3 -c 'import torch; assert torch.cuda.device_count() >= 2' 2>/dev/null; then
    skip 'programs' 'needs PyTorch and two GPUs'
    return 0
fi
programs=$dingo_root/tests/gpu/programs
export NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1 NCCL_NVLS_ENABLE=0 TORCH_SYMM_MEM_DISABLE_MULTICAST=1 NCCL_GIN_TYPE=2 NCCL_DEBUG=WARN
export NCCL_NET=IB NCCL_NET_GDR_LEVEL=SYS HF_HUB_OFFLINE=1 XLA_PYTHON_CLIENT_PREALLOCATE=false TF_CPP_MIN_LOG_LEVEL=2
limit=120
cluster="$dingo run --cluster 2"
torchrun="torchrun --standalone --nproc-per-node 2"
# has NAME MODULE: succeeds if Python finds MODULE; else skips the case NAME.
has() { python3 -c "import importlib.util as u, sys; sys.exit(u.find_spec('$2') is None)" || { skip "$1" "no $2 here"; return 1; }; }
for how in ddp fsdp pipeline; do
    plain "torch: $how" "$cluster -- $torchrun $programs/training.py $how" "^rank 1: $how agrees"
done
plain 'torch: ddp with expandable segments' "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True $cluster -- $torchrun $programs/training.py ddp" '^rank 1: ddp agrees'
plain 'torch: tensors of expandable segments as regions' "$dingo run -- python3 $programs/segments.py" '^4 tensors are registered'
# A loss that nothing follows costs NCCL's ACK timeout, 4 s.
limit=300 plain 'torch: ddp at 1 % loss' "$cluster --faults drop=1% -- $torchrun $programs/training.py ddp" '^rank 1: ddp agrees'
plain 'torch: registered memory, groups, objects' "$cluster -- $torchrun $programs/buffers.py" '^rank 1: all buffers are right'
# Settings that tuning guides for NCCL recommend.
for settings in 'NCCL_IB_QPS_PER_CONNECTION=4 NCCL_IB_SPLIT_DATA_ON_QPS=1' 'NCCL_PROTO=LL' 'NCCL_PROTO=LL128' 'NCCL_ALGO=allreduce:tree NCCL_PROTO=Simple' \
    'NCCL_CUMEM_ENABLE=0' 'NCCL_DMABUF_ENABLE=0' 'NCCL_NET_GDR_READ=0' 'NCCL_IB_USE_INLINE=1 NCCL_IB_AR_THRESHOLD=0' 'NCCL_IB_PCI_RELAXED_ORDERING=0 NCCL_IB_TC=106 NCCL_IB_SL=0' \
    'NCCL_MIN_NCHANNELS=8 NCCL_BUFFSIZE=1048576' 'NCCL_IB_GID_INDEX=1' 'NCCL_IB_FIFO_TC=40'; do
    plain "nccl: $settings" "env $settings $cluster -- $torchrun $dingo_root/tests/gpu/nccl.py --few" '^rank 1: every result is right'
done
! has 'Trainer of transformers' transformers || plain 'Trainer of transformers' "$cluster -- $torchrun $programs/trainer.py $logs/trainer" '^rank 1: losses'
! has 'jax: two processes' jax || plain 'jax: two processes' \
    "WORLD_SIZE=2 $cluster -- sh -c 'for r in 0 1; do RANK=\$r LOCAL_RANK=\$r python3 $programs/jax_ranks.py 29531 & done; wait' 2>&1 | tee $logs/jax.log | grep -c \"JAX's arrays are right\"" '^2$'
if has 'cupy: one process, two GPUs' cupy; then
    if python3 -c 'from cupy.cuda import nccl; nccl.get_version()' 2>/dev/null; then
        start_card gamma --own-process
        start_card delta --own-process
        plain 'cupy: one process, two GPUs' "$dingo run --card gamma --card delta -- python3 $programs/one_process.py" '^2 GPUs of one process'
    else
        skip 'cupy: one process, two GPUs' 'CuPy has no NCCL here'
    fi
fi
plain 'torch: rpc over ibverbs' \
    "$cluster -- sh -c 'for r in 0 1; do RANK=\$r LOCAL_RANK=\$r python3 $programs/rpc.py 29541 & done; wait'" 'every tensor came back right'
limit=60
