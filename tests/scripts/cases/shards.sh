# SPDX-License-Identifier: BSD-2-Clause
# scripts/lab-shards.sh: parallel shards, their shares of the time, the report. Uses a fake suite.
# Sourced by suite.sh.
tree=$work/shards
mkdir -p "$tree"/{scripts/lib,tests/e2e/vm,build/hw/contract/include,build/test-logs}
cp scripts/lab-shards.sh "$tree/scripts/"
cp scripts/lib/{common,packages}.sh "$tree/scripts/lib/"
printf '#define DINGO_OP_%s %dU /* x */\n' NOP 0 SET_PORT 1 CREATE_CQ 2 CREATE_QP 3 >"$tree/build/hw/contract/include/dingo_hw.h"
cat >"$tree/scripts/vm.sh" <<'EOS'
#!/bin/bash
echo "$*" >>"${0%/*}/built"
EOS
# suite_says COMMANDS: makes a fake suite that runs COMMANDS, with $kernel and $suite set.
suite_says() {
    printf '#!/bin/bash\nkernel=$2 suite=$3 group=$DINGO_SWEEP_GROUPS\n%s\n' "$1" >"$tree/tests/e2e/vm/suite.sh"
    chmod +x "$tree/tests/e2e/vm/suite.sh" "$tree/scripts/vm.sh"
}
shards() { "$tree/scripts/lab-shards.sh" "$@" 2>/dev/null; }

suite_says 'echo "PASS $suite:$group $kernel ${DINGO_SWEEPS:-} ${DINGO_SWEEP_COMMANDS:-}${DINGO_FUZZ_SECONDS:-}${DINGO_LAB_PARTS:-}${DINGO_SWEEP_END:-}"'
check 'shards: each has its kernel, group and share' \
    'PASS sweeps:resets 6.12-kasan 50 |PASS sweeps:commands 7.2  SET_PORT CREATE_CQ|PASS sweeps:fuzz 7.2  90|PASS lab:lab 6.12-kasan  life memory' \
    "$(shards 6.12-kasan/resets/50 7.2/commands/SET_PORT,CREATE_CQ 7.2/fuzz/90 6.12-kasan/lab/life,memory | grep ^PASS | paste -sd '|')"
check 'shards: what they share is built once for each kernel' 'build --kernel 6.12-kasan|build --kernel 7.2' "$(paste -sd '|' "$tree/scripts/built")"
check 'shards: a kernel alone is all of it, each admin command in one shard' '13 CREATE_CQ CREATE_QP NOP SET_PORT' \
    "$(shards 7.2 | awk '/^== / { n++ } /sweeps:commands/ { for (i = 4; i <= NF; i++) print $i } END { print 13 == n ? "0" n : n }' | sort | sed 's/^0//' | paste -sd ' ')"

suite_says 'echo "PASS sweeps:$group: 7 of 20 $group, 7 of them under traffic; no leak (9 s)"'
check 'shards: counts of all are added' '7.2: 14 of 40 resets|7.2: 7 of 20 unplugs|3 passed, 0 failed, 0 skipped' \
    "$(shards 7.2/resets/10 7.2/resets/10 7.2/unplugs/10 | tail -n 3 | paste -sd '|')"

# Each waits for the others: they end only if they run in parallel.
meet='touch '$tree'/met-$DINGO_SHARD; for _ in $(seq 100); do [ "$(ls '$tree'/met-* | wc -l)" -lt 2 ] || { echo PASS they meet; exit; }; sleep 0.05; done; echo FAIL alone'
suite_says "$meet"
check 'shards: as many at a time as --jobs says' '2 passed, 0 failed, 0 skipped' "$(shards --jobs 2 7.2/resets 7.2/unplugs | tail -n 1)"
rm "$tree"/met-*
check 'shards: and no more' '1 passed, 1 failed, 0 skipped' "$(shards --jobs 1 7.2/resets 7.2/unplugs | tail -n 1)"

suite_says 'echo "PASS sweeps:end $((DINGO_SWEEP_END - EPOCHSECONDS > 300 ? 1 : 0)) $((DINGO_SWEEP_END - EPOCHSECONDS < 390 ? 1 : 0))"'
check 'shards: the time is shared, and some is left for a last look' 'PASS sweeps:end 1 1' "$(shards --jobs 1 --seconds 1000 7.2/resets 7.2/kills | sed -n 2p)"
suite_says 'mkdir -p build/test-logs/vm-sweeps-7.2-resets-0; echo "# 3 of 9 done" >build/test-logs/vm-sweeps-7.2-resets-0/sweep.out; sleep 60'
sed 's/^closing=.*/closing=3/' "$tree/scripts/lab-shards.sh" >"$tree/scripts/hasty.sh"
chmod +x "$tree/scripts/hasty.sh"
check 'shards: what does not end is ended and says how far it came; what has no time does not begin' \
    'SKIP sweeps:resets: cut after N s: 3 of 9 done|SKIP 7.2/kills: no time left' \
    "$("$tree/scripts/hasty.sh" --jobs 1 --seconds 6 7.2/resets 7.2/kills 2>/dev/null | sed -n '/^SKIP/s/after [0-9]* s/after N s/p; /no time/p' | paste -sd '|')"
suite_says 'sleep 60'
check 'shards: one that did nothing in its time has failed' 'FAIL sweeps:unplugs: no progress in N s' \
    "$("$tree/scripts/hasty.sh" --jobs 1 --seconds 6 7.2/unplugs 2>/dev/null | sed -n '/^FAIL/s/in [0-9]* s/in N s/p')"
suite_says 'kill -KILL $$'
check 'shards: one that was killed has failed, with a limit or without' 'FAIL sweeps:kills: status 137: |FAIL sweeps:kills: status 137: ' \
    "$({ shards 7.2/kills; shards --seconds 1000 7.2/kills; } | grep ^FAIL | paste -sd '|')"
suite_says 'sleep 60 & echo $! >'$tree'/sleeper; wait'
check 'shards: ended by a signal, all that they started ends' '143 gone' \
    "$("$tree/scripts/lab-shards.sh" 7.2/kills >/dev/null 2>&1 & all=$!
        for _ in $(seq 200); do [ ! -s "$tree/sleeper" ] || break; sleep 0.05; done
        kill $all; rc=0; wait $all || rc=$?
        for _ in $(seq 100); do kill -0 "$(cat "$tree/sleeper")" 2>/dev/null || break; sleep 0.05; done
        echo "$rc $(kill "$(cat "$tree/sleeper")" 2>/dev/null && echo there || echo gone)")"
mkdir "$tree/logs"
touch "$tree/logs/"{mine,2026-11-29-mine}.log
suite_says 'echo "PASS sweeps:$group"'
shards --out "$tree/logs" 7.2/kills 7.2/resets >/dev/null
shards --out "$tree/logs" 7.2/users >/dev/null
check 'shards: a new run removes the logs of the one before only' '00-7.2-users.log 2026-11-29-mine.log mine.log' \
    "$(cd "$tree/logs" && printf '%s\n' *.log | paste -sd ' ')"
suite_says 'echo "# nothing"; exit 3'
check 'shards: a suite that says nothing has failed' '1 FAIL sweeps:kills: status 3: # nothing' \
    "$(rc=0; shards 7.2/kills >"$work/shards.out" || rc=$?; echo "$rc $(grep ^FAIL "$work/shards.out")")"
check 'shards: a shard that there is not' 125 "$(rc=0; shards 7.2/nothing || rc=$?; echo $rc)"
