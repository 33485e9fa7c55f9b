# SPDX-License-Identifier: BSD-2-Clause
# Kernel users of verbs, unmodified: NFS over RDMA, iSER, RDS, NVMe over Fabrics with SRQs under
# loss; a card whose interface is in a bond, a card in its own network namespace. Each case verifies
# the data that it moves, and leaves no objects behind.
# shellcheck source=tests/e2e/vm/cases/nvme.sh
. tests/e2e/vm/cases/nvme.sh
boot --packages 'nfs-kernel-server open-iscsi' "${vm_options[@]}"
# sent SIDE: prints the bytes that its card has sent by RDMA.
sent() { in_guest "$1" 'cat /sys/class/infiniband/*/ports/1/hw_counters/rdma_tx_bytes'; }
# by_rdma NAME SIDE BEFORE BYTES: case: since the count BEFORE, the card has sent BYTES by RDMA, not
# TCP.
by_rdma() {
    local now
    now=$(sent "$2")
    if [ $((now - $3)) -ge "$4" ]; then pass "$1"; else fail "$1" "the card of $2 has sent $((now - $3)) bytes, of $4"; fi
}
# nothing_left NAME: case: the devices have as many objects as before all cases. CQs are not
# counted: the kernel keeps its shared CQs.
objects() { in_guest "$1" "rdma resource show | grep -oE '(pd|qp|cm_id|mr|srq) [0-9]+' | paste -sd ' '"; }
nothing_left() {
    local side now _
    for side in A B; do
        for _ in $(seq 50); do
            now=$(objects $side)
            [ "$now" != "${at_first[$side]}" ] || break
            sleep 0.2
        done
        if [ "$now" = "${at_first[$side]}" ]; then pass "$1: nothing is left in $side"; else fail "$1: nothing is left in $side" "$now, at first ${at_first[$side]}"; fi
    done
}
declare -A at_first=([A]=$(objects A) [B]=$(objects B))

single 'NFS over RDMA: a directory is offered' A 'set -e
modprobe -a nfsd rpcrdma
mkdir -p /srv/nfs /var/lib/nfs/rpc_pipefs
mount -t tmpfs none /srv/nfs
mountpoint -q /proc/fs/nfsd || mount -t nfsd none /proc/fs/nfsd
echo "/srv/nfs *(rw,no_root_squash,fsid=0,insecure,no_subtree_check)" >/etc/exports
exportfs -a
rpc.mountd --no-nfs-version 3
rpc.nfsd -N 3 -G 10 -L 10 2
echo "rdma 20049" >/proc/fs/nfsd/portlist'
# A new server refuses opens during its grace period, at least 10 s (rpc.nfsd(8)).
before=$(sent B)
limit=150 single 'NFS over RDMA: 16 MiB written, and read after a second mount, every byte' B 'set -e
modprobe -a nfsv4 rpcrdma
mkdir -p /mnt/nfs
options=proto=rdma,port=20049,vers=4.2
mount -t nfs4 -o $options 10.77.0.1:/ /mnt/nfs
grep -q " nfs4 .*,proto=rdma," /proc/mounts
head -c 16M /dev/urandom >/tmp/written
dd if=/tmp/written of=/mnt/nfs/file bs=1M conv=fsync status=none
umount /mnt/nfs
mount -t nfs4 -o $options 10.77.0.1:/ /mnt/nfs
cmp /tmp/written /mnt/nfs/file && echo equal
umount /mnt/nfs' '^equal$'
by_rdma 'NFS over RDMA: the card carried it' B "$before" $((16 << 20))
single 'NFS over RDMA: the directory is withdrawn' A 'set -e
rpc.nfsd 0
exportfs -ua
pkill rpc.mountd
umount /srv/nfs /proc/fs/nfsd'
nothing_left 'NFS over RDMA'

