#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
usage() {
    cat <<'USAGE'
Builds Debian packages: dingo, libdingo1, libdingo-dev, dingo-dkms, rdma-bench, libqp-exchange0, libqp-exchange-dev, python3-qpx, qpxd.

usage: scripts/packages.sh [--release bookworm|trixie]... [--here] [--rdma-core DIR] [--revision N] [--out DIR] [--no-lintian]
  --release R      Debian 12 or 13, in a root of its own, as root; default: this machine's release
  --here           on this machine, as any user, with the packages of Build-Depends (dpkg-checkbuilddeps says what is missing)
  --rdma-core DIR  unpacked source of rdma-core 56.1 instead of a download (scripts/rdma-core.sh fetches it, prints DIR)
  --revision N     of the package, default 1
  --out DIR        default build/packages
  --no-lintian     do not ask lintian, which else must find nothing

DEBEMAIL and DEBFULLNAME name the maintainer. DIR/RELEASE is then a repository for apt, too:
  apt install DIR/RELEASE/{dingo,libdingo1,rdma-bench}_*.deb
  echo "deb [trusted=yes] file:DIR/RELEASE ./" >/etc/apt/sources.list.d/dingo.list && apt update && apt install dingo rdma-bench
USAGE
}
cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/build.sh
. scripts/lib/roots.sh
. scripts/lib/rdma_core.sh
. scripts/lib/package.sh

releases=() here='' rdma_core='' revision=1 out=build/packages lintian=yes
while [ $# -gt 0 ]; do
    case $1 in
    --release | --rdma-core | --revision | --out) [ $# -gt 1 ] || die "$1 needs a value" ;;
    esac
    case $1 in
    --release) releases+=("$2"); shift ;;
    --here) here=yes ;;
    --rdma-core) rdma_core=$2; shift ;;
    --revision) revision=$2; shift ;;
    --out) out=$2; shift ;;
    --no-lintian) lintian='' ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; die "unknown option $1" ;;
    esac
    shift
done
[[ $revision =~ ^[1-9][0-9]*$ ]] || die "--revision takes a number, not '$revision'"
host_release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
[ ${#releases[@]} -gt 0 ] || releases=("$host_release")
[ -z "$here" ] || [ "${releases[*]}" = "$host_release" ] || die "--here builds for this machine's release, $host_release"
[ -n "$rdma_core" ] || rdma_core=$(rdma_core_source) || exit 125
[ -r "$rdma_core/libibverbs/driver.h" ] || die "$rdma_core is not rdma-core's source: it has no libibverbs/driver.h"
mkdir -p "$out"
out=$(cd "$out" && pwd)
for release in "${releases[@]}"; do
    [ -n "${debian_numbers[$release]:-}" ] || die "no packages for '$release': there are ${!debian_numbers[*]}"
    log "building packages for $release"
    build_packages_for "$release" "$rdma_core" "$revision" "$out/$release" "$here" "$lintian"
    log "$(find "$out/$release" -name '*.deb' | wc -l) packages in $out/$release: apt install $out/$release/{dingo,libdingo1,rdma-bench}_*.deb"
done
