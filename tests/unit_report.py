#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Prints one PASS, FAIL or SKIP line for each test of ctest's JUnit file.

usage: tests/unit_report.py RESULTS AGAIN PRESET
AGAIN: results of the failed tests' second run; the file may be missing.
"""
import os
import re
import sys
import xml.etree.ElementTree as tree

MOST_AGAIN = 5  # if more tests fail, their second run does not count
# Sanitizer findings, crashes and hangs are failures, however rare. A test's own output may mention
# timeouts and aborted calls, so these are looked for only in ctest's words. ctest 3.25 has none;
# there GoogleTest's line at a test's end tells.
FINDING = re.compile(r"\w+Sanitizer|runtime error:|terminate called|Assertion .* failed")
ABRUPT = re.compile(r"SEGFAULT|Exception|abort|Timeout", re.I)


def cases(path):
    return list(tree.parse(path).getroot().iter("testcase")) if os.path.exists(path) else []


def why_skipped(output):
    """Returns the program's reason for a skip: GoogleTest's line after "Skipped", wire_script's
    after "skipped CASE:"."""
    for line, following in zip(output, output[1:] + [""]):
        if line.endswith("Skipped"):
            return following
        if line.startswith("skipped "):
            return line.partition(": ")[2]
    return ""


def serious(case, output):
    cause = case.find("failure")
    message = (cause.get("message") or "") if cause is not None else ""
    text = "\n".join(output)
    cut_short = "[ RUN      ]" in text and "[  FAILED  ]" not in text
    return cut_short or ABRUPT.search(message) or FINDING.search(text)


def failure(case, name, output, recovered):
    reason = " / ".join([line for line in output if ": Failure" in line][:2] + output[-3:])[:400]
    if case.get("name") in recovered and not serious(case, output):
        return f"# second try of {name}, the first: {reason}\nPASS {name}"
    return f"FAIL {name}: {reason}"


def line_of(case, preset, recovered):
    name, status = f"{preset}:{case.get('name')}", case.get("status")
    output = (case.findtext("system-out") or "").strip().splitlines()
    if status == "run":
        # A skipped GoogleTest exits with status 0 and prints this.
        if any("[  SKIPPED ]" in line for line in output):
            return f"SKIP {name}: {' '.join(line for line in output[-12:] if line and not line.startswith('['))[:200]}"
        return f"PASS {name}"
    if status in ("notrun", "disabled"):
        reason = case.find("skipped")
        text = (reason.get("message") if reason is not None else "") or (output[-1] if output else "")
        return f"SKIP {name}: {(why_skipped(output) or text)[:200]}"
    return failure(case, name, output, recovered)


def main(results, again, preset):
    second = cases(again)
    recovered = {case.get("name") for case in second if case.get("status") == "run"} if len(second) <= MOST_AGAIN else set()
    for case in cases(results):
        print(line_of(case, preset, recovered))


main(*sys.argv[1:])
