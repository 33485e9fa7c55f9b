#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
usage() {
    cat <<'EOF'
Installs what Dingo needs of this machine; the other scripts call it. Needs root; as an ordinary user it prints the line to
type, and status 125 when something is missing.

usage: scripts/deps.sh [--print] [GROUP...]
  build   compiler, libraries, and the source of rdma-core in the cache of the user who runs it (default)
  native  build, and the programs that scripts/demo.sh native shows (default)
  test    native, and what scripts/test.sh needs to begin
  --print only print the line; status 0
EOF
}
cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/build.sh

packages=() print='' groups=''
add() {
    groups+=" $1"
    case $1 in
        build) packages+=("${build_packages[@]}" xz-utils) ;;
        native) add build; packages+=("${native_packages[@]}") ;;
        test) add native; packages+=("${test_packages[@]}" "${native_test_packages[@]}") ;;
        *) usage >&2; die "no group '$1': build, native or test" ;;
    esac
}
while [ $# -gt 0 ]; do
    case $1 in
        --print) print=1 ;;
        -h | --help) usage; exit 0 ;;
        -*) usage >&2; die "unknown option $1" ;;
        *) add "$1" ;;
    esac
    shift
done
[ -n "$groups" ] || add native
if [ -n "$print" ]; then
    package_line "${packages[@]}"
    exit
fi
need_packages "${packages[@]}"
log "all packages are there:$groups"
