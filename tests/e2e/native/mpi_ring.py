#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Open MPI's ranks in a ring: each sends to the next one and compares every byte that it receives.

usage: mpirun -n N mpi_ring.py [ROUNDS]    (needs only libmpi.so.40, neither headers nor mpi4py)
"""
import ctypes
import sys

SIZES = [0, 1, 77, 4096, 65536, 1 << 20]
mpi = ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)
WORLD = ctypes.byref(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world"))
BYTE = ctypes.byref(ctypes.c_char.in_dll(mpi, "ompi_mpi_byte"))


def number(call):
    value = ctypes.c_int()
    call(WORLD, ctypes.byref(value))
    return value.value


def pattern(rank, count, length):
    """Returns `length` bytes that differ from those of other ranks and rounds."""
    unit = bytes((rank * 31 + count * 7 + i * 3) % 251 for i in range(251))
    return (unit * (length // 251 + 1))[:length]


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    mpi.MPI_Init(None, None)
    rank, ranks = number(mpi.MPI_Comm_rank), number(mpi.MPI_Comm_size)
    after, before, right = (rank + 1) % ranks, (rank - 1) % ranks, 0
    for count in range(rounds):
        for length in SIZES:
            out = ctypes.create_string_buffer(pattern(rank, count, length), length + 1)
            into = ctypes.create_string_buffer(length + 1)
            mpi.MPI_Sendrecv(out, length, BYTE, after, 5, into, length, BYTE, before, 5, WORLD, None)
            if into.raw[:length] != pattern(before, count, length):
                sys.exit(f"rank {rank}: round {count}, {length} bytes: they are wrong")
            right += length
    mpi.MPI_Barrier(WORLD)
    print(f"rank {rank} of {ranks}: {right} bytes right", flush=True)
    mpi.MPI_Finalize()


if __name__ == "__main__":
    main()
