#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Print the frequency of this machine's time-stamp counter in kHz.

An emulated guest reads the host's counter, but calibrates it against an emulated timer, which is
arbitrarily wrong on a busy host. vm.sh passes the measured value to the guest's kernel instead.
"""

import ctypes
import mmap
import time

# rdtsc; shl rdx, 32; or rax, rdx; ret
CODE = b"\x0f\x31\x48\xc1\xe2\x20\x48\x09\xd0\xc3"


def main() -> None:
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(CODE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    rdtsc = ctypes.CFUNCTYPE(ctypes.c_uint64)(address)

    def sample() -> tuple[int, int]:
        """Returns a (counter, nanoseconds) pair: of several tries, the one with the shortest
        reading time."""
        best = None
        for _ in range(200):
            before = time.monotonic_ns()
            counter = rdtsc()
            after = time.monotonic_ns()
            if best is None or after - before < best[0]:
                best = (after - before, counter, (before + after) // 2)
        return best[1], best[2]

    start = sample()
    time.sleep(0.3)
    end = sample()
    print(round((end[0] - start[0]) * 1_000_000 / (end[1] - start[1])))


if __name__ == "__main__":
    main()
