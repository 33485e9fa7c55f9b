#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs the suites sweeps and lab in parallel shards. See usage below.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/common.sh
usage() {
    cat <<'EOU'
Runs the suites sweeps and lab (tests/e2e/vm/suite.sh) in parts side by side, each with guests of its own, and makes one
report: what passed, how often each was done, what the kernels and kmemleak said. For a machine with many processors.

usage: scripts/lab-shards.sh [--seconds N] [--jobs N] [--out DIR] SHARD... [-- VM-OPTION...]
SHARD is KERNEL/resets, KERNEL/unplugs, KERNEL/kills or KERNEL/users, with /PERCENT of the full counts or /quick;
         KERNEL/commands, with /NAME,NAME... of admin commands;
         KERNEL/fuzz, with /SECONDS (default 3600);
         KERNEL/lab, with /PART,PART... of vm-lab;
         or KERNEL alone: all of that, in thirteen parts.
  --seconds N   all ends after so long: the time is shared among the shards, and each says how far it came
  --jobs N      so many at a time (default: a third of the processors: a shard is two guests and two cards)
  --out DIR     gets report.txt, anew when a shard has ended, and a log of each (default build/lab-shards)
VM-OPTIONs go to `vm.sh up`. Exit status 0 when nothing failed.
EOU
}
seconds=0 jobs=$(($(nproc) / 3)) out=build/lab-shards wanted=() vm_options=()
while [ $# -gt 0 ]; do
    case $1 in --seconds | --jobs | --out) [ $# -gt 1 ] || die "$1 needs a value" ;; esac
    case $1 in
    --seconds) seconds=$2; shift ;;
    --jobs) jobs=$2; shift ;;
    --out) out=$2; shift ;;
    -h | --help) usage; exit 0 ;;
    --) shift; vm_options=("$@"); break ;;
    -*) usage >&2; die "unknown option $1" ;;
    *) wanted+=("$1") ;;
    esac
    shift
done
[[ $seconds$jobs =~ ^[0-9]+$ ]] || die "--seconds and --jobs take numbers"
[ "$jobs" -gt 0 ] || jobs=1
[ ${#wanted[@]} -gt 0 ] || { usage >&2; die "which shards?"; }
for shard in "${wanted[@]}"; do
    [[ $shard =~ ^[0-9.]+(-[a-z]+)?(/(resets|unplugs|kills|users|commands|fuzz|lab)(/[A-Za-z0-9_,]+)?)?$ ]] || die "no shard '$shard' (--help)"
done
mkdir -p "$out"
out=$(cd "$out" && pwd)
rm -f "$out/report.txt"
# Logs of before, and nobody else's.
find "$out" -maxdepth 1 -type f -regextype posix-extended \
    -regex '.*/[0-9]{2,}-[0-9.]+(-[a-z]+)?-(resets|unplugs|kills|users|commands|fuzz|lab)\.log' -delete

# Built once before the shards start: all guests get the same card, provider and modules.
build=${DINGO_BUILD:-$PWD/build}
for kernel in $(printf '%s\n' "${wanted[@]%%/*}" | sort -u); do
    scripts/vm.sh build --kernel "$kernel"
done

# expand KERNEL: prints its thirteen shards, those that take longest first.
expand() {
    local names n
    printf "$1/%s\n" lab fuzz unplugs/25 unplugs/25 unplugs/25 unplugs/25 resets/50 resets/50
    mapfile -t names < <(sed -nE 's/^#define DINGO_OP_([A-Z_]+) (0x[0-9a-f]+|[0-9]+)U? .*/\1/p' "$build/hw/contract/include/dingo_hw.h")
    for n in 0 1 2; do
        # Neighbouring commands are alike, so every third command goes into the same shard.
        printf '%s/commands/%s\n' "$1" "$(printf '%s\n' "${names[@]}" | awk -v n=$n 'NR % 3 == n' | paste -sd,)"
    done
    printf "$1/%s\n" kills users
}
shards=()
for shard in "${wanted[@]}"; do
    if [[ $shard == */* ]]; then shards+=("$shard"); else mapfile -t -O ${#shards[@]} shards < <(expand "$shard"); fi
done

closing=120 # seconds reserved for a sweep's final checks, after its last disturbance
# log_of N: prints the path of shard N's log.
log_of() {
    local what=${shards[$1]#*/}
    printf '%s/%02d-%s-%s.log\n' "$out" "$1" "${shards[$1]%%/*}" "${what%%/*}"
}

# run_shard N SECONDS: runs a shard for at most SECONDS (0: no limit); its log ends with "ended".
run_shard() {
    local kernel what share log rc=0 suite=sweeps variables progress pid='' began=$SECONDS
    IFS=/ read -r kernel what share <<<"${shards[$1]}"
    log=$(log_of "$1")
    variables=("DINGO_SHARD=$what-$1" "DINGO_SWEEP_GROUPS=$what")
    case $what in
    lab) suite=lab; variables+=("DINGO_LAB_PARTS=${share//,/ }") ;;
    commands) variables+=("DINGO_SWEEP_COMMANDS=${share//,/ }") ;;
    fuzz) variables+=("DINGO_FUZZ_SECONDS=${share:-3600}") ;;
    *) variables+=("DINGO_SWEEPS=${share:-full}") ;;
    esac
    [ "$2" = 0 ] || variables+=("DINGO_SWEEP_END=$((EPOCHSECONDS + $2 - closing))")
    # timeout (0: none) hands a signal on to all that the suite has started.
    trap 'kill $pid 2>/dev/null || true; wait; exit 143' TERM
    env "${variables[@]}" timeout -k 60 "$2" tests/e2e/vm/suite.sh --kernel "$kernel" "$suite" -- --card "$build/bin/dingo-card" --provider "$build" \
        --ko "$build/kmod-$kernel/dingo.ko" "${vm_options[@]}" </dev/null >"$log" 2>&1 &
    pid=$!
    wait $pid || rc=$?
    if [ "$2" != 0 ] && [ $((SECONDS - began)) -ge "$2" ] && { [ $rc = 124 ] || [ $rc = 137 ]; }; then
        progress=$(cat "build/test-logs/vm-$suite-$kernel-$what-$1"/sweep{s,}.out 2>/dev/null | grep '^# ' | tail -n 1) || true
        [ -n "$progress" ] || progress=$(grep '^PASS ' "$log" | tail -n 1) || true
        if [ -n "$progress" ]; then
            echo "SKIP $suite:$what: cut after $2 s: ${progress#\# }" >>"$log"
        else
            echo "FAIL $suite:$what: no progress in $2 s" >>"$log"
        fi
    elif [ $rc != 0 ] && ! grep -q '^FAIL ' "$log"; then
        echo "FAIL $suite:$what: status $rc: $(tail -n 1 "$log")" >>"$log"
    fi
    echo "ended" >>"$log"
}

