# SPDX-License-Identifier: BSD-2-Clause
# The RTL card under Verilator with unmodified programs: few iterations, because each clock cycle is
# simulated. One card, two cards, RTL and model in both roles, loss. What the RTL does not have must
# be refused with the right errno.
build_rtl_engine >"$logs/build.log" 2>&1 || { fail "the rtl engine builds" "see $logs/build.log"; return; }
start_card alpha --engine rtl
start_card beta --engine rtl
start_card soft --engine model

single 'ibv_devices lists the card' alpha ibv_devices 'alpha[[:space:]]+[0-9a-f]{16}'
single 'ibv_devinfo: port state' alpha ibv_devinfo 'state:[[:space:]]+PORT_ACTIVE'
single 'ibv_devinfo -v: atomics' alpha 'ibv_devinfo -v' 'atomic_cap:[[:space:]]+ATOMIC_HCA'
single 'ibv_devinfo -v: shared receive queues' alpha 'ibv_devinfo -v' 'max_srq:[[:space:]]+512$'
single 'ibv_devinfo -v: memory windows' alpha 'ibv_devinfo -v' 'max_mw:[[:space:]]+8192$'
single 'ibv_devinfo -v: RoCE v2 GIDs' alpha 'ibv_devinfo -v' 'GID\[.*RoCE v2'
single 'mckey: no groups' alpha '! mckey -m ff0e::17' 'failure joining: Operation not supported'

# clock CARD: prints the simulated cycles, and whether the reported rate fits the time that they
# took.
clock() {
    "$dingo" --json stats "$1" |
        python3 -c 'import json,sys; s=json.load(sys.stdin)[0]["simulation"]; print(s["clock_cycles"], abs(s["clock_khz"] * s["busy_ns"] - 1e6 * s["clock_cycles"]) <= s["clock_cycles"])'
}
export -f clock
export dingo
# The stats command itself costs the same number of cycles each time, however long the card was
# idle. On a busy machine, cleanup after the last program adds cycles for some time.
cycles() { clock alpha | cut -d' ' -f1; }
for _ in {1..20}; do
    first=$(cycles) second=$(cycles)
    sleep 1
    third=$(cycles)
    [ $((third - second)) != $((second - first)) ] || break
done
plain 'a card at rest simulates no cycle' "[ $((third - second)) = $((second - first)) ]"
single 'a card that works does' alpha 'ibv_devinfo -v' 'PORT_ACTIVE'
plain 'and its cycles are counted' "[ \$(clock alpha | cut -d' ' -f1) -gt $third ]"
plain 'kilohertz are cycles by the time that they took' 'clock alpha' ' True$'
plain 'dingo stats says how fast the clock ran' "$dingo stats alpha" '^alpha: simulated clock [0-9.]+ kHz'
plain 'the model has no such clock' "! $dingo stats soft | grep -q 'simulated clock'"

# -o 16: the model serves 128 outstanding READs, the RTL 16, and perftest does not negotiate.
tools=('ib_write_bw -n 20 -s 4096' 'ib_read_bw -n 20 -s 4096 -o 16' 'ib_send_bw -n 20 -s 4096'
    'ib_write_lat -n 20' 'ib_read_lat -n 20 -o 16' 'ib_send_lat -n 20' 'ib_atomic_bw -n 20 -o 16' 'ib_atomic_lat -n 20 -o 16')
