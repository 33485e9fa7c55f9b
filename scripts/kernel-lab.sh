#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Builds debug kernels (KASAN, lockdep ...) for the guests of scripts/vm.sh. See usage below.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
for part in common kernel guest; do
    # shellcheck source=/dev/null
    . "$here/lib/$part.sh"
done
usage() {
    cat <<'EOU'
Builds a debug kernel from Debian's linux-source package: KASAN, lockdep, DMA-API debugging, kmemleak, UBSan, fault
injection (scripts/guest/debug.config). It takes ten minutes on two idle processors and happens once: the kernel stays in
${DINGO_CACHE:-~/.cache/dingo}. Needs root.

usage: scripts/kernel-lab.sh [--list] [KERNEL...]
KERNEL is 6.12 or 7.2 with -lockdep, all of that but KASAN; -kasan, KASAN without lockdep and DEBUG_OBJECTS; or -debug, all
of it, which needs KVM or an idle processor for each of the guests'. Default: 6.12-lockdep. Afterwards `scripts/vm.sh --kernel 6.12-lockdep` boots it, suites take the same name
(`tests/e2e/vm/suite.sh --kernel 6.12-lockdep driver`), and `scripts/test.sh vm-lab` does not skip it any more.
--list says which are built. No other script builds one.
EOU
}
kernels=()
list=''
for arg in "$@"; do
    case $arg in
    -h | --help) usage; exit 0 ;;
    --list) list=1 ;;
    6.12-debug | 7.2-debug | 6.12-lockdep | 7.2-lockdep | 6.12-kasan | 7.2-kasan) kernels+=("$arg") ;;
    *) usage >&2; die "no such kernel: $arg" ;;
    esac
done
if [ -n "$list" ]; then
    for kernel in "${dingo_kernels[@]/%/-lockdep}" "${dingo_kernels[@]/%/-kasan}" "${dingo_kernels[@]/%/-debug}"; do
        if debug_kernel_is_cached "$kernel"; then state=$(cat "$(debug_kernel_root "$kernel")/release"); else state='not built'; fi
        printf '%s: %s\n' "$kernel" "$state"
    done
    exit 0
fi
[ ${#kernels[@]} -gt 0 ] || kernels=(6.12-lockdep)
renice -n 15 $$ >/dev/null
for kernel in "${kernels[@]}"; do
    make_debug_kernel "$kernel" >/dev/null
    kernel_image "$kernel"
done
