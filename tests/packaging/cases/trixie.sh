# SPDX-License-Identifier: BSD-2-Clause
# Debian 13 in a root: gcc 14 and clang 19 build without warnings, and Debian's RDMA programs run.
. tests/packaging/build_there.sh
build_there trixie gcc
build_there trixie clang
