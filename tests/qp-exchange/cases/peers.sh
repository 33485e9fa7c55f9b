# SPDX-License-Identifier: BSD-2-Clause
# Two processes on kernel-less cards: the tutorial's programs, and every QP type between two queue
# pairs of one card.
start_card alpha --ip 10.77.0.1/24 --ip fd77::1/64
start_card beta --ip 10.77.0.2/24 --ip fd77::2/64
hello=$PWD/build/bin/write_hello

# peers NAME SERVER CLIENT REGEX: like pair(), with the tutorial's port.
peers() { pair "$1" "$2" "$3" "$4" 18600; }
peers 'tutorial: RC WRITE between two cards' "$hello" "$hello A" "written to .*not encrypted.*hello from the client"
if grep -q "from .* hello from the client's memory" "$logs/$(slug 'tutorial: RC WRITE between two cards').A"; then
    pass "tutorial: the bytes are in the server's memory"
else
    fail "tutorial: the bytes are in the server's memory" "$(why "$logs/$(slug 'tutorial: RC WRITE between two cards').A")"
fi
for sides in 'C and C' 'C and C++' 'C++ and C'; do
    server=$hello client=$hello
    [[ $sides != 'C and'* ]] || server=${hello}_c
    [[ $sides != *'and C' ]] || client=${hello}_c
    peers "tutorial: server and client in $sides" "$server" "$client A" "written to .*not encrypted.*hello from the client"
done
library=$(ls "$PWD"/build/qp-exchange/libqp*.so | head -n 1)
python="QPX_LIBRARY=$library PYTHONPATH=$PWD/qp-exchange/python /usr/bin/python3 $PWD/tests/qp-exchange/c/pyverbs_pair.py"
peers 'queue pairs of pyverbs, by their numbers' "$python" "$python A" '^written to '
server_address=localhost
peers 'tutorial: by host name, at once on the same port again' "$hello" "$hello A" 'written to'
server_address=::1
peers 'tutorial: by IPv6 address' "$hello" "$hello A" 'written to'
server_address=127.0.0.1
plain 'tutorial: an unknown host is named' "$dingo run --card alpha -- $hello no-such-host.invalid" 'host "no-such-host.invalid"' 1
plain 'tutorial: a wrong device is said to be one' "$dingo run --card alpha -- $hello 127.0.0.1 mlx9_9" 'no such RDMA device' 1
plain 'tutorial: without a server it says so after its timeout' "$dingo run --card alpha -- $hello 127.0.0.1" 'nobody listens on this port' 1

# A second server on the port fails, and does not disturb the first.
on alpha "$hello" >"$logs/first.out" 2>&1 &
first=$!
wait_listen 18600 $first || true
plain 'tutorial: a second server is told that the port is taken' "$dingo run --card alpha -- $hello" 'port 18600 is taken' 1
plain 'tutorial: the first server serves on' "$dingo run --card beta -- $hello 127.0.0.1" 'written to'
wait $first || true

# device NAME CARD: runs the GoogleTest cases that need a device, and reports each.
device() {
    local out line
    out=$logs/$(slug "$1").out
    on "$2" "$PWD/build/bin/qpx_device_test" >"$out" 2>&1 || true
    grep -qE '^\[  (PASSED|FAILED)  \]' "$out" || fail "$1" "$(why "$out")"
    while read -r line; do
        case $line in
            '[       OK ]'*) pass "$1: $(awk '{print $4}' <<<"$line")" ;;
            '[  FAILED  ]'*' ('*) fail "$1: $(awk '{print $4}' <<<"$line")" "$(grep -m 3 -A 3 Failure "$out" | tr '\n' ' ' | cut -c1-300)" ;;
            '[  SKIPPED ]'*' ('*) skip "$1: $(awk '{print $4}' <<<"$line")" "$(grep -m 1 -A 1 Skipped "$out" | tail -1)" ;;
        esac
    done <"$out"
}
device 'card' alpha
"$dingo" card stop alpha >/dev/null
"$dingo" card stop beta >/dev/null
