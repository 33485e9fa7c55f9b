# SPDX-License-Identifier: BSD-2-Clause
"""Prints and reads the results of mutate.py: a line for each mutant, and the scores."""
import math
import re


class Result:
    """One line of output: verdict, what killed the mutant, kind, place, the changed line."""
    LINE = re.compile(r"^(killed|survived|equivalent|same|invalid)\b(.*?) {2,}(\w+) +(\S+?):(\d+): (.*)$")

    def __init__(self, verdict, by, kind, file, number, line):
        self.verdict, self.by, self.kind, self.file, self.number, self.line = verdict, by, kind, file, int(number), line

    def __str__(self):
        return f"{self.verdict + self.by:31}  {self.kind:10} {self.file}:{self.number}: {self.line}"


def read_results(path):
    with open(path, encoding="utf-8") as file:
        return [Result(*match.groups()) for match in map(Result.LINE.match, file.read().splitlines()) if match]


def wilson(good, total):
    """Returns the 95 % confidence interval (Wilson) of a share, in per cent."""
    z, share = 1.96, good / total
    middle, half = share + z * z / (2 * total), z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return [100 * max(0, min(1, (middle + sign * half) / (1 + z * z / total))) for sign in (-1, 1)]


def score(name, good, total):
    if not total:
        return f"{name}: none"
    low, high = wilson(good, total)
    return f"{name}: {good} of {total} = {100 * good / total:.1f} % (95 % interval {low:.0f} to {high:.0f})"


def print_scores(counts):
    valid = counts["killed"] + counts["survived"]
    print("# " + score("killed of all", counts["killed"], valid + counts["equivalent"]))
    print("# " + score("killed of those that are not known as equivalent", counts["killed"], valid))
