#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Computes the clock rate of simulated cards from two outputs of `dingo --json stats`.

sample NAME SERVER CLIENT UNIT FIGURE ELAPSED_NS BEFORE AFTER   prints one line of JSON: a run, with each card's clock
table                                                           prints medians of such lines
"""

import json
import os
import statistics
import sys


def clocks(path: str) -> dict[str, dict]:
    with open(path, encoding="utf-8") as file:
        return {card["name"]: card["simulation"] for card in json.load(file)}


def sample(name, server, client, unit, figure, elapsed, before_path, after_path) -> dict:
    before, after = clocks(before_path), clocks(after_path)
    cards = {}
    for card, role in {server: "server", client: "client" if server != client else "both"}.items():
        cycles, busy, processor = (
            after[card][key] - before[card][key] for key in ("clock_cycles", "busy_ns", "processor_ns")
        )
        if not busy or not processor:
            sys.exit(f"{name}: card {card} had no work")
        cards[role] = {
            "clock_khz": 1e6 * cycles / busy,
            "clock_khz_of_processor_time": 1e6 * cycles / processor,
            "busy": busy / int(elapsed),
            "cycles": cycles,
        }
    return {"name": name, "unit": unit, "figure": float(figure or 0), "cards": cards}


def median_of(samples: list[dict]) -> dict:
    roles = samples[0]["cards"]
    return {
        "unit": samples[0]["unit"],
        "figure": statistics.median(one["figure"] for one in samples),
        "cards": {
            role: {key: statistics.median(one["cards"][role][key] for one in samples) for key in roles[role]}
            for role in roles
        },
    }


def main() -> int:
    if sys.argv[1] == "sample":
        print(json.dumps(sample(*sys.argv[2:])))
        return 0
    runs: dict[str, list[dict]] = {}
    for line in sys.stdin:
        one = json.loads(line)
        runs.setdefault(one["name"], []).append(one)
    rows = {name: median_of(samples) for name, samples in runs.items()}
    head = f"median of rounds, {os.cpu_count()} cores"
    print(f"{head:<32} {'figure':>10} {'unit':<5} {'card':<7} {'clock kHz':>10} {'on its core':>12} {'busy':>6} {'cycles':>10}")
    for name, row in rows.items():
        figure = f"{row['figure']:.2f}" if row["figure"] else "none"  # perftest did not end in time
        left = f"{name:<32} {figure:>10} {row['unit']:<5}"
        for role, card in row["cards"].items():
            print(
                f"{left:<49} {role:<7} {card['clock_khz']:>10.1f} {card['clock_khz_of_processor_time']:>12.1f} "
                f"{100 * card['busy']:>5.0f}% {card['cycles']:>10.0f}"
            )
            left = ""
    return 0


if __name__ == "__main__":
    sys.exit(main())
