# SPDX-License-Identifier: BSD-2-Clause
# `scripts/bench.sh native`: compares kernel-less cards with the kernel's TCP. Each figure is the
# median of $native_rounds rounds; a round measures every row once, so that other load on the
# machine hits all rows alike. Sourced by bench.sh.

native_rounds=${NATIVE_ROUNDS:-3}
native_seconds=3

# perftest_column N: prints column N of the last row of perftest's table on stdin ("#bytes
# #iterations ..."), or 0.
perftest_column() { awk -v f="$1" '/^ *[0-9]+ +[0-9]+ +[0-9.]+/ {v = $f} END {print v + 0}'; }

# pair_on SERVER_CARD CLIENT_CARD COLUMN TOOL [OPTION...]: runs server and client of a perftest
# tool; prints that column of the client's table.
pair_on() {
    local server=$1 client=$2 column=$3 tool=$4 out pid
    shift 4
    out=$(mktemp)
    native_port=$((native_port + 1))
    timeout 60 "$dingo" run --card "$server" -- "$tool" -d "$server" -F -p $native_port "$@" >/dev/null 2>&1 &
    pid=$!
    wait_for_port $native_port
    timeout 60 "$dingo" run --card "$client" -- "$tool" -d "$client" -F -p $native_port "$@" 127.0.0.1 >"$out" 2>/dev/null || true
    wait $pid || true
    perftest_column "$column" <"$out"
    rm -f "$out"
}

wait_for_port() {
    local _
    for _ in $(seq 200); do
        ! ss -Hltn "sport = :$1" | grep -q . || return 0
        sleep 0.05
    done
    echo "nothing listens on port $1" >&2
}

tcp_stream() {
    local pid out
    native_port=$((native_port + 1))
    iperf3 -s -1 -p $native_port >/dev/null 2>&1 &
    pid=$!
    wait_for_port $native_port
    out=$(iperf3 -c 127.0.0.1 -p $native_port -t $native_seconds -J)
    wait $pid || true
    python3 -c 'import json,sys; print(json.load(sys.stdin)["end"]["sum_received"]["bits_per_second"]/1e9)' <<<"$out"
}

tcp_latency() {
    local pid
    native_port=$((native_port + 1))
    qperf -lp $native_port >/dev/null 2>&1 &
    pid=$!
    wait_for_port $native_port
    qperf -lp $native_port 127.0.0.1 -t $native_seconds tcp_lat |
        awk '/latency/ {print $3 * ($4 == "ms" ? 1000 : $4 == "ns" ? 0.001 : 1)}'
    kill $pid
    wait $pid 2>/dev/null || true
}

# direct COMMAND...: runs COMMAND with the direct road on; it is off for the other rows.
direct() {
    local -x DINGO_DIRECT=1
    "$@"
}

# native_rows: name|unit|command that prints the figure
native_rows=(
    "iperf3, one TCP stream over loopback|Gb/s|tcp_stream"
    "ib_write_bw 64 KiB, two cards in one process|Gb/s|pair_on bench0 bench1 4 ib_write_bw -s 65536 -D $native_seconds --report_gbits"
    "ib_write_bw 64 KiB, two processes, shm|Gb/s|pair_on bench4 bench5 4 ib_write_bw -s 65536 -D $native_seconds --report_gbits"
    "ib_write_bw 64 KiB, direct|Gb/s|direct pair_on bench0 bench1 4 ib_write_bw -s 65536 -D $native_seconds --report_gbits"
    "ib_write_bw 64 KiB, one card|Gb/s|pair_on bench0 bench0 4 ib_write_bw -s 65536 -D $native_seconds --report_gbits"
    "ib_write_bw 64 KiB, two cards in one process, UDP loopback|Gb/s|pair_on bench2 bench3 4 ib_write_bw -s 65536 -D $native_seconds --report_gbits"
    "ib_write_bw 64 KiB, two processes, UDP loopback|Gb/s|pair_on bench6 bench7 4 ib_write_bw -s 65536 -D $native_seconds --report_gbits"
    "qperf tcp_lat|us|tcp_latency"
    "ib_write_lat 8 B, two cards in one process|us|pair_on bench0 bench1 5 ib_write_lat -s 8 -n 20000"
    "ib_write_lat 8 B, two processes, shm|us|pair_on bench4 bench5 5 ib_write_lat -s 8 -n 20000"
    "ib_write_lat 8 B, direct|us|direct pair_on bench0 bench1 5 ib_write_lat -s 8 -n 20000"
    "ib_write_lat 8 B, one card|us|pair_on bench0 bench0 5 ib_write_lat -s 8 -n 20000"
    "ib_send_bw 64 B, two cards in one process|M msg/s|pair_on bench0 bench1 5 ib_send_bw -s 64 -D $native_seconds --report_gbits"
    "ib_send_bw 64 B, two processes, shm|M msg/s|pair_on bench4 bench5 5 ib_send_bw -s 64 -D $native_seconds --report_gbits"
    "ib_send_bw 64 B, direct|M msg/s|direct pair_on bench0 bench1 5 ib_send_bw -s 64 -D $native_seconds --report_gbits"
    "ib_write_bw 8 B, 8 QPs, two cards in one process|M msg/s|pair_on bench0 bench1 5 ib_write_bw -s 8 -q 8 -D $native_seconds --report_gbits"
    "ib_write_bw 8 B, 8 QPs, two processes, shm|M msg/s|pair_on bench4 bench5 5 ib_write_bw -s 8 -q 8 -D $native_seconds --report_gbits"
)

bench_native() {
    local row name command round figures
    need_packages iperf3 qperf perftest ibverbs-utils iproute2 python3
    build_preset release "${native_targets[@]}" >/dev/null
    dingo=$PWD/build/bin/dingo
    native_port=19400
    DINGO_RUN=$(mktemp -d)
    export DINGO_RUN
    trap '"$dingo" card stop --all >/dev/null 2>&1; rm -rf "$DINGO_RUN"' EXIT
    for name in bench0 bench1; do "$dingo" card start $name --one-process --wire shm:bench >/dev/null; done
    for name in bench4 bench5; do "$dingo" card start $name --own-process --wire shm:bench2 >/dev/null; done
    for name in 2 3; do "$dingo" card start bench$name --one-process --wire roce:127.0.0.$name --ip 127.0.0.$name/8 >/dev/null; done
    for name in 6 7; do "$dingo" card start bench$name --own-process --wire roce:127.0.0.$name --ip 127.0.0.$name/8 >/dev/null; done
    figures=$DINGO_RUN/figures
    for round in $(seq $native_rounds); do
        for row in "${native_rows[@]}"; do
            name=$(cut -d'|' -f1 <<<"$row") command=$(cut -d'|' -f3 <<<"$row")
            # shellcheck disable=SC2086  # the command is words
            printf '%s|%s|%s\n' "$name" "$(cut -d'|' -f2 <<<"$row")" "$($command)" >>"$figures"
        done
        echo "# round $round of $native_rounds" >&2
    done
    python3 scripts/lib/bench_table.py <"$figures"
}
