#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""PyTorch's RPC over TensorPipe's ibverbs transport. (Its cuda_gdr channel needs the old
nv_peer_mem module.)

usage: RANK=r tests/gpu/programs/rpc.py PORT
"""
import os
import sys

import torch
import torch.distributed.rpc as rpc

rank = int(os.environ["RANK"])
options = rpc.TensorPipeRpcBackendOptions(init_method=f"tcp://127.0.0.1:{sys.argv[1]}", rpc_timeout=60, _transports=["ibv"], _channels=["basic"])
rpc.init_rpc(f"rank{rank}", rank=rank, world_size=2, rpc_backend_options=options)
if rank == 0:
    for size in (1, 1000, 1 << 20, (1 << 22) + 3):
        data = torch.arange(size, dtype=torch.float32)
        got = rpc.rpc_sync("rank1", torch.add, args=(data, 1))
        if not torch.equal(got, data + 1):
            sys.exit(f"{size} floats came back wrong")
    futures = [rpc.rpc_async("rank1", torch.mul, args=(torch.full((1000 + i,), float(i)), 2)) for i in range(200)]
    for i, future in enumerate(futures):
        if not torch.equal(future.wait(), torch.full((1000 + i,), 2.0 * i)):
            sys.exit(f"call {i} came back wrong")
    print("RPC: every tensor came back right", flush=True)
rpc.shutdown()
