#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Looks for stalls: short runs between two cards, beside processes that burn processor time.

Each group has two cards (one process, or a process each), runs rdma-bench pairs in turn and
watches the cards' counters. A run in which no message moves for --still seconds is reported with
the cards' statistics and the state of each of their threads. Exit status 1 when there was one.

usage: tests/e2e/native/soak.py [--seconds 60] [--groups 1] [--processors 2] [--burners 3] [--still 6]
           [--faults SPEC] [--test 'write-bw -q 64 ...']... [--build DIR] [--cards DIR]
           [--no-one-process]
Group g is bound to the processors g * N to g * N + N - 1 (--processors N). Needs build/bin.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
TESTS = (
    ["read-lat", "-D", "1"],
    ["write-bw", "-D", "1", "--verify"],
    ["send-lat", "-D", "1"],
    ["write-bw", "-D", "1", "-s", "8"],
    ["read-bw", "-D", "1", "-q", "4"],
)
print_lock = threading.Lock()


def say(text):
    with print_lock:
        print(text, flush=True)


def threads_of(pid):
    lines = []
    for task in sorted(pathlib.Path(f"/proc/{pid}/task").iterdir()):
        try:
            stat = (task / "stat").read_text().rsplit(")", 1)[1].split()
            name = (task / "comm").read_text().strip()
            where = (task / "wchan").read_text()
            call = (task / "syscall").read_text().split()[:1]
        except OSError:
            continue
        lines.append(f"  {pid}/{task.name} {name}: {stat[0]} in {where} syscall {call}, "
                     f"ticks {stat[11]}+{stat[12]}")
    return lines


class Group:
    """Two cards and the programs on them, bound to their own processors."""

    def __init__(self, number, options):
        self.number = number
        self.options = options
        self.bin = options.build / "bin"
        self.cards = (options.cards or options.build) / "bin"
        self.tests = [t.split() for t in options.test] or TESTS
        first = number * options.processors
        self.processors = set(range(first, first + options.processors))
        self.directory = tempfile.mkdtemp(prefix="dingo-soak-")
        self.environment = {**os.environ, "DINGO_RUN": self.directory}
        self.runs = self.still = self.failed = 0
        self.burners = []

    def start(self, *command, **more):
        return subprocess.Popen([str(c) for c in command], env=self.environment,
                                preexec_fn=lambda: os.sched_setaffinity(0, self.processors), **more)

    def call(self, *command):
        return self.start(*command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True).communicate()[0]

    def counters(self):
        return self.call(self.bin / "dingo", "--json", "stats")

    def moved(self):
        try:
            return sum(card["wire"]["tx_frames"] for card in json.loads(self.counters()))
        except (ValueError, KeyError, TypeError):
            return -1

    def pair(self, test):
        log = tempfile.TemporaryFile("w+")
        run = self.start(self.bin / "dingo", "pair", "a", "b", "--", self.bin / "rdma-bench", *test, "-p",
                         18600 + self.number, stdout=log, stderr=log)
        last, since, told = -2, time.monotonic(), False
        while run.poll() is None:
            time.sleep(0.5)
            now = self.moved()
            if now != last:
                last, since = now, time.monotonic()
            elif not told and time.monotonic() - since > self.options.still:
                told = True
                self.still += 1
                self.report(test)
        self.runs += 1
        if run.returncode:
            self.failed += 1
            log.seek(0)
            say(f"group {self.number}: {test} failed: {log.read()[-1500:]}")
        elif told:
            say(f"group {self.number}: it went on after {time.monotonic() - since:.1f} s")

    def report(self, test):
        lines = [f"STILL group {self.number}: {' '.join(test)}, run {self.runs}"]
        try:
            cards = json.loads(self.counters())
            for pid in {card["process"]["pid"] for card in cards} | {
                    client["pid"] for card in cards for client in card["clients"]}:
                lines += threads_of(pid)
            lines.append(json.dumps(cards))
        except (ValueError, KeyError, TypeError, OSError) as error:
            lines.append(f"no statistics: {error}")
        say("\n".join(lines))

    def soak(self, end):
        process = "--one-process" if self.options.one_process else "--own-process"
        faults = ["--faults", self.options.faults] if self.options.faults else []
        for card in ("a", "b"):
            said = self.call(self.cards / "dingo", "card", "start", card, process, "--wire",
                             f"shm:soak-{os.getpid()}-{self.number}", *faults)
            if "runs:" not in said:
                say(f"group {self.number}: {said}")
                self.failed += 1
                return
        for _ in range(self.options.burners):
            self.burners.append(self.start(sys.executable, "-c", "while True: pass"))
        try:
            while time.monotonic() < end:
                self.pair(self.tests[self.runs % len(self.tests)])
        finally:
            for burner in self.burners:
                burner.kill()
                burner.wait()
            for card in ("a", "b"):
                self.call(self.bin / "dingo", "card", "stop", card)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--groups", type=int, default=1)
    parser.add_argument("--processors", type=int, default=2)
    parser.add_argument("--burners", type=int, default=3)
    parser.add_argument("--still", type=float, default=6)
    parser.add_argument("--faults", default="")
    parser.add_argument("--test", action="append", default=[])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--cards", type=pathlib.Path, help="a build whose cards are taken")
    parser.add_argument("--one-process", action=argparse.BooleanOptionalAction, default=True)
    options = parser.parse_args()
    groups = [Group(n, options) for n in range(options.groups)]
    end = time.monotonic() + options.seconds
    threads = [threading.Thread(target=g.soak, args=(end,)) for g in groups]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    runs, still, failed = (sum(getattr(g, key) for g in groups) for key in ("runs", "still", "failed"))
    say(f"{runs} runs, {still} stood still for {options.still} s, {failed} failed")
    return 1 if still or failed else 0


if __name__ == "__main__":
    sys.exit(main())
