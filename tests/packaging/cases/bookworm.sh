# SPDX-License-Identifier: BSD-2-Clause
# Debian 12 in a root: gcc 12 and clang 14 build without warnings, and Debian's RDMA programs run.
. tests/packaging/build_there.sh
build_there bookworm gcc
build_there bookworm clang
