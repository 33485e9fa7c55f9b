#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks the invariant CRC of every RoCE v2 packet of a pcap file (Ethernet, IPv4 or IPv6); InfiniBand specification
annex A17, clause A17.3.3. Independent of Dingo's code: uses zlib's CRC."""

import struct
import sys
import zlib


def frames(path):
    with open(path, "rb") as f:
        magic = f.read(24)
        order = "<" if magic[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
        while head := f.read(16):
            _, _, captured, length = struct.unpack(order + "IIII", head)
            data = f.read(captured)
            if captured == length:
                yield data


def icrc(frame):
    """Returns the frame's (computed, carried) ICRC, or None if it is not RoCE v2."""
    kind = frame[12:14]
    if kind == b"\x08\x00":
        ip = bytearray(frame[14:34])
        total = struct.unpack(">H", ip[2:4])[0]
        udp_at, end = 34, 14 + total
        ip[1] = 0xFF  # type of service
        ip[8] = 0xFF  # time to live
        ip[10:12] = b"\xff\xff"  # header checksum
    elif kind == b"\x86\xdd":
        ip = bytearray(frame[14:54])
        udp_at, end = 54, 54 + struct.unpack(">H", ip[4:6])[0]
        ip[0] |= 0x0F
        ip[1:4] = b"\xff\xff\xff"  # traffic class, flow label
        ip[7] = 0xFF  # hop limit
    else:
        return None
    udp = bytearray(frame[udp_at : udp_at + 8])
    if udp[2:4] != b"\x12\xb7":
        return None
    udp[6:8] = b"\xff\xff"
    rest = bytearray(frame[udp_at + 8 : end - 4])
    rest[4] = 0xFF  # FECN, BECN, reserved
    crc = zlib.crc32(b"\xff" * 8 + bytes(ip) + bytes(udp) + bytes(rest))
    return crc, struct.unpack("<I", frame[end - 4 : end])[0]


def main():
    results = [r for r in map(icrc, frames(sys.argv[1])) if r]
    wrong = sum(a != b for a, b in results)
    print(f"{len(results)} packets, {wrong} wrong")
    return 1 if wrong or not results else 0


if __name__ == "__main__":
    sys.exit(main())
