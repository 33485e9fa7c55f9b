# SPDX-License-Identifier: BSD-2-Clause
"""What the card makes of records, on the CPU: in plain Python, and in numpy where it is. Bit for bit
the definition of docs/reference/compute.md; the table is made by hw/contract/log_table.py."""
import functools
import pathlib
import sys
from decimal import Decimal, localcontext

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "hw" / "contract"))
import log_table  # noqa: E402  # pylint: disable=wrong-import-position

WORDS = 48
RECORD_BYTES = 4 * WORDS
LABEL = 0
DENSE = range(1, 14)
SPARSE = range(16, 42)


@functools.cache
def tables():
    """(c0, c1, c2) of each segment and n ln 2, in units of 2^-30."""
    with localcontext() as context:
        context.prec = 50
        segments = [log_table.segment(i) for i in range(log_table.SEGMENTS)]
        powers = [log_table.units(n * Decimal(2).ln()) for n in range(log_table.EXPONENTS)]
    return segments, powers


@functools.lru_cache(maxsize=1 << 16)
def log_bits(word):
    """ln(max(x, 0) + 1) as the bits of a single; `word`: x as it lies in a record, without a sign."""
    if word == 0 or word >> 31:
        return 0
    segments, powers = tables()
    y = word + 1
    n = y.bit_length() - 1
    fraction = (y << (31 - n)) & 0x7FFFFFFF
    c0, c1, c2 = segments[fraction >> 24]
    t = fraction & 0xFFFFFF
    v = powers[n] + c0 + ((c1 - ((c2 * (t >> 8)) >> 16)) * t >> 24)
    top = v.bit_length() - 1
    # A mantissa that is rounded up to 2^24 carries into the exponent.
    return ((127 + top - 30) << 23) + (((v >> (top - 24)) + 1) >> 1) - (1 << 23)


def preprocess(words, modulus):
    """A list of words of whole records, from one."""
    out = list(words)
    for start in range(0, len(out), WORDS):
        for i in DENSE:
            out[start + i] = log_bits(out[start + i])
        for i in SPARSE:
            out[start + i] %= modulus
    return out


def preprocess_numpy(records, modulus):
    """An array (n, 48) of uint32, from one."""
    import numpy as np  # pylint: disable=import-outside-toplevel
    segments, powers = (np.array(table, dtype=np.int64) for table in tables())
    out = records.copy()
    x = records[:, DENSE.start:DENSE.stop].view(np.int32).astype(np.int64)
    y = np.maximum(x, 0) + 1
    n = np.frexp(y.astype(np.float64))[1].astype(np.int64) - 1
    fraction = (y << (31 - n)) & 0x7FFFFFFF
    c = segments[fraction >> 24]
    t = fraction & 0xFFFFFF
    v = powers[n] + c[..., 0] + ((c[..., 1] - ((c[..., 2] * (t >> 8)) >> 16)) * t >> 24)
    top = np.frexp(np.maximum(v, 1).astype(np.float64))[1].astype(np.int64) - 1
    bits = ((127 + top - 30) << 23) + (((v >> np.maximum(top - 24, 0)) + 1) >> 1) - (1 << 23)
    out[:, DENSE.start:DENSE.stop] = np.where(y == 1, 0, bits).astype(np.uint32)
    out[:, SPARSE.start:SPARSE.stop] %= np.uint32(modulus)
    return out


def batches(records, sizes):
    """(first record, count) of each batch of a file that is read round and round, as dlrm-storage does."""
    first = number = 0
    while True:
        count = sizes[number % len(sizes)]
        yield first, count
        first = (first + count) % records
        number += 1


def take(words, first, count):
    """Words of `count` records from `first` on, round the end; of a list or an array of words."""
    total = len(words) // WORDS
    last = first + count
    if last <= total:
        return words[first * WORDS:last * WORDS]
    front, back = words[first * WORDS:], words[:(last - total) * WORDS]
    if isinstance(words, list):
        return front + back
    import numpy as np  # pylint: disable=import-outside-toplevel
    return np.concatenate((front, back))
