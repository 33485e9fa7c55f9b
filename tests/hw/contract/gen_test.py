#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tests that the generator rejects a contract that contradicts itself, and names the place.

usage: gen_test.py HW_CONTRACT_DIR
"""
import pathlib
import subprocess
import sys
import tempfile

# description: (text in dingo.toml, replacement, word that the error must contain)
MUTATIONS = {
    "field overlaps": ('[4, "u32", "index", "free-running', '[3, "u32", "index", "free-running', "doorbell.index"),
    "size is wrong": ('name = "doorbell"\nsize = 8', 'name = "doorbell"\nsize = 12', "doorbell"),
    "unknown type": ('[0, "u32", "word0"', '[0, "u31", "word0"', "u31"),
    "bits beyond the field": ('["word0", "TYPE", 24, 4', '["word0", "TYPE", 30, 4', "word0.TYPE"),
    "register overlaps": ('[0x004, "ro", 32, "VERSION"', '[0x002, "ro", 32, "VERSION"', "VERSION"),
    "range of no attribute": ('["TIMEOUT", "timeout", 0', '["TIMEOUTS", "timeout", 0', "qp_attr.TIMEOUTS"),
    "empty range": ('"path_mtu", 1, 5', '"path_mtu", 6, 5', "qp_attr.PATH_MTU"),
    "two names for one value": ('["UC", 3, "as', '["UC", 2, "as', "qpt"),
}


def run(directory, text):
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(text)
        file.flush()
        return subprocess.run([sys.executable, directory / "gen.py", file.name], capture_output=True, text=True, check=False)


def main():
    directory = pathlib.Path(sys.argv[1])
    text = (directory / "dingo.toml").read_text(encoding="utf-8")
    failures = []
    if run(directory, text).returncode != 0:
        failures.append("the contract itself is refused")
    for name, (old, new, word) in MUTATIONS.items():
        if text.count(old) != 1:
            failures.append(f"{name}: the text to break occurs {text.count(old)} times")
            continue
        result = run(directory, text.replace(old, new))
        if result.returncode != 1 or word not in result.stderr:
            failures.append(f"{name}: exit {result.returncode}, said {result.stderr!r}")
    print("\n".join(failures) or f"{len(MUTATIONS)} contradictions refused")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
