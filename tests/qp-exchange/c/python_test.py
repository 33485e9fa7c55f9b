#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tests the Python module qpx. usage: python_test.py URL (tcp://, rank 0 serves), with QPX_LIBRARY
and PYTHONPATH set."""
import sys
import threading

import qpx


def client(port):
    with qpx.connect(f"tcp://127.0.0.1:{port}", timeout=20, name="client") as peer:
        theirs = peer.exchange([qpx.Endpoint(qpn=2, lid=4, application=b"from the client")])
        assert (theirs[0].qpn, theirs[0].psn, theirs[0].device) == (1, 77, "py0"), theirs
        assert theirs[0].regions == [qpx.Region(4096, 1 << 33, 5, "buffer")], theirs
        peer.send(b"\0bytes")
        assert peer.receive() == b""
        peer.barrier()


with qpx.listen("tcp://127.0.0.1:0", timeout=20) as listener:
    thread = threading.Thread(target=client, args=(listener.port,))
    thread.start()
    with listener.accept(20) as peer:
        region = qpx.Region(4096, 1 << 33, 5, "buffer")
        theirs = peer.exchange([qpx.Endpoint(qpn=1, psn=77, lid=3, device="py0", regions=[region])])
        assert theirs[0].qpn == 2 and theirs[0].application == b"from the client"
        assert peer.receive() == b"\0bytes" and peer.peer_name == "client" and not peer.secure
        peer.send(b"")
        peer.barrier()
        thread.join()
    try:
        qpx.connect(f"tcp://127.0.0.1:{listener.port}", security="no such thing")
        raise AssertionError("a wrong security was taken")
    except qpx.Error as error:
        assert error.code == 1 and "security" in str(error), error


def member(rank):
    with qpx.Group(sys.argv[1], rank=rank, size=2, timeout=20) as group:
        if rank == 1:
            group.put("key", b"value")
        assert group.get("key") == b"value" and group.size == 2
        group.barrier()
        assert group.all_gather(bytes([rank])) == {0: b"\0", 1: b"\1"}
        assert group.exchange_bytes({1 - rank: f"from {rank}".encode()}) == {1 - rank: f"from {1 - rank}".encode()}
        group.add("sum", rank + 1)
        group.barrier()
        assert group.add("sum", 0) == 3
        group.barrier()
    done.append(rank)


done = []
threads = [threading.Thread(target=member, args=(rank,)) for rank in (0, 1)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert sorted(done) == [0, 1], done
print("module qpx", qpx.version(), "ok")
