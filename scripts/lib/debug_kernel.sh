# SPDX-License-Identifier: BSD-2-Clause
# Debug kernels, built from Debian's linux-source packages with scripts/guest/debug.config, only by
# scripts/kernel-lab.sh. Their names can be used wherever a kernel's name can:
# - KERNEL-debug (6.12-debug): all checks; an emulated guest boots with it only if each of the
#   guest's processors has an idle one of the host;
# - KERNEL-lockdep: all checks but KASAN;
# - KERNEL-kasan: KASAN, checks of DMA mappings and failing allocations; no other costly checks.
# Sourced after common.sh, kernel.sh and guest.sh.

debug_config=$dingo_root/scripts/guest/debug.config

# is_debug_kernel NAME: succeeds if NAME is a debug kernel's name.
is_debug_kernel() { [[ $1 == *-debug || $1 == *-lockdep || $1 == *-kasan ]]; }

# debug_kernel_config NAME: prints its configuration fragment, merged over defconfig and
# kvm_guest.config.
debug_kernel_config() {
    local costly='PROVE_|LOCKDEP_|DEBUG_OBJECTS|DEBUG_VM|NET_DEV_REFCNT_TRACKER|HARDENED_USERCOPY|PAGE_POISONING'
    case $1 in
    *-lockdep) sed -e '/^CONFIG_KASAN/d' -e '/^CONFIG_LOCALVERSION=/s/debug/lockdep/' "$debug_config" ;;
    *-kasan)
        sed -E -e "/^CONFIG_($costly)/d" -e '/^CONFIG_LOCALVERSION=/s/debug/kasan/' -e 's/^CONFIG_KASAN_OUTLINE/CONFIG_KASAN_INLINE/' \
            "$debug_config"
        # KASAN takes two stack traces for each allocation, which is slow with ORC. kmemleak scans
        # only on request.
        printf '%s\n' CONFIG_UNWINDER_FRAME_POINTER=y CONFIG_DEBUG_KMEMLEAK_AUTO_SCAN=n
        ;;
    *) cat "$debug_config" ;;
    esac
}

# debug_kernel_recipe NAME: prints its recipe (see `cached`).
debug_kernel_recipe() { printf 'v2 %s %s' "$(debug_kernel_config "$1")" "$(declare -f build_debug_kernel private_trixie_apt)"; }

# debug_kernel_is_cached NAME: succeeds if it has been built.
debug_kernel_is_cached() { [ -e "$(cached_path "kernel-$1" "$(debug_kernel_recipe "$1")")" ]; }

# debug_kernel_root NAME: like kernel_root; beside root/ and release, the directory has bzImage,
# config and modules/. It has no vmlinux: started through PVH, KASAN faults before its shadow is
# mapped. Builds nothing, as a build takes an hour: dies if the kernel has not been built.
debug_kernel_root() {
    debug_kernel_is_cached "$1" || die "no kernel $1 here (scripts/kernel-lab.sh $1 builds it)"
    cached_path "kernel-$1" "$(debug_kernel_recipe "$1")"
}

# make_debug_kernel NAME: builds it if it is missing, and prints its directory.
make_debug_kernel() {
    need_root
    need_packages mmdebstrap debian-archive-keyring gpgv xz-utils
    cached "kernel-$1" "$(debug_kernel_recipe "$1")" build_debug_kernel "$1"
}

build_debug_kernel() {
    local out=$1 name=$2 kernel=${2%-*} apt acquire release opts=()
    apt=$out/apt
    private_trixie_apt "$apt"
    (cd "$apt/download" && APT_CONFIG=$apt/apt.conf apt-get -qq download "linux-source-$kernel")
    while read -r acquire; do opts+=("--aptopt=$acquire"); done < <(apt_acquire_options)
    trixie_sources | sed '/deb-src/s/ deb-src//' |
        mmdebstrap --mode=root --variant=apt --format=directory "${opts[@]}" \
            --include='make,gcc,libc6-dev,flex,bison,bc,libelf-dev,libssl-dev,cpio,kmod,xz-utils,lz4,perl,python3-minimal,ccache' \
            --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
            --dpkgopt='path-exclude=/usr/share/locale/*' \
            trixie "$out/root" -
    mkdir -p "$out/root/usr/src/linux" "$out/root/ccache" "$DINGO_CACHE/ccache-kernel"
    dpkg-deb --fsys-tarfile "$apt"/download/*.deb | tar -xO "./usr/src/linux-source-$kernel.tar.xz" |
        xz -dc -T0 | tar -x -C "$out/root/usr/src/linux" --strip-components=1
    rm -rf "$apt"
    # Memory regions may map a page twice. DMA debugging would complain, and prints only one
    # complaint.
    sed -i 's/rc == -EEXIST/false/' "$out/root/usr/src/linux/kernel/dma/debug.c"
    debug_kernel_config "$name" >"$out/root/usr/src/linux/kernel/configs/dingo_lab.config"
    unshare -m bash -c '
        set -e
        root=$1
        mount --bind "$2" "$root/ccache"
        mount -t proc proc "$root/proc"
        exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/ \
            CCACHE_DIR=/ccache CCACHE_MAXSIZE=2G KBUILD_BUILD_TIMESTAMP=0 bash -c "
            set -e
            cd /usr/src/linux
            make -s defconfig kvm_guest.config dingo_lab.config
            make -s -j2 CC=\"ccache gcc\" HOSTCC=\"ccache gcc\" bzImage modules
            make -s modules_install INSTALL_MOD_PATH=/out
            release=\$(make -s kernelrelease)
            headers=/usr/src/linux-headers-\$release
            make -s run-command KBUILD_RUN_COMMAND=\"\\\$(srctree)/scripts/package/install-extmod-build \$headers\"
            cp .config Module.symvers \$headers/
            mkdir -p /lib/modules/\$release
            ln -s \$headers /lib/modules/\$release/build
            cp arch/x86/boot/bzImage /out/
            cp .config /out/config
            echo \$release >/out/release"
    ' bash "$out/root" "$DINGO_CACHE/ccache-kernel"
    release=$(cat "$out/root/out/release")
    mv "$out/root/out/"{bzImage,config,release} "$out/"
    mkdir "$out/modules"
    mv "$out/root/out/lib" "$out/modules/lib"
    rm -f "$out/modules/lib/modules/$release"/{build,source}
    rm -rf "$out/root/usr/src/linux" "$out/root/out"
    [ -e "$out/root/usr/src/linux-headers-$release/Makefile" ]
}

# build_debug_kernel_image OUT ROOT TREE: makes a debug kernel's directory for kernel_image.
build_debug_kernel_image() {
    local out=$1 root=$2 tree=$3 release
    release=$(cat "$root/release")
    mkdir "$out"
    cp "$root"/{bzImage,config} "$out/"
    cp -a "$root/modules" "$out/modules"
    depmod -b "$out/modules" "$release"
    make_ext4 "$out/modules/lib/modules" "$out/modules.img"
    build_initrd "$out" "$release" "$tree"
    rm -rf "$out/x"
}
