# SPDX-License-Identifier: BSD-2-Clause
"""Writes a C++ source with many mutants, one of which is chosen at run time. mutate_at_once.py runs
them."""
import re

import mutants

# The header that a mutated source includes, and the number of mutants for which it has room.
HEADER, MOST = "scripts/lib/mutate_choice.h", 1 << 16


def begin_of(clear, at):
    """Returns the begin of the expression around `at`: just behind the separator before it."""
    depth, i, closed = 0, at - 1, 0
    while i >= 0:
        c = clear[i]
        if c in ")]" or (c == "}" and (depth or clear[i + 1] != "\n")):
            closed = closed if depth else i
            depth += 1
        elif c in "([{":
            if not depth:
                break
            depth -= 1
            if not depth and re.search(r"\b(if|for|while|switch|constexpr) $", clear[max(0, i - 10):i]):
                return closed + 1
        elif not depth:
            if c in ";,?}" or (c == ":" and ":" not in (clear[i - 1], clear[i + 1])):
                break
            if c == "=" and clear[i - 1] not in "=!<>" and clear[i + 1] != "=":
                break
            if clear[i + 1] in " \n" and re.search(r"\b(return|else|do)$", clear[max(0, i - 6):i + 1]):
                break
        i -= 1
    return i + 1


def end_of(clear, at, assigns):
    """Returns the end of the expression around `at`. With `assigns`, `?` and `:` do not end it."""
    depth, i = 0, at
    while i < len(clear):
        c = clear[i]
        if c in "([{":
            depth += 1
        elif c in ")]}":
            if not depth:
                break
            depth -= 1
        elif not depth and (c in ";," or (not assigns and (c == "?" or (c == ":" and ":" not in (clear[i - 1], clear[i + 1]))))):
            break
        i += 1
    return i


def span_of(clear, mutant):
    """Returns [begin, end) of the expression that is written twice, as it is and mutated."""
    kind, at, size, to = mutant
    if isinstance(to, tuple):
        return at, at + to[1]
    if kind == "dropped":
        return at, at + size
    if kind == "constant":
        return at, at + size + len(re.match(r"[uUlL]*", clear[at + size:at + size + 4]).group())
    begin, end = begin_of(clear, at), end_of(clear, at + size, re.search(r"[-+|]=", clear[at:at + size]))
    inside = clear[begin:end]
    return begin + len(inside) - len(inside.lstrip()), end - len(inside) + len(inside.rstrip())


class Group:
    """The mutants of one expression, and their lines in the written text."""

    def __init__(self, span):
        self.begin, self.end = span
        self.members, self.inner, self.lines = [], [], (0, 0)
        self.member_lines = {}

    def cast(self):
        kinds = {mutant[0] for _, mutant in self.members}
        return "(void)" if "dropped" in kinds else "(bool)" if kinds & {"negated", "never"} else ""


class Text:
    """A source with the mutants {number: mutant}, but not `unfit`: those whose expressions partly
    overlap."""

    def __init__(self, source, chosen, root):
        self.source, self.unfit = source, set()
        groups = {}
        clear = mutants.blank_out(source)
        for number, mutant in chosen.items():
            span = span_of(clear, mutant)
            groups.setdefault(span, Group(span)).members.append((number, mutant))
        self.groups = sorted(groups.values(), key=lambda group: (group.begin, -group.end))
        top, above = [], []
        for group in self.groups:
            while above and above[-1].end <= group.begin:
                above.pop()
            if above and above[-1].end < group.end:
                self.unfit |= {number for number, _ in group.members}
                continue
            (above[-1].inner if above else top).append(group)
            above.append(group)
        self.out, self.line = [], 1
        self.put(f'#include "{root}/{HEADER}"\n')
        self.put_range(0, len(source), top)

    def put(self, text):
        self.out.append(text)
        self.line += text.count("\n")

    def put_range(self, begin, end, groups):
        for group in groups:
            self.put(self.source[begin:group.begin])
            self.put_group(group)
            begin = group.end
        self.put(self.source[begin:end])

    def put_group(self, group):
        """Writes a group; each mutant begins a line, so that a compiler's error can be traced to
        it."""
        first, cast = self.line, group.cast()
        returns = self.source[group.begin:group.end] == "return"
        self.put("{ " if returns else "(")
        for number, (kind, at, size, to) in group.members:
            self.put("\n")
            line = self.line
            if returns:
                self.put(f"if (!dingo_mutant({number})) return; }}")
            else:
                moved = mutants.apply(self.source[group.begin:group.end], (kind, at - group.begin, size, to))
                self.put(f"dingo_mutant({number}) ? {cast}({moved}) :")
            group.member_lines[number] = (line, self.line)
        if not returns:
            self.put(f"\n{cast}(")
            self.put_range(group.begin, group.end, group.inner)
            self.put("))")
        group.lines = (first, self.line)

    def text(self):
        return "".join(self.out)

    def blamed(self, line):
        """Returns the mutants to blame for a compiler's error in this line: those of the line
        itself, else those of the smallest expression around it, else those of the last expression
        before it."""
        around = [group for group in self.groups if group.lines[0] <= line <= group.lines[1]]
        if around:
            group = min(around, key=lambda one: one.lines[1] - one.lines[0])
            own = {number for number, (first, last) in group.member_lines.items() if first <= line <= last}
            return own or {number for number, _ in group.members}
        before = [group for group in self.groups if group.lines[1] < line] or self.groups
        return {number for number, _ in max(before, key=lambda one: one.lines[1]).members} if before else set()
