# SPDX-License-Identifier: BSD-2-Clause
# Debian 13: gcc 14 and clang 19 build without a warning, and its own RDMA programs run.
. tests/packaging/build_there.sh
build_there trixie gcc
build_there trixie clang
