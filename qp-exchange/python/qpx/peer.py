# SPDX-License-Identifier: BSD-2-Clause
"""Two processes: connect, listen, exchange."""
import ctypes as c
import dataclasses
import time

from ._library import ETIMEOUT, CCandidate, CEndpoint, CRegion, DescribeOptions, MAX_CANDIDATES, Options, Path, free, good, library, milliseconds, take, text

RC, UC, UD = 1, 2, 3
_LOOK = 0.2
GID_INFINIBAND, GID_ROCE_V1, GID_ROCE_V2 = 1, 2, 3
GID_POSSIBLE, GID_CHOSEN, GID_CONNECTED = 0, 1, 2


@dataclasses.dataclass
class Region:
    """Memory that the other side may use."""
    address: int = 0
    length: int = 0
    rkey: int = 0
    tag: str = ""


@dataclasses.dataclass
class Candidate:
    """An address that a port has; agree() chooses a pair of two sides' candidates."""
    gid: bytes = bytes(16)
    type: int = GID_ROCE_V2
    wish: int = GID_POSSIBLE
    prefix: int = 0  # bits that name its network
    gid_index: int = dataclasses.field(default=-1, compare=False)  # of this host's table; does not travel


@dataclasses.dataclass
class Endpoint:
    """One queue pair as the other side sees it."""
    qpn: int = 0
    psn: int = 0
    gid: bytes = bytes(16)
    mtu: int = 1024
    type: int = RC
    device: str = ""
    qkey: int = 0
    srqn: int = 0
    lid: int = 0
    port: int = 1
    max_rd_atomic: int = 0
    max_dest_rd_atomic: int = 0
    regions: list = dataclasses.field(default_factory=list)
    application: bytes = b""
    candidates: list = dataclasses.field(default_factory=list)

    def pack(self):
        """As bytes for whatever carries them: MPI, etcd, a store of torch.distributed."""
        keep, value, length = [], c.c_void_p(), c.c_size_t()
        good(library.qpx_endpoint_pack(c.byref(_to_c(self, keep)), c.byref(value), c.byref(length)))
        return take(value, length)

    @staticmethod
    def unpack(data):
        out = c.POINTER(CEndpoint)()
        good(library.qpx_endpoint_unpack(bytes(data), len(data), c.byref(out)))
        try:
            return _from_c(out[0])
        finally:
            library.qpx_endpoints_free(out, 1)


def should_connect(mine, theirs):
    """Of two sides that know each other's names exactly one is to connect."""
    return good(library.qpx_should_connect(mine.encode(), theirs.encode())) == 1


_NUMBERS = ("qpn", "psn", "qkey", "srqn", "mtu", "type", "lid", "port", "max_rd_atomic", "max_dest_rd_atomic")


def _to_c(endpoint, keep):
    out = CEndpoint(device=endpoint.device.encode(), gid=(c.c_uint8 * 16)(*endpoint.gid))
    for name in _NUMBERS:
        setattr(out, name, getattr(endpoint, name))
    regions = (CRegion * len(endpoint.regions))(*[CRegion(r.address, r.length, r.rkey, r.tag.encode()) for r in endpoint.regions])
    application = c.create_string_buffer(endpoint.application, len(endpoint.application))
    keep += [regions, application]
    out.regions, out.region_count = c.cast(regions, c.POINTER(CRegion)), len(regions)
    out.application, out.application_length = c.cast(application, c.c_void_p), len(endpoint.application)
    out.candidate_count = len(endpoint.candidates)
    for i, one in enumerate(endpoint.candidates[:MAX_CANDIDATES]):  # the library refuses a count above it
        out.candidates[i] = CCandidate((c.c_uint8 * 16)(*one.gid), one.type, one.wish, one.prefix, 0, one.gid_index)
    return out


