# SPDX-License-Identifier: BSD-2-Clause
# A bad wire, many queue pairs, and a peer whose card gets no processor for a while: no request ends because its retries were used up.
bench=$dingo_root/build/bin/rdma-bench
faults='drop=2%,reorder=1%,corrupt=1%,duplicate=1%'
start_card alpha --own-process --faults "$faults"
start_card beta --own-process --faults "$faults"
alpha_pid=$(card_pid alpha)
others=()
end_others() {
    kill -9 "${others[@]}" || true
    kill -CONT "$alpha_pid" || true
} 2>/dev/null
cleanups+=(end_others)

# T_tr is 67 ms (timeout 14), and a request is sent again seven times.
retried() {
    local options="$2 -q 64 -u 14 --retry_count 7 --verify"
    limit=200 pair "$1" "$bench $options" "$bench $options A" ' 0 wrong$'
}

# Eight times T_tr are 0.54 s; with waits that grow as C9-140 allows they are 1.4 s.
while sleep 2; do
    kill -STOP "$alpha_pid"
    sleep 0.65
    kill -CONT "$alpha_pid"
done &
others+=($!)
disown $!
retried "the peer's card gets no processor for 0.65 s at a time: READs" 'read-bw -s 64k -D 6 -t 2'
retried "the peer's card gets no processor for 0.65 s at a time: WRITEs" 'write-bw -s 64k -D 6 -t 2'
end_others
others=()
