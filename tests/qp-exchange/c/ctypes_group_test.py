#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tests a group from Python by ctypes. usage: ctypes_group_test.py LIBQPX.SO URL (tcp://, rank 0
serves)"""
import ctypes as c
import sys
import threading


class Options(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t), ("rank", c.c_uint32), ("size", c.c_uint32), ("timeout_ms", c.c_int), ("family", c.c_int), ("shrink", c.c_int),
        ("job", c.c_char_p), ("name", c.c_char_p), ("security", c.c_char_p),
    ]


class RankBytes(c.Structure):
    _fields_ = [("rank", c.c_uint32), ("data", c.c_void_p), ("length", c.c_size_t)]


library, url = sys.argv[1], sys.argv[2].encode()
qpx = c.CDLL(library)
qpx.qpx_last_error.restype = c.c_char_p
for name in ("qpx_group_barrier", "qpx_group_leave", "qpx_group_free", "qpx_group_rank"):
    getattr(qpx, name).argtypes = [c.c_void_p, c.c_int][: 2 if name == "qpx_group_barrier" else 1]
qpx.qpx_group_add.argtypes = [c.c_void_p, c.c_char_p, c.c_int64, c.POINTER(c.c_int64)]
qpx.qpx_group_all_gather.argtypes = [
    c.c_void_p, c.c_char_p, c.c_size_t, c.c_int, c.POINTER(c.POINTER(RankBytes)), c.POINTER(c.c_size_t)]
free = c.CDLL(None).free
free.argtypes = [c.c_void_p]
SIZE = 3
done = []


def good(status):
    assert status == 0, qpx.qpx_last_error()


def member(rank):
    group = c.c_void_p()
    options = Options(rank=rank, size=SIZE, name=b"python-%d" % rank)
    good(qpx.qpx_group_join(url, c.byref(options), c.byref(group)))
    total = c.c_int64()
    good(qpx.qpx_group_add(group, b"sum", rank, c.byref(total)))
    mine = b"rank %d" % rank
    every, count = c.POINTER(RankBytes)(), c.c_size_t()
    good(qpx.qpx_group_all_gather(group, mine, len(mine), 0, c.byref(every), c.byref(count)))
    assert [c.string_at(every[i].data, every[i].length) for i in range(count.value)] == [b"rank %d" % i for i in range(SIZE)]
    free(every)
    good(qpx.qpx_group_add(group, b"sum", 0, c.byref(total)))
    assert total.value == sum(range(SIZE))
    good(qpx.qpx_group_barrier(group, 0))
    good(qpx.qpx_group_leave(group))
    qpx.qpx_group_free(group)
    done.append(rank)


threads = [threading.Thread(target=member, args=[rank]) for rank in range(SIZE)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert sorted(done) == list(range(SIZE)), done
print("groups from Python: all is well")
