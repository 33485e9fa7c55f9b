# SPDX-License-Identifier: BSD-2-Clause
"""Finds and applies the mutants of C and C++ sources. mutate.py runs them."""
import os
import re

# Kind of mutant, pattern, replacement. The blanks keep templates' angle brackets and shifts from
# matching.
SWAPS = [
    ("compare", r" == ", " != "), ("compare", r" != ", " == "),
    ("limit", r" < ", " <= "), ("limit", r" <= ", " < "), ("limit", r" > ", " >= "), ("limit", r" >= ", " > "),
    ("logic", r" && ", " || "), ("logic", r" \|\| ", " && "),
    ("arithmetic", r" \+ ", " - "), ("arithmetic", r" - ", " + "), ("arithmetic", r" & ~", " | ~"),
    ("arithmetic", r"(?<=[^&] )& (?=[^&~])", "| "), ("arithmetic", r" \+= ", " -= "), ("arithmetic", r" \|= ", " &= "),
    ("arithmetic", r"\+\+(?=[a-z])", "--"), ("constant", r"\btrue\b", "false"), ("constant", r"\bfalse\b", "true"),
]
SKIPPED = re.compile(r"^\s*(#|//|/\*|\*|template|using|namespace|static_assert|typedef|case\b|public:|private:|friend|\[\[)"
                     r"|__attribute__|EXPECT_|ASSERT_|\boperator"
                     # Log messages, and statements that only change time or memory.
                     r"|\blog::|\bverbs_err\(|\breserve\(|\bshrink_to_fit\(|\bprefetch|\bassert\(")
STATEMENT = re.compile(r"^\s+((?:[\w.:\[\]>*-]+)(?:\(.*\))?(?:\s*(?:=|\+=|-=|\|=|&=)\s*[^=].*)?|\+\+[\w.>-]+|--[\w.>-]+);$")
DECLARES = re.compile(r"^\s*(?:(?:const|constexpr|static|auto|struct|unsigned|u8|u16|u32|u64|int|bool|using|break|continue|goto|default)\b|return\s+\S)")


def blank_out(text):
    """Blanks out comments, strings and character constants; offsets stay the same."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'', blank, text, flags=re.S)


def mutants_of(path):
    """Returns (kind, offset, length, replacement) of all mutants of a file."""
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
            value = int(m.group(1), 8 if re.fullmatch(r"0[0-7]+", m.group(1)) else 0)
            found.append(("constant", start + m.start(1), len(m.group(1)), str(value + 1)))
        m = re.match(r"^\s*(?:\} else )?if \((?!constexpr)(.*)\)( \{)?$", body)
        if m and m.group(1).count("(") == m.group(1).count(")") and ";" not in m.group(1) and " = " not in m.group(1):
            at, size = start + m.start(1), len(m.group(1))
            found += [("negated", at, 0, ("!(", size, ")")), ("never", at, 0, ("false && (", size, ")"))]
        # A line that is a whole statement in a function.
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


def sources_of(root, paths, without):
    """Returns the C and C++ files that `paths` name or that lie below them, less those of
    `without`.

    Raises ValueError if a path does not exist, or one of `without` is not in `paths`."""
    def below(path):
        whole = os.path.join(root, path)
        if not os.path.exists(whole):
            raise ValueError(f"no such file: {path}")
        if os.path.isfile(whole):
            return {path}
        inside = {os.path.relpath(os.path.join(folder, name), root) for folder, _, names in os.walk(whole) for name in names}
        return {name for name in inside if re.search(r"\.(c|cpp|h)$", name)}

    found = set().union(*map(below, paths))
    for path in without:
        if not below(path) & found:
            raise ValueError(f"left out and not in the part: {path}")
        found -= below(path)
    return sorted(found)


def without_comments(text):
    """Removes comments and keeps line numbers."""
    def keep(match):
        found = match.group()
        return found if found[0] in "\"'" else re.sub(r"[^\n]", "", found)
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'', keep, text, flags=re.S)


def describe(text, mutant):
    """Returns the changed source, line number, changed line, the line before it that is more than a bracket; both without comments, so that a
    mutant keeps its name when a comment is reworded."""
    changed = apply(text, mutant)
    number = text.count("\n", 0, mutant[1]) + 1
    lines = [line.strip() for line in without_comments(changed).splitlines()]
    return changed, number, lines[number - 1], next((line for line in reversed(lines[:number - 1]) if re.search(r"\w", line)), "")


def read_equivalents(path):
    """Returns {(file, changed line, or "line before | changed line"): reason}."""
    found = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                place, reason = line.rstrip("\n").rsplit(" ## ", 1)
                name, changed = place.split(": ", 1)
                found[name, changed.strip()] = reason
    return found
