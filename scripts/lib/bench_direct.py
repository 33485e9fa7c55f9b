#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""usage: bench_direct.py latency|rate|bandwidth FILE.json...

Prints one figure from rdma-bench's JSON results: the median latency in us, or the sum over all
files of million messages per second (rate) or gigabits per second (bandwidth).
"""
import json
import sys


def figure(key, path):
    with open(path, encoding="utf-8") as file:
        entry = json.load(file)["entries"][0]
    if key == "latency":
        return entry["latency"]["percentiles_us"]["50"]
    moved = entry["bandwidth"]
    return moved["messages_per_second"] / 1e6 if key == "rate" else moved["average_bytes_per_second"] * 8e-9


print(sum(figure(sys.argv[1], path) for path in sys.argv[2:]))
