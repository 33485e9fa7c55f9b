# SPDX-License-Identifier: BSD-2-Clause
"""The members of a job: values, barriers, gatherings, exchanges, events."""
import ctypes as c

import dataclasses

from ._library import (CMember, Event, GroupOptions, RankBytes, RankEndpoint, free, good, library, milliseconds, take,
                       text)
from .peer import _Handle, _from_c, _to_c

ANY_RANK = 0xFFFFFFFF
_KINDS = {1: "joined", 2: "left", 3: "failed", 4: "lost"}


HERE, HAS_LEFT, HAS_FAILED = 0, 1, 2


@dataclasses.dataclass
class Member:
    rank: int
    incarnation: int
    state: int
    name: str
    address: str


def _endpoints(theirs, count):
    try:
        return {item.rank: _from_c(item.endpoint) for item in theirs[:count.value]}
    finally:
        library.qpx_rank_endpoints_free(theirs, count)


def _ranks(items, count):
    try:
        return {item.rank: c.string_at(item.data, item.length) if item.length else b"" for item in items[:count.value]}
    finally:
        free(c.cast(items, c.c_void_p))


def rank_from_environment():
    """(rank, size) that a launcher gave this process, as mpirun, srun and torchrun do; None: none did."""
    rank, size = c.c_uint32(), c.c_uint32()
    return (rank.value, size.value) if good(library.qpx_rank_from_environment(c.byref(rank), c.byref(size))) else None


