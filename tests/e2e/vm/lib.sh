# SPDX-License-Identifier: BSD-2-Clause
# Cases that run in the two guests. Each prints one line: PASS name, FAIL name: why, SKIP name: why.
# Sourced by suite.sh, which sets $suite, $kernel and $logs.

vm=$dingo_root/scripts/vm.sh
session=suite-$suite-$$
up_options=()
failed=0
# What all limits of time are multiplied by: a debug kernel that is emulated is slow.
slow=1

# boot [OPTION...]: start the session that the following cases use.
boot() {
    up_options=("$@")
    "$vm" up --quiet --name "$session" --parent $$ --kernel "$kernel" \
        --overlay "$dingo_root/tests/e2e/vm/guest" "$@" >>"$logs/boot.log" 2>&1 || {
        tail -20 "$logs/boot.log"
        fail boot "the guests did not come up (log: $logs/boot.log)"
        exit 1
    }
    [[ $kernel != *-* ]] || on_kvm || slow=4
}

on_kvm() { "$vm" list | grep "^$session	" | grep -q ', kvm,'; }

shut_down() { "$vm" down --name "$session" >/dev/null 2>&1 || true; }

pass() { echo "PASS $suite:$1"; }
skip() { echo "SKIP $suite:$1: $2"; }
fail() {
    echo "FAIL $suite:$1: $2"
    failed=$((failed + 1))
}

slug() { tr -c 'A-Za-z0-9._\n-' '_' <<<"$1"; }

# why DIRECTORY: the end of what a failed pair printed, in one line.
why() {
    local f
    for f in B.err A.err B.out A.out; do
        [ ! -s "$1/$f" ] || printf '%s: %s; ' "${f%.*}" \
            "$(grep -vE '^ *$|^-+$' "$1/$f" | tail -n 2 | tr '\n\t' '  ' | cut -c1-150)"
    done
}

# in_guest A|B COMMAND: run it, with the time limit $limit (seconds).
in_guest() { "$vm" exec --quiet --name "$session" --timeout $((${limit:-60} * slow)) "$1" "$2"; }

# single NAME A|B COMMAND [REGEX]: a command that must succeed and print a line like REGEX.
single() {
    local name=$1 side=$2 command=$3 regex=${4:-} out rc=0
    out=$logs/$(slug "$name").out
    in_guest "$side" "$command" >"$out" 2>&1 || rc=$?
    if [ $rc != 0 ]; then
        fail "$name" "status $rc: $(tail -n 2 "$out" | tr '\n' ' ' | cut -c1-200)"
        check_alive
    elif [ -n "$regex" ] && ! grep -qE "$regex" "$out"; then
        fail "$name" "no line like /$regex/: $(tail -n 2 "$out" | tr '\n' ' ' | cut -c1-200)"
    else
        pass "$name"
    fi
}

# try_pair: one run of a pair; sets $problem, empty when all was right.
try_pair() {
    local server=$2 client=$3 regex=$4 client_side=B rc=0
    local dir=$1
    shift 4
    [ "$*" != '--server B' ] || client_side=A
    problem=''
    "$vm" run --quiet --name "$session" --timeout $((${limit:-120} * slow)) --linger 15 --out "$dir" "$@" \
        -- "$server" -- "$client" >/dev/null 2>&1 || rc=$?
    if [ $rc != 0 ]; then
        problem="status A $(cat "$dir/A.rc" 2>/dev/null) B $(cat "$dir/B.rc" 2>/dev/null): $(why "$dir")"
    elif [ -n "$regex" ] && ! grep -qE "$regex" "$dir/$client_side.out"; then
        problem="the client printed no line like /$regex/: $(why "$dir")"
    fi
}

