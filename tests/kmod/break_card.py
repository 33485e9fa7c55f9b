#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Breaks a card's admin queue by writing the card's registers without the driver's knowledge.

usage: break_card.py RESOURCE CONTRACT silent|unreadable|resets

RESOURCE is the sysfs file of the register BAR (.../resource0; the kernel must run with
iomem=relaxed while a driver is bound), CONTRACT the header dingo_hw.h. `silent` turns the queue
off: the next command gets no answer. `unreadable` moves the queue to an address without memory and
rings the doorbell: the card gets a bus error and sets STATUS.FATAL. `resets` breaks nothing, but
prints how often the card was reset.
"""
import ctypes
import mmap
import os
import re
import sys

NO_MEMORY = 0x00F0_0000_0000_0000  # far above any machine's memory


def registers(header):
    found = re.findall(r"#define DINGO_REG_(\w+) (0x[0-9a-f]+|\d+)", open(header).read())
    return {name: int(value, 0) for name, value in found}


def main():
    resource, header, how = sys.argv[1:]
    where = registers(header)
    file = os.open(resource, os.O_RDWR | os.O_SYNC)
    bar = mmap.mmap(file, 4096)

    def word(name, size=ctypes.c_uint32):
        return size.from_buffer(bar, where[name])

    if how == "resets":
        print(word("RESETS").value)
        return
    control = word("AQ_CTRL").value
    word("AQ_CTRL").value = 0
    if how == "unreadable":
        word("ASQ_BASE", ctypes.c_uint64).value = NO_MEMORY
        word("AQ_CTRL").value = control  # latches the base address, zeroes the indices
        word("ASQ_DB").value = 1
    elif how != "silent":
        sys.exit(f"break_card.py: no way to break a card is called '{how}'")


main()
