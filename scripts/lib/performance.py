#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Renders docs/performance.md from docs/performance/*.json, and records a benchmark's output in
them.

usage: performance.py render [--write]       prints the page, or writes docs/performance.md
       performance.py record PART            reads the output of `scripts/bench.sh PART` from stdin, writes the figures, this
                                             machine, commit and date to docs/performance/PART.json, and prints that file

A file is one part: title, order, command, machine, commit, date and rows. A part with the key
`with` continues the table of the part that it names. A row has what, measured, unit, goal and limit
(what holds the figure down; "": nothing). A row's match is a regular expression whose groups are
figures in the benchmark's output; format and scale turn them into text. record fails, and changes
nothing, if a row's match is not found.
"""
import datetime
import glob
import json
import os
import re
import subprocess
import sys
import textwrap

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
FOLDER = os.environ.get("DINGO_PERFORMANCE", os.path.join(ROOT, "docs", "performance"))
PAGE = os.path.join(ROOT, "docs", "performance.md")
INTRO = """\
# Performance

Made by `scripts/lib/performance.py render --write` from `docs/performance/*.json`: do not edit.
`scripts/bench.sh --json PART` measures a part and writes its file. Machines are shared: trust
ratios, which come from one run, and instruction and cycle counts, which are exact.
"""


def path_of(part):
    return os.path.join(FOLDER, f"{part}.json")


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def section(parts):
    out = ["", f"## {parts[0]['title']}"]
    for part in parts:
        meta = f"`{part['command']}`: {part['machine']}. Commit {part['commit']}, {part['date']}."
        out += textwrap.wrap(("- " if len(parts) > 1 else "") + meta, 100, subsequent_indent="  " if len(parts) > 1 else "",
                             break_long_words=False, break_on_hyphens=False)
    out += ["", "| what | measured | goal | limit |", "| --- | --- | --- | --- |"]
    for row in (row for part in parts for row in part["rows"]):
        out.append(f"| {row['what']} | {row['measured']} {row['unit']} | {row['goal']} | {row['limit']} |".replace("  ", " "))
    return out


def render():
    named = {os.path.basename(path)[:-5]: load(path) for path in sorted(glob.glob(os.path.join(FOLDER, "*.json")))}
    first = sorted((name for name, part in named.items() if "with" not in part), key=lambda name: named[name]["order"])
    tables = [[named[name], *(part for part in named.values() if part.get("with") == name)] for name in first]
    return INTRO + "\n".join(line for parts in tables for line in section(parts)) + "\n"


def machine():
    """Describes this machine: number and model of its processors, load average."""
    model = "unknown processor"
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = " ".join(line.split(":", 1)[1].split())
                break
    return f"{len(os.sched_getaffinity(0))} processors ({model}), load {os.getloadavg()[0]:.1f}"


def commit():
    def git(*words):
        return subprocess.run(["git", "-C", ROOT, *words], check=True, capture_output=True, text=True).stdout.strip()

    return git("rev-parse", "--short", "HEAD") + (" and changes" if git("status", "--porcelain", "--untracked-files=no") else "")


def record(part, text):
    table = load(path_of(part))
    missing = []
    for row in table["rows"]:
        if "match" not in row:
            continue
        found = re.search(row["match"], text, re.MULTILINE)
        if found:
            row["measured"] = row.get("format", "{0:g}").format(*(float(figure) * row.get("scale", 1) for figure in found.groups()))
        else:
            missing.append(row["what"])
    if missing or not any("match" in row for row in table["rows"]):
        sys.exit(f"performance.py: {part}: no figure for {', '.join(missing) or 'any row'}; {path_of(part)} is as it was")
    table.update(machine=machine(), commit=commit(), date=datetime.date.today().isoformat())
    with open(path_of(part), "w", encoding="utf-8") as file:
        json.dump(table, file, indent=1, ensure_ascii=False)
        file.write("\n")
    print(json.dumps(table, indent=1, ensure_ascii=False))


def main():
    if sys.argv[1:] == ["render"]:
        print(render(), end="")
    elif sys.argv[1:] == ["render", "--write"]:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(render())
    elif len(sys.argv) == 3 and sys.argv[1] == "record" and os.path.exists(path_of(sys.argv[2])):
        record(sys.argv[2], sys.stdin.read())
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
