#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Clients of one card start, attack, are stopped, continued and killed, in an order given by a
seed.

Meanwhile a neighbour's WRITEs and requests must not fail. Afterwards the card must have as many
descriptors and mappings as before, hardly more memory and no objects, and must serve honest
clients.

usage: tests/e2e/native/clients.py [--seed N] [--seeds COUNT] [--seconds 10] [--clients 12]
           [--build DIR] [--cards DIR]
--seeds 6 takes a minute; --clients 64 --seconds 3600 is a soak test.
Prints a line for each seed: PASS or FAIL. Exit status 1 if one failed.
"""

import argparse
import json
import pathlib
import random
import signal
import subprocess
import sys
import time

from attacks import ATTACKS, LOAD, ROOT, Cards, Neighbour, tell

HONEST = {
    "many": [*LOAD, "many", "2", "8"],
    "threads": [*LOAD, "threads", "2"],
    "events": [*LOAD, "events"],
    "hold": [*LOAD, "hold", "rts"],
    "stream": [*LOAD, "stream"],
}
# Without attacks that fill the machine's memory or take all connections; attacks.py has those.
COMMANDS = HONEST | {k: v for k, v in ATTACKS.items() if k not in ("crowd", "many-qps")}
# Threads that close and unmap stay (hw/base/elsewhere.h). Each has a stack and a heap, and the C
# library keeps some of those of exited threads. All memory of clients is mapped from files.
THREADS = 64 + 1
MAPPINGS_OF_THREAD = 4
SETTLES = 30  # seconds within which a card has let go of all that its clients had
MOST_MORE = {"descriptors": 0, "threads": THREADS, "mappings of files": 2,
             "other mappings": MAPPINGS_OF_THREAD * THREADS, "rss_kb": 32 * 1024}


class Card:
    """The process of the card victim, seen from outside."""

    def __init__(self, cards):
        self.cards = cards
        info = json.loads(pathlib.Path(cards.directory, "victim/card.json").read_text())
        self.proc = pathlib.Path(f"/proc/{info['pid']}")

    def stats(self):
        done = subprocess.run([str(self.cards.dingo), "--json", "stats", "victim"], check=True,
                              env=self.cards.environment, capture_output=True, text=True)
        return json.loads(done.stdout)[0]

    def usage(self):
        status = dict(line.split(":", 1) for line in
                      (self.proc / "status").read_text().splitlines())
        inodes = [line.split()[4] for line in (self.proc / "maps").read_text().splitlines()]
        return {"descriptors": len(list((self.proc / "fd").iterdir())),
                "mappings of files": len(inodes) - inodes.count("0"),
                "other mappings": inodes.count("0"),
                "threads": int(status["Threads"]),
                "rss_kb": int(status["VmRSS"].split()[0])}

    def settled(self, clients, before=None):
        """Waits until the card has at most `clients` clients and has closed and unmapped what the
        others left. Returns its usage, which may still exceed `before`; None if clients are
        left."""
        usage = None
        end = time.monotonic() + SETTLES
        while time.monotonic() < end:
            stats = self.stats()
            if len(stats["clients"]) <= clients and stats["quotas"]["client"]["used"] <= clients:
                time.sleep(0.3)
                usage = self.usage()
                if before is None or not differences(before, usage):
                    break
            time.sleep(0.05)
        return usage


def differences(before, after):
    return [f"{what} {was} -> {after[what]}" for what, was in before.items()
            if after[what] > was + MOST_MORE[what]]


def play(cards, rng, seconds, most):
    """Lets clients act for `seconds`; returns how often each action was done."""
    there, counts = [], {}
    neighbour = Neighbour(cards)
    end = time.monotonic() + seconds

    def count(what):
        counts[what] = counts.get(what, 0) + 1

    try:
        while time.monotonic() < end:
            what = rng.choices(["start", "kill", "stop", "go", "look"], [5, 3, 1, 1, 1])[0]
            if what == "start" and len(there) < most:
                name = rng.choice(list(COMMANDS))
                there.append(cards.start(COMMANDS[name], "victim", stdout=subprocess.DEVNULL,
                                         stderr=subprocess.DEVNULL))
                count(name)
            elif what == "kill" and there:
                victim = there.pop(rng.randrange(len(there)))
                tell(victim, signal.SIGKILL)
                victim.wait()
                count("kill")
            elif what in ("stop", "go") and there:
                tell(rng.choice(there), signal.SIGSTOP if what == "stop" else signal.SIGCONT)
                count(what)
            elif what == "look":
                neighbour.measure(20)
                count(what)
            time.sleep(rng.random() * 0.1)
            gone = [process for process in there if process.poll() is not None]
            there = [process for process in there if process not in gone]
            for process in gone:
                tell(process, signal.SIGKILL)  # processes that it has left in its group
    finally:
        for process in there:
            tell(process, signal.SIGKILL)
            process.wait()
    neighbour.measure(50)
    neighbour.end()
    return counts


def run(cards, seed, options):
    card = Card(cards)
    honest(cards)  # the first client makes the card allocate what it keeps
    before = card.settled(0)
    counts = play(cards, random.Random(seed), options.seconds, options.clients)
    after = card.settled(0, before)
    if after is None:
        return ["clients are left"], counts
    wrong = differences(before, after)
    if any("mappings" in text for text in wrong):
        print((card.proc / "maps").read_text())
    if card.stats()["qps"]:
        wrong.append("queue pairs are left")
    honest(cards)
    return wrong, counts


def honest(cards):
    for name in ("many", "threads"):
        process = cards.start(HONEST[name], "victim", stdout=subprocess.DEVNULL)
        if process.wait(60) != 0:
            raise RuntimeError(f"an honest client failed: {name}")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.partition("usage: ")[2])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--clients", type=int, default=12)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/bin")
    parser.add_argument("--cards", type=pathlib.Path)
    options = parser.parse_args()
    failed = False
    for seed in range(options.seed, options.seed + options.seeds):
        with Cards(options.build, options.cards or options.build) as cards:
            try:
                wrong, counts = run(cards, seed, options)
            except RuntimeError as error:
                wrong, counts = [str(error)], {}
        said = ", ".join(wrong) or " ".join(f"{k} {v}" for k, v in sorted(counts.items()))
        print(f"{'FAIL' if wrong else 'PASS'} seed-{seed}: {said}", flush=True)
        failed |= bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
