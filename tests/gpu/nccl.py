#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs collectives of torch.distributed over NCCL and verifies every element of every result.
Started by torchrun, with a GPU for each rank.

usage: torchrun --nproc-per-node N tests/gpu/nccl.py [--few | --die | --rates]
--few: small sizes only. --die: rank 1 kills itself, the others must notice. --rates: prints a table
of times instead.
"""
import argparse
import datetime
import os
import signal
import sys
import time

import torch
import torch.distributed as dist

SIZES = (1, 257, 1 << 14, (1 << 20) + 3, 1 << 24)


def same(got, expected, what):
    if not torch.equal(got, expected):
        sys.exit(f"{what}: {int((got != expected).sum())} of {got.numel()} elements are wrong")


def numbers(rank, count):
    """Returns values that are exact in float32, as is their sum over a few ranks."""
    return ((torch.arange(count, device="cuda") * 7 + rank * 1009) % 8191).to(torch.float32)


def check(rank, ranks, count):
    everybody = [numbers(r, count) for r in range(ranks)]
    tensor = numbers(rank, count)
    dist.all_reduce(tensor)
    same(tensor, sum(everybody), f"all_reduce of {count}")
    parts = [torch.empty(count, device="cuda") for _ in range(ranks)]
    dist.all_gather(parts, numbers(rank, count))
    for part, expected in zip(parts, everybody):
        same(part, expected, f"all_gather of {count}")
    out = torch.empty(count * ranks, device="cuda")
    dist.all_to_all_single(out, torch.cat([numbers(rank * ranks + to, count) for to in range(ranks)]))
    same(out, torch.cat([numbers(source * ranks + rank, count) for source in range(ranks)]), f"all_to_all of {count}")
    tensor = numbers(rank, count)
    dist.broadcast(tensor, src=ranks - 1)
    same(tensor, everybody[-1], f"broadcast of {count}")
    if rank == 0:
        dist.send(numbers(99, count), dst=1)
    elif rank == 1:
        dist.recv(tensor, src=0)
        same(tensor, numbers(99, count), f"recv of {count}")


def die(rank):
    tensor = torch.ones(1 << 20, device="cuda")
    try:
        for step in range(100000):
            if step == 20 and rank == 1:
                # Posts a last operation, so that the other rank has an address to write to, and
                # notices when it does.
                dist.all_reduce(tensor, async_op=True)
                time.sleep(0.5)
                os.kill(os.getpid(), signal.SIGKILL)
            elif step == 20:
                time.sleep(2)
            dist.all_reduce(tensor)
    except RuntimeError as error:
        print(f"rank {rank}: the peer is gone: {str(error).splitlines()[0]}", flush=True)
        os._exit(1)


def rates(rank):
    for count, name in ((256, "1 KiB"), (1 << 18, "1 MiB"), (1 << 24, "64 MiB")):
        tensor = torch.ones(count, device="cuda")
        took = []
        for step in range(35):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            dist.all_reduce(tensor)
            torch.cuda.synchronize()
            if step >= 5:
                took.append(time.perf_counter() - begin)
        if rank == 0:
            middle = sorted(took)[len(took) // 2]
            print(f"| all_reduce, {name} | {middle * 1e6:.0f} us, {count * 4 / middle / 1e9:.2f} GB/s |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    for name in ("few", "die", "rates"):
        parser.add_argument(f"--{name}", action="store_true")
    args = parser.parse_args()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=60), device_id=torch.device("cuda", int(os.environ["LOCAL_RANK"])))
    rank, ranks = dist.get_rank(), dist.get_world_size()
    if args.die:
        die(rank)
    elif args.rates:
        rates(rank)
    else:
        for count in SIZES[:3] if args.few else SIZES:
            check(rank, ranks, count)
        print(f"rank {rank}: every result is right", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
