# SPDX-License-Identifier: BSD-2-Clause
# PMIx of Open MPI's mpirun, and mpirun's ranks with a qpxd.
. tests/qp-exchange/services.sh
mpirun() { # NAME COUNT REGEX COMMAND...: case: each of COUNT ranks prints a line like REGEX
    local name=$1 count=$2 regex=$3 rc=0 out
    shift 3
    out=$logs/$(slug "$name").out
    timeout -k 5 120 mpirun --allow-run-as-root --oversubscribe -n "$count" "$@" >"$out" 2>&1 </dev/null || rc=$?
    verdict "$name" "$rc" "$out" "$regex" "$count"
}
plain 'pmix: without a launcher' "$bin/qpx-rank pmix: --no-device" 'mpirun or by srun' 1
mpirun 'pmix: eight ranks, all to all' 8 'of 8 .*exchanged endpoints with 7 peers, 0 wrong' "$bin/qpx-rank" pmix: --no-device
mpirun 'pmix: the interface of the stores' 4 'store: all is well' "$bin/qpx_store_check" pmix:
# What PMIx servers report when a rank fails: a server of ours, which follows the standard, and
# mpirun.
plain 'pmix: a killed rank is named to the others' "$bin/qpx_pmix_launcher 4 $bin/qpx_store_check --kill 2 pmix: | grep -c 'told of rank 2'" '^3$'
plain 'pmix: calls that the launcher never ends do end' "$bin/qpx_pmix_launcher --accuse 2 4 $bin/qpx_store_check --hang 2 pmix: | grep -c 'told of rank 2'" '^3$'
plain 'pmix: a group that shrinks goes on without a killed rank' "$bin/qpx_pmix_launcher 4 $bin/qpx_store_check --shrink 2 pmix: | grep -c 'goes on without rank 2'" '^3$'
cat >"$logs/orphan.sh" <<'END'
"$1/qpx_pmix_launcher" 2 bash -c 'if [ $PMIX_RANK = 1 ]; then echo $$ >"$TMPDIR/sleeper"; exec sleep 60; fi; echo $$ >"$TMPDIR/orphan"; exec "$0" pmix: --no-device' "$1/qpx-rank" &
for _ in $(seq 600); do [ ! -s "$TMPDIR/orphan" ] || break; sleep 0.05; done
sleep 3
kill -9 $!
for _ in $(seq 600); do kill -0 "$(cat "$TMPDIR/orphan")" 2>/dev/null || break; sleep 0.05; done
kill "$(cat "$TMPDIR/sleeper")"
END
plain 'pmix: a launcher that dies is said' "TMPDIR=$logs bash $logs/orphan.sh $bin" 'PMIx server is gone'
cat >"$logs/killed.sh" <<'END'
"$1" pmix: --no-device --rounds 1000000 --timeout 10 &
[ "$OMPI_COMM_WORLD_RANK" != 2 ] || { sleep 1; kill -9 $!; }
wait $! || true
END
# A rank that is killed while no rank is in a fence makes the next fence fail.
mpirun 'pmix: mpirun --enable-recovery, calls of the others end' 3 'qpx-rank: .*(a process of the job has ended|rank 2 has left, failed|not done after 10000 ms)' --enable-recovery -n 4 bash "$logs/killed.sh" "$bin/qpx-rank"
if start_qpxd mpirun --listen "127.0.0.1:$(free_port)"; then
    mpirun 'qpxd: ranks that mpirun gave' 6 'of 6 .*with 5 peers, 0 wrong' "$bin/qpx-rank" "qpxd://127.0.0.1:$qpxd_port/mpi" --no-device
    mpirun 'qpxd: the interface of the stores' 4 'store: all is well' "$bin/qpx_store_check" "qpxd://127.0.0.1:$qpxd_port/store"
else
    fail 'qpxd starts' "$(why "$qpxd_log")"
fi
mpirun 'tcp: the interface of the stores' 4 'store: all is well' "$bin/qpx_store_check" "tcp://127.0.0.1:$(free_port)/store"
stop_services
unset -f mpirun
