# SPDX-License-Identifier: BSD-2-Clause
# Card memory and PCIe peer to peer (docs/p2p.md): two cards and QEMU's NVMe disk below one PCIe
# switch of guest A. Kernel 6.12 has no P2PDMA: there, tests what is left, and the error messages
# for the rest.

# with_libraries PROGRAM: installs this tree's PROGRAM in guest A, with those of this host's
# libraries that the guest may lack.
with_libraries() {
    local program=$1 place=/root/$1 stage=$logs/$1
    mkdir -p "$stage"
    ldd "$build/bin/$program" | awk '$3 ~ /^\// { print $3 }' | grep -vE '/(libc|libm|ld-linux[a-z0-9-]*)\.so' |
        xargs -r cp -L -t "$stage"
    printf '#!/bin/sh\nLD_LIBRARY_PATH=%s/lib exec %s/%s "$@"\n' "$place" "$place" "$program" >"$logs/$program.sh"
    "$vm" push --quiet --name "$session" A "$build/bin/$program" "$logs/$program.sh" "$place" &&
        "$vm" push --quiet --name "$session" A "$stage"/* "$place/lib" &&
        in_guest A "install -m 755 $place/$program.sh /usr/local/bin/$program"
}

# refused NAME COMMAND REGEX: case: COMMAND in A fails with a line like REGEX.
refused() { single "$1" A "! { $2; }" "$3"; }

# hold: case: starts a process in A that maps 1 MiB of the first card's memory until it is killed.
hold() {
    limit=200 single "a process that holds memory, $((++holders))" A "rm -f /tmp/holding
setsid hold-memory $first_device 900 >/tmp/holder 2>&1 </dev/null &
for i in \$(seq 1500); do [ ! -s /tmp/holding ] || break; sleep 0.1; done; cat /tmp/holder /tmp/holding" '^yes$'
}
holders=0

# moved NAME BYTES: case: since the last call, QEMU's disk has moved at least BYTES bytes to or from
# the memory of A's first card, and less than half as many elsewhere (its queues, the file system's
# metadata).
disk_log=${DINGO_VM_DIR:-/tmp/dingo-vm-$(id -u)}/$session/A.qemu.log
moved() {
    local text card host
    text=$(tests/e2e/vm/disk_bytes.py "$disk_log" "$bar_first" "$bar_last")
    read -r _ card _ host <<<"$text"
    if [ "$card" -ge "$2" ] && [ "$host" -lt $(($2 / 2)) ]; then
        pass "$1"
    else
        fail "$1" "$2 bytes expected at the card, and few at the host: $text"
    fi
    : >"$disk_log"
}

# shellcheck source=scripts/lib/dingo.sh
. "$dingo_root/scripts/lib/dingo.sh"
need_packages libibverbs-dev e2fsprogs
build_dingo dingo p2p_file p2p_cards dingo-card || { fail p2p 'did not build'; exit 1; }
build=$(dingo_build_dir)
# Two ports for hot-plugged cards, with address space for doorbells only.
ports=''
for n in 5 6; do
    ports+=" -device pcie-root-port,id=rp$n,bus=pcie.0,addr=$n,chassis=$n,slot=$n,mem-reserve=2M,pref64-reserve=8M"
done
boot --switch --nvme 64 --second-card '--card-memory 2 --count-card-memory' --card-args '--card-memory 64' \
    --qemu-args "-trace pci_nvme_map_addr $ports" "${vm_options[@]}"
for program in p2p_file p2p_cards; do
    "$vm" push --quiet --name "$session" A "$build/bin/$program" /usr/local/bin
done
"$vm" push --quiet --name "$session" A "$build/lib/libdingo.so.1" /usr/lib/x86_64-linux-gnu
with_libraries dingo || fail dingo 'could not be copied into the guest'
card=0000:03:00.0 second=0000:05:00.0
first_device=$(in_guest A "ls /sys/bus/pci/devices/$card/infiniband")
second_device=$(in_guest A "ls /sys/bus/pci/devices/$second/infiniband")
# The disk has a file system before A's kernel finds it.
mkfs.ext4 -q -F "${disk_log%.qemu.log}.nvme"
single 'the disk is there, with a file system' A 'modprobe nvme && for i in $(seq 100); do [ ! -b /dev/nvme0n1 ] || break
sleep 0.1; done; mkdir -p /mnt/disk && mount /dev/nvme0n1 /mnt/disk && echo mounted' '^mounted$'

if [ "$kernel" = 6.12 ]; then
    single 'query: the card has memory, and it is not for others' A 'dingo p2p query' "^$card +$first_device +false +64 MiB +64 MiB"
    refused 'enable: the kernel without peer to peer is named' "dingo p2p enable $card" 'this kernel has no PCI peer to peer'
    single 'disable: it was off already' A "dingo p2p disable $card" 'was off already'
    refused 'memory of such a card cannot be pinned' 'p2p_file -w /mnt/disk/x' 'cannot be pinned'
    in_guest A "ip link set \$(ls /sys/bus/pci/devices/$second/net) up" || true
    refused 'memory of such a card cannot be exported' "p2p_cards -f $first_device -t $second_device -s 4096" 'cannot be exported'
    single 'the card itself uses its memory' A "hold-memory $first_device 0 && cat /tmp/holding" '^yes$'
    clean_dmesg
    return
fi

read -r bar_first bar_last _ < <(in_guest A "sed -n 5p /sys/bus/pci/devices/$card/resource")
single 'query: both cards, on' A 'dingo p2p query' "^$card +$first_device +true +64 MiB +64 MiB +64 MiB"
single 'query as JSON' A "dingo --json p2p query $card" '"p2p": "true"'
single 'query: one that is no card' A '! dingo p2p query 0000:04:00.0' 'no card'
single 'enable: it was on already' A "dingo p2p enable $card" 'was on already'
refused 'enable and disable are for root' "setpriv --reuid=65534 --clear-groups dingo p2p disable $card" 'only root'
refused 'which of two cards must be said' 'dingo p2p disable' 'which card'

# Between a file on the disk and card memory: 4 MiB each way. Checksums of p2p_file and sha256sum.
fnv=9e0a4131bf758774
sha=43c8f4dde081d10c0ecb0c3c11533bd6b8ab46851bc17285c619c36dd6085b76
: >"$disk_log"
single 'card memory into a file, by O_DIRECT' A "p2p_file -d $first_device -w -s 4194304 /mnt/disk/file" "checksum $fnv"
moved 'that went from the card to the disk, not through host memory' 4194304
single 'the file is right for who reads it through the page cache' A \
    'echo 3 >/proc/sys/vm/drop_caches; sha256sum </mnt/disk/file' "^$sha"
: >"$disk_log"
single 'a file into card memory, by O_DIRECT' A "p2p_file -d $first_device /mnt/disk/file" "checksum $fnv"
moved 'that went from the disk to the card, not through host memory' 4194304

# Card to card. The second card counts accesses to its memory; no other program uses it.
in_guest A "ip link set \$(ls /sys/bus/pci/devices/$second/net) up" || true
single 'one card writes into the other, whose memory was exported' A \
    "p2p_cards -f $first_device -t $second_device -s 16384" "$first_device to $second_device: 16384 bytes, checksum"
single 'report: what was written to the other card' A 'dingo p2p report' "^$second_device +IN +[1-9][0-9]* +N/A +0\.0[1-9]"
single 'report: what the processor read of it' A "dingo p2p report $second" "^$second_device +OUT +[1-9][0-9]* +N/A +0\.0[1-9]"
single 'report: cards that do not count say so' A "dingo p2p report $card" 'do not count'
single 'report as JSON, of a time' A "dingo --json p2p report --seconds 0.1 $second" '"transfers": 0'
single 'the disk and the card that counts' A "p2p_file -d $second_device -w -s 65536 /mnt/disk/small &&
p2p_file -d $second_device /mnt/disk/small" '^/mnt/disk/small into card memory: 65536 bytes'

# Memory in use: the error names the process that holds it, and nothing changes.
hold
refused 'disable while a process holds memory: it is named' "dingo p2p disable $card" 'in use by hold-memory|in use by python3|in use by .* \(process'
single 'query names it, too' A "dingo p2p query $card" '1 MiB of process [0-9]+'
single 'it is still on' A "cat /sys/bus/pci/devices/$card/dingo/p2p" '^true$'
limit=200 single 'a name with a line end makes one line' A "rm -f /tmp/holding
python3 -c 'import runpy, sys
open(\"/proc/self/comm\", \"w\").write(\"x\\n1 4096 init\")
sys.argv = [\"hold-memory\", \"$first_device\", \"900\"]
runpy.run_path(\"/usr/local/bin/hold-memory\", run_name=\"__main__\")' >/tmp/holder2 2>&1 </dev/null & pid=\$!
for i in \$(seq 1500); do [ ! -s /tmp/holding ] || break; sleep 0.1; done
cat /tmp/holder2 /sys/bus/pci/devices/$card/dingo/p2p_users; kill \$pid" '^[0-9]+ 1048576 x[?]1 4096 init$'
single 'it is off when the process has ended' A "kill \$(awk '{ print \$1 }' /sys/bus/pci/devices/$card/dingo/p2p_users)
for i in \$(seq 100); do [ -n \"\$(cat /sys/bus/pci/devices/$card/dingo/p2p_users)\" ] || break; sleep 0.1; done
dingo p2p disable $card && dingo p2p query $card" "^$card +$first_device +false"
refused 'off: its memory cannot be pinned' "p2p_file -d $first_device -w /mnt/disk/x" 'cannot be pinned'
refused 'off: nor exported' "p2p_cards -f $second_device -t $first_device -s 4096" 'cannot be exported'
single 'off: the card itself uses its memory' A "hold-memory $first_device 0 && cat /tmp/holding" '^yes$'
single 'on again, without reboot' A "dingo p2p enable $card && p2p_file -d $first_device /mnt/disk/file" "checksum $fnv"

# The kernel's NVMe target.
single 'nvmet with p2pmem: a disk is offered' A 'set -e
umount /mnt/disk
modprobe nvmet-rdma
cd /sys/kernel/config/nvmet
mkdir -p subsystems/dingo/namespaces/1 ports/1
echo 1 > subsystems/dingo/attr_allow_any_host
echo -n /dev/nvme0n1 > subsystems/dingo/namespaces/1/device_path
echo '"$card"' > subsystems/dingo/namespaces/1/p2pmem
echo 1 > subsystems/dingo/namespaces/1/enable
echo rdma > ports/1/addr_trtype; echo ipv4 > ports/1/addr_adrfam
echo 10.77.0.1 > ports/1/addr_traddr; echo 4420 > ports/1/addr_trsvcid
ln -s /sys/kernel/config/nvmet/subsystems/dingo ports/1/subsystems/
cat subsystems/dingo/namespaces/1/p2pmem' "^$card\$"
limit=200 single 'nvmet with p2pmem: 4 MiB written by B and read back, every byte' B 'set -e
modprobe nvme-rdma
echo transport=rdma,traddr=10.77.0.1,trsvcid=4420,nqn=dingo > /dev/nvme-fabrics
disk=
for i in $(seq 200); do
    for n in /sys/class/nvme/nvme*; do [ "$(cat $n/transport)" != rdma ] || disk=/dev/${n##*/}n1; done
    [ ! -b "$disk" ] || break
    sleep 0.1
