#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
usage() {
    cat <<'USAGE'
How Dingo is built elsewhere, installed and removed: one PASS, FAIL or SKIP line a case.

usage: tests/packaging/suite.sh CASES...
CASES: install (cmake --install, uninstall), packages (Debian packages in clean roots of 12 and 13), bookworm, trixie (build and
native programs there, with gcc and clang), arm64 (unit tests under qemu-user), containers (podman), rdma-core (the provider inside
another rdma-core), readme (README.md's lines in clean roots). Outputs: build/test-logs/CASES/.
Exit status 0 when no case failed.
USAGE
}
case ${1:-} in -h | --help) usage; exit 0 ;; '') usage >&2; exit 2 ;; esac
cd "$(dirname "$0")/../.."
. scripts/lib/common.sh
. scripts/lib/build.sh
. scripts/lib/roots.sh
. tests/e2e/native/lib.sh
for name in "$@"; do
    # The other cases build in roots.
    targets=() packages=(dpkg-dev)
    case $name in install | rdma-core) targets=(programs verbs_promises) packages=("${build_packages[@]}" "${native_packages[@]}") ;; esac
    begin_suite "$name" "$name" "${packages[@]}" -- "${targets[@]}"
    run_cases tests/packaging/cases "$name"
done
