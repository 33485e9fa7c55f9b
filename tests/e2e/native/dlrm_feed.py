#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A trainer in plain Python: compares every word of every tensor with the reference; tests
lifetimes and refusals. Also tests the tensors in numpy and PyTorch if they are installed.

usage: dlrm_feed.py RECORDS BATCHES SIZE,... MODULUS"""
import array
import ctypes
import errno
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "examples" / "dlrm"))
import feed  # noqa: E402  # pylint: disable=wrong-import-position
import reference  # noqa: E402  # pylint: disable=wrong-import-position


def refused(number, call, *args):
    try:
        call(*args)
    except OSError as error:
        assert error.errno == number, error
        return str(error)
    raise AssertionError(f"{call} was not refused")


def rows(tensor):
    """Returns the words of a tensor as a list of rows, and calls its deleter."""
    managed = tensor.managed()
    t = managed.contents.tensor
    assert (t.device_type, t.device_id, t.bits, t.lanes) == (1, 0, 32, 1)
    shape = [t.shape[i] for i in range(t.ndim)]
    strides = [t.strides[i] for i in range(t.ndim)]
    columns = shape[1] if t.ndim == 2 else 1
    words = (ctypes.c_uint32 * (strides[0] * (shape[0] - 1) + columns)).from_address(t.data + t.byte_offset)
    out = [list(words[row * strides[0]:row * strides[0] + columns]) for row in range(shape[0])]
    code = t.code
    managed.contents.deleter(managed)
    return code, out


def check_words(batch, expected):
    wanted = [expected[at:at + reference.WORDS] for at in range(0, len(expected), reference.WORDS)]
    assert rows(batch.label) == (0, [row[:1] for row in wanted])
    assert rows(batch.dense) == (2, [row[1:14] for row in wanted])
    assert rows(batch.sparse) == (0, [row[16:42] for row in wanted])


def check_lifetime(batch):
    look = batch.dense.__dlpack__()
    assert "still used by 1 tensors" in refused(errno.EBUSY, batch.release)
    del look  # no library took the capsule
    held = batch.sparse.managed()
    assert "still used by 1 tensors" in refused(errno.EBUSY, batch.release)
    held.contents.deleter(held)


def check_numpy(batch, expected):
    import numpy as np  # pylint: disable=import-outside-toplevel
    wanted = np.array(expected, dtype=np.uint32).reshape(-1, reference.WORDS)
    dense, sparse = np.from_dlpack(batch.dense), np.from_dlpack(batch.sparse)
    assert dense.dtype == np.float32 and sparse.dtype == np.int32
    assert dense.ctypes.data == batch.raw.address + 4, "a copy"
    assert (dense.view(np.uint32) == wanted[:, 1:14]).all() and (sparse.view(np.uint32) == wanted[:, 16:42]).all()


def check_torch(batch, expected):
    import torch  # pylint: disable=import-outside-toplevel
    dense, sparse, label = (torch.from_dlpack(part) for part in (batch.dense, batch.sparse, batch.label))
    assert (dense.dtype, sparse.dtype, label.dtype) == (torch.float32, torch.int32, torch.int32)
    assert dense.data_ptr() == batch.raw.address + 4 and sparse.data_ptr() == batch.raw.address + 64, "a copy"
    assert dense.shape == (batch.records, 13) and sparse.shape == (batch.records, 26)
    part = dense[:, 2]
    del dense
    assert "by 3 tensors" in refused(errno.EBUSY, batch.release), "a part of a tensor keeps it"
    assert part[0].item() == torch.tensor([expected[3]]).to(torch.int32).view(torch.float32)[0].item()
    assert sparse.tolist() == [expected[at + 16:at + 42] for at in range(0, len(expected), reference.WORDS)]


def available(*names):
    for name in names:
        try:
            __import__(name)
        except ImportError:
            return False
    return True


def main():
    file, batches, sizes, modulus = sys.argv[1], int(sys.argv[2]), [int(n) for n in sys.argv[3].split(",")], int(sys.argv[4])
    words = list(array.array("I", pathlib.Path(file).read_bytes()))
    expected = reference.preprocess(words, modulus)
    refused(errno.EINVAL, feed.Feed, 0, modulus)
    refused(errno.EINVAL, feed.Feed, max(sizes), (1 << 31) + 1)
    assert "tensors need host, huge, cuda or hip" in refused(errno.EINVAL, lambda: feed.Feed(1, 1, memory="dm"))
    refused(errno.ENODEV, lambda: feed.Feed(1, 1, device="no_such_device"))
    refused(errno.ETIMEDOUT, feed.Feed(1, 1, port=0, timeout=0.5).next)
    source = feed.Feed(records=max(sizes), modulus=modulus, timeout=30)
    refused(errno.EADDRINUSE, lambda: feed.Feed(1, 1, port=source.port))
    spans = reference.batches(len(words) // reference.WORDS, sizes)
    number = 0
    for number, batch in enumerate(source, 1):
        want = reference.take(expected, *next(spans))
        assert batch.number == number - 1 and batch.records * reference.WORDS == len(want)
        check_words(batch, want)
        check_lifetime(batch)
        if number % 10 == 1:
            for names, check in ((("numpy",), check_numpy), (("numpy", "torch"), check_torch)):
                if available(*names):
                    check(batch, want)
        if number == 2:  # both buffers in use; tests the order of releases
            second = source.next()
            refused(errno.EBUSY, source.next)
            refused(errno.EINVAL, second.release)
            batch.release()
            refused(errno.EINVAL, batch.dense.managed)
            third = source.next()
            for other in (second, third):
                want = reference.take(expected, *next(spans))
                check_words(other, want)
                other.release()
            break
    for number in range(4, batches):
        batch = source.next()
        check_words(batch, reference.take(expected, *next(spans)))
        keep = batch.label.managed()  # outlives the feed
        if number < batches - 1:
            keep.contents.deleter(keep)
            batch.release()
    assert source.next() is None and source.next() is None
    source.close()
    assert (ctypes.c_uint32 * 1).from_address(keep.contents.tensor.data)[0] in (0, 1)
    keep.contents.deleter(keep)
    print(f"{batches} batches: every word right;", "with" if available("numpy", "torch") else "without", "PyTorch")


if __name__ == "__main__":
    main()
