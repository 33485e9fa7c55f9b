#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Trains a small recommendation model on click records. Needs PyTorch.

With --feed the records come from dlrm-storage and the card has preprocessed them; without, they are read from FILE and
preprocessed here. The losses are the same, bit for bit: --losses writes them down, to be compared.
"""
import argparse
import sys

import reference

try:
    import numpy as np
    import torch
    from torch import nn
except ImportError as missing:
    sys.exit(f"train.py: {missing.name} is not here (Debian: python3-torch, python3-numpy)")


class Dlrm(nn.Module):
    """Dense columns through a perceptron, a table for each sparse column, products of all pairs, a perceptron."""

    def __init__(self, modulus, width):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(modulus, width) for _ in reference.SPARSE)
        vectors = 1 + len(reference.SPARSE)
        self.bottom = nn.Sequential(nn.Linear(len(reference.DENSE), 64), nn.ReLU(), nn.Linear(64, width), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(width + vectors * (vectors - 1) // 2, 64), nn.ReLU(), nn.Linear(64, 1))
        self.register_buffer("pairs", torch.tril_indices(vectors, vectors, -1))
        for table in self.tables:
            nn.init.normal_(table.weight, std=0.05)

    def forward(self, dense, sparse):
        bottom = self.bottom(dense)
        vectors = torch.stack([bottom] + [table(sparse[:, i]) for i, table in enumerate(self.tables)], 1)
        products = torch.bmm(vectors, vectors.transpose(1, 2))
        return self.top(torch.cat((bottom, products[:, self.pairs[0], self.pairs[1]]), 1)).squeeze(1)


def from_feed(args):
    """(dense, sparse, label) of each batch where it landed; the caller keeps none of them."""
    import feed  # pylint: disable=import-outside-toplevel
    source = feed.Feed(records=max(args.batch), modulus=args.modulus, device=args.device, memory=args.mem, port=args.port,
                       timeout=args.timeout)
    for batch in source:
        yield tuple(torch.from_dlpack(part) for part in (batch.dense, batch.sparse, batch.label))
    print(f"{source.sessions} sessions with a storage process", file=sys.stderr)
    source.close()


def from_file(args):
    """The same batches, preprocessed by numpy."""
    words = np.fromfile(args.file, dtype="<u4")
    spans = reference.batches(len(words) // reference.WORDS, args.batch)
    for first, count in (next(spans) for _ in range(args.batches)):
        records = reference.take(words, first, count).reshape(-1, reference.WORDS)
        records = reference.preprocess_numpy(records, args.modulus)
        dense = records[:, reference.DENSE.start:reference.DENSE.stop].view(np.float32)
        sparse = records[:, reference.SPARSE.start:reference.SPARSE.stop].view(np.int32)
        yield tuple(torch.from_numpy(part).to(device_of(args)) for part in (dense, sparse, records[:, 0].view(np.int32)))


def device_of(args):
    return torch.device(args.mem if args.mem.startswith("cuda") else "cpu")


def train(args):
    torch.manual_seed(args.seed)
    torch.use_deterministic_algorithms(True)
    # How a sum is divided among threads would change its last bits.
    torch.set_num_threads(1)
    model = Dlrm(args.modulus, args.width).to(device_of(args))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.rate)
    loss_of = nn.BCEWithLogitsLoss()
    losses = []
    for dense, sparse, label in from_feed(args) if args.feed else from_file(args):
        optimizer.zero_grad()
        loss = loss_of(model(dense, sparse), label.to(torch.float32))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        # The next batch may land here only when nobody looks at this one any more.
        del dense, sparse, label, loss
    return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", help="records, as dingo-criteo makes them; with --feed only the storage process reads it")
    parser.add_argument("--feed", action="store_true", help="take the batches from a storage process")
    parser.add_argument("-b", "--batch", type=lambda text: [int(part) for part in text.split(",")], default=[4096])
    parser.add_argument("-n", "--batches", type=int, default=0, help="how many; with --feed the storage process knows")
    parser.add_argument("-m", "--modulus", type=int, default=1000)
    parser.add_argument("-d", "--device", help="RDMA device")
    parser.add_argument("--mem", default="host", help="where batches land: host or cuda:N")
    parser.add_argument("-p", "--port", type=int, default=18490)
    parser.add_argument("--timeout", type=float, default=60, help="seconds without a batch that are too many")
    parser.add_argument("--width", type=int, default=16, help="of an embedding")
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--losses", metavar="FILE", help="write the loss of each batch, exactly")
    args = parser.parse_args()
    losses = train(args)
    if args.losses:
        with open(args.losses, "w", encoding="ascii") as file:
            file.writelines(loss.hex() + "\n" for loss in losses)
    tenth = max(1, len(losses) // 10)
    first, last = sum(losses[:tenth]) / tenth, sum(losses[-tenth:]) / tenth
    print(f"{len(losses)} batches; loss of the first tenth {first:.4f}, of the last {last:.4f}")


if __name__ == "__main__":
    main()
