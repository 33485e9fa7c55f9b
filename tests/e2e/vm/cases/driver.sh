# SPDX-License-Identifier: BSD-2-Clause
# The driver itself, inside guest A: its life cycle, broken cards, memory regions of DMA buffers.

# no_complaint NAME: A's kernel log has nothing but what the driver says of a card that was broken on purpose.
no_complaint() {
    local text
    text=$("$vm" dmesg --name "$session" A --warnings 2>&1 |
        grep -vE ' dingo [0-9a-f:.]+: (failed: .*|restoring the PCI configuration)$' || true)
    if [ -z "$text" ]; then
        pass "$1: no kernel warning"
    else
        fail "$1: no kernel warning" "$(head -n 3 <<<"$text" | tr '\n' ' ' | cut -c1-300)"
    fi
}

# guest_cases NAME COMMAND: a program in A that prints PASS and FAIL lines of its own.
guest_cases() {
    local out=$logs/$1.out rc=0
    limit=300 in_guest A "$2" >"$out" 2>&1 || rc=$?
    sed -nE "s/^(PASS|FAIL) /\1 $suite:/p" "$out"
    failed=$((failed + $(grep -c '^FAIL ' "$out" || true)))
    if [ "$rc" != 0 ] && ! grep -q '^FAIL ' "$out"; then
        fail "$1" "status $rc: $(tail -n 2 "$out" | tr '\n' ' ' | cut -c1-300)"
    fi
}

# dmabuf NAME KIND MOVES|pinned REGEX: bytes in a region of a DMA buffer, as the peer and as the processor see them.
dmabuf() {
    limit=300 single "DMA buffers: $1" A \
        "/root/driver/dmabuf_move \$(ls /sys/class/infiniband) \$(gid 4) $2 $3" "$4"
}

# build_exporter: the module whose buffers move, and the program that checks them.
build_exporter() {
    exporter=$logs/dmabuf
    tests/kmod/dmabuf_exporter/build.sh "$kernel" "$exporter" >"$logs/dmabuf-build.log" 2>&1 ||
        { fail 'DMA buffers' "the exporter did not build: $(tail -n 2 "$logs/dmabuf-build.log" | tr '\n' ' ')"; exit 1; }
}
load_exporter() {
    "$vm" push --quiet --name "$session" A "$exporter/dmabuf_exporter.ko" "$exporter/dmabuf_move" /root/driver
    single 'the exporting module loads' A 'insmod /root/driver/dmabuf_exporter.ko && ls /dev/dmabuf_exporter'
}
unload_exporter() { single "DMA buffers: nothing holds the exporter, $1" A 'rmmod dmabuf_exporter'; }

# shellcheck source=scripts/lib/dingo.sh
. scripts/lib/dingo.sh
build_exporter
boot --append iomem=relaxed "${vm_options[@]}"
load_exporter
dmabuf 'a dynamic region follows moves under traffic' exporter 100 '^[0-9]+ moves, [1-9]'
for kind in udmabuf heap; do dmabuf "dynamic region of $kind, which never moves" $kind 0 '^ok$'; done
unload_exporter 'after dynamic regions'
# The way of a GPU's memory without a GPU: exporters of the kernel, and GPU drivers of our own that export by udmabuf.
if install_rdma_bench; then
    for memory in dmabuf:/dev/udmabuf,offset=12800 dmabuf:/dev/dma_heap/system cuda hip; do
        for operation in write read; do
            options="$operation-bw -F -s 65536 -n 200 --verify --mem $memory"
            pair "rdma-bench $operation-bw --verify --mem $memory" "rdma-bench --gpu $options" "rdma-bench --gpu $options A" '65536'
        done
    done
fi
no_complaint 'dynamic DMA buffers'
"$vm" push --quiet --name "$session" A tests/kmod/{lifecycle.sh,break_card.py} \
    "$(dingo_build_dir)/hw/contract/include/dingo_hw.h" /root/driver
guest_cases lifecycle '/root/driver/lifecycle.sh B /root/driver/dingo_hw.h'
no_complaint 'life cycle'
shut_down

boot --card-args '--without pause_mr' "${vm_options[@]}"
load_exporter
for kind in exporter udmabuf heap; do dmabuf "pinned region of $kind" $kind pinned '^ok$'; done
unload_exporter 'after pinned regions'
no_complaint 'pinned DMA buffers'
shut_down

# A card that lacks what a driver can do without.
boot --card-args '--without compute,pause_mr,rereg_mr,resize_cq,srq,uc' "${vm_options[@]}"
single 'a smaller card offers no SRQ' A 'ibv_devinfo -v' 'max_srq:[[:space:]]+0$'
pair 'a smaller card: RC' 'ib_write_bw -n 200' 'ib_write_bw -n 200 A' '65536'
pair 'a smaller card: UD' 'ib_send_bw -c UD -n 200' 'ib_send_bw -c UD -n 200 A' '4096|2048|1024'
single 'a smaller card: UC is refused' A 'ibv_uc_pingpong -g $(gid 4) 2>&1 | grep -i "create QP"' "[Cc]ouldn.t create QP"
single 'a smaller card: SRQ is refused' A 'ibv_srq_pingpong -g $(gid 4) 2>&1 | grep -i SRQ' "[Cc]ouldn.t create SRQ"
install_program local_transfer && single 'a smaller card: no compute slot' A 'local_transfer 2>&1 | grep -i supported' 'Operation not supported'
no_complaint 'a smaller card'
