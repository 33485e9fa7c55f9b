# SPDX-License-Identifier: BSD-2-Clause
# The driver in guest A: its life cycle, broken cards, memory regions of DMA buffers.

. tests/e2e/vm/cases/driver_parts.sh
# shellcheck source=scripts/lib/dingo.sh
. scripts/lib/dingo.sh
build_exporter
build_kverbs
build_test_module lying_card
build_test_module late_event
build_test_module foreign
boot --append iomem=relaxed "${vm_options[@]}"
load_exporter
dmabuf 'a dynamic region follows moves under traffic' exporter 100 '^[0-9]+ moves, [1-9]'
for kind in udmabuf heap; do dmabuf "dynamic region of $kind, which never moves" $kind 0 '^ok$'; done
unload_exporter 'after dynamic regions'
# GPU memory without a GPU: the kernel's DMABuf exporters, and fake GPU drivers that export by
# udmabuf.
if install_rdma_bench; then
    for memory in dmabuf:/dev/udmabuf,offset=12800 dmabuf:/dev/dma_heap/system cuda hip; do
        for operation in write read; do
            options="$operation-bw -F -s 65536 -n 200 --verify --mem $memory"
            pair "rdma-bench $operation-bw --verify --mem $memory" "rdma-bench --gpu $options" "rdma-bench --gpu $options A" '65536'
        done
    done
fi
no_complaint 'dynamic DMA buffers'
# Vector 0 belongs to the admin queue, the others to the interface's rings and completion channels.
for vector in 0 1 2 3 4; do "$vm" card --quiet --name "$session" A ctl lose-interrupts $vector 1 >>"$logs/lost.out"; done
single 'an interrupt that is lost costs seconds, no ring and no command' A \
    'ping -c 2 -W 20 B >/dev/null && ip link set $(cat /run/dingo/netdev) mtu 1400 && ping -c 1 -W 20 B >/dev/null &&
     ip link set $(cat /run/dingo/netdev) mtu 1500 && dmesg | grep -c "interrupt [1-9] was lost, \|interrupt of the admin queue was lost"' '^[2-9]'
no_complaint 'lost interrupts' 'interrupt .* was lost'
limit=60 in_guest A 'dmesg --clear'
load_kverbs
kverbs 'receives that nobody polled leave their SRQ whole' srq-tags
kverbs 'DMA segments may be of any length' segments
kverbs 'completions that a card cannot have meant' lies
kverbs 'inline data, and requests of many blocks' inline
kverbs 'events that wait for more completions' moderation
# While the interface is down, its doorbells are unused; no other user may get them.
single 'the network interface goes down' A 'ip link set $(cat /run/dingo/netdev) down'
kverbs 'hundreds of queues' queues
single 'hundreds of queues leave room for the doorbells of the network interface' A \
    'n=$(cat /run/dingo/netdev); ip link set $n up && /usr/lib/dingo-guest/configure-nic $n'
kverbs 'they go' no-queues
single 'the network interface still works' A 'ping -c 1 -W 5 B'
no_complaint "the kernel's own queues"
"$vm" push --quiet --name "$session" A tests/kmod/driver_cases.py /root/driver
guest_cases driver_cases '/root/driver/driver_cases.py $(ls /sys/class/infiniband) $(gid 4)'
no_complaint 'what a process is given'
"$vm" push --quiet --name "$session" A tests/kmod/{lifecycle.sh,break_card.py,open_context.py} \
    "$(dingo_build_dir)/hw/contract/include/dingo_hw.h" /root/driver
die_and_drain='recovered() { dmesg | grep -c ": recovered"; }
    before=$(recovered)
    python3 /root/driver/break_card.py /sys/bus/pci/devices/0000:01:00.0/resource0 /root/driver/dingo_hw.h unreadable
    for n in $(seq 120); do [ "$(recovered)" = "$before" ] || break; sleep 0.5; done
    cat /sys/module/kverbs/parameters/drained; sleep 2'
