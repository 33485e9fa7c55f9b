# SPDX-License-Identifier: BSD-2-Clause
# scripts/lib/kernel.sh: the copy of the sources that a kernel module is built from. Sourced by
# suite.sh.
. scripts/lib/kernel.sh
mkdir -p "$work/kmod/sub" "$work/kmod-copy"
echo one >"$work/kmod/one.c"
echo two >"$work/kmod/sub/two.h"
: >"$work/kmod/Kbuild"
# copied: copies the sources; prints what then differs, the sources that make compiles, and the number
# of objects and modules.
copied() (
    strictly copy_sources "$work/kmod" "$work/kmod-copy"
    cd "$work/kmod-copy"
    {
        diff -r "$work/kmod" . -x '*.o' || true
        find . -type f -newer one.o
        find . -name '*.o' -o -name '*.ko' | wc -l
    } | paste -sd ' '
)
touch "$work/kmod-copy/one.o"
copied >/dev/null
# As a build leaves it: objects newer than the sources.
find "$work/kmod-copy" -type f -exec touch -d '-1 hour' {} +
touch -d '-1 minute' "$work/kmod-copy/one.o"
touch -d '-1 minute' "$work/kmod-copy/one.ko"
check 'kernel: unchanged sources stay, modules go' 1 "$(copied)"
echo old >"$work/kmod/one.c"
touch -d '-1 day' "$work/kmod/one.c"
check 'kernel: an older file replaces the copy, and is compiled' './one.c 1' "$(copied)"
touch -d '-1 hour' "$work/kmod-copy/one.c"
rm "$work/kmod/sub/two.h"
check 'kernel: a deleted source goes' 1 "$(copied)"
