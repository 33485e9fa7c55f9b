#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks the dependencies between folders below hw/: prints each include and link line that breaks
the table.

usage: tests/layers.py

Wires depend on frames, but neither on hosts nor on cards; hosts use cards through hw/host/*.h and
do not depend on wires; only hw/host/driver and hw/host/uverbs include the header of the kernel
driver's ABI.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Folder: the other folders whose headers it may include and whose targets it may link. The longest
# matching prefix counts.
MAY = {
    "hw/contract": set(),
    "hw/engine": set(),
    "hw/packet": set(),
    "hw/model": {"hw/contract", "hw/engine", "hw/packet"},
    "hw/base": set(),
    "hw/wire": {"hw/base", "hw/engine", "hw/packet"},
    "hw/host": {"hw/base", "hw/engine"},
    "hw/host/vfio_user": {"hw/base", "hw/engine", "hw/host"},
    "hw/host/driver": {"hw/base", "hw/contract", "hw/engine", "hw/host", "hw/packet", "uapi"},
    "hw/host/gpu": {"hw/base", "hw/host/driver"},
    "hw/host/sysfs": {"hw/base", "hw/host/driver"},
    "hw/host/uverbs": {"hw/base", "hw/engine", "hw/host", "hw/host/driver", "hw/host/gpu", "hw/host/sysfs", "uapi"},
    "hw/host/rdma_cm": {"hw/base", "hw/host", "hw/host/driver", "hw/host/rdma_cm/cm", "hw/host/uverbs"},
    "hw/host/rdma_cm/cm": {"hw/engine"},
    "hw/host/preload": {"hw/host/uverbs"},  # its protocol.h
    "hw/app": {"hw/base", "hw/contract", "hw/engine", "hw/host", "hw/host/driver", "hw/host/rdma_cm", "hw/host/uverbs",
               "hw/host/vfio_user", "hw/packet", "hw/wire", "engines", "cli"},
    "hw/app/cli": {"hw/base", "hw/contract", "hw/wire", "hw/app", "cli"},
}
HEADERS = {"dingo/engine.h": "hw/engine", "dingo_hw.h": "hw/contract", "dingo-abi.h": "uapi", "dingo/model.h": "engines",
           "dingo/rtl.h": "engines", "cli/completion.h": "cli", "cli/number.h": "cli"}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.M)
LINK = re.compile(r"target_link_libraries\(\s*(\w+)([^)]*)\)")
ADD = re.compile(r"add_(?:library|executable)\(\s*([\w-]+)")


def folder_of(path):
    """Returns the longest prefix of `path` in the table; "" if there is none."""
    return max((f for f in MAY if path == f or path.startswith(f + "/")), key=len, default="")


def header_folder(name, path):
    """Returns the folder of an included header; "" for system headers."""
    if name in HEADERS:
        return HEADERS[name]
    if name.startswith("dingo/packet/"):
        return "hw/packet"
    if (path.parent / name).is_file():
        return folder_of(str((path.parent / name).resolve().relative_to(ROOT)))
    return folder_of("hw/" + name) if (ROOT / "hw" / name).is_file() else ""


def broken(where, what, own, other):
    if other and own and other != own and other not in MAY[own]:
        print(f"{where}: {what}: {own} does not know {other}")
        return 1
    return 0


def main():
    count = 0
    for path in sorted((ROOT / "hw").rglob("*")):
        if path.suffix in (".c", ".cpp", ".h"):
            own = folder_of(str(path.relative_to(ROOT)))
            if own == "hw/model":
                continue  # its headers have the same names as others
            for name in INCLUDE.findall(path.read_text(errors="replace")):
                count += broken(path.relative_to(ROOT), f'#include "{name}"', own, header_folder(name, path))
    lists = {path: path.read_text() for path in (ROOT / "hw").rglob("CMakeLists.txt")}
    home = {target: folder_of(str(path.parent.relative_to(ROOT))) for path, text in lists.items() for target in ADD.findall(text)}
    home |= {"dingo_model": "engines", "dingo_rtl": "engines", "dingo_contract": "hw/contract", "dingo_cli": "cli"}
    for path, text in sorted(lists.items()):
        own = folder_of(str(path.parent.relative_to(ROOT)))
        for target, words in LINK.findall(text):
            for word in words.split():
                count += broken(path.relative_to(ROOT), f"{target} links {word}", own, home.get(word, ""))
    return count != 0


if __name__ == "__main__":
    sys.exit(main())
