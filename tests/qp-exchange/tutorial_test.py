#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks that a tutorial's code is in the example that is compiled and run. usage: tutorial_test.py
PAGE EXAMPLE"""
import re
import sys

page, example = (open(name, encoding="utf-8").read() for name in sys.argv[1:3])
language = "c" if sys.argv[2].endswith(".c") else "cpp"
blocks = re.findall(rf"^```{language}\n(.*?)^```", page, re.M | re.S)
assert blocks, f"{sys.argv[1]} shows no code"
for block in blocks:
    assert block in example, f"not in {sys.argv[2]}:\n{block}"
print(f"{len(blocks)} blocks, {sum(block.count(chr(10)) for block in blocks)} lines")
