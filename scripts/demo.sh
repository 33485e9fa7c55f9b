#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
usage() {
    cat <<'EOF'
The main job, shown, with Debian's own RDMA tools, unmodified:
  1. here, without kernel modules: cards that are processes, `dingo run -- ibv_devices`, ib_write_bw, ib_send_lat;
  2. two virtual machines with one card each on their PCIe bus and a cable between them.
Needs Debian 12 and root; installs and caches what is missing.

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

need_packages "${build_packages[@]}" "${native_packages[@]}"
scripts/rdma-core.sh >/dev/null  # a source package, so a download as well

native_demo() {
    local start=$SECONDS dingo server
    log "building the card, the provider and the dingo command"
    mkdir -p build
    build_preset release "${native_targets[@]}" >build/demo-build.log 2>&1 || { tail -20 build/demo-build.log; die "the build failed"; }
    log "built in $((SECONDS - start)) s"
    DINGO_RUN=$(mktemp -d)
    export DINGO_RUN
    trap '"$dingo" card stop --all >/dev/null 2>&1; rm -rf "$DINGO_RUN"' EXIT
    dingo=build/bin/dingo
    run() { printf '\n$ %s\n' "$*"; "$@"; }
    run $dingo card start alice
    run $dingo card start bob
    run $dingo run --card alice -- ibv_devices
    for tool in 'ib_write_bw -F' 'ib_send_lat -F'; do
        printf '\n$ dingo run --card alice -- %s & dingo run --card bob -- %s 127.0.0.1\n' "$tool" "$tool"
        # shellcheck disable=SC2086  # the tool and its option
        $dingo run --card alice -- $tool >/dev/null &
        server=$!
        for _ in $(seq 100); do ! ss -Hltn 'sport = :18515' | grep -q . || break; sleep 0.05; done
        # shellcheck disable=SC2086
        $dingo run --card bob -- $tool 127.0.0.1
        wait $server
    done
    run $dingo stats alice
    printf '\nThose cards are processes of this machine; %s s after the packages were here.\n' "$((SECONDS - start))"
    report_demo
    $dingo card stop --all >/dev/null
    rm -rf "$DINGO_RUN"
    trap - EXIT
}

# rdma-bench between the two cards: every byte compared, then a page with plots.
report_demo() {
    local page=$PWD/build/demo-report.html options
    log "building rdma-bench"
    build_preset release rdma-bench >build/demo-build.log 2>&1 || { tail -20 build/demo-build.log; die "the build failed"; }
    for options in 'send-bw --verify -s 64,4k,64k -n 500' 'read-lat -s 8,1k,16k,64k -n 2000'; do
        printf '\n$ dingo run --card alice -- rdma-bench %s & dingo run --card bob -- rdma-bench %s 127.0.0.1\n' "$options" "$options"
        # shellcheck disable=SC2086  # options are words
        $dingo run --card alice -- build/bin/rdma-bench $options -F >/dev/null 2>&1 &
        server=$!
        for _ in $(seq 100); do ! ss -Hltn 'sport = :18515' | grep -q . || break; sleep 0.05; done
        # shellcheck disable=SC2086
        $dingo run --card bob -- build/bin/rdma-bench $options -F --html "$page" 127.0.0.1
        wait $server
    done
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
