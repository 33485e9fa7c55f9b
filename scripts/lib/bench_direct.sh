# SPDX-License-Identifier: BSD-2-Clause
# `scripts/bench.sh direct`: compares the direct road with the way through the cards, by rdma-bench.
# Each figure is the median of $direct_rounds rounds; in a round each row is measured once on both
# roads, one right after the other. Sourced by bench.sh.

direct_rounds=${DIRECT_ROUNDS:-5}

# name|unit|first argument of bench_direct.py|clients, each with a port of its own|rdma-bench's
# arguments
direct_rows=(
    "8 B WRITE, half a round trip|us|latency|1|write-lat -s 8 -n 20000"
    "8 B SEND, half a round trip|us|latency|1|send-lat -s 8 -n 20000"
    "8 B READ|us|latency|1|read-lat -s 8 -n 20000"
    "64 B SEND, 8 QPs|M/s|rate|1|send-bw -s 64 -q 8 -D 2"
    "8 B WRITE, 8 QPs|M/s|rate|1|write-bw -s 8 -q 8 -D 2"
    "64 KiB WRITE|Gb/s|bandwidth|1|write-bw -s 65536 -D 2"
    "64 KiB READ|Gb/s|bandwidth|1|read-bw -s 65536 -D 2"
    "64 KiB SEND|Gb/s|bandwidth|1|send-bw -s 65536 -D 2"
    "1 MiB WRITE|Gb/s|bandwidth|1|write-bw -s 1048576 -D 2"
    "16 MiB WRITE|Gb/s|bandwidth|1|write-bw -s 16777216 -D 2"
    "64 KiB WRITE, 4 clients of one card|Gb/s|bandwidth|4|write-bw -s 65536 -D 2"
)
# Sizes for which one thread's memcpy() is measured, too, as an upper bound: name|bytes
direct_copies=("64 KiB|65536" "1 MiB|1048576" "16 MiB|16777216")

# direct_figure ROAD KEY CLIENTS WORDS...: runs CLIENTS pairs of rdma-bench at the same time; prints
# their combined figure (see bench_direct.py). ROAD is the value of DINGO_DIRECT.
direct_figure() {
    local -x DINGO_DIRECT=$1
    local key=$2 clients=$3 n pids=()
    shift 3
    for n in $(seq "$clients"); do
        timeout 60 "$dingo" run --card direct0 -- build/bin/rdma-bench "$@" -p $((direct_port + n)) >/dev/null 2>&1 &
        pids+=($!)
    done
    for n in $(seq "$clients"); do wait_for_port $((direct_port + n)); done
    for n in $(seq "$clients"); do
        timeout 60 "$dingo" run --card direct1 -- build/bin/rdma-bench "$@" -p $((direct_port + n)) --json "$DINGO_RUN/$n.json" 127.0.0.1 >/dev/null 2>&1 &
        pids+=($!)
    done
    wait "${pids[@]}" || true
    direct_port=$((direct_port + clients))
    python3 scripts/lib/bench_direct.py "$key" "$DINGO_RUN"/[0-9]*.json
    rm -f "$DINGO_RUN"/[0-9]*.json
}

bench_direct() {
    local row name unit key clients words round figures copy
    build_preset release "${native_targets[@]}" rdma-bench copy_bench >/dev/null
    dingo=$PWD/build/bin/dingo
    direct_port=19600
    DINGO_RUN=$(mktemp -d)
    export DINGO_RUN
    trap '"$dingo" card stop --all >/dev/null 2>&1; rm -rf "$DINGO_RUN"' EXIT
    for name in direct0 direct1; do "$dingo" card start $name >/dev/null; done
    figures=$DINGO_RUN/figures
    for round in $(seq "$direct_rounds"); do
        for row in "${direct_rows[@]}"; do
            IFS='|' read -r name unit key clients words <<<"$row"
            # shellcheck disable=SC2086  # the command is words
            for road in 0 1; do
                printf '%s|%s|%s\n' "$name: $([ $road = 1 ] && echo direct || echo 'by the cards')" "$unit" \
                    "$(direct_figure $road "$key" "$clients" $words)" >>"$figures"
            done
        done
        for copy in "${direct_copies[@]}"; do
            printf '%s: memcpy|Gb/s|%s\n' "${copy%|*}" "$(build/bin/copy_bench "${copy#*|}")" >>"$figures"
        done
        echo "# round $round of $direct_rounds" >&2
    done
    python3 scripts/lib/bench_table.py <"$figures"
}
