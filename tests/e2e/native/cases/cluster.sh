# SPDX-License-Identifier: BSD-2-Clause
# `dingo run --cluster`: each rank of a parallel program gets its own card.
need_packages openmpi-bin
mpi='mpirun --allow-run-as-root --oversubscribe --mca btl self,tcp --mca pml ob1'
device='ibv_devices | awk "NR > 2 { print \$1 }" | paste -sd " "'

# ranks NAME EXPECTED LAUNCHER...: case: the ranks' cards, sorted, are EXPECTED.
ranks() {
    local name=$1 expected=$2 out
    shift 2
    out=$(timeout -k 5 120 "$dingo" run "$@" 2>"$logs/$(slug "$name").err" | sort | paste -sd ';')
    if [ "$out" = "$expected" ]; then pass "$name"; else fail "$name" "$out; $(why "$logs/$(slug "$name").err")"; fi
}
own='echo "$OMPI_COMM_WORLD_LOCAL_RANK: $('$device')"'
# shellcheck disable=SC2086
ranks 'cluster: each rank of mpirun has its card' '0: rank0;1: rank1;2: rank2;3: rank3' \
    --cluster 4 -- $mpi -n 4 sh -c "$own"
[ -z "$("$dingo" card list -q)" ] && pass 'cluster: nothing is left' || fail 'cluster: nothing is left' "$("$dingo" card list)"
# shellcheck disable=SC2086
ranks 'cluster: more ranks than cards share them' '0: c0;1: c1;2: c0' --cluster 2 --card c -- $mpi -n 3 sh -c "$own"
for variable in MPI_LOCALRANKID SLURM_LOCALID LOCAL_RANK PMIX_RANK PMI_RANK; do
    ranks "cluster: a launcher that sets $variable" '0 rank0;1 rank1' --cluster 2 -- \
        sh -c "for r in 0 1; do $variable=\$r sh -c 'echo \$$variable \$($device)' & done; wait"
done
ranks 'cluster: who has no rank sees all cards' 'rank0 rank1 rank2' --cluster 3 -- sh -c "$device"
ranks 'cluster: what is no rank is none' 'rank0 rank1' --cluster 2 -- env LOCAL_RANK=-1 sh -c "$device"
ranks 'cluster: dingo run inside chooses a card itself' 'rank1' --cluster 2 -- env LOCAL_RANK=0 "$dingo" run --card rank1 -- sh -c "$device"
# shellcheck disable=SC2086
plain 'cluster: ranks 0 and 1 move data' "$dingo run --cluster 2 -- $mpi -n 2 sh -c '
    if [ \$OMPI_COMM_WORLD_RANK = 0 ]; then exec ib_write_bw -F -n 500; fi
    for i in \$(seq 60); do sleep 0.5; ss -Hltn \"sport = :18515\" | grep -q . && break; done
    exec ib_write_bw -F -n 500 localhost'" '^ +65536 +500'
plain "cluster: the launcher's exit status" "$dingo run --cluster 2 -- sh -c 'exit 7'" '' 7
plain 'cluster: addresses are of one card' "$dingo run --cluster 2 --ip 10.0.0.1/24 -- true" "apply to one card only" 2
"$dingo" run --cluster 2 -- sleep 60 >"$logs/interrupted.out" 2>&1 &
pid=$!
for _ in $(seq 600); do [ "$("$dingo" card list -q | wc -l)" != 2 ] || break; sleep 0.05; done
sleep 0.5
kill -TERM $pid
rc=0
wait $pid || rc=$?
[ "$rc $("$dingo" card list -q | wc -l)" = '143 0' ] && pass 'cluster: interrupted, it leaves nothing' ||
    fail 'cluster: interrupted, it leaves nothing' "status $rc, $("$dingo" card list -q | wc -l) cards"
. tests/e2e/native/cases/mpi.sh
