#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks the documents (*.md), and wraps them.

usage: tests/docs.py CHECK       prints a line for each violation
       tests/docs.py wrap FILE... wraps paragraphs and list items at 100 columns, in place

links       relative links lead to an existing file of the repository, and to an existing heading in it
paths       what looks like a path of the repository in `code`, in a code block or in a manual (docs/man) exists;
            paths with a slash are relative to the root
commands    targets (--target), programs (build/bin) and suites (scripts/test.sh) that commands name exist
names       each `function()` in docs/*.md and docs/howto exists in a source
recipes     each recipe of docs/howto is in its README, and ends with a proof that names a test
columns     no line above 100 columns, except tables, code blocks and unbreakable words
paragraphs  no paragraph or list item of docs/reference above 10 lines
lengths     README.md at most 80 lines and no table row above 100 columns, docs/performance.md at most 120 lines
cells       no table cell above 160 characters, not counting link targets
"""
import fnmatch
import itertools
import os
import re
import subprocess
import sys

WIDTH = 100
MAX_PARAGRAPH = 10
MAX_CELL = 160
# Not wrapped, as programs write them and tests compare them. Their paths and links are checked.
GENERATED = {"docs/testplan.md"}
MADE_OF_THE_CONTRACT = {"docs/reference/contract.md"}
FOLDERS = ("cli", "docs", "examples", "hw", "kmod", "provider", "qp-exchange", "rdma-bench", "scripts", "tests")
SOURCES = "c|h|cpp|sv|py|sh|md|toml|cmake|tcl|xdc|map|rules"
# Paths in documents that are not in the repository: files of other projects, and build products.
ELSEWHERE = {
    "kmod/eth/dingo.ko", "kmod/ib/dingo_ib.ko", "dingo_hw.h", "dingo_pkg.sv", "rtl_types.h", "dingo_log_table.h", "contract_dump.c", "cuda.h", "libibverbs/driver.h",
    "hw/vfio-user/pci.c", "run_tests.py", "rdma_core_compat_config.h", "infiniband/verbs.h",
    "rdma/rdma_cma.h", "rdma/rdma_user_cm.h", "reproducer.py", "pair.sh", "infiniband/dingodv.h",
}
MARKER = re.compile(r"(\s*)([-*+]|\d+[.)]) +")
STARTS_BLOCK = re.compile(r"([-*+>#|]|\d+[.)])(\s|$)|[#|>]")


def tracked():
    out = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], check=True, capture_output=True, text=True)
    return [path for path in out.stdout.splitlines() if os.path.exists(path)]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read().split("\n")


def classify(lines):
    """Yields (number, line, kind): text, item (begins one), blank, heading, table, code, comment."""
    fenced = None
    in_item = 0
    in_comment = False
    previous = "blank"
    for number, line in enumerate(lines, 1):
        bare = line.strip()
        if fenced:
            kind = "code"
            if bare.startswith(fenced):
                fenced = None
        elif bare.startswith("```"):
            kind, fenced = "code", "```"
        elif in_comment or bare.startswith("<!--"):
            kind, in_comment = "comment", "-->" not in bare
        elif not bare:
            kind = "blank"
        elif line.startswith("    ") and not in_item and previous in ("blank", "code", "heading"):
            kind = "code"
        elif in_item and previous in ("blank", "code") and len(line) - len(line.lstrip()) >= in_item + 4:
            kind = "code"
        elif bare.startswith("|"):
            kind = "table"
        elif line.startswith("#"):
            kind = "heading"
        elif MARKER.match(line):
            kind = "item"
        else:
            kind = "text"
        if kind == "item":
            in_item = len(MARKER.match(line).group(0))  # column of the item's text
        elif kind == "heading" or (kind in ("text", "table") and not line.startswith(" ") and previous == "blank"):
            in_item = 0
        yield number, line, kind
        if kind == "blank" and previous == "code":
            continue  # a blank line inside a block of code
        previous = kind


def words_of(text):
    """Splits text into words; keeps a code span in one piece unless it is long."""
    pieces = re.split(r"(`[^`]*`)", text)
    joined = "".join(p.replace(" ", "\0") if i % 2 and len(p) <= 60 else p for i, p in enumerate(pieces))
    words = []
    for word in joined.split():
        if words and STARTS_BLOCK.match(word):  # must not begin a line: it would start a list, a heading or a table
            words[-1] += "\0" + word
        else:
            words.append(word)
    return [word.replace("\0", " ") for word in words]


def fill(text, first, rest):
    lines, line = [], first
    empty = True
    for word in words_of(text):
        if empty:
            line += word
        elif len(line) + 1 + len(word) <= WIDTH:
            line += " " + word
        else:
            lines.append(line)
            line = rest + word
        empty = False
    return lines + [line]


def wrapped(lines):
    out, block = [], []

    def flush():
        if block:
            marker = MARKER.match(block[0])
            first = marker.group(0) if marker else re.match(r"\s*", block[0]).group(0)
            rest = " " * len(first)
            text = " ".join([block[0][len(first):]] + [line.strip() for line in block[1:]])
            out.extend(fill(text, first, rest))
            block.clear()

    for _, line, kind in classify(lines):
        if kind == "item":
            flush()
            block.append(line)
        elif kind == "text":
            if block and block[-1].endswith("  "):
                flush()
            block.append(line)
        else:
            flush()
            out.append(line)
    flush()
    return out


def slugs(path):
    found = set()
    for _, line, kind in classify(read(path)):
        if kind == "heading":
            text = re.sub(r"[`*]", "", line.lstrip("#").strip()).lower()
            found.add(re.sub(r"[^\w\- ]", "", text).replace(" ", "-"))
    return found


def check_links(documents):
    for path in documents:
        for number, line, kind in classify(read(path)):
            if kind == "code":
                continue
            for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
                if re.match(r"[a-z]+:", target):
                    continue
                name, _, anchor = target.partition("#")
                file = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
                if not os.path.exists(file):
                    yield f"{path}:{number}: {target}"
                elif anchor and file.endswith(".md") and anchor not in slugs(file):
                    yield f"{path}:{number}: no heading {target}"


def manuals():
    return [path for path in tracked() if re.fullmatch(r"docs/man/[^/]+\.\d", path)]


def check_paths(documents):
    files = tracked()
    known = set(files)
    for file in files:
        parts = file.split("/")
        for i in range(1, len(parts)):
            known.add("/".join(parts[:i]))
    names = {name.split("/")[-1] for name in known}

    def exists(path):
        path = path.rstrip("/").split("::")[0]
        if path in ELSEWHERE or path in known or path in names or re.search(r"[A-Z]{4,}|[<>$]|\.\.\.", path.replace("README", "").replace("CMakeLists", "")):
            return True
        if "{" in path:
            head, _, tail = path.partition("{")
            inner, _, tail = tail.partition("}")
            return all(exists(head + part + tail) for part in inner.split(","))
        return any(c in path for c in "*?") and any(fnmatch.fnmatch(name, path) for name in (known if "/" in path else names))

    ours = re.compile(rf"(?:{'|'.join(FOLDERS)})/[\w.{{}},*?:/-]+$")
    source = re.compile(rf"[\w{{}},*?/-]+\.(?:{SOURCES})$")
    for path in documents:
        for number, line, kind in classify(read(path)):
            spans = [line] if kind == "code" else re.findall(r"`([^`]+)`", line)
            for span in spans:
                for word in span.split():
                    word = word.strip(",;:()'\"").removeprefix("./")
                    if kind == "code" and not ours.match(word):
                        continue
                    if (ours.match(word) or (source.match(word) and not word.startswith(("/", "build/")))) and not exists(word):
                        yield f"{path}:{number}: {word}"
    for path in manuals():
        for number, line in enumerate(read(path), 1):
            for word in line.replace("\\-", "-").split():
                word = word.strip(",;:()'\".")
                if ours.match(word) and not exists(word):
                    yield f"{path}:{number}: {word}"


def check_commands(documents):
    targets, suites = set(), set()
    for path in tracked():
        if path.endswith((".cmake", "CMakeLists.txt")):
            targets.update(re.findall(r"[\w-]+", "\n".join(read(path))))
    if os.path.exists("scripts/test.sh"):
        suites.update(re.findall(r'^    "([\w.-]+)\|', "\n".join(read("scripts/test.sh")), re.M))
    for path in documents:
        for number, line, kind in classify(read(path)):
            for command in [line.split("#")[0]] if kind == "code" else re.findall(r"`([^`]+)`", line):
                names = []
                for words in re.findall(r"--target((?: +[\w-]+)+)", command):
                    names += itertools.takewhile(lambda word: not word.startswith("-"), words.split())
                names += re.findall(r"(?<![\w/])build/(?:\w+/)?bin/([\w-]+)", command)
                for name in names:
                    if not name.isupper() and name not in targets:
                        yield f"{path}:{number}: no target {name}"
                for name in re.findall(r"scripts/test\.sh((?: +[\w.-]+)+)", command):
                    for suite in name.split():
                        if not suite.startswith("-") and not suite.isupper() and suite not in suites:
                            yield f"{path}:{number}: no suite {suite}"


def check_recipes(documents):
    recipes = [path for path in documents if os.path.dirname(path) == "docs/howto" and not path.endswith("/README.md")]
    index = "\n".join(read("docs/howto/README.md")) if recipes else ""
    for path in recipes:
        if f"({os.path.basename(path)})" not in index:
            yield f"{path}: not in docs/howto/README.md"
        proof = "\n".join(read(path)).partition("\n**Proof**\n")[2]
        if not re.search(r"(tests/[\w./-]+|build/bin/\w+|ctest|scripts/test\.sh)", proof):
            yield f"{path}: does not end with **Proof** and a test"


def check_names(documents):
    sources = [path for path in tracked() if re.search(r"\.(c|h|cpp|sv|py|sh)$", path)]
    words = set()
    for path in sources:
        with open(path, encoding="utf-8", errors="replace") as file:
            words.update(re.findall(r"\w+", file.read()))
    for path in documents:
        if os.path.dirname(path) not in ("docs", "docs/howto"):
            continue
        for number, line, _kind in classify(read(path)):
            for name in re.findall(r"`(\w+)\(\)`", line):
                if name not in words:
                    yield f"{path}:{number}: {name}()"


def check_columns(documents):
    for path in documents:
        if path in GENERATED:
            continue
        for number, line, kind in classify(read(path)):
            if kind in ("text", "item", "heading") and len(line) > WIDTH and len(words_of(line)) > 1:
                yield f"{path}:{number}: {len(line)} columns; tests/docs.py wrap {path}"


def check_paragraphs(documents):
    for path in documents:
        if not path.startswith("docs/reference/"):
            continue
        length = 0
        for number, line, kind in classify(read(path) + [""]):
            if kind == "text":
                length += 1
            else:
                if length > MAX_PARAGRAPH:
                    yield f"{path}:{number - length}: a paragraph of {length} lines"
                length = 1 if kind == "item" else 0


def check_lengths(_documents):
    for path, limit in (("README.md", 80), ("docs/performance.md", 120)):
        count = len(read(path)) - 1
        if count > limit:
            yield f"{path}: {count} lines, at most {limit}"
    for number, line in enumerate(read("README.md"), 1):
        if line.startswith("|") and len(line) > WIDTH:
            yield f"README.md:{number}: a table row of {len(line)} columns"


def check_cells(documents):
    for path in documents:
        if path in GENERATED or path in MADE_OF_THE_CONTRACT:
            continue
        for number, line, kind in classify(read(path)):
            if kind != "table":
                continue
            for cell in re.split(r"(?<!\\)\|", line.strip().strip("|")):
                length = len(re.sub(r"\]\([^)]*\)", "]", cell.strip()))
                if length > MAX_CELL:
                    yield f"{path}:{number}: a cell of {length} characters, at most {MAX_CELL}"


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    checks = {
        "links": check_links, "paths": check_paths, "commands": check_commands, "names": check_names, "recipes": check_recipes,
        "columns": check_columns, "paragraphs": check_paragraphs, "lengths": check_lengths, "cells": check_cells,
    }
    if len(sys.argv) == 2 and sys.argv[1] in checks:
        documents = [path for path in tracked() if path.endswith(".md")]
        print("\n".join(checks[sys.argv[1]](documents)), end="")
    elif len(sys.argv) > 2 and sys.argv[1] == "wrap":
        for path in sys.argv[2:]:
            text = "\n".join(wrapped(read(path)))
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    else:
        print(__doc__, end="")
        sys.exit(0 if sys.argv[1:] in (["-h"], ["--help"]) else 2)


if __name__ == "__main__":
    main()
