#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares the contract's constants, sizes and offsets between a C compiler and Verilator.

usage: layout_test.py CONTRACT_DUMP_C GENERATED_DIR WORK_DIR; exit 77 = skipped (no verilator)
"""
import difflib
import pathlib
import shutil
import subprocess
import sys


def lines(command):
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line for line in output.splitlines() if line.startswith(("const ", "size ", "bytes ", "at ", "field "))]


def main():
    c_program, generated, work = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    if not shutil.which("verilator"):
        print("skipped: verilator is not installed")
        return 77
    subprocess.run(["verilator", "--binary", "-Wall", "-Wno-UNUSEDPARAM", "-Wno-SYMRSVDWORD", "--top-module", "contract_dump",
                    generated / "dingo_pkg.sv", generated / "contract_dump.sv", "-Mdir", work], check=True, stdout=subprocess.DEVNULL)
    in_c, in_sv = lines([c_program]), lines([work / "Vcontract_dump"])
    print(f"{len(in_c)} facts in C, {len(in_sv)} in SystemVerilog")
    if len(in_c) < 100 or in_c != in_sv:
        print("\n".join(difflib.unified_diff(in_c, in_sv, "C", "SystemVerilog", lineterm="")))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
