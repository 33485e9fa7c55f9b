#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What guests need, for a machine without a network. See usage below.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
for part in common kernel guest qemu dingo; do
    # shellcheck source=/dev/null
    . "$here/lib/$part.sh"
done
usage() {
    cat <<'EOU'
Takes what scripts/vm.sh boots to a bare machine: QEMU, the guests' root, kernels, and this tree's modules, built here.
scripts/bare.py takes what builds the rest.

usage: scripts/bare-guests.sh pack DIRECTORY KERNEL...    here, as root: DIRECTORY gets root.tar.xz.00, .01, ..., which stay if
                                                          they are there, and KERNEL.tar.xz.00, ...
       scripts/bare-guests.sh unpack DIRECTORY            there, as root, in the same tree; into the cache
KERNEL is a name that scripts/vm.sh takes. A piece has at most 40 MB.
There, say DINGO_PACKAGES=installed DINGO_MODULES=$HOME/.cache/dingo/modules. The cache must have the same path here and there.
EOU
}
case ${1:-} in
-h | --help) usage; exit 0 ;;
pack) [ $# -ge 3 ] || { usage >&2; exit 2; } ;;
unpack)
    [ $# = 2 ] || { usage >&2; exit 2; }
    for first in "$2"/*.tar.xz.00; do
        cat "${first%00}"[0-9][0-9] | tar -xJf - -C /
    done
    exit 0
    ;;
*) usage >&2; exit 2 ;;
esac
need_root
need_packages xz-utils
out=$2
shift 2
kernels=("$@")
mkdir -p "$out"
list=$(mktemp)
trap 'rm -f "$list"' EXIT
add() { printf '%s\n' "$@" >>"$list"; }
# archive NAME: what was added since the last one.
archive() {
    rm -f "$out/$1".tar.xz.*
    sed 's,^/,,' "$list" | sort -u |
        tar -C / --sparse --exclude="$(guest_tree | sed 's,^/,,')/*" -cf - -T - | xz -T0 -6 | split -b 40000000 -d - "$out/$1.tar.xz."
    : >"$list"
}

if [ ! -e "$out/root.tar.xz.00" ]; then
    # QEMU with the libraries that it loads, and the firmware of a q35 machine.
    qemu=$(qemu_root)
    lib=$qemu/usr/lib/x86_64-linux-gnu
    add "$qemu"/usr/{bin/qemu-system-x86_64,lib64,share/seabios}
    find "$qemu/usr/share/qemu/" -size -400k >>"$list"
    "$qemu/usr/lib64/ld-linux-x86-64.so.2" --list --library-path "$lib:$lib/pulseaudio" "$qemu/usr/bin/qemu-system-x86_64" |
        sed -nE 's/.* => ([^ ]+) .*/\1/p' | while read -r f; do add "$f" "$(readlink -f "$f")"; done
    add "$(readlink -f "$qemu/usr/lib64/ld-linux-x86-64.so.2")" "$(dirname "$(qemu_preload)")"
    # The root, of whose tree only the name is needed.
    add "$(dirname "$(guest_root_image)")" "$(guest_tree)"
    archive root
fi

build_dingo dingo_contract_files
build=$(dingo_build_dir)
for kernel in "${kernels[@]}"; do
    modules=$DINGO_CACHE/modules/$kernel
    rm -rf "$modules"
    mkdir -p "$modules/source"
    ko=$(build_dingo_module "$kernel")
    cp "$(dirname "$ko")"/*.ko "$modules/"
    "$here/../tests/kmod/dmabuf_exporter/build.sh" "$kernel" "$build/exporter-$kernel" >&2
    cp "$build/exporter-$kernel/dmabuf_exporter.ko" "$modules/"
    cp "$here"/../tests/kmod/kverbs/{Kbuild,kverbs.c} "$here"/../kmod/ib/*.h "$here"/../kmod/include/*.h "$here"/../kmod/include/uapi/*.h \
        "$build/hw/contract/include/dingo_hw.h" "$modules/source/"
    build_kmod "$kernel" "$build/kverbs-$kernel" "$modules/source" >&2
    cp "$build/kverbs-$kernel/kverbs.ko" "$modules/"
    rm -rf "$modules/source"
    kernel_dir=$(kernel_image "$kernel")
    add "$modules" "$(module_index "$modules/dingo.ko")" "$(kernel_root "$kernel")/release"
    find "$kernel_dir" -maxdepth 1 ! -path "$kernel_dir" ! -name modules >>"$list"
    archive "$kernel"
done
ls -l "$out" >&2
