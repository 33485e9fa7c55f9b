# SPDX-License-Identifier: BSD-2-Clause
# Many ranks on one machine, and members that are killed.
. tests/qp-exchange/services.sh
metrics=$(free_port)
if start_qpxd ranks --listen "127.0.0.1:$(free_port)" --metrics "127.0.0.1:$metrics"; then
    url=qpxd://127.0.0.1:$qpxd_port
    # 1,024 ranks (4 processes with 256 threads each) in a full mesh of endpoints.
    limit=300
    all_of '1,024 ranks, a full mesh' 4 "$bin/qpx-rank $url/large --size 1024 --rank \$((256 * N)) --threads 256 --no-device --quiet --timeout 240"
    verdict '1,024 ranks, a full mesh' "$all_rc" "$all_out" '^256 ranks in this process, 0 failed' 4
    limit=60
    truth 'qpxd has passed on each endpoint once' "$(metric "$metrics" endpoints_total)" metric_is "$metrics" endpoints_total $((1024 * 1023))
    truth 'all 1,024 left in good order' "$(metric "$metrics" members) members, $(metric "$metrics" failures_total) failures" eval "metric_is $metrics members 0 && metric_is $metrics failures_total 0"

    # A member is killed while the mesh waits for the last rank.
    pids=()
    for rank in 0 1 2 3; do
        "$bin/qpx-rank" "$url/killed" --rank $rank --size 5 --no-device >"$logs/killed-$rank.out" 2>&1 &
        pids+=($!)
    done
    until_true metric_is "$metrics" members 4 || true
    kill -9 "${pids[3]}"
    wait "${pids[3]}" 2>/dev/null || true
    timeout 60 "$bin/qpx-rank" "$url/killed" --rank 4 --size 5 --no-device >"$logs/killed-4.out" 2>&1 || true
    for pid in "${pids[@]:0:3}"; do wait "$pid" || true; done
    told=$(grep -lE 'rank 3 (has left, failed|failed)' "$logs"/killed-[0124].out | wc -l)
    truth 'a rank killed in the middle of a mesh is named to all others' "to $told of 4: $(why "$logs"/killed-[0124].out)" [ "$told" = 4 ]
    truth 'the failure is counted' 'it is not' metric_is "$metrics" failures_total 1
else
    fail 'qpxd starts' "$(why "$qpxd_log")"
fi
stop_services

# tcp://: rank 0 serves.
port=$(free_port)
for round in 1 2; do
    all_of "tcp: eight ranks, run $round" 8 "$bin/qpx-rank tcp://127.0.0.1:$port/job --size 8 --no-device --rank \$N"
    verdict "tcp: eight ranks, run $round at once on the same port" "$all_rc" "$all_out" 'with 7 peers, 0 wrong' 8
done
plain 'tcp: no rank 0' "$bin/qpx-rank tcp://127.0.0.1:$(free_port)/job --size 2 --no-device --rank 1 --timeout 1" 'nobody listens' 1
plain 'a rank without a size' "$bin/qpx-rank tcp://127.0.0.1:$(free_port)/job --no-device --rank 0" '[(]--size[)]' 1
plain 'a host that is none' "$bin/qpx-rank qpxd://no-such-host.invalid/job --size 1 --no-device" 'no-such-host' 1
plain 'a scheme that is none' "$bin/qpx-rank http://127.0.0.1/job --size 1 --no-device" 'no way to join a group' 1
