# SPDX-License-Identifier: BSD-2-Clause
# qp-exchange on the kernel's devices: queue pairs of every type, and two peers that meet over librdmacm.
if install_program qpx_device_test; then
    single 'qp-exchange: GIDs, limits, RC, UC and UD' A qpx_device_test '^\[  PASSED  \] [0-9]+ tests'
fi
if install_program qpx_cm_test; then
    cm() { echo "QPX_CM_ROLE=$1 QPX_CM_ADDRESS=10.77.0.1 qpx_cm_test --gtest_filter=Cm.*"; }
    single 'qp-exchange: cm:// on one host' A 'QPX_CM_ADDRESS=10.77.0.1 qpx_cm_test' '^\[  PASSED  \] 4 tests'
    pair 'qp-exchange: cm:// between two hosts' "$(cm server)" "$(cm client)" '^\[  PASSED  \] '
fi
