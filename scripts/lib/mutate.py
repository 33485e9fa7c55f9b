#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs the tests on single mutants of C and C++ sources, one at a time, in a copy of the tree.

See scripts/mutate.sh and docs/mutation.md."""
import argparse
import hashlib
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import mutants
from mutate_results import Result, print_scores, read_results


def files_of_tree(root):
    """Lists the files to copy: tracked ones, and untracked ones that git does not ignore."""
    names = subprocess.run(["git", "ls-files", "-zco", "--exclude-standard"], cwd=root, check=True, capture_output=True).stdout
    return [os.fsdecode(name) for name in names.split(b"\0") if name]


def copy_tree(root, copy):
    """Updates the copy of the tree. Keeps modification times, so that a build in the copy stays
    valid."""
    names = [name for name in files_of_tree(root) if os.path.lexists(os.path.join(root, name))]
    for name in names:
        source, target = os.path.join(root, name), os.path.join(copy, name)
        replaced = os.path.lexists(target)
        if replaced:
            one, other = os.lstat(source), os.lstat(target)
            if one.st_size == other.st_size and one.st_mtime_ns == other.st_mtime_ns:
                continue
            os.remove(target)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy2(source, target, follow_symlinks=False)
        if replaced:
            # Objects of a mutant, left by an interrupted run, must be older than the restored
            # source.
            os.utime(target, follow_symlinks=False)
    known = set(names)
    for folder, inner, present in os.walk(copy):
        if folder == copy and "build" in inner:
            inner.remove("build")
        for name in present:
            path = os.path.join(folder, name)
            if os.path.relpath(path, copy) not in known:
                os.remove(path)


class Runner:
    """Runs commands in the copy and kills the processes that they leave."""

    def __init__(self, folder, log, environment):
        self.folder, self.log, self.environment = folder, log, environment

    def run(self, command, limit):
        """Returns 'ok', 'failed' or 'late' (after `limit` seconds), and the seconds it took."""
        began = time.monotonic()
        with open(self.log, "ab") as out:
            child = subprocess.Popen(["bash", "-c", command], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                     stdout=out, stderr=out, start_new_session=True)
            try:
                state = "ok" if child.wait(limit) == 0 else "failed"
            except subprocess.TimeoutExpired:
                state = "late"
            finally:
                try:
                    os.killpg(child.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                child.wait()
        return state, time.monotonic() - began


class Step:
    """A test: the targets to build, the products whose contents decide its result, and its
    command."""

    def __init__(self, text):
        self.targets, products, self.command = text.split("|", 2)
        self.products, self.original, self.limit = products.split(), None, 0

    def digest(self, build):
        found = hashlib.sha256()
        for product in self.products:
            with open(os.path.join(build, product), "rb") as file:
                found.update(hashlib.file_digest(file, "sha256").digest())
        return found.digest()


# Each copy has its own namespaces, as programs use fixed ports and names of shared memory.
PRIVATE = """unshare --net --ipc --mount bash -c 'ip link set lo up && mount -t tmpfs tmpfs /dev/shm && eval "$1"' private {}"""


class Sample:
    """A copy of the tree, which runs one mutant at a time. Copies are numbered from 1."""

    def __init__(self, args, root, number):
        self.args, self.root = args, root
        folder = os.path.join(os.path.abspath(args.folder), str(number))
        # Two levels below the copy, like build/NAME in the tree, because ccache uses relative
        # names.
        self.tree = os.path.join(folder, "tree")
        self.build = os.path.join(self.tree, "build", "mutate")
        environment = dict(os.environ, CCACHE_BASEDIR=self.tree, BUILD=self.build)
        os.makedirs(self.build, exist_ok=True)
        copy_tree(root, self.tree)
        self.runner = Runner(self.tree, os.path.join(folder, "log"), environment)
        # ccache keeps no objects of mutants.
        self.mutant_runner = Runner(self.tree, self.runner.log, dict(environment, CCACHE_READONLY="1"))
        self.steps = [Step(text) for text in args.test]
        self.equivalents = mutants.read_equivalents(args.equivalents)

    def make(self, step, beside):
        """Returns the build command; `beside` is the number of copies that build at the same
        time."""
        return f"ninja -j {max(2, (os.cpu_count() or 2) // beside)} -C '{self.build}' {step.targets}"

    def command(self, step):
        return PRIVATE.format(shlex.quote(step.command)) if self.args.jobs > 1 else step.command

    def need(self, command):
        if self.runner.run(command, 7200)[0] != "ok":
            sys.exit(f"without a mutant already: {command}: failed; see {self.runner.log}")

    def prepare(self, beside):
        for command in [self.args.configure.replace("@BUILD@", self.build)] + [self.make(step, beside) for step in self.steps]:
            self.need(command)
        for step in self.steps:
            step.original = step.digest(self.build)
            state, seconds = self.runner.run(self.command(step), 1800)
            if state != "ok":
                sys.exit(f"without a mutant already: {step.command}: {state}; see {self.runner.log}")
            # Generous, so that load on the machine does not kill mutants: three times the time,
            # plus 30 s.
            step.limit = 3 * seconds + 30
            print(f"# {seconds:5.1f} s {step.command}", flush=True)

    def mutants(self):
        try:
            files = mutants.sources_of(self.root, self.args.paths, self.args.without)
        except ValueError as error:
            sys.exit(str(error))
        found = [(file, mutant) for file in files for mutant in mutants.mutants_of(os.path.join(self.tree, file))]
        print(f"# {len(found)} mutants in {len(files)} files, seed {self.args.seed}", flush=True)
        random.Random(self.args.seed).shuffle(found)
        return found

    def describe(self, file, mutant):
        """Returns the source, the changed source, line number, changed line, the line before it."""
        with open(os.path.join(self.tree, file), encoding="utf-8") as source:
            text = source.read()
        return text, *mutants.describe(text, mutant)

    def is_equivalent(self, file, line, before):
        return (file, line) in self.equivalents or (file, f"{before} | {line}") in self.equivalents

    def judge(self):
        """Returns (verdict, by) of the tree as it is now. Skips tests whose products did not
        change."""
        verdict = "same"
        for step in self.steps:
            if self.mutant_runner.run(self.make(step, self.args.jobs), 1200)[0] != "ok":
                return "invalid", ""
            if step.digest(self.build) == step.original:
                continue
            verdict = "survived"
            state = self.mutant_runner.run(self.command(step), step.limit)[0]
            if state != "ok":
                name = os.path.basename(step.command.split()[0])
                return "killed", f" by {name}{' (late)' if state == 'late' else ''}"
        return verdict, ""

    def try_mutant(self, file, mutant):
        text, changed, number, line, before = self.describe(file, mutant)
        path = os.path.join(self.tree, file)
        try:
            with open(path, "w", encoding="utf-8") as out:
                out.write(changed)
            verdict, by = self.judge()
        finally:
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
        if verdict == "survived" and self.is_equivalent(file, line, before):
            verdict = "equivalent"
        return Result(verdict, by, mutant[0], file, number, line)

    def choice(self):
        """Returns the part's mutants in random order, or with --again those that survived
        earlier."""
        if not self.args.again:
            return self.mutants()
        return self.again([one for one in read_results(self.args.again) if one.verdict == "survived"])

    def again(self, results):
        """Returns the mutants of earlier survivors; finds a line that has moved by its text."""
        found = []
        everything = self.mutants()
        for old in results:
            same = []
            for file, mutant in everything:
                if file == old.file and mutant[0] == old.kind:
                    _, _, number, line, _ = self.describe(file, mutant)
                    if line == old.line:
                        same.append((abs(number - old.number), file, mutant))
            if same:
                found.append(min(same, key=lambda one: one[0])[1:])
            else:
                print(f"# gone: {old}", flush=True)
        return found


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", required=True, help="where the copy of the tree and its build are")
    parser.add_argument("--configure", required=True, help="command that configures; @BUILD@ is the build directory")
    parser.add_argument("--test", required=True, action="append",
                        help="TARGETS|PRODUCTS|COMMAND: what to build, the files by which that differs, what fails when the mutant is seen; in order")
    parser.add_argument("--equivalents", required=True, help="file of mutants that no test can see, with reasons")
    parser.add_argument("--count", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--until", type=float, default=0, help="begin no mutant after so many seconds")
    parser.add_argument("--again", help="only the survivors in this output of an earlier run")
    parser.add_argument("--jobs", type=int, default=1, help="copies of the tree that work side by side")
    parser.add_argument("--without", default=[], action="append", help="file or folder of `paths` that is left out")
    parser.add_argument("paths", nargs="+")
    return parser.parse_args()


def main():
    args = arguments()
    began = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: os._exit(143))
    samples = [Sample(args, os.getcwd(), number + 1) for number in range(args.jobs)]
    # Before the build, so that errors in the lists are reported at once.
    chosen = samples[0].choice()
    samples[0].prepare(1)
    with ThreadPoolExecutor(args.jobs) as pool:  # their builds hit in ccache, which the first has filled
        list(pool.map(lambda sample: sample.prepare(args.jobs), samples[1:]))

    counts = dict.fromkeys(("killed", "survived", "equivalent", "same", "invalid"), 0)
    counting = threading.Lock()
    waiting = iter(chosen)

    def take():
        """Returns the next mutant; None at the end."""
        valid = counts["killed"] + counts["survived"] + counts["equivalent"]
        if (not args.again and valid >= args.count) or (args.until and time.monotonic() - began > args.until):
            return None
        return next(waiting, None)

    def work(sample):
        while True:
            with counting:
                mutant = take()
            if mutant is None:
                return
            result = sample.try_mutant(*mutant)
            with counting:
                counts[result.verdict] += 1
                print(result, flush=True)

    with ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(work, samples))
    print(f"# left out: {counts['same']} the same program, {counts['invalid']} did not compile")
    print_scores(counts)


if __name__ == "__main__":
    main()
