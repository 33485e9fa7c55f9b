# SPDX-License-Identifier: BSD-2-Clause
# Builds what a session takes from this tree: the card program, the kernel modules, the provider.
# Sourced after common.sh and kernel.sh.

# shellcheck source=scripts/lib/build.sh
. "$dingo_root/scripts/lib/build.sh"

# The build directory of the release preset, the same as in the README.
dingo_build_dir() { printf '%s\n' "${DINGO_BUILD:-$dingo_root/build}"; }

# build_dingo TARGET...: configures once, or again with DINGO_CMAKE_OPTIONS, and builds those
# targets; a lock admits one builder at a time.
build_dingo() {
    local build out
    build=$(dingo_build_dir)
    # The configuration looks for the test libraries, too.
    need_packages "${build_packages[@]}" libgtest-dev libgmock-dev libbenchmark-dev zlib1g-dev
    export CCACHE_DIR=${CCACHE_DIR:-$DINGO_CACHE/ccache} CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-2G}
    export CCACHE_BASEDIR=$dingo_root CCACHE_NOHASHDIR=1
    mkdir -p "$build"
    out=$build/vm-build.log
    (
        flock 6
        { [ -e "$build/build.ninja" ] && [ -z "${DINGO_CMAKE_OPTIONS:-}" ]; } ||
            cmake ${DINGO_CMAKE_OPTIONS:-} -S "$dingo_root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
                -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache \
                >"$out" 2>&1 ||
            { tail -30 "$out" >&2; die "cmake failed (log: $out)"; }
        cmake --build "$build" --target "$@" -- -j"${DINGO_JOBS:-$(nproc)}" >"$out" 2>&1 ||
            { tail -40 "$out" >&2; die "the build of $* failed (log: $out)"; }
    ) 6>"$build/.build.lock" || exit 125
}

# build_dingo_module KERNEL: builds dingo.ko and, beside it, dingo_ib.ko; prints the path of
# dingo.ko.
build_dingo_module() {
    local build out contract
    build=$(dingo_build_dir)
    out=$build/kmod-$1
    contract=$build/hw/contract/include
    mkdir -p "$out"
    if ! DINGO_CONTRACT_INC=$contract build_kmod "$1" "$out" >"$out/build.log" 2>&1; then
        tail -40 "$out/build.log" >&2
        die "the build of the kernel modules for $1 failed (log: $out/build.log)"
    fi
    printf '%s\n' "$out/dingo.ko"
}

# prepare_dingo: sets $card, $ko and $provider to what the options name, by default this tree's own.
prepare_dingo() {
    local build targets=()
    build=$(dingo_build_dir)
    [ -n "$card" ] || targets+=(dingo-card)
    [ -n "$provider" ] || targets+=(dingo_provider)
    [ -n "$ko" ] || targets+=(dingo_contract_files)
    if [ ${#targets[@]} -gt 0 ]; then
        log "building ${targets[*]}"
        # The release build may have been configured without the engine rtl.
        if [ -z "$card" ] && [[ ${engine_A:-}${engine_B:-} == *rtl* ]] &&
            ! grep -qs '^DINGO_RTL_ENGINE:BOOL=ON' "$build/CMakeCache.txt"; then
            need_packages verilator
            DINGO_CMAKE_OPTIONS=$rtl_engine_options build_dingo "${targets[@]}"
        else
            build_dingo "${targets[@]}"
        fi
    fi
    [ -n "$ko" ] || { log "building the kernel modules for $kernel"; ko=$(build_dingo_module "$kernel"); }
    card=${card:-$build/bin/dingo-card}
    provider=${provider:-$build}
    [ -x "$card" ] || die "no card program at $card"
    [ -r "$ko" ] || die "no kernel module at $ko"
}

# first_file PATH...: print the first that exists.
first_file() {
    local f
    for f in "$@"; do
        [ ! -r "$f" ] || { printf '%s\n' "$f"; return; }
    done
    die "none of these exists: $*"
}

# install_dingo OVERLAY: copies the modules (with fresh module indexes) and the provider to OVERLAY.
install_dingo() {
    local overlay=$1 index
    index=$(module_index "$ko")
    mkdir -p "$overlay/usr/lib/modules" "$overlay/etc/libibverbs.d" \
        "$overlay/usr/lib/x86_64-linux-gnu/libibverbs" "$overlay/usr/lib/udev/rules.d"
    cp -a "$index/." "$overlay/usr/lib/modules/"
    cp -L "$(first_file "$provider/libdingo-rdmav34.so" \
        "$provider/lib/libibverbs/libdingo-rdmav34.so")" \
        "$overlay/usr/lib/x86_64-linux-gnu/libdingo.so.1"
    ln -sf ../libdingo.so.1 "$overlay/usr/lib/x86_64-linux-gnu/libibverbs/libdingo-rdmav34.so"
    echo 'driver dingo' >"$overlay/etc/libibverbs.d/dingo.driver"
    cp "$dingo_root"/provider/*.rules "$overlay/usr/lib/udev/rules.d/"
}

# module_index KO: prints a directory RELEASE/{updates/*.ko,modules.*} with KO and, if one is beside
# it, dingo_ib.ko. depmod indexes the guest's whole tree, so that `modprobe dingo` and loading by
# modalias work.
module_index() {
    local dir modules=("$1")
    [ ! -r "$(dirname "$1")/dingo_ib.ko" ] || modules+=("$(dirname "$1")/dingo_ib.ko")
    dir=$(cached module-index "v2 $kernel_dir $(cat "${modules[@]}" | sha256sum)" build_module_index "${modules[@]}") ||
        exit 125
    # Each rebuild of the driver makes another index; only the last few are kept.
    touch "$dir"
    (cd "$DINGO_CACHE" && ls -dt module-index-* | grep -v '\.tmp\.' | tail -n +9 | xargs -r rm -rf)
    printf '%s\n' "$dir"
}

build_module_index() {
    local out=$1 ko=$2 release tree
    shift 2
    release=$(basename "$kernel_dir"/modules/lib/modules/*)
    tree=$out.tree
    mkdir -p "$tree/lib/modules" "$out/$release/updates"
    cp -al "$kernel_dir/modules/lib/modules/$release" "$tree/lib/modules/$release"
    mkdir -p "$tree/lib/modules/$release/updates"
    cp "$ko" "$tree/lib/modules/$release/updates/dingo.ko"
    [ $# = 0 ] || cp "$@" "$tree/lib/modules/$release/updates/"
    # depmod replaces its output files instead of writing into them: the hard-linked originals stay
    # unchanged.
    depmod -b "$tree" "$release"
    cp "$tree/lib/modules/$release"/modules.{dep,alias,symbols}{,.bin} "$out/$release/"
    cp "$tree/lib/modules/$release"/modules.{softdep,devname} "$out/$release/" 2>/dev/null || true
    cp "$tree/lib/modules/$release"/updates/*.ko "$out/$release/updates/"
    rm -rf "$tree"
}
