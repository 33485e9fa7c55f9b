# SPDX-License-Identifier: BSD-2-Clause
# All tests with perftest's options: the client prints a row of the table. Sourced by suite.sh.
row='^ [0-9]+ +[0-9]+ +[0-9.]+ +[0-9.]+'
both() { bench_pair "$1" "${2:-$row}" "$1"; }

for test in write-bw read-bw send-bw atomic-bw write-lat read-lat send-lat atomic-lat write-imm-bw write-imm-lat; do both "$test -n 300"; done
for test in write-bw read-bw send-bw; do
    both "$test -a -n 50" '^ 8388608 '
    both "$test -s 64,4096 -q 1,3 -n 200" '^ 4096 +600 '
    both "$test -m 512 -n 100"
    both "$test -b -n 200"
    both "$test -D 1" ' 65536 '
    both "$test -t 1 -n 50"
    both "$test -q 4 --threads 2 -n 200" '^ 65536 +800 '
    both "$test -l 16 -n 505 -s 1024" '^ 1024 +505 '
    both "$test --use_old_post_send -n 200"
    both "$test --mr_per_qp -q 2 -n 100"
    both "$test --reversed -n 100"
    both "$test -Q 7 -n 100 -s 64"
    both "$test --perform_warm_up -n 100"
done
for test in write-lat read-lat send-lat; do
    both "$test -a -n 20" '^ 8388608 '
    both "$test -D 1" 'latency, us:.*99.999%'
    both "$test --use_old_post_send -n 100"
done
for test in read-bw send-bw atomic-bw read-lat send-lat atomic-lat; do both "$test -e -n 100"; done
both 'send-bw -e -b -n 100'
both 'send-bw --use-srq -q 4 -n 200'
both 'send-bw --use-srq -q 4 --threads 2 -n 200'
both 'send-bw --use-srq -r 16 -n 1003 --repeat 6' '6 repeats'
both 'send-lat --use-srq -n 100'
both 'send-bw -r 1 -n 50'
both 'send-bw --recv_post_list 8 -n 100'
both 'send-bw -c UD -n 300' '^ 4096 +300 '
both 'send-bw -c UD -q 4 -s 512 -D 1' '^ 512 '
both 'send-lat -c UD -n 100'
both 'send-bw -c UC -n 300'
both 'write-imm-bw -s 64,4096 -q 2 --use-srq -n 200' '^ 4096 +400 '
both 'write-imm-bw -b -e -n 200'
both 'write-imm-bw -c UC -n 300'
both 'write-imm-bw --use_old_post_send -n 200'
both 'write-imm-lat --verify -s 1,64,5000 -n 100' 'verified: 200 messages, .* 0 wrong$'
both 'write-bw -c UC -n 300'
both 'write-lat -c UC -n 100'
both 'read-bw -o 1 -n 100'
both 'atomic-bw -A CMP_AND_SWAP -n 100'
both 'write-bw -I 64 -s 64 -n 100'
both 'write-bw --rate 2k -s 64 -n 500' 'rate: [0-9]+ messages/s of 2000'
both 'send-bw --rate 2k -s 64 -q 2 -n 500' 'latency, us: min'
both 'read-lat --rate 500 -n 200' 'rate: [0-9]+ messages/s of 500'
both 'write-bw -W hw_counters/rdma_tx_packets -s 64 -n 500' 'hw_counters/rdma_tx_packets=[1-9]'
both 'write-bw --cpu -n 500' 'cpu, here: .* us/message'
both 'write-bw --report_gbits -n 100' 'BW average\[Gb/sec\]'
both 'write-bw --output=bandwidth -n 100' '^[0-9]+\.[0-9]+$'
both 'write-lat --output=latency -n 100' '^[0-9]+\.[0-9]+$'
both 'read-lat -H -n 20' '^20, [0-9.]+'
both 'read-lat -U -C -n 20' 'cycles'

# same_figures ARGUMENTS: case: the server's row has the client's figures.
same_figures() {
    local base figures="$row|latency, us:|rate:"
    both "$1"
    base=$logs/$(slug "$1")
    if grep -qE "$row" "$base.A" && [ "$(grep -E "$figures" "$base.A")" = "$(grep -E "$figures" "$base.B")" ]; then
        pass "$1: the server's row"
    else
        fail "$1: the server's row" "$(grep -E "$figures" "$base.A" | paste -sd ';') is not $(grep -E "$figures" "$base.B" | paste -sd ';')"
    fi
}
for test in send-lat write-lat write-imm-lat read-lat atomic-lat write-bw; do
    same_figures "$test --rate 200 -n 100"
    same_figures "$test -n 101"
done

# TLS between the two programs, and on one side only.
printf 'lab:%s\n' "$(od -An -tx1 -N32 /dev/urandom | tr -d ' \n')" >"$logs/psk"
chmod 600 "$logs/psk"
both "write-bw -n 100 --security psk:$logs/psk"

# Each QP queries the GID table once as a whole; index by index, that would be 512 requests per QP.
requests() { "$dingo" --json stats alpha | python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["host"]["requests"])'; }
before=$(requests)
both 'write-bw -q 64 -n 10'
plain '64 QPs are set up by fewer than 30 requests each' "[ $(($(requests) - before)) -lt 1920 ]"
