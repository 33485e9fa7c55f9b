#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Connects two queue pairs of two hosts by the module qpx. usage: pair.py [HOST]. Without HOST it
listens. Prints the addresses on which the two agreed. Needs a device:
tests/qp-exchange/cases/vlans.sh runs it."""
import ctypes as c
import ipaddress
import sys

import qpx

verbs = c.CDLL("libibverbs.so.1")
for name, arguments in {"ibv_get_device_list": 1, "ibv_open_device": 1, "ibv_alloc_pd": 1, "ibv_create_cq": 5, "ibv_create_qp": 2}.items():
    getattr(verbs, name).restype = c.c_void_p
    getattr(verbs, name).argtypes = [c.c_void_p] * arguments
verbs.ibv_query_qp.argtypes = [c.c_void_p, c.c_void_p, c.c_int, c.c_void_p]


class InitAttr(c.Structure):
    _fields_ = [("qp_context", c.c_void_p), ("send_cq", c.c_void_p), ("recv_cq", c.c_void_p), ("srq", c.c_void_p), ("cap", c.c_uint32 * 5),
                ("qp_type", c.c_int), ("sq_sig_all", c.c_int)]


STATE, RTS = 1, 3


def create():
    context = verbs.ibv_open_device(c.c_void_p.from_address(verbs.ibv_get_device_list(None)).value)
    cq = verbs.ibv_create_cq(context, 4, None, None, 0)
    wanted = InitAttr(send_cq=cq, recv_cq=cq, cap=(c.c_uint32 * 5)(1, 1, 1, 1, 0), qp_type=2)
    qp = verbs.ibv_create_qp(verbs.ibv_alloc_pd(context), c.byref(wanted))
    assert qp, "no queue pair"
    return qp


def text(gid):
    address = ipaddress.IPv6Address(gid)
    return str(address.ipv4_mapped or address)


def meet(host):
    if host:
        return qpx.connect(f"tcp://{host}:18600", timeout=20, retry_refused=True)
    with qpx.listen("tcp://:18600", timeout=20) as listener:
        return listener.accept(20)


qp = create()
with meet(sys.argv[1] if len(sys.argv) > 1 else None) as connection:
    local, index = qpx.describe(qp, max_rd_atomic=1)
    assert local.max_rd_atomic == 1 and index in [one.gid_index for one in local.candidates], local
    remote, = connection.exchange([local])
    mine, theirs = qpx.agree(local, index, remote)
    qpx.init_qp(qp, local)
    qpx.connect_qp(qp, local, index, remote, timeout=12)
    attr, init = c.create_string_buffer(512), c.create_string_buffer(512)
    assert verbs.ibv_query_qp(qp, attr, STATE, init) == 0 and attr.raw[0] == RTS
    here, = [one.gid for one in local.candidates if one.gid_index == mine]
    connection.barrier()
    print("connected between", text(here), "and", text(theirs))
