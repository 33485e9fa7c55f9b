#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""mutate_check.py EQUIVALENTS: checks that the lists of scripts/mutate.sh fit the tree.

Standard input has a line for each part: its name, its paths and, each prefixed by a minus, the
paths left out of them. Prints each mismatch in a line; exit status 1 if there is one."""
import sys

import mutants


def main():
    wrong, sources = [], set()
    for line in sys.stdin:
        part, *paths = line.split()
        try:
            found = mutants.sources_of(".", [path for path in paths if path[0] != "-"], [path[1:] for path in paths if path[0] == "-"])
        except ValueError as error:
            wrong.append(f"{part}: {error}")
            continue
        sources.update(found)
        if not found:
            wrong.append(f"{part}: no files")
    every = {}
    for file in sorted(sources):
        try:
            every[file] = mutants.mutants_of(file)
        except ValueError as error:
            wrong.append(f"{file}: no mutants can be made of it: {error}")
    made = {}
    for file, line in mutants.read_equivalents(sys.argv[1]):
        if file not in sources:
            wrong.append(f"equivalent of a file of no part: {file}: {line}")
            continue
        if file not in made:
            with open(file, encoding="utf-8") as source:
                text = source.read()
            lines = [mutants.describe(text, mutant)[2:] for mutant in every.get(file, [])]
            made[file] = {changed for changed, _ in lines} | {f"{before} | {changed}" for changed, before in lines}
        if line not in made[file]:
            wrong.append(f"equivalent that no mutant makes: {file}: {line}")
    print("\n".join(wrong), end="\n" if wrong else "")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
