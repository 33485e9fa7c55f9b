#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Trains nothing: queues a long kernel and then one that reads the batch, and drops the tensors at once. Needs PyTorch
and an NVIDIA GPU. A batch that is overwritten too early has the words of another one."""
import argparse
import array
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "dlrm"))
import torch  # noqa: E402  # pylint: disable=wrong-import-position
import feed  # noqa: E402  # pylint: disable=wrong-import-position
import reference  # noqa: E402  # pylint: disable=wrong-import-position

CYCLES = 40_000_000  # about 20 ms


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("-b", "--batch", type=lambda text: [int(part) for part in text.split(",")], default=[4096])
    parser.add_argument("-n", "--batches", type=int, required=True)
    args = parser.parse_args()
    modulus = 1009
    source = feed.Feed(records=max(args.batch), modulus=modulus, memory="cuda:0", timeout=60)
    got = []
    for batch in source:
        sparse = torch.from_dlpack(batch.sparse)
        torch.cuda._sleep(CYCLES)  # pylint: disable=protected-access
        got.append(sparse.clone())
        del sparse
    source.close()
    assert len(got) == args.batches
    words = list(array.array("I", pathlib.Path(args.file).read_bytes()))
    spans = reference.batches(len(words) // reference.WORDS, args.batch)
    for number, batch in enumerate(got):
        taken = reference.take(words, *next(spans))
        wanted = [[word % modulus for word in taken[at + 16:at + 42]] for at in range(0, len(taken), reference.WORDS)]
        assert batch.tolist() == wanted, f"batch {number} was overwritten while a kernel had still to read it"
    print(f"{len(got)} batches: every word right")


if __name__ == "__main__":
    main()
