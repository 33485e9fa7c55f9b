# SPDX-License-Identifier: BSD-2-Clause
# The card program gets the requested engine, whatever the tree was configured with before. Sourced
# by suite.sh.
. scripts/lib/kernel.sh
. scripts/lib/dingo.sh
# configured_with OPTIONS ENGINES...: prints how prepare_dingo calls cmake in a tree configured with
# OPTIONS.
configured_with() (
    DINGO_BUILD=$work/tree
    rm -rf "$DINGO_BUILD"
    mkdir -p "$DINGO_BUILD/bin" "$work/bin"
    touch "$DINGO_BUILD/build.ninja" "$work/dingo.ko"
    printf '%s\n' "$1" >"$DINGO_BUILD/CMakeCache.txt"
    printf '#!/bin/sh\necho "$*" >>"%s/cmake.log"\n' "$work" >"$work/bin/cmake"
    printf '#!/bin/sh\n' >"$DINGO_BUILD/bin/dingo-card"
    chmod +x "$work/bin/cmake" "$DINGO_BUILD/bin/dingo-card"
    : >"$work/cmake.log"
    need_packages() { :; }
    PATH=$work/bin:$PATH engine_A=$2 engine_B=$3 card=${4:-} ko=$work/dingo.ko provider=$work kernel=6.12
    prepare_dingo
    grep -o 'DINGO_RTL_ENGINE=ON\|--target dingo-card' "$work/cmake.log" | xargs
)
check '--engine rtl in a tree without it: configured again, then built' 'DINGO_RTL_ENGINE=ON --target dingo-card' "$(configured_with DINGO_RTL_ENGINE:BOOL=OFF rtl rtl)"
check '--engine-b rtl alone: likewise' 'DINGO_RTL_ENGINE=ON --target dingo-card' "$(configured_with DINGO_RTL_ENGINE:BOOL=OFF '' rtl)"
check '--engine rtl in a tree that has it: built only' '--target dingo-card' "$(configured_with DINGO_RTL_ENGINE:BOOL=ON rtl rtl)"
check 'the model needs no Verilator' '--target dingo-card' "$(configured_with DINGO_RTL_ENGINE:BOOL=OFF model '')"
check "a card of the caller's own is not built" '' "$(configured_with DINGO_RTL_ENGINE:BOOL=OFF rtl rtl "$work/tree/bin/dingo-card")"
