# SPDX-License-Identifier: BSD-2-Clause
# rdma_cm in a view of several cards: an address chooses the card, a wildcard listens on all cards.
# shellcheck source=tests/e2e/native/cm_lib.sh
. "$dingo_root/tests/e2e/native/cm_lib.sh"
both='alpha beta'

view_cases() {
    single "$1: the device is there" "$both" 'stat -c %F /dev/infiniband/rdma_cm; cat /sys/class/misc/rdma_cm/abi_version' '^4$'
    single "$1: a channel is readable only while it has an event" "$both" "/usr/bin/python3 $dingo_root/tests/e2e/native/cm_events.py 10.77.0.2" '^ok'

    single "$1: rdma_get_devices lists both" "$both" "/usr/bin/python3 -c 'import ctypes; n = ctypes.c_int(); print(bool(ctypes.CDLL(\"librdmacm.so.1\").rdma_get_devices(ctypes.byref(n))), n.value)'" '^True 2$'

    # Each program checks that the view is up to date, while the others read it.
    plain "$1: programs that start at the same moment see both" \
        "for i in \$(seq 24); do $dingo run --card alpha --card beta -- ibv_devices & done | grep -cE '^ +(alpha|beta) '" '^48$'

    # A listener at the second card's address listens on that card.
    server_card='beta alpha' client_card='alpha beta'
    cm_pair "$1: rping from one card to the other" 'rping -s -a 10.77.0.2 -V -C 20' 'rping -c -a 10.77.0.2 -I 10.77.0.1 -V -C 20'
    cm_pair "$1: ucmatose migrates its identifiers" 'ucmatose -b 10.77.0.2 -c 5 -m' 'ucmatose -s 10.77.0.2 -b 10.77.0.1 -c 5 -m' 'return status 0'
    server_card=$both client_card='beta alpha'
    cm_pair "$1: rping to a wildcard listener by the first card" 'rping -s -V -C 20' 'rping -c -a 10.77.0.1 -I 10.77.0.2 -V -C 20'
    cm_pair "$1: rping to a wildcard listener by the second card" 'rping -s -V -C 20' 'rping -c -a 10.77.0.2 -I 10.77.0.1 -V -C 20'
    cm_pair "$1: rping of both families" 'rping -s -a ::0 -V -C 20' 'rping -c -a fd77::2 -I fd77::1 -V -C 20'
    cm_pair "$1: rping at 127.0.0.1" 'rping -s -a 127.0.0.1 -V -C 20' 'rping -c -a 127.0.0.1 -V -C 20'
    client_card=$both
    cm_pair "$1: ucmatose" 'ucmatose -c 20 -C 20 -S 1000' 'ucmatose -s 10.77.0.2 -b 10.77.0.1 -c 20 -C 20 -S 1000' 'return status 0'
    cm_pair "$1: a type of service that is set before the address" 'ucmatose -t 96' 'ucmatose -s 10.77.0.2 -b 10.77.0.1 -t 96' 'return status 0'
    cm_pair "$1: udaddy" 'udaddy -c 10' 'udaddy -s 10.77.0.2 -b 10.77.0.1 -c 10' 'return status 0'
    cm_pair "$1: rstream: rsockets, data verified" 'rstream -S 65536 -C 20 -T v' 'rstream -s 10.77.0.2 -S 65536 -C 20 -T v' 'custom'
    cm_pair "$1: riostream" 'riostream -S 4096 -C 20' 'riostream -s 10.77.0.2 -b 10.77.0.1 -S 4096 -C 20' 'custom'
    # The client binds no address: the card with the server's address is used.
    cm_pair "$1: rdma_client and rdma_server: endpoints" rdma_server 'rdma_client -s 10.77.0.2' 'end 0'
    perftest_pair "$1: ib_write_bw -R" 'ib_write_bw -F -R -d beta -n 500' 10.77.0.2

    for of in 'alpha 10.77.0.1' 'beta 10.77.0.2'; do
        single "$1: what the man pages of librdmacm promise, with ${of% *}" "$both" \
            "$dingo_root/build/bin/verbs_promises -d ${of% *} -a ${of#* } -m rdma_" '^PASS rdma_migrate_id'
    done

    limit=30
    mcast "$1: multicast to the second card" '-m 239.1.2.3' "$both/10.77.0.1" "$both/10.77.0.2"
    mcast "$1: multicast to both cards" '-m 239.1.2.3' "$both/10.77.0.2" "$both/10.77.0.1" "$both/10.77.0.2"
    limit=60

    # One program has the view, the other one only a card of its own.
    server_card=$both client_card=beta
    cm_pair "$1: a client with one of the cards" 'rping -s -V -C 20' 'rping -c -a 10.77.0.1 -V -C 20'
    server_card=beta client_card=$both
    cm_pair "$1: a server with one of the cards" 'rping -s -V -C 20' 'rping -c -a 10.77.0.2 -I 10.77.0.1 -V -C 20'
    nothing_left "$1: nothing is left of them"

    single "$1: no route from either: ENETUNREACH" "$both" '! rping -c -a 10.99.0.1 -v -C 1' 'Network is unreachable'
    single "$1: no card's address: EADDRNOTAVAIL" "$both" '! rping -s -a 10.77.0.9 -v -C 1' 'Cannot assign requested address'
    single "$1: nobody listens: REJECTED with status 8" "$both" '! rping -c -a 10.77.0.2 -I 10.77.0.1 -v -C 1' 'RDMA_CM_EVENT_REJECTED, error 8'
    on beta 'rping -s -a 10.77.0.2 -P' >"$logs/holder" 2>&1 &
    holder=$!
    wait_count beta listeners 1 $holder || true
    single "$1: a port that one card has taken: EADDRINUSE" "$both" '! rping -s -C 1' 'Address already in use'

    # When a program with the view is killed, its identifiers on both cards are destroyed.
    kill_clients 2 "$both" 'rping -c -a 10.77.0.2 -I 10.77.0.1 -V' alpha links
    kill -9 "$(leaf $holder)"
    wait $holder 2>/dev/null || true
    nothing_left "$1: nothing is left of killed ones"
}

start_card alpha --one-process --ip 10.77.0.1/24 --ip fd77::1/64
start_card beta --one-process --ip 10.77.0.2/24 --ip fd77::2/64
view_cases 'one process'
for name in alpha beta; do $as_user "$dingo" card stop $name >>"$logs/cards.log" 2>&1; done
start_card alpha --own-process --ip 10.77.0.1/24 --ip fd77::1/64
start_card beta --own-process --ip 10.77.0.2/24 --ip fd77::2/64
view_cases 'own processes'

# The second card is killed: a listener at a wildcard continues with the first.
on "$both" 'rping -s -P' >"$logs/survivor" 2>&1 &
survivor=$!
wait_count alpha listeners 1 $survivor || true
wait_count beta listeners 1 $survivor || true
kill -9 "$(card_pid beta)"
single 'a listener outlives one of its cards' alpha 'rping -c -a 10.77.0.1 -V -C 5'
kill -9 "$(leaf $survivor)"
wait $survivor 2>/dev/null || true
