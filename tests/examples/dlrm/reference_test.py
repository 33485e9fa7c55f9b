#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares the preprocessing in Python, and in numpy if installed, with dingo-criteo's, bit for
bit.

usage: reference_test.py BUILD/bin/dingo-criteo"""
import array
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "examples" / "dlrm"))
import reference  # noqa: E402  # pylint: disable=wrong-import-position

MODULUS = 1009


def words_of(data):
    words = array.array("I", data)
    if sys.byteorder == "big":
        words.byteswap()
    return words


def main():
    criteo = sys.argv[1]
    records = subprocess.run([criteo, "generate", "-f", "records", "-n", "3000", "-"], check=True,
                             capture_output=True).stdout
    expected = words_of(subprocess.run([criteo, "preprocess", "-m", str(MODULUS), "-", "-"], input=records, check=True,
                                       capture_output=True).stdout)
    assert len(expected) == 3000 * reference.WORDS
    assert reference.preprocess(words_of(records), MODULUS) == list(expected), "plain Python differs"
    edges = [reference.log_bits(word) for word in (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)]
    assert edges[:2] == [0, 0x3F317218] and edges[3:] == [0, 0], edges
    spans = reference.batches(10, [7, 4])
    assert [next(spans) for _ in range(4)] == [(0, 7), (7, 4), (1, 7), (8, 4)]
    assert reference.take(list(range(480)), 8, 4) == list(range(384, 480)) + list(range(96))
    try:
        import numpy as np  # pylint: disable=import-outside-toplevel
    except ImportError:
        print("numpy is not here: plain Python only")
        return
    got = reference.preprocess_numpy(np.frombuffer(records, dtype="<u4").reshape(-1, reference.WORDS), MODULUS)
    assert got.reshape(-1).tolist() == list(expected), "numpy differs"


if __name__ == "__main__":
    main()
