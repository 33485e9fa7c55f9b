# SPDX-License-Identifier: BSD-2-Clause
# Lists the host packages that builds and tests need; configures and builds presets. Sourced after
# common.sh.

build_packages=(g++ cmake ninja-build ccache pkg-config python3 libisal-dev libcli11-dev libfmt-dev libspdlog-dev
    nlohmann-json3-dev libpcap-dev libibverbs-dev librdmacm-dev libssl-dev libnl-3-dev libnl-route-3-dev libudev-dev)
# For qp-exchange's PMIx back end; without it, pmix URLs are refused.
build_packages+=(libpmix-dev)
# shellcheck disable=SC2034  # used by test.sh
test_packages=(libgtest-dev libgmock-dev libbenchmark-dev zlib1g-dev libamdhip64-dev clang-format clang-tidy verilator tshark python3-scapy nodejs
    iproute2 mmdebstrap procps)

# need_own_build DIRECTORY: dies when another user has built there, or when the disk is too full.
need_own_build() {
    local file owner
    # Root may write everywhere, but leaves files that the tree's owner cannot replace.
    for file in "$1" "$1/CMakeCache.txt" "$1/build.ninja" "$DINGO_CACHE"; do
        [ -e "$file" ] || continue
        owner=$(stat -c %U "$file")
        [ -w "$file" ] || die "$file belongs to $owner, who has built here before; you are $(id -un). Change the owner, as root:
    chown -R $(id -u):$(id -g) $([ "$file" = "$DINGO_CACHE" ] && echo "$file" || echo "$1")
or build in a clone of your own$([ "$file" = "$DINGO_CACHE" ] && echo ', with DINGO_CACHE=~/.cache/dingo')"
    done
    [ -w "$dingo_root" ] || [ -w "$1" ] || die "$dingo_root belongs to $(stat -c %U "$dingo_root"), and $(id -un) may not write into it: build in a clone of your own"
    [ -e "$1/build.ninja" ] || need_space 1000 "$1" "a build"
    [ "$(id -u)" != 0 ] || [ "$(stat -c %u "$dingo_root")" = 0 ] ||
        log "built as root in the tree of $(stat -c %U "$dingo_root"): build/ now belongs to root"
}

# configured DIRECTORY -DNAME=VALUE...: succeeds if DIRECTORY is configured with these options and
# neither the presets nor the host's packages have changed since. (Ninja checks the CMakeLists.txt.)
configured() {
    local dir=$1 option news
    shift
    [ -e "$dir/build.ninja" ] || return 1
    for news in "$dingo_root/CMakePresets.json" /var/lib/dpkg/status; do
        [ ! "$news" -nt "$dir/build.ninja" ] || return 1
    done
    for option in "$@"; do
        option=${option#-D}
        grep -qE "^${option%%=*}:[A-Z]+=${option#*=}\$" "$dir/CMakeCache.txt" || return 1
    done
}

# build_preset PRESET [TARGET...]: configures if needed, and builds; ccache is kept in the product
# cache. A lock admits one builder at a time. DINGO_CMAKE_OPTIONS: more options for the
# configuration. DINGO_WERROR=ON (set by test.sh): warnings are errors.
build_preset() {
    local preset=$1 dir options profile
    shift
    dir=$dingo_root/build
    [ "$preset" = release ] || dir=$dingo_root/build/$preset
    need_own_build "$dingo_root/build"
    export CCACHE_DIR=${CCACHE_DIR:-$DINGO_CACHE/ccache} CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-2G}
    # ccache: BASEDIR makes header paths relative, so that all clones share objects; DEPEND trusts
    # the compiler's list of headers, as running the preprocessor first costs a fresh build a tenth.
    export CCACHE_BASEDIR=$dingo_root CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
    # shellcheck disable=SC2206  # the options are words
    options=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
        ${DINGO_WERROR:+-DDINGO_WERROR="$DINGO_WERROR"} ${DINGO_CMAKE_OPTIONS:-})
    if [ -n "${DINGO_TRAIN_RTL:-}" ] && [[ ${DINGO_CMAKE_OPTIONS:-} == *DINGO_RTL_ENGINE=ON* ]]; then
        if profile=$(rtl_profile); then options+=("-DDINGO_RTL_PROFILE=$profile"); else log "the simulated card stays slower"; fi
    fi
    mkdir -p "$dir"
    (
        flock 6
        { configured "$dir" "${options[@]}" || cmake -S "$dingo_root" --preset "$preset" "${options[@]}"; } &&
            cmake --build "$dir" ${1:+--target "$@"}
    ) 6>"$dir/.build.lock"
}

# DINGO_RTL=ON is explicit because a tree configured before Verilator was installed has it off.
# shellcheck disable=SC2034  # used by the tests
rtl_engine_options="-DDINGO_RTL=ON -DDINGO_RTL_ENGINE=ON"

. "$dingo_root/scripts/lib/rtl_profile.sh"

# build_rtl_engine: dingo-card with the engine rtl, which Verilator translates (minutes when nothing is cached).
build_rtl_engine() {
    need_packages verilator
    DINGO_CMAKE_OPTIONS=$rtl_engine_options build_preset release dingo-card >&2
}

# Targets and packages of the kernel-less card: to build it, to show it (demo.sh), to test it.
# shellcheck disable=SC2034  # used by demo.sh and the tests
native_targets=(dingo dingo-card dingo_preload dingo_provider)
# shellcheck disable=SC2034
native_packages=(perftest ibverbs-utils iproute2)
# shellcheck disable=SC2034
native_test_packages=(python3-pyverbs rdmacm-utils libfabric-bin ucx-utils fio qperf iperf3 rdma-core infiniband-diags tcpdump tshark procps util-linux)
# shellcheck disable=SC2034
native_core_targets=(verbs_check local_transfer)
# shellcheck disable=SC2034
native_test_targets=(verbs_check verbs_load verbs_promises verbs_dlopen local_transfer p2p_file p2p_cards rdma-bench gpu_interchange gda_traffic)

# Packages and targets for qp-exchange's tests: processes, namespaces, fuzzing.
# shellcheck disable=SC2034
exchange_packages=(python3-pyverbs clang libclang-rt-14-dev procps openmpi-bin munge slurmctld slurmd slurm-client util-linux iproute2 openssl)
# shellcheck disable=SC2034
exchange_targets=(qpx qpx_shared write_hello write_hello_c qpx_device_test qpxd qpx-rank qpx_store_check qpx_c_pair qpx_pmix_launcher qpx_cm_test rdma-bench)
