# SPDX-License-Identifier: BSD-2-Clause
# QEMU with the vfio-user client: trixie-backports' build, run on this host by its own dynamic
# linker, so that it needs no chroot and sees this host's paths. Sourced after common.sh.

# qemu_root: print the directory of the extracted packages.
qemu_root() {
    need_packages mmdebstrap
    cached qemu "v2 $(declare -f build_qemu_root)" build_qemu_root
}

build_qemu_root() {
    local out=$1 acquire opts=()
    while read -r acquire; do opts+=("--aptopt=$acquire"); done < <(apt_acquire_options)
    # Extracted, not installed: nothing in it runs but QEMU itself.
    trixie_sources | sed '/deb-src/s/ deb-src//' |
        mmdebstrap --mode=root --variant=extract --format=directory "${opts[@]}" \
            --setup-hook='mkdir -p "$1/etc/apt/preferences.d"' \
            --setup-hook='printf "Package: *\nPin: release n=trixie-backports\nPin-Priority: 500\n" \
                >"$1/etc/apt/preferences.d/backports"' \
            --include='qemu-system-x86' \
            --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
            trixie "$out" -
    run_qemu_from "$out" --version
    run_qemu_from "$out" -device help | grep -q vfio-user-pci
}

# run_qemu_from ROOT ARG...: run qemu-system-x86_64 of the extracted ROOT.
run_qemu_from() {
    local root=$1
    shift
    qemu_command "$root"
    "${qemu_command[@]}" "$@"
}

# qemu_command ROOT: set the array qemu_command to the words that start QEMU.
qemu_command() {
    local lib=$1/usr/lib/x86_64-linux-gnu
    qemu_command=(env "QEMU_MODULE_DIR=$lib/qemu"
        "$1/usr/lib64/ld-linux-x86-64.so.2" --argv0 qemu-system-x86_64
        --library-path "$lib:$lib/pulseaudio" "$1/usr/bin/qemu-system-x86_64"
        -L "$1/usr/share/qemu" -L "$1/usr/share/seabios")
}

# kvm_usable: succeed when this machine can run KVM guests, which takes more than the device node.
kvm_usable() {
    [ -r /dev/kvm ] && [ -w /dev/kvm ] || return 1
    local root
    root=$(qemu_root) || return 1
    run_qemu_from "$root" -accel kvm -machine q35 -cpu host -display none -nodefaults -S \
        -qmp stdio </dev/null >/dev/null 2>&1 <<<'{"execute":"qmp_capabilities"}{"execute":"quit"}'
}
