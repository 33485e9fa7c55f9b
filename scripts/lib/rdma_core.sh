# SPDX-License-Identifier: BSD-2-Clause
# The rdma-core source of trixie: the provider is compiled inside it. Sourced after common.sh.

# rdma-core 34 to 56 have the provider ABI suffix 34, so one build loads in Debian 12 and 13.
rdma_core_version=56.1

# rdma_core_source: print the directory of the unpacked rdma-core source.
rdma_core_source() {
    local dir
    need_packages xz-utils
    dir=$(cached "rdma-core-$rdma_core_version" "v1 $(declare -f build_rdma_core_source)" \
        build_rdma_core_source "$rdma_core_version") || exit 125
    printf '%s/rdma-core-%s\n' "$dir" "$rdma_core_version"
}

build_rdma_core_source() {
    local out=$1 version=$2 apt
    apt=$out/apt
    private_trixie_apt "$apt"
    (
        cd "$apt/download"
        APT_CONFIG=$apt/apt.conf \
            apt-get -qq source --tar-only --download-only --target-release trixie rdma-core
    )
    tar -C "$out" -xf "$apt"/download/rdma-core_"$version".orig.tar.*
    [ -r "$out/rdma-core-$version/libibverbs/driver.h" ]
    rm -rf "$apt"
}
