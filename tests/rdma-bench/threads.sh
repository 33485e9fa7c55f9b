#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
usage() {
    cat <<'USAGE'
Whole runs of an rdma-bench under ThreadSanitizer on kernel-less cards: one PASS or FAIL line a case.

usage: tests/rdma-bench/threads.sh
libibverbs, the provider and the cards are as always: what they do to memory ThreadSanitizer does not see, and what it sees of
them, their locks and calls of libc, makes no noise. A race ends the program with status 66. Outputs: build/test-logs/threads/.
Exit status 0 when no case failed.
USAGE
}
case ${1:-} in -h | --help) usage; exit 0 ;; esac
cd "$(dirname "$0")/../.."
. scripts/lib/common.sh
. scripts/lib/build.sh
. tests/e2e/native/lib.sh
begin_suite tsan threads "${build_packages[@]}" "${native_packages[@]}" -- "${native_targets[@]}"
build_preset tsan rdma-bench >"$logs/build-tsan.log" 2>&1 || die "$(tail -n 20 "$logs/build-tsan.log")"
bench=$PWD/build/tsan/bin/rdma-bench
export TSAN_OPTIONS=suppressions=$PWD/tests/rdma-bench/tsan_suppressions.txt
port=18616
. tests/rdma-bench/lib.sh
# run_of OPTIONS [REGEX]: case: a pair with OPTIONS; the client prints a row, or a line like REGEX.
run_of() { bench_pair "rdma-bench $1" "${2:-^ [0-9]+ +[0-9]+ +[0-9.]+}" "$1"; }
run_of 'send-bw -q 4 --threads 2 -b -D 1' 'BW average'
run_of 'send-bw -q 8 --threads 4 -e -n 300'
run_of 'send-bw -q 4 --threads 2 --use-srq --verify -n 300' 'verified: 1200 messages'
run_of 'write-bw -q 4 --threads 3 -b --verify -s 1000 -n 300' 'verified: 2400 messages'
run_of 'read-bw -q 4 --threads 2 --rate 5k -n 300' 'latency, us'
run_of 'send-lat -e -n 200'
bench_clients 'rdma-bench --clients 3: sessions side by side' 3 0 'fairness: ' 'send-bw -q 2 --threads 2 -D 1 -s 4096'
[ "$failed" = 0 ]
