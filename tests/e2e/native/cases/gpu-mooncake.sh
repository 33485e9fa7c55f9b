# SPDX-License-Identifier: BSD-2-Clause
# Mooncake's transfer engine, which moves key-value caches of language models: from GPU memory to
# GPU memory. $DINGO_MOONCAKE is a folder with its transfer_engine_bench and
# transfer_engine_validator, built with -DUSE_CUDA=ON. Run by scripts/gpu.sh.
# shellcheck disable=SC2154  # lib.sh's variables
programs=${DINGO_MOONCAKE:-}
if [ ! -x "$programs/transfer_engine_validator" ]; then
    skip "Mooncake's transfer engine" 'needs its programs (DINGO_MOONCAKE=folder with transfer_engine_bench and transfer_engine_validator)'
    return 0
fi
start_card alpha --own-process --ip 10.77.0.1/24
start_card beta --own-process --ip 10.77.0.2/24
engine='--metadata_server=P2PHANDSHAKE --protocol=rdma --logtostderr'
# engine_pair NAME PROGRAM TARGET-OPTIONS INITIATOR-OPTIONS REGEX: case. The target prints its port,
# and serves until it is killed.
engine_pair() {
    local name=$1 target port out
    out=$logs/$(slug "$name").target
    on alpha "exec $programs/$2 --mode=target --local_server_name=127.0.0.1 --device_name=alpha $engine $3" >"$out" 2>&1 &
    target=$!
    until_line "$out" 'Received\|listening on' $target || true
    port=$(grep -oE 'listening on 127.0.0.1:[0-9]+' "$out" | grep -oE '[0-9]+$')
    # Time to register the memory, without which the target has no segment.
    sleep 2
    single "$name" beta "$programs/$2 --mode=initiator --local_server_name=127.0.0.1 --device_name=beta --segment_id=127.0.0.1:${port:-0} $engine $4 2>&1" "$5"
    kill $target 2>/dev/null || true
    wait $target 2>/dev/null || true
}
limit=90
for memory in 'true true' 'true false' 'false true'; do
    target=${memory% *} initiator=${memory#* }
    kinds=$(sed 's/true/GPU/g; s/false/host/g' <<<"$initiator to $target")
    engine_pair "transfer_engine_validator: $kinds, every byte" transfer_engine_validator "--use_vram=$target" \
        "--use_vram=$initiator --duration=3 --threads=4" 'Data validation passed'
done
for operation in read write; do
    for block in 4096 65536 1048576; do
        engine_pair "transfer_engine_bench: $operation, blocks of $block, GPU to GPU" transfer_engine_bench '' \
            "--operation=$operation --block_size=$block --batch_size=64 --threads=4 --duration=3" 'Test completed: .*throughput [0-9.]*[1-9]'
        awk -v what="Mooncake, $operation, blocks of $block" '/Test completed/ {print "| " what ", GPU to GPU | " $(NF - 1) " " $NF " |"}' \
            "$logs/$(slug "transfer_engine_bench: $operation, blocks of $block, GPU to GPU").out" >>"$logs/rates"
    done
done
limit=60
