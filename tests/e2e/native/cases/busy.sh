# SPDX-License-Identifier: BSD-2-Clause
# A bad wire, many queue pairs and a machine without processor time to spare: no request ends because its retries were used up.
bench=$dingo_root/build/bin/rdma-bench
faults='drop=2%,reorder=1%,corrupt=1%,duplicate=1%'
start_card alpha --own-process --faults "$faults"
start_card beta --own-process --faults "$faults"
others=()
end_others() {
    kill -9 "${others[@]}" || true
} 2>/dev/null
cleanups+=(end_others)

# T_tr is 67 ms (timeout 14), and a request is sent again seven times.
retried() {
    local options="$2 -q 64 -u 14 --retry_count 7 --verify"
    limit=200 pair "$1" "$bench $options" "$bench $options A" ' 0 wrong$'
}
for _ in 1 2; do
    sh -c 'ulimit -t 600; while :; do :; done' &
    others+=($!)
    disown $!
done
retried 'beside two processes that burn: WRITEs of 8 MiB' 'write-bw -s 8M -D 1 -t 1'
retried 'beside two processes that burn: READs of 1 MiB' 'read-bw -s 1M -n 5 -t 2'
retried 'beside two processes that burn: messages of 1 MiB' 'send-bw -s 1M -n 5 -t 2'
end_others
others=()
