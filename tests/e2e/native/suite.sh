#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
usage() {
    cat <<'EOF'
Runs this host's unmodified RDMA programs on kernel-less cards (`dingo run`): one PASS, FAIL or SKIP line a case.

usage: tests/e2e/native/suite.sh SUITE
SUITE: core, tools, pair, cluster, promises, cm, view, net, rxe, pyverbs, lifecycle, host, refs, direct, busy, paused, attacks, attack-rates, dlrm, gpu, rtl. Outputs of all cases: build/test-logs/native-SUITE/.
Exit status 0 when no case failed.
EOF
}
cd "$(dirname "$0")/../../.."
. scripts/lib/common.sh
. scripts/lib/build.sh
suite=${1:-}
case $suite in -h | --help) usage; exit 0 ;; esac
[[ $suite =~ ^[a-z]+(-[a-z]+)*$ ]] && [ -r "tests/e2e/native/cases/$suite.sh" ] || { usage >&2; die "no suite '$suite'"; }
. tests/e2e/native/lib.sh
# core also runs in fresh roots (tests/packaging), which have few packages.
[ "$suite" != core ] || native_test_packages=() native_test_targets=("${native_core_targets[@]}")
[ "$suite" != net ] || native_test_packages+=(wireguard-tools wireguard-go)
[ "$suite" != dlrm ] || native_test_packages=(python3) native_test_targets=(dingo-criteo dlrm-storage dlrm-check dlrm_feed fake_cuda dmabuf_as_host rdma-bench)
# Suites that test the cards' data path switch off the direct road.
case $suite in attack-rates | busy | gpu | host | paused | refs | rtl) export DINGO_DIRECT=0 ;; esac
begin_suite "$suite" "native-$suite" "${build_packages[@]}" "${native_packages[@]}" "${native_test_packages[@]}" -- \
    "${native_targets[@]}" "${native_test_targets[@]}"
run_cases tests/e2e/native/cases "$suite"
