# SPDX-License-Identifier: BSD-2-Clause
# What scripts/lib/qemu.sh finds out about this machine. Sourced by suite.sh.
(
    # shellcheck source=/dev/null
    . scripts/lib/qemu.sh
    DINGO_CACHE=$work/qemu-cache
    first=$(tsc_khz)
    [[ $first =~ ^[0-9]+$ ]] && echo number
    [ "$(tsc_khz)" = "$first" ] && echo same
    find "$DINGO_CACHE" -name 'tsc-khz-*' | wc -l
) >"$work/tsc" 2>&1 || true
check 'qemu: the frequency of the time-stamp counter is a number, measured once' 'number same 1' "$(xargs <"$work/tsc")"
