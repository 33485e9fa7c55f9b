# SPDX-License-Identifier: BSD-2-Clause
# Runs test suites in lanes side by side and counts their cases. Sourced by test.sh.
# A suite is "NAME|LANE|PROGRAM|what it does". Suites of one lane run one after the other, because
# they share something: the processors, ports of this host, the guests.

field() { cut -d'|' -f"$1" <<<"$2"; }

# lanes SUITE...: prints the names of their lanes, each once.
lanes() {
    local suite
    for suite in "$@"; do field 2 "$suite"; done | awk '!seen[$0]++'
}

# children_cpu FILE: sets cpu to the seconds of processor time of this shell's ended children. Their
# daemons do not count. FILE is written, because "times" in a subshell would give the subshell's.
children_cpu() {
    times >"$1"
    cpu=$(awk 'NR == 2 { gsub("s", ""); for (i = 1; i <= 2; i++) { split($i, t, "m"); sum += 60 * t[1] + t[2] } printf "%d", sum }' "$1")
}

# run_lane LANE SUITE...: runs those of LANE, one after the other; prints "NAME STATUS SECONDS CPU"
# after each. STATUS is "late" if no time was left to start it, and "cut" if the deadline ended it.
run_lane() {
    local lane=$1 suite name rc start limit cpu=0 before polite=()
    shift
    # Lane cpu gives way to suites that wait for a card or a guest.
    [ "$lane" != cpu ] || [ "$(lanes "$@")" = cpu ] || polite=(nice -n 10)
    for suite in "$@"; do
        [ "$(field 2 "$suite")" = "$lane" ] || continue
        name=$(field 1 "$suite") start=$SECONDS rc=0 limit=()
        before=$cpu
        if [ "$deadline" != 0 ]; then
            if [ $((deadline - SECONDS)) -lt 60 ]; then
                echo "$name late 0 0"
                continue
            fi
            limit=(timeout -k 30 $((deadline - SECONDS)))
        fi
        # shellcheck disable=SC2046  # the program's arguments are words
        "${polite[@]}" "${limit[@]}" $(field 3 "$suite") </dev/null >"$logs/$name.log" 2>&1 || rc=$?
        [ "$deadline" = 0 ] || [ $SECONDS -lt "$deadline" ] || [ $rc = 0 ] || rc='cut'
        children_cpu "$logs/.$lane.times"
        echo "$name $rc $((SECONDS - start)) $((cpu - before))"
    done
}

# report SUITE STATUS SECONDS CPU: prints a finished suite's failures, skips and counts, and adds to the
# totals.
report() {
    local name rc=$2 p f s log line
    name=$(field 1 "$1") log=$logs/$name.log
    if [ "$rc" = late ]; then
        echo "SKIP $name: no time left (--budget)"
        skipped=$((skipped + 1))
        return
    elif [ "$rc" = cut ]; then
        echo "SKIP $name: cut short, the time was over (--budget)" >>"$log"
        rc=0
    fi
    p=$(grep -c '^PASS ' "$log" || true)
    f=$(grep -c '^FAIL ' "$log" || true)
    s=$(grep -c '^SKIP ' "$log" || true)
    # A suite that died, or printed no result, has failed.
    if [ "$f" = 0 ] && { [ "$rc" != 0 ] || [ $((p + s)) = 0 ]; }; then
        f=1
        echo "FAIL $name: the suite ended with status $rc after $p cases" >>"$log"
        tail -n 15 "$log"
    fi
    grep -E '^(FAIL|SKIP|# second try) ' "$log" || true
    printf '   %d passed, %d failed, %d skipped (%d s, CPU %d s; %s)\n' "$p" "$f" "$s" "$3" "$4" "${log#"$PWD/"}"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    [ "$f" = 0 ] || failures+=("$name")
    while read -r line; do failed_cases+=("$name: ${line#FAIL }"); done < <(grep '^FAIL ' "$log" || true)
}

# start_lane LANE SUITE...: starts run_lane in a process group, which end_lanes ends with all that a
# suite has started. run_lane's lines can be read from the descriptor $lane_fd.
start_lane() {
    local fifo=$ends/${#lane_pids[@]}-$1-$SECONDS
    mkfifo "$fifo"
    set -m
    run_lane "$@" >"$fifo" &
    set +m
    lane_pids+=($!)
    exec {lane_fd}<"$fifo"
    rm "$fifo"
}

# fails_beside_others NAME STATUS: succeeds if the suite has failed and ran beside other lanes; then
# prints the failures and keeps the log as NAME.first.log.
fails_beside_others() {
    local log=$logs/$1.log
    case $2 in late | cut) return 1 ;; esac
    [ ${#lane_pids[@]} -gt 1 ] || return 1
    [ "$2" != 0 ] || grep -q '^FAIL ' "$log" || return 1
    mv "$log" "${log%.log}.first.log"
    sed -n 's/^FAIL /# beside others: /p' "${log%.log}.first.log"
    echo "   failed beside others (status $2; ${log#"$PWD/"}): it runs again, alone, at the end"
}

# run_suites LOGS DEADLINE SUITE...: runs the suites and prints their results in the order given.
# Suites that fail beside others run again alone. DEADLINE: the value of $SECONDS at which all are
# stopped; 0: none. Sets passed, failed, skipped, failures (suites) and failed_cases.
run_suites() {
    local logs=$1 deadline=$2 suite lane name rc seconds cpu lane_fd again=()
    local -A results=()
    lane_pids=()
    shift 2
    passed=0 failed=0 skipped=0 failures=() failed_cases=()
    ends=$(mktemp -d)
    trap 'end_lanes' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    for lane in $(lanes "$@"); do
        start_lane "$lane" "$@"
        results[$lane]=$lane_fd
    done
    for suite in "$@"; do
        name=$(field 1 "$suite") lane=$(field 2 "$suite")
        printf '== %s: %s\n' "$name" "$(field 4 "$suite")"
        read -r _ rc seconds cpu <&"${results[$lane]}" || { rc=125 seconds=0 cpu=0; touch "$logs/$name.log"; }
        if fails_beside_others "$name" "$rc"; then again+=("$suite"); else report "$suite" "$rc" "$seconds" "$cpu"; fi
    done
    wait "${lane_pids[@]}" || true
    for suite in "${again[@]}"; do
        lane_pids=()
        start_lane "$(field 2 "$suite")" "$suite"
        printf '== %s, alone: %s\n' "$(field 1 "$suite")" "$(field 4 "$suite")"
        read -r _ rc seconds cpu <&"$lane_fd" || { rc=125 seconds=0 cpu=0; touch "$logs/$(field 1 "$suite").log"; }
        report "$suite" "$rc" "$seconds" "$cpu"
        wait "${lane_pids[@]}" || true
    done
    lane_pids=()
}

# end_lanes: terminates the lanes that still run when this script exits, and what ended lanes left in
# their groups. A "timeout" has a group of its own and passes the signal on.
end_lanes() {
    local pid child groups=("${lane_pids[@]}") end=$((SECONDS + 30))
    for pid in "${lane_pids[@]}"; do
        for child in $(ps -o pid=,pgid= --ppid "$pid" | awk '$1 == $2 { print $1 }'); do
            kill -TERM "$child" 2>/dev/null || true
            groups+=("$child")
        done
        kill -TERM -- "-$pid" 2>/dev/null || true
    done
    # Wait up to 30 s for all: suites clean up their guests, cards and network namespaces.
    for pid in "${groups[@]}"; do
        while [ $SECONDS -lt $end ] && kill -0 -- "-$pid" 2>/dev/null; do sleep 0.1; done
    done
    rm -rf "$ends"
}
