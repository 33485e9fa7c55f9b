# SPDX-License-Identifier: BSD-2-Clause
# Programs are killed, a card is killed or unplugged, the driver is reloaded.
boot "${vm_options[@]}"

# Something happens while a transfer runs; then both programs must exit, and a new pair must work.
# until_moving A|B: waits, 20 s at most, until that side's card sends at least 64 KiB in 0.2 s.
until_moving() {
    limit=40 in_guest "$1" 'sent() { cat /sys/class/infiniband/*/ports/1/counters/port_xmit_data || echo 0; }
        for i in $(seq 100); do before=$(sent); sleep 0.2; [ $(($(sent) - before)) -lt 16384 ] || break; done' >/dev/null 2>&1 || true
}
start_transfer() {
    local name=$1
    shift
    "$vm" run --quiet --name "$session" --timeout 90 --linger 40 --out "$logs/$name" "$@" \
        -- 'ib_write_bw -D 20 -u 12' -- 'ib_write_bw -D 20 -u 12 A' >/dev/null 2>&1 &
    transfer=$!
    until_moving B
}
both_ended() {
    wait "$transfer" || true
    if [ "$(cat "$logs/$2/A.rc")" = 124 ] || [ "$(cat "$logs/$2/B.rc")" = 124 ]; then
        fail "$1: both programs end" "status A $(cat "$logs/$2/A.rc") B $(cat "$logs/$2/B.rc")"
    else
        pass "$1: both programs end"
    fi
}
# start_transfer_from_a NAME: like start_transfer, but with the client in A; the server is killed
# when the client has exited.
start_transfer_from_a() {
    "$vm" run --quiet --name "$session" --timeout 60 --kill-server --server B --out "$logs/$1" \
        -- 'ib_write_bw -D 20 -u 12' -- 'ib_write_bw -D 20 -u 12 B' >/dev/null 2>&1 &
    transfer=$!
    until_moving A
}
# own_client_gave_up NAME LOGS: case: a client whose own card is gone gets an error when it polls.
own_client_gave_up() {
    wait "$transfer" || true
    if [ "$(cat "$logs/$2/A.rc")" = 124 ]; then
        fail "$1: a client on that card ends" "it ran out of time"
    elif ! grep -q 'poll CQ failed' "$logs/$2/A.err" "$logs/$2/A.out"; then
        fail "$1: a client on that card ends" "its polls did not fail: $(why "$logs/$2")"
    else
        pass "$1: a client on that card ends"
    fi
}
# client_ended NAME LOGS: cases. When A's card is gone, so is the TCP connection over it, on which
# perftest's server waits for ever. The client must exit on its own, and the server when killed.
client_ended() {
    wait "$transfer" || true
    if [ "$(cat "$logs/$2/B.rc")" = 124 ]; then
        fail "$1: the client ends" "it ran out of time"
    else
        pass "$1: the client ends"
    fi
    single "$1: the server ends when told to" A '! pgrep -x ib_write_bw'
}
works_again() { pair "$1: the next pair works" 'ib_write_bw -n 200' 'ib_write_bw -n 200 A' '65536'; }

start_transfer kill-client
in_guest B 'pkill -KILL ib_write_bw' || true
both_ended 'kill -9 of the client' kill-client
works_again 'kill -9 of the client'

start_transfer kill-server
in_guest A 'pkill -KILL ib_write_bw' || true
both_ended 'kill -9 of the server' kill-server
works_again 'kill -9 of the server'
single 'nothing of killed programs is left' A 'rdma resource show qp | grep -vc "type GSI" || true' '^0$'

start_transfer kill-both
kill -KILL "$transfer"
wait "$transfer" 2>/dev/null || true
single 'kill -9 of vm.sh itself: its programs end in the guests' A 'for i in $(seq 150); do pgrep -x ib_write_bw >/dev/null || exit 0; sleep 0.2; done; exit 1'
works_again 'kill -9 of vm.sh itself'

start_transfer link-down
in_guest A 'ip link set $(cat /run/dingo/netdev) down; sleep 8; ip link set $(cat /run/dingo/netdev) up' || true
both_ended 'interface down and up' link-down
single 'interface down and up: addresses' A '/usr/lib/dingo-guest/configure-nic $(cat /run/dingo/netdev); ip -br a' '10.77.0.1'
works_again 'interface down and up'

single 'MTU change is seen by the RDMA port' A 'ip link set $(cat /run/dingo/netdev) mtu 1500; ibv_devinfo | grep active_mtu' '1024'
single 'and back' A 'ip link set $(cat /run/dingo/netdev) mtu 9000; ibv_devinfo | grep active_mtu' '4096'
single 'an MTU that carries no full packet: the port has the least there is' A 'n=$(cat /run/dingo/netdev); ip link set $n mtu 256; ibv_devinfo | grep active_mtu; ip link set $n mtu 9000' '256 \(1\)'
single 'MAC change is seen in the GID table' A 'n=$(cat /run/dingo/netdev); ip link set $n down; ip link set $n address 02:44:49:00:00:aa; ip link set $n up; sleep 1; /usr/lib/dingo-guest/configure-nic $n; cat /sys/class/infiniband/*/ports/1/gids/*' 'fe80:.*00aa'
works_again 'MAC change'

