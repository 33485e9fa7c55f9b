#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
usage() {
    cat <<'EOF'
Registers memory that a real NVIDIA GPU's driver has pinned, and checks that GPU, CPU and card see the same bytes.

usage: tests/gpu/pinned_pages.sh
Needs libcuda.so.1 and what `cmake --build build --target preload_test` makes; that may come from another machine.
Exit status: 0 passed, 1 failed, 77 no GPU here.
EOF
}
case ${1:-} in -h | --help) usage; exit 0 ;; esac
cd "$(dirname "$0")/../.."
dir=$PWD/build/bin
export PRELOAD_LIBRARY=$PWD/build/lib/libdingo-preload.so PRELOAD_CLIENT=$dir/preload_client
for file in "$dir/preload_test" "$PRELOAD_LIBRARY" "$PRELOAD_CLIENT"; do
    [ -x "$file" ] || [ -r "$file" ] || { echo "pinned_pages.sh: $file is missing: build target preload_test first" >&2; exit 1; }
done
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if timeout 120 "$dir/preload_test" --gtest_filter=Preload.PagesThatTheRealDriverHasPinnedStay >"$log" 2>&1; then
    status=0
else
    status=1
fi
cat "$log"
if grep -q '^\[  SKIPPED \]' "$log"; then
    echo "SKIP: no NVIDIA GPU here"
    exit 77
fi
[ "$status" = 0 ] && echo "PASS: pages that the driver has pinned stay" || echo "FAIL: see above"
exit "$status"
