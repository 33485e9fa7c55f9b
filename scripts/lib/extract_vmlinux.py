#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Unpack the ELF kernel from a bzImage.

usage: extract_vmlinux.py BZIMAGE OUTPUT
Field offsets are those of the x86 boot protocol (Documentation/arch/x86/boot.rst).
"""

import struct
import subprocess
import sys

DECOMPRESSORS = {
    b"\x28\xb5\x2f\xfd": ["zstd", "-dc"],
    b"\xfd7zX": ["xz", "-dc", "--single-stream"],
    b"\x1f\x8b\x08\x00": ["gzip", "-dc"],
}


def main() -> int:
    image = open(sys.argv[1], "rb").read()
    if image[0x202:0x206] != b"HdrS":
        print("not a bzImage", file=sys.stderr)
        return 1
    setup_sectors = image[0x1F1] or 4
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = (setup_sectors + 1) * 512 + offset
    payload = image[start : start + length]
    command = DECOMPRESSORS.get(payload[:4])
    if command is None:
        print(f"unknown payload format {payload[:4].hex()}", file=sys.stderr)
        return 1
    # The payload ends with its unpacked size, which the tools report as trailing garbage.
    done = subprocess.run(command, input=payload, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    (size,) = struct.unpack("<I", payload[-4:])
    if done.stdout[:4] != b"\x7fELF" or len(done.stdout) != size:
        print("the payload did not unpack to an ELF kernel", file=sys.stderr)
        return 1
    with open(sys.argv[2], "wb") as output:
        output.write(done.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
