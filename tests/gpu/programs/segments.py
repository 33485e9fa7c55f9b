#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Registers tensors in PyTorch's expandable segments, which consist of many allocations, as memory
regions of the first RDMA device.

usage: dingo run -- python3 tests/gpu/programs/segments.py
"""
import ctypes
import os
import sys

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
import torch

verbs = ctypes.CDLL("libibverbs.so.1", use_errno=True)
cuda = ctypes.CDLL("libcuda.so.1")
for name in ("ibv_get_device_list", "ibv_open_device", "ibv_alloc_pd", "ibv_reg_mr", "ibv_reg_dmabuf_mr"):
    getattr(verbs, name).restype = ctypes.c_void_p
LOCAL_AND_REMOTE = 7  # IBV_ACCESS_LOCAL_WRITE, _REMOTE_WRITE, _REMOTE_READ


def need(mr, what):
    if not mr:
        sys.exit(f"{what}: {os.strerror(ctypes.get_errno())}")
    if verbs.ibv_dereg_mr(ctypes.c_void_p(mr)) != 0:
        sys.exit(f"{what}: ibv_dereg_mr failed")


def by_address(pd, at, size):
    need(verbs.ibv_reg_mr(pd, ctypes.c_void_p(at), ctypes.c_size_t(size), LOCAL_AND_REMOTE), f"ibv_reg_mr of {size} bytes")


def by_dmabuf(pd, at, size):
    page = os.sysconf("SC_PAGESIZE")
    start, end = at // page * page, (at + size + page - 1) // page * page
    fd = ctypes.c_int(-1)
    if cuda.cuMemGetHandleForAddressRange(ctypes.byref(fd), ctypes.c_uint64(start), ctypes.c_size_t(end - start), 1, ctypes.c_uint64(0)):
        sys.exit("no DMABuf")
    mr = verbs.ibv_reg_dmabuf_mr(pd, ctypes.c_uint64(at - start), ctypes.c_size_t(size), ctypes.c_uint64(at), fd, LOCAL_AND_REMOTE)
    os.close(fd.value)
    need(mr, f"ibv_reg_dmabuf_mr of {size} bytes")


def main():
    devices = ctypes.cast(verbs.ibv_get_device_list(None), ctypes.POINTER(ctypes.c_void_p))
    context = ctypes.c_void_p(verbs.ibv_open_device(ctypes.c_void_p(devices[0])))
    pd = ctypes.c_void_p(verbs.ibv_alloc_pd(context))
    mib = 1 << 20
    tensors = [torch.zeros(size, dtype=torch.uint8, device="cuda") for size in (mib, 5 * mib, 100 * mib + 8, 3000 * mib)]
    for tensor in tensors:
        for register in (by_address, by_dmabuf):
            register(pd, tensor.data_ptr(), tensor.numel())
            register(pd, tensor.data_ptr() + tensor.numel() // 3, tensor.numel() // 2)
    print(f"{len(tensors)} tensors are registered")


main()
