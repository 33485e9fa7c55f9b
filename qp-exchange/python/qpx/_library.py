# SPDX-License-Identifier: BSD-2-Clause
"""The C library: its structures, its functions' types, its errors."""
import ctypes as c
import os


# As in qpx.h, without QPX_.
(EARGUMENT, ERESOLVE, EREFUSED, ETIMEOUT, EPROTOCOL, EVERSION, EAUTH, ELIMIT, EPEERGONE, EDEVICE, EUNSUPPORTED, EINTERNAL,
 ECANCELLED) = range(1, 14)


class Error(Exception):
    """A call failed: `code` is one of ETIMEOUT and the like, the text what the library said, `detail` errno of a device
    (EDEVICE), the reason of the other side (EREFUSED), EINTR (ECANCELLED by a signal), or 0."""

    def __init__(self, code, text, detail=0):
        super().__init__(text)
        self.code, self.detail = code, detail


class CRegion(c.Structure):
    _fields_ = [("address", c.c_uint64), ("length", c.c_uint64), ("rkey", c.c_uint32), ("tag", c.c_char * 256)]


class CCandidate(c.Structure):
    _fields_ = [("gid", c.c_uint8 * 16), ("type", c.c_uint8), ("wish", c.c_uint8), ("prefix", c.c_uint8), ("reserved", c.c_uint8),
                ("gid_index", c.c_int32)]


MAX_CANDIDATES = 64


class CEndpoint(c.Structure):
    _fields_ = [
        ("device", c.c_char * 64), ("gid", c.c_uint8 * 16), ("qpn", c.c_uint32), ("psn", c.c_uint32), ("qkey", c.c_uint32),
        ("srqn", c.c_uint32), ("mtu", c.c_uint32), ("type", c.c_uint32), ("lid", c.c_uint16), ("port", c.c_uint8),
        ("max_rd_atomic", c.c_uint8), ("max_dest_rd_atomic", c.c_uint8), ("reserved", c.c_uint8 * 3),
        ("regions", c.POINTER(CRegion)), ("region_count", c.c_size_t), ("application", c.c_void_p),
        ("application_length", c.c_size_t), ("candidate_count", c.c_uint32), ("reserved_flags", c.c_uint32),
        ("reserved_more", c.c_uint64 * 4), ("candidates", CCandidate * MAX_CANDIDATES),
    ]


class RankEndpoint(c.Structure):
    _fields_ = [("rank", c.c_uint32), ("endpoint", CEndpoint)]


class CMember(c.Structure):
    _fields_ = [("rank", c.c_uint32), ("incarnation", c.c_uint32), ("state", c.c_uint32), ("name", c.c_char * 256),
                ("address", c.c_char * 64)]


class Sized(c.Structure):
    """Begins with its own size: a library that knows more, or less, takes what both know."""

    def __init__(self, **members):
        super().__init__(struct_size=c.sizeof(self), **members)


class Path(Sized):
    _fields_ = [("struct_size", c.c_size_t)] + [(name, c.c_uint8) for name in (
        "timeout", "retry_cnt", "rnr_retry", "min_rnr_timer", "traffic_class", "sl", "hop_limit", "static_rate")] + [
        ("flow_label", c.c_uint32), ("pkey_index", c.c_uint16), ("reserved", c.c_uint16), ("access", c.c_int), ("grh", c.c_int)]

    def __init__(self, **members):
        usual = {"timeout": 14, "retry_cnt": 7, "rnr_retry": 7, "min_rnr_timer": 12, "hop_limit": 64, "access": -1, "grh": -1}
        super().__init__(**{**usual, **members})


class DescribeOptions(Sized):
    _fields_ = [("struct_size", c.c_size_t), ("gid_index", c.c_int), ("family", c.c_int), ("peer", c.c_char_p), ("local", c.c_char_p),
                ("max_rd_atomic", c.c_int), ("max_dest_rd_atomic", c.c_int), ("mtu", c.c_uint32), ("qkey", c.c_uint32), ("port", c.c_uint8),
                ("allow_roce_v1", c.c_uint8), ("reserved", c.c_uint8 * 6)]

    def __init__(self, **members):
        super().__init__(**{"gid_index": -1, "max_rd_atomic": -1, "max_dest_rd_atomic": -1, "port": 1, **members})


