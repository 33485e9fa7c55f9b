# SPDX-License-Identifier: BSD-2-Clause
# Kernel users of verbs: NVMe over Fabrics (fast registration, remote invalidation, rdma_cm), iSER.
# Sourced by basic.sh and lab.sh.
# shellcheck source=tests/e2e/vm/cases/nvme.sh
. tests/e2e/vm/cases/nvme.sh
nvme_written 'NVMe over Fabrics'
nvme_ended 'NVMe over Fabrics'
# The target warns if the directory of its configuration is missing.
single 'iSER: initiator and target load, with the disks that they make' A 'mkdir -p /etc/target; modprobe -a ib_iser ib_isert sd_mod && lsmod' '^ib_iser'
