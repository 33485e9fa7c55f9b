# SPDX-License-Identifier: BSD-2-Clause
# RoCE over WireGuard and over IPsec between the namespaces $a and $b of cases/net.sh (docs/howto/tunnel.md).

# wg_of NAMESPACE: prints the name of its WireGuard interface, unique on this host, as wireguard-go
# has the sockets of all namespaces in one directory.
wg_of() { [ "$1" = "$a" ] && echo "wa$$" || echo "wb$$"; }
# start_wireguard NAMESPACE: makes the interface, by the kernel or wireguard-go; fails without
# either.
start_wireguard() {
    local name
    name=$(wg_of "$1")
    ip -n "$1" link add "$name" type wireguard 2>/dev/null && return
    command -v wireguard-go >/dev/null || return
    ip netns exec "$1" wireguard-go -f "$name" >"$logs/$name.log" 2>&1 &
    cleanups+=("kill $! 2>/dev/null || true")
    for _ in $(seq 600); do ! ip netns exec "$1" wg show "$name" >/dev/null 2>&1 || return 0; sleep 0.05; done
    return 1
}
# set_wireguard NAMESPACE ADDRESS PEER PEER_ADDRESS PEER_HOST
set_wireguard() {
    ip netns exec "$1" wg set "$(wg_of "$1")" listen-port 51820 private-key "$logs/$1.key" \
        peer "$(cat "$logs/$3.pub")" allowed-ips "$4/32" endpoint "$5:51820"
    ip -n "$1" addr add "$2/24" dev "$(wg_of "$1")"
    ip -n "$1" link set "$(wg_of "$1")" mtu 1420 up
}
icrc_errors() { in_ns $b on west 'cat /sys/class/infiniband/west/ports/1/hw_counters/rx_icrc_encapsulated'; }
# past_the_tunnel: sends frames with the tunnel's addresses outside it, as anybody on the way could.
past_the_tunnel() {
    ip netns exec $a /usr/bin/python3 "$dingo_root/tests/e2e/native/past_tunnel.py" v0 "$(ip netns exec $b cat /sys/class/net/v0/address)" 10.79.0.1 10.79.0.2
    sleep 0.3
}

wireguard_cases() {
    local ns before capture=$logs/wireguard.pcap
    if ! command -v wg >/dev/null; then
        skip 'wireguard: ib_write_bw' 'no wg command (package wireguard-tools)'
        return
    fi
    for ns in $a $b; do
        (umask 077 && wg genkey >"$logs/$ns.key")
        wg pubkey <"$logs/$ns.key" >"$logs/$ns.pub"
        if ! start_wireguard $ns; then
            skip 'wireguard: ib_write_bw' 'neither a kernel with WireGuard nor wireguard-go is here'
            return
        fi
    done
    set_wireguard $a 10.79.0.1 $b 10.79.0.2 10.78.0.2
    set_wireguard $b 10.79.0.2 $a 10.79.0.1 10.78.0.1
    in_ns $a start_card east --wire "roce:10.79.0.1%$(wg_of $a)" --ip 10.79.0.1/24
    in_ns $b start_card west --wire "roce:10.79.0.2%$(wg_of $b)" --ip 10.79.0.2/24
    start_capture $a /dev/null -w "$capture"
    ns_pair 'wireguard: ib_write_bw' 'ib_write_bw -F -m 1024 -n 200 -x $(gid 4)' 'ib_write_bw -F -m 1024 -n 200 -x $(gid 4) 10.79.0.1' '^ +65536'
    ns_pair 'wireguard: verbs_check, every byte' "$dingo_root/build/bin/verbs_check -m 1024" "$dingo_root/build/bin/verbs_check -m 1024 10.79.0.1" ''
    kill -INT $tcpdump_pid
    wait $tcpdump_pid 2>/dev/null || true
    local clear all
    clear=$(tshark -r "$capture" -Y 'infiniband || udp.port == 4791' 2>/dev/null | wc -l)
    all=$(tshark -r "$capture" -Y 'udp.port == 51820' 2>/dev/null | wc -l)
    if [ "$clear" = 0 ] && [ "$all" -gt 1000 ]; then
        pass 'wireguard: no RoCE packet is in clear on the wire'
    else
        fail 'wireguard: no RoCE packet is in clear on the wire' "$clear in clear, $all of WireGuard"
    fi
    before=$(icrc_errors)
    past_the_tunnel
    if [ "$(icrc_errors)" = "$before" ]; then
        pass 'wireguard: what comes past the tunnel is not heard'
    else
        fail 'wireguard: what comes past the tunnel is not heard' "rx_icrc_encapsulated $before, then $(icrc_errors)"
    fi
    # A card that is not bound to the interface receives such frames: the case before tested
    # something.
    in_ns $b "$dingo" card stop west >/dev/null
    in_ns $b start_card west --wire roce:10.79.0.2 --ip 10.79.0.2/24
    past_the_tunnel
    for _ in $(seq 100); do [ "$(icrc_errors)" = 0 ] || break; sleep 0.1; done
    if [ "$(icrc_errors)" != 0 ]; then
        pass 'wireguard: without %IF it is heard'
    else
        fail 'wireguard: without %IF it is heard' 'the frames did not arrive: the case before proves nothing'
    fi
    in_ns $a "$dingo" card stop east >/dev/null
    in_ns $b "$dingo" card stop west >/dev/null
}

