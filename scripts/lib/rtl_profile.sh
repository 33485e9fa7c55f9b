# SPDX-License-Identifier: BSD-2-Clause
# Profiles the simulated card, for profile-guided optimisation of its C++. Sourced by build.sh.

# The training runs, as options of rtl_bench: short runs of each operation that moves data.
rtl_training=("--operation write --bytes 1024 --qps 4 --count 300" "--operation read --bytes 1024 --qps 4 --count 300"
    "--operation send --bytes 1024 --qps 4 --count 300" "--operation write --bytes 256 --levels 2 --random --sges 2 --count 300")

# rtl_profile: prints the directory of the profile (.gcda files), for -DDINGO_RTL_PROFILE. Made, in
# two minutes, once for each state of the card's sources and compiler.
rtl_profile() {
    local recipe
    recipe=$(
        cd "$dingo_root" || exit
        c++ --version
        verilator --version
        cat hw/rtl/cmake/verilate.cmake scripts/lib/rtl_profile.sh
        find hw/rtl hw/contract -name '*.sv' -o -path 'hw/contract/*' -type f | LC_ALL=C sort | xargs cat
    )
    cached rtl-profile "$recipe" train_rtl
}

# train_rtl DIRECTORY: builds an instrumented card, runs it, and stores its profile.
train_rtl() {
    local build=$1.build run
    mkdir -p "$1"
    cmake -S "$dingo_root" --preset release -B "$build" -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache \
        -DDINGO_PROVIDER=OFF $rtl_engine_options -DDINGO_RTL_PROFILE=generate
    cmake --build "$build" --target rtl_bench
    for run in "${rtl_training[@]}"; do
        # shellcheck disable=SC2086  # the options are words
        "$build/bin/rtl_bench" $run
    done
    cp "$build"/hw/rtl/dingo_card_v.v/*.gcda "$1"
    rm -rf "$build"
}
