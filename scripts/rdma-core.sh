#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Print the path of the unpacked rdma-core source (fetched from the Debian mirror when missing).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib/common.sh"
. "$here/lib/rdma_core.sh"
rdma_core_source
