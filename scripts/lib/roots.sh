# SPDX-License-Identifier: BSD-2-Clause
# Makes root file systems of Debian releases, in which Dingo is built, tested and packaged. Sourced
# after common.sh and build.sh.

# Packages to build, test and package Dingo in a root.
root_packages=("${build_packages[@]}" "${native_packages[@]}" procps util-linux
    libgtest-dev libgmock-dev libbenchmark-dev zlib1g-dev clang ca-certificates
    build-essential debhelper dh-dkms dh-python dpkg-dev fakeroot lintian)

# Packages to compile for arm64 in an amd64 root, and to run the programs under qemu-user.
arm64_packages=(g++-aarch64-linux-gnu libc6-dev:arm64 libstdc++6:arm64 cmake ninja-build ccache pkg-config python3 qemu-user
    libisal-dev:arm64 libfmt-dev:arm64 libspdlog-dev:arm64 libpcap-dev:arm64 libibverbs-dev:arm64 libnl-3-dev:arm64 libnl-route-3-dev:arm64
    libudev-dev:arm64 libgtest-dev:arm64 libgmock-dev:arm64 zlib1g-dev:arm64 libcli11-dev nlohmann-json3-dev)

# debian_root RELEASE [clean|arm64]: prints the directory of a root of that release, with
# root_packages; clean: with Debian's important packages only; arm64: with arm64_packages. The
# directory must not be changed: in_root puts a writable layer over it.
debian_root() {
    local packages=("${root_packages[@]}")
    [[ $1 =~ ^(bookworm|trixie)$ ]] || die "no root of '$1': there are bookworm and trixie"
    case ${2:-} in
    clean) packages=(ca-certificates) ;;
    arm64) packages=("${arm64_packages[@]}") ;;
    esac
    need_packages mmdebstrap debian-archive-keyring gpgv
    cached "root-$1${2:+-$2}" "v1 ${packages[*]} $(declare -f build_debian_root)" build_debian_root "$1" "${packages[@]}"
}

build_debian_root() {
    local out=$1 release=$2 acquire opts=()
    shift 2
    while read -r acquire; do opts+=("--aptopt=$acquire"); done < <(apt_acquire_options)
    printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n' "$(debian_mirror)" "$release" "$(debian_keyring)" |
        mmdebstrap --mode=root --variant=important --format=directory "${opts[@]}" --include="$(IFS=,; echo "$*")" \
            --dpkgopt='path-exclude=/usr/share/locale/*' $([[ $* != *:arm64* ]] || echo --architectures=amd64,arm64) "$release" "$out" -
    printf '#!/bin/sh\nexit 101\n' >"$out/usr/sbin/policy-rc.d"
    chmod +x "$out/usr/sbin/policy-rc.d"
}

# Sets the flags of Debian's packages, so that a build in a root and its package share ccache's
# objects. No debugging information, which would double the time.
root_flags='export DEB_BUILD_MAINT_OPTIONS="hardening=+all reproducible=-fixfilepath,-fixdebugpath" DEB_CFLAGS_MAINT_STRIP=-g DEB_CXXFLAGS_MAINT_STRIP=-g
    CPPFLAGS=$(dpkg-buildflags --get CPPFLAGS)
    export CFLAGS="$(dpkg-buildflags --get CFLAGS) $CPPFLAGS" CXXFLAGS="$(dpkg-buildflags --get CXXFLAGS) $CPPFLAGS" LDFLAGS="$(dpkg-buildflags --get LDFLAGS)"'

# in_root ROOT LAYER COMMAND [ARG...]: runs COMMAND in ROOT. Its writes go to the directory LAYER
# ('': to a temporary one). COMMAND sees this tree and the product cache under their usual paths,
# but $dingo_root/build is in LAYER. Downloaded packages are kept in the cache. Mounts and processes
# are private and end with COMMAND. root_environment: NAME=VALUE words for COMMAND; root_binds: more
# directories that it sees under their usual paths.
root_environment=() root_binds=()
in_root() {
    local root=$1 layer=$2 release
    shift 2
    need_root
    release=$(. "$root/etc/os-release" && echo "$VERSION_CODENAME")
    mkdir -p "$DINGO_CACHE/archives-$release/partial" ${layer:+"$layer"} "$dingo_root/build"
    # shellcheck disable=SC2016
    unshare --mount --pid --fork --kill-child bash -c '
        set -e
        root=$1 layer=$2 release=$3 tree=$4 cache=$5 words=$6 binds=$7
        shift 7
        top=$cache/mnt
        mkdir -p "$top"
        mount -t tmpfs -o size=75% tmpfs "$top"
        [ -n "$layer" ] || layer=$top/layer
        mkdir -p "$layer"/{up,work,build} "$top/root"
        mount -t overlay overlay -o "lowerdir=$root,upperdir=$layer/up,workdir=$layer/work" "$top/root"
        cd "$top/root"
        mount -t proc proc proc
        mount --rbind /sys sys
        mount --rbind /dev dev
        mount -t tmpfs -o mode=1777 tmpfs dev/shm
        mount -t tmpfs -o mode=1777 tmpfs tmp
        mkdir -p ".$tree" ".$cache"
        mount --bind "$tree" ".$tree"
        mount --bind "$cache" ".$cache"
        mount --bind "$layer/build" ".$tree/build"
        for directory in "${@:1:$binds}"; do
            mkdir -p ".$directory"
            mount --bind "$directory" ".$directory"
        done
        shift "$binds"
        mount --bind "$cache/archives-$release" var/cache/apt/archives
        rm -f etc/resolv.conf
        cp -L /etc/resolv.conf /etc/hosts etc/ 2>/dev/null || true
        exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 TERM=dumb \
            DEBIAN_FRONTEND=noninteractive DINGO_CACHE="$cache" CCACHE_DIR="$cache/ccache-$release" CCACHE_IGNOREOPTIONS=-Werror \
            "${@:1:$words}" chroot . /bin/bash -c "cd \"\$0\"; exec \"\$@\"" "$tree" "${@:$((words + 1))}"
    ' bash "$root" "$layer" "$release" "$dingo_root" "$DINGO_CACHE" ${#root_environment[@]} ${#root_binds[@]} \
        "${root_binds[@]}" "${root_environment[@]}" "$@"
}

# build_in_root RELEASE COMPILER TARGET...: builds with gcc or clang, with the layer
# build/roots/RELEASE-COMPILER. gcc builds with the packages' flags. Builds no SystemVerilog card,
# as the root has no Verilator.
build_in_root() {
    local release=$1 compiler=$2 root rc=0
    root=$(debian_root "$release") || exit 125
    shift 2
    root_environment=(DINGO_CMAKE_OPTIONS=-DDINGO_RTL=OFF DINGO_WERROR=ON)
    [ "$compiler" != clang ] || root_environment+=(CC=clang CXX=clang++)
    # shellcheck disable=SC2016
    in_root "$root" "$dingo_root/build/roots/$release-$compiler" bash -ec '
        [ -n "${CC:-}" ] || eval "$0"
        . scripts/lib/common.sh
        . scripts/lib/build.sh
        build_preset release "$@"' "$root_flags" "$@" || rc=$?
    root_environment=()
    return $rc
}
