# SPDX-License-Identifier: BSD-2-Clause
# Runs cases in the two guests. Each prints one line: PASS name, FAIL name: why, SKIP name: why.
# Sourced by suite.sh, which sets $suite, $kernel and $logs.

vm=$dingo_root/scripts/vm.sh
session=suite-$suite-$$
up_options=()
failed=0
# Factor for all time limits: emulated debug kernels are slow.
slow=1

# boot [OPTION...]: starts the session that the following cases use.
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

# why DIRECTORY: prints the end of a failed pair's output in one line.
why() {
    local f
    for f in B.err A.err B.out A.out; do
        [ ! -s "$1/$f" ] || printf '%s: %s; ' "${f%.*}" \
            "$(grep -vE '^ *$|^-+$' "$1/$f" | tail -n 2 | tr '\n\t' '  ' | cut -c1-150)"
    done
}

# in_guest A|B COMMAND: runs COMMAND in the guest, with the time limit $limit (60 s).
in_guest() { "$vm" exec --quiet --name "$session" --timeout $((${limit:-60} * slow)) "$1" "$2"; }

# single NAME A|B COMMAND [REGEX]: case: COMMAND in the guest succeeds and prints a line like REGEX.
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

# try_pair DIRECTORY SERVER CLIENT REGEX [RUN-OPTION...]: runs a pair once; sets $problem, which is
# empty on success.
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

# pair NAME SERVER CLIENT [REGEX [RUN-OPTION...]]: case: SERVER in A and CLIENT in B (with `--server
# B` the reverse) succeed, and CLIENT prints a line like REGEX. On a busy machine an emulated guest
# can stall for longer than a program's time limits: a pair may be tried again, which is printed, at
# most $second_tries_allowed times in a suite.
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

# perftest TOOL [OPTIONS]: case: a perftest pair with the same options on both sides.
perftest() {
    local tool=$1 options=${2:-}
    pair "$tool${options:+ $options}" "$tool $options" "$tool $options A" '^ +[0-9]+ +[0-9]+ +[0-9.]+'
}

cm_perftest() { perftest "$@"; }

# mckey_receiver COUNT OPTION...: prints a shell command that runs mckey as receiver, and listens at
# TCP port 2000 after 2 s, which tells `vm.sh run` that the sender may start (mckey neither sleeps
# nor listens).
mckey_receiver() {
    local count=$1
    shift
    echo "mckey -m 239.1.2.3 -C $count $* & mckey=\$!; sleep 2; nc -l 2000 </dev/null >/dev/null & nc=\$!; wait \$mckey; status=\$?; kill \$nc; exit \$status"
}

# check_alive: reboots the guests if they do not reach each other, so that later cases do not fail,
# too.
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

# clean_dmesg [REGEX]: cases: neither kernel's log has warnings, except lines like REGEX.
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

# install_program NAME: builds this tree's program and copies it into both guests.
install_program() {
    local side program
    # shellcheck source=scripts/lib/dingo.sh
    . "$dingo_root/scripts/lib/dingo.sh"
    need_packages libibverbs-dev
    build_dingo "$1" || { fail "$1" 'did not build'; return 1; }
    program=$(dingo_build_dir)/bin/$1
    for side in A B; do "$vm" push --quiet --name "$session" "$side" "$program" /usr/local/bin || return 1; done
}

# install_rdma_bench: installs this tree's rdma-bench in both guests, with those of this host's
# libraries that they may lack, and the fake GPU drivers of its tests (used only with --gpu as the
# first argument).
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
