#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Takes Dingo's build dependencies to a bare machine that has a compiler, CMake and ninja, and no
network.

usage: scripts/bare.py pack FILE     here: packs libraries, headers and small programs of this machine's
                                     Debian packages, and rdma-core's source
       scripts/bare.py unpack FILE   there, as root: unpacks into /; existing files are kept
"""
import os
import re
import subprocess
import sys

ROOTS = """ccache libisal-dev libcli11-dev libfmt-dev libspdlog-dev nlohmann-json3-dev libpcap-dev libibverbs-dev librdmacm-dev libnl-3-dev
    libnl-route-3-dev libudev-dev libssl-dev libgtest-dev libgmock-dev libbenchmark-dev zlib1g-dev perftest ibverbs-utils rdmacm-utils iproute2
    procps pkg-config openssh-client cpio""".split()
# Packed only if they are installed here; used by `scripts/bench.sh native`.
EXTRAS = "iperf3 qperf".split()
# Not packed: any machine with a compiler has these packages, in versions that fit together.
THERE = re.compile(r"libc6|libc-|gcc|g\+\+|cpp|libstdc|libgcc|perl|libperl|debconf|dpkg|libcrypt|linux-libc|python3|systemd|binutils|libbinutils|init|"
                   r"libpam|passwd|adduser|ca-cert|media-types|dbus|openssl$")
UNUSED = re.compile(r"/usr/share/(doc|man|locale|bash-completion|lintian|bug)|/usr/lib/ocf|/var/|/etc/(?!libibverbs)")


def lines(*command):
    return [line for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n") if line]


def packages():
    installed = {line.split(":")[0] for line in lines("dpkg-query", "-W", "-f", "${Package}\n")}
    missing = sorted(set(ROOTS) - installed)
    if missing:
        sys.exit(f"bare.py: install these first (scripts/deps.sh): {' '.join(missing)}")
    found, waiting = set(), ROOTS + EXTRAS
    while waiting:
        name = waiting.pop()
        if name in found or name not in installed or THERE.match(name):
            continue
        found.add(name)
        for needs in lines("dpkg-query", "-W", "-f", "${Depends},${Pre-Depends}", name):
            waiting += re.findall(r"(?:^|[,|])\s*([a-z0-9.+-]+)", needs)
    return sorted(found)


def pack(target):
    files = [file for name in packages() for file in lines("dpkg", "-L", name)
             if os.path.lexists(file) and (os.path.islink(file) or not os.path.isdir(file)) and not UNUSED.match(file)
             and not (file.endswith(".a") and not re.search("gtest|gmock|benchmark", file))]
    # Packed with its absolute path: the build looks for the source in the same place there.
    source = lines(os.path.join(os.path.dirname(os.path.abspath(__file__)), "rdma-core.sh"))[-1]
    subprocess.run(["tar", "-cJf", target, "-C", "/", "--no-recursion", "-T", "-", "--recursion", source], input="\n".join(files), text=True, check=True)


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("pack", "unpack"):
        print(__doc__)
        sys.exit(2)
    if sys.argv[1] == "pack":
        pack(sys.argv[2])
    else:
        subprocess.run(["tar", "-xJf", sys.argv[2], "-C", "/", "--skip-old-files", "--no-same-owner", "--keep-directory-symlink"], check=True)
        subprocess.run(["ldconfig"], check=True)


if __name__ == "__main__":
    main()
