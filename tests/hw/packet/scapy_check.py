#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Decodes every frame of a capture with scapy and prints the fields, one line per frame.

Usage: scapy_check.py CAPTURE
Line: opcode migreq solicited pad pkey fecn becn dqpn ackreq psn icrc
where icrc is the value that scapy computes, as it stands on the wire. Exit 77 without scapy.
"""
import struct
import sys
import zlib

try:
    from scapy.contrib.roce import BTH
    from scapy.layers.inet import IP, UDP
    from scapy.layers.inet6 import IPv6
    from scapy.packet import Raw
    from scapy.utils import rdpcap
except ImportError:
    sys.exit(77)


def icrc_ipv6(frame):
    """Computes the ICRC over IPv6, which scapy 2.5 lacks, from its header layers with the masked
    fields set."""
    ip = IPv6(bytes(frame[IPv6]))
    ip.tc, ip.fl, ip.hlim = 0xFF, 0xFFFFF, 0xFF
    udp = ip[UDP]
    udp.chksum = 0xFFFF
    bth = bytearray(bytes(frame[BTH]))
    bth[4] = 0xFF
    ip[UDP].remove_payload()
    covered = b"\xff" * 8 + bytes(ip / Raw(bytes(bth)))[:-4]
    return struct.pack("<I", zlib.crc32(covered))


def icrc_ipv4(frame):
    """Returns the ICRC that scapy computes when it rebuilds the packet."""
    del frame[BTH].icrc
    return bytes(frame[IP])[-4:]


def main():
    for frame in rdpcap(sys.argv[1]):
        bth = frame[BTH]
        fields = [bth.opcode, bth.migreq, bth.solicited, bth.padcount, bth.pkey, bth.fecn,
                  bth.becn, bth.dqpn, bth.ackreq, bth.psn]
        icrc = icrc_ipv4(frame) if IP in frame else icrc_ipv6(frame)
        print(*fields, icrc.hex())


if __name__ == "__main__":
    main()
