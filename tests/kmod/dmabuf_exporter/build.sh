#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Builds the exporter module for a guest's kernel, and the program that uses it.
set -euo pipefail
usage() {
    cat <<'EOF'
usage: build.sh KERNEL OUTDIR
KERNEL is 6.12 or 7.2. OUTDIR gets dmabuf_exporter.ko and dmabuf_move. The program needs
libibverbs: RDMA_CORE_BUILD names a build of rdma-core, else the system's is taken.
EOF
}
[ $# -eq 2 ] || { usage >&2; exit 125; }
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
kernel=$1
mkdir -p "$2"
out=$(cd "$2" && pwd)

mkdir -p "$out/.dmabuf_exporter"
cp "$here"/{Kbuild,dmabuf_exporter.c,dmabuf_exporter.h} "$root/kmod/include/compat.h" "$out/.dmabuf_exporter/"
"$root/scripts/kbuild.sh" "$kernel" "$out" "$out/.dmabuf_exporter" modules W=1

flags=()
if [ -n "${RDMA_CORE_BUILD:-}" ]; then
    flags=(-I"$RDMA_CORE_BUILD/include" -L"$RDMA_CORE_BUILD/lib")
fi
gcc -std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -pthread "${flags[@]}" -o "$out/dmabuf_move" \
    "$here/dmabuf_move.c" -libverbs
