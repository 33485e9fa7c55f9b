#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
usage() {
    cat <<'EOF'
The main job, shown, with Debian's own RDMA tools, unmodified:
  1. here, without kernel modules: cards that are processes, `dingo run -- ibv_devices`, ib_write_bw, ib_send_lat;
  2. two virtual machines with one card each on their PCIe bus and a wire between them.
The first needs an ordinary user, and the packages that scripts/deps.sh installs; the second needs Debian 12 and root, and caches what it downloads.
As root both install what is missing.

usage: scripts/demo.sh [native | guests] [--kernel 6.12|7.2] [--pcap FILE]      default: both steps
EOF
}

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/build.sh

options=()
steps='native guests'
while [ $# -gt 0 ]; do
    case $1 in
        --kernel | --pcap) [ $# -gt 1 ] || die "$1 needs a value"; options+=("$1" "$2"); shift ;;
        native | guests) steps=$1 ;;
        -h | --help) usage; exit 0 ;;
        *) usage >&2; die "unknown option $1" ;;
    esac
    shift
done

DINGO_QUIET=1 scripts/deps.sh native
need_own_build "$PWD/build"  # before the downloads: fails if this user cannot build here
scripts/rdma-core.sh >/dev/null  # downloads rdma-core's source package when it is missing

# build_for_demo TARGET...: builds silently; shows the end of the build's output only if it fails.
build_for_demo() {
    local said
    said=$(mktemp)
    build_preset release "$@" >"$said" 2>&1 || {
        tail -20 "$said" >&2
        die "the build failed (log: $said)"
    }
    rm -f "$said"
}

native_demo() {
    local start=$SECONDS dingo
    log "building the card, the provider and the dingo command"
    build_for_demo "${native_targets[@]}"
    log "built in $((SECONDS - start)) s"
    DINGO_RUN=$(mktemp -d)
    export DINGO_RUN
    trap 'build/bin/dingo card stop --all >/dev/null 2>&1; rm -rf "$DINGO_RUN"' EXIT
    dingo=build/bin/dingo
    run() { printf '\n$ %s\n' "$*"; "$@"; }
    run $dingo card start alice
    run $dingo card start bob
    run $dingo run --card alice -- ibv_devices
    run $dingo pair alice bob -- ib_write_bw -F
    run $dingo pair alice bob -- ib_send_lat -F
    run $dingo stats alice
    printf '\nThose cards are processes of this machine; %s s after the packages were here.\n' "$((SECONDS - start))"
    report_demo
    $dingo card stop --all >/dev/null
    rm -rf "$DINGO_RUN"
    trap - EXIT
}

# Runs rdma-bench between the two cards: first with every byte verified, then with an HTML report.
report_demo() {
    local page=$PWD/build/demo-report.html bench
    log "building rdma-bench"
    build_for_demo rdma-bench
    bench=build/bin/rdma-bench
    run $dingo pair alice bob -- $bench send-bw -F --verify -s 64,4k,64k -n 500
    set -- read-lat -F -s 8,1k,16k,64k -n 2000
    run $dingo pair alice bob -- $bench "$@" -- $bench "$@" --html "$page"
    printf '\nThe latencies as a page with plots: %s\n' "$page"
}

guests_demo() {
    session=demo-$$
    vm=scripts/vm.sh
    trap '$vm down --name $session >/dev/null 2>&1 || true' EXIT

    show() { # GUEST COMMAND
        printf '\n[%s] # %s\n' "$1" "$2"
        $vm exec --name "$session" "$1" "$2"
    }
    pair() { # SERVER CLIENT: prints the client's output
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
}

for step in $steps; do "${step}_demo"; done