class Options(Sized):
    _fields_ = [("struct_size", c.c_size_t), ("timeout_ms", c.c_int), ("family", c.c_int), ("retry_refused", c.c_int), ("name", c.c_char_p),
                ("security", c.c_char_p), ("stop_on_signal", c.c_int)]


class GroupOptions(Sized):
    _fields_ = [("struct_size", c.c_size_t), ("rank", c.c_uint32), ("size", c.c_uint32), ("timeout_ms", c.c_int), ("family", c.c_int), ("shrink", c.c_int),
                ("job", c.c_char_p), ("name", c.c_char_p), ("security", c.c_char_p), ("stop_on_signal", c.c_int)]


class RankBytes(c.Structure):
    _fields_ = [("rank", c.c_uint32), ("data", c.c_void_p), ("length", c.c_size_t)]


class Event(c.Structure):
    _fields_ = [("kind", c.c_uint32), ("rank", c.c_uint32), ("name", c.c_char * 256), ("reason", c.c_char * 256)]


library = c.CDLL(os.environ.get("QPX_LIBRARY", "libqp-exchange.so.0"))
free = c.CDLL(None).free
free.argtypes = [c.c_void_p]
free.restype = None

_POINTER, _OUT, _SIZE, _TEXT, _INT = c.c_void_p, c.POINTER(c.c_void_p), c.c_size_t, c.c_char_p, c.c_int
_TYPES = {
    "qpx_connect": (_INT, _TEXT, c.POINTER(Options), _OUT),
    "qpx_listen": (_INT, _TEXT, c.POINTER(Options), _OUT),
    "qpx_accept": (_INT, _POINTER, _INT, _OUT),
    "qpx_listener_port": (c.c_uint16, _POINTER),
    "qpx_listener_close": (None, _POINTER),
    "qpx_exchange": (_INT, _POINTER, c.POINTER(CEndpoint), _SIZE, c.POINTER(c.POINTER(CEndpoint)), c.POINTER(_SIZE)),
    "qpx_endpoints_free": (None, c.POINTER(CEndpoint), _SIZE),
    "qpx_send": (_INT, _POINTER, _TEXT, _SIZE),
    "qpx_receive": (_INT, _POINTER, _OUT, c.POINTER(_SIZE)),
    "qpx_barrier": (_INT, _POINTER),
    "qpx_set_timeout": (None, _POINTER, _INT),
    "qpx_refuse": (None, _POINTER, _TEXT),
    "qpx_close": (None, _POINTER),
    "qpx_peer_name": (_TEXT, _POINTER),
    "qpx_peer_address": (_TEXT, _POINTER),
    "qpx_peer_identity": (_TEXT, _POINTER),
    "qpx_secure": (_INT, _POINTER),
    "qpx_version": (_TEXT,),
    "qpx_last_error": (_TEXT,),
    "qpx_last_detail": (_INT,),
    "qpx_rank_from_environment": (_INT, c.POINTER(c.c_uint32), c.POINTER(c.c_uint32)),
    "qpx_group_join": (_INT, _TEXT, c.POINTER(GroupOptions), _OUT),
    "qpx_group_rank": (c.c_uint32, _POINTER),
    "qpx_group_size": (c.c_uint32, _POINTER),
    "qpx_group_put": (_INT, _POINTER, _TEXT, _TEXT, _SIZE),
    "qpx_group_get": (_INT, _POINTER, _TEXT, _INT, _OUT, c.POINTER(_SIZE)),
    "qpx_group_wait": (_INT, _POINTER, c.POINTER(_TEXT), _SIZE, _INT),
    "qpx_group_add": (_INT, _POINTER, _TEXT, c.c_int64, c.POINTER(c.c_int64)),
    "qpx_group_erase": (_INT, _POINTER, _TEXT),
    "qpx_group_barrier": (_INT, _POINTER, _INT),
    "qpx_group_all_gather": (_INT, _POINTER, _TEXT, _SIZE, _INT, c.POINTER(c.POINTER(RankBytes)), c.POINTER(_SIZE)),
    "qpx_group_exchange_bytes": (_INT, _POINTER, c.POINTER(RankBytes), _SIZE, _INT, c.POINTER(c.POINTER(RankBytes)),
                                 c.POINTER(_SIZE)),
    "qpx_group_poll_event": (_INT, _POINTER, c.POINTER(Event)),
    "qpx_try_accept": (_INT, _POINTER, _OUT),
    "qpx_listener_fd": (_INT, _POINTER),
    "qpx_listener_cancel": (None, _POINTER),
    "qpx_listener_turned_away": (_INT, _POINTER, _OUT),
    "qpx_try_receive": (_INT, _POINTER, _OUT, c.POINTER(_SIZE)),
    "qpx_fd": (_INT, _POINTER),
    "qpx_cancel": (None, _POINTER),
    "qpx_local_address": (_TEXT, _POINTER),
    "qpx_endpoint_pack": (_INT, c.POINTER(CEndpoint), _OUT, c.POINTER(_SIZE)),
    "qpx_endpoint_unpack": (_INT, _TEXT, _SIZE, c.POINTER(c.POINTER(CEndpoint))),
    "qpx_should_connect": (_INT, _TEXT, _TEXT),
    "qpx_describe_qp": (_INT, _POINTER, c.POINTER(DescribeOptions), _POINTER, c.POINTER(CEndpoint), c.POINTER(_INT)),
    "qpx_describe_number": (_INT, _TEXT, c.c_uint32, c.c_uint32, c.POINTER(DescribeOptions), _POINTER, c.POINTER(CEndpoint),
                            c.POINTER(_INT)),
    "qpx_agree": (_INT, c.POINTER(CEndpoint), _INT, c.POINTER(CEndpoint), c.POINTER(_INT), c.c_void_p),
    "qpx_init_qp": (_INT, _POINTER, c.POINTER(CEndpoint), c.POINTER(Path)),
    "qpx_connect_qp_path": (_INT, _POINTER, c.POINTER(CEndpoint), _INT, c.POINTER(CEndpoint), c.POINTER(Path)),
    "qpx_create_ah": (_INT, _POINTER, c.POINTER(CEndpoint), _INT, c.POINTER(CEndpoint), c.POINTER(Path), _OUT),
    "qpx_group_secure": (_INT, _POINTER),
    "qpx_group_fd": (_INT, _POINTER),
    "qpx_group_cancel": (_INT, _POINTER),
    "qpx_group_put_once": (_INT, _POINTER, _TEXT, _TEXT, _SIZE),
    "qpx_group_try_get": (_INT, _POINTER, _TEXT, _OUT, c.POINTER(_SIZE)),
    "qpx_group_members": (_INT, _POINTER, c.POINTER(c.POINTER(CMember)), c.POINTER(_SIZE)),
    "qpx_group_find": (_INT, _POINTER, _TEXT, _INT, c.POINTER(c.c_uint32)),
    "qpx_group_exchange": (_INT, _POINTER, c.POINTER(RankEndpoint), _SIZE, _INT, c.POINTER(c.POINTER(RankEndpoint)),
                           c.POINTER(_SIZE)),
    "qpx_group_exchange_some": (_INT, _POINTER, c.POINTER(RankEndpoint), _SIZE, _INT, c.POINTER(c.POINTER(RankEndpoint)),
                                c.POINTER(_SIZE), c.POINTER(c.POINTER(c.c_uint32)), c.POINTER(_SIZE)),
    "qpx_rank_endpoints_free": (None, c.POINTER(RankEndpoint), _SIZE),
    "qpx_group_leave": (_INT, _POINTER),
    "qpx_group_free": (None, _POINTER),
}
for _name, (_result, *_arguments) in _TYPES.items():
    _function = getattr(library, _name)
    _function.restype, _function.argtypes = _result, _arguments


def good(status):
    """The status of a call that succeeded; Error for one that did not."""
    if status < 0:
        raise Error(-status, library.qpx_last_error().decode(errors="replace"), library.qpx_last_detail())
    return status


def text(value):
    return None if value is None else value.encode()


def milliseconds(seconds, default=0):
    """None is for ever, as in Python elsewhere."""
    return default if seconds == "default" else -1 if seconds is None else max(1, round(seconds * 1000))


def take(pointer, length):
    """The bytes of an answer, which is freed."""
    value = c.string_at(pointer, length.value) if pointer else b""
    free(pointer)
    return value


def version():
    return library.qpx_version().decode()