# report: writes report.txt: the results of all shards so far, then totals per kernel and kind.
report() {
    local n log state
    for n in "${!shards[@]}"; do
        log=$(log_of "$n") state=waiting
        [ ! -e "$log" ] || { state=running; [ "$(tail -n 1 "$log")" != ended ] || state=ended; }
        echo "== ${shards[$n]} ($state)"
        grep -E '^(PASS|FAIL|SKIP|# second try) ' "$log" 2>/dev/null || true
    done | awk '
        { print }
        /^== / { kernel = $2; sub("/.*", "", kernel) }
        /^(PASS|FAIL|SKIP) / { count[$1]++ }
        /^(PASS|FAIL) sweeps:/ {
            for (i = 3; i < NF - 2; i++) if ($i ~ /^[0-9]+$/ && $(i + 1) == "of" && $(i + 2) ~ /^[0-9]+$/) {
                what = $(i + 3)
                sub(/[,;:].*/, "", what)
                if (what == "admin") what = "admin commands"
                if (what == "resets" && $(i + 4) == "with") what = "resets with " $(i + 5) " " $(i + 6)
                key = kernel ": %d of %d " what
                if (!(key in of)) order[++keys] = key
                done[key] += $i
                of[key] += $(i + 2)
            }
        }
        END {
            for (k = 1; k <= keys; k++) printf order[k] "\n", done[order[k]], of[order[k]]
            printf "%d passed, %d failed, %d skipped\n", count["PASS"], count["FAIL"], count["SKIP"]
        }' >"$out/report.new"
    mv "$out/report.new" "$out/report.txt"
}

running() { jobs -rp | wc -l; }
trap 'kill $(jobs -p) 2>/dev/null || true; wait; exit 143' INT TERM
for n in "${!shards[@]}"; do
    while [ "$(running)" -ge "$jobs" ]; do wait -n || true; report; done
    slot=0
    if [ "$seconds" != 0 ]; then
        left=$((seconds - SECONDS))
        slot=$((left / ((${#shards[@]} - n + jobs - 1) / jobs)))
        # A shard in less time than this gives no result: rather run fewer shards.
        [ $slot -ge $((2 * closing)) ] || slot=$((left < 2 * closing ? left : 2 * closing))
        if [ $slot -le $closing ]; then
            printf 'SKIP %s: no time left\nended\n' "${shards[$n]}" >"$(log_of "$n")"
            continue
        fi
    fi
    log "${shards[$n]}$([ $slot = 0 ] || echo " ($slot s)")"
    : >"$(log_of "$n")"
    run_shard "$n" $slot &
    report
done
while [ "$(running)" -gt 0 ]; do wait -n || true; report; done
report
cat "$out/report.txt"
! grep -q '^FAIL ' "$out/report.txt"
