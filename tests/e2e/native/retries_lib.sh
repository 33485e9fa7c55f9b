# SPDX-License-Identifier: BSD-2-Clause
# Two cards with a bad wire between them, and a test with many queue pairs whose retries must
# suffice. Sourced by busy.sh and paused.sh.
bench=$dingo_root/build/bin/rdma-bench
faults='drop=2%,reorder=1%,corrupt=1%,duplicate=1%'
start_card alpha --own-process --faults "$faults"
start_card beta --own-process --faults "$faults"
alpha_pid=$(card_pid alpha)
# beside COMMAND...: runs COMMAND in the background until end_others, which also continues alpha's
# card.
others=()
beside() {
    "$@" &
    others+=($!)
    disown $!
}
end_others() {
    kill -9 "${others[@]}" || true
    kill -CONT "$alpha_pid" || true
    others=()
} 2>/dev/null
cleanups+=(end_others)

# retried NAME TEST: runs rdma-bench TEST with T_tr = 67 ms (timeout 14) and seven retries.
retried() {
    local options="$2 -q 64 -u 14 --retry_count 7 --verify"
    limit=200 pair "$1" "$bench $options" "$bench $options A" ' 0 wrong$'
}