# pair NAME SERVER CLIENT [REGEX [RUN-OPTION...]]: server in A, client in B (with `--server B` the
# other way round); both must succeed, and the client must print a line like REGEX. On a shared machine
# an emulated guest can stand still for longer than a program's own limits: a pair may be tried again, and
# says so, but not more than $second_tries_allowed times in a suite.
second_tries_allowed=3
pair() {
    local name=$1 server=$2 client=$3 regex=${4:-} dir
    shift 3
    [ $# = 0 ] || shift
    dir=$logs/$(slug "$name")
    try_pair "$dir" "$server" "$client" "$regex" "$@"
    if [ -n "$problem" ] && [ $second_tries_allowed -gt 0 ]; then
        second_tries_allowed=$((second_tries_allowed - 1))
        echo "# second try of $name, the first: $problem"
        mv "$dir" "$dir.first" 2>/dev/null || true
        check_alive
        try_pair "$dir" "$server" "$client" "$regex" "$@"
    fi
    if [ -n "$problem" ]; then
        fail "$name" "$problem"
        check_alive
    else
        pass "$name"
    fi
}

# perftest TOOL [OPTIONS [NAME]]: a perftest pair with the same options on both sides.
perftest() {
    local tool=$1 options=${2:-}
    pair "$tool${options:+ $options}" "$tool $options" "$tool $options A" '^ +[0-9]+ +[0-9]+ +[0-9.]+'
}

cm_perftest() { perftest "$@"; }

# mckey_receiver COUNT OPTION...: it never sleeps and listens nowhere, so something else must say by listening that the sender may start.
mckey_receiver() {
    local count=$1
    shift
    echo "mckey -m 239.1.2.3 -C $count $* & mckey=\$!; sleep 2; nc -l 2000 </dev/null >/dev/null & nc=\$!; wait \$mckey; status=\$?; kill \$nc; exit \$status"
}

# check_alive: a failed case must not take the following ones with it.
check_alive() {
    if limit=20 in_guest A 'ping -c 1 -W 5 B' >/dev/null 2>&1 &&
        limit=20 in_guest B 'test -n "$(ls /sys/class/infiniband)"' >/dev/null 2>&1; then
        return 0
    fi
    save_dmesg "$logs/dmesg-$(date +%s)"
    echo "# the guests do not reach each other any more; booting again"
    shut_down
    boot "${up_options[@]}"
}

save_dmesg() {
    local side
    for side in A B; do
        in_guest "$side" dmesg >"$1.$side" 2>/dev/null ||
            cp "${DINGO_VM_DIR:-/tmp/dingo-vm-$(id -u)}/$session/$side.console" "$1.$side" || true
    done
}

# clean_dmesg [REGEX]: neither kernel has anything to complain of, but what a case provokes (lines like REGEX).
clean_dmesg() {
    local side text
    save_dmesg "$logs/dmesg"
    for side in A B; do
        text=$("$vm" dmesg --name "$session" "$side" --warnings 2>&1) || text="no answer: $text"
        [ -z "${1:-}" ] || text=$(grep -vE "$1" <<<"$text" || true)
        if [ -z "$text" ]; then
            pass "the kernel log of $side has no warning"
        else
            fail "the kernel log of $side has no warning" "$(head -n 3 <<<"$text" | tr '\n' ' ' | cut -c1-300)"
        fi
    done
}

# install_program NAME: build this tree's program and put it into both guests.
install_program() {
    local side program
    # shellcheck source=scripts/lib/dingo.sh
    . "$dingo_root/scripts/lib/dingo.sh"
    need_packages libibverbs-dev
    build_dingo "$1" || { fail "$1" 'did not build'; return 1; }
    program=$(dingo_build_dir)/bin/$1
    for side in A B; do "$vm" push --quiet --name "$session" "$side" "$program" /usr/local/bin || return 1; done
}

# install_rdma_bench: this tree's rdma-bench for both guests, with the libraries of this host that theirs may not have,
# and the fake GPU drivers of its tests (found only with --gpu as the first word).
install_rdma_bench() {
    local side build place=/root/rdma-bench
    # shellcheck source=scripts/lib/dingo.sh
    . "$dingo_root/scripts/lib/dingo.sh"
    build_dingo rdma-bench fake_cuda fake_hip fake_hsa || { fail rdma-bench 'did not build'; return 1; }
    build=$(dingo_build_dir)
    mkdir -p "$logs/rdma-bench"
    ldd "$build/bin/rdma-bench" | awk '$3 ~ /^\// { print $3 }' |
        grep -vE '/(libc|libm|libibverbs|librdmacm|libnl-[a-z0-9-]*)\.so' | xargs -r cp -L -t "$logs/rdma-bench"
    cat >"$logs/rdma-bench.sh" <<EOF
#!/bin/bash
libraries=$place/lib
[ "\${1:-}" != --gpu ] || { libraries+=:$place/gpu; shift; }
LD_LIBRARY_PATH=\$libraries exec $place/rdma-bench "\$@"
EOF
    for side in A B; do
        "$vm" push --quiet --name "$session" "$side" "$build/bin/rdma-bench" "$logs/rdma-bench.sh" $place &&
            "$vm" push --quiet --name "$session" "$side" "$logs"/rdma-bench/* $place/lib &&
            "$vm" push --quiet --name "$session" "$side" "$build"/fake-gpu/* $place/gpu &&
            in_guest "$side" "install -m 755 $place/rdma-bench.sh /usr/local/bin/rdma-bench" || return 1
    done
}
