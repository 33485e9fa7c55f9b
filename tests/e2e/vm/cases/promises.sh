# SPDX-License-Identifier: BSD-2-Clause
# What the man pages of libibverbs and librdmacm promise, under dingo_ib.ko and the kernel's own ib_uverbs and rdma_cm.
boot "${vm_options[@]}"
. tests/e2e/cases/promises.sh
if install_program verbs_promises; then
    limit=1500 in_guest A 'verbs_promises' >"$logs/promises.out" 2>&1 || true
    promises "$logs/promises.out" \
        ': (every value is allowed|the table is full|the device has no (device memory|clock|extended CQs with these fields))'
fi
# One promise is what happens when a CQ takes more completions than it holds.
clean_dmesg ' dingo [0-9a-f:.]+ [a-z0-9]+: CQ [0-9]+ overflowed$'
