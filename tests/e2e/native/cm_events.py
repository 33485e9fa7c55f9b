#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tests that an rdma_cm channel is readable only while it has an event, when identifiers are
destroyed or migrated to another channel while their event arrives. Usage: cm_events.py ADDRESS, one
of the card's."""

import ctypes
import select
import socket
import struct
import sys

ROUNDS = 300
TIMEOUT_MS = 2000
PS_TCP = 0x0106

cm = ctypes.CDLL("librdmacm.so.1", use_errno=True)
cm.rdma_create_event_channel.restype = ctypes.POINTER(ctypes.c_int)
for name in ("rdma_create_id", "rdma_resolve_addr", "rdma_destroy_id", "rdma_migrate_id", "rdma_get_cm_event",
             "rdma_ack_cm_event"):
    getattr(cm, name).restype = ctypes.c_int


def check(result, what):
    if result != 0:
        sys.exit(f"{what}: errno {ctypes.get_errno()}")


def readable(channel, timeout=0):
    return bool(select.select([channel[0]], [], [], timeout)[0])


def resolving(channel, address):
    identifier = ctypes.c_void_p()
    check(cm.rdma_create_id(channel, ctypes.byref(identifier), None, PS_TCP), "rdma_create_id")
    check(cm.rdma_resolve_addr(identifier, None, address, TIMEOUT_MS), "rdma_resolve_addr")
    return identifier


def main():
    address = ctypes.create_string_buffer(
        struct.pack("=H", socket.AF_INET) + struct.pack("!H", 7471) + socket.inet_aton(sys.argv[1]) + bytes(8), 16)
    first, second = cm.rdma_create_event_channel(), cm.rdma_create_event_channel()
    if not first or not second:
        sys.exit("rdma_create_event_channel")
    for n in range(ROUNDS):
        identifier = resolving(first, address)
        if n % 3 == 0 and not readable(first, 10):
            sys.exit("no event")
        check(cm.rdma_destroy_id(identifier), "rdma_destroy_id")
        if readable(first):
            sys.exit(f"readable without an event after rdma_destroy_id, round {n}")
    for n in range(ROUNDS):
        identifier = resolving(first, address)
        if n % 3 == 0 and not readable(first, 10):
            sys.exit("no event")
        check(cm.rdma_migrate_id(identifier, second), "rdma_migrate_id")
        if readable(first):
            sys.exit(f"readable without an event after rdma_migrate_id, round {n}")
        event = ctypes.c_void_p()
        check(cm.rdma_get_cm_event(second, ctypes.byref(event)), "rdma_get_cm_event")
        check(cm.rdma_ack_cm_event(event), "rdma_ack_cm_event")
        check(cm.rdma_destroy_id(identifier), "rdma_destroy_id")
        if readable(second):
            sys.exit(f"readable without an event at the new channel, round {n}")
    print("ok")


main()