single 'driver reload' A 'for i in 1 2 3; do modprobe -r dingo_ib dingo && modprobe dingo && udevadm settle || exit 1; done; ibv_devices' 'rocep1s0'
works_again 'driver reload'

start_transfer rdma-module
single 'the RDMA module goes during a transfer: the interface stays' A 'rmmod dingo_ib && ping -c 1 -W 5 B && ! ls /sys/class/infiniband | grep .'
both_ended 'the RDMA module goes during a transfer' rdma-module
single 'the RDMA module comes back' A 'modprobe dingo_ib && udevadm settle && ibv_devices' 'rocep1s0'
works_again 'the RDMA module goes and comes'
start_transfer_from_a rdma-module-own
in_guest A 'rmmod dingo_ib' || true
own_client_gave_up 'the RDMA module goes during a transfer' rdma-module-own
in_guest A 'modprobe dingo_ib && udevadm settle' || true
works_again 'the RDMA module goes and comes again'

in_guest A 'setsid stdbuf -oL ibv_asyncwatch >/tmp/events 2>&1 </dev/null & sleep 1' || true
start_transfer unplug --kill-server
"$vm" unplug --quiet --name "$session" A >/dev/null 2>&1 && pass 'unplug during a transfer: the guest lets the card go' ||
    fail 'unplug during a transfer: the guest lets the card go' 'no answer in 60 s'
client_ended 'unplug during a transfer' unplug
single 'unplug: an open context gets DEVICE_FATAL' A 'cat /tmp/events; pkill ibv_asyncwatch; true' 'event_type.*\(8\)'
single 'unplug during a transfer: the device is gone' A 'ls /sys/class/infiniband | wc -l' '^0$'
"$vm" plug --quiet --name "$session" A >/dev/null 2>&1 || true
single 'plug: the device is back' A 'for i in $(seq 30); do ibv_devices | grep roce && exit 0; sleep 1; done; exit 1' 'rocep1s0'
single 'plug: the network is back' B 'for i in $(seq 20); do ping -c 1 -W 2 A && exit 0; done; exit 1' ' 0% packet loss'
works_again 'unplug and plug'
start_transfer_from_a unplug-own
"$vm" unplug --quiet --name "$session" A >/dev/null 2>&1 || true
own_client_gave_up 'unplug during a transfer' unplug-own
"$vm" plug --quiet --name "$session" A >/dev/null 2>&1 || true
single 'plug again: the network is back' B 'for i in $(seq 30); do ping -c 1 -W 2 A && exit 0; done; exit 1' ' 0% packet loss'
clean_dmesg

start_transfer card-dies --kill-server
"$vm" card --quiet --name "$session" A kill || true
client_ended 'the card dies during a transfer' card-dies
single 'the card dies: the guest lives and answers' A 'timeout 20 ibv_devinfo >/dev/null 2>&1; timeout 10 ip -br link; echo alive' alive
"$vm" unplug --quiet --name "$session" A >/dev/null 2>&1 || true
"$vm" plug --quiet --name "$session" A >/dev/null 2>&1 || true
single 'the card dies: a new card works' B 'for i in $(seq 30); do ping -c 1 -W 2 A && exit 0; done; exit 1' ' 0% packet loss'
works_again 'the card dies'

start_transfer_from_a card-dies-own
"$vm" card --quiet --name "$session" A kill || true
own_client_gave_up 'the card dies during a transfer' card-dies-own
"$vm" card --quiet --name "$session" A start >/dev/null 2>&1 && pass 'the card dies: card start gives the guest a new one' ||
    fail 'the card dies: card start gives the guest a new one' 'it did not start'
single 'card start after a death: the network is back' B 'for i in $(seq 30); do ping -c 1 -W 2 A && exit 0; done; exit 1' ' 0% packet loss'
works_again 'card start after a death'

# The card dies without having read a request of QEMU; the guest must learn of its death, too.
card_pid=$(cut -d' ' -f1 "${DINGO_VM_DIR:-/tmp/dingo-vm-$(id -u)}/$session/A.card.pid")
kill -STOP "$card_pid"
in_guest A 'timeout 3 cat /sys/bus/pci/devices/0000:01:00.0/config | wc -c' >"$logs/unread" 2>&1 &
reader=$!
sleep 1.5
kill -KILL "$card_pid"
wait "$reader" || true
single 'the card dies with a request unread: the guest lives and answers' A 'echo alive' alive
"$vm" card --quiet --name "$session" A start >/dev/null 2>&1 || true
single 'the card dies with a request unread: a new card works' B 'for i in $(seq 30); do ping -c 1 -W 2 A && exit 0; done; exit 1' ' 0% packet loss'

# A stopped card: QEMU gives it up after 5 s without an answer. Last, because QEMU 11.1.3 may abort
# when such a card is unplugged.
start_transfer card-stands-still --kill-server
kill -STOP "$(cut -d' ' -f1 "${DINGO_VM_DIR:-/tmp/dingo-vm-$(id -u)}/$session/A.card.pid")"
client_ended 'the card stands still during a transfer' card-stands-still
limit=120 single 'the card stands still: the guest lives and says so' A \
    'for i in $(seq 60); do dmesg | grep "dingo.*failed: the card does not answer" && exit 0; sleep 1; done; exit 1' 'does not answer'
