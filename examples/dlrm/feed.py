# SPDX-License-Identifier: BSD-2-Clause
"""The trainer's side of the pipeline (dlrm_feed.h) for Python: batches as DLPack tensors, without a copy.

    for batch in Feed(records=4096, modulus=8192):
        dense, sparse, label = (torch.from_dlpack(part) for part in (batch.dense, batch.sparse, batch.label))
        ...
        del dense, sparse, label   # else the batch cannot be released, and the loop says so
"""
import ctypes
import errno
import os
import pathlib
import time

LABEL, DENSE, SPARSE = range(3)
SLICE_MS = 200  # Python looks at signals, Ctrl-C among them, between two calls


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("device", ctypes.c_char_p), ("memory", ctypes.c_char_p),
                ("address", ctypes.c_char_p), ("security", ctypes.c_char_p), ("records", ctypes.c_uint32),
                ("modulus", ctypes.c_uint32), ("first_batch", ctypes.c_uint64), ("timeout_ms", ctypes.c_int32),
                ("port", ctypes.c_uint16), ("reserved", ctypes.c_uint16)]


class RawBatch(ctypes.Structure):
    _fields_ = [("number", ctypes.c_uint64), ("address", ctypes.c_uint64), ("records", ctypes.c_uint32),
                ("half", ctypes.c_uint32)]


class DlTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class DlManaged(ctypes.Structure):
    pass


DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(DlManaged))
DlManaged._fields_ = [("tensor", DlTensor), ("context", ctypes.c_void_p), ("deleter", DELETER)]

DESTRUCTOR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, DESTRUCTOR]
_is = ctypes.pythonapi.PyCapsule_IsValid
_is.restype, _is.argtypes = ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]


@DESTRUCTOR
def _drop(capsule):
    """Of a capsule that nobody took: who takes one renames it, and calls the deleter himself."""
    if _is(capsule, b"dltensor"):
        managed = ctypes.cast(_pointer(capsule, b"dltensor"), ctypes.POINTER(DlManaged))
        managed.contents.deleter(managed)


def _library():
    name = os.environ.get("DLRM_FEED_LIBRARY")
    if not name:
        name = str(pathlib.Path(__file__).resolve().parents[2] / "build" / "lib" / "libdlrm_feed.so")
    lib = ctypes.CDLL(name)
    lib.dlrm_feed_error.restype = ctypes.c_char_p
    lib.dlrm_feed_open.argtypes = [ctypes.POINTER(Options), ctypes.POINTER(ctypes.c_void_p)]
    lib.dlrm_feed_port.argtypes, lib.dlrm_feed_port.restype = [ctypes.c_void_p], ctypes.c_uint16
    lib.dlrm_feed_next.argtypes = [ctypes.c_void_p, ctypes.POINTER(RawBatch)]
    lib.dlrm_feed_tensor.argtypes = [ctypes.c_void_p, ctypes.POINTER(RawBatch), ctypes.c_int,
                                     ctypes.POINTER(ctypes.POINTER(DlManaged))]
    lib.dlrm_feed_release.argtypes = [ctypes.c_void_p, ctypes.POINTER(RawBatch)]
    lib.dlrm_feed_sessions.argtypes, lib.dlrm_feed_sessions.restype = [ctypes.c_void_p], ctypes.c_uint64
    lib.dlrm_feed_close.argtypes, lib.dlrm_feed_close.restype = [ctypes.c_void_p], None
    return lib


class Tensor:
    """Columns of a batch, for from_dlpack() of torch, numpy and others. Each call is one view."""

    def __init__(self, batch, columns):
        self._batch, self._columns = batch, columns

    def managed(self):
        """A pointer to a DLManagedTensor; its deleter must be called."""
        out = ctypes.POINTER(DlManaged)()
        feed = self._batch.feed
        feed.check(feed.lib.dlrm_feed_tensor(feed.handle, self._batch.raw, self._columns, out))
        return out

    def __dlpack__(self, stream=None):
        del stream  # what has landed is in memory before its completion is
        return _new(self.managed(), b"dltensor", _drop)

    def __dlpack_device__(self):
        managed = self.managed()
        device = managed.contents.tensor.device_type, managed.contents.tensor.device_id
        managed.contents.deleter(managed)
        return device


class Batch:
    """What has landed: `number`, `records`, and the tensors `label`, `dense` (float32), `sparse` (int32)."""

    def __init__(self, feed, raw):
        self.feed, self.raw = feed, raw
        self.number, self.records = raw.number, raw.records
        self.label, self.dense, self.sparse = (Tensor(self, columns) for columns in (LABEL, DENSE, SPARSE))

    def release(self):
        """Its memory may be overwritten; waits for the GPU where that has it. OSError (EBUSY): there is still a
        tensor that looks at it."""
        self.feed.check(self.feed.lib.dlrm_feed_release(self.feed.handle, self.raw))


class Feed:
    """Listens for a storage process; the iterator gives each batch and releases it behind the loop's body.

    `timeout`: seconds without a batch that are too many (TimeoutError); negative: none are."""

    def __init__(self, records, modulus, *, device=None, memory="host", address=None, security=None, first_batch=0,
                 timeout=-1, port=18490):
        def text(value):
            return None if value is None else value.encode()
        options = Options(ctypes.sizeof(Options), text(device), text(memory), text(address), text(security), records,
                          modulus, first_batch, SLICE_MS, port, 0)
        self.timeout = timeout
        self.lib = _library()
        self.handle = ctypes.c_void_p()
        self.check(self.lib.dlrm_feed_open(options, self.handle))

    def check(self, result):
        if result < 0:
            raise OSError(-result, self.lib.dlrm_feed_error().decode())
        return result

    @property
    def port(self):
        return self.lib.dlrm_feed_port(self.handle)

    @property
    def sessions(self):
        return self.lib.dlrm_feed_sessions(self.handle)

    def next(self):
        """The next batch, or None behind the last one."""
        raw = RawBatch()
        start = time.monotonic()
        while (got := self.lib.dlrm_feed_next(self.handle, raw)) == -errno.ETIMEDOUT:
            if 0 <= self.timeout < time.monotonic() - start:
                break
        return Batch(self, raw) if self.check(got) else None

    def __iter__(self):
        while (batch := self.next()) is not None:
            yield batch
            batch.release()

    def close(self):
        if self.handle:
            self.lib.dlrm_feed_close(self.handle)
            self.handle = ctypes.c_void_p()
