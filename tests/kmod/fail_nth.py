#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Fails the first, second, ... allocation of a driver's work, until the work is done without: nothing may break, and all
works afterwards. Runs as root in a guest whose kernel has fault injection (scripts/kernel-lab.sh).

usage: fail_nth.py PCI-NAME

Prints PASS name, or FAIL name: why, a line a case.
"""
import os
import sys
import time

import pyverbs.enums as e
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPCap, QPInitAttr
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr

PCI = sys.argv[1]
DRIVER = "/sys/bus/pci/drivers/dingo"
MOST = 3000
NTH = "/proc/thread-self/fail-nth"


def put(path, text):
    file = os.open(path, os.O_WRONLY)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)


def sweep(work, undo=lambda: None):
    """How many allocations failed before work() came to its end without. work() returns whether it succeeded."""
    file = os.open(NTH, os.O_RDWR)
    for nth in range(1, MOST):
        os.pwrite(file, str(nth).encode(), 0)
        done = work()
        left = int(os.pread(file, 16, 0).strip(b"\0\n"))
        os.pwrite(file, b"0", 0)
        if done:
            undo()
        if left:
            os.close(file)
            if not done:
                raise RuntimeError(f"failed without a fault, after {nth - 1} faults")
            return nth - 1
    raise RuntimeError(f"still fails after {MOST} faults")


def bind():
    try:
        put(f"{DRIVER}/bind", PCI)
        return True
    except OSError:
        return False


def probe():
    put(f"{DRIVER}/unbind", PCI)
    number = sweep(bind, lambda: put(f"{DRIVER}/unbind", PCI))
    put(f"{DRIVER}/bind", PCI)
    for _ in range(100):
        if os.path.isdir(f"/sys/bus/pci/devices/{PCI}/infiniband"):
            break
        time.sleep(0.1)
    return number


def device():
    return os.listdir(f"/sys/bus/pci/devices/{PCI}/infiniband")[0]


def attempt(function):
    try:
        function()
        return True
    except Exception:  # pylint: disable=broad-except
        return False


def contexts():
    return sweep(lambda: attempt(lambda: Context(name=device()).close()))


def queues():
    context = Context(name=device())
    pd = PD(context)

    def work():
        with CQ(context, 3000) as cq:
            srq = SRQ(pd, SrqInitAttr(SrqAttr(max_wr=500, max_sge=2)))
            init = QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, srq=srq, cap=QPCap(max_send_wr=500, max_recv_wr=0))
            with QP(pd, init):
                pass
            srq.close()

    return sweep(lambda: attempt(work))


def regions():
    context = Context(name=device())
    pd = PD(context)
    return sweep(lambda: attempt(lambda: MR(pd, 4 << 20, e.IBV_ACCESS_LOCAL_WRITE).close()))


def main():
    status = 0
    for name in ("failslab", "fail_page_alloc"):
        put(f"/sys/kernel/debug/{name}/ignore-gfp-wait", "N")
        put(f"/sys/kernel/debug/{name}/verbose", "0")
    put("/sys/kernel/debug/fail_page_alloc/min-order", "0")
    put("/sys/kernel/debug/fail_usercopy/verbose", "0")
    for case in (probe, contexts, queues, regions):
        name = f"each allocation of {case.__name__} fails once"
        try:
            number = case()
            print(f"# {number} faults")
            print(f"PASS {name}" if number else f"FAIL {name}: no fault was injected")
            status |= not number
        except Exception as why:  # pylint: disable=broad-except
            print(f"FAIL {name}: {type(why).__name__} {why}")
            status = 1
    return status


sys.exit(main())
