#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Sends RoCE v2 frames with the addresses of a tunnel's ends outside the tunnel. Their ICRC is
wrong, so that a card that receives them counts them.
usage: past_tunnel.py INTERFACE MAC SOURCE DESTINATION"""

import socket
import struct
import sys

ROCE_PORT = 4791


def checksum(header):
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def main():
    interface, mac, source, destination = sys.argv[1:]
    bth = struct.pack(">BBHII", 0x11, 0x40, 0xFFFF, 1, 1) + struct.pack(">II", 0, 0xDEADBEEF)
    length = 8 + len(bth)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + length, 0, 0x4000, 64, 17, 0, socket.inet_aton(source), socket.inet_aton(destination))
    ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
    frame = bytes.fromhex(mac.strip().replace(":", "")) + b"\x02\0\0\0\0\x01" + b"\x08\x00" + ip + struct.pack(">HHHH", ROCE_PORT, ROCE_PORT, length, 0) + bth
    sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sender.bind((interface, 0))
    for _ in range(20):
        sender.send(frame)


if __name__ == "__main__":
    main()
