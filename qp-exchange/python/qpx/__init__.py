# SPDX-License-Identifier: BSD-2-Clause
"""qp-exchange for Python: two processes, or the members of a group, give each other their queue pairs' addresses.

A binding of libqp-exchange.so.0 by ctypes; QPX_LIBRARY names another file. qpx/qpx.h and qpx/qpx_group.h say what the calls do.

    with qpx.listen("tcp://:18600") as listener, listener.accept() as peer:
        theirs = peer.exchange([qpx.Endpoint(qpn=17, psn=1, gid=gid)])

    with qpx.Group("qpxd://head/job", rank=0, size=2) as group:
        group.put("key", b"value"); group.barrier()
"""
from ._library import (EARGUMENT, EAUTH, ECANCELLED, EDEVICE, EINTERNAL, ELIMIT, EPEERGONE, EPROTOCOL, EREFUSED, ERESOLVE, ETIMEOUT,
                       EUNSUPPORTED, EVERSION, Error, version)
from .group import ANY_RANK, HAS_FAILED, HAS_LEFT, HERE, Group, Member, rank_from_environment
from .peer import (GID_CHOSEN, GID_CONNECTED, GID_INFINIBAND, GID_POSSIBLE, GID_ROCE_V1, GID_ROCE_V2, RC, UC, UD, Candidate,
                   Connection, Endpoint, Listener, Region, agree, connect, connect_qp, create_ah, describe, describe_number, init_qp,
                   listen, should_connect)

__all__ = ["ANY_RANK", "Candidate", "Connection", "EARGUMENT", "EAUTH", "ECANCELLED", "EDEVICE", "EINTERNAL", "ELIMIT", "EPEERGONE",
           "EPROTOCOL", "EREFUSED", "ERESOLVE", "ETIMEOUT", "EUNSUPPORTED", "EVERSION", "Endpoint", "Error", "GID_CHOSEN", "GID_CONNECTED", "GID_INFINIBAND", "GID_POSSIBLE",
           "GID_ROCE_V1", "GID_ROCE_V2", "Group", "HAS_FAILED", "HAS_LEFT", "HERE", "Listener", "Member", "RC", "Region", "UC", "UD",
           "agree", "connect", "connect_qp", "create_ah", "describe", "describe_number", "init_qp", "listen", "rank_from_environment", "should_connect", "version"]
