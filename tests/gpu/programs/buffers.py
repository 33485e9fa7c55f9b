#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tests memory that the program registers with NCCL or that NCCL allocates for it, many outstanding
operations, objects, and subgroups.

usage: torchrun --nproc-per-node N tests/gpu/programs/buffers.py
"""
import os
import sys

import torch
import torch.distributed as dist


def same(got, expected, what):
    if not torch.equal(got, expected):
        sys.exit(f"{what}: {int((got != expected).sum())} of {got.numel()} elements are wrong")


def numbers(rank, count):
    return ((torch.arange(count, device="cuda") * 11 + rank * 2003) % 8191).to(torch.float32)


def main():
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    device = torch.device("cuda", local)
    dist.init_process_group("nccl", device_id=device)
    rank, ranks = dist.get_rank(), dist.get_world_size()
    backend = dist.group.WORLD._get_backend(device)
    pool = torch.cuda.MemPool(backend.mem_allocator)
    with torch.cuda.use_mem_pool(pool):
        registered = torch.empty(1 << 22, device="cuda")
    backend.register_mem_pool(pool)
    for count in (3, 4097, 1 << 22):
        part = registered[:count]
        part.copy_(numbers(rank, count))
        dist.all_reduce(part)
        same(part, sum(numbers(r, count) for r in range(ranks)), f"all_reduce of {count} in registered memory")
    backend.deregister_mem_pool(pool)
    works, tensors = [], []
    for number in range(64):
        tensors.append(numbers(rank + number, 1000 + 313 * number))
        works.append(dist.all_reduce(tensors[-1], async_op=True))
    for number, (work, tensor) in enumerate(zip(works, tensors, strict=True)):
        work.wait()
        same(tensor, sum(numbers(r + number, tensor.numel()) for r in range(ranks)), f"asynchronous all_reduce {number}")
    out = torch.empty(5000, device="cuda")
    dist.reduce_scatter_tensor(out, torch.cat([numbers(rank * ranks + to, 5000) for to in range(ranks)]))
    same(out, sum(numbers(source * ranks + rank, 5000) for source in range(ranks)), "reduce_scatter")
    counts = [1 + 1000 * to for to in range(ranks)]
    got = [torch.empty(counts[rank], device="cuda") for _ in range(ranks)]
    dist.all_to_all(got, [numbers(rank * ranks + to, counts[to]) for to in range(ranks)])
    for source in range(ranks):
        same(got[source], numbers(source * ranks + rank, counts[rank]), "all_to_all of uneven parts")
    objects = [None] * ranks
    dist.all_gather_object(objects, {"rank": rank, "text": "x" * (1000 * rank + 1)})
    if [o["rank"] for o in objects] != list(range(ranks)):
        sys.exit("all_gather_object: wrong")
    # Groups are made and destroyed; each has its own communicators, and so its own queue pairs and
    # regions.
    for turn in range(4):
        group = dist.new_group(list(range(ranks)))
        tensor = numbers(rank + turn, 777)
        dist.all_reduce(tensor, group=group)
        same(tensor, sum(numbers(r + turn, 777) for r in range(ranks)), f"all_reduce in group {turn}")
        torch.cuda.synchronize()
        dist.destroy_process_group(group)
    print(f"rank {rank}: all buffers are right", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