# some WHO SERVER CLIENT: runs the common programs between two cards.
some() {
    local tool
    prefix="$1: " server_card=$2 client_card=$3
    # shellcheck disable=SC2086  # a tool and its options
    for tool in "${tools[@]}"; do perftest ${tool%% *} "${tool#* }"; done
    pair "${prefix}ibv_rc_pingpong -c" 'ibv_rc_pingpong -c -n 50 -g $(gid 4)' 'ibv_rc_pingpong -c -n 50 -g $(gid 4) A' 'iters in'
}
some 'one card' alpha alpha
some 'two cards' alpha beta
perftest ib_send_bw '-c UD -n 20 -s 1024'
perftest ib_atomic_bw '-n 20 -A CMP_AND_SWAP'
perftest ib_send_bw '-c UC -n 20 -s 4096'
perftest ib_write_bw '-c UC -n 20 -s 4096'
perftest ib_send_lat '-c UC -n 20'
perftest ib_write_bw '-n 5 -s 65536'
perftest ib_read_bw '-n 5 -s 65536'
perftest ib_send_bw '-e -n 20'
perftest ib_write_bw '-b -q 4 -n 20 -s 4096'
pair 'ibv_rc_pingpong -e over IPv6' 'ibv_rc_pingpong -e -n 20 -g $(gid 6)' 'ibv_rc_pingpong -e -n 20 -g $(gid 6) A' 'iters in'
pair 'ibv_uc_pingpong -c' 'ibv_uc_pingpong -c -n 50 -g $(gid 4)' 'ibv_uc_pingpong -c -n 50 -g $(gid 4) A' 'iters in'
pair 'ibv_srq_pingpong -c' 'ibv_srq_pingpong -c -q 8 -n 100 -g $(gid 4)' 'ibv_srq_pingpong -c -q 8 -n 100 -g $(gid 4) A' 'iters in'
pair 'ibv_srq_pingpong -e' 'ibv_srq_pingpong -e -n 100 -g $(gid 4)' 'ibv_srq_pingpong -e -n 100 -g $(gid 4) A' 'iters in'
perftest ib_send_bw '--use-srq -q 4 -n 20 -s 4096 -u 17'
perftest ib_send_lat '--use-srq -n 20'
pair 'ibv_ud_pingpong' 'ibv_ud_pingpong -n 50 -g $(gid 4)' 'ibv_ud_pingpong -n 50 -g $(gid 4) A' 'iters in'
some 'rtl serves model' alpha soft
some 'model serves rtl' soft alpha

check=$dingo_root/build/bin/verbs_check load=$dingo_root/build/bin/verbs_load
# verify NAME SERVER CLIENT: case: every operation that both engines have, up to 1 MiB; verifies all
# bytes.
verify() {
    server_card=$2 client_card=$3
    pair "verbs_check: $1" "$check" "$check A" 'every byte right' 18600
}
verify 'two cards' alpha beta
verify 'rtl serves model' alpha soft
verify 'model serves rtl' soft alpha
single 'fork: parent and child both work' alpha "$load fork" ok
single 'threads: contexts of their own, and one shared' alpha "$load threads 8" ok
single '16 processes with 8 QPs each, data checked' alpha "$load many 16 8" ok
single '500 QPs created and destroyed' alpha "$load churn 500" ok

# Promises that need a missing capability are skipped; the reason names it.
. tests/e2e/cases/promises.sh
limit=1500 on alpha "$dingo_root/build/bin/verbs_promises -d alpha -t 120" >"$logs/promises.out" 2>&1 || true
promises "$logs/promises.out" \
    ': (the device has no (device memory|clock|extended CQs with these fields|these operations|state SQD)|every value is allowed|the table is full)'

transfer='-r 1 -X 12288'
. tests/e2e/native/cases/compute.sh

# Tests that need a missing capability are skipped; none may fail.
cp -r /usr/share/doc/rdma-core/tests "$logs/tests"
find "$logs/tests" -name '*.gz' -exec gunzip {} +
single "Debian's pyverbs suite: no failure" alpha \
    "/usr/bin/python3 $dingo_root/tests/e2e/vm/guest/usr/local/bin/pyverbs-suite $logs/tests $logs/verdicts -v --dev alpha --gid \$(gid 4)" '^OK'
plain 'and a peer has invalidated a window' "grep -q '^PASS test_mr.MWTest.test_mw_type2_invalidate_remote' $logs/verdicts"
plain 'and 60 of its tests ran and passed' "[ \$(grep -c ^PASS $logs/verdicts) -ge 60 ]"

start_card lossy --engine rtl --faults drop=1%
prefix='1 % drop: ' server_card=beta client_card=lossy
perftest ib_write_bw '-n 500 -s 4096'
perftest ib_read_bw '-n 500 -s 4096'
perftest ib_send_bw '-n 500 -s 4096'
perftest ib_send_bw '--use-srq -q 4 -n 100 -s 4096 -u 17'
lossy_pair '1 % drop: ibv_rc_pingpong -c' 'ibv_rc_pingpong -c -n 100 -g $(gid 4)' 'ibv_rc_pingpong -c -n 100 -g $(gid 4) A' 'iters in'
single '1 % drop: packets were sent again' lossy 'cat /sys/class/infiniband/lossy/ports/1/hw_counters/retransmits' '^[1-9]'
