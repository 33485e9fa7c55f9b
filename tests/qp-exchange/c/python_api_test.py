#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tests the module qpx: functions for event loops, stores, failures. usage: as python_test.py"""
import os
import select
import signal
import socket
import sys
import threading

import qpx

CODES = {"argument": qpx.EARGUMENT, "resolve": qpx.ERESOLVE, "refused": qpx.EREFUSED, "timeout": qpx.ETIMEOUT, "protocol": qpx.EPROTOCOL,
         "peer gone": qpx.EPEERGONE, "cancelled": qpx.ECANCELLED}
NUMBERS = [1, 2, 3, 4, 5, 9, 13]


def endpoint(number):
    gid = bytes([0xFE] + [0] * 14 + [1])
    return qpx.Endpoint(qpn=number, gid=gid, device="py0", regions=[qpx.Region(4096, 64, number, "box")], application=b"words",
                        candidates=[qpx.Candidate(gid, qpx.GID_ROCE_V2, qpx.GID_CHOSEN, 64, 3)])


def fails(code, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except qpx.Error as error:
        assert error.code == CODES[code] and str(error), (error.code, str(error))
        return str(error)
    raise AssertionError(f"no error '{code}'")


def readable(thing, seconds=20):
    return bool(select.select([thing], [], [], seconds)[0])


def in_thread(call):
    thread = threading.Thread(target=call)
    thread.start()
    return thread


def packing():
    assert qpx.Endpoint.unpack(endpoint(7).pack()) == endpoint(7)
    fails("argument", qpx.Endpoint(qpn=1 << 24, gid=b"\1" * 16).pack)
    fails("protocol", qpx.Endpoint.unpack, endpoint(7).pack()[:-1])
    assert qpx.should_connect("a", "b") and not qpx.should_connect("b", "a")
    fails("argument", qpx.should_connect, "a", "a")


def network(net, host, wish, index, kind=qpx.GID_ROCE_V2):
    gid = bytes([0] * 10 + [0xFF, 0xFF, 10, 0, net, host])
    return qpx.Candidate(gid, kind, wish, 120, index)


def candidates():
    chosen, possible = qpx.GID_CHOSEN, qpx.GID_POSSIBLE
    a, b = endpoint(1), endpoint(2)
    a.candidates = [network(1, 1, chosen, 5), network(2, 1, possible, 9)]
    b.candidates = [network(3, 2, chosen, 0), network(2, 2, possible, 1)]
    at_a, at_b = qpx.Endpoint.unpack(b.pack()), qpx.Endpoint.unpack(a.pack())
    assert at_b == a and [one.gid_index for one in at_b.candidates] == [-1, -1]
    assert qpx.agree(a, 5, at_a) == (9, b.candidates[1].gid)
    assert qpx.agree(b, 0, at_b) == (1, a.candidates[1].gid)
    assert "qpx_describe()" in fails("argument", qpx.agree, a, 9, at_a)
    at_a.candidates = [network(2, 2, chosen, -1, qpx.GID_ROCE_V1)]
    assert "RoCE v1" in fails("argument", qpx.agree, a, 5, at_a)
    a.candidates *= 33
    fails("argument", a.pack)


def client(port):
    with qpx.connect(f"tcp://127.0.0.1:{port}", timeout=20, name="the client") as connection:
        assert connection.exchange([endpoint(1)]) == [endpoint(2)]
        connection.barrier()
        for message in (b"one", b"", b"three"):
            connection.send(message)
        assert connection.receive() == b"bye"


def peers():
    fails("refused", qpx.connect, "tcp://127.0.0.1:1", timeout=5)
    listener = qpx.listen("tcp://127.0.0.1:0", timeout=20)
    assert listener.try_accept() is None and listener.turned_away() == []
    fails("timeout", listener.accept, 0.01)
    other = in_thread(lambda: client(listener.port))
    connection = None
    while connection is None:
        assert readable(listener)
        connection = listener.try_accept()
    assert connection.peer_name == "the client" and connection.peer_address == "127.0.0.1" and not connection.secure
    assert connection.exchange([endpoint(2)]) == [endpoint(1)]
    connection.barrier()
    got = []
    while len(got) < 3:
        assert readable(connection)
        message = connection.try_receive()
        if message is not None:
            got.append(message)
    assert got == [b"one", b"", b"three"]
    waiting = in_thread(lambda: fails("cancelled", connection.receive))
    connection.cancel()
    waiting.join()
    connection.send(b"bye")
    other.join()
    fails("peer gone", connection.receive)
    listener.cancel()
    fails("cancelled", listener.accept)


def closed():
    """Closed objects raise an error, and do not crash the process."""
    listener = qpx.listen("tcp://127.0.0.1:0")
    listener.close()
    listener.close()
    for use in (lambda: listener.port, listener.accept, listener.fileno, listener.cancel, listener.__enter__):
        try:
            use()
        except ValueError as error:
            assert str(error) == "Listener is closed", error
        else:
            raise AssertionError("a closed listener answers")


def launched():
    os.environ["RANK"], os.environ["WORLD_SIZE"] = "2", "4"
    assert qpx.rank_from_environment() == (2, 4)
    os.environ["RANK"] = "-"
    fails("argument", qpx.rank_from_environment)
    del os.environ["RANK"], os.environ["WORLD_SIZE"]


def interrupted(call, *arguments):
    """Ctrl-C while `call` waits interrupts it soon, as with other calls of Python."""
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        call(*arguments)
    except KeyboardInterrupt:
        return
    finally:
        timer.cancel()
    raise AssertionError("not interrupted")


def signals(url):
    with qpx.listen("tcp://127.0.0.1:0", timeout=60, family=socket.AF_INET) as listener:
        interrupted(listener.accept)
        interrupted(listener.accept, 60)
        fails("timeout", listener.accept, 0.3)
        fails("resolve", qpx.connect, f"tcp://127.0.0.1:{listener.port}", family=socket.AF_INET6)
    with qpx.Group(url + "-signals", rank=0, size=1, timeout=None) as group:
        interrupted(group.get, "nobody")
        group.put("k", b"used on")
        assert group.get("k") == b"used on"


def member(url, rank):
    with qpx.Group(url, rank=rank, size=2, timeout=20, name=f"member {rank}") as group:
        assert (group.rank, group.size, group.secure) == (rank, 2, False)
        if rank == 0:
            group.put("k", b"value")
            assert group.put_once("once", b"") and not group.put_once("once", b"other")
        group.wait(["k", "once"])
        assert group.get("k") == b"value" and group.try_get("once") == b"" and group.try_get("nobody") is None
        fails("timeout", group.get, "nobody", timeout=0.02)
        group.add("n", 21)
        group.barrier()
        assert group.add("n", 0) == 42 and group.find(f"member {1 - rank}") == 1 - rank
        assert [(m.rank, m.state, m.name) for m in group.members()] == [(0, qpx.HERE, "member 0"), (1, qpx.HERE, "member 1")]
        assert group.all_gather(bytes([rank])) == {0: b"\0", 1: b"\1"}
        assert group.exchange_bytes({1 - rank: b"for %d" % (1 - rank)}) == {1 - rank: b"for %d" % rank}
        assert group.exchange({1 - rank: endpoint(rank)}) == {1 - rank: endpoint(1 - rank)}
        assert group.exchange_some({1 - rank: endpoint(rank)}) == ({1 - rank: endpoint(1 - rank)}, [])
        group.barrier()
        if rank == 0:
            assert group.erase("n") and not group.erase("n")
            assert group.cancel()
            fails("cancelled", group.get, "nobody", timeout=None)
            kinds = set()
            while "left" not in kinds:
                assert readable(group)
                event = group.poll_event()
                kinds |= {event[0]} if event else set()
            assert group.exchange_some({1: endpoint(0)}) == ({}, [1])
            fails("peer gone", group.exchange, {1: endpoint(0)})
        group.leave()


failed = []
threading.excepthook = lambda arguments: (failed.append(arguments), sys.__excepthook__(*arguments[:3]))
packing()
candidates()
closed()
launched()
assert list(CODES.values()) == NUMBERS
signals(sys.argv[1])
peers()
members = [in_thread(lambda rank=rank: member(sys.argv[1], rank)) for rank in range(2)]
for one in members:
    one.join()
if failed:
    sys.exit(1)
print("qpx", qpx.version(), "in Python: ok")
