#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tests what a process sees when its open RDMA device is removed. Runs as root in a guest with a
card.

usage: open_context.py DEVICE COMMAND...

Opens the device, runs COMMAND, which removes the device, and uses the open context. Exit status 0
if there is an event DEVICE_FATAL, EIO for a new object and an error of the poll, and all objects
can be closed.
"""
import errno
import os
import signal
import subprocess
import sys

import pyverbs.enums as e
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsError, PyverbsRDMAError

DEVICE, COMMAND = sys.argv[1], sys.argv[2:]


def main():
    context = Context(name=DEVICE)
    pd = PD(context)
    cq = CQ(context, 16)
    region = MR(pd, 1 << 20, e.IBV_ACCESS_LOCAL_WRITE)
    if cq.poll(1)[0]:
        return "a completion of nothing"
    signal.alarm(60)
    subprocess.run(COMMAND, check=True)
    if os.path.exists(f"/sys/class/infiniband/{DEVICE}"):
        return "the device is still there"
    event = context.get_async_event()
    kind = event.event_type
    event.ack()
    if kind != e.IBV_EVENT_DEVICE_FATAL:
        return f"event {kind} instead of DEVICE_FATAL"
    try:
        PD(context)
        return "a domain of a device that is gone"
    except PyverbsRDMAError as why:
        if why.error_code != errno.EIO:
            return f"a new domain: {errno.errorcode.get(why.error_code, why.error_code)} instead of EIO"
    try:
        cq.poll(1)
        return "a queue of a device that is gone can be polled"
    except PyverbsError:
        pass
    region.close()
    cq.close()
    pd.close()
    context.close()
    return None


sys.exit(main())
