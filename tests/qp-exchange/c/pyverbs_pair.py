#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Connects two queue pairs of pyverbs, which gives no pointers to them. usage: pyverbs_pair.py
[HOST]. Without HOST it listens; the other side writes into its memory. Needs a device:
tests/qp-exchange/cases/peers.sh runs it."""
import ipaddress
import sys

import qpx
from pyverbs.addr import GID, AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context, get_device_list
from pyverbs.enums import (IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_WRITE, IBV_QPT_RC, IBV_WC_SUCCESS,
                           IBV_WR_RDMA_WRITE)
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR

host = sys.argv[1] if len(sys.argv) > 1 else None
name = get_device_list()[0].name.decode()
context = Context(name=name)
pd, cq = PD(context), CQ(context, 4)
mr = MR(pd, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)
qp = QP(pd, QPInitAttr(qp_type=IBV_QPT_RC, scq=cq, rcq=cq, cap=QPCap(max_send_wr=2, max_recv_wr=2)))
if host:
    peer = qpx.connect(f"tcp://{host}:18600", timeout=20, retry_refused=True)
else:
    with qpx.listen("tcp://:18600", timeout=20) as listener:
        peer = listener.accept(20)

# The steps for pyverbs: describe the QP by its number, then change its states with the agreed
# attributes.
local, index = qpx.describe_number(name, qp.qp_num, connection=peer)
local.regions = [qpx.Region(mr.buf, 4096, mr.rkey, "inbox")]
remote, = peer.exchange([local])
mine, theirs = qpx.agree(local, index, remote)
route = GlobalRoute(dgid=GID(str(ipaddress.IPv6Address(theirs).exploded)), sgid_index=mine)
attr = QPAttr(port_num=local.port)
attr.ah_attr = AHAttr(gr=route, is_global=1, port_num=local.port)
attr.path_mtu = {256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}[min(local.mtu, remote.mtu)]
attr.dest_qp_num, attr.rq_psn, attr.sq_psn = remote.qpn, remote.psn, local.psn
attr.max_rd_atomic = min(local.max_rd_atomic, remote.max_dest_rd_atomic)
attr.max_dest_rd_atomic = min(local.max_dest_rd_atomic, remote.max_rd_atomic)
attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ
attr.timeout, attr.retry_cnt, attr.rnr_retry, attr.min_rnr_timer = 14, 7, 7, 12
qp.to_rts(attr)
peer.barrier()
if host:
    mr.write("hello from pyverbs", 18)
    wr = SendWR(opcode=IBV_WR_RDMA_WRITE, num_sge=1, sg=[SGE(mr.buf, 18, mr.lkey)])
    wr.set_wr_rdma(remote.regions[0].rkey, remote.regions[0].address)
    qp.post_send(wr)
    done = []
    while not done:
        _, done = cq.poll()
    assert done[0].status == IBV_WC_SUCCESS, done[0].status
peer.barrier()
assert mr.read(18, 0) == b"hello from pyverbs"
try:
    qpx.describe_number("mlx9_9", qp.qp_num)
except qpx.Error as error:
    assert error.code == qpx.EARGUMENT and name in str(error), error
print("written to" if host else "from", peer.peer_name)
