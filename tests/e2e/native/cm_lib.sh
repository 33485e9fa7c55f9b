# SPDX-License-Identifier: BSD-2-Clause
# Runs pairs of rdma_cm programs on the cards alpha and beta. Sourced by cases.

# cm_count CARD NAME: prints the card's rdma_cm counter NAME (listeners, ids, joins ...).
cm_count() {
    "$dingo_root/build/bin/dingo-card" ctl "$DINGO_RUN/$1/control" stats |
        /usr/bin/python3 -c 'import json,sys; print(json.load(sys.stdin)["rdma_cm"][sys.argv[1]])' "$2"
}
# wait_count CARD NAME VALUE PID: waits until the counter is VALUE; fails after 30 s or when PID has
# exited.
wait_count() {
    local _
    for _ in $(seq 600); do
        [ "$(cm_count "$1" "$2")" != "$3" ] || return 0
        kill -0 "$4" 2>/dev/null || return 1
        sleep 0.05
    done
    return 1
}
# try_pair NAME SERVER CLIENT [REGEX]: sets $problem, which is empty on success, and $out, the
# prefix of the logs' names.
try_pair() {
    local rc_a=0 rc_b=0 pid
    problem=''
    out=$logs/$(slug "$1")
    wait_count "${server_card%% *}" listeners 0 $$ || true # the last server's listener may still exist
    on "$server_card" "$2" >"$out.A" 2>&1 &
    pid=$!
    wait_count "${server_card%% *}" listeners 1 $pid || true
    on "$client_card" "$3" >"$out.B" 2>&1 || rc_b=$?
    wait $pid || rc_a=$?
    if [ "$rc_a $rc_b" != '0 0' ]; then
        problem="status A $rc_a B $rc_b: $(why "$out.A") | $(why "$out.B")"
    elif [ -n "${4:-}" ] && ! grep -qE "$4" "$out.B"; then
        problem="the client printed no line like /$4/: $(why "$out.B")"
    fi
}
# cm_pair NAME SERVER CLIENT [REGEX]: like pair, but waits for a listener in the server card's
# rdma_cm.
cm_pair() {
    try_pair "$@"
    if [ -n "$problem" ]; then fail "$1" "$problem"; else pass "$1"; fi
}
# cm_perftest TOOL OPTIONS: case. perftest listens twice, a second apart, and its client does not
# wait for the second listener: on a busy machine it connects too early and is rejected. Only then
# it is run again.
cm_perftest() { perftest_pair "$prefix$1 $2" "$1 -F $2" 10.77.0.1; }
# perftest_pair NAME COMMAND ADDRESS
perftest_pair() {
    local row='^ +[0-9]+ +[0-9]+ +[0-9.]+' _
    for _ in 1 2 3 4 5; do
        limit=20 try_pair "$1" "$2" "$2 $3" "$row"
        grep -qE 'RDMA_CM_EVENT_(REJECTED; error: 8|UNREACHABLE; error: 1)' "$out.B" || break # UNREACHABLE: for UD
    done
    if [ -n "$problem" ]; then fail "$1" "$problem"; else pass "$1"; fi
}
# mcast_card ADDRESS: prints the card with that address.
mcast_card() { case $1 in *1) echo alpha ;; *) echo beta ;; esac }
# mcast NAME OPTIONS SENDER RECEIVER...: case: mckey sends ten datagrams, and each receiver must
# count ten. SENDER and RECEIVER are CARD/ADDRESS.
mcast() {
    local name=$1 options=$2 sender=$3 problem='' n=0 rc=0 pids=() receiver out card
    local -A members=()
    out=$logs/$(slug "$name")
    shift 3
    for receiver; do
        on "${receiver%%/*}" "mckey -b ${receiver#*/} -C 10 ${options% -o}" >"$out.R$n" 2>&1 &
        pids+=($!) n=$((n + 1))
    done
    # Wait until all receivers have joined. The sender waits three more seconds before it sends.
    n=0
    for receiver; do
        card=$(mcast_card "${receiver#*/}")
        members[$card]=$((${members[$card]:-0} + 1))
        wait_joined "$card" ${members[$card]} ${pids[n]} || true
        n=$((n + 1))
    done
    on "${sender%%/*}" "mckey -s -b ${sender#*/} -C 10 $options" >"$out.S" 2>&1 || problem="sender: status $?: $(why "$out.S")"
    for n in "${!pids[@]}"; do
        rc=0
        wait ${pids[n]} || rc=$?
        [ $rc = 0 ] || problem+=" receiver $n: status $rc: $(why "$out.R$n")"
    done
    if [ -n "$problem" ]; then fail "$name" "$problem"; else pass "$name"; fi
}
# wait_joined CARD N PID: waits until CARD has N joins; fails after 30 s or when PID has exited.
wait_joined() {
    local _
    for _ in $(seq 600); do
        [ "$(cm_count "$1" joins)" -lt "$2" ] || return 0
        kill -0 "$3" 2>/dev/null || return 1
        sleep 0.05
    done
    return 1
}
# nothing_left NAME: case: both cards have no identifiers, listeners and descriptors left, and after
# their timewait no connections.
nothing_left() {
    local card what left _
    for _ in $(seq 300); do
        left=''
        for card in alpha beta; do
            for what in descriptors ids joins listeners communications; do
                [ "$(cm_count $card $what)" = 0 ] || left+=" $card:$what"
            done
        done
        [ -n "$left" ] || { pass "$1"; return; }
        sleep 0.1
    done
    fail "$1" "left:$left"
}

# leaf PID: prints the program's process below the shells of PID.
leaf() {
    local pid=$1 child
    while child=$(pgrep -P "$pid" | head -n 1) && [ -n "$child" ]; do pid=$child; done
    echo "$pid"
}

# kill_clients TIMES WHO COMMAND CARD COUNTER: starts COMMAND on WHO and kills it at different
# moments after CARD's COUNTER has become 1.
kill_clients() {
    local n pid
    for n in $(seq "$1"); do
        on "$2" "$3" >"$logs/killed-$n" 2>&1 &
        pid=$!
        wait_count "$4" "$5" 1 $pid || true
        sleep 0.$n
        kill -9 "$(leaf $pid)" 2>/dev/null || true
        wait $pid 2>/dev/null || true
    done
}
