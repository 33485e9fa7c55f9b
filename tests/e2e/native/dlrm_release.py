#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A trainer in a fake GPU's memory: a batch is released only when the GPU's work has finished.

usage: dlrm_release.py"""
import ctypes
import errno
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "examples" / "dlrm"))
import feed  # noqa: E402  # pylint: disable=wrong-import-position


def refused(number, call):
    try:
        call()
    except OSError as error:
        assert error.errno == number, error
        return str(error)
    raise AssertionError(f"{call} was not refused")


def current_context(cuda):
    context = ctypes.c_void_p()
    assert cuda.cuCtxGetCurrent(ctypes.byref(context)) == 0
    return context.value


def main():
    source = feed.Feed(records=8, modulus=1009, memory="cuda:0", timeout=30)
    cuda = ctypes.CDLL("libcuda.so.1")
    first, second = source.next(), source.next()
    os.environ["FAKE_CUDA"] = "sync-fails"
    assert "cuCtxSynchronize" in refused(errno.EIO, first.release)
    refused(errno.EBUSY, source.next)  # it was not released
    del os.environ["FAKE_CUDA"]
    assert cuda.cuCtxSetCurrent(None) == 0
    first.release()
    assert current_context(cuda) is None, "the thread's context has changed"
    second.release()
    for batch in source:
        assert batch.records == 8
    source.close()
    print("released behind the work")


if __name__ == "__main__":
    main()
