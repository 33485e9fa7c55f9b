#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tests what dingo_ib.ko promises to a process, and what it must deny. Runs as root in a guest with
a card.

usage: driver_cases.py DEVICE GID-INDEX

Prints a line for each case: PASS name, or FAIL name: why.
"""
import ctypes
import mmap
import os
import re
import subprocess
import sys
import time
import traceback

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR, MW
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsError, PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR

PAGE = mmap.PAGESIZE
HUGE = 2 << 20
DEVICE, GID = sys.argv[1], int(sys.argv[2])
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = libc.mremap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
FAILED = ctypes.c_void_p(-1).value


class Failure(Exception):
    pass


def loopback():
    """A context, a protection domain, and a QP that is connected to itself."""
    context = Context(name=DEVICE)
    pd = PD(context)
    cq = CQ(context, 16)
    init = QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, cap=QPCap(max_send_wr=4, max_recv_wr=4))
    attr = QPAttr(port_num=1)
    attr.qp_access_flags = e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ
    qp = QP(pd, init, attr)
    route = GlobalRoute(dgid=context.query_gid(1, GID), sgid_index=GID)
    attr.ah_attr = AHAttr(gr=route, is_global=1, port_num=1)
    attr.dest_qp_num = qp.qp_num
    attr.path_mtu = e.IBV_MTU_1024
    attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
    attr.timeout, attr.retry_cnt, attr.rnr_retry = 14, 7, 7
    qp.to_rts(attr)
    return context, pd, cq, qp


def write(qp, cq, source, target, address):
    """WRITEs 8 bytes and returns the completion's status."""
    request = SendWR(opcode=e.IBV_WR_RDMA_WRITE, num_sge=1, sg=[SGE(source.buf, 8, source.lkey)])
    request.set_wr_rdma(target.rkey, address)
    qp.post_send(request)
    while True:
        number, completions = cq.poll(1)
        if number:
            return completions[0].status


def zero_based_region_keeps_its_base():
    context, pd, cq, qp = loopback()
    flags = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_ZERO_BASED
    source = MR(pd, PAGE, e.IBV_ACCESS_LOCAL_WRITE)
    target = MR(pd, PAGE, flags)
    other = PD(context)
    for what in ("as registered", "after a new access", "after a new domain"):
        if what == "after a new access":
            target.rereg(e.IBV_REREG_MR_CHANGE_ACCESS, pd, 0, 0, flags | e.IBV_ACCESS_REMOTE_READ)
        elif what == "after a new domain":
            target.rereg(e.IBV_REREG_MR_CHANGE_PD, other, 0, 0, 0)
            target.rereg(e.IBV_REREG_MR_CHANGE_PD, pd, 0, 0, 0)
        text = f"{what:8.8}"
        source.write(text, 8)
        status = write(qp, cq, source, target, 8)
        if status != e.IBV_WC_SUCCESS:
            raise Failure(f"{what}: a write to address 8 ended with status {status}")
        if target.read(8, 8).decode() != text:
            raise Failure(f"{what}: the write went to another place")


def huge_pages_are_one_entry_each():
    with open("/proc/sys/vm/nr_hugepages", "w") as pages:
        pages.write("4")
    context = Context(name=DEVICE)
    pd = PD(context)
    area = mmap.mmap(-1, 2 * HUGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000)  # MAP_HUGETLB
    area.write(b"\0" * 2 * HUGE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(area))
    mr = MR(pd, 2 * HUGE, e.IBV_ACCESS_LOCAL_WRITE, address=address)
    shown = subprocess.run(["rdma", "resource", "show", "mr", "-dd"], capture_output=True, text=True, check=True).stdout
    shift = [int(n) for n in re.findall(r"page_shift (\d+)", shown)]
    mr.close()
    if not shift or max(shift) < 21:
        raise Failure(f"page_shift is {shift}")


def rings():
    """Returns this process's mappings of the device that are longer than a page: (begin, length,
    offset, device)."""
    found = []
    with open("/proc/self/maps") as maps:
        for line in maps:
            span, _, offset, _, _, *path = line.split()
            begin, end = (int(n, 16) for n in span.split("-"))
            if path and "/dev/infiniband/uverbs" in path[0] and end - begin > PAGE:
                found.append((begin, end - begin, int(offset, 16), path[0]))
    return found


