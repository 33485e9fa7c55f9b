# SPDX-License-Identifier: BSD-2-Clause
# Memory of an NVIDIA GPU. Programs and cards use a fake driver (tests/rdma-bench/memory/fake), or
# with DINGO_REAL_GPU=1, set by scripts/gpu.sh, NVIDIA's; then cases that simulate faults are
# skipped.
build_preset release gpu_regions rdma-bench local_transfer >>"$logs/build.log" 2>&1 || { fail 'build' "$(tail -n 2 "$logs/build.log" | tr '\n' ' ')"; exit 1; }
if [ "${DINGO_REAL_GPU:-0}" != 1 ]; then
    build_preset release fake_cuda >>"$logs/build.log" 2>&1 || { fail 'fake driver' "$(tail -n 2 "$logs/build.log" | tr '\n' ' ')"; exit 1; }
    export LD_LIBRARY_PATH=$PWD/build/fake-gpu
fi
regions=$PWD/build/bin/gpu_regions
bench=$PWD/build/bin/rdma-bench
start_card alpha --own-process
start_card beta --own-process
for case in address vmm pieces dmabuf async many rounded bad-range; do
    single "gpu_regions $case" alpha "$regions $case 2>&1" passed
done
for case in address vmm pieces dmabuf; do
    single "gpu_regions $case, registered in a thread without a context" alpha "$regions $case thread 2>&1" passed
done
for test in write-bw read-bw send-bw; do
    for sides in '--mem cuda:0|--mem cuda:0' '|--mem cuda:0' '--mem cuda:0|'; do
        pair "$test --verify: server ${sides%|*}, client ${sides#*|}" "$bench $test -F -n 200 --verify ${sides%|*}" \
            "$bench $test -F -n 200 --verify ${sides#*|} A 2>&1" 'verified: 200 messages, 13107200 bytes, 0 wrong'
    done
done
for test in 'atomic-bw --verify' read-lat send-lat write-imm-bw; do
    pair "$test: from GPU to GPU" "$bench $test -F -n 200 --mem cuda:0" "$bench $test -F -n 200 --mem cuda:0 A 2>&1" '^ *[0-9]+ +200 '
done
single 'inline data out of a GPU' alpha "! $bench send-lat -F -I 64 --mem cuda:0 2>&1" 'processor copies inline data'
single 'local_transfer --mem cuda:0' alpha "$PWD/build/bin/local_transfer --mem cuda:0 -r 4 -X 65536 2>&1" 'Every word of every transfer is right'

# serves CARD NAME: case: the card still works, and no object of its former clients is left.
serves() {
    local left
    for _ in $(seq 50); do
        left=$("$dingo" --json stats --card "$1" 2>/dev/null | grep -cE '"(qp|mr)": *[1-9]' || true)
        [ "$left" != 0 ] || break
        sleep 0.1
    done
    single "$2" "$1" "$regions address 2>&1" passed
}
single 'memory freed while it is registered' alpha "$regions freed 2>&1" 'passed'
serves alpha 'memory freed: the card serves on'
single 'the context ends before the region' alpha "$regions context 2>&1" 'passed'
serves alpha 'context ended: the card serves on'
single 'killed with work on its way' alpha "$regions killed; [ \$? = 137 ] && echo killed" killed
serves alpha 'process killed: the card serves on'

if [ "${DINGO_REAL_GPU:-0}" = 1 ]; then
    skip 'refusals and delays' 'they are pretended: the real driver has none'
    return 0
fi
# refuses NAME MODE LINE: case: a card with a GPU driver in that MODE refuses with EOPNOTSUPP (95)
# or ENODEV (19), logs LINE once, and serves other clients.
refuses() {
    local log=$DINGO_RUN/gamma/log
    FAKE_CUDA=$2 start_card gamma --own-process
    single "$1: errno" gamma "$regions refused $3 2>&1" passed
    if [ "$(grep -c 'cannot use GPU memory' "$log")" = 1 ] && grep -q "$4" "$log"; then
        pass "$1: a line in the card's log"
    else
        fail "$1: a line in the card's log" "$(tail -n 2 "$log" | tr '\n' ' ')"
    fi
    "$dingo" card stop gamma >>"$logs/cards.log" 2>&1
}
refuses 'a card without a GPU' no-gpu 19 'cuInit: CUDA_ERROR_NO_DEVICE'
refuses 'a card that sees another GPU' other-gpu 19 'does not see GPU-'
refuses 'a card that may not open it' open-fails 95 'cuIpcOpenMemHandle'
LD_LIBRARY_PATH='' start_card gamma --own-process
single 'a card without a driver' gamma "$regions refused 19 2>&1" 'card.s log says why|passed'
"$dingo" card stop gamma >>"$logs/cards.log" 2>&1
single 'memory that the driver gives to nobody' alpha "FAKE_CUDA=no-ipc $regions refused 95 2>&1" 'dingo: the CUDA driver cannot share this GPU memory with another process'
single 'a GPU without IPC, as by MIG' alpha "FAKE_CUDA=mig $regions refused 95 2>&1" 'dingo: this GPU has no CUDA IPC .MIG, a virtual GPU., so no card can open'
single 'a GPU without IPC: vmm' alpha "FAKE_CUDA=mig $regions vmm 2>&1" passed
serves alpha 'a GPU without IPC: the card serves on'
single 'memory that the driver gives to nobody: vmm' alpha "! FAKE_CUDA=no-ipc $regions vmm 2>&1" 'Operation not supported'

# A slow copy engine causes no RNR and no timeout, and does not slow down a client with host memory.
# All copies together take more than 2 s. The timeout is 0.5 s, as on a busy machine a card may wait
# for a processor for longer than the usual 67 ms.
FAKE_CUDA_DELAY_US=20000 start_card gamma --own-process
single 'slow copies: every byte' gamma "$regions address 2>&1" passed
server_card=gamma
errors() { on $client_card "cd /sys/class/infiniband/$client_card/ports/1/hw_counters && grep . rnr_nak_retry_err local_ack_timeout_err | paste -sd ' '"; }
errors_before=$(errors)
on gamma "$bench write-bw -F -n 100 -u 17 --verify --mem cuda:0" >"$logs/slow.A" 2>&1 &
slow=$!
wait_listen 18515 $slow || true
on beta "$bench write-bw -F -n 100 -u 17 --verify $server_address" >"$logs/slow.B" 2>&1 &
slow_client=$!
pair 'slow copies: another client goes on' "ib_write_lat -F -n 1000 -u 17 -p 18700" "ib_write_lat -F -n 1000 -u 17 -p 18700 A" '^ +[0-9]+ +1000 ' 18700
rc=0
wait $slow_client || rc=$?
wait $slow || rc=$?
if [ $rc = 0 ] && grep -q '0 wrong' "$logs/slow.B"; then pass 'slow copies: write-bw --verify'; else fail 'slow copies: write-bw --verify' "$(why "$logs/slow.B")"; fi
errors_after=$(errors)
if [[ $errors_after == rnr_nak_retry_err:* ]] && [ "$errors_after" = "$errors_before" ]; then
    pass 'slow copies: no RNR and no timeout'
else
    fail 'slow copies: no RNR and no timeout' "$errors_before before, $errors_after after"
fi
