#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Checks that the driver builds for every kernel without a warning, and that sparse, checkpatch and
# kernel-doc find nothing.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/lib/common.sh
. scripts/lib/kernel.sh
need_root
need_packages kmod perl python3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/inc"
python3 hw/contract/gen.py hw/contract/dingo.toml --c "$work/inc/dingo_hw.h"

# verdict NAME STATUS LOG: reports a case; it passes if STATUS is 0 and LOG is empty.
verdict() {
    if [ "$2" = 0 ] && [ ! -s "$3" ]; then
        echo "PASS kmod:$1"
    else
        echo "FAIL kmod:$1: status $2; $(head -n 3 "$3" | tr '\n' ' ' | cut -c1-400)"
    fi
}

# modules NAME: case: dingo.ko does not depend on RDMA, and dingo_ib.ko has the alias of the
# auxiliary device that dingo.ko makes.
modules() {
    local need
    {
        need=$(modinfo -F depends "$work/out/dingo.ko")
        [[ ,$need, != *,ib_* && ,$need, != *,rdma* ]] || echo "dingo.ko needs $need"
        need=$(modinfo -F depends "$work/out/dingo_ib.ko")
        [[ ,$need, == *,dingo,* ]] || echo "dingo_ib.ko needs $need"
        [ "$(modinfo -F alias "$work/out/dingo_ib.ko")" = auxiliary:dingo.rdma ] || echo "dingo_ib.ko has another alias"
    } >"$work/modules.log" 2>&1
    verdict "$1: the modules and what they need" 0 "$work/modules.log"
}

# build NAME KERNEL SOURCE ARG...: case: a build from scratch without warnings.
build() {
    local name=$1 kernel=$2 source=$3 rc=0
    shift 3
    DINGO_CONTRACT_INC=$work/inc build_kmod "$kernel" "$work/out" "$source" "$@" \
        >"$work/build.log" 2>&1 || rc=$?
    grep -iE 'warning|error' "$work/build.log" >"$work/bad.log" || true
    [ -e "$work/out/dingo.ko" ] && [ -e "$work/out/dingo_ib.ko" ] || rc=1
    verdict "$name" "$rc" "$work/bad.log"
    modules "$name"
    rm -rf "$work/out"
}

# build_kernel_scripts: gets those scripts of the kernel's source that no headers package contains.
build_kernel_scripts() {
    local out=$1 apt=$1/apt scripts=linux-source-6.12/scripts
    mkdir -p "$out"
    private_trixie_apt "$apt"
    cd "$apt/download"
    APT_CONFIG=$apt/apt.conf apt-get -qq download linux-source-6.12
    dpkg-deb --fsys-tarfile ./*.deb | tar -xO ./usr/src/linux-source-6.12.tar.xz | xz -dc |
        tar -x -C "$out" --strip-components=2 "$scripts/checkpatch.pl" "$scripts/kernel-doc" \
            "$scripts/spelling.txt" "$scripts/const_structs.checkpatch"
    cd "$out"
    rm -rf "$apt"
}

build "build and sparse-6.12" 6.12 kmod W=1 C=2
build build-7.2 7.2 kmod W=1
echo "SKIP kmod:sparse-7.2: Debian's sparse does not know __typeof_unqual__, which 7.2's headers use"

rc=0
make -s -C kmod dkms-tree DESTDIR="$work/dkms" >"$work/dkms.log" 2>&1 || rc=$?
verdict dkms-tree "$rc" "$work/dkms.log"
build dkms-build-6.12 6.12 "$work"/dkms/usr/src/dingo-*

scripts=$(cached kernel-scripts-6.12 "v1 $(declare -f build_kernel_scripts)" build_kernel_scripts)
mapfile -t sources < <(git ls-files --cached --others --exclude-standard 'kmod/*.c' 'kmod/*.h')
checkpatch() {
    perl "$scripts/checkpatch.pl" --no-tree --strict --terse --show-types --no-summary "$@"
}
rc=0
for f in "${sources[@]}"; do
    case $f in
    # The only file that checks the kernel's version, with macros that may ignore arguments.
    kmod/include/compat.h) checkpatch --ignore LINUX_VERSION_CODE,CONSTANT_COMPARISON,MACRO_ARG_UNUSED,SPACING -f "$f" ;;
    # Trace events follow the kernel's own style for them.
    *_trace.h) checkpatch --ignore PARENTHESIS_ALIGNMENT,OPEN_ENDED_LINE,LINE_SPACING,SPACING -f "$f" ;;
    *) checkpatch -f "$f" ;;
    esac || true
done >"$work/checkpatch.log" 2>&1
verdict checkpatch "$rc" "$work/checkpatch.log"

rc=0
perl "$scripts/kernel-doc" -none -Wall "${sources[@]}" >"$work/kernel-doc.log" 2>&1 || rc=$?
verdict kernel-doc "$rc" "$work/kernel-doc.log"

grep -nE '^#(if|ifdef|ifndef)' kmod/{eth,ib}/*.c >"$work/ifdef.log" || true
grep -nE '^#(if|ifdef) ' kmod/{eth,ib,include}/dingo*.h | grep -v TRACE_HEADER_MULTI_READ >>"$work/ifdef.log" || true
verdict "conditional compilation only in compat.h" 0 "$work/ifdef.log"
