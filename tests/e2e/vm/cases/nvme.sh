# SPDX-License-Identifier: BSD-2-Clause
# B uses a disk of A by NVMe over Fabrics. Sourced by storage.sh and apps.sh.
# nvme_written NAME [OPTIONS OF nvmet-rdma]: case: A offers a disk, B writes it, reads it back, and
# stays connected.
nvme_written() {
    single "$1: a disk is offered" A "set -e
modprobe loop
modprobe nvmet-rdma ${2:-}
mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
truncate -s 32M /tmp/disk && losetup /dev/loop0 /tmp/disk
cd /sys/kernel/config/nvmet
mkdir -p subsystems/dingo/namespaces/1 ports/1
echo 1 >subsystems/dingo/attr_allow_any_host
echo -n /dev/loop0 >subsystems/dingo/namespaces/1/device_path
echo 1 >subsystems/dingo/namespaces/1/enable
echo rdma >ports/1/addr_trtype; echo ipv4 >ports/1/addr_adrfam
echo 10.77.0.1 >ports/1/addr_traddr; echo 4420 >ports/1/addr_trsvcid
ln -s /sys/kernel/config/nvmet/subsystems/dingo ports/1/subsystems/"
    limit=150 single "$1: 8 MiB written and read back, every byte" B 'set -e
modprobe nvme-rdma
echo transport=rdma,traddr=10.77.0.1,trsvcid=4420,nqn=dingo >/dev/nvme-fabrics
for i in $(seq 100); do [ ! -b /dev/nvme0n1 ] || break; sleep 0.1; done
head -c 8M /dev/urandom >/tmp/written
dd if=/tmp/written of=/dev/nvme0n1 bs=1M oflag=direct status=none
dd if=/dev/nvme0n1 bs=64k count=128 iflag=direct status=none | cmp - /tmp/written && echo equal' '^equal$'
}
# nvme_ended NAME: case: B disconnects, A withdraws the disk.
nvme_ended() {
    single "$1: disconnect" B 'set -e
echo 1 >/sys/class/nvme/nvme0/delete_controller
for i in $(seq 100); do [ -e /sys/class/nvme/nvme0 ] || break; sleep 0.1; done
[ ! -e /sys/class/nvme/nvme0 ] && rmmod nvme-rdma'
    single "$1: the disk is withdrawn" A 'set -e
rm /sys/kernel/config/nvmet/ports/1/subsystems/dingo
rmdir /sys/kernel/config/nvmet/ports/1 /sys/kernel/config/nvmet/subsystems/dingo/namespaces/1 /sys/kernel/config/nvmet/subsystems/dingo
losetup -d /dev/loop0; rmmod nvmet-rdma'
}