kverbs 'a queue pair of an SRQ' watch
single 'kernel verbs: the queue pair is drained when its card has died' A "$die_and_drain" '^1$'
single 'kernel verbs: another' A 'for n in $(seq 40); do ! echo watch >/sys/module/kverbs/parameters/run || exit 0; sleep 0.5; done; exit 1'
kverbs 'it stops' stop
single 'kernel verbs: and when its card died after it had stopped' A "$die_and_drain" '^1$'
single "the kernel's user of verbs goes" A 'rmmod kverbs'
limit=900 guest_cases lifecycle '/root/driver/lifecycle.sh B /root/driver/dingo_hw.h'
no_complaint 'life cycle'
. tests/e2e/vm/cases/unanswered.sh
no_complaint 'commands without an answer' "$unanswered_says"
limit=60 in_guest A 'dmesg --clear'
lying_card
late_event
no_complaint 'answers that a card cannot have meant, an event at the last moment' "$card_lies"
shut_down

boot --cpus 2 --card-args '--without pause_mr' "${vm_options[@]}"
load_exporter
for kind in exporter udmabuf heap; do dmabuf "pinned region of $kind" $kind pinned '^ok$'; done
unload_exporter 'after pinned regions'
no_complaint 'pinned DMA buffers'
foreign
no_complaint 'foreign objects in completions and events' "$card_lies"
shut_down

# With swiotlb=force, mappings of ordinary memory bounce: queues must not, and processes' memory is
# refused. (nvmet maps its send buffers before it fills them.)
boot --append swiotlb=force "${vm_options[@]}"
single 'DMA that bounces: the network interface works' B 'ping -c 2 -M do -s 8972 A' ' 0% packet loss'
single 'DMA that bounces: no memory of processes, instead of a copy of it' A 'ibv_rc_pingpong -g $(gid 4) 2>&1 | grep MR' 'register MR'
no_complaint 'DMA that bounces' 'DMA bounces here'
shut_down
boot --iommu "${vm_options[@]}"
single 'an IOMMU translates for the card' A 'cat /sys/bus/pci/devices/0000:01:00.0/iommu_group/type' '^DMA$'
small_traffic 'an IOMMU'
. tests/e2e/vm/cases/storage.sh
load_exporter
dmabuf 'an IOMMU: a dynamic region follows moves' exporter 20 '^[0-9]+ moves, [1-9]'
unload_exporter 'behind an IOMMU'
single 'an IOMMU: reload of the driver' A 'modprobe -r dingo_ib dingo && modprobe dingo; for n in $(seq 30); do ping -c 1 -W 1 B && exit 0; done; exit 1'
no_stray_dma 'an IOMMU'
no_complaint 'an IOMMU'
shut_down

# Cards that refuse to pause a region before its buffer moves (PAUSE_MR), and one that also refuses
# DESTROY_MR.
boot --card-args '--refuse 0x43' "${vm_options[@]}"
load_exporter
dmabuf 'a region that cannot be paused is given up before its buffer moves' exporter refused 'the region is lost: remote access error'
shut_down
boot --card-args '--refuse 0x43,0x41' "${vm_options[@]}"
load_exporter
dmabuf 'a card that keeps such a region is stopped' exporter refused 'the region is lost'
single 'and says why' A 'dmesg' 'failed: the card does not give up an object'
shut_down

# A card without most of the optional capabilities.
boot --card-args '--without compute,cq_moderation,pause_mr,rereg_mr,resize_cq,srq,uc' "${vm_options[@]}"
single 'a smaller card offers no SRQ' A 'ibv_devinfo -v' 'max_srq:[[:space:]]+0$'
single 'a smaller card offers no CQ moderation' A 'ibv_devinfo -v | grep -c max_cq_count || true' '^0$'
pair 'a smaller card: RC' 'ib_write_bw -n 200' 'ib_write_bw -n 200 A' '65536'
pair 'a smaller card: UD' 'ib_send_bw -c UD -n 200' 'ib_send_bw -c UD -n 200 A' '4096|2048|1024'
single 'a smaller card: UC is refused' A 'ibv_uc_pingpong -g $(gid 4) 2>&1 | grep -i "create QP"' "[Cc]ouldn.t create QP"
single 'a smaller card: SRQ is refused' A 'ibv_srq_pingpong -g $(gid 4) 2>&1 | grep -i SRQ' "[Cc]ouldn.t create SRQ"
install_program local_transfer && single 'a smaller card: no compute slot' A 'local_transfer 2>&1 | grep -i supported' 'Operation not supported'
no_complaint 'a smaller card'
shut_down
. tests/e2e/vm/cases/push.sh