def _from_c(endpoint):
    regions = [Region(r.address, r.length, r.rkey, r.tag.decode()) for r in endpoint.regions[:endpoint.region_count]]
    application = c.string_at(endpoint.application, endpoint.application_length) if endpoint.application else b""
    candidates = [Candidate(bytes(g.gid), g.type, g.wish, g.prefix, g.gid_index)
                  for g in endpoint.candidates[:endpoint.candidate_count]]
    return Endpoint(gid=bytes(endpoint.gid), device=endpoint.device.decode(), regions=regions, application=application, candidates=candidates,
                    **{name: getattr(endpoint, name) for name in _NUMBERS})


class _Handle:
    """Something of the library, freed once."""
    _free = None

    def __init__(self, handle):
        self._pointer = handle

    @property
    def _handle(self):
        if not self._pointer:
            raise ValueError(f"{type(self).__name__} is closed")
        return self._pointer

    def close(self):
        """May be called again."""
        handle, self._pointer = self._pointer, None
        if handle:
            getattr(library, self._free)(handle)

    def __enter__(self):
        self._handle  # which says when it is closed
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()


class Connection(_Handle):
    _free = "qpx_close"

    def exchange(self, endpoints):
        """Both sides call it; gives the other side's endpoints."""
        keep = []
        mine = (CEndpoint * len(endpoints))(*[_to_c(e, keep) for e in endpoints])
        theirs, count = c.POINTER(CEndpoint)(), c.c_size_t()
        good(library.qpx_exchange(self._handle, mine, len(mine), c.byref(theirs), c.byref(count)))
        try:
            return [_from_c(e) for e in theirs[:count.value]]
        finally:
            library.qpx_endpoints_free(theirs, count)

    def send(self, message):
        good(library.qpx_send(self._handle, bytes(message), len(message)))

    def receive(self):
        message, length = c.c_void_p(), c.c_size_t()
        good(library.qpx_receive(self._handle, c.byref(message), c.byref(length)))
        return take(message, length)

    def try_receive(self):
        """None: nothing is here; wait until fileno() is readable."""
        message, length = c.c_void_p(), c.c_size_t()
        there = good(library.qpx_try_receive(self._handle, c.byref(message), c.byref(length)))
        return take(message, length) if there else None

    def fileno(self):
        """For select and the like; not to be read."""
        return library.qpx_fd(self._handle)

    def cancel(self):
        """The call that waits, or the next, fails with QPX_ECANCELLED. From any thread."""
        library.qpx_cancel(self._handle)

    def barrier(self):
        good(library.qpx_barrier(self._handle))

    def set_timeout(self, seconds):
        library.qpx_set_timeout(self._handle, milliseconds(seconds))

    def refuse(self, reason):
        """The peer's next call fails with this text."""
        library.qpx_refuse(self._handle, reason.encode())

    peer_name = property(lambda self: library.qpx_peer_name(self._handle).decode())
    peer_address = property(lambda self: library.qpx_peer_address(self._handle).decode())
    local_address = property(lambda self: library.qpx_local_address(self._handle).decode())
    peer_identity = property(lambda self: library.qpx_peer_identity(self._handle).decode())
    secure = property(lambda self: bool(library.qpx_secure(self._handle)))


