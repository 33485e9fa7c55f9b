# SPDX-License-Identifier: BSD-2-Clause
# Checks the promises of libibverbs' and librdmacm's man pages on the model; rtl.sh does so on the
# RTL.
start_card alpha
. tests/e2e/cases/promises.sh
limit=900 on alpha "$dingo_root/build/bin/verbs_promises -d alpha" >"$logs/promises.out" 2>&1 || true
promises "$logs/promises.out" ': (every value is allowed|the table is full)'
