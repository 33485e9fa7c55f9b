#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Generates rtl_types.h, the C++ mirror of a SystemVerilog package, and a module that checks the mirror's widths.

usage: gen_types.py PACKAGE.sv [--cpp FILE] [--sv-test FILE]
Exit status 1 and one line on stderr when the package has what this cannot mirror.
"""
import argparse
import os
import re
import sys

COMMENT = re.compile(r"\s*//\s*(.*)$")
WORD_BITS = 32


def die(message):
    sys.exit(f"gen_types.py: {message}")


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


def type_name(name):
    """qp_cfg_t -> QpCfg"""
    return camel(name.removesuffix("_t"))


def constant_name(name):
    """QP_LOG -> kQpLog"""
    return "k" + camel(name.lower())


def cpp_expression(text):
    """An expression of numbers and the package's constants, as C++."""
    text = re.sub(r"\d*'[dh](\w+)", r"\1", text)
    if not re.fullmatch(r"[\w\s+*()<-]*", text):
        die(f"expression '{text}' is not understood")
    return re.sub(r"\b[A-Z_][A-Z0-9_]*\b", lambda match: constant_name(match.group()), text).strip()


def width_of_range(text):
    """'[QP_LOG-1:0]' -> 'QP_LOG'; '' -> '1'"""
    if not text:
        return "1"
    match = re.fullmatch(r"\[(.+):0\]", text.replace(" ", ""))
    if not match:
        die(f"range '{text}' is not [N:0]")
    high = match.group(1)
    if high.isdigit():
        return str(int(high) + 1)
    if not high.endswith("-1"):
        die(f"range '{text}' is not understood")
    return high.removesuffix("-1")


def lines_of(path):
    """The lines of a file, with those of what it includes (from its own directory) in their place."""
    with open(path, encoding="utf-8") as file:
        for line in file.read().splitlines():
            if match := re.match(r'`include "([^"]+)"', line):
                yield from lines_of(os.path.join(os.path.dirname(path), match.group(1)))
            else:
                yield line


class Package:
    """macros and constants (name, expression, doc), and types in order: alias, enum or struct."""

    def __init__(self, path):
        self.lines = list(lines_of(path))
        self.name, self.macros, self.constants, self.types = None, [], [], []
        self.at = 0
        while self.at < len(self.lines):
            self.statement()
        if not self.name:
            die(f"{path} has no package")
        self.kinds = {name: kind for kind, name, *_ in self.types}

    def next(self):
        self.at += 1
        return self.lines[self.at - 1]

    def doc(self):
        """The comment lines directly above the statement in work."""
        lines, at = [], self.at - 2
        while at >= 0 and (match := re.fullmatch(r"\s*///?\s(.*)", self.lines[at])) and "------" not in self.lines[at]:
            lines.insert(0, match.group(1))
            at -= 1
        return lines

    def statement(self):
        line = self.next()
        if match := re.match(r"`define (\w+) (\d+)", line):
            self.macros.append(match.groups())
        elif match := re.match(r"package (\w+);", line):
            self.name = match.group(1)
        elif match := re.match(r"\s*localparam int unsigned (\w+) = ([^;]+);(.*)", line):
            self.constants.append((match.group(1), match.group(2), comment_of(match.group(3))))
        elif match := re.match(r"\s*typedef logic\s*(\[[^\]]+\])?\s*(\w+);", line):
            self.types.append(("alias", match.group(2), width_of_range(match.group(1))))
        elif match := re.match(r"\s*typedef enum logic (\[[^\]]+\]) \{", line):
            self.enum(width_of_range(match.group(1)))
        elif re.match(r"\s*typedef struct packed \{", line):
            self.struct(comment_of(line.partition("{")[2]))
        elif re.match(r"\s*typedef", line):
            die(f"'{line.strip()}' is not understood")

    def enum(self, width):
        doc, values = self.doc(), []
        while not (match := re.match(r"\s*\} (\w+);", line := self.next())):
            value = re.fullmatch(r"\s*(\w+)\s*=\s*\d+'[dh](\w+),?(\s*//.*)?", line)
            if not value:
                die(f"'{line.strip()}' is no value of an enum")
            values.append((value.group(1), int(value.group(2), 16), comment_of(value.group(3))))
        self.types.append(("enum", match.group(1), width, values, doc))

    def struct(self, remark):
        doc, members = self.doc() + ([remark] if remark else []), []
        while not (match := re.match(r"\s*\} (\w+);", line := self.next())):
            if re.fullmatch(r"\s*(//.*)?", line):
                continue
            member = re.fullmatch(r"\s*(\w+)\s*(\[[^\]]+\])?\s+(\w+);(\s*//.*)?", line)
            if not member:
                die(f"'{line.strip()}' is no member of a struct")
            base, span, name, text = member.groups()
            if base != "logic" and span:
                die(f"'{line.strip()}' is an array")
            members.append((base, width_of_range(span) if base == "logic" else None, name, comment_of(text)))
        self.types.append(("struct", match.group(1), members, doc))

    def value(self, expression):
        """An expression with the macros' own values."""
        names = {f"`{name}": value for name, value in self.macros}
        known = {}
        for name, text, _ in self.constants:
            known[name] = int(eval(names.get(text, re.sub(r"\d*'[dh](\w+)", r"\1", text)), {"__builtins__": {}}, known))
        return int(eval(str(expression), {"__builtins__": {}}, known))

    def width(self, base, width):
        """Width of a member as an expression; of a structure its name."""
        if base == "logic":
            return width
        for kind, name, *rest in self.types:
            if name == base:
                return name if kind == "struct" else rest[0]
        die(f"type '{base}' is not known")


