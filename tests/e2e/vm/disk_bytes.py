#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""disk_bytes.py LOG FIRST LAST: sums the bytes that QEMU's NVMe disk moved, from its trace
pci_nvme_map_addr.

Prints the bytes to and from bus addresses FIRST..LAST, and those to and from other addresses.
"""
import re
import sys

MAP = re.compile(r"pci_nvme_map_addr addr (0x[0-9a-f]+) len (\d+)")
first, last = int(sys.argv[2], 16), int(sys.argv[3], 16)
card = host = 0
with open(sys.argv[1], encoding="utf-8", errors="replace") as log:
    for address, length in MAP.findall(log.read()):
        if first <= int(address, 16) <= last:
            card += int(length)
        else:
            host += int(length)
print(f"card {card} host {host}")