# esp NAMESPACE SOURCE DESTINATION SPI: adds one direction of a transport-mode security association.
esp() {
    ip -n "$1" xfrm state add src "$2" dst "$3" proto esp spi "$4" reqid 1 mode transport \
        aead 'rfc4106(gcm(aes))' "0x$(printf 'ab%.0s' {1..20})" 128
}
ipsec_cases() {
    local ns capture=$logs/ipsec.pcap
    for ns in $a $b; do
        if ! esp $ns 10.78.0.1 10.78.0.2 0x101 2>"$logs/ipsec.$ns" || ! esp $ns 10.78.0.2 10.78.0.1 0x102 2>>"$logs/ipsec.$ns"; then
            skip 'ipsec: ib_write_bw' "this kernel has no ESP with AES-GCM: $(why "$logs/ipsec.$ns")"
            return
        fi
    done
    # Policies: UDP port 4791 between the two is encrypted, and accepted only if it was.
    for pair in "$a out 10.78.0.1 10.78.0.2" "$a in 10.78.0.2 10.78.0.1" "$b out 10.78.0.2 10.78.0.1" "$b in 10.78.0.1 10.78.0.2"; do
        # shellcheck disable=SC2086
        set -- $pair
        ip -n "$1" xfrm policy add src "$3" dst "$4" proto udp dport 4791 dir "$2" tmpl proto esp reqid 1 mode transport
    done
    in_ns $a start_card east --wire roce:10.78.0.1,gso=off --ip 10.78.0.1/24
    in_ns $b start_card west --wire roce:10.78.0.2,gso=off --ip 10.78.0.2/24
    start_capture $a /dev/null -w "$capture"
    ns_pair 'ipsec: ib_write_bw' 'ib_write_bw -F -m 1024 -n 200 -x $(gid 4)' 'ib_write_bw -F -m 1024 -n 200 -x $(gid 4) 10.78.0.1' '^ +65536'
    kill -INT $tcpdump_pid
    wait $tcpdump_pid 2>/dev/null || true
    local clear all
    clear=$(tshark -r "$capture" -Y 'udp.port == 4791' 2>/dev/null | wc -l)
    all=$(tshark -r "$capture" -Y esp 2>/dev/null | wc -l)
    if [ "$clear" = 0 ] && [ "$all" -gt 1000 ]; then
        pass 'ipsec: no RoCE packet is in clear on the wire'
    else
        fail 'ipsec: no RoCE packet is in clear on the wire' "$clear in clear, $all of ESP"
    fi
    in_ns $a "$dingo" card stop east >/dev/null
    in_ns $b "$dingo" card stop west >/dev/null
}
