# SPDX-License-Identifier: BSD-2-Clause
# Slurm with two nodes that have a kernel-less card each: srun with PMIx, the tutorial's batch
# script, killed members.
. tests/qp-exchange/services.sh
slurm=$(mktemp -d /tmp/qpx-slurm-XXXXXX)
unshare --net --pid --mount --uts --fork --mount-proc --kill-child tests/qp-exchange/slurm/cluster.sh "$slurm" >"$logs/slurm.log" 2>&1 &
cluster=$! head=
stop_cluster() {
    # unshare blocks SIGTERM; killing its child, the namespace's first process, ends all others.
    kill -9 "${head:-$cluster}" 2>/dev/null || true
    wait "$cluster" 2>/dev/null || true
    cp "$slurm"/*.log "$logs/" 2>/dev/null || true
    rm -rf "$slurm"
}
cleanups+=(stop_cluster)
# Programs in the PATH of both nodes' users: wrappers that use the card with the node's name.
mkdir -p "$slurm/bin" "$slurm/home"
for program in qpx-rank rdma-bench; do
    printf '#!/bin/sh\nexec %s/dingo run --card "$(hostname)" -- %s/%s "$@"\n' "$bin" "$bin" $program >"$slurm/bin/$program"
    chmod +x "$slurm/bin/$program"
done
ln -s "$bin/qpxd" "$bin/qpx_store_check" "$bin/dingo" "$slurm/bin/"
# Rank 3 is killed; with a qpxd, after all four have joined.
cat >"$slurm/killed.sh" <<'END'
url=$1
[ "$url" = pmix: ] || url+=/killed
qpx-rank "$url" --no-device --rounds 1000000 &
if [ "$SLURM_PROCID" = 3 ]; then
    if [ "$url" = pmix: ]; then sleep 1; else until qpxd --status "$1" | grep -q '"here": 4'; do sleep 0.1; done; fi
    kill -9 $!
fi
wait $!
END
# Task 0 is the server; task 1 tries until the server listens (status 4: not yet).
cat >"$slurm/bench.sh" <<'END'
[ "$SLURM_PROCID" != 0 ] || exec rdma-bench write-bw -n 200 --verify
for _ in $(seq 40); do
    rdma-bench write-bw -n 200 --verify a && exit
    [ $? = 4 ] || exit 1
    sleep 0.25
done
END

# on_node PID COMMAND: runs a shell command in the namespaces of that process.
on_node() {
    nsenter -t "$1" --net --pid --mount --uts -- env "SLURM_CONF=$slurm/slurm.conf" "PATH=$slurm/bin:$PATH" "HOME=$slurm/home" \
        "DINGO_RUN=$DINGO_RUN" timeout -k 5 "$limit" bash -c "cd '$PWD' && $2"
}
# in_cluster NAME REGEX COUNT COMMAND [STATUS]: case: COMMAND on node a prints COUNT lines like
# REGEX.
in_cluster() {
    local rc=0 out
    out=$logs/slurm-$(slug "$1").out
    on_node "$head" "$4" >"$out" 2>&1 </dev/null || rc=$?
    [ $rc != "${5:-0}" ] || rc=0
    verdict "$1" "$rc" "$out" "$2" "$3"
}

limit=180
if until_true test -s "$slurm/ready"; then
    head=$(ps -o pid= --ppid "$cluster" | tr -d ' ')
    { on_node "$head" 'dingo card start a --wire roce:10.79.1.1 --ip 10.79.1.1/24' &&
        on_node "$head" "nsenter -t \$(cat $slurm/b.pid) --net --uts dingo card start b --wire roce:10.79.1.2 --ip 10.79.1.2/24"
    } >>"$logs/cards.log" 2>&1 || fail 'cards of two nodes start' "$(why "$logs/cards.log")"
    in_cluster 'srun: Slurm has PMIx' '^[[:space:]]*pmix$' 1 'srun --mpi=list 2>&1'
    in_cluster 'srun: pmix, eight ranks on two nodes, all to all' 'of 8 .*exchanged endpoints with 7 peers, 0 wrong' 8 'srun --mpi=pmix -N 2 -n 8 qpx-rank pmix: --no-device --rounds 3'
    in_cluster 'srun: pmix, queue pairs between two nodes' 'of 6 .*wrote to and checked 5 peers, 0 wrong' 6 'srun --mpi=pmix -N 2 -n 6 qpx-rank pmix: --rounds 5'
    # Checks that barriers work across nodes: one kind of Slurm 22.05's does not.
    in_cluster 'srun: pmix, the interface of the stores' 'store: all is well' 4 'srun --mpi=pmix -N 2 -n 4 qpx_store_check pmix:'
    in_cluster 'srun: pmix, what Slurm lacks is said' 'unsupported here: .*qpxd:// URL' 4 'srun --mpi=pmix -N 2 -n 4 qpx_store_check pmix:'
    in_cluster 'srun: pmix, on the ring that the user has chosen' 'store: all is well' 4 'SLURM_PMIX_FENCE=ring srun --mpi=pmix -N 2 -n 4 qpx_store_check pmix:'
    in_cluster 'srun: pmix, without --mpi=pmix' 'no launcher with PMIx.*srun --mpi=pmix' 1 'srun -n 1 qpx-rank pmix: --no-device' 1

    in_cluster 'srun -K: pmix, a killed rank ends the step' 'task 3: Exited with exit code 137' 1 "srun -K --mpi=pmix -N 2 -n 4 bash $slurm/killed.sh pmix:" 143

    # The tutorial's script unchanged, except for the number of nodes.
    awk '/^    #!\/bin\/bash/ { on = 1 } on && /^$/ { exit } on { print substr($0, 5) }' docs/tutorials/cluster.md >"$slurm/tutorial.sbatch"
    in_cluster 'tutorial: the batch script with qpxd, on two nodes' 'TLSv1.3.*wrote to and checked 3 peers, 0 wrong' 4 \
        "sbatch --wait --nodes=2 --ntasks-per-node=2 --output=$slurm/tutorial.log $slurm/tutorial.sbatch; rc=\$?; cat $slurm/tutorial.log; exit \$rc"
    in_cluster 'tutorial: the batch script leaves no key' '^left: 0$' 1 "echo left: \$(find $slurm/home -name '.qpxd-*' | wc -l)"
    in_cluster 'srun: a step of a larger job has its own ranks' 'of 3 .*exchanged endpoints with 2 peers, 0 wrong' 3 \
        "qpxd --listen 18517 2>/dev/null & trap 'kill %1' EXIT; salloc -Q -N 2 -n 6 srun -n 3 qpx-rank qpxd://a:18517/step --no-device"
    in_cluster 'srun: qpxd, a killed rank is named to the others' 'qpx-rank.*rank 3 (has left, failed|failed)' 3 \
        "qpxd --listen 18518 2>/dev/null & trap 'kill %1' EXIT; srun -N 2 -n 4 bash $slurm/killed.sh qpxd://a:18518" 137
    in_cluster 'srun: rdma-bench between two nodes' '^ *65536 +200 ' 2 "srun -N 2 -n 2 bash $slurm/bench.sh"
else
    fail 'a cluster of two nodes starts' "$(why "$logs/slurm.log" "$slurm"/*.log "$slurm"/*.out)"
fi
limit=60
stop_cluster