done
head -c 4M /dev/urandom > /tmp/written
dd if=/tmp/written of=$disk bs=1M oflag=direct status=none
dd if=$disk bs=64k count=64 iflag=direct status=none | cmp - /tmp/written && echo equal' '^equal$'
single 'nvmet with p2pmem: the target used the card' A 'dmesg' "nvmet: using p2pmem on $card"
# The disk takes one command to write each MiB, and 16 to read it.
: "${bar_first:?}"
text=$(tests/e2e/vm/disk_bytes.py "$disk_log" "$bar_first" "$bar_last")
if [ "$(cut -d' ' -f2 <<<"$text")" -ge 8388608 ]; then
    pass 'nvmet with p2pmem: the disk and the card moved it without host memory'
else
    fail 'nvmet with p2pmem: the disk and the card moved it without host memory' "$text"
fi
single 'nvmet with p2pmem: disconnect' B 'for n in /sys/class/nvme/nvme*; do [ "$(cat $n/transport)" != rdma ] ||
echo 1 > $n/delete_controller; done; for i in $(seq 100); do ls /sys/class/nvme/nvme* >/dev/null 2>&1 || break; sleep 0.1; done
rmmod nvme-rdma && echo gone' '^gone$'
single 'nvmet with p2pmem: the disk is withdrawn' A 'set -e
rm /sys/kernel/config/nvmet/ports/1/subsystems/dingo
rmdir /sys/kernel/config/nvmet/ports/1 /sys/kernel/config/nvmet/subsystems/dingo/namespaces/1 /sys/kernel/config/nvmet/subsystems/dingo
rmmod nvmet-rdma && dingo p2p disable '"$card"' && dingo p2p enable '"$card" 'is on$'

