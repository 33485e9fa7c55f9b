#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes garbage into the memory that two programs on the direct road share: the pages of their
QPs.

usage: scribble.py PID PID SECONDS [SEED]"""
import os
import random
import struct
import sys
import time

PAGE = 4096
# Layout of a page (hw/host/uverbs/direct_abi.h): bytes before its receives, bytes of a receive, and
# the number of receives to scribble on.
HEAD, DONE, RECEIVES = 448, 16, 64
EVIL = [0, 1, 2, 3, 7, 8, 24, 31, 32, 255, 4095, 4096, 1 << 16, 1 << 24, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF]


def pages(pid):
    """Returns {(inode, offset): address} of the pages that the process maps shared and writable."""
    found = {}
    with open(f"/proc/{pid}/maps") as maps:
        for line in maps:
            where, rights, offset, _, inode, *name = line.split(None, 5)
            if rights[:2] + rights[3] != "rws" or not name or "memfd:dingo-queue" not in name[0]:
                continue
            start, end = (int(x, 16) for x in where.split("-"))
            for at in range(start, end, PAGE):
                found[int(inode), int(offset, 16) + at - start] = at
    return found


def main():
    pids, seconds = sys.argv[1:3], float(sys.argv[3])
    rand = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    for _ in range(30):  # the programs share pages from one of their first requests on
        ours, theirs = pages(pids[0]), pages(pids[1])
        common = [ours[key] for key in ours if key in theirs]
        if common:
            break
        time.sleep(0.1)
    if not common:
        sys.exit("no page is shared")
    memory = os.open(f"/proc/{pids[0]}/mem", os.O_RDWR)
    end, writes = time.monotonic() + seconds, 0
    try:
        while time.monotonic() < end:
            at = rand.choice(common)
            kind = rand.random()
            if kind < 0.3:  # any word
                at += rand.randrange(0, HEAD + DONE * RECEIVES, 4)
                data = struct.pack("<I", rand.choice([*EVIL, rand.getrandbits(32)]))
            elif kind < 0.6:  # changes a word by a little
                at += rand.randrange(0, HEAD + DONE * RECEIVES, 4)
                now = struct.unpack("<I", os.pread(memory, 4, at))[0]
                data = struct.pack("<I", now + rand.choice([-4096, -256, -2, -1, 1, 2, 16, 256, 4096]) & 0xFFFFFFFF)
            else:  # the completion of a receive
                at += HEAD + DONE * rand.randrange(RECEIVES)
                now = struct.unpack("<I", os.pread(memory, 4, at))[0]
                data = struct.pack("<IIII", now + rand.choice([0, 0, 1, RECEIVES]) & 0xFFFFFFFF, rand.choice(EVIL), 0,
                                   rand.choice([*range(8), 0xFFFFFFFF]))
            os.pwrite(memory, data, at)
            writes += 1
            if writes % 64 == 0:
                time.sleep(0.0005)
    except (OSError, struct.error):
        pass  # the program has exited
    print(writes, "words written on", len(common), "pages")


if __name__ == "__main__":
    main()