class Group(_Handle):
    """@url: qpxd://host:port/job, tcp://host:port/job (rank 0 serves), pmix:. @timeout: seconds of each call that is given none.
    @stop_on_signal: a signal whose handler runs, as Ctrl-C, ends a call that waits: with what the handler raises, or else an
    Error; the group can be used on."""
    _free = "qpx_group_free"

    def __init__(self, url, rank=ANY_RANK, size=0, timeout="default", name=None, security=None, job=None, shrink=False,
                 family=0, stop_on_signal=True):
        super().__init__(None)
        options = GroupOptions(rank=rank, size=size, timeout_ms=milliseconds(timeout), shrink=shrink, job=text(job),
                               name=text(name), security=text(security), family=family, stop_on_signal=stop_on_signal)
        handle = c.c_void_p()
        good(library.qpx_group_join(url.encode(), c.byref(options), c.byref(handle)))
        self._pointer = handle

    rank = property(lambda self: library.qpx_group_rank(self._handle))
    size = property(lambda self: library.qpx_group_size(self._handle))

    def put(self, key, value):
        good(library.qpx_group_put(self._handle, key.encode(), bytes(value), len(value)))

    def put_once(self, key, value):
        """False: the key exists and keeps its value."""
        return good(library.qpx_group_put_once(self._handle, key.encode(), bytes(value), len(value))) == 1

    def try_get(self, key):
        """None: nobody has put it."""
        value, length = c.c_void_p(), c.c_size_t()
        there = good(library.qpx_group_try_get(self._handle, key.encode(), c.byref(value), c.byref(length)))
        return take(value, length) if there else None

    def get(self, key, timeout="default"):
        """Waits until somebody has put it."""
        value, length = c.c_void_p(), c.c_size_t()
        good(library.qpx_group_get(self._handle, key.encode(), milliseconds(timeout), c.byref(value), c.byref(length)))
        return take(value, length)

    def wait(self, keys, timeout="default"):
        names = (c.c_char_p * len(keys))(*[key.encode() for key in keys])
        good(library.qpx_group_wait(self._handle, names, len(names), milliseconds(timeout)))

    def add(self, key, delta=1):
        """The sum."""
        total = c.c_int64()
        good(library.qpx_group_add(self._handle, key.encode(), delta, c.byref(total)))
        return total.value

    def erase(self, key):
        """Whether it was there."""
        return good(library.qpx_group_erase(self._handle, key.encode())) == 1

    def barrier(self, timeout="default"):
        good(library.qpx_group_barrier(self._handle, milliseconds(timeout)))

    def all_gather(self, mine, timeout="default"):
        """Everybody's bytes, by rank."""
        theirs, count = c.POINTER(RankBytes)(), c.c_size_t()
        good(library.qpx_group_all_gather(self._handle, bytes(mine), len(mine), milliseconds(timeout), c.byref(theirs),
                                          c.byref(count)))
        return _ranks(theirs, count)

    def exchange_bytes(self, mine, timeout="default"):
        """@mine: bytes by rank, of peers that name this member, too; gives theirs."""
        keep = [c.create_string_buffer(bytes(value), len(value)) for value in mine.values()]
        items = (RankBytes * len(mine))(*[RankBytes(rank, c.cast(value, c.c_void_p), len(value)) for rank, value in zip(mine, keep)])
        theirs, count = c.POINTER(RankBytes)(), c.c_size_t()
        good(library.qpx_group_exchange_bytes(self._handle, items, len(items), milliseconds(timeout), c.byref(theirs),
                                              c.byref(count)))
        return _ranks(theirs, count)

    def exchange(self, mine, timeout="default"):
        """@mine: an Endpoint by rank; gives theirs. Fails when one is gone: exchange_some() tells them apart."""
        items, keep = self._items(mine)
        theirs, count = c.POINTER(RankEndpoint)(), c.c_size_t()
        good(library.qpx_group_exchange(self._handle, items, len(items), milliseconds(timeout), c.byref(theirs), c.byref(count)))
        return _endpoints(theirs, count)

    def exchange_some(self, mine, timeout="default"):
        """(Endpoints by rank, ranks that left, failed or gave up)"""
        items, keep = self._items(mine)
        theirs, count = c.POINTER(RankEndpoint)(), c.c_size_t()
        gone, gone_count = c.POINTER(c.c_uint32)(), c.c_size_t()
        good(library.qpx_group_exchange_some(self._handle, items, len(items), milliseconds(timeout), c.byref(theirs), c.byref(count),
                                             c.byref(gone), c.byref(gone_count)))
        absent = gone[:gone_count.value]
        free(c.cast(gone, c.c_void_p))
        return _endpoints(theirs, count), absent

    @staticmethod
    def _items(mine):
        keep = []
        return (RankEndpoint * len(mine))(*[RankEndpoint(rank, _to_c(e, keep)) for rank, e in mine.items()]), keep

    def members(self):
        """All that ever were, by rank."""
        members, count = c.POINTER(CMember)(), c.c_size_t()
        good(library.qpx_group_members(self._handle, c.byref(members), c.byref(count)))
        got = [Member(m.rank, m.incarnation, m.state, m.name.decode(), m.address.decode()) for m in members[:count.value]]
        free(c.cast(members, c.c_void_p))
        return got

    def find(self, name, timeout="default"):
        """Rank of a member by its name; waits for it."""
        rank = c.c_uint32()
        good(library.qpx_group_find(self._handle, name.encode(), milliseconds(timeout), c.byref(rank)))
        return rank.value

    def fileno(self):
        """For select and the like; -1: none. Not to be read."""
        return library.qpx_group_fd(self._handle)

    def cancel(self):
        """The call that waits, or the next, fails with QPX_ECANCELLED. False: this kind of group cannot."""
        return library.qpx_group_cancel(self._handle) == 0

    secure = property(lambda self: library.qpx_group_secure(self._handle) == 1)

    def poll_event(self):
        """(kind, rank, name, reason), or None when nothing has happened."""
        event = Event()
        if good(library.qpx_group_poll_event(self._handle, c.byref(event))) == 0:
            return None
        return _KINDS.get(event.kind, event.kind), event.rank, event.name.decode(), event.reason.decode()

    def leave(self):
        good(library.qpx_group_leave(self._handle))
