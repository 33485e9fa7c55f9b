# SPDX-License-Identifier: BSD-2-Clause
# scripts/lib/session.sh: which of a session's processes still run. Sourced by suite.sh.
# lives COMMAND...: whether it does, by the file that says so, once that is written and WAITED is done.
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
