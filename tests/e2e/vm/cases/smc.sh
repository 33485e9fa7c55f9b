# SPDX-License-Identifier: BSD-2-Clause
# Shared Memory Communications over RDMA: sockets of the kernel whose data the card carries. Sourced by basic.sh.
# The card has only RoCE v2 GIDs, so this is SMC-R version 2, for which the user must define an EID.
# The kernel then does not know the peer's MAC address and leaves its resolution to the driver.
if in_guest A 'modinfo smc' >/dev/null 2>&1; then
    for side in A B; do
        single "SMC-R: an EID on $side" $side 'modprobe smc && smc eid DINGO-UEID'
    done
    limit=120 pair 'SMC-R: an AF_SMC socket uses the card, every byte' 'smc serve 18700' \
        'smc check 10.77.0.1 18700' 'by RDMA'
    for side in A B; do
        single "SMC-R: the module goes, and no QP of it stays on $side" $side 'modprobe -r smc && ! rdma resource show qp | grep -F "[smc]"'
    done
else
    skip 'SMC-R' 'the kernel has no module smc'
fi