def rings_are_mapped_shared_and_whole():
    context = Context(name=DEVICE)
    cq = CQ(context, 3000)
    ((begin, length, offset, _),) = rings()
    both = mmap.PROT_READ | mmap.PROT_WRITE
    cases = {
        "a private mapping": lambda: libc.mmap(None, length, both, mmap.MAP_PRIVATE, context.cmd_fd, offset),
        "a mapping of half": lambda: libc.mmap(None, length // 2, both, mmap.MAP_SHARED, context.cmd_fd, offset),
        "code": lambda: libc.mmap(None, length, both | mmap.PROT_EXEC, mmap.MAP_SHARED, context.cmd_fd, offset),
        "code by a later mprotect()": lambda: libc.mprotect(begin, length, both | mmap.PROT_EXEC) and FAILED,
        "growth": lambda: libc.mremap(begin, length, 2 * length, 1),
    }
    given = [name for name, attempt in cases.items() if attempt() != FAILED]
    cq.close()
    if given:
        raise Failure(f"given: {', '.join(given)}")


def count_contexts():
    """Returns how many contexts with a CQ, and so with a doorbell page, this process can make; at
    most 600."""
    kept = []
    try:
        while len(kept) < 600:
            context = Context(name=DEVICE)
            kept.append((context, CQ(context, 1)))
    except (PyverbsError, PyverbsRDMAError, OSError):
        pass
    return len(kept)


def as_user(uid, function):
    """Returns the number that function() returns in a process of that user."""
    read, written = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgid(uid)
            os.setuid(uid)
            os.write(written, str(function()).encode())
        finally:
            os._exit(0)
    os.close(written)
    with os.fdopen(read) as answer:
        number = int(answer.read() or -1)
    os.waitpid(child, 0)
    return number


def one_user_does_not_get_all_doorbell_pages():
    for name in os.listdir("/dev/infiniband"):
        os.chmod(f"/dev/infiniband/{name}", 0o666)
    got = as_user(12345, count_contexts)
    if not 16 <= got <= 256:
        raise Failure(f"one user got {got} pages of 1024")
    again = as_user(12345, count_contexts)
    if again != got:
        raise Failure(f"he got {got}, and when he had given them back {again}")


def region_numbers_cannot_be_guessed():
    context = Context(name=DEVICE)
    pd = PD(context)
    limit = context.query_device().max_mr
    regions = [MR(pd, PAGE, e.IBV_ACCESS_LOCAL_WRITE) for _ in range(32)]
    windows = [MW(pd, e.IBV_MW_TYPE_1) for _ in range(32)]
    for what, objects in ("regions", regions), ("windows", windows):
        indexes = sorted(o.rkey >> 16 for o in objects)
        # Fails by chance with probability 2^-31.
        if indexes[0] >= limit // 2 or indexes[-1] < limit // 2:
            raise Failure(f"{what} of {limit} begin at {indexes[0]} and end at {indexes[-1]}")
    for o in windows + regions:
        o.close()


class QpInit(ctypes.Structure):
    """struct ibv_qp_init_attr."""
    _fields_ = [("context", ctypes.c_void_p), ("send_cq", ctypes.c_void_p), ("recv_cq", ctypes.c_void_p),
                ("srq", ctypes.c_void_p), ("cap", ctypes.c_uint32 * 5), ("type", ctypes.c_int), ("signal_all", ctypes.c_int)]


def a_group_with_two_lids_is_left_twice():
    """Uses ctypes, as pyverbs has no multicast groups. ib_core takes each LID for a group, which a
    queue pair must leave before it can be destroyed."""
    verbs = ctypes.CDLL("libibverbs.so.1", use_errno=True)
    for name in "ibv_get_device_list", "ibv_open_device", "ibv_alloc_pd", "ibv_create_cq", "ibv_create_qp":
        getattr(verbs, name).restype = ctypes.c_void_p
    devices = ctypes.cast(verbs.ibv_get_device_list(None), ctypes.POINTER(ctypes.c_void_p))
    context = ctypes.c_void_p(verbs.ibv_open_device(ctypes.c_void_p(devices[0])))
    pd = ctypes.c_void_p(verbs.ibv_alloc_pd(context))
    cq = verbs.ibv_create_cq(context, 8, None, None, 0)
    init = QpInit(send_cq=cq, recv_cq=cq, type=e.IBV_QPT_UD, cap=(1, 1, 1, 1, 0))
    qp = ctypes.c_void_p(verbs.ibv_create_qp(pd, ctypes.byref(init)))
    if not (context and pd and cq and qp):
        raise Failure(f"context {context}, PD {pd}, CQ {cq}, QP {qp}")
    group = bytes.fromhex("ff0e000000000000000000000000beef")
    calls = [(verbs.ibv_attach_mcast, 0xc001), (verbs.ibv_attach_mcast, 0xc002),
             (verbs.ibv_detach_mcast, 0xc001), (verbs.ibv_detach_mcast, 0xc002)]
    said = [call(qp, group, ctypes.c_uint16(lid)) for call, lid in calls]
    gone = verbs.ibv_destroy_qp(qp)
    if any(said) or gone:
        raise Failure(f"attached and detached twice: {said}; the queue pair is destroyed: {gone}")
    verbs.ibv_destroy_cq(ctypes.c_void_p(cq))
    verbs.ibv_dealloc_pd(pd)
    verbs.ibv_close_device(context)


def kernel_memory(group):
    """Returns the bytes of kernel memory charged to a memory cgroup, without page tables."""
    with open(f"{group}/memory.stat") as stat:
        values = dict(line.split() for line in stat)
    return int(values["kernel"]) - int(values["pagetables"])


def settled_kernel_memory(group):
    """Returns the same once it is stable: Linux flushes small changes only every 2 s."""
    last, value = None, kernel_memory(group)
    while value != last:
        time.sleep(2.5)
        last, value = value, kernel_memory(group)
    return value


def charged_for_region(group, pages):
    """Returns the bytes that a region of `pages` entries adds to this process's cgroup. All entries
    are the same page, so that none can be merged."""
    with open(f"{group}/cgroup.procs", "w") as procs:
        procs.write(str(os.getpid()))
    context = Context(name=DEVICE)
    pd = PD(context)
    fd = os.memfd_create("page")
    os.ftruncate(fd, PAGE)
    private, fixed = 0x2 | 0x20 | 0x4000, 0x1 | 0x10  # MAP_PRIVATE, ANONYMOUS, NORESERVE; MAP_SHARED, FIXED
    begin = libc.mmap(None, pages * PAGE, mmap.PROT_READ | mmap.PROT_WRITE, private, -1, 0)
    for n in range(pages):
        if libc.mmap(begin + n * PAGE, PAGE, mmap.PROT_READ | mmap.PROT_WRITE, fixed, fd, 0) == FAILED:
            raise Failure(f"only {n} pages can be mapped")
        ctypes.c_char.from_address(begin + n * PAGE).value = b"x"
    before = settled_kernel_memory(group)
    region = MR(pd, pages * PAGE, e.IBV_ACCESS_LOCAL_WRITE, address=begin)
    added = settled_kernel_memory(group) - before
    region.close()
    return added


def page_lists_are_charged_to_the_process():
    root, pages = "/sys/fs/cgroup", 16384
    if not os.path.exists(f"{root}/cgroup.procs"):
        subprocess.run(["mount", "-t", "cgroup2", "none", root], check=True)
    group = f"{root}/regions"
    with open(f"{root}/cgroup.subtree_control", "w") as control:
        control.write("+memory")
    os.makedirs(group, exist_ok=True)
    added = as_user(0, lambda: charged_for_region(group, pages))
    if added < pages * 8 * 3 // 4:
        raise Failure(f"a list of {pages * 8} bytes was charged as {added}")


def main():
    status = 0
    for case in (zero_based_region_keeps_its_base, huge_pages_are_one_entry_each, rings_are_mapped_shared_and_whole,
                 one_user_does_not_get_all_doorbell_pages, region_numbers_cannot_be_guessed,
                 a_group_with_two_lids_is_left_twice, page_lists_are_charged_to_the_process):
        name = case.__name__.replace("_", " ")
        try:
            case()
            print(f"PASS {name}")
        except Failure as why:
            print(f"FAIL {name}: {why}")
            status = 1
        except Exception as why:  # pylint: disable=broad-except
            traceback.print_exc()
            print(f"FAIL {name}: {type(why).__name__} {why}")
            status = 1
    return status


sys.exit(main())
