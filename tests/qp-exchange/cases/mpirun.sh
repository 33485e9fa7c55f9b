# SPDX-License-Identifier: BSD-2-Clause
# PMIx, as Open MPI's mpirun offers it; and mpirun's ranks at a qpxd.
. tests/qp-exchange/services.sh
mpirun() { # NAME COUNT REGEX COMMAND...: COUNT ranks must each print a line like REGEX
    local name=$1 count=$2 regex=$3 rc=0 out
    shift 3
    out=$logs/$(slug "$name").out
    timeout -k 5 120 mpirun --allow-run-as-root --oversubscribe -n "$count" "$@" >"$out" 2>&1 </dev/null || rc=$?
    verdict "$name" "$rc" "$out" "$regex" "$count"
}
plain 'pmix: without a launcher' "$bin/qpx-rank pmix: --no-device" 'mpirun or by srun' 1
mpirun 'pmix: eight ranks, all to all' 8 'of 8 .*exchanged endpoints with 7 peers, 0 wrong' "$bin/qpx-rank" pmix: --no-device
mpirun 'pmix: the interface of the stores' 4 'store: all is well' "$bin/qpx_store_check" pmix:
if start_qpxd mpirun --listen "127.0.0.1:$(free_port)"; then
    mpirun 'qpxd: ranks that mpirun gave' 6 'of 6 .*with 5 peers, 0 wrong' "$bin/qpx-rank" "qpxd://127.0.0.1:$qpxd_port/mpi" --no-device
    mpirun 'qpxd: the interface of the stores' 4 'store: all is well' "$bin/qpx_store_check" "qpxd://127.0.0.1:$qpxd_port/store"
else
    fail 'qpxd starts' "$(why "$qpxd_log")"
fi
mpirun 'tcp: the interface of the stores' 4 'store: all is well' "$bin/qpx_store_check" "tcp://127.0.0.1:$(free_port)/store"
stop_services
unset -f mpirun
