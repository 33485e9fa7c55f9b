# SPDX-License-Identifier: BSD-2-Clause
# Makes what a guest boots from: a trixie root image, a kernel image with its modules, an initramfs.
# Sourced after common.sh and kernel.sh.

guest_packages=(
    udev kmod procps iproute2 ethtool iputils-ping iperf3 openssh-server openssh-client
    rdma-core ibverbs-providers ibverbs-utils rdmacm-utils infiniband-diags perftest
    python3 python3-pyverbs strace tcpdump pciutils netcat-openbsd busybox-static
)

# guest_tree: print the directory of the installed guest root (no kernel in it).
guest_tree() {
    need_packages mmdebstrap debian-archive-keyring gpgv
    cached guest-tree "v1 ${guest_packages[*]} $(declare -f build_guest_tree)" build_guest_tree
}

build_guest_tree() {
    local out=$1 acquire opts=()
    while read -r acquire; do opts+=("--aptopt=$acquire"); done < <(apt_acquire_options)
    trixie_sources | sed '/deb-src/s/ deb-src//' |
        mmdebstrap --mode=root --variant=apt --format=directory "${opts[@]}" \
            --include="$(IFS=,; echo "${guest_packages[*]}")" \
            --dpkgopt='path-exclude=/usr/share/man/*' \
            --dpkgopt='path-exclude=/usr/share/locale/*' \
            --customize-hook='chroot "$1" passwd -d root' \
            --customize-hook='echo dingo >"$1/etc/hostname"' \
            trixie "$out" -
}

# guest_root_image [PACKAGE...]: print the path of the ext4 image of the guest root with PACKAGEs.
guest_root_image() {
    local tree packages dir
    need_packages e2fsprogs
    tree=$(guest_tree) || exit 125
    packages=$(printf '%s\n' "$@" | sort -u | xargs)
    [[ $packages =~ ^[a-z0-9.+:/\ -]*$ ]] || die "--packages: not a list of package names: $packages"
    dir=$(cached guest-image "v1 $tree $packages $(declare -f build_guest_image make_ext4)" \
        build_guest_image "$tree" "$packages") || exit 125
    printf '%s/root.img\n' "$dir"
}

build_guest_image() {
    local out=$1 tree=$2 packages=$3
    mkdir "$out"
    if [ -n "$packages" ]; then
        cp -a --reflink=auto "$tree" "$out/tree"
        rm -f "$out/tree/etc/resolv.conf"
        cp -L /etc/resolv.conf "$out/tree/etc/resolv.conf" 2>/dev/null || true
        printf '#!/bin/sh\nexit 101\n' >"$out/tree/usr/sbin/policy-rc.d"
        chmod +x "$out/tree/usr/sbin/policy-rc.d"
        unshare -m bash -c '
            set -e
            tree=$1
            shift
            mount -t proc proc "$tree/proc"
            mount --bind /dev "$tree/dev"
            export DEBIAN_FRONTEND=noninteractive LC_ALL=C
            chroot "$tree" apt-get -qq update
            chroot "$tree" apt-get -qq install -y --no-install-recommends "$@"
        ' bash "$out/tree" $packages
        rm -f "$out/tree/usr/sbin/policy-rc.d"
        tree=$out/tree
    fi
    make_ext4 "$tree" "$out/root.img"
    rm -rf "$out/tree"
}

# make_ext4 DIRECTORY IMAGE: makes an ext4 image of DIRECTORY, little larger than needed, without
# journal.
make_ext4() {
    local kib inodes
    kib=$(du -sk --apparent-size "$1" | cut -f1)
    inodes=$(find "$1" | wc -l)
    mkfs.ext4 -q -F -O ^has_journal,^resize_inode -m 0 -E lazy_itable_init=0 \
        -N $((inodes + 1024)) -d "$1" "$2" $((kib * 5 / 4 + inodes * 3 + 32768))k
}

# boot_file DIRECTORY: prints the kernel that QEMU starts, in a directory of kernel_image.
boot_file() {
    if [ -e "$1/bzImage" ]; then echo "$1/bzImage"; else echo "$1/vmlinux"; fi
}

# kernel_image KERNEL: prints a directory with vmlinux (debug kernels: bzImage), modules.img (the
# module tree, decompressed), modules/ (the same as files) and initrd (mounts the root).
kernel_image() {
    local root tree
    need_packages e2fsprogs kmod xz-utils zstd cpio python3-minimal
    root=$(kernel_root "$1") || exit 125
    tree=$(guest_tree) || exit 125
    if is_debug_kernel "$1"; then
        cached "kernel-image-$1" "v1 $root $tree $(cat "$dingo_root/scripts/guest/initramfs-init") $(declare -f build_debug_kernel_image build_initrd make_ext4)" \
            build_debug_kernel_image "$root" "$tree"
        return
    fi
    cached "kernel-image-$1" "v1 $root $(cat "$root/release") $tree $(cat \
        "$dingo_root/scripts/guest/initramfs-init" "$dingo_root/scripts/lib/extract_vmlinux.py") $(declare -f build_kernel_image build_initrd make_ext4)" \
        build_kernel_image "$(cat "$root/release")" "$tree" "$root"
}

