#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Generates dingo_hw.h, dingo_pkg.sv, contract.md and layout tables from dingo.toml.

usage: gen.py CONTRACT.toml [--c FILE] [--sv FILE] [--sv-test FILE] [--c-test FILE] [--md FILE]
Exit status 1 and one line on stderr when the contract contradicts itself.
"""
import argparse
import re
import sys
import textwrap
import tomllib

SIZES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8, "be16": 2, "be32": 4}
C_TYPES = {"u8": "__u8", "u16": "__le16", "u32": "__le32", "u64": "__le64", "be16": "__be16", "be32": "__be32"}
PREFIX = "DINGO_"


def die(message):
    sys.exit(f"gen.py: {message}")


def parse_type(text):
    match = re.fullmatch(r"(\w+)(?:\[(\d+)\])?", text)
    if not match:
        die(f"type '{text}' is not understood")
    return match.group(1), int(match.group(2)) if match.group(2) else None


class Contract:
    """The checked contract. Every struct has size, fields (offset, base, count, name, doc) and bits."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = tomllib.load(file)
        self.major, self.minor = data["meta"]["major"], data["meta"]["minor"]
        self.consts, self.enums, self.counters = data["const"], data["enum"], data["counters"]
        self.regs, self.structs, self.ranges = data["regs"], data["struct"], data["range"]
        self.sizes = dict(SIZES)
        for enum in self.enums:
            self.check_enum(enum)
        for group in self.ranges:
            self.check_range(group)
        for regs in self.regs:
            self.check_regs(regs)
        for struct in self.structs:
            self.check_struct(struct)

    @staticmethod
    def check_enum(enum):
        values = [value for _, value, _ in enum["values"]]
        if len(set(values)) != len(values):
            die(f"enum {enum['name']} has two names for one value")

    def check_range(self, group):
        known = {name for enum in self.enums if enum["name"] == group["enum"] for name, _, _ in enum["values"]}
        for name, _, low, high, _ in group["values"]:
            if name not in known or low > high:
                die(f"range {group['name']}.{name} is empty, or enum {group['enum']} does not know it")

    @staticmethod
    def check_regs(regs):
        end, names = 0, {}
        for offset, access, width, name, _ in regs["regs"]:
            if offset < end or offset % (width // 8) or access not in ("ro", "wo", "rw"):
                die(f"register {name} overlaps, is misaligned or has a bad access")
            end, names[name] = offset + width // 8, width
        for field, name, low, width, _ in regs.get("bits", []):
            if field not in names or low + width > names[field]:
                die(f"bits {field}.{name} do not fit")

    def check_struct(self, struct):
        end, widths = 0, {}
        for offset, type_text, name, _ in struct["fields"]:
            base, count = parse_type(type_text)
            if base not in self.sizes:
                die(f"{struct['name']}.{name}: unknown type {base}")
            align = min(8, self.sizes[base])
            if offset != end or offset % align:
                die(f"{struct['name']}.{name} is at {offset}, expected {end} and aligned to {align}")
            widths[name] = self.sizes[base] * 8
            end = offset + self.sizes[base] * (count or 1)
        if end != struct["size"]:
            die(f"struct {struct['name']} is {end} bytes, size says {struct['size']}")
        for field, name, low, width, _ in struct.get("bits", []):
            if field not in widths or low + width > widths[field]:
                die(f"bits {struct['name']}.{field}.{name} do not fit")
        self.sizes[struct["name"]] = struct["size"]


def enum_value(enum, value):
    return 1 << value if enum.get("kind") == "bits" else value


def mask(low, width):
    return ((1 << width) - 1) << low


def c_number(value):
    return f"{value:#x}ULL" if value > 0xFFFFFFFF else f"{value:#x}U" if value > 0x7FFFFFFF or value > 9 else str(value)


def constants(contract):
    """(name, value, doc) of every number that C and SystemVerilog share, in contract order."""
    yield "CONTRACT_MAJOR", contract.major, "contract version"
    yield "CONTRACT_MINOR", contract.minor, "contract version"
    for group in contract.consts:
        yield from group["values"]
    for group in contract.regs:
        for offset, _, _, name, doc in group["regs"]:
            yield f"REG_{name}", offset, doc
        for field, name, low, width, doc in group.get("bits", []):
            yield f"{field}_{name}_MASK", mask(low, width), doc
    for enum in contract.enums:
        for name, value, doc in enum["values"]:
            yield f"{enum['name'].upper()}_{name}", enum_value(enum, value), doc
        if enum.get("kind") == "bits":
            yield f"{enum['name'].upper()}_ALL", sum(1 << value for _, value, _ in enum["values"]), "every bit"
    for group in contract.ranges:
        for name, _, low, high, doc in group["values"]:
            yield f"{group['name'].upper()}_{name}_MIN", low, doc
            yield f"{group['name'].upper()}_{name}_MAX", high, doc
    for struct in contract.structs:
        for field, name, low, width, doc in struct.get("bits", []):
            yield f"{struct['name'].upper()}_{field.upper()}_{name}_MASK", mask(low, width), doc


def comment(text):
    return f" /* {' '.join(text.split())} */" if text else ""


def write_c(contract):
    out = ["/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */",
           "/* Generated by hw/contract/gen.py from dingo.toml: do not edit. Meaning: docs/reference/contract.md. */",
           "#ifndef DINGO_HW_H", "#define DINGO_HW_H", "", "#include <linux/types.h>", ""]
    out += ["/* Value of a bit field, by its mask (constant masks become shifts). */",
            "#define DINGO_GET(mask, value) (((value) & (mask)) / ((mask) & -(mask)))",
            "#define DINGO_PREP(mask, value) (((value) * ((mask) & -(mask))) & (mask))", ""]
    for name, value, doc in constants(contract):
        out.append(f"#define {PREFIX}{name} {c_number(value)}{comment(doc)}")
    for group in contract.ranges:
        name = group["name"].upper()
        out += ["", f"/* X(NAME, value in *from) for each of {PREFIX}{name}_NAME_MIN and _MAX: {' '.join(group['doc'].split())} */",
                f"#define {PREFIX}FOR_EACH_{name}(X, from) \\"]
        out += [f"\tX({n}, (from)->{field}) \\" for n, field, _, _, _ in group["values"]] + ["\t/* end */"]
    for group in contract.counters:
        name = group["name"]
        out += ["", f"/* {' '.join(group['doc'].split())} */", f"enum dingo_{name}_counter {{"]
        out += [f"\t{PREFIX}{name.upper()}_{c.upper()} = {i},{comment(doc)}" for i, (c, doc) in enumerate(group["values"])]
        out += [f"\t{PREFIX}{name.upper()}_COUNTERS = {len(group['values'])}", "};", "",
                f"/* X(enumerator, \"name\") for each counter of scope {name}, in order. */",
                f"#define {PREFIX}FOR_EACH_{name.upper()}_COUNTER(X) \\"]
        out += [f"\tX({PREFIX}{name.upper()}_{c.upper()}, \"{c}\") \\" for c, _ in group["values"]] + ["\t/* end */"]
    for struct in contract.structs:
        out += ["", f"/* {' '.join(struct['doc'].split())} */", f"struct dingo_{struct['name']} {{"]
        for _, type_text, name, doc in struct["fields"]:
            base, count = parse_type(type_text)
            c_type = C_TYPES.get(base, f"struct dingo_{base}")
            out.append(f"\t{c_type} {name}{f'[{count}]' if count else ''};{comment(doc)}")
        out.append("};")
    out += ["", "#endif", ""]
    return "\n".join(out)


def sv_width(contract, base, count):
    bits = contract.sizes[base] * 8
    return f"logic [{(count or 1) * bits - 1}:0]" if base in SIZES else f"{base}_t"


def write_sv(contract):
    out = ["// SPDX-License-Identifier: BSD-2-Clause",
           "// Generated by hw/contract/gen.py from dingo.toml: do not edit. Meaning: docs/reference/contract.md.",
           "// Byte k of a structure is bits 8k+7:8k of its packed vector; arrays keep byte order. S_BYTES and S_W",
           "// are the size of struct s in bytes and bits, S_FIELD_AT is the byte offset of a field.", "",
           "/* verilator lint_off SYMRSVDWORD */  // fields keep the contract's names",
           "/* verilator lint_off UNUSEDPARAM */  // nobody needs all of it",
           "package dingo_pkg;", ""]
    for name, value, _ in constants(contract):
        width = 64 if value > 0xFFFFFFFF else 32
        out.append(f"  localparam logic [{width - 1}:0] {name} = {width}'h{value:x};")
    for group in contract.counters:
        out.append("")
        out += [f"  localparam int unsigned {group['name'].upper()}_{c.upper()} = {i};" for i, (c, _) in enumerate(group["values"])]
        out.append(f"  localparam int unsigned {group['name'].upper()}_COUNTERS = {len(group['values'])};")
    for struct in contract.structs:
        out += ["", f"  typedef struct packed {{  // {struct['size']} bytes"]
        for _, type_text, name, _ in reversed(struct["fields"]):
            base, count = parse_type(type_text)
            out.append(f"    {sv_width(contract, base, count)} {name};")
        out.append(f"  }} {struct['name']}_t;")
        upper = struct["name"].upper()
        out.append(f"  localparam int unsigned {upper}_BYTES = {struct['size']};")
        out.append(f"  localparam int unsigned {upper}_W = {8 * struct['size']};")
        out += [f"  localparam logic [31:0] {upper}_{name.upper()}_AT = 32'd{offset};" for offset, _, name, _ in struct["fields"]]
    out += ["", "endpackage", "/* verilator lint_on UNUSEDPARAM */", "/* verilator lint_on SYMRSVDWORD */", ""]
    return "\n".join(out)


def write_sv_test(contract):
    """A module that prints `const NAME value`, `size NAME bytes`, `field S.F offset bytes` as SystemVerilog sees them."""
    out = ["// SPDX-License-Identifier: BSD-2-Clause", "// Generated by hw/contract/gen.py: prints the layout.", "module contract_dump;", "  import dingo_pkg::*;"]
    out += [f"  {s['name']}_t v_{s['name']};" for s in contract.structs]
    widest = 8 * max(struct["size"] for struct in contract.structs)
    out += [f"  function automatic void show(string name, int unsigned bits, logic [{widest - 1}:0] v);",
            "    int unsigned low; low = 0;", f"    while (low < {widest} && !v[low]) low = low + 1;",
            "    $display(\"field %s %0d %0d\", name, low / 8, bits / 8);", "  endfunction", "  initial begin"]
    out += [f"    $display(\"const {name} %0d\", {name});" for name, _, _ in constants(contract)]
    for struct in contract.structs:
        name = struct["name"]
        out.append(f"    $display(\"size {name} %0d\", $bits({name}_t) / 8);")
        out.append(f"    $display(\"bytes {name} %0d\", {name.upper()}_W == 8 * {name.upper()}_BYTES ? {name.upper()}_BYTES : 0);")
        for _, _, field, _ in struct["fields"]:
            out.append(f"    $display(\"at {name}.{field} %0d\", {name.upper()}_{field.upper()}_AT);")
            out.append(f"    v_{name} = '0; v_{name}.{field} = '1; show(\"{name}.{field}\", $bits(v_{name}.{field}), {widest}'(v_{name}));")
    out += ["    $finish;", "  end", "endmodule", ""]
    return "\n".join(out)


def write_c_test(contract):
    """A C program that prints the same lines as the SystemVerilog module."""
    out = ["/* SPDX-License-Identifier: BSD-2-Clause */", "/* Generated by hw/contract/gen.py: prints the layout. */",
           "#include <stddef.h>", "#include <stdio.h>", "#include \"dingo_hw.h\"", "", "int main(void)", "{"]
    out += [f"\tprintf(\"const {name} %llu\\n\", (unsigned long long)DINGO_{name});" for name, _, _ in constants(contract)]
    for struct in contract.structs:
        c_name = f"struct dingo_{struct['name']}"
        out.append(f"\tprintf(\"size {struct['name']} %zu\\n\", sizeof({c_name}));")
        out.append(f"\tprintf(\"bytes {struct['name']} %zu\\n\", sizeof({c_name}));")
        for _, _, field, _ in struct["fields"]:
            out.append(f"\tprintf(\"at {struct['name']}.{field} %zu\\n\", offsetof({c_name}, {field}));")
            out.append(f"\tprintf(\"field {struct['name']}.{field} %zu %zu\\n\", offsetof({c_name}, {field}), sizeof((({c_name} *)0)->{field}));")
    out += ["\treturn 0;", "}", ""]
    return "\n".join(out)


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return lines + ["| " + " | ".join(" ".join(str(c).split()).replace("|", "\\|") for c in row) + " |" for row in rows]


def prose(doc):
    """Paragraphs and numbered steps, wrapped; an empty line, or a number at its beginning, begins a new one."""
    out = []
    for paragraph in re.split(r"\n\s*\n", doc.strip()):
        pieces = re.split(r"\n(?=\d+\. )", paragraph)
        for piece in pieces:
            step = re.match(r"\d+\. ", piece)
            out += textwrap.wrap(" ".join(piece.split()), 100, subsequent_indent=" " * len(step.group()) if step else "",
                                 break_long_words=False, break_on_hyphens=False)
        out.append("")
    return out[:-1]


def write_md(contract):
    out = ["# The contract between card and host", "",
           "Generated by `hw/contract/gen.py` from `hw/contract/dingo.toml`: do not edit.", "",
           *prose(f"Version {contract.major}.{contract.minor}. Little endian unless a type says be. "
                  "Reserved (rsvd) fields are written 0 and refused when not 0.")]
    for group in contract.consts:
        out += ["", f"## Constants: {group['name']}", "", *prose(group["doc"]), ""]
        out += table(["name", "value", "meaning"], [(f"`{n}`", f"{v:#x}" if v > 9 else v, d) for n, v, d in group["values"]])
    for group in contract.regs:
        out += ["", f"## Registers: {group['name']}", "", *prose(group["doc"]), ""]
        out += table(["offset", "access", "bits", "name", "meaning"], [(f"{o:#05x}", a, w, f"`{n}`", d) for o, a, w, n, d in group["regs"]])
        out += [""] + table(["field", "bits", "meaning"], [(f"`{f}.{n}`", f"{lo + w - 1}:{lo}", d) for f, n, lo, w, d in group["bits"]])
    for enum in contract.enums:
        out += ["", f"## enum {enum['name']}", "", *prose(enum["doc"]), ""]
        label = "bit" if enum.get("kind") == "bits" else "value"
        out += table(["name", label, "meaning"], [(f"`{n}`", v if label == "bit" else f"{v:#x}", d) for n, v, d in enum["values"]])
        if label == "bit":
            out += ["", f"`{enum['name'].upper()}_ALL` is every bit."]
    for group in contract.ranges:
        out += ["", f"## Ranges: {group['name']}", "", *prose(group["doc"]), ""]
        out += table(["name", "smallest", "largest", "meaning"], [(f"`{n}`", lo, hi, d) for n, _, lo, hi, d in group["values"]])
    for struct in contract.structs:
        out += ["", f"## struct {struct['name']} ({struct['size']} bytes)", "", *prose(struct["doc"]), ""]
        out += table(["offset", "type", "name", "meaning"], [(o, t, f"`{n}`", d) for o, t, n, d in struct["fields"]])
        if struct.get("bits"):
            out += [""] + table(["field", "bits", "meaning"], [(f"`{f}.{n}`", f"{lo + w - 1}:{lo}", d) for f, n, lo, w, d in struct["bits"]])
    for group in contract.counters:
        out += ["", f"## Counters: {group['name']}", "", *prose(group["doc"]), ""]
        out += table(["index", "name", "meaning"], [(i, f"`{n}`", d) for i, (n, d) in enumerate(group["values"])])
    return "\n".join(out) + "\n"


WRITERS = {"c": write_c, "sv": write_sv, "sv_test": write_sv_test, "c_test": write_c_test, "md": write_md}


def write_if_new(path, text):
    """A file that stays the same keeps its time: what is made from it is not made again."""
    try:
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    except FileNotFoundError:
        pass
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("contract")
    for name in WRITERS:
        parser.add_argument("--" + name.replace("_", "-"), metavar="FILE")
    args = parser.parse_args()
    contract = Contract(args.contract)
    for name, writer in WRITERS.items():
        path = getattr(args, name)
        if path:
            write_if_new(path, writer(contract))


if __name__ == "__main__":
    main()
