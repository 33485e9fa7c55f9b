# SPDX-License-Identifier: BSD-2-Clause
# `scripts/bench.sh perftest`: compares rdma-bench with perftest on the same kernel-less cards.
# Rounds measure each row with both programs in turn; the figure is the median of $perftest_rounds
# rounds. Sourced by bench.sh after bench_native.sh.

perftest_rounds=${PERFTEST_ROUNDS:-7}
# PERFTEST_PIN="CARD SERVER CLIENT": a processor each; without pinning, the scheduler's choice of
# processors would be the largest difference between runs.
read -r pin_card pin_server pin_client <<<"${PERFTEST_PIN:-}"

# name|column of the table|perftest's program|options for both. Runs take seconds, in which the
# scheduler moves the three programs; a short run would mostly show on which processors they
# started.
perftest_rows=(
    "WRITE bandwidth 64 KiB, Gb/s|4|write_bw|-s 65536 -D 3 --report_gbits"
    "READ bandwidth 64 KiB, Gb/s|4|read_bw|-s 65536 -D 3 --report_gbits"
    "SEND bandwidth 64 KiB, Gb/s|4|send_bw|-s 65536 -D 3 --report_gbits"
    "WRITE 64 B, M messages/s|5|write_bw|-s 64 -D 3"
    "SEND 64 B, M messages/s|5|send_bw|-s 64 -D 3"
    "READ 64 B, M messages/s|5|read_bw|-s 64 -D 3"
    "WRITE latency 8 B, us typical|5|write_lat|-s 8 -n 50000 -I 0"
    "SEND latency 8 B, us typical|5|send_lat|-s 8 -n 50000 -I 0"
    "READ latency 8 B, us typical|5|read_lat|-s 8 -n 50000"
)

# client_instructions OPTIONS COMMAND...: prints the client's instructions per message, as the
# difference of two runs under callgrind, which leaves out start and end: those in the program's own
# code, then all (with the provider, and with polls that found nothing).
client_instructions() {
    local options=$1 n pid
    shift
    for n in 5000 25000; do
        native_port=$((native_port + 1))
        # shellcheck disable=SC2086
        timeout 120 "$dingo" run --card bench0 -- "$@" $options -F -p $native_port -n $n >/dev/null 2>&1 &
        pid=$!
        wait_for_port $native_port
        # shellcheck disable=SC2086
        timeout 120 "$dingo" run --card bench0 -- valgrind --tool=callgrind --callgrind-out-file="$DINGO_RUN/callgrind.$n" "$@" $options -F \
            -p $native_port -n $n 127.0.0.1 >/dev/null 2>&1
        wait $pid || true
        callgrind_annotate --threshold=100 --auto=no "$DINGO_RUN/callgrind.$n" >"$DINGO_RUN/annotated.$n"
    done
    python3 - "$DINGO_RUN" "$(basename "$1")" <<'PY'
import re
import sys


def count(path):
    own = total = 0
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            match = re.match(r"\s*([\d,]+) \([ \d.]+%\)\s+(.*)$", line)
            if match and "PROGRAM TOTALS" in match[2]:
                total = int(match[1].replace(",", ""))
            elif match and match[2].endswith(f"/{sys.argv[2]}]"):
                own += int(match[1].replace(",", ""))
    return own, total


(own, total), (more_own, more_total) = (count(f"{sys.argv[1]}/annotated.{n}") for n in (5000, 25000))
print(round((more_own - own) / 20000), "of", round((more_total - total) / 20000))
PY
}

