#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes objects with pyverbs and checks what iproute2's `rdma resource` prints for them.

usage: rdma_resource.py DEVICE QPS
"""
import json
import os
import subprocess
import sys

import pyverbs.enums as e
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr


def rdma(*words):
    return json.loads(subprocess.check_output(["rdma", "-j", "resource", "show", *words]))


def main():
    device, count = sys.argv[1], int(sys.argv[2])
    context = Context(name=device)
    pd = PD(context)
    cq = CQ(context, 64)
    region = MR(pd, 12345, e.IBV_ACCESS_LOCAL_WRITE)
    srq = SRQ(pd, SrqInitAttr(SrqAttr(16, 1)))
    init = QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, cap=QPCap())
    qps = [QP(pd, init) for _ in range(count)]
    attr = QPAttr(qp_state=e.IBV_QPS_INIT)
    attr.pkey_index, attr.port_num, attr.qp_access_flags = 0, 1, 0
    qps[0].modify(attr, e.IBV_QP_STATE | e.IBV_QP_PKEY_INDEX | e.IBV_QP_PORT | e.IBV_QP_ACCESS_FLAGS)

    (summary,) = rdma()
    counts = {name: summary[name] for name in ("pd", "cq", "qp", "mr", "ctx", "srq")}
    assert counts == {"pd": 1, "cq": 1, "qp": count, "mr": 1, "ctx": 1, "srq": 1}, counts

    listed = {row["lqpn"]: row for row in rdma("qp", "link", f"{device}/1")}
    assert set(listed) == {qp.qp_num for qp in qps}, len(listed)
    first = listed[qps[0].qp_num]
    assert (first["type"], first["state"], first["pid"]) == ("RC", "INIT", os.getpid()), first
    assert all(listed[qp.qp_num]["state"] == "RESET" for qp in qps[1:])
    assert first["comm"].startswith("python3"), first

    (mr,) = rdma("mr")
    assert (mr["mrlen"], mr["pid"]) == (region.length, os.getpid()), mr
    (queue,) = rdma("cq")
    assert queue["cqe"] >= 64 and queue["users"] >= count, queue
    shared = rdma("srq")
    assert [row["srqn"] for row in shared] == [srq.get_srq_num()], shared
    assert "lqpn" not in shared[0], shared
    sharing = QP(pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, srq=srq, cap=QPCap()))
    (shared,) = rdma("srq")
    assert [str(n) for n in shared["lqpn"]] == [str(sharing.qp_num)], shared
    print(f"{count} QPs as they are")


main()
