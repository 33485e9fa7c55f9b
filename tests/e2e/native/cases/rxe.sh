# SPDX-License-Identifier: BSD-2-Clause
# A kernel-less card and the kernel's rdma_rxe in a guest, on one wire, in both roles, with every
# byte verified. The programs' TCP connections are forwarded through the guest's command channel.
vm=$dingo_root/scripts/vm.sh
vm_session=native-rxe-$$
vm_dir=${DINGO_VM_DIR:-/tmp/dingo-vm-$(id -u)}/$vm_session
tcp_port=18620
cleanups+=('"$vm" down --name $vm_session >/dev/null 2>&1')
"$vm" up --quiet --rxe --name $vm_session --parent $$ --overlay "$dingo_root/tests/e2e/vm/guest" >"$logs/boot.log" 2>&1 || {
    fail boot "the guest did not come up: $(why "$logs/boot.log")"
    exit 1
}
# Guest A quits; the kernel-less card takes over its end of the wire.
"$vm" qmp --name $vm_session A '{"execute":"quit"}' >/dev/null 2>&1 || true
slot=$(cat "$vm_dir/slot")
for _ in $(seq 100); do ss -Hlun "src 127.77.$slot.1" | grep -q . || break; sleep 0.1; done
start_card near --wire "udp:127.77.$slot.1:4801,127.77.$slot.2:4801" --ip 10.77.0.1/24 --ip fd77::1/64

in_guest() { "$vm" exec --quiet --name $vm_session --timeout $limit B "$1" </dev/null; }
# forward -L|-R PORT: forwards PORT of this machine's loopback to the guest (-L), or the reverse
# (-R).
. "$dingo_root/scripts/lib/channel.sh"
forward() { ssh "${ssh_options[@]}" -S "$vm_dir/B.ctl" -O forward "$1" "127.0.0.1:$2:127.0.0.1:$2" root@B >>"$logs/forward.log" 2>&1; }

