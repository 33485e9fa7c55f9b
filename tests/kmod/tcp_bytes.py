#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Sends bytes by TCP and verifies every byte that comes back.

usage: tcp_bytes.py serve PORT
       tcp_bytes.py check HOST PORT BYTES [CONNECTIONS]
serve echoes what each connection sends, IPv4 and IPv6. check prints a line, and exits with status
1, if a byte is wrong or missing.
"""

import random
import socket
import sys
import threading


def serve(port):
    listener = socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)

    def echo(connection):
        with connection:
            while data := connection.recv(1 << 16):
                connection.sendall(data)

    while True:
        threading.Thread(target=echo, args=[listener.accept()[0]], daemon=True).start()


def check(host, port, size, wrong):
    data = random.randbytes(size)
    back = bytearray()
    with socket.create_connection((host, port), 30) as connection:
        connection.settimeout(60)
        sender = threading.Thread(target=connection.sendall, args=[data])
        sender.start()
        while len(back) < size and (part := connection.recv(1 << 16)):
            back += part
        sender.join()
    if back != data:
        at = next((n for n, (a, b) in enumerate(zip(back, data)) if a != b), len(back))
        wrong.append(f"byte {at} of {size} is wrong")


def main():
    if sys.argv[1] == "serve":
        serve(int(sys.argv[2]))
    host, port, size = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    wrong = []
    threads = [threading.Thread(target=check, args=[host, port, size, wrong])
               for _ in range(int(sys.argv[5]) if len(sys.argv) > 5 else 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
