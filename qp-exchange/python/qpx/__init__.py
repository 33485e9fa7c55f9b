# SPDX-License-Identifier: BSD-2-Clause
"""qp-exchange for Python: two processes, or the members of a group, give each other their queue pairs' addresses.

A binding of libqp-exchange.so.0 by ctypes; QPX_LIBRARY names another file. qpx/qpx.h and qpx/qpx_group.h say what the calls do.

    with qpx.listen("tcp://:18600") as listener, listener.accept() as peer:
        theirs = peer.exchange([qpx.Endpoint(qpn=17, psn=1, gid=gid)])

    with qpx.Group("qpxd://head/job", rank=0, size=2) as group:
        group.put("key", b"value"); group.barrier()
"""
from ._library import Error, version
from .group import ANY_RANK, HAS_FAILED, HAS_LEFT, HERE, Group, Member
from .peer import (RC, UC, UD, Connection, Endpoint, Listener, Region, connect, connect_qp, create_ah, describe, listen,
                   should_connect)

__all__ = ["ANY_RANK", "Connection", "Endpoint", "Error", "Group", "HAS_FAILED", "HAS_LEFT", "HERE", "Listener", "Member", "RC",
           "Region", "UC", "UD", "connect", "connect_qp", "create_ah", "describe", "listen", "should_connect", "version"]