# try_against OUT CARD-COMMAND GUEST-COMMAND REGEX: sets $problem, which is empty on success.
try_against() {
    local out=$1 rc_card=0 rc_guest=0 pid client
    problem=''
    tcp_port=$((tcp_port + 1))
    local card=${2//PORT/$tcp_port} guest=${3//PORT/$tcp_port}
    if [[ $card == *' A'* ]]; then
        client=card
        in_guest "$guest" >"$out.guest" 2>&1 &
        pid=$!
        in_guest "for i in \$(seq 100); do ! ss -Hltn 'sport = :$tcp_port' | grep -q . || break; sleep 0.1; done"
        forward -L $tcp_port
        on near "${card// A/ 127.0.0.1}" >"$out.card" 2>&1 || rc_card=$?
        wait $pid || rc_guest=$?
    else
        client=guest
        on near "$card" >"$out.card" 2>&1 &
        pid=$!
        wait_listen $tcp_port $pid || true
        forward -R $tcp_port
        in_guest "${guest// A/ 127.0.0.1}" >"$out.guest" 2>&1 || rc_guest=$?
        wait $pid || rc_card=$?
    fi
    if [ "$rc_card $rc_guest" != '0 0' ]; then
        problem="status card $rc_card guest $rc_guest: $(why "$out.card") | $(why "$out.guest")"
    elif ! grep -qE "$4" "$out.$client"; then
        problem="the client printed no line like /$4/: $(why "$out.$client")"
    fi
}
# An emulated guest on a busy machine can stall for longer than a QP's retries last: two cases may
# be tried again.
second_tries_allowed=2
# judged TRY NAME ARGUMENT...: case NAME: runs `TRY OUT ARGUMENT...`, which sets $problem.
judged() {
    local try=$1 name=$2
    shift 2
    $try "$logs/$(slug "$name")" "$@"
    if [ -n "$problem" ] && [ $second_tries_allowed -gt 0 ]; then
        second_tries_allowed=$((second_tries_allowed - 1))
        echo "# second try of $name, the first: $problem"
        $try "$logs/$(slug "$name again")" "$@"
    fi
    if [ -n "$problem" ]; then fail "$name" "$problem"; else pass "$name"; fi
}
# against NAME CARD-COMMAND GUEST-COMMAND REGEX: case. The command that contains A, which stands for
# the server's address, is the client.
against() { judged try_against "$@"; }
# both TOOL OPTIONS: first rxe is the server, then the card. Each retry may take a second.
both() {
    local row='^ +[0-9]+ +[0-9]+ +[0-9.]+'
    against "$1 $2, rxe serves" "$1 -F -u 18 -p PORT $2 A" "$1 -F -u 18 -p PORT $2" "$row"
    against "$1 $2, the card serves" "$1 -F -u 18 -p PORT $2" "$1 -F -u 18 -p PORT $2 A" "$row"
}
for tool in ib_write_bw ib_read_bw ib_send_bw; do both $tool '-m 1024 -s 65536 -n 20'; done
both ib_write_bw '-s 4096 -n 100'
both ib_atomic_bw '-n 100'
both ib_write_lat '-n 100'
both ib_send_lat '-n 100'
both ib_send_bw '-c UD -s 1024 -n 100'
both ib_write_bw '-x $(gid 6) -s 65536 -n 20'
# Verifies every byte of sends, writes, reads and atomics.
in_guest 'mkdir -p /usr/local/bin'
"$vm" push --quiet --name $vm_session B "$dingo_root/build/bin/verbs_check" /usr/local/bin
check=$dingo_root/build/bin/verbs_check
against 'verbs_check, rxe serves' "$check -p PORT A" 'verbs_check -p PORT' 'every byte right'
against 'verbs_check, the card serves' "$check -p PORT" 'verbs_check -p PORT A' 'every byte right'
against 'verbs_check over IPv6, rxe serves' "$check -6 -p PORT A" 'verbs_check -6 -p PORT' 'every byte right'

# rdma_cm against the kernel's, without TCP.
# try_cm OUT card|rxe SERVER CLIENT REGEX: like try_against; the second word tells who runs the
# server.
try_cm() {
    local out=$1 rc_card=0 rc_guest=0 pid client=guest
    problem=''
    if [ "$2" = card ]; then
        on near "$3" >"$out.card" 2>&1 &
        pid=$!
        for _ in $(seq 100); do
            "$dingo_root/build/bin/dingo-card" ctl "$DINGO_RUN/near/control" stats | grep -q '"listeners": 0' || break
            sleep 0.1
        done
        in_guest "$4" >"$out.guest" 2>&1 || rc_guest=$?
        wait $pid || rc_card=$?
    else
        client=card
        in_guest "$3" >"$out.guest" 2>&1 &
        pid=$!
        in_guest "for i in \$(seq 100); do ! rdma resource show cm_id | grep -q LISTEN || break; sleep 0.1; done"
        on near "$4" >"$out.card" 2>&1 || rc_card=$?
        wait $pid || rc_guest=$?
    fi
    if [ "$rc_card $rc_guest" != '0 0' ]; then
        problem="status card $rc_card guest $rc_guest: $(why "$out.card") | $(why "$out.guest")"
    elif [ -n "${5:-}" ] && ! grep -qE "$5" "$out.$client"; then
        problem="the client printed no line like /$5/: $(why "$out.$client")"
    fi
}
cm_against() { judged try_cm "$@"; }
cm_against 'rping, rxe serves' rxe 'rping -s -a 10.77.0.2 -V -C 20' 'rping -c -a 10.77.0.2 -V -C 20'
cm_against 'rping, the card serves' card 'rping -s -a 10.77.0.1 -V -C 20' 'rping -c -a 10.77.0.1 -V -C 20'
cm_against 'rping over IPv6, rxe serves' rxe 'rping -s -a fd77::2 -V -C 20' 'rping -c -a fd77::2 -V -C 20'
cm_against 'rping over IPv6, the card serves' card 'rping -s -a fd77::1 -V -C 20' 'rping -c -a fd77::1 -V -C 20'
cm_against 'ucmatose, rxe serves' rxe 'ucmatose -c 3' 'ucmatose -s 10.77.0.2 -c 3' 'return status 0'
cm_against 'ucmatose, the card serves' card 'ucmatose -c 3' 'ucmatose -s 10.77.0.1 -c 3' 'return status 0'
cm_against 'udaddy, rxe serves' rxe 'udaddy -c 3' 'udaddy -s 10.77.0.2 -c 3' 'return status 0'
cm_against 'udaddy, the card serves' card 'udaddy -c 3' 'udaddy -s 10.77.0.1 -c 3' 'return status 0'
