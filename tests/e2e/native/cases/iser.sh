# SPDX-License-Identifier: BSD-2-Clause
# SCSI over iSER between two processes: tgt's target and libiscsi's initiator, unmodified. Sourced
# by cm.sh, with the cards alpha (10.77.0.1) and beta. Over iSER, tgtd admits only initiators that
# are bound by name, even with "-I ALL".
need_packages tgt libiscsi-bin
disk=$logs/iser.disk initiator=iqn.2026-11.dingo:initiator target=iqn.2026-11.dingo:disk
truncate -s 32M "$disk"
# An own control port, as it names tgtd's socket: does not disturb another tgtd of this host.
control=$((20000 + $$ % 10000))
"$dingo" run --card alpha -- tgtd -f -C $control --iser pool_sz_mb=64 >"$logs/tgtd.out" 2>&1 &
tgtd_parent=$!
manage="timeout 10 tgtadm -C $control --lld iser"
for _ in {1..100}; do ! $manage --op show --mode sys >/dev/null 2>&1 || break; sleep 0.1; done
plain 'iSER: tgtd has a disk' "set -e
$manage --op new --mode target --tid 1 -T $target
$manage --op new --mode logicalunit --tid 1 --lun 1 -b $disk
$manage --op bind --mode target --tid 1 -I ALL
$manage --op bind --mode target --tid 1 -Q $initiator
$manage --op show --mode target" 'Driver: iser'
unit=iser://10.77.0.1:3260/$target/1
before=$(sent alpha)
limit=120 single 'iSER: libiscsi writes, reads, verifies' beta "iscsi-test-cu -d -i $initiator --test=SCSI.Write10,SCSI.Read10,SCSI.Verify16 '$unit' 2>&1 |
    tee /dev/stderr | awk '/[.]passed/ {n++} /FAILED|[.]failed/ {bad++} END {exit !(n >= 10 && !bad)}'"
single 'iSER: 256 KiB blocks for 2 s' beta "iscsi-perf -i $initiator -b 512 -m 16 -t 2 '$unit' | tr '\\r' '\\n'" 'iops average [1-9]'
plain 'iSER: the card carried it' "[ $(($(sent alpha) - before)) -gt 4000000 ]"
# SIGKILL, because tgtd ignores SIGTERM while it has targets.
pkill -KILL -P $tgtd_parent || kill -KILL $tgtd_parent || true
wait $tgtd_parent 2>/dev/null || true
rm -f "$disk"
