#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Table of the lines, branches and bits of the SystemVerilog card that tests reach, module by module.

usage: tests/hw/rtl/coverage.py FILE...          FILE: what Verilator's coverage writes (.gz too); counts are added up
       tests/hw/rtl/coverage.py --missed FILE... the points never reached instead, one a line: file:line kind what
A point of a module that the card has several times counts once: reached in any of them.
"""
import collections
import gzip
import os
import sys


def points(path):
    """Yield (file, line, column, page, comment), count for each point of FILE."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8", errors="replace") as file:
        for line in file:
            if not line.startswith("C '"):
                continue
            key, count = line[3:].rsplit("' ", 1)
            fields = dict(part.split("\x02", 1) for part in key.split("\x01") if "\x02" in part)
            page = fields["page"].split("/")[0].removeprefix("v_")
            yield (fields["f"], int(fields["l"]), fields.get("n", "0"), page, fields.get("o", "")), int(count)


def share(hit, total):
    return f"{100 * hit / total:.1f} % of {total}" if total else ""


def main(arguments):
    missed = arguments[:1] == ["--missed"]
    files = arguments[1:] if missed else arguments
    if not files:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    counts = collections.Counter()
    for path in files:
        for point, count in points(path):
            counts[point] += count
    if missed:
        for (file, line, _, page, comment), count in sorted(counts.items()):
            if count == 0:
                print(f"{file}:{line} {page} {comment}")
        return 0
    hit, total = collections.Counter(), collections.Counter()
    for (file, _, _, page, _), count in counts.items():
        # Verilator counts an if without else as two branches; its "line" is a block of statements.
        for module in (file, "all"):
            total[module, page] += 1
            hit[module, page] += count > 0
    modules = sorted({module for module, _ in total if module != "all"}, key=lambda m: (os.path.dirname(m), m))
    print("| module | blocks | branches | bits, both ways |\n| --- | --- | --- | --- |")
    for module in ["all", *modules]:
        name = "**all**" if module == "all" else f"`{os.path.basename(module).removesuffix('.sv')}`"
        row = (share(hit[module, page], total[module, page]) for page in ("line", "branch", "toggle"))
        print(f"| {name} | {' | '.join(row)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
