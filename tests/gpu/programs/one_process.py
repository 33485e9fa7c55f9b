#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""One process with all GPUs: NCCL communicators in a thread each, by CuPy. Results are checked."""
import sys
import threading

import cupy
from cupy.cuda import nccl

count = cupy.cuda.runtime.getDeviceCount()
name = nccl.get_unique_id()
errors = []


def rank(number):
    try:
        with cupy.cuda.Device(number):
            communicator = nccl.NcclCommunicator(count, name, number)
            for size in (1, 1000, 1 << 20):
                data = cupy.arange(size, dtype=cupy.float32) % 8191 + number
                result = cupy.empty_like(data)
                communicator.allReduce(data.data.ptr, result.data.ptr, size, nccl.NCCL_FLOAT32, nccl.NCCL_SUM, cupy.cuda.Stream.null.ptr)
                cupy.cuda.Stream.null.synchronize()
                expected = count * (cupy.arange(size, dtype=cupy.float32) % 8191) + count * (count - 1) // 2
                if not bool((result == expected).all()):
                    errors.append(f"rank {number}: {size} floats are wrong")
    except Exception as error:  # pylint: disable=broad-except  # reported by the main thread
        errors.append(f"rank {number}: {error}")


threads = [threading.Thread(target=rank, args=(number,)) for number in range(count)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if errors:
    sys.exit("\n".join(errors))
print(f"{count} GPUs of one process: every sum is right")
