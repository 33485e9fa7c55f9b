#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Single mutants of C and C++ sources: applied one at a time, built, tested, taken back. See scripts/mutate.sh."""
import argparse
import os
import random
import re
import signal
import subprocess
import sys
import time

# Name of the kind, what it looks like, what becomes of it. Templates and shifts have no blanks around their signs.
SWAPS = [
    ("compare", r" == ", " != "), ("compare", r" != ", " == "),
    ("limit", r" < ", " <= "), ("limit", r" <= ", " < "), ("limit", r" > ", " >= "), ("limit", r" >= ", " > "),
    ("logic", r" && ", " || "), ("logic", r" \|\| ", " && "),
    ("arithmetic", r" \+ ", " - "), ("arithmetic", r" - ", " + "), ("arithmetic", r" & ~", " | ~"),
    ("arithmetic", r"(?<=[^&] )& (?=[^&~])", "| "), ("arithmetic", r" \+= ", " -= "), ("arithmetic", r" \|= ", " &= "),
    ("arithmetic", r"\+\+(?=[a-z])", "--"), ("constant", r"\btrue\b", "false"), ("constant", r"\bfalse\b", "true"),
]
SKIPPED = re.compile(r"^\s*(#|//|/\*|\*|template|using|namespace|static_assert|typedef|case\b|public:|private:|friend|\[\[)"
                     r"|__attribute__|EXPECT_|ASSERT_|\boperator")
STATEMENT = re.compile(r"^\s+((?:[\w.:\[\]>*-]+)(?:\(.*\))?(?:\s*(?:=|\+=|-=|\|=|&=)\s*[^=].*)?|\+\+[\w.>-]+|--[\w.>-]+);$")
DECLARES = re.compile(r"^\s*(?:(?:const|constexpr|static|auto|struct|unsigned|u8|u16|u32|u64|int|bool|using|break|continue|goto|default)\b|return\s+\S)")


def blank_out(text):
    """The text with comments, string and character constants blank, so that offsets stay."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'', blank, text, flags=re.S)


def mutants_of(path):
    """(kind, offset, length, replacement) of all mutants of a file."""
    with open(path, encoding="utf-8") as file:
        clear = blank_out(file.read())
    found, start, depth = [], 0, 0
    for line in clear.splitlines(keepends=True):
        body = line.rstrip("\n")
        inside, depth = depth, depth + body.count("{") - body.count("}")
        if SKIPPED.search(body):
            start += len(line)
            continue
        for kind, pattern, to in SWAPS:
            found += [(kind, start + m.start(), len(m.group()), to) for m in re.finditer(pattern, body)]
        for m in re.finditer(r"(?<![\w.'])(0x[0-9a-fA-F]+|\d+)(?=[uUlL]{0,3}\b)(?!['.\w]*['.])", body):
            found.append(("constant", start + m.start(1), len(m.group(1)), str(int(m.group(1), 0) + 1)))
        m = re.match(r"^\s*(?:\} else )?if \((?!constexpr)(.*)\)( \{)?$", body)
        if m and m.group(1).count("(") == m.group(1).count(")") and ";" not in m.group(1) and " = " not in m.group(1):
            at, size = start + m.start(1), len(m.group(1))
            found += [("negated", at, 0, ("!(", size, ")")), ("never", at, 0, ("false && (", size, ")"))]
        # A statement of its own inside a function.
        m = STATEMENT.match(body)
        if m and inside > 0 and not DECLARES.match(body) and not re.match(r"^\s+[\w:<>,*& ]+ [\w]+\(.*\);$", body):
            at = start + m.start(1)
            found.append(("dropped", at, len(m.group(1)), "(void)0"))
        start += len(line)
    return found


def apply(text, mutant):
    _, at, size, to = mutant
    if isinstance(to, tuple):
        before, length, after = to
        return text[:at] + before + text[at:at + length] + after + text[at + length:]
    return text[:at] + to + text[at + size:]


class Tree:
    """The source under change. What it was lies beside the build until it is back, so that a killed run is mended by the next."""

    def __init__(self, build):
        self.note = os.path.join(build, "mutant.original")
        self.restore()

    def change(self, path, text, changed):
        with open(self.note + ".new", "w", encoding="utf-8") as file:
            file.write(path + "\n" + text)
        os.replace(self.note + ".new", self.note)
        with open(path, "w", encoding="utf-8") as file:
            file.write(changed)

    def restore(self):
        if not os.path.exists(self.note):
            return
        with open(self.note, encoding="utf-8") as file:
            path, _, text = file.read().partition("\n")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.remove(self.note)


def run(command, limit, log):
    """'ok', 'failed' or 'late'; the command and what it started are gone then."""
    with open(log, "ab") as out:
        child = subprocess.Popen(["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
        try:
            return "ok" if child.wait(limit) == 0 else "failed"
        except subprocess.TimeoutExpired:
            return "late"
        finally:
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            child.wait()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, help="build directory, configured")
    parser.add_argument("--target", required=True, help="targets to build, a list")
    parser.add_argument("--test", required=True, action="append", help="a command that fails when the mutant is seen; in order")
    parser.add_argument("--count", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=120, help="seconds for each test command: longer is killed, too")
    parser.add_argument("--until", type=float, default=0, help="begin no mutant after so many seconds")
    parser.add_argument("--skip", default="", help="regular expression of files that are left out")
    parser.add_argument("paths", nargs="+")
    args = parser.parse_args()

    began = time.monotonic()
    log = os.path.join(args.build, "mutate.log")
    tree = Tree(args.build)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    build = f"cmake --build '{args.build}' --target {args.target}"
    for command in [build] + args.test:
        if (state := run(command, 3600, log)) != "ok":
            sys.exit(f"without a mutant already: {command}: {state}; see {log}")

    files = []
    for path in args.paths:
        if os.path.isfile(path):
            files.append(path)
        for folder, _, names in os.walk(path):
            files += [os.path.join(folder, name) for name in names if re.search(r"\.(c|cpp|h)$", name)]
    files = sorted(set(f for f in files if not args.skip or not re.search(args.skip, f)))
    everything = [(file, mutant) for file in files for mutant in mutants_of(file)]
    random.Random(args.seed).shuffle(everything)

    counts = {"killed": 0, "survived": 0, "invalid": 0}
    print(f"{len(everything)} mutants in {len(files)} files, seed {args.seed}")
    for file, mutant in everything:
        if counts["killed"] + counts["survived"] >= args.count or (args.until and time.monotonic() - began > args.until):
            break
        with open(file, encoding="utf-8") as source:
            text = source.read()
        changed = apply(text, mutant)
        number = text.count("\n", 0, mutant[1]) + 1
        by = ""
        try:
            tree.change(file, text, changed)
            if run(build, 1200, log) != "ok":
                verdict = "invalid"
            else:
                verdict = "survived"
                for command in args.test:
                    state = run(command, args.limit, log)
                    if state != "ok":
                        verdict, by = "killed", f" by {os.path.basename(command.split()[0])}{' (late)' if state == 'late' else ''}"
                        break
        finally:
            tree.restore()
        counts[verdict] += 1
        print(f"{verdict + by:32} {mutant[0]:10} {os.path.relpath(file)}:{number}: {changed.splitlines()[number - 1].strip()}", flush=True)
    run(build, 1200, log)
    valid = counts["killed"] + counts["survived"]
    score = f"{100 * counts['killed'] / valid:.0f} %" if valid else "none"
    print(f"{counts['killed']} of {valid} killed: {score}; {counts['invalid']} did not compile")


if __name__ == "__main__":
    main()
