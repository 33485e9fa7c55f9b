# SPDX-License-Identifier: BSD-2-Clause
# cm:// between kernel-less cards, by the cards' own rdma_cm.
. tests/qp-exchange/services.sh
start_card alpha --ip 10.77.0.1/24 --ip fd77::1/64
start_card beta --ip 10.77.0.2/24 --ip fd77::2/64
single 'cm:// on one card' alpha "QPX_CM_ADDRESS=10.77.0.1 $bin/qpx_cm_test" '^\[  PASSED  \] 4 tests'
single 'cm:// on one card over IPv6' alpha "QPX_CM_ADDRESS=fd77::1 $bin/qpx_cm_test" '^\[  PASSED  \] 4 tests'
all_of 'cm:// between two cards' 2 "card=(alpha beta) role=(server client); QPX_CM_ROLE=\${role[\$N]} QPX_CM_ADDRESS=10.77.0.1 $dingo run --card \${card[\$N]} -- $bin/qpx_cm_test --gtest_filter=Cm.*"
verdict 'cm:// between two cards' "$all_rc" "$all_out" '^\[  PASSED  \] [1-9]' 2
"$dingo" card stop alpha >/dev/null
"$dingo" card stop beta >/dev/null
