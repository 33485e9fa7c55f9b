#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rdma-bench beside perftest where there are many processors: `scripts/bench.sh pairs`.

A group is three processors: of a card, a server and a client; card and server may share one where the server sleeps (WRITE
bandwidth and READ). In each slot half of the groups run one program and half the
other, in the next slot they change, so that whatever happens to the machine in a slot happens to both programs. Runs are
short and many, as most of what differs between two runs of one program (which pages, which addresses) is drawn at its start;
class Pages sees to it that it is.
Prints for each row the median and the geometric mean of the ratios of a group's two neighbouring slots, each with its
standard error. A processor of a shared machine has two speeds (its other thread is somebody else's, or idle) that change
every few seconds: a pair that meets a change moves the mean much and the median little.
"""
import argparse
import json
import math
import mmap
import os
import random
import statistics
import subprocess
import time

# name, perftest's program, options of a short run, column of the table; of a latency less is better
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
    """The number in that column of the last line of perftest's table; None when there is no table."""
    found = None
    for line in text.splitlines():
        words = line.split()
        if len(words) > column and words[0].isdigit():
            found = float(words[column])
    return found


def listens(port):
    """Whether a TCP socket of this machine listens at that port (proc(5): state 0A)."""
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(path, encoding="ascii") as table:
            for line in table:
                words = line.split()
                if words[3] == "0A" and words[1].endswith(f":{port:04X}"):
                    return True
    return False


class Pages:
    """Draws other pages for each run.

    A processor gives the page freed last to who asks next, so a program may get the same ones in each of its runs; where they lie
    would then look like the program's doing.
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


class Group:
    """A card, and the processors of card, server and client."""

    def __init__(self, dingo, name, processors, port):
        self.dingo, self.name, self.processors, self.port = dingo, name, processors, port
        self.pages = Pages()
        subprocess.run([dingo, "card", "start", name], check=True, stdout=subprocess.DEVNULL)
        shown = subprocess.run([dingo, "--json", "card", "show", name], check=True, capture_output=True, text=True).stdout
        subprocess.run(["taskset", "-apc", processors[0], str(json.loads(shown)["pid"])], check=True, stdout=subprocess.DEVNULL)

    def side(self, processor, command):
        return subprocess.Popen(["taskset", "-c", processor, "timeout", "60", self.dingo, "run", "--card", self.name, "--", *command,
                                 "-F", "-p", str(self.port)] + (["127.0.0.1"] if processor == self.processors[2] else []),
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def serve(self, command):
        self.port += 1
        self.pages.draw(self.processors)
        return self.side(self.processors[1], command)

    def ask(self, command):
        """The client, as soon as the server listens."""
        for _ in range(400):
            if listens(self.port):
                break
            time.sleep(0.01)
        return self.side(self.processors[2], command)


def median_and_error(values):
    """The median and, by 500 samples with replacement, its standard error."""
    draw = random.Random(1)
    medians = [statistics.median(draw.choices(values, k=len(values))) for _ in range(500)]
    return statistics.median(values), statistics.stdev(medians)


def measure(groups, row, rdma_bench, seconds):
    """Pairs (perftest, rdma-bench) of one row, of neighbouring slots of one group."""
    name, tool, options, column = row
    pairs = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        first = [random.random() < 0.5 for _ in groups[::2]]
        order = [x for f in first for x in (f, not f)][: len(groups)]  # of two neighbours one starts with each program
        got = [{} for _ in groups]
        for slot in (0, 1):
            running = []
            for group, perftest_first in zip(groups, order):
                program = "perftest" if perftest_first == (slot == 0) else "rdma-bench"
                command = [f"ib_{tool}"] if program == "perftest" else [rdma_bench, tool.replace("_", "-")]
                command += options.split()
                running.append((group, program, command, group.serve(command)))
            clients = [group.ask(command) for group, _, command, _ in running]
            for result, (_, program, _, server), client in zip(got, running, clients):
                result[program] = figure(client.communicate()[0], column)
                server.communicate()
        pairs += [(g["perftest"], g["rdma-bench"]) for g in got if g.get("perftest") and g.get("rdma-bench")]
    return name, pairs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bin", help="folder of dingo and rdma-bench")
    parser.add_argument("--groups", required=True, help='processors, e.g. "1,2,3 5,6,7"')
    parser.add_argument("--seconds", type=float, default=60, help="a row")
    parser.add_argument("--rows", default="", help="only rows whose name has this")
    args = parser.parse_args()
    dingo = os.path.join(args.bin, "dingo")
    groups = [Group(dingo, f"pair{i}", g.split(","), 10000 + 3000 * i) for i, g in enumerate(args.groups.split())]
    try:
        print(f"{'':20} {'perftest':>9} {'rdma-bench':>10} {'median':>7} {'error':>6} {'mean':>7} {'error':>6} {'pairs':>6}"
              "   spread of perftest; of rdma-bench")
        for row in ROWS:
            if args.rows not in row[0]:
                continue
            name, pairs = measure(groups, row, os.path.join(args.bin, "rdma-bench"), args.seconds)
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
        subprocess.run([dingo, "card", "stop", "--all"], check=False, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
