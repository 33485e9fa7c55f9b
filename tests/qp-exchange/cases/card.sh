# SPDX-License-Identifier: BSD-2-Clause
# Real queue pairs on kernel-less cards: each rank writes to every other rank and checks every byte.
. tests/qp-exchange/services.sh
start_card rank0
start_card rank1
if start_qpxd card --listen "127.0.0.1:$(free_port)"; then
    url=qpxd://127.0.0.1:$qpxd_port
    all_of 'four processes on one card, RDMA writes to all' 4 "$dingo run --card rank0 -- $bin/qpx-rank $url/one --size 4 --rounds 3 --rank \$N"
    verdict 'four processes on one card, RDMA writes to all' "$all_rc" "$all_out" 'wrote to and checked 3 peers, 0 wrong' 4
    all_of 'two cards, 16 ranks in four processes' 4 "$dingo run --card rank\$((N % 2)) -- $bin/qpx-rank $url/two --size 16 --threads 4 --rank \$((4 * N))"
    verdict 'two cards, 16 ranks in four processes' "$all_rc" "$all_out" 'wrote to and checked 15 peers, 0 wrong' 16
    plain 'a device that is not there' "$dingo run --card rank0 -- $bin/qpx-rank $url/x --size 1 --rank 0 --device mlx5_9" "no RDMA device 'mlx5_9'; there are: " 1
else
    fail 'qpxd starts' "$(why "$qpxd_log")"
fi
all_of 'tcp: three ranks on a card' 3 "$dingo run --card rank0 -- $bin/qpx-rank tcp://127.0.0.1:$(free_port)/job --size 3 --rank \$N"
verdict 'tcp: three ranks on a card' "$all_rc" "$all_out" 'wrote to and checked 2 peers, 0 wrong' 3
out=$logs/mpirun-card.out rc=0
timeout -k 5 120 mpirun --allow-run-as-root --oversubscribe -n 4 "$dingo" run --card rank0 -- "$bin/qpx-rank" pmix: >"$out" 2>&1 </dev/null || rc=$?
verdict 'pmix: four ranks under mpirun on a card' "$rc" "$out" 'wrote to and checked 3 peers, 0 wrong' 4
stop_services
"$dingo" card stop rank0 >/dev/null
"$dingo" card stop rank1 >/dev/null
