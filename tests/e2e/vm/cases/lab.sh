# SPDX-License-Identifier: BSD-2-Clause
# The driver on a debug kernel: lockdep or KASAN, with KVM both; checks of DMA mappings, kmemleak,
# UBSan; behind an IOMMU. Skipped unless scripts/kernel-lab.sh has built such a kernel.
# DINGO_LAB_TCG=1: both lockdep and KASAN without KVM, too; slow, and needs a core for each guest
# processor.
# DINGO_LAB_PARTS: names of parts, default all: traffic verbs life memory.
# DINGO_LAB_SECONDS (300): for each case of failing allocations deep in the kernel (part memory).
# DINGO_LAB_CASES: names of those cases, default all (tests/kmod/fail_nth.py).
. tests/e2e/vm/cases/driver_parts.sh
# shellcheck source=scripts/lib/dingo.sh
. scripts/lib/kernel.sh
. scripts/lib/dingo.sh
. scripts/lib/guest.sh
. scripts/lib/qemu.sh
parts=${DINGO_LAB_PARTS:-traffic verbs life memory}
if ! is_debug_kernel "$kernel"; then
    if debug_kernel_is_cached "$kernel-debug" && { [ -n "${DINGO_LAB_TCG:-}" ] || kvm_usable "$(kernel_image "$kernel-debug")"; }; then
        kernel=$kernel-debug
    elif ! debug_kernel_is_cached "$kernel-lockdep" && debug_kernel_is_cached "$kernel-kasan"; then
        kernel=$kernel-kasan
    else
        kernel=$kernel-lockdep
    fi
fi
if ! debug_kernel_is_cached "$kernel"; then
    skip "the driver on kernel $kernel" "it has not been built here (scripts/kernel-lab.sh)"
    return 0
fi

# no_leak NAME [REGEX]: case: kmemleak finds no leak of the driver, except objects that match REGEX.
# (The report is in the case's log, as a failed case may reboot the guest.)
no_leak() {
    local find='function show() { if (text ~ /dingo/ && !(others != "" && text ~ others)) { printf "%s", text; found = 1 } text = "" }
        /^unreferenced object/ { show() } { text = text $0 "\n" } END { show(); exit found }'
    limit=200 single "$1: nothing of the driver is lost (kmemleak)" A \
        "cd /sys/kernel/debug && echo scan >kmemleak && sleep 6 && echo scan >kmemleak && awk -v others='${2:-}' '$find' kmemleak"
}

part_traffic() {
    . tests/e2e/vm/cases/tools.sh
    small_traffic 'a debug kernel'
    . tests/e2e/vm/cases/storage.sh
    no_complaint 'traffic'
    ethernet_cases
    counter_cases
    no_complaint 'the network interface, counters'
}

part_verbs() {
    load_exporter
    dmabuf 'a dynamic region follows moves under traffic' exporter 20 '^[0-9]+ moves, [1-9]'
    unload_exporter 'after dynamic regions'
    load_kverbs
    for one in srq-tags queues no-queues segments lies inline moderation; do kverbs "$one" $one; done
    single "the kernel's user of verbs goes" A 'rmmod kverbs'
    guest_cases driver_cases '/root/driver/driver_cases.py $(ls /sys/class/infiniband) $(gid 4)'
    no_complaint 'what a process is given'
    lying_card
    foreign
    no_complaint 'what a card cannot have meant' "$card_lies"
    no_stray_dma 'a debug kernel'
}

# Expected messages: the IOMMU's on the invalid admin queue address that a test gives the card, and
# the kernel's on failed allocations.
provoked='DMAR: (DRHD: handling fault status|\[DMA Read NO_PASID\] Request device \[01:00\.0\] fault addr 0xf0000000000000 )'
provoked+='|add_roce_gid GID add failed|__ib_cache_gid_add: unable to add'

part_life() {
    limit=900 guest_cases lifecycle '/root/driver/lifecycle.sh B /root/driver/dingo_hw.h'
    limit=300 single 'failures and removal at the same time' A 'cd /sys/bus/pci/drivers/dingo
for n in $(seq 10); do
    for w in $(seq 50); do [ -z "$(ls ../../devices/0000:01:00.0/infiniband 2>/dev/null)" ] || break; sleep 0.2; done
    python3 /root/driver/break_card.py ../../devices/0000:01:00.0/resource0 /root/driver/dingo_hw.h unreadable
    echo 0000:01:00.0 >unbind && echo 0000:01:00.0 >bind || exit 1
done'
    no_complaint 'life cycle' "$provoked"
    . tests/e2e/vm/cases/unanswered.sh
    no_complaint 'commands without an answer' "$provoked|$unanswered_says"
    limit=60 in_guest A 'dmesg --clear'
    no_leak 'life cycle'
}

part_memory() {
    # The kernel warns when it removes an interrupt whose /proc files it could not make.
    provoked_traces='unregister_irq_proc'
    provoked+='|probe with driver d[a-z_.]+ failed with error -(12|16|22|28)|auxiliary device dev_set_name failed|adding auxiliary device failed|driver_sysfs_add failed|can.t reserve|infiniband dingo_0: Couldn.t |memtype_reserve failed -12|kobject'
    provoked+='|kmemleak: Cannot allocate a scan area'
    # Messages that only report a failed allocation.
    provoked+='|VM_FAULT_OOM leaked out|Failed to allocate a rescuer|socket: no more sockets|ref_tracker: memory allocation failure'
    provoked+='|no devlink (parameters|health reporter)|DMA-API: cacheline tracking ENOMEM'
    # Kernel bug: when an allocation of a page table fails, intel-iommu does not undo the entries
    # made so far.
    provoked_traces+='|intel_iommu_map_pages'
    provoked+='|DMAR: ERROR: DMA PTE for vPFN 0x[0-9a-f]+ already set'
    limit=1800 guest_cases fail_nth "/root/driver/fail_nth.py 0000:01:00.0 ${DINGO_LAB_SECONDS:-300} ${DINGO_LAB_CASES:-}"
    no_complaint 'failed allocations' "$provoked"
    # Kernel bug: ida_alloc_range() leaks its new bitmap when the allocation of the xarray node
    # fails.
    no_leak 'failed allocations' 'size 128.*ida_alloc_range'
    limit=120 single 'udev has seen all of its devices' A 'udevadm settle -t 400'
    single 'the card works after all that' B 'for n in $(seq 30); do ping -c 1 -W 1 A && exit 0; done; exit 1'
}

build_exporter
build_kverbs
build_test_module lying_card
build_test_module foreign
boot --memory 2048 --iommu --append 'iomem=relaxed log_buf_len=16M' "${vm_options[@]}"
"$vm" push --quiet --name "$session" A tests/kmod/{driver_cases.py,fail_nth.py,lifecycle.sh,break_card.py,open_context.py} \
    "$(dingo_build_dir)/hw/contract/include/dingo_hw.h" /root/driver
for part in $parts; do part_$part; done