build_kernel_image() {
    local out=$1 release=$2 tree=$3 root=$4 apt p lib f
    apt=$out/apt
    private_trixie_apt "$apt"
    # 6.12 has one package; later Debian kernels split it in three.
    for p in linux-image linux-binary linux-modules; do
        if [ -n "$(APT_CONFIG=$apt/apt.conf apt-cache pkgnames "$p-$release" |
                   grep -Fx "$p-$release")" ]; then
            (cd "$apt/download" && APT_CONFIG=$apt/apt.conf apt-get -qq download "$p-$release")
        fi
    done
    for f in "$apt"/download/*.deb; do dpkg-deb -x "$f" "$out/x"; done
    # The unpacked ELF boots through PVH, without decompression, which takes seconds under
    # emulation.
    python3 "$dingo_root/scripts/lib/extract_vmlinux.py" \
        "$(find "$out/x" -name "vmlinuz-$release" -o -path "*/$release/vmlinuz" | head -1)" \
        "$out/vmlinux"
    # Not all image packages contain the configuration; all header packages do.
    cp "$root/root/usr/src/linux-headers-$release/.config" "$out/config"
    mkdir -p "$out/modules/lib/modules"
    lib=$out/modules/lib/modules/$release
    mv "$(find "$out/x" -type d -path "*/lib/modules/$release" | head -1)" "$lib"
    # Drivers for devices that no guest has; a smaller tree speeds up depmod and make_ext4.
    (cd "$lib/kernel" && rm -rf sound drivers/{gpu,media,iio,staging,hwmon,input,leds,usb,bluetooth} \
        drivers/{ata,mmc,mtd,isdn,platform,power,thermal,video,comedi,i2c,spi,gpio,regulator} \
        drivers/scsi/{aacraid,aic7xxx,aic94xx,be2iscsi,bfa,bnx2fc,bnx2i,csiostor,cxgbi,fcoe,fnic,hisi_sas,isci,lpfc,megaraid,mpi3mr} \
        drivers/scsi/{mpt3sas,mvsas,pcmcia,pm8001,qedf,qedi,qla2xxx,qla4xxx,smartpqi,snic,sym53c8xx_2,ufs} \
        drivers/net/{wireless,usb,can,wwan,ieee802154,arcnet} net/{bluetooth,mac80211,wireless,can})
    find "$lib" -name '*.ko.xz' -print0 | xargs -0 -r -P2 -n 64 xz -d
    find "$lib" -name '*.ko.zst' -print0 | xargs -0 -r zstd -q -d --rm
    # modprobe needs the lists of built-in modules, which some releases ship with the headers only.
    for f in "$root/root/usr/lib/modules/$release"/modules.builtin*; do
        [ ! -e "$f" ] || [ -e "$lib/${f##*/}" ] || cp "$f" "$lib/"
    done
    depmod -b "$out/modules" "$release"
    make_ext4 "$out/modules/lib/modules" "$out/modules.img"
    build_initrd "$out" "$release" "$tree"
    rm -rf "$out/x" "$apt"
}

build_initrd() {
    local out=$1 release=$2 tree=$3 lib=$1/modules/lib/modules/$2 m dep
    mkdir -p "$out/x/initrd"/{bin,dev,proc,sys,mnt,modules,root}
    cp "$tree/usr/bin/busybox" "$out/x/initrd/bin/busybox"
    ln -s busybox "$out/x/initrd/bin/sh"
    cp "$dingo_root/scripts/guest/initramfs-init" "$out/x/initrd/init"
    chmod +x "$out/x/initrd/init"
    # In load order; modprobe lists no built-in modules.
    for m in virtio_pci virtio_blk ext4 overlay; do
        modprobe -d "$out/modules" -S "$release" --show-depends "$m" 2>/dev/null
    done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' >"$out/x/list"
    while read -r dep; do
        cp "$dep" "$out/x/initrd/modules/"
        basename "$dep"
    done <"$out/x/list" >"$out/x/initrd/modules/order"
    [ -s "$out/x/initrd/modules/order" ] && [ -d "$lib" ]
    (cd "$out/x/initrd" && find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0) >"$out/initrd"
}