# Address space: hot-plugs a card whose memory does not fit the bridges, then one that fits nowhere.
# They stay plugged: QEMU survives only the unplug of the device "card"
# (scripts/lib/qemu_preload.c).
hotplug_card() {
    local mib=$1 port=$2 socket=$logs/hot-$1.vfu i
    rm -f "$socket"
    setpriv --pdeathsig KILL -- "$build/bin/dingo-card" --vfio-user "$socket" --wire none --card-memory "$mib" \
        >"$logs/hot-$mib.log" 2>&1 &
    for i in $(seq 100); do [ ! -S "$socket" ] || break; sleep 0.1; done
    "$vm" qmp --name "$session" B '{"execute":"device_add","arguments":{"driver":"vfio-user-pci","id":"hot'"$mib"'","bus":"'"$port"'","rombar":0,"socket":{"type":"unix","path":"'"$socket"'"}}}' >/dev/null
}
wait_for() { echo "for i in \$(seq 300); do [ ! -e /sys/bus/pci/devices/$1/dingo/p2p ] || break; sleep 0.1; done;"; }
"$vm" push --quiet --name "$session" B "$build/bin/dingo" "$logs/dingo.sh" /root/dingo
"$vm" push --quiet --name "$session" B "$logs"/dingo/* /root/dingo/lib
in_guest B 'install -m 755 /root/dingo/dingo.sh /usr/local/bin/dingo'
late=0000:07:00.0
hotplug_card 512 rp5
single 'no iomem: a card that came later and does not fit' B "$(wait_for $late) dingo p2p query $late" \
    "^$late +[a-z0-9_]+ +no iomem +512 MiB +0 B"
single 'no iomem: it is a card all the same' B "ls /sys/bus/pci/devices/$late/infiniband" '.'
single 'no iomem: enable says to reboot warm, or -f' B "! dingo p2p enable $late" 'warm reboot.*enable -f'
limit=120 single 'no iomem: enable -f finds the devices again, and it is on' B \
    "dingo p2p enable -f $late; dingo p2p query $late" "^$late +[a-z0-9_]+ +true +512 MiB +512 MiB"
late=0000:08:00.0
hotplug_card 1048576 rp6
single 'more than the root bus has: the BIOS is named' B "$(wait_for $late) ! dingo p2p enable -f $late" \
    'not enough I/O memory.*BIOS'

# The card is unplugged while a process has its memory mapped.
hold
if limit=100 "$vm" unplug --quiet --name "$session" A >"$logs/unplug.out" 2>&1; then
    pass 'unplug of a card whose memory a process has mapped'
else
    fail 'unplug of a card whose memory a process has mapped' "$(tail -n 1 "$logs/unplug.out")"
fi
# Expected messages: BARs without an address, and the unplugged port's.
clean_dmesg 'no address space was left for card memory|BAR [0-9]+.*(can.t assign|failed to assign|no space)|bridge window|pcieport|not assigned'
