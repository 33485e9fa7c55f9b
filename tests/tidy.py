#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs clang-tidy (.clang-tidy) on the C++ sources and prints its findings.

usage: tests/tidy.py BUILD [FILE...]

BUILD is a configured build directory (compile_commands.json). A clean file is not checked again
until it, a header of this tree that it includes, its flags or the configuration change: the
verdicts are kept in ${DINGO_CACHE:-~/.cache/dingo}/tidy. Files of one directory are checked as one
unit, which parses their headers once; files whose names clash are checked in several units.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

BATCH = 10
ROOT = pathlib.Path(__file__).resolve().parent.parent
# The parts that are clean; others may be added when they are.
COVERED = ("hw/", "qp-exchange/", "rdma-bench/", "tests/support/", "tests/conformance/")
EXCEPT = ("hw/rtl/",)  # includes files that Verilator generates
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.M)
FINDING = re.compile(r"^(/[^:]+:\d+:\d+: (?:warning|error): .*)$", re.M)


class Source:
    """One translation unit: its flags, and the key under which its verdict is kept."""

    def __init__(self, entry):
        self.path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        self.name = str(self.path.relative_to(ROOT))
        self.flags = self.flags_of(entry)
        self.parts = set()
        self.dirs = [flag[2:] for flag in self.flags if flag.startswith("-I")]

    @staticmethod
    def flags_of(entry):
        """Returns the flags of the command that matter to the parser, without those for code
        generation."""
        words = shlex.split(entry["command"])
        kept = []
        for word, following in zip(words, words[1:] + [""]):
            if word.startswith(("-I", "-D", "-std=", "-m")):
                kept.append(word)
            elif word == "-isystem":
                kept += [word, following]
        return kept

    def texts(self, known):
        """Returns the paths of this file and of all headers of the tree that it includes."""
        todo, seen = [self.path], {self.path}
        while todo:
            path = todo.pop()
            if path not in known:
                known[path] = path.read_text(errors="replace")
            for name in INCLUDE.findall(known[path]):
                for directory in [path.parent, *self.dirs]:
                    header = pathlib.Path(os.path.normpath(os.path.join(directory, name)))
                    if header not in seen and header.is_relative_to(ROOT) and header.is_file():
                        seen.add(header)
                        todo.append(header)
                        break
        return sorted(seen)

    def key(self, known, tool):
        """Returns the key of this file's verdict. Also finds the files of which it consists."""
        digest = hashlib.sha256(tool)
        digest.update("\0".join(self.flags).replace(str(ROOT), "").encode())
        texts = self.texts(known)
        self.parts = {str(path.relative_to(ROOT)) for path in texts}
        for path in texts:
            digest.update(f"\0{path.relative_to(ROOT)}\0".encode() + known[path].encode())
        return digest.hexdigest()


def tool_identity():
    """Returns a digest of clang-tidy's version, the standard library and the configuration, on
    which verdicts depend."""
    return b"\0".join(
        [
            subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout,
            subprocess.run(["g++", "-dumpfullversion"], capture_output=True, check=True).stdout,
            (ROOT / ".clang-tidy").read_bytes(),
        ]
    )


def sources(build, wanted):
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.cpp"],
        cwd=ROOT, capture_output=True, check=True, text=True,
    ).stdout.split("\0")
    names = {n for n in listed if n.startswith(COVERED) and not n.startswith(EXCEPT) and (not wanted or n in wanted)}
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if entry["file"].endswith(".cpp"):
            path = pathlib.Path(entry["directory"], entry["file"]).resolve()
            if path.is_relative_to(ROOT) and str(path.relative_to(ROOT)) in names:
                found.setdefault(path, Source(entry))
    return list(found.values()), sorted(names - {s.name for s in found.values()})


def run(file, flags, *options):
    """Returns all findings in FILE and the tree's headers that it includes, as clang-tidy prints
    them."""
    command = ["clang-tidy", "--quiet", f"--config-file={ROOT}/.clang-tidy", *options, str(file), "--", *flags]
    done = subprocess.run(command, capture_output=True, text=True)
    findings = FINDING.findall(done.stdout)
    if done.returncode != 0 and not findings:
        findings = [f"{file}:1:1: error: clang-tidy ended with status {done.returncode}"]
    return sorted({line.replace(f"{ROOT}/", "") for line in findings})


def unite(batch, scratch):
    """Returns a file that includes those sources of BATCH whose names do not clash, these sources,
    and the others."""
    digest = hashlib.sha256("".join(s.name for s in batch).encode()).hexdigest()
    # The name tells clang's analyzer that the included files are code.
    together = scratch / f"UnifiedSource-{digest[:16]}.cpp"
    united, others = list(batch), []
    while len(united) > 1:
        together.write_text("".join(f'#include "{s.path}"\n' for s in united))
        errors = run(together, [*united[0].flags, "-ferror-limit=0"], "--checks=-*,bugprone-suspicious-semicolon")
        # Sources with names that an earlier one has, too: the compiler reports the later one.
        clashing = [s for s in united if any(line.startswith(f"{s.name}:") for line in errors)]
        if not clashing:
            break
        clashing = clashing[1:] if clashing == united else clashing
        others += clashing
        united = [s for s in united if s not in clashing]
    return together, united, others


def look_at(batch, scratch):
    """Returns {source: findings} of files with equal flags."""
    verdicts = {}
    while len(batch) > 1:
        together, united, batch = unite(batch, scratch)
        if len(united) == 1:
            batch = united + batch
            break
        findings = run(together, united[0].flags, "--checks=-bugprone-suspicious-include")
        for source in united:
            # A finding in a header counts for all sources that include it.
            verdicts[source] = [line for line in findings if line.split(":")[0] in source.parts]
        if findings and not any(verdicts[source] for source in united):
            verdicts |= {source: findings for source in united}
    return verdicts | {s: run(s.path, s.flags) for s in batch}


def batches(todo):
    """Yields batches of files of one directory with equal flags."""
    groups = {}
    for source in sorted(todo, key=lambda s: s.name):
        groups.setdefault((source.path.parent, tuple(source.flags)), []).append(source)
    return [g[i : i + BATCH] for g in groups.values() for i in range(0, len(g), BATCH)]


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[1]).resolve()
    cache = pathlib.Path(os.environ.get("DINGO_CACHE", pathlib.Path.home() / ".cache/dingo")) / "tidy"
    scratch = build / "tidy"
    for directory in (cache, scratch):
        directory.mkdir(parents=True, exist_ok=True)
    found, unknown = sources(build, set(sys.argv[2:]))
    for name in unknown:
        print(f"{name}: no target compiles it")
    tool, known = tool_identity(), {}
    keys = {source: source.key(known, tool) for source in found}
    todo = [source for source in found if not (cache / keys[source]).exists()]

    def judge(batch):
        """Checks a batch and stores its verdicts at once, so that they survive an interrupted
        run."""
        verdicts = look_at(batch, scratch)
        for source, findings in verdicts.items():
            if not findings:
                (cache / keys[source]).touch()
        return {line for findings in verdicts.values() for line in findings}

    findings = set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for job in concurrent.futures.as_completed([pool.submit(judge, batch) for batch in batches(todo)]):
            new = job.result() - findings  # findings in headers are repeated for every file
            findings |= new
            if new:
                print("\n".join(sorted(new)), flush=True)


main()
