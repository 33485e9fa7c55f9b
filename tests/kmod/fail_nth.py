#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Fails the first, second, ... allocation of a driver's operation: nothing may break, and
everything must work afterwards. Fails each allocation that a function of the driver makes, directly
or through a few calls; of the thousands deeper in the kernel, evenly spread ones, as many as fit in
SECONDS per case. Runs as root in a guest whose kernel has fault injection (scripts/kernel-lab.sh).

usage: fail_nth.py PCI-NAME SECONDS [CASE...]

CASE: contexts, queues, regions, probe; default: all.

Prints a line for each case: PASS name, or FAIL name: why.
"""
import contextlib
import os
import re
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
SECONDS = float(sys.argv[2])
DRIVER = "/sys/bus/pci/drivers/dingo"
NTH = "/proc/thread-self/fail-nth"
NEVER = 1 << 30
KINDS = ("failslab", "fail_page_alloc", "fail_usercopy")
MODULES = ("dingo", "dingo_ib")
OWN_DEPTH = 8  # most stack frames from an allocation up to the driver's function to which it is attributed


def put(path, text):
    file = os.open(path, os.O_WRONLY)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)


def setting(name, value):
    for kind in KINDS:
        put(f"/sys/kernel/debug/{kind}/{name}", value)


def text_of(module):
    """Returns the first and last address of a module's functions."""
    found = re.compile(rf"^([0-9a-f]+) [tT] \S+\t\[{module}\]$", re.MULTILINE)
    with open("/proc/kallsyms", encoding="ascii") as symbols:
        addresses = [int(a, 16) for a in found.findall(symbols.read())]
    return min(addresses), max(addresses) + 4096


@contextlib.contextmanager
def only_own(module):
    """Within this context, only allocations of the module count."""
    first, last = text_of(module)
    setting("stacktrace-depth", str(OWN_DEPTH))
    setting("require-start", hex(first))
    setting("require-end", hex(last))
    try:
        yield
    finally:
        setting("require-start", "0")
        setting("require-end", hex((1 << 64) - 1))


def fault_left(file):
    """Returns how many allocations were left until the fault (0: it happened), and cancels it. The
    read itself may trigger the fault; then it came too late for the work, and 1 is returned."""
    try:
        left = int(os.pread(file, 16, 0).strip(b"\0\n"))
    except OSError:
        left = 1
    try:
        os.pwrite(file, b"0", 0)
    except OSError:
        left = 1
        os.pwrite(file, b"0", 0)
    return left


def fail(work, undo, nth):
    """Fails the nth allocation of work(), which returns whether it succeeded. Returns 0 if the
    fault happened, else the number of allocations that were left until the nth."""
    file = os.open(NTH, os.O_RDWR)
    try:
        os.pwrite(file, str(nth).encode(), 0)
        done = work()
        left = fault_left(file)
    finally:
        os.close(file)
    if done:
        undo()
    elif left:
        raise RuntimeError(f"failed without a fault, allocation {nth}")
    return left


def nothing():
    pass


def sweep(work, undo=nothing):
    """Fails allocations of work(), which returns whether it succeeded. Returns how many of the
    modules' own, how many of all others, and the total number of allocations."""
    failed = 0
    for module in MODULES:
        with only_own(module):
            nth = 1
            while not fail(work, undo, nth):
                nth += 1
            failed += nth - 1
        print(f"# {nth - 1} of {module}", flush=True)
    began = time.monotonic()
    number = NEVER - fail(work, undo, NEVER)
    took = time.monotonic() - began
    step = max(1, round(number * took / SECONDS))
    others = range(1 + step // 2, number + 1, step)
    for nth in others:
        fail(work, undo, nth)
    return failed, len(others), number


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
    setting("verbose", "0")
    for name in ("failslab", "fail_page_alloc"):
        put(f"/sys/kernel/debug/{name}/ignore-gfp-wait", "N")
    put("/sys/kernel/debug/fail_page_alloc/min-order", "0")
    for case in [globals()[name] for name in sys.argv[3:] or ("contexts", "queues", "regions", "probe")]:
        name = f"each allocation of {case.__name__} fails once"
        try:
            own, others, number = case()
            print(f"# {case.__name__}: {own} of the driver's own, {others} of {number} of all", flush=True)
            print(f"PASS {name}" if own else f"FAIL {name}: no fault was injected", flush=True)
            status |= not own
        except Exception as why:  # pylint: disable=broad-except
            print(f"FAIL {name}: {type(why).__name__} {why}", flush=True)
            status = 1
    return status


sys.exit(main())
