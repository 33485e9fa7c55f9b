#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Measures what a client loses by an attack on its card, compared with an attack on another card.

A neighbour (verbs_load neighbour) sends 64 KiB WRITEs and makes requests. The same attack runs in
turns of --window milliseconds against the neighbour's card and against another card of the machine,
so that the processor time that the attackers take does not count as loss. A case fails if in each
of four tries the median WRITE rate is below 0.9 of that during the attack on the other card, or the
median request takes more than three times as long. Attackers that make the card work get their
share of it: against them the bounds are 0.35 (half, less noise) and ten times.

usage: tests/e2e/native/attacks.py [--attack NAME]... [--turns 5] [--window 300] [--build DIR]
           [--cards DIR]
--cards: directory of the dingo that starts the cards, for example of an AddressSanitizer build.
Prints a line for each attack: PASS or FAIL, its name, and the ratios. Exit status 1 if one failed.
"""

import argparse
import contextlib
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
# Lowest ratio of rates and highest ratio of request times; BOUNDS_WORK for attackers that make the
# card work.
BOUNDS = (0.9, 3.0)
BOUNDS_WORK = (0.35, 10.0)
TRIES = 4

# {run}, {card}, {load} and {directory} (the card's) are filled in by Cards.start().
LOAD = ["{run}", "--card", "{card}", "--", "{load}"]
STRANGER = [sys.executable, str(HERE / "strangers.py")]
ATTACKS = {
    "linger": [*STRANGER, "linger", "{directory}"],
    "crowd": [*STRANGER, "crowd", "{directory}"],
    "gifts": [*STRANGER, "gifts", "{directory}"],
    "garbage": [*STRANGER, "garbage", "{directory}"],
    "kicks": [*STRANGER, "kicks", "{directory}"],
    "waiters": [*LOAD, "wait-with", "200"],
    "regions": [*LOAD, "take-regions"],
    "memory": [*LOAD, "take-memory", "64"],
    "holes": [*LOAD, "punch-region", "20000"],
    "churn": [*LOAD, "churn-for", "3600000"],
    "many-qps": [*LOAD, "flow", "256", "3600000"],
    "small-messages": [*LOAD, "flow", "256", "3600000", "8"],
}

WORK = {"regions", "churn", "many-qps", "small-messages"}


class Cards:
    """Two cards in a process each, in a run directory of their own."""

    def __init__(self, build, cards):
        self.dingo, self.starter = build / "dingo", cards / "dingo"
        self.load = build / "verbs_load"
        self.directory = tempfile.mkdtemp(prefix="dingo-attacks-")
        self.environment = dict(os.environ, DINGO_RUN=self.directory)

    def __enter__(self):
        for name in ("victim", "other"):
            self.call(self.starter, "card", "start", name, "--own-process")
        return self

    def __exit__(self, *_):
        for name in ("victim", "other"):
            with contextlib.suppress(subprocess.CalledProcessError):
                self.call(self.starter, "card", "stop", name)
        subprocess.run(["rm", "-rf", self.directory], check=False)

    def call(self, *words):
        subprocess.run([str(w) for w in words], env=self.environment, check=True,
                       stdout=subprocess.DEVNULL)

    def start(self, words, card, **how):
        """Starts a command of ATTACKS in a process group of its own."""
        places = {"run": self.dingo, "card": card, "load": self.load,
                  "directory": f"{self.directory}/{card}"}
        words = [w.format(**places) for w in words]
        if words[0] == str(self.dingo):
            words.insert(1, "run")
        return subprocess.Popen(words, env=self.environment, start_new_session=True, **how)


def tell(process, what):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, what)


class Neighbour:
    """The process `verbs_load neighbour` on the card victim."""

    def __init__(self, cards):
        self.process = cards.start([*LOAD, "neighbour"], "victim", stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline().strip() != "ready":
            raise RuntimeError("the neighbour did not come up")

    def measure(self, window):
        """Returns the WRITE rate in Gb/s and the median time of a request in us, over `window`
        ms."""
        self.process.stdin.write(f"{window}\n")
        self.process.stdin.flush()
        words = self.process.stdout.readline().split()
        if len(words) != 3:
            raise RuntimeError("the neighbour has failed")
        return float(words[0]), float(words[1])

    def end(self):
        self.process.stdin.close()
        self.process.wait(30)


def compare(cards, neighbour, words, turns, window):
    """Returns the ratios of rate and latency: attack on the neighbour's card to attack on the
    other."""
    attackers = {card: cards.start(words, card, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL) for card in ("other", "victim")}
    found = {card: [] for card in attackers}
    try:
        time.sleep(1)  # the attackers start
        for attacker in attackers.values():
            tell(attacker, signal.SIGSTOP)
        for _ in range(turns):
            for card, attacker in attackers.items():
                tell(attacker, signal.SIGCONT)
                time.sleep(0.05)
                found[card].append(neighbour.measure(window))
                tell(attacker, signal.SIGSTOP)
    finally:
        for attacker in attackers.values():
            tell(attacker, signal.SIGKILL)
            attacker.wait()
    rate, latency = (
        [statistics.median(x[i] for x in found[card]) for card in ("victim", "other")]
        for i in (0, 1))
    return rate[0] / rate[1], latency[0] / max(latency[1], 0.001)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.partition("usage: ")[2])
    parser.add_argument("--attack", action="append", choices=ATTACKS)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--window", type=int, default=300)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/bin")
    parser.add_argument("--cards", type=pathlib.Path)
    options = parser.parse_args()
    failed = False
    with Cards(options.build, options.cards or options.build) as cards:
        neighbour = Neighbour(cards)
        neighbour.measure(options.window)
        for name in options.attack or ATTACKS:
            tries = []
            for _ in range(TRIES):
                tries.append(compare(cards, neighbour, ATTACKS[name], options.turns,
                                     options.window))
                least, most = BOUNDS_WORK if name in WORK else BOUNDS
                good = tries[-1][0] >= least and tries[-1][1] <= most
                if good:
                    break
            said = ", ".join(f"rate {rate:.2f} latency {latency:.2f}" for rate, latency in tries)
            print(f"{'PASS' if good else 'FAIL'} {name}: {said}", flush=True)
            failed |= not good
        neighbour.end()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
