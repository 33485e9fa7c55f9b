#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Attacks a card's sockets, as a program without Dingo's preload library can, until it is killed.

usage: tests/e2e/native/strangers.py NAME CARD_DIRECTORY [SEED]
"""

import array
import fcntl
import json
import os
import random
import resource
import socket
import struct
import sys
import time

HELLO = struct.Struct("<IIIIQQII")


def connect(directory, name="uverbs.sock"):
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        sock.connect(os.path.join(directory, name))
    except OSError:  # the card's listen queue is full
        sock.close()
        return None
    return sock


def send(sock, payload, descriptors=()):
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
    try:
        sock.sendmsg([payload], rights if descriptors else [], socket.MSG_DONTWAIT)
        return True
    except OSError:
        return False


def hello(pid):
    return HELLO.pack(1, 1, pid, 0, 0, 0, 0, 0)


def linger(directory, _):
    """Passes sockets whose close() blocks for as long as the sender likes (SO_LINGER)."""
    listener = socket.create_server(("127.0.0.1", 0))
    while True:
        client = socket.create_connection(listener.getsockname())
        server, _ = listener.accept()
        client.setblocking(False)
        try:
            while client.send(bytes(65536)):
                pass
        except BlockingIOError:
            pass
        client.setblocking(True)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 2))
        if sock := connect(directory):
            send(sock, b"x", [client.fileno()])
            # Now the card's copy is the last one, and its close() lingers.
            os.close(client.detach())
            time.sleep(0.02)
            sock.close()
        server.close() if random.random() < 0.5 else time.sleep(0.05)


def crowd(directory, _):
    """Takes all the connections that a card accepts."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    there = []
    while True:
        sock = connect(directory)
        if sock is None or len(there) >= 1005:
            time.sleep(0.05)
            for old in there[:100]:
                old.close()
            del there[:100]
        if sock:
            there.append(sock)


def gifts(directory, _):
    """Passes unrequested descriptors, as many as fit into a message."""
    files = [os.memfd_create("gift") for _ in range(250)]
    while True:
        if sock := connect(directory):
            for _ in range(16):
                send(sock, hello(os.getpid()), files)
            time.sleep(0.005)
            sock.close()


def garbage(directory, rng):
    """Sends random bytes as messages."""
    while True:
        name = rng.choice(["uverbs.sock", "rdma_cm.sock"])
        if sock := connect(directory, name):
            for _ in range(rng.randrange(1, 8)):
                head = hello(os.getpid()) if rng.random() < 0.5 else b""
                if not send(sock, head + rng.randbytes(rng.randrange(0, 4096))):
                    break
            sock.close()
        time.sleep(0.001)


def peer_of(path, number):
    """Connects to a card as a peer of the shm network. Returns the socket, or None if that
    failed."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    memory = os.memfd_create("peer", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(memory, 2 * (4096 + (2 << 20)))
        fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
        sock.connect(path)
        said = struct.pack("<IIQQQ", 0x44534D48, 6, 0x020000BAD000 + number, 2 << 20, 0)
        if send(sock, said, [memory]):
            return sock
    except OSError:
        pass
    finally:
        os.close(memory)
    sock.close()
    return None


def kicks(directory, _):
    """Acts as up to 32 peers of the shm network that kick the card without end."""
    with open(os.path.join(directory, "card.json"), encoding="utf-8") as file:
        process = json.load(file)["pid"]
    net = os.path.join(directory, "..", "nets", "default")
    path = next(os.path.join(net, f) for f in os.listdir(net) if f.startswith(f"{process:x}-"))
    peers = []
    while True:
        if len(peers) < 32 and (peer := peer_of(path, len(peers))):
            peers.append(peer)
        for peer in peers:
            for _ in range(64):
                if not send(peer, b"k"):
                    break


STRANGERS = {f.__name__: f for f in (linger, crowd, gifts, garbage, kicks)}

if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in STRANGERS:
        sys.exit(__doc__)
    STRANGERS[sys.argv[1]](sys.argv[2], random.Random(int((sys.argv + [0])[3])))
