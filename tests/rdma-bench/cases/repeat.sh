# SPDX-License-Identifier: BSD-2-Clause
# Repeats and their confidence intervals, the description of a run's machine, and comparison of two
# commands run in turn. Sourced by suite.sh.
out=$logs/repeat
mkdir -p "$out"
bench_pair 'write-bw --repeat 6: the interval of the median' '6 repeats: median [0-9.]+ MiB/sec, in [0-9.]+ to [0-9.]+ with 96.9 %' \
    'write-bw -s 64,4k -n 200 --repeat 6' "write-bw -s 64,4k -n 200 --repeat 6 --json $out/a.json --html $out/a.html"
bench_pair 'read-lat --repeat 2: too few to decide' 'too few repeats for a confidence interval: --repeat 6' 'read-lat -n 100 --repeat 2'
bench_pair 'send-bw --verify --repeat 2' 'verified: 200 messages' 'send-bw --verify -n 100 --repeat 2'
bench_pair 'write-bw -D 1: a series over time, pinned' ' 4096 ' 'write-bw -s 4096 -D 1 -f 0' "write-bw -s 4096 -D 1 -f 0 --pin 0 --json $out/series.json --html $out/series.html"
plain 'the JSON has each repeat and its interval' \
    "/usr/bin/python3 -c 'import json,sys; e = json.load(open(sys.argv[1]))[\"entries\"]; print(len(e), *(len(x[\"repeats\"]) for x in e), e[0][\"intervals_of_the_median\"][\"bandwidth_bytes_per_second\"][\"confidence\"] > 0.95)' $out/a.json" '^2 6 6 True'
plain 'the series has all of the run, and the report says where it ran' \
    "/usr/bin/python3 -c 'import json,sys; d = json.load(open(sys.argv[1])); s = d[\"entries\"][0][\"series_seconds_and_messages\"]; print(len(s) >= 3, sum(n for _, n in s) > 0, d[\"local\"][\"pinned_cpus\"], d[\"local\"][\"clock\"] != \"\")' $out/series.json" '^True True 0 True'
page 'the page shows it over time' 'Throughput over time.*pinned to 0' "$out/series.html"
plain 'compare by intervals: a run is no worse than itself' "$bench compare $out/a.json $out/a.json" 'judged by confidence intervals'
# Compares perftest and rdma-bench on the same cards; each command runs a pair.
cat >"$out/pair.sh" <<'END'
# pair.sh DINGO PORT SERVER...: a server on alpha, a client on beta; prints what the client does.
dingo=$1 port=$2
shift 2
timeout 60 "$dingo" run --card alpha -- "$@" -p "$port" >/dev/null 2>&1 &
for _ in $(seq 600); do
    ! ss -Hltn "sport = :$port" | grep -q . || break
    sleep 0.05
done
timeout 60 "$dingo" run --card beta -- "$@" -p "$port" 127.0.0.1
END
rc=0
"$bench" compare --interleave 2 --json "$out/pairs.json" -- bash "$out/pair.sh" "$dingo" 18731 ib_write_bw -F -s 4096 -n 200 \
    -- bash "$out/pair.sh" "$dingo" 18732 "$bench" write-bw -F -s 4096 -n 200 >"$out/pairs.out" 2>&1 || rc=$?
if [ $rc = 0 ] && grep -qE '^ +4096 +1  bandwidth .* unclear' "$out/pairs.out" && grep -q '2 repeats are too few' "$out/pairs.out"; then
    pass 'compare --interleave: perftest and rdma-bench in turn, two rounds decide nothing'
else
    fail 'compare --interleave: perftest and rdma-bench in turn, two rounds decide nothing' "status $rc: $(why "$out/pairs.out")"
fi
"$bench" compare --interleave 2 -- bash "$out/pair.sh" "$dingo" 18733 ib_send_lat -F -n 200 \
    -- bash "$out/pair.sh" "$dingo" 18734 "$bench" send-lat -F -n 200 >"$out/lat.out" 2>&1 || rc=$?
if [ $rc = 0 ] && grep -qE 'median latency' "$out/lat.out"; then
    pass 'compare --interleave: latencies'
else
    fail 'compare --interleave: latencies' "status $rc: $(why "$out/lat.out")"
fi
