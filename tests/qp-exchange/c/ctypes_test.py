#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tests libqp-exchange.so from Python by ctypes. usage: ctypes_test.py LIBRARY"""
import ctypes as c
import sys
import threading


class Region(c.Structure):
    _fields_ = [("address", c.c_uint64), ("length", c.c_uint64), ("rkey", c.c_uint32), ("tag", c.c_char * 256)]


class Candidate(c.Structure):
    _fields_ = [("gid", c.c_uint8 * 16), ("type", c.c_uint8), ("wish", c.c_uint8), ("prefix", c.c_uint8), ("reserved", c.c_uint8),
                ("gid_index", c.c_int32)]


class Endpoint(c.Structure):
    _fields_ = [
        ("device", c.c_char * 64), ("gid", c.c_uint8 * 16), ("qpn", c.c_uint32), ("psn", c.c_uint32), ("qkey", c.c_uint32),
        ("srqn", c.c_uint32), ("mtu", c.c_uint32), ("type", c.c_uint32), ("lid", c.c_uint16), ("port", c.c_uint8),
        ("max_rd_atomic", c.c_uint8), ("max_dest_rd_atomic", c.c_uint8), ("reserved", c.c_uint8 * 3),
        ("regions", c.POINTER(Region)), ("region_count", c.c_size_t), ("application", c.c_void_p),
        ("application_length", c.c_size_t), ("candidate_count", c.c_uint32), ("reserved_flags", c.c_uint32),
        ("reserved_more", c.c_uint64 * 4), ("candidates", Candidate * 64),
    ]


qpx = c.CDLL(sys.argv[1])
for name in ("qpx_version", "qpx_strerror", "qpx_last_error", "qpx_peer_name"):
    getattr(qpx, name).restype = c.c_char_p
for name in ("qpx_close", "qpx_barrier", "qpx_peer_name", "qpx_listener_close", "qpx_listener_port"):
    getattr(qpx, name).argtypes = [c.c_void_p]
qpx.qpx_listener_port.restype = c.c_uint16
qpx.qpx_exchange.argtypes = [c.c_void_p, c.POINTER(Endpoint), c.c_size_t, c.POINTER(c.POINTER(Endpoint)), c.POINTER(c.c_size_t)]
qpx.qpx_endpoints_free.argtypes = [c.POINTER(Endpoint), c.c_size_t]
qpx.qpx_accept.argtypes = [c.c_void_p, c.c_int, c.c_void_p]


def good(status):
    assert status == 0, f"{qpx.qpx_strerror(status)}: {qpx.qpx_last_error()}"


def talk(connection, mine, expected):
    region = Region(address=0x7F00_0000_0000, length=4096, rkey=mine, tag=b"from Python")
    local = Endpoint(device=b"py0", qpn=mine, mtu=1024, type=1, port=1, regions=c.pointer(region), region_count=1)
    local.gid[0], local.gid[15] = 0xFE, 1
    remote, count = c.POINTER(Endpoint)(), c.c_size_t()
    good(qpx.qpx_exchange(connection, c.byref(local), 1, c.byref(remote), c.byref(count)))
    assert count.value == 1 and remote[0].qpn == expected and remote[0].device == b"py0"
    assert remote[0].region_count == 1 and remote[0].regions[0].tag == b"from Python"
    assert remote[0].regions[0].rkey == expected and list(remote[0].gid) == list(local.gid)
    qpx.qpx_endpoints_free(remote, count)
    good(qpx.qpx_barrier(connection))


def client(port):
    connection = c.c_void_p()
    good(qpx.qpx_connect(f"tcp://127.0.0.1:{port}".encode(), None, c.byref(connection)))
    talk(connection, 11, 22)
    qpx.qpx_close(connection)


listener, connection = c.c_void_p(), c.c_void_p()
good(qpx.qpx_listen(b"tcp://127.0.0.1:0", None, c.byref(listener)))
other = threading.Thread(target=client, args=(qpx.qpx_listener_port(listener),))
other.start()
good(qpx.qpx_accept(listener, 20000, c.byref(connection)))
assert b"pid" in qpx.qpx_peer_name(connection)
talk(connection, 22, 11)
other.join()
assert qpx.qpx_barrier(connection) < 0 and b"closed the connection" in qpx.qpx_last_error()
qpx.qpx_close(connection)
qpx.qpx_listener_close(listener)
print("libqp-exchange", qpx.qpx_version().decode(), "by ctypes: ok")
