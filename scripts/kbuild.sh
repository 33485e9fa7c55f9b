#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Build the kernel module out of tree for a Debian kernel, in a cached trixie root.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib/common.sh"
. "$here/lib/kernel.sh"
usage() {
    cat <<'EOF'
usage: kbuild.sh KERNEL OUTDIR [SOURCE [MAKE-TARGET-OR-VARIABLE...]]
       kbuild.sh --headers KERNEL     print the build root and the kernel release
KERNEL is 6.12 or 7.2. SOURCE is the module's source directory (default: kmod/). The .ko files
are copied to OUTDIR. Environment: DINGO_CONTRACT_INC, the directory of the generated contract
header (make gets a copy of it as DINGO_CONTRACT_INC=...); DINGO_CACHE (default ~/.cache/dingo).
EOF
}
case ${1:-} in
-h | --help) usage ;;
--headers)
    dir=$(kernel_root "${2:?KERNEL}")
    printf '%s/root %s\n' "$dir" "$(cat "$dir/release")"
    ;;
*)
    [ $# -ge 2 ] || { usage >&2; exit 125; }
    build_kmod "$@"
    ;;
esac
