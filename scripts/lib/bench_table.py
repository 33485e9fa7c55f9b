#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Reads NAME|UNIT|FIGURE lines, prints medians with ratios to the TCP row of the same unit."""

import os
import statistics
import sys

TCP = {"Gb/s": "iperf3, one TCP stream over loopback", "us": "qperf tcp_lat"}


def main() -> int:
    rows: dict[str, dict] = {}
    for line in sys.stdin:
        name, unit, figure = line.rstrip("\n").split("|")
        row = rows.setdefault(name, {"unit": unit, "figures": []})
        row["figures"].append(float(figure or 0))
    for row in rows.values():
        row["median"] = statistics.median(row["figures"])
    for name, row in rows.items():
        base = rows.get(TCP.get(row["unit"], ""))
        if base and base is not row and base["median"]:
            row["ratio_to_tcp"] = row["median"] / base["median"]
    print(f"{'median of rounds, ' + str(os.cpu_count()) + ' cores':<46} {'figure':>10} {'unit':<8} {'to TCP':>8}")
    for name, row in rows.items():
        ratio = f"{row['ratio_to_tcp']:.2f}" if "ratio_to_tcp" in row else ""
        print(f"{name:<46} {row['median']:>10.2f} {row['unit']:<8} {ratio:>8}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
