#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
usage() {
    cat <<'USAGE'
libFuzzer, AddressSanitizer and UBSan on everything that reads a peer's bytes.

usage: tests/qp-exchange/fuzz/run.sh [--keep] wire|service [SECONDS [RUNS]]
wire: frames, the messages of two peers, URLs. service: the messages of groups, and qpxd's registry behind them.
20 seconds or 200000 runs unless told, whatever ends first. New inputs go to build/fuzz/TARGET; --keep merges those that
reach new code into the kept corpus, TARGET-corpus.tar.gz. Exit status 0: nothing found; 77: clang or its fuzzer runtime is missing.
USAGE
}
case ${1:-} in -h | --help) usage; exit 0 ;; esac
keep=''
[ "${1:-}" != --keep ] || { keep=1; shift; }
target=${1:-}
[ $# = 0 ] || shift
cd "$(dirname "$0")/../../.."
q=qp-exchange
case $target in
    wire) sources=("$q"/src/wire/*.cpp) ;;
    service) sources=("$q"/src/wire/*.cpp "$q"/src/group/messages.cpp
        "$q"/service/{registry,answer,store,collective,exchange,events,status,outbox}.cpp) ;;
    *) usage >&2; exit 2 ;;
esac
clang=''
for c in clang++ clang++-14; do
    if command -v $c >/dev/null && [ -e "$($c -print-file-name=libclang_rt.fuzzer-x86_64.a)" ]; then clang=$c; break; fi
done
[ -n "$clang" ] || { echo "clang with libFuzzer is missing (Debian: clang libclang-rt-14-dev)"; exit 77; }
out=build/fuzz
archive=tests/qp-exchange/fuzz/$target-corpus.tar.gz
corpus=$out/$target-corpus
rm -rf "$corpus"
mkdir -p "$out/$target" "$corpus"
tar -xzf "$archive" -C "$corpus"
launcher=''
! command -v ccache >/dev/null || launcher=ccache
objects=()
for source in "tests/qp-exchange/fuzz/${target}_fuzz.cpp" "${sources[@]}" $q/src/endpoint.cpp $q/src/error.cpp $q/src/url.cpp; do
    object=$out/$(tr / _ <<<"$source").o
    $launcher $clang -std=c++20 -O1 -g -Wall -Wextra -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all \
        -I$q/include -I$q/src -I$q -c "$source" -o "$object"
    objects+=("$object")
done
$clang -fsanitize=fuzzer,address,undefined "${objects[@]}" -o "$out/${target}_fuzz" -lcrypto  # digests of the service
if [ -n "$keep" ]; then
    "$out/${target}_fuzz" -merge=1 -use_counters=0 -max_len=300 "$corpus" "$out/$target"
    # Reproducible: the same inputs give the same archive.
    tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --format=ustar -C "$corpus" -cf - . | gzip -n9 >"$archive"
    exit
fi
"$out/${target}_fuzz" -max_total_time="${1:-20}" -runs="${2:-200000}" -max_len=1024 -timeout=5 -rss_limit_mb=1024 -print_final_stats=1 \
    -artifact_prefix="$out/crash-$target-" "$out/$target" "$corpus"
