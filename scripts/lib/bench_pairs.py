#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares rdma-bench with perftest on a machine with many processors (`scripts/bench.sh pairs`).
With --against: compares perftest on cards of an earlier build with perftest on cards of this one.

A group is three processors, one each for a card, a server and a client; card and server may share
one where the server sleeps (WRITE bandwidth and READ). In each slot, half of the groups run one
program and half the other; in the next slot they swap, so that a disturbance of the machine hits
both programs alike. Runs are short and many, because most of the difference between two runs of one
program (which pages, which addresses) is settled at its start; class Pages randomises the pages.
Prints for each row the median and the geometric mean of the ratios of a group's two neighbouring
slots, each with its standard error. A processor of a shared machine has two speeds (its sibling
hyperthread is busy or idle) that change every few seconds: a pair that meets a change moves the
mean much and the median little.
"""
import argparse
import json
import math
import mmap
import os
import random
import shutil
import statistics
import subprocess
import tempfile
import time

# name, perftest's program without "ib_", options of a short run, column of the table
ROWS = [
    ("WRITE 64 KiB", "write_bw", "-s 65536 -n 60000 --report_gbits", 3),
    ("READ 64 KiB", "read_bw", "-s 65536 -n 60000 --report_gbits", 3),
    ("SEND 64 KiB", "send_bw", "-s 65536 -n 60000 --report_gbits", 3),
    ("WRITE 64 B", "write_bw", "-s 64 -n 500000", 4),
    ("SEND 64 B", "send_bw", "-s 64 -n 400000", 4),
    ("READ 64 B", "read_bw", "-s 64 -n 300000", 4),
    ("WRITE latency 8 B", "write_lat", "-s 8 -n 100000 -I 0", 4),
    ("SEND latency 8 B", "send_lat", "-s 8 -n 100000 -I 0", 4),
    ("READ latency 8 B", "read_lat", "-s 8 -n 100000", 4),
]


def figure(text, column):
    """Returns the number in that column of the last row of perftest's table; None when there is no
    table."""
    found = None
    for line in text.splitlines():
        words = line.split()
        if len(words) > column and words[0].isdigit():
            found = float(words[column])
    return found


def listens(port):
    """Returns True if a TCP socket of this machine listens at that port (proc(5): state 0A)."""
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(path, encoding="ascii") as table:
            for line in table:
                words = line.split()
                if words[3] == "0A" and words[1].endswith(f":{port:04X}"):
                    return True
    return False


class Pages:
    """Makes each run get other physical pages.

    The kernel hands out a processor's most recently freed page first, so a program may get the same
    pages in each of its runs; an effect of their placement would then look like one of the program.
    """

    MOST = 512

    def __init__(self):
        self.held = {}

    def draw(self, processors):
        before = os.sched_getaffinity(0)
        for processor in processors:
            held = self.held.setdefault(processor, [])
            os.sched_setaffinity(0, {int(processor)})
            held.append(mmap.mmap(-1, random.randint(1, self.MOST) * mmap.PAGESIZE))
            for at in range(0, len(held[-1]), mmap.PAGESIZE):
                held[-1][at] = 1
            if len(held) > 4:
                held.pop(random.randrange(4)).close()
        os.sched_setaffinity(0, before)


class Contestant:
    """One of the two programs or builds that are compared: its name, its build, and its command for
    a row."""

    def __init__(self, name, folder, run, rdma_bench=False):
        self.name, self.dingo = name, os.path.join(folder, "dingo")
        self.rdma_bench = os.path.join(folder, "rdma-bench") if rdma_bench else None
        self.environment = dict(os.environ, DINGO_RUN=run)

    def command(self, tool, options):
        return ([self.rdma_bench, tool.replace("_", "-")] if self.rdma_bench else [f"ib_{tool}"]) + options.split()

    def run(self, *command):
        return subprocess.run([self.dingo, *command], check=True, capture_output=True, text=True, env=self.environment).stdout

    def start_card(self, name, processor):
        self.run("card", "start", name)
        pid = json.loads(self.run("--json", "card", "show", name))["pid"]
        subprocess.run(["taskset", "-apc", processor, str(pid)], check=True, stdout=subprocess.DEVNULL)

    def stop_cards(self):
        self.run("card", "stop", "--all")


def owners(contestants):
    """One contestant for each set of cards (DINGO_RUN); it starts and stops them."""
    return {c.environment["DINGO_RUN"]: c for c in contestants}.values()


class Group:
    """The processors of a card, a server and a client, and the cards that run there, one for each
    build."""

    def __init__(self, contestants, name, processors, port):
        self.name, self.processors, self.port = name, processors, port
        self.pages = Pages()
        for who in owners(contestants):
            who.start_card(name, processors[0])

    def side(self, processor, who, command):
        return subprocess.Popen(["taskset", "-c", processor, "timeout", "60", who.dingo, "run", "--card", self.name, "--", *command,
                                 "-F", "-p", str(self.port)] + (["127.0.0.1"] if processor == self.processors[2] else []),
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=who.environment)

    def serve(self, who, command):
        self.port += 1
        self.pages.draw(self.processors)
        return self.side(self.processors[1], who, command)

    def ask(self, who, command):
        """Starts the client as soon as the server listens, or after 4 s."""
        for _ in range(400):
            if listens(self.port):
                break
            time.sleep(0.01)
        return self.side(self.processors[2], who, command)


def median_and_error(values):
    """Returns the median and its standard error, by 500 bootstrap samples."""
    draw = random.Random(1)
    medians = [statistics.median(draw.choices(values, k=len(values))) for _ in range(500)]
    return statistics.median(values), statistics.stdev(medians)


def measure(groups, contestants, row, seconds):
    """Returns one row's name and its pairs of figures (first contestant, second), each from two
    neighbouring slots of one group."""
    name, tool, options, column = row
    one, other = contestants
    pairs = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        first = [random.random() < 0.5 for _ in groups[::2]]
        # One of each two neighbouring groups starts with `one`.
        order = [x for f in first for x in (f, not f)][: len(groups)]
        got = [{} for _ in groups]
        for slot in (0, 1):
            running = []
            for group, begins in zip(groups, order):
                who = one if begins == (slot == 0) else other
                command = who.command(tool, options)
                running.append((group, who, command, group.serve(who, command)))
            clients = [group.ask(who, command) for group, who, command, _ in running]
            for result, (_, who, _, server), client in zip(got, running, clients):
                result[who.name] = figure(client.communicate()[0], column)
                server.communicate()
        pairs += [(g[one.name], g[other.name]) for g in got if g.get(one.name) and g.get(other.name)]
    return name, pairs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bin", help="folder of dingo and rdma-bench")
    parser.add_argument("--against", help="folder of an earlier build: perftest on its cards and on these, instead of rdma-bench")
    parser.add_argument("--groups", required=True, help='processors, e.g. "1,2,3 5,6,7"')
    parser.add_argument("--seconds", type=float, default=60, help="a row")
    parser.add_argument("--rows", default="", help="only rows whose name has this")
    args = parser.parse_args()
    run = tempfile.mkdtemp(prefix="dingo-pairs-")
    if args.against:  # the cards of two builds do not see each other
        contestants = (Contestant("before", args.against, run + "/before"), Contestant("now", args.bin, run + "/now"))
    else:
        contestants = (Contestant("perftest", args.bin, run), Contestant("rdma-bench", args.bin, run, rdma_bench=True))
    one, other = contestants
    try:
        groups = [Group(contestants, f"pair{i}", g.split(","), 10000 + 3000 * i) for i, g in enumerate(args.groups.split())]
        print(f"{'':20} {one.name:>9} {other.name:>10} {'median':>7} {'error':>6} {'mean':>7} {'error':>6} {'pairs':>6}"
              f"   spread of {one.name}; of {other.name}")
        for row in ROWS:
            if args.rows not in row[0]:
                continue
            name, pairs = measure(groups, contestants, row, args.seconds)
            if len(pairs) < 2:
                print(f"{name:20} no figures")
                continue
            logs = [math.log(ours / theirs) for theirs, ours in pairs]
            ratio = math.exp(statistics.mean(logs))
            error = ratio * statistics.stdev(logs) / math.sqrt(len(logs))
            median, median_error = median_and_error([ours / theirs for theirs, ours in pairs])
            a, b = zip(*pairs)
            print(f"{name:20} {statistics.mean(a):9.4g} {statistics.mean(b):10.4g} {median:7.3f} {median_error:6.3f} {ratio:7.3f} {error:6.3f}"
                  f" {len(pairs):6}"
                  f"   {min(a):.3g} to {max(a):.3g}; {min(b):.3g} to {max(b):.3g}", flush=True)
    finally:
        for who in owners(contestants):
            who.stop_cards()
        shutil.rmtree(run, ignore_errors=True)


if __name__ == "__main__":
    main()
