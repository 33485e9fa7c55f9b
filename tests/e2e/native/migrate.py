#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Live migration of a QEMU machine over RDMA, between two kernel-less cards.

usage: migrate.py DINGO SOURCE-CARD DESTINATION-CARD DESTINATION-ADDRESS DIRECTORY PIN-ALL(on|off) QEMU...

The machine runs no guest program: its memory holds a pattern, which must arrive byte for byte.
Prints "migrated N bytes"; otherwise the reason, and exit status 1.
"""

import json
import os
import random
import socket
import subprocess
import sys
import time

MEMORY_MIB = 64
PATTERN_AT = 0x1000000
PATTERN_BYTES = 9 << 20  # and 4101: no multiple of a page or of 1 MiB, the unit in which QEMU registers
PATTERN_BYTES += 4096 + 5
PATIENCE = 90  # seconds for each step


class Machine:
    """A QEMU process with a QMP socket."""

    def __init__(self, dingo, card, directory, name, qemu, *options):
        self.path = os.path.join(directory, name + ".qmp")
        self.log = open(os.path.join(directory, name + ".log"), "wb")
        command = [dingo, "run", "--card", card, "--", *qemu, "-machine", "q35,accel=tcg", "-m", str(MEMORY_MIB),
                   "-display", "none", "-nodefaults", "-S", "-qmp", f"unix:{self.path},server=on,wait=off", *options]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL)
        try:
            self.connect()
        except Exception:
            self.kill()
            raise

    def connect(self):
        deadline = time.monotonic() + PATIENCE
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        while True:
            try:
                self.socket.connect(self.path)
                break
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"{self.path}: QEMU does not listen; see {self.log.name}") from None
                time.sleep(0.1)
        self.lines = self.socket.makefile("r")
        self.lines.readline()  # greeting
        self.ask("qmp_capabilities")

    def ask(self, command, **arguments):
        self.socket.sendall(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
        for line in self.lines:
            answer = json.loads(line)
            if "error" in answer:
                raise RuntimeError(f"{command}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]
        raise RuntimeError(f"{command}: QEMU ended; see {self.log.name}")

    def kill(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def migrate(source, destination, address, pin_all):
    capabilities = [{"capability": "rdma-pin-all", "state": pin_all}]
    for machine in (source, destination):
        machine.ask("migrate-set-capabilities", capabilities=capabilities)
    destination.ask("migrate-incoming", uri=address)
    source.ask("migrate", uri=address)
    deadline = time.monotonic() + PATIENCE
    while True:
        state = source.ask("query-migrate")
        if state.get("status") == "completed":
            return
        if state.get("status") in ("failed", "cancelled") or time.monotonic() > deadline:
            raise RuntimeError(f"migration: {json.dumps(state)}")
        time.sleep(0.1)


def main():
    dingo, source_card, destination_card, address, directory, pin_all = sys.argv[1:7]
    qemu = sys.argv[7:]
    pattern = random.Random(4791).randbytes(PATTERN_BYTES)
    file = os.path.join(directory, "pattern")
    with open(file, "wb") as f:
        f.write(pattern)
    machines = []
    try:
        machines.append(Machine(dingo, destination_card, directory, "destination", qemu, "-incoming", "defer"))
        machines.append(Machine(dingo, source_card, directory, "source", qemu,
                                "-device", f"loader,file={file},addr={PATTERN_AT:#x},force-raw=on"))
        destination, source = machines
        migrate(source, destination, f"rdma:{address}:4444", pin_all == "on")
        arrived = os.path.join(directory, "arrived")
        destination.ask("pmemsave", val=PATTERN_AT, size=PATTERN_BYTES, filename=arrived)
        with open(arrived, "rb") as f:
            if f.read() != pattern:
                raise RuntimeError("the memory at the destination differs")
        print(f"migrated {source.ask('query-migrate')['ram']['transferred']} bytes")
    finally:
        for machine in machines:
            machine.kill()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (RuntimeError, OSError, KeyError) as e:
        print(f"migrate: {e}", file=sys.stderr)
        sys.exit(1)
