# SPDX-License-Identifier: BSD-2-Clause
# For each kernel, makes a trixie build root with headers, compiler, and the image and modules of
# the same release; builds out-of-tree modules in it. Sourced after common.sh.

dingo_kernels=(6.12 7.2)

# kernel_root KERNEL: print the directory of a trixie root with gcc, make, sparse and the headers
# of the newest Debian release of that series; `release` holds the release name, `image/` the
# unpacked linux-image package (vmlinuz and modules), `root/` the root itself. For KERNEL-debug,
# -lockdep and -kasan see debug_kernel.sh.
kernel_root() {
    local kernel=$1
    ! is_debug_kernel "$kernel" || { debug_kernel_root "$kernel"; return; }
    [[ $kernel =~ ^[0-9]+\.[0-9]+$ ]] || die "--kernel takes 6.12 or 7.2, not '$kernel'"
    need_packages mmdebstrap debian-archive-keyring gpgv
    cached "kernel-$kernel" "v3 $(declare -f build_kernel_root private_trixie_apt)" \
        build_kernel_root "$kernel"
}

# kernel_release KERNEL: print the full release, for example 6.12.107+deb13-amd64.
kernel_release() {
    local dir
    dir=$(kernel_root "$1") || exit 125
    cat "$dir/release"
}

build_kernel_root() {
    local out=$1 kernel=$2 apt release acquire opts=()
    apt=$out/apt
    private_trixie_apt "$apt"
    # Not by the package linux-image-amd64: it depends on one release, while the archive has
    # several.
    release=$(APT_CONFIG=$apt/apt.conf apt-cache pkgnames linux-image- |
              sed -nE "s/^linux-image-(${kernel//./\\.}\.[0-9]+[+~a-z0-9.]*-amd64)\$/\1/p" |
              sort -V | tail -1)
    [ -n "$release" ] || {
        echo "no kernel $kernel in the archive; it has:"
        APT_CONFIG=$apt/apt.conf apt-cache pkgnames linux-image- | sort -V
        return 1
    }
    (cd "$apt/download" && APT_CONFIG=$apt/apt.conf apt-get -qq download "linux-image-$release")
    mkdir "$out/image"
    dpkg-deb -x "$apt"/download/linux-image-*.deb "$out/image"
    while read -r acquire; do opts+=("--aptopt=$acquire"); done < <(apt_acquire_options)
    trixie_sources | sed '/deb-src/s/ deb-src//' |
        mmdebstrap --mode=root --variant=apt --format=directory "${opts[@]}" \
            --include="make,gcc,libc6-dev,sparse,linux-headers-$release" \
            --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
            --dpkgopt='path-exclude=/usr/share/locale/*' \
            trixie "$out/root" -
    rm -rf "$apt"
    [ -e "$out/root/lib/modules/$release/build" ] || [ -L "$out/root/lib/modules/$release/build" ]
    printf '%s\n' "$release" >"$out/release"
}

# renew FROM TO: makes TO a copy of FROM, as a whole and only if they differ: another session may be
# reading it.
renew() {
    cmp -s "$1" "$2" || { mkdir -p "${2%/*}" && cp "$1" "$2.new" && mv "$2.new" "$2"; }
}

# copy_sources SOURCE COPY: gives COPY the sources of SOURCE. Removes all modules; objects stay for an
# incremental build. Compares contents, as an older file may be the right one (git stash, cp -a); a
# file that is copied gets the present time, so that make compiles it.
copy_sources() {
    local source=$1 copy=$2 f
    local sources=(-type f \( -name '*.[chS]' -o -name Kbuild -o -name Makefile \) ! -path '*/.kbuild-*' ! -name '*.mod.c' -print0)
    mkdir -p "$copy"
    find "$copy" -name '*.ko' -delete
    (cd "$copy" && find . "${sources[@]}") |
        while IFS= read -r -d '' f; do [ -e "$source/$f" ] || rm -f "$copy/$f"; done
    (cd "$source" && find . "${sources[@]}") |
        while IFS= read -r -d '' f; do renew "$source/$f" "$copy/$f"; done
}

# build_kmod KERNEL OUTDIR [SOURCE [TARGET...]]: build SOURCE (default: kmod/) out of tree for
# KERNEL; the .ko files go to OUTDIR. DINGO_CONTRACT_INC names the directory of the generated
# contract header; make sees a copy of it under the same variable name. OUTDIR/.kbuild-KERNEL
# keeps objects, so a second build is incremental. KBUILD_ARGS holds further make arguments.
# With DINGO_MODULES set, builds nothing and copies DINGO_MODULES/KERNEL/*.ko, which another machine
# has built (scripts/bare-guests.sh).
build_kmod() { strictly build_kmod_strictly "$@"; }

build_kmod_strictly() {
    local kernel=$1 outdir=$2 source=${3:-$dingo_root/kmod} dir release work
    [ $# -gt 3 ] && shift 3 || shift $#
    [ $# -gt 0 ] || set -- modules
    need_root
    mkdir -p "$outdir"
    outdir=$(cd "$outdir" && pwd)
    if [ -n "${DINGO_MODULES:-}" ]; then
        cp "$DINGO_MODULES/$kernel"/*.ko "$outdir/"
        return
    fi
    dir=$(kernel_root "$kernel") || exit 125
    release=$(cat "$dir/release")
    work=$outdir/.kbuild-$kernel
    (
        flock 7
        copy_sources "$source" "$work/src"
        mkdir -p "$work/contract"
        [ -z "${DINGO_CONTRACT_INC:-}" ] || copy_sources "$DINGO_CONTRACT_INC" "$work/contract"
        # In a private mount namespace: nothing to unmount, and builds for two kernels may run in
        # parallel.
        unshare -m bash -c '
            set -e
            root=$1 work=$2 release=$3
            shift 3
            mount --bind "$work" "$root/mnt"
            mount -t proc proc "$root/proc"
            exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/ \
                make --no-print-directory -C "/lib/modules/$release/build" M=/mnt/src \
                DINGO_CONTRACT_INC=/mnt/contract "$@"
        ' bash "$dir/root" "$work" "$release" -j2 ${KBUILD_ARGS:-} "$@"
        find "$work/src" -name '*.ko' | while read -r ko; do renew "$ko" "$outdir/${ko##*/}"; done
    ) 7>"$outdir/.kbuild-$kernel.lock"
}

# shellcheck source=scripts/lib/debug_kernel.sh
. "$dingo_root/scripts/lib/debug_kernel.sh"
