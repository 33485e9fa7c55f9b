#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Packs what the guests need for a machine without a network, and unpacks it there. See usage below.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
for part in common kernel guest qemu dingo; do
    # shellcheck source=/dev/null
    . "$here/lib/$part.sh"
done
usage() {
    cat <<'EOU'
Takes what scripts/vm.sh boots to a bare machine: QEMU, the guests' root, kernels, and this tree's modules and those of its
tests, built here. scripts/bare.py takes what builds the rest.

usage: scripts/bare-guests.sh pack DIRECTORY KERNEL...    here, as root: DIRECTORY gets root.tar.xz.00, .01, ..., which stay if
                                                          they are there, and KERNEL.tar.xz.00, ...
       scripts/bare-guests.sh unpack DIRECTORY            there, as root, in the same tree; into the cache
KERNEL is a name that scripts/vm.sh takes. A piece has at most 40 MB; unpack takes any of the archives, also one after another.
There, say DINGO_PACKAGES=installed DINGO_MODULES=$HOME/.cache/dingo/modules. The cache must have the same path here and there.
scripts/lab-shards.sh uses such a machine.
EOU
}

# adopt NAME RECIPE [PATH]: links the unpacked product NAME (PATH, when several have the name) to
# the cache path of RECIPE, and prints that path. The packed name cannot be trusted: a recipe
# contains the text of functions, which another version of bash may print differently.
adopt() {
    local path came
    path=$(cached_path "$1" "$2")
    came=${3:-$(find "$DINGO_CACHE" -maxdepth 1 -name "$1-????????????" | head -n 1)}
    [ -e "$path" ] || [ -z "$came" ] || ln -s "$came" "$path"
    [ -e "$path" ] || die "no $1 for this recipe among the cached files; found: $(find "$DINGO_CACHE" -maxdepth 1 -name "$1-*" | xargs)"
    printf '%s\n' "$path"
}
adopt_all() {
    local kernel kernel_dir index
    export DINGO_PACKAGES=installed
    # Overrides common.sh's `cached`: products are adopted, never built.
    cached() { adopt "$1" "$2" "${index:-}"; }
    [ -d "$DINGO_CACHE/modules" ] || return 0
    qemu_root >/dev/null
    guest_root_image >/dev/null
    for kernel in $(ls "$DINGO_CACHE/modules"); do
        ! is_debug_kernel "$kernel" || adopt "kernel-$kernel" "$(debug_kernel_recipe "$kernel")" >/dev/null
        kernel_dir=$(kernel_image "$kernel")
        index=$(readlink "$DINGO_CACHE/modules/$kernel/index") module_index "$DINGO_CACHE/modules/$kernel/dingo.ko" >/dev/null
        log "$kernel can be booted"
    done
}

case ${1:-} in
-h | --help) usage; exit 0 ;;
pack) [ $# -ge 3 ] || { usage >&2; exit 2; } ;;
unpack)
    [ $# = 2 ] || { usage >&2; exit 2; }
    for first in "$2"/*.tar.xz.00; do
        cat "${first%00}"[0-9][0-9] | tar -xJf - -C /
    done
    adopt_all
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
# archive NAME: packs the paths that were added since the last call of archive.
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
    # The guest root image. Of the tree, only the (empty) directory is needed: its name is in
    # recipes.
    add "$(dirname "$(guest_root_image)")" "$(guest_tree)"
    archive root
fi

build_dingo dingo_contract_files
build=$(dingo_build_dir)
out=$(cd "$out" && pwd)
cd "$here/.."
# shellcheck source=/dev/null
. tests/e2e/vm/cases/driver_parts.sh
fail() { die "$*"; }
for kernel in "${kernels[@]}"; do
    modules=$DINGO_CACHE/modules/$kernel
    logs=$build/bare-$kernel
    rm -rf "$modules"
    mkdir -p "$modules"
    ko=$(build_dingo_module "$kernel")
    cp "$(dirname "$ko")"/{dingo,dingo_ib}.ko "$modules/"
    for name in kverbs lying_card foreign late_event; do
        build_test_module "$name"
        cp "$logs/$name/$name.ko" "$modules/"
    done
    mkdir -p "$logs"
    build_exporter
    cp "$exporter/dmabuf_exporter.ko" "$modules/"
    kernel_dir=$(kernel_image "$kernel")
    ln -s "$(module_index "$modules/dingo.ko")" "$modules/index"
    add "$modules" "$(readlink "$modules/index")" "$(kernel_root "$kernel")/release"
    find "$kernel_dir" -maxdepth 1 ! -path "$kernel_dir" ! -name modules >>"$list"
    archive "$kernel"
done
ls -l "$out" >&2