class Listener(_Handle):
    _free = "qpx_listener_close"

    def accept(self, timeout=None):
        """Waits for the next peer: seconds, or for ever. Ctrl-C ends it as it does other calls of Python."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = _LOOK if end is None else min(_LOOK, max(0, end - time.monotonic()))
            handle = c.c_void_p()
            status = library.qpx_accept(self._handle, milliseconds(left), c.byref(handle))
            # Python's signal handlers run between two calls of the library.
            if status == -ETIMEOUT and (end is None or time.monotonic() < end):
                continue
            good(status)
            return Connection(handle)

    def try_accept(self):
        """None: no client is done; wait until fileno() is readable."""
        handle = c.c_void_p()
        return Connection(handle) if good(library.qpx_try_accept(self._handle, c.byref(handle))) else None

    def turned_away(self):
        """Why clients were, since the last call."""
        lines = c.c_void_p()
        good(library.qpx_listener_turned_away(self._handle, c.byref(lines)))
        told = c.string_at(lines.value).decode(errors="replace").splitlines() if lines.value else []
        free(lines)
        return told

    def fileno(self):
        return library.qpx_listener_fd(self._handle)

    def cancel(self):
        library.qpx_listener_cancel(self._handle)

    port = property(lambda self: library.qpx_listener_port(self._handle))


def _open(function, url, timeout, name, security, retry_refused, family, stop_on_signal):
    options = Options(timeout_ms=milliseconds(timeout), retry_refused=retry_refused, name=text(name), security=text(security),
                      family=family, stop_on_signal=stop_on_signal)
    handle = c.c_void_p()
    good(function(url.encode(), c.byref(options), c.byref(handle)))
    return handle


def connect(url, timeout="default", name=None, security=None, retry_refused=False, family=0, stop_on_signal=False):
    """@url: tcp://host:port, or cm://host:port. @timeout: seconds of each call; None: for ever. @family: socket.AF_INET, AF_INET6.
    @stop_on_signal: a signal whose handler runs ends a waiting call; an exchange or barrier has then ended its connection."""
    return Connection(_open(library.qpx_connect, url, timeout, name, security, retry_refused, family, stop_on_signal))


def listen(url, timeout="default", name=None, security=None, family=0, stop_on_signal=False):
    """@url: tcp://address:port; tcp://:0 is any free port. The rest is as in connect(), and that of the connections."""
    return Listener(_open(library.qpx_listen, url, timeout, name, security, False, family, stop_on_signal))


# Queue pairs and protection domains are their pointers in C, as integers.
def describe(qp, port=1, gid_index=-1, connection=None, peer=None, local=None, **options):
    """(Endpoint, index of the GID that was taken). @options: other members of struct qpx_describe_options"""
    wanted = DescribeOptions(port=port, gid_index=gid_index, peer=text(peer), local=text(local), **options)
    described, index = CEndpoint(), c.c_int()
    good(library.qpx_describe_qp(qp, c.byref(wanted), connection._handle if connection else None, c.byref(described), c.byref(index)))
    return _from_c(described), index.value


def describe_number(device, qpn, type=RC, port=1, gid_index=-1, connection=None, peer=None, local=None, **options):
    """As describe(), of a queue pair that is known by its number, as those of pyverbs, on the device of that name."""
    wanted = DescribeOptions(port=port, gid_index=gid_index, peer=text(peer), local=text(local), **options)
    described, index = CEndpoint(), c.c_int()
    good(library.qpx_describe_number(device.encode(), qpn, type, c.byref(wanted), connection._handle if connection else None,
                                     c.byref(described), c.byref(index)))
    return _from_c(described), index.value


def agree(local, gid_index, remote):
    """(index of this side's GID, the peer's GID): the pair that both sides use."""
    keep, index, theirs = [], c.c_int(), c.create_string_buffer(16)
    good(library.qpx_agree(c.byref(_to_c(local, keep)), gid_index, c.byref(_to_c(remote, keep)), c.byref(index), theirs))
    return index.value, theirs.raw


def init_qp(qp, local, **path):
    """RESET to INIT: receives can be posted, then connect_qp() takes it on."""
    keep = []
    good(library.qpx_init_qp(qp, c.byref(_to_c(local, keep)), c.byref(Path(**path))))


def connect_qp(qp, local, gid_index, remote, **path):
    """RESET to RTS. @path: members of struct qpx_path_options"""
    keep = []
    good(library.qpx_connect_qp_path(qp, c.byref(_to_c(local, keep)), gid_index, c.byref(_to_c(remote, keep)), c.byref(Path(**path))))


def create_ah(pd, local, gid_index, remote, **path):
    """Pointer of an ibv_ah; the caller destroys it."""
    keep, ah = [], c.c_void_p()
    good(library.qpx_create_ah(pd, c.byref(_to_c(local, keep)), gid_index, c.byref(_to_c(remote, keep)), c.byref(Path(**path)),
                               c.byref(ah)))
    return ah.value
