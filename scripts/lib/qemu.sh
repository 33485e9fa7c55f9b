# SPDX-License-Identifier: BSD-2-Clause
# Runs trixie-backports' QEMU, which has the vfio-user client, on this host by its own dynamic
# linker: it needs no chroot and sees this host's paths. Sourced after common.sh.

# qemu_root: print the directory of the extracted packages.
qemu_root() {
    need_packages mmdebstrap debian-archive-keyring gpgv
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
    # Not "-device help": that loads modules of every name, and those not extracted are the installed QEMU's.
    run_qemu_from "$out" -device vfio-user-pci,help | grep socket= >/dev/null
}

# run_qemu_from ROOT ARG...: run qemu-system-x86_64 of the extracted ROOT.
run_qemu_from() {
    local root=$1
    shift
    qemu_command "$root"
    "${qemu_command[@]}" "$@"
}

# qemu_command ROOT [LIBRARY]: set the array qemu_command to the words that start QEMU, with
# LIBRARY preloaded.
qemu_command() {
    local lib=$1/usr/lib/x86_64-linux-gnu
    qemu_command=(env "QEMU_MODULE_DIR=$lib/qemu"
        "$1/usr/lib64/ld-linux-x86-64.so.2" --argv0 qemu-system-x86_64
        ${2:+--preload "$2"} --library-path "$lib:$lib/pulseaudio" "$1/usr/bin/qemu-system-x86_64"
        -L "$1/usr/share/qemu" -L "$1/usr/share/seabios")
}

# qemu_preload: prints the path of the library with which QEMU survives unplug and death of a card
# (see its source).
qemu_preload() {
    local source=$dingo_root/scripts/lib/qemu_preload.c dir
    need_packages gcc libc6-dev
    dir=$(cached qemu-preload "v1 $(sha256sum <"$source")" build_qemu_preload "$source") || exit 125
    printf '%s/preload.so\n' "$dir"
}

build_qemu_preload() {
    mkdir "$1"
    gcc -O2 -Wall -Wextra -Werror -shared -fPIC -o "$1/preload.so" "$2" -ldl
}

# once_per_boot NAME COMMAND...: prints what COMMAND printed when it first ran since this machine
# started. Parallel sessions may run it at the same time; each stores its answer as a whole.
once_per_boot() {
    local answer part
    answer=$DINGO_CACHE/$1-$(cat /proc/sys/kernel/random/boot_id)
    part=$answer.$BASHPID  # in a redirection, $BASHPID may be that of a child
    if [ ! -s "$answer" ]; then
        mkdir -p "$DINGO_CACHE"
        # Remove the answers of earlier boots only: parallel sessions may be at work, too.
        find "$DINGO_CACHE" -maxdepth 1 -name "$1-*" ! -name "${answer##*/}*" -delete
        "${@:2}" >"$part"
        mv "$part" "$answer"
    fi
    cat "$answer"
}

# kvm_usable KERNEL-DIR: succeeds if an ordinary kernel really boots under KVM here. That /dev/kvm
# opens is no proof: paravirtual-only KVM (kvm-pvm in cloud sandboxes) opens and then emulates. The
# answer is cached until the machine restarts.
kvm_usable() {
    [ -r /dev/kvm ] && [ -w /dev/kvm ] || return 1
    grep -qE '^flags.* (vmx|svm)( |$)' /proc/cpuinfo || return 1
    [ "$(once_per_boot kvm try_kvm "$1")" = yes ]
}

# try_kvm KERNEL-DIR: prints "yes" if the kernel boots under KVM, else "no".
try_kvm() {
    local kernel_dir=$1 console
    log "trying KVM"
    qemu_command "$(qemu_root)"
    console=$(timeout 20 "${qemu_command[@]}" -nodefaults -no-user-config -no-reboot -display none \
        -m 256 -machine q35 -accel kvm -cpu host -serial stdio \
        -kernel "$(boot_file "$kernel_dir")" -initrd "$kernel_dir/initrd" \
        -append 'console=ttyS0 quiet panic=-1 dingo-trial' </dev/null 2>&1 | tr -d '\0' | tee "$DINGO_CACHE/kvm-trial.log") || true
    [[ $console == *dingo-trial-passed* ]] && echo yes || echo no
}

# tsc_khz: prints the frequency of the host's time-stamp counter in kHz; measured once per boot.
tsc_khz() {
    once_per_boot tsc-khz python3 "$dingo_root/scripts/lib/tsc_khz.py"
}
