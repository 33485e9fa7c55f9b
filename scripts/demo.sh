#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
usage() {
    cat <<'EOF'
The main job, shown: two virtual machines with one Dingo card each and a cable between them; Debian's own RDMA
tools run over it unmodified. Needs Debian 12 and root; installs and caches what is missing.

usage: scripts/demo.sh [--kernel 6.12|7.2] [--pcap FILE]
EOF
}

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/build.sh

options=()
while [ $# -gt 0 ]; do
    case $1 in
        --kernel | --pcap) [ $# -gt 1 ] || die "$1 needs a value"; options+=("$1" "$2"); shift ;;
        -h | --help) usage; exit 0 ;;
        *) usage >&2; die "unknown option $1" ;;
    esac
    shift
done

session=demo-$$
vm=scripts/vm.sh
trap '$vm down --name $session >/dev/null 2>&1 || true' EXIT

show() { # GUEST COMMAND
    printf '\n[%s] # %s\n' "$1" "$2"
    $vm exec --name "$session" "$1" "$2"
}
pair() { # SERVER CLIENT: what the client prints
    printf '\n[A] # %s\n[B] # %s\n' "$1" "$2"
    out=$(mktemp -d)
    if $vm run --name "$session" --quiet --out "$out" -- "$1" -- "$2" >/dev/null; then
        cat "$out/B.out"
        rm -r "$out"
    else
        cat "$out"/?.out "$out"/?.err
        die "the pair failed"
    fi
}

need_packages "${build_packages[@]}"
log "building and booting two guests (the first time downloads about 600 MB)"
$vm up --name "$session" --parent $$ "${options[@]}"

show A 'ibv_devices'
show A 'ibv_devinfo'
show A 'ethtool -i $(ls /sys/class/infiniband/*/device/net)'
show B 'ping -c 3 A'
pair 'ib_write_bw' 'ib_write_bw A'
pair 'ib_read_lat' 'ib_read_lat A'
pair 'rping -s -C 3 -V -a 10.77.0.1' 'rping -c -C 3 -v -V -a 10.77.0.1'
show A 'rdma statistic show link $(ls /sys/class/infiniband)/1 | grep -oE "rdma_[rt]x_packets [0-9]+"'
printf '\nThat was the C++ model of the card under stock QEMU; nothing here ran on a board.\n'
