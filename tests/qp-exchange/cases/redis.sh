# SPDX-License-Identifier: BSD-2-Clause
# A Redis server of the test's own.
. tests/qp-exchange/services.sh
redis_dir=$(mktemp -d /tmp/dingo-redis-XXXXXX)
cleanups+=("rm -rf $redis_dir")
redis_port=$(free_port)
redis-server --bind 127.0.0.1 --port "$redis_port" --dir "$redis_dir" --save '' --requirepass secret >"$logs/redis.log" 2>&1 &
services+=($!)
redis() { redis-cli --no-auth-warning -a secret -p "$redis_port" "$@"; }
redis_answers() { [ "$(redis ping 2>/dev/null)" = PONG ]; }
members_are() { [ "$(redis hlen "qpx:{$1}:members")" = "$2" ]; }
until_true redis_answers || fail 'the Redis server starts' "$(why "$logs/redis.log")"
url=redis://:secret@127.0.0.1:$redis_port
all_of 'redis: eight ranks, all to all' 8 "$bin/qpx-rank $url/mesh --size 8 --no-device --rank \$N"
verdict 'redis: eight ranks, all to all' "$all_rc" "$all_out" 'with 7 peers, 0 wrong' 8
truth 'redis: the last member leaves nothing behind' "$(redis keys '*' | tr '\n' ' ')" [ "$(redis dbsize)" = 0 ]
all_of 'redis: 128 ranks in four processes' 4 "$bin/qpx-rank $url/many --size 128 --rank \$((32 * N)) --threads 32 --no-device --quiet"
verdict 'redis: 128 ranks in four processes' "$all_rc" "$all_out" '^32 ranks in this process, 0 failed' 4
all_of 'redis: the interface of the stores' 4 "$bin/qpx_store_check $url/store 4 \$N"
verdict 'redis: the interface of the stores' "$all_rc" "$all_out" 'store: all is well' 4

pids=()
for rank in 0 1 2; do
    "$bin/qpx-rank" "$url/killed" --rank $rank --size 4 --no-device >"$logs/redis-killed-$rank.out" 2>&1 &
    pids+=($!)
done
until_true members_are killed 3 || true
kill -9 "${pids[2]}"
wait "${pids[2]}" 2>/dev/null || true
timeout 60 "$bin/qpx-rank" "$url/killed" --rank 3 --size 4 --no-device >"$logs/redis-killed-3.out" 2>&1 || true
for pid in "${pids[@]:0:2}"; do wait "$pid" || true; done
told=$(grep -lE 'rank 2 (has left, failed|failed)' "$logs"/redis-killed-[013].out | wc -l)
truth 'redis: a killed rank is named to the others' "to $told of 3: $(why "$logs"/redis-killed-[013].out)" [ "$told" = 3 ]
# What a killed run left is no hindrance.
"$bin/qpx-rank" "$url/again" --rank 0 --size 2 --no-device >"$logs/redis-stale.out" 2>&1 &
pid=$!
until_true members_are again 1 || true
kill -9 $pid
wait $pid 2>/dev/null || true
all_of 'redis: again after a killed run' 2 "$bin/qpx-rank $url/again --size 2 --no-device --rank \$N"
verdict 'redis: again after a killed run' "$all_rc" "$all_out" 'with 1 peers, 0 wrong' 2
plain 'redis: a wrong password' "$bin/qpx-rank redis://:wrong@127.0.0.1:$redis_port/x --size 1 --rank 0 --no-device" 'WRONGPASS' 1
plain 'redis: nobody there' "$bin/qpx-rank redis://127.0.0.1:1/x --size 1 --rank 0 --no-device" 'refused' 1
(umask 077; printf 'a:%s\n' 00112233445566778899aabbccddeeff >"$logs/redis-key")
plain 'redis: not in clear when security is on' "$bin/qpx-rank $url/x --size 1 --rank 0 --no-device --security psk:$logs/redis-key" 'does not encrypt' 1
stop_services
