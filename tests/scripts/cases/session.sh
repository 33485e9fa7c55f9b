# SPDX-License-Identifier: BSD-2-Clause
# scripts/lib/session.sh: detects which of a session's processes still run; scripts/lib/qemu.sh: the
# measured clock that sessions share. Sourced by suite.sh.
# lives COMMAND...: prints if COMMAND's process runs, by its pid file; with $waited, after its exit.
lives() (
    . scripts/lib/session.sh
    "$@" &
    [ -z "$waited" ] || wait $!
    record_pid "$work/pid" $!
    alive "$work/pid" && echo yes || echo no
    kill $! 2>/dev/null
)
check 'session: a process that runs' yes "$(waited='' lives sleep 10)"
check 'session: one that had ended before it was written down' no "$(waited=1 lives true)"
# clocks: prints the clock that sessions measure when they start together, and the number of files
# left.
clocks() (
    . scripts/lib/qemu.sh
    mkdir -p "$DINGO_CACHE" "$work/clock"
    echo old >"$DINGO_CACHE/tsc-khz-of-another-start"
    # A program, not a function: the real one is a child of the shell, too.
    printf '#!/bin/sh\nsleep "0.$n"\necho 7\n' >"$work/clock/python3"
    chmod +x "$work/clock/python3"
    PATH=$work/clock:$PATH
    export n
    for n in 1 2 3 4; do
        sleep 0.05
        tsc_khz &
    done
    wait
    ls "$DINGO_CACHE" | grep -c tsc-khz
)
check 'session: the clock of several that begin together' '7 7 7 7 1' "$(clocks 2>&1 | paste -sd ' ')"
