#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The generator of rtl_types.h: what it makes of a package, what it refuses, and that its widths are SystemVerilog's.

usage: types_test.py HW_RTL_DIR VERILATOR
"""
import pathlib
import subprocess
import sys
import tempfile

PACKAGE = """\
`ifndef DINGO_X_LOG
`define DINGO_X_LOG 11
`endif
package some_pkg;
  localparam int unsigned X_LOG = `DINGO_X_LOG;  // how many
  localparam int unsigned OUTER_W = 69 + X_LOG;
  typedef logic [X_LOG-1:0] x_t;
  typedef enum logic [1:0] {
    OP_SMALL = 2'd0,
    OP_LARGE = 2'd2                // the other
  } op_t;
`include "inner.svh"
  // What it is for.
  typedef struct packed {
    op_t         op;
    logic [1:0]  rsvd;
    inner_t      inner;
  } outer_t;
endpackage
"""
INCLUDED = """\
  typedef struct packed {
    logic        on;
    logic [63:0] addr;             // of the bus
    x_t          x;
  } inner_t;
"""
EXPECTED = [
    "#define DINGO_X_LOG 11",
    "inline constexpr unsigned kXLog = DINGO_X_LOG;  ///< how many",
    "enum Op : std::uint8_t {",
    "    kOpLarge = 2,  ///< the other",
    "    std::uint64_t addr = 0;  ///< of the bus",
    "    std::uint16_t x = 0;",
    "        v(x, kXLog);",
    "/// What it is for.",
    "    Op op{};",
    "    static constexpr unsigned kBits = 2 + 2 + Inner::kBits;",
    "        inner.fields(v);",
    "static_assert(Outer::kBits == kOuterW);",
]
# Error that is inserted: (text of PACKAGE or INCLUDED, replacement, word that the message must have)
REFUSED = {
    "unknown type": ("x_t          x;", "y_t          x;", "y_t"),
    "array": ("inner_t      inner;", "inner_t [1:0] inner;", "array"),
    "odd vector": ("logic [63:0] addr;", "logic [70:0] addr;", "71"),
    "range that does not end at 0": ("logic [1:0]  rsvd;", "logic [2:1]  rsvd;", "[2:1]"),
    "typedef of a kind that is not known": ("  typedef logic [X_LOG-1:0] x_t;", "  typedef int x_t;", "typedef"),
}


def generate(rtl, text, included):
    with tempfile.TemporaryDirectory() as directory:
        package = pathlib.Path(directory, "some_pkg.sv")
        package.write_text(text, encoding="utf-8")
        pathlib.Path(directory, "inner.svh").write_text(included, encoding="utf-8")
        header = pathlib.Path(directory, "types.h")
        result = subprocess.run([sys.executable, rtl / "gen_types.py", package, "--cpp", header],
                                capture_output=True, text=True, check=False)
        return result, header.read_text(encoding="utf-8") if header.exists() else ""


def elaborates(rtl, verilator, break_it):
    """Whether SystemVerilog finds the widths that the generator wrote down for rtl_pkg."""
    with tempfile.TemporaryDirectory() as directory:
        check = pathlib.Path(directory, "check.sv")
        subprocess.run([sys.executable, rtl / "gen_types.py", rtl / "rtl_pkg.sv", "--sv-test", check], check=True)
        if break_it:
            text = check.read_text(encoding="utf-8")
            check.write_text(text.replace("!= 512)", "!= 511)", 1), encoding="utf-8")
        return subprocess.run([verilator, "--lint-only", "--relative-includes", "--top-module", "rtl_types_check", rtl / "rtl_pkg.sv", check],
                              capture_output=True, check=False).returncode == 0


def main():
    rtl, verilator = pathlib.Path(sys.argv[1]), sys.argv[2]
    failures = []
    result, header = generate(rtl, PACKAGE, INCLUDED)
    if result.returncode != 0:
        failures.append(f"a good package is refused: {result.stderr.strip()}")
    failures += [f"missing: {line}" for line in EXPECTED if line not in header.splitlines()]
    for name, (old, new, word) in REFUSED.items():
        result, _ = generate(rtl, PACKAGE.replace(old, new), INCLUDED.replace(old, new))
        if result.returncode != 1 or word not in result.stderr or len(result.stderr.strip().splitlines()) != 1:
            failures.append(f"{name}: status {result.returncode}, '{result.stderr.strip()[-200:]}'")
    if not elaborates(rtl, verilator, False):
        failures.append("SystemVerilog finds other widths in rtl_pkg.sv")
    if elaborates(rtl, verilator, True):
        failures.append("a wrong width is not found")
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main()
