#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Trains a small transformer by one of PyTorch's parallel methods, and compares the parameters with
those of a single process that trains on the whole batch.

usage: torchrun --nproc-per-node N tests/gpu/programs/training.py ddp | fsdp | pipeline
"""
import os
import sys

import torch
import torch.distributed as dist
from torch import nn

WIDTH, LENGTH, BATCH, STEPS = 256, 64, 16, 12


def model():
    torch.manual_seed(5)
    layer = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, dropout=0.0, batch_first=True)
    return nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(WIDTH, WIDTH)).cuda()


def batch(step):
    generator = torch.Generator().manual_seed(100 + step)
    data = torch.randn(BATCH, LENGTH, WIDTH, generator=generator).cuda()
    return data, data.roll(1, 1)


def train(net, part):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for step in range(STEPS):
        data, wanted = (tensor[part] for tensor in batch(step))
        optimizer.zero_grad()
        nn.functional.mse_loss(net(data), wanted).backward()
        optimizer.step()


def alone():
    net = model()
    train(net, slice(None))
    return [p.detach() for p in net.parameters()]


def compare(parameters, expected):
    for number, (got, wanted) in enumerate(zip(parameters, expected, strict=True)):
        worst = (got - wanted).abs().max().item()
        if not worst < 2e-4:
            sys.exit(f"parameter {number} differs by {worst}")


def pipeline(rank, ranks):
    """Trains in two stages: sends activations forward and gradients back by isend and irecv, four
    pieces at once."""
    net = model()
    stage = nn.Sequential(net[0], net[1].layers[0]) if rank == 0 else nn.Sequential(net[1].layers[1], net[2])
    optimizer = torch.optim.SGD(stage.parameters(), lr=0.05)
    pieces = 4
    shape = (pieces, BATCH // pieces, LENGTH, WIDTH)
    for step in range(STEPS):
        data, wanted = batch(step)
        optimizer.zero_grad()
        if rank == 0:
            out = stage(data).view(shape)
            for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, piece.contiguous(), 1) for piece in out.detach()]):
                work.wait()
            gradient = torch.empty(shape, device="cuda")
            for work in dist.batch_isend_irecv([dist.P2POp(dist.irecv, piece, 1) for piece in gradient]):
                work.wait()
            out.backward(gradient)
        else:
            entered = torch.empty(shape, device="cuda")
            for work in dist.batch_isend_irecv([dist.P2POp(dist.irecv, piece, 0) for piece in entered]):
                work.wait()
            whole = entered.view(BATCH, LENGTH, WIDTH).requires_grad_()
            nn.functional.mse_loss(stage(whole), wanted).backward()
            gradient = whole.grad.view(shape)
            for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, piece.contiguous(), 0) for piece in gradient]):
                work.wait()
        optimizer.step()
    mine = list(stage.parameters())
    first = len(list(net[0].parameters())) + len(list(net[1].layers[0].parameters()))
    expected = alone()
    compare([p.detach() for p in mine], expected[:first] if rank == 0 else expected[first:])


def main():
    torch.backends.cuda.matmul.allow_tf32 = False
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl", device_id=torch.device("cuda", local))
    rank, ranks = dist.get_rank(), dist.get_world_size()
    part = slice(rank * BATCH // ranks, (rank + 1) * BATCH // ranks)
    how = sys.argv[1]
    if how == "ddp":
        net = nn.parallel.DistributedDataParallel(model(), device_ids=[local], bucket_cap_mb=1)
        train(net, part)
        compare([p.detach() for p in net.parameters()], alone())
    elif how == "fsdp":
        from torch.distributed.fsdp import fully_shard
        net = model()
        for layer in net[1].layers:
            fully_shard(layer)
        fully_shard(net)
        train(net, part)
        compare([p.full_tensor().detach() for p in net.parameters()], alone())
    else:
        pipeline(rank, ranks)
    dist.barrier()
    print(f"rank {rank}: {how} agrees with one process", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