def comment_of(text):
    match = COMMENT.match(text or "")
    return match.group(1) if match else ""


def integer(bits):
    return "bool" if bits == 1 else next(f"std::uint{n}_t" for n in (8, 16, 32, 64) if bits <= n)


def cpp_member(package, base, width):
    """C++ type and initial value of a member."""
    if base != "logic":
        kind = package.kinds.get(base) or die(f"type '{base}' is not known")
        if kind == "struct":
            return type_name(base), ""
        if kind == "enum":
            return type_name(base), "{}"
        width = package.width(base, width)
    bits = package.value(width)
    if bits > 64:
        if bits % WORD_BITS:
            die(f"a vector of {bits} bits is not of whole words")
        return f"Bits<{cpp_expression(width)}>", "{}"
    return integer(bits), " = false" if bits == 1 else " = 0"


def write_cpp(package, source):
    out = ["// SPDX-License-Identifier: BSD-2-Clause",
           f"// Generated by hw/rtl/gen_types.py from {source}: do not edit.", "//",
           "// Structures that ports carry. fields() goes over the members from the highest bit down, with the",
           "// width of each; sizes follow the macros with which the module is Verilated.",
           "#pragma once", "", "#include <array>", "#include <cstdint>", ""]
    for name, value in package.macros:
        out += [f"#ifndef {name}", f"#define {name} {value}", "#endif"]
    out += ["", "namespace rtl {", "", "/// A vector as 32-bit words, lowest first.", "template <unsigned bits>",
            f"using Bits = std::array<std::uint32_t, bits / {WORD_BITS}>;", ""]
    for name, text, doc in package.constants:
        value = text[1:] if text.startswith("`") else cpp_expression(text)
        out.append(f"inline constexpr unsigned {constant_name(name)} = {value};" + (f"  ///< {doc}" if doc else ""))
    for kind, name, *rest in package.types:
        if kind == "enum":
            width, values, doc = rest
            out += ["", *(f"/// {line}" for line in doc), f"enum {type_name(name)} : {integer(package.value(width))} {{"]
            out += [f"    {constant_name(n)} = {value}," + (f"  ///< {text}" if text else "") for n, value, text in values] + ["};"]
        elif kind == "struct":
            out += ["", *write_cpp_struct(package, name, *rest)]
    out += ["", *(f"static_assert({type_name(name)}::kBits == {constant_name(width)});" for width, name in checked(package)),
            "", "}  // namespace rtl", ""]
    return "\n".join(out)


def checked(package):
    """Constants NAME_W that give the width of a structure name_t, with the structure."""
    structs = {name for kind, name, *_ in package.types if kind == "struct"}
    return [(name, struct) for name, *_ in package.constants
            if name.endswith("_W") and (struct := name.removesuffix("_W").lower() + "_t") in structs]


def write_cpp_struct(package, name, members, doc):
    out = [*(f"/// {line}" for line in doc), f"struct {type_name(name)} {{"]
    widths, visits = [], []
    for base, width, member, text in members:
        cpp_type, initial = cpp_member(package, base, width)
        out.append(f"    {cpp_type} {member}{initial};" + (f"  ///< {text}" if text else ""))
        if package.kinds.get(base) == "struct":
            widths.append(f"{cpp_type}::kBits")
            visits.append(f"        {member}.fields(v);")
        else:
            expression = cpp_expression(package.width(base, width))
            widths.append(expression)
            visits.append(f"        v({member}, {expression});")
    out += [f"    static constexpr unsigned kBits = {' + '.join(widths)};",
            "    template <class V>", "    void fields(V& v) {", *visits, "    }", "};"]
    return out


def write_sv_test(package, source):
    """A module that does not elaborate when a width here is not SystemVerilog's."""
    out = ["// SPDX-License-Identifier: BSD-2-Clause",
           f"// Generated by hw/rtl/gen_types.py from {source}: elaborates when the widths are right.", "module rtl_types_check;"]
    for kind, name, *rest in package.types:
        if kind == "struct":
            out.append(f"  {package.name}::{name} v_{name};")
            for base, width, member, _ in rest[0]:
                width = package.width(base, width)
                width = f"$bits({package.name}::{width})" if package.kinds.get(width) else re.sub(r"\b([A-Z])", rf"{package.name}::\1", width)
                out.append(f"  if ($bits(v_{name}.{member}) != {width}) $error(\"{name}.{member}\");")
    return "\n".join(out + ["endmodule", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("package")
    parser.add_argument("--cpp", metavar="FILE")
    parser.add_argument("--sv-test", metavar="FILE")
    args = parser.parse_args()
    package = Package(args.package)
    source = args.package.rsplit("/", 1)[-1]
    for path, writer in ((args.cpp, write_cpp), (args.sv_test, write_sv_test)):
        if path:
            with open(path, "w", encoding="utf-8") as file:
                file.write(writer(package, source))


if __name__ == "__main__":
    main()
