#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs single mutants as mutate.py does, but builds them all at once; an environment variable
chooses one.

Only for mutants in .cpp files that can be chosen at run time. See scripts/mutate.sh and
docs/mutation.md."""
import os
import re
import shlex
import sys
import time

import mutants
import mutate
from mutants_at_once import MOST, Text
from mutate_results import Result, print_scores

ERROR = re.compile(r"^(\S+?):(\d+):(?:\d+:)? (?:fatal )?error: ", re.M)


class Piece:
    """A part of a step that runs on its own (a Google Test suite, or the whole step), and the
    mutants it reaches."""

    def __init__(self, name, command):
        self.name, self.command = name, command
        self.seconds, self.seen = 0.0, frozenset()


class SampleAtOnce(mutate.Sample):
    def __init__(self, args, root):
        super().__init__(args, root, 1)
        # The release preset's directory, so that its objects in ccache are found.
        self.build = os.path.join(self.tree, "build")
        self.runner.environment["BUILD"] = self.mutant_runner.environment["BUILD"] = self.build
        self.chosen, self.texts, self.pieces = {}, {}, []
        self.seen_file = os.path.join(os.path.dirname(self.tree), "seen")

    def choose(self, found):
        """Chooses the first of these mutants, half again as many as COUNT, as the compiler will
        refuse some."""
        fit = [one for one in found if one[0].endswith(".cpp")]
        self.chosen = dict(enumerate(fit[:min(MOST, len(fit) if self.args.again else self.args.count * 3 // 2)]))
        print(f"# {len(found) - len(fit)} of {len(found)} are not in .cpp files", flush=True)

    def write(self, files):
        for file in files:
            with open(os.path.join(self.root, file), encoding="utf-8") as source:
                text = source.read()
            mine = {number: mutant for number, (name, mutant) in self.chosen.items() if name == file}
            self.texts[file] = Text(text, mine, self.tree)
            self.refuse(self.texts[file].unfit)
            with open(os.path.join(self.tree, file), "w", encoding="utf-8") as out:
                out.write(self.texts[file].text() if mine else text)

    def refuse(self, numbers):
        for number in numbers:
            self.chosen.pop(number, None)

    def build_all(self):
        """Builds, leaving out the mutants that the compiler's errors blame, until there are no
        errors."""
        changed, asked = {name for name, _ in self.chosen.values()}, len(self.chosen)
        while changed:
            self.write(changed)
            began = os.path.getsize(self.runner.log)
            targets = " ".join(step.targets for step in self.steps)
            if self.mutant_runner.run(f"ninja -k 0 -j {max(2, os.cpu_count() or 2)} -C '{self.build}' {targets}", 7200)[0] == "ok":
                break
            with open(self.runner.log, encoding="utf-8", errors="replace") as log:
                log.seek(began)
                errors = ERROR.findall(log.read())
            changed = set()
            for path, line in errors:
                file = os.path.relpath(os.path.join(self.build, path), self.tree)
                if file in self.texts:
                    refused = self.texts[file].blamed(int(line)) & self.chosen.keys()
                    self.refuse(refused)
                    changed |= {file} if refused else set()
            if not changed:
                sys.exit(f"these mutants do not compile, and no line says which; see {self.runner.log}")
        print(f"# {asked - len(self.chosen)} of {asked} cannot be chosen at run time", flush=True)

    def pieces_of(self, step):
        """Returns a piece for each suite of a Google Test program; any other step is one piece."""
        command = step.command.replace("$BUILD", self.build)
        if "--gtest_brief" not in command:
            return [Piece(os.path.basename(step.command.split()[0]), step.command)]
        listed = os.path.join(os.path.dirname(self.tree), "suites")
        if self.runner.run(f"{command} --gtest_list_tests >{shlex.quote(listed)}", 300)[0] != "ok":
            sys.exit(f"no list of tests: {command}; see {self.runner.log}")
        without = re.search(r"--gtest_filter=(-\S+)", command)
        with open(listed, encoding="utf-8") as file:
            suites = [line.split()[0] for line in file if re.match(r"\w\S*\.(\s|$)", line)]
        return [Piece(suite.rstrip("."), f"{command} '--gtest_filter={suite}*{without.group(1) if without else ''}'") for suite in suites]

    def learn(self):
        """Runs each piece without a mutant, to learn how long it takes and which mutants it
        reaches."""
        for step in self.steps:
            self.pieces += self.pieces_of(step)
        for piece in self.pieces:
            with open(self.seen_file, "wb") as file:
                file.truncate(MOST)
            state, piece.seconds = self.runner.run(f"export DINGO_MUTANTS_SEEN='{self.seen_file}'; {piece.command}", 1800)
            if state != "ok":
                sys.exit(f"without a mutant already: {piece.command}: {state}; see {self.runner.log}")
            with open(self.seen_file, "rb") as file:
                piece.seen = frozenset(number for number, byte in enumerate(file.read()) if byte)
        print(f"# {sum(piece.seconds for piece in self.pieces):.0f} s in {len(self.pieces)} suites", flush=True)

    def judge_at_once(self, number):
        """Runs the pieces that reach the mutant, quickest first."""
        reached = sorted((piece for piece in self.pieces if number in piece.seen), key=lambda piece: piece.seconds)
        for piece in reached:
            state, _ = self.mutant_runner.run(f"export DINGO_MUTANT={number}; {piece.command}", 10 * piece.seconds + 10)
            if state != "ok":
                return "killed", f" by {piece.name}{' (late)' if state == 'late' else ''}"
        return "survived", "" if reached else " (not reached)"

    def run_all(self, began):
        counts = dict.fromkeys(("killed", "survived", "equivalent"), 0)
        for number, (file, mutant) in sorted(self.chosen.items()):
            if (not self.args.again and sum(counts.values()) >= self.args.count) or \
               (self.args.until and time.monotonic() - began > self.args.until):
                break
            with open(os.path.join(self.root, file), encoding="utf-8") as source:
                _, at, line, before = mutants.describe(source.read(), mutant)
            verdict, by = self.judge_at_once(number)
            if verdict == "survived" and self.is_equivalent(file, line, before):
                verdict = "equivalent"
            counts[verdict] += 1
            print(Result(verdict, by, mutant[0], file, at, line), flush=True)
        print_scores(counts)


def main():
    args = mutate.arguments()
    began = time.monotonic()
    sample = SampleAtOnce(args, os.getcwd())
    sample.choose(sample.choice())
    sample.need(args.configure.replace("@BUILD@", sample.build))
    sample.build_all()
    sample.learn()
    sample.run_all(began)


if __name__ == "__main__":
    main()
