#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tests that messages posted just before rdma_disconnect() arrive.

usage: last_message.py ROUNDS server|client ADDRESS
Each round is a connection with one long message or many short ones. The memory is anonymous and
shared, or every second time private; with DINGO_SHARE=0 the card has to fetch private memory's
bytes."""

import ctypes
import mmap
import signal
import sys

import pyverbs.cm_enums as ce
import pyverbs.enums as e
from pyverbs.cmid import CMID, AddrInfo
from pyverbs.mr import MR
from pyverbs.qp import QPCap, QPInitAttr

PORT = "18542"
MANY = 64


def messages(n):
    """Returns count and size of round n's messages; together they fit into the window of
    unacknowledged bytes."""
    return (MANY, 64) if n % 4 > 1 else (1, 512 << 10)


def attributes():
    return QPInitAttr(qp_type=e.IBV_QPT_RC, cap=QPCap(max_send_wr=MANY, max_recv_wr=MANY), sq_sig_all=1)


def mapping(n, size):
    return mmap.mmap(-1, size, mmap.MAP_ANONYMOUS | (mmap.MAP_PRIVATE if n % 2 else mmap.MAP_SHARED))


def address(memory):
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def serve(rounds, where):
    source = AddrInfo(src=where, src_service=PORT, port_space=ce.RDMA_PS_TCP, flags=ce.RAI_PASSIVE)
    listener = CMID(creator=source, qp_init_attr=attributes())
    listener.listen(backlog=4)
    for n in range(rounds):
        count, size = messages(n)
        memory = mapping(n, size)
        peer = listener.get_request()
        region = MR(peer.pd, size, e.IBV_ACCESS_LOCAL_WRITE, address=address(memory))
        for _ in range(count):
            peer.post_recv(region)
        peer.accept()
        for k in range(count):
            signal.alarm(20)  # for a lost message there is no completion
            status = peer.get_recv_comp().status
            if status != e.IBV_WC_SUCCESS:
                sys.exit(f"round {n}, message {k}: status {status}")
        if memory[:] != bytes([n % 251 + 1]) * size:
            sys.exit(f"round {n}: wrong data")
        signal.alarm(0)
        peer.disconnect()
        region.close()
        peer.close()
    print(f"{rounds} rounds")


def send(rounds, where):
    for n in range(rounds):
        count, size = messages(n)
        memory = mapping(n, size)
        memory[:] = bytes([n % 251 + 1]) * size
        target = AddrInfo(dst=where, dst_service=PORT, port_space=ce.RDMA_PS_TCP)
        peer = CMID(creator=target, qp_init_attr=attributes())
        region = MR(peer.pd, size, e.IBV_ACCESS_LOCAL_WRITE, address=address(memory))
        peer.connect()
        for _ in range(count):
            peer.post_send(region)
        peer.disconnect()
        region.close()
        peer.close()
    print(f"{rounds} rounds")


(serve if sys.argv[2] == "server" else send)(int(sys.argv[1]), sys.argv[3])
