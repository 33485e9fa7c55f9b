# SPDX-License-Identifier: BSD-2-Clause
# `scripts/bench.sh rtl-speed`: measures how fast the Verilated card's clock runs under unmodified
# perftest. Each figure is the median of $rtl_speed_rounds rounds. Sourced by bench.sh after
# bench_native.sh.

rtl_speed_rounds=${RTL_SPEED_ROUNDS:-3}
rtl_speed_seconds=4

# name|server's card|client's card|unit|column of the table|program and options
rtl_speed_rows=(
    "one card, ib_write_bw 4 KiB|speed0|speed0|MB/s|4|ib_write_bw -s 4096 -D $rtl_speed_seconds"
    "one card, ib_write_lat 8 B|speed0|speed0|us|5|ib_write_lat -s 8 -n 300"
    "two cards, ib_write_bw 4 KiB|speed0|speed1|MB/s|4|ib_write_bw -s 4096 -D $rtl_speed_seconds"
    "two cards, ib_write_bw 64 KiB|speed0|speed1|MB/s|4|ib_write_bw -s 65536 -D $rtl_speed_seconds"
    "two cards, ib_write_lat 8 B|speed0|speed1|us|5|ib_write_lat -s 8 -n 300"
)

bench_rtl_speed() {
    local row name server client unit column command round figure start end
    need_packages verilator "${native_packages[@]}" python3
    DINGO_CMAKE_OPTIONS=$rtl_engine_options build_preset release "${native_targets[@]}" >/dev/null
    dingo=$PWD/build/bin/dingo
    native_port=19800
    DINGO_RUN=$(mktemp -d)
    export DINGO_RUN
    trap '"$dingo" card stop --all >/dev/null 2>&1; rm -rf "$DINGO_RUN"' EXIT
    for name in speed0 speed1; do "$dingo" card start $name --engine rtl >/dev/null; done
    for round in $(seq "$rtl_speed_rounds"); do
        for row in "${rtl_speed_rows[@]}"; do
            IFS='|' read -r name server client unit column command <<<"$row"
            "$dingo" --json stats >"$DINGO_RUN/before"
            start=$(date +%s%N)
            # shellcheck disable=SC2086  # the command is words
            figure=$(pair_on "$server" "$client" "$column" $command)
            end=$(date +%s%N)
            "$dingo" --json stats >"$DINGO_RUN/after"
            python3 scripts/lib/bench_rtl_speed.py sample "$name" "$server" "$client" "$unit" "$figure" $((end - start)) \
                "$DINGO_RUN/before" "$DINGO_RUN/after" >>"$DINGO_RUN/samples"
        done
        echo "# round $round of $rtl_speed_rounds" >&2
    done
    "$dingo" card stop --all >/dev/null  # another part may follow
    python3 scripts/lib/bench_rtl_speed.py table <"$DINGO_RUN/samples"
    rm -rf "$DINGO_RUN"
}
