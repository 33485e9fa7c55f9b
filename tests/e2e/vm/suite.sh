#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
usage() {
    cat <<'EOF'
Runs unmodified RDMA programs between two guests (scripts/vm.sh): one PASS, FAIL or SKIP line a case.

usage: tests/e2e/vm/suite.sh [--kernel KERNEL] SUITE [-- VM-OPTION...]
KERNEL: as --kernel of scripts/vm.sh (6.12, 7.2, 6.12-kasan, ...).
SUITE: smoke, basic, apps, namespaces, promises, rxe, faults, capture, pyverbs, lifecycle, driver, ethernet, lab, rtl, p2p, sweeps. VM-OPTIONs go to `vm.sh up`.
The suite sweeps is for a machine with KVM and takes hours; DINGO_SWEEPS=quick does about three of each, DINGO_SWEEPS=10 ten percent. DINGO_SWEEP_GROUPS
chooses from: resets unplugs kills commands users fuzz. DINGO_SWEEP_END (date +%s) is when nothing more begins. DINGO_FUZZ_SECONDS (default 60) is how long the fuzzer runs.
Outputs of all cases: build/test-logs/vm-SUITE-KERNEL/, with -NAME where DINGO_SHARD=NAME (letters, digits, '-') says that others run beside this one
(scripts/lab-shards.sh). Exit status 0 when no case failed.
EOF
}
cd "$(dirname "$0")/../../.."
. scripts/lib/common.sh
kernel=6.12
suite=''
vm_options=()
while [ $# -gt 0 ]; do
    case $1 in
    --kernel) kernel=${2:?--kernel needs a value}; shift ;;
    -h | --help) usage; exit 0 ;;
    --) shift; vm_options=("$@"); break ;;
    -*) usage >&2; die "unknown option $1" ;;
    *) suite=$1 ;;
    esac
    shift
done
[[ $suite =~ ^[a-z0-9]+$ ]] && [ -r "tests/e2e/vm/cases/$suite.sh" ] || { usage >&2; die "no suite '$suite'"; }
[[ ${DINGO_SHARD:-} =~ ^[A-Za-z0-9-]*$ ]] || die "DINGO_SHARD takes letters, digits and '-'"
logs=$PWD/build/test-logs/vm-$suite-$kernel${DINGO_SHARD:+-$DINGO_SHARD}
rm -rf "$logs"
mkdir -p "$logs"
. tests/e2e/vm/lib.sh
trap 'shut_down' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
. "tests/e2e/vm/cases/$suite.sh"
shut_down
[ "$failed" = 0 ]