single 'iSER: a disk is offered' A 'set -e
mkdir -p /etc/target /var/target
modprobe -a target_core_mod target_core_file iscsi_target_mod ib_isert
mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
cd /sys/kernel/config/target
truncate -s 32M /tmp/disk
mkdir -p core/fileio_0/disk
echo fd_dev_name=/tmp/disk,fd_dev_size=$((32 << 20)) >core/fileio_0/disk/control
echo 1 >core/fileio_0/disk/enable
t=iscsi/iqn.2026-11.dingo:disk/tpgt_1
mkdir -p $t
mkdir $t/lun/lun_0 $t/np/10.77.0.1:3260
ln -s $PWD/core/fileio_0/disk $t/lun/lun_0/disk
echo 1 >$t/np/10.77.0.1:3260/iser
for a in authentication=0 generate_node_acls=1 demo_mode_write_protect=0 cache_dynamic_acls=1; do echo ${a#*=} >$t/attrib/${a%=*}; done
echo 1 >$t/enable'
before=$(sent B)
limit=150 single 'iSER: 8 MiB written and read back, every byte' B 'set -e
modprobe -a ib_iser sd_mod
echo InitiatorName=iqn.2026-11.dingo:b >/etc/iscsi/initiatorname.iscsi
iscsid
iscsiadm -m node -o new -T iqn.2026-11.dingo:disk -p 10.77.0.1:3260,1 -I iser
iscsiadm -m node -T iqn.2026-11.dingo:disk -p 10.77.0.1 --login
for i in $(seq 100); do d=$(ls /sys/class/iscsi_session/session*/device/target*/*/block 2>/dev/null | head -1); [ -z "$d" ] || break; sleep 0.1; done
head -c 8M /dev/urandom >/tmp/written
dd if=/tmp/written of=/dev/$d bs=1M oflag=direct status=none
dd if=/dev/$d bs=64k count=128 iflag=direct status=none | cmp - /tmp/written && echo equal
iscsiadm -m node -T iqn.2026-11.dingo:disk --logout
pkill iscsid' '^equal$'
by_rdma 'iSER: the card carried it' B "$before" $((8 << 20))
single 'iSER: the disk is withdrawn' A 'cd /sys/kernel/config/target && t=iscsi/iqn.2026-11.dingo:disk/tpgt_1 && echo 0 >$t/enable && rm $t/lun/lun_0/disk &&
    rmdir $t/lun/lun_0 $t/np/* $t ${t%/*} iscsi core/fileio_0/disk core/fileio_0 && modprobe -r ib_isert'
nothing_left iSER

single 'RDS: the transport is there' A 'modprobe rds_rdma && { rds serve 10.77.0.1 4000 >/tmp/rds.log 2>&1 & }
for i in $(seq 200); do grep -q ready /tmp/rds.log && exit 0; sleep 0.1; done; cat /tmp/rds.log; exit 1'
before=$(sent B)
single 'RDS: 50 datagrams up to 96 KiB come back, every byte' B 'modprobe rds_rdma && rds check 10.77.0.2 10.77.0.1 4000' '^equal$'
by_rdma 'RDS: the card carried it' B "$before" 1700000
single 'RDS: its module goes' B 'modprobe -r rds_rdma'
single 'RDS: and at the server' A 'pkill -f "[r]ds serve"; for i in $(seq 50); do modprobe -r rds_rdma && exit 0; sleep 0.1; done; exit 1'
nothing_left RDS

depends=$(in_guest A 'modinfo -F depends cifs; modinfo -F depends ksmbd') || depends='no answer'
if [[ $depends =~ ib_core|rdma_cm|smbdirect|'no answer' ]]; then
    fail 'SMB Direct' "no case is here for a kernel that has it: $depends"
else
    skip 'SMB Direct' "Debian's kernels are built without CONFIG_CIFS_SMB_DIRECT and CONFIG_SMB_SERVER_SMBDIRECT"
fi

# repeated: prints the packets that B's card has retransmitted or received out of order.
repeated() { in_guest B "cat /sys/class/infiniband/*/ports/1/hw_counters/{out_of_sequence,local_ack_timeout_err,packet_seq_err} | awk '{ n += \$1 } END { print n }'"; }
before=$(repeated)
# The target has an SRQ for each of its completion vectors.
for side in A B; do "$vm" card --name "$session" $side ctl faults drop=0.5%,reorder=0.5% >>"$logs/faults.log" 2>&1 || fail 'faults' "see $logs/faults.log"; done
nvme_written 'NVMe over Fabrics, SRQ, loss' use_srq=1
single 'NVMe over Fabrics, SRQ, loss: the target has an SRQ' A 'rdma resource show srq' 'srqn'
now=$(repeated)
if [ "$now" -gt "$before" ]; then pass 'NVMe over Fabrics, SRQ, loss: frames were lost'; else fail 'NVMe over Fabrics, SRQ, loss: frames were lost' "$before, then $now"; fi
nvme_ended 'NVMe over Fabrics, SRQ, loss'
for side in A B; do "$vm" card --name "$session" $side ctl faults '' >>"$logs/faults.log" 2>&1 || fail 'no faults' "see $logs/faults.log"; done
nothing_left 'NVMe over Fabrics'

# The server in A for the two cases below.
served='rping -s -C 20 -V && ib_write_bw -F -R -n 200'
single 'bond: its address is the card'"'"'s GID' B 'set -e
n=$(cat /run/dingo/netdev)
ip link add bond0 type bond mode active-backup miimon 100
ip link set $n down; ip addr flush dev $n
ip link set $n master bond0; ip link set bond0 up
ip addr add 10.77.0.2/24 dev bond0
for i in $(seq 100); do ! ping -c 1 -W 1 A >/dev/null || break; done
cd /sys/class/infiniband/*/ports/1/gid_attrs/ndevs && grep -l bond0 * 2>/dev/null | while read -r g; do cat ../../gids/$g; done' 'ffff:0a4d:0002$'
pair 'bond: rping and ib_write_bw by rdma_cm' "$served" 'rping -c -a 10.77.0.1 -C 20 -V && for i in $(seq 50); do ib_write_bw -F -R -n 200 10.77.0.1 && exit; sleep 0.2; done' '^ +65536 +200'
single 'bond: the card outlives it' B 'set -e
n=$(cat /run/dingo/netdev)
ip link set $n nomaster; ip link del bond0; rmmod bonding
ip link set $n up; ip addr add 10.77.0.2/24 dev $n; ip addr add fd77::2/64 dev $n nodad
for i in $(seq 100); do ! ping -c 1 -W 1 A >/dev/null || exit 0; done; exit 1'
nothing_left bond

single 'exclusive namespaces: the card goes into one' B 'set -e
n=$(cat /run/dingo/netdev) d=$(ls /sys/class/infiniband)
rdma system set netns exclusive
ip netns add inner
rdma dev set $d netns inner
ip link set $n netns inner
ip -n inner link set lo up; ip -n inner link set $n up; ip -n inner addr add 10.77.0.2/24 dev $n
for i in $(seq 100); do ! ip netns exec inner ping -c 1 -W 1 10.77.0.1 >/dev/null || break; done
[ -z "$(rdma dev show)" ] && ip netns exec inner rdma dev show' 'node_type ca'
single 'exclusive namespaces: it is not to be had outside' B 'ib_write_bw -F -n 10 10.77.0.1; [ $? = 1 ]' 'Unable to find the Infiniband/RoCE device'
pair 'exclusive namespaces: rping and ib_write_bw in there' "$served" 'i="ip netns exec inner"; $i rping -c -a 10.77.0.1 -C 20 -V && for k in $(seq 50); do $i ib_write_bw -F -R -n 200 10.77.0.1 && exit; sleep 0.2; done' '^ +65536 +200'
single 'exclusive namespaces: it comes back when the namespace goes' B 'set -e
ip netns del inner
# The device returns first, then its interface.
for i in $(seq 100); do n=$(ls /sys/class/infiniband/*/device/net 2>/dev/null || true); [ -z "$n" ] || break; sleep 0.1; done
rdma system set netns shared
ip link set $n up; ip addr add 10.77.0.2/24 dev $n; ip addr add fd77::2/64 dev $n nodad
for i in $(seq 100); do ! ping -c 1 -W 1 A >/dev/null || { rdma dev show; exit 0; }; done
exit 1' 'node_type ca'
nothing_left 'exclusive namespaces'
# Expected messages: NFS's on its state directory, RDS's when it or its peer unloads (no client
# data: EOPNOTSUPP), and a bond's on each change.
clean_dmesg 'NFSD: (Using|Failed to remove)|MODE SENSE: unimplemented page|RDS/RDMA: conn .* rejected|RDS/IB: rds_ib_setup_qp failed \(-95\)|bond0: |Fileio|TARGET_CORE|Unable to (load|open) .*(target|alua|pr)'