bench_perftest() {
    local row name column tool options round figures program ours
    need_packages perftest iproute2 python3 valgrind
    build_preset release "${native_targets[@]}" rdma-bench >/dev/null
    dingo=$PWD/build/bin/dingo
    native_port=19600
    DINGO_RUN=$(mktemp -d)
    export DINGO_RUN
    trap '"$dingo" card stop --all >/dev/null 2>&1; rm -rf "$DINGO_RUN"' EXIT
    # One card for both sides: two processes and a card are enough for two processors.
    "$dingo" card start bench0 >/dev/null
    if [ -n "$pin_card" ]; then
        taskset -apc "$pin_card" "$("$dingo" --json card show bench0 | python3 -c 'import json, sys; print(json.load(sys.stdin)["pid"])')" >/dev/null
    fi
    figures=$DINGO_RUN/figures
    for round in $(seq "$perftest_rounds"); do
        for row in "${perftest_rows[@]}"; do
            IFS='|' read -r name column tool options <<<"$row"
            for program in perftest ours; do
                ours="$PWD/build/bin/rdma-bench ${tool/_/-}"
                [ $program = ours ] || ours="ib_$tool"
                # shellcheck disable=SC2086  # command and options are words
                printf '%s|%s|%s\n' "$name" $program "$(both_sides "$column" $ours $options)" >>"$figures"
            done
        done
        echo "# round $round of $perftest_rounds" >&2
    done
    python3 - "$figures" <<'PY'
import collections
import statistics
import sys

figures = collections.defaultdict(lambda: collections.defaultdict(list))
for line in open(sys.argv[1], encoding="utf-8"):
    name, program, value = line.strip().split("|")
    if float(value or 0) > 0:
        figures[name][program].append(float(value))
print(f"{'median of interleaved rounds':34} {'perftest':>10} {'rdma-bench':>10} {'ratio':>7} {'of means':>9}   (spread perftest; rdma-bench)")
for name, programs in figures.items():
    a, b = programs["perftest"], programs["ours"]
    if not a or not b:
        print(f"{name:34} no figure")
        continue
    p, o = statistics.median(a), statistics.median(b)
    means = statistics.mean(b) / statistics.mean(a)
    print(f"{name:34} {p:10.4g} {o:10.4g} {o / p:7.3f} {means:9.3f}   ({min(a):.3g} to {max(a):.3g}; {min(b):.3g} to {max(b):.3g})")
PY
    printf '\n%-34s %12s %12s\n' "client's instructions per message" perftest rdma-bench
    for row in 'WRITE 64 B|write_bw|-s 64 -N' 'SEND 64 B|send_bw|-s 64 -N' 'READ 64 B|read_bw|-s 64 -N' 'WRITE 64 B, -Q 1|write_bw|-s 64 -N -Q 1'; do
        IFS='|' read -r name tool options <<<"$row"
        printf '%-34s %12s %12s\n' "$name, own of all" "$(client_instructions "$options" "ib_$tool")" \
            "$(client_instructions "$options" "$PWD/build/bin/rdma-bench" "${tool/_/-}")"
    done
}

# default_groups: prints groups of processors CARD,SERVER,CLIENT for this machine; with four or
# more, the first one stays free for other programs.
default_groups() {
    local first n
    n=$(nproc)
    if [ "$n" -lt 4 ]; then
        echo 0,0,1
    else
        for ((first = 1; first + 2 < n; first += 4)); do printf '%d,%d,%d ' $first $((first + 1)) $((first + 2)); done
    fi
}

bench_pairs() {
    need_packages perftest iproute2 python3 util-linux
    build_preset release "${native_targets[@]}" rdma-bench >/dev/null
    python3 scripts/lib/bench_pairs.py build/bin ${PAIRS_AGAINST:+--against "$PAIRS_AGAINST"} \
        --groups "${PAIRS_GROUPS:-$(default_groups)}" --seconds "${PAIRS_SECONDS:-60}"
}

# both_sides COLUMN COMMAND...: server and client on one card; prints one figure of the client's table.
both_sides() {
    local column=$1 out pid
    shift
    out=$(mktemp)
    native_port=$((native_port + 1))
    ${pin_server:+taskset -c "$pin_server"} timeout 60 "$dingo" run --card bench0 -- "$@" -F -p $native_port >/dev/null 2>&1 &
    pid=$!
    wait_for_port $native_port
    ${pin_client:+taskset -c "$pin_client"} timeout 60 "$dingo" run --card bench0 -- "$@" -F -p $native_port 127.0.0.1 >"$out" 2>/dev/null || true
    wait $pid || true
    perftest_column "$column" <"$out"
    rm -f "$out"
}
