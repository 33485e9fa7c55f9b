#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Clients that punch holes into memory which the card uses, while a neighbour sends WRITEs.

Each hole takes long, as the attacker has mapped the file tens of thousands of times, and the next
access of the card's data thread waits for its end. The attacker may do so once or twice: then its
memory is far, or, where it punched its doorbells, it is cut off. Whether the data thread waits is
taken from the kernel (/proc/PID/task/TID/wchan), not from the card.

usage: tests/e2e/native/punches.py [--mappings 20000] [--build DIR]
A line for each way to punch: PASS or FAIL, its name, and what was seen. Exit status 1 when one
failed.
"""

import argparse
import json
import pathlib
import signal
import subprocess
import sys
import time

import attacks

ROOT = pathlib.Path(__file__).resolve().parents[3]
# What punches, and what the card's log says of it.
WAYS = {"region": "are far memory", "file": "are far memory", "doorbells": "it is cut off"}
# Part of the time in which the data thread may be held once the attacker is known, and how long
# that may take.
MOST_HELD = 0.05
KNOWN_AFTER = 30


def show(cards):
    out = subprocess.run([cards.dingo, "--json", "card", "show", "victim"], env=cards.environment,
                         check=True, capture_output=True, text=True)
    return json.loads(out.stdout)


def data_thread(pid):
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().strip() == "dingo-data":
            return task
    raise RuntimeError("no data thread")


def part_held(thread, seconds):
    """The part of the looks at which the data thread waited in a fault of a file in memory."""
    end = time.monotonic() + seconds
    looks = held = 0
    while time.monotonic() < end:
        held += (thread / "wchan").read_text().startswith("shmem_")
        looks += 1
        time.sleep(0.002)
    return held / looks


def attempt(cards, neighbour, way, mappings):
    """Returns what is wrong, and what was seen."""
    log = pathlib.Path(cards.directory) / "victim" / "log"
    said_before = log.read_text().count(WAYS[way])
    attacker = cards.start([*attacks.LOAD, f"punch-{way}", str(mappings)], "victim",
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        if attacker.stdout.readline().strip() != "punches":
            return "the attacker did not come up", ""
        end = time.monotonic() + KNOWN_AFTER
        while log.read_text().count(WAYS[way]) == said_before and time.monotonic() < end:
            neighbour.measure(100)
        if log.read_text().count(WAYS[way]) == said_before:
            return "the card's log does not name the attacker", ""
        pid = show(cards)["pid"]
        time.sleep(0.5)
        held = part_held(data_thread(pid), 3)
        rate, _ = neighbour.measure(300)
        stats = show(cards)["stats"]
    finally:
        attacks.tell(attacker, signal.SIGKILL)
        attacker.wait()
    seen = f"held {held:.3f} of the time, neighbour {rate} Gb/s, {stats['holds']}"
    if held > MOST_HELD:
        return f"the data thread is still held: {seen}", seen
    if rate == 0:
        return f"the neighbour's WRITEs stand still: {seen}", seen
    if stats["holds"]["held_us"] == 0 or stats["holds"]["offences"] == 0:
        return f"not counted: {seen}", seen
    if way == "doorbells" and len(stats["clients"]) != 1:
        return f"the attacker is still there: {stats['clients']}", seen
    return "", seen


def main():
    parser = argparse.ArgumentParser(usage=__doc__.partition("usage: ")[2])
    parser.add_argument("--mappings", type=int, default=20000)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/bin")
    options = parser.parse_args()
    failed = False
    for way in WAYS:
        with attacks.Cards(options.build, options.build) as cards:
            neighbour = attacks.Neighbour(cards)
            neighbour.measure(100)
            wrong, seen = attempt(cards, neighbour, way, options.mappings)
            print(f"FAIL {way}: {wrong}" if wrong else f"PASS {way}: {seen}", flush=True)
            failed |= bool(wrong)
            neighbour.end()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
