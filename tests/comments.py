#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks the words of comments: prints a line for each comment that is hard to understand.

usage: tests/comments.py [FILE...]     without FILE: all files of the repository

What it finds:
- he, him, his, himself: threads, cards and users have names;
- a sentence that begins with "Who" or "Whoever", or a comment that begins with "Of": name the subject;
- "in vain", "lest", and "likewise" as all that a field's comment says.
"""
import os
import re
import subprocess
import sys

RIDDLES = re.compile(
    r"\b(?:he|him|his|himself)\b"
    r"|(?:^|[.:;] )Who(?:ever)? [a-z]"
    r"|^Of [a-z]"
    r"|\bin vain\b|\blest\b|^likewise\b",
)
STRING = re.compile(r'"(?:\\.|[^"\\])*"')
SLASHES = re.compile(r"//+!?<? ?(.*)$")
HASH = re.compile(r"(?:^|\s{2,})#+ (.*)$")


def comments_of_c(text):
    """Yields line number and text of each comment; joins consecutive lines that have only
    comments."""
    # Turn block comments into lines that begin with //.
    text = re.sub(r"/\*(.*?)\*/", lambda m: "\n".join("// " + re.sub(r"^\s*\*+ ?", "", line) for line in m.group(1).split("\n")),
                  text, flags=re.S)
    yield from joined(text, SLASHES, lambda line: STRING.sub('""', line))


def joined(text, pattern, clean):
    start, words = 0, []
    for number, line in enumerate(text.split("\n") + [""], 1):
        match = pattern.search(clean(line))
        alone = match and not line[:match.start()].strip()
        if words and not alone:
            yield start, " ".join(words)
            words = []
        if match and alone:
            start = start if words else number
            if match.group(1).startswith("SPDX-") or not match.group(1).strip():
                if words:
                    yield start, " ".join(words)
                words = []
            else:
                words.append(match.group(1).strip())
        elif match:
            yield number, match.group(1).strip()


def comments(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    if re.search(r"\.(c|h|cpp|sv|cu)$", path):
        return comments_of_c(text)
    if re.search(r"\.(py|sh|cmake|toml|pkt)$|CMakeLists\.txt$", path):
        return joined(text, HASH, lambda line: line)
    return ()


def main():
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__, end="")
        return 0
    files = sys.argv[1:]
    if not files:
        os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
        files = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], check=True, capture_output=True,
                               text=True).stdout.split("\n")
    found = 0
    for path in files:
        if path and os.path.isfile(path) and path != "tests/comments.py":
            for number, text in comments(path):
                match = RIDDLES.search(text)
                if match:
                    found += 1
                    print(f"{path}:{number}: {text[:100]}")
    return found != 0


if __name__ == "__main__":
    sys.exit(main())
