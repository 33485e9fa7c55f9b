# SPDX-License-Identifier: BSD-2-Clause
# scripts/lib/suites.sh: suites of several lanes run in parallel, and are reported in order. Sourced
# by suite.sh.
mkdir -p "$work/suites"
# program NAME COMMANDS: makes a suite's program.
program() {
    printf '#!/bin/bash\n%s\n' "$2" >"$work/suites/$1"
    chmod +x "$work/suites/$1"
}
# runs DEADLINE SUITE...: prints run_suites' output without times, then "passed failed skipped:
# failed suites".
runs() (
    . scripts/lib/suites.sh
    run_suites "$work/suites" "$@" | sed -E 's/ \([0-9]+ s, CPU [0-9]+ s; [^)]*\)//'
)
counts() (
    . scripts/lib/suites.sh
    run_suites "$work/suites" "$@" >/dev/null
    echo "$passed $failed $skipped: ${failures[*]}"
)
# Each waits for the other: they end only if they run in parallel.
meet='touch "$1"; for _ in $(seq 100); do [ ! -e "$2" ] || { echo "PASS they meet"; exit 0; }; sleep 0.05; done; echo "FAIL alone"'
program meet "$meet"
check 'lanes: suites of two lanes run side by side, reported in order' '== a: A| 1 passed, 0 failed, 0 skipped|== b: B| 1 passed, 0 failed, 0 skipped' \
    "$(runs 0 "a|x|$work/suites/meet $work/suites/1 $work/suites/2|A" "b|y|$work/suites/meet $work/suites/2 $work/suites/1|B" | tr -s ' ' | paste -sd '|')"
program slow 'sleep 0.5; echo PASS slow; touch "${0%/*}/slow-ended"'
program after '[ -e "${0%/*}/slow-ended" ] && echo PASS after || echo FAIL after: too early'
check 'lanes: suites of one lane follow each other' '2 0 0: ' "$(counts 0 "a|x|$work/suites/slow|A" "b|x|$work/suites/after|B")"
program all 'echo PASS one; echo FAIL two: why; echo SKIP three: why; echo "# second try of four"; exit 1'
check 'lanes: what a suite says of failures, skips and second tries is shown' 'FAIL two: why|SKIP three: why|# second try of four' \
    "$(runs 0 "a|x|$work/suites/all|A" | grep -E '^(FAIL|SKIP|#)' | paste -sd '|')"
program dies 'echo PASS one; exit 7'
program silent ':'
program skips 'echo SKIP one: why'
check 'lanes: a suite that dies, says nothing or is not there has failed' '2 3 1: silent dies gone' \
    "$(counts 0 "all|x|$work/suites/slow|A" "dies|x|$work/suites/dies|D" "silent|y|$work/suites/silent|S" "gone|y|$work/suites/gone|G" \
        "skips|y|$work/suites/skips|K" 2>/dev/null)"
program once 'n=${0%/*}/once-$(($(cat "${0%/*}/tries") + 1)); echo 1 >"${0%/*}/tries"; case $n in *-1) echo FAIL busy: too slow; exit 1 ;; esac; echo PASS busy'
echo 0 >"$work/suites/tries"
check 'lanes: what fails beside others runs again alone' '2 0 0: ' "$(counts 0 "a|x|$work/suites/once|A" "b|y|$work/suites/slow|B")"
check 'lanes: its first failure is kept' 'FAIL busy: too slow' "$(cat "$work/suites/a.first.log")"
echo 0 >"$work/suites/tries"
check 'lanes: what fails alone has failed' '0 1 0: a' "$(counts 0 "a|x|$work/suites/once|A")"
cases() (
    . scripts/lib/suites.sh
    run_suites "$work/suites" "$@" >/dev/null
    printf '%s|' "${failed_cases[@]}"
)
check 'lanes: every failed case is known by its suite at the end' 'all: two: why|dies: dies: the suite ended with status 7 after 1 cases|' \
    "$(cases 0 "all|x|$work/suites/all|A" "dies|x|$work/suites/dies|D")"
program endless 'trap "touch ${0%/*}/cleaned" EXIT; trap "exit 143" TERM; echo PASS begun; touch "${0%/*}/begun"; for _ in $(seq 200); do sleep 0.1; done'
check 'lanes: with the deadline near, no suite begins' '0 0 2: ' "$(counts $((SECONDS + 50)) "a|x|$work/suites/slow|A" "b|y|$work/suites/slow|B")"
# terminated DEADLINE: terminates run_suites in the middle; prints its status, and "yes" if its suite
# has cleaned up.
terminated() (
    rm -f "$work/suites/begun" "$work/suites/cleaned"
    rc=0
    (
        . scripts/lib/suites.sh
        run_suites "$work/suites" "$1" "a|x|$work/suites/endless|A" "b|y|$work/suites/slow|B" >/dev/null
    ) &
    pid=$!
    for _ in $(seq 600); do [ ! -e "$work/suites/begun" ] || break; sleep 0.05; done
    kill -TERM $pid
    wait $pid || rc=$?
    echo "$rc $([ -e "$work/suites/cleaned" ] && echo yes)"
)
check 'lanes: terminated, it ends its suites, which clean up' '143 yes' "$(terminated 0)"
check 'lanes: the same with a deadline' '143 yes' "$(terminated $((SECONDS + 600)))"
if [ $((0x$(awk '/^SigIgn/ { print $2 }' "/proc/$$/status") & 2)) = 0 ]; then
    program signals 'trap "echo PASS interrupted; exit 0" INT; kill -INT $$; echo FAIL ignored'
    check 'lanes: a suite can be interrupted' '2 0 0: ' "$(counts 0 "a|x|$work/suites/signals|A" "b|y|$work/suites/signals|B")"
else
    echo 'SKIP scripts:lanes: a suite can be interrupted: this job ignores SIGINT'
fi
