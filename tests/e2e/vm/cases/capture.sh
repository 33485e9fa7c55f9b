# SPDX-License-Identifier: BSD-2-Clause
# tshark decodes the packets of every kind of traffic as RoCE v2, and finds none malformed.
need_packages tshark
boot --pcap "$logs/wire.pcap" "${vm_options[@]}"
for tool in ib_write_bw ib_read_bw ib_send_bw; do
    perftest $tool '-n 20'
    perftest $tool '-n 20 -m 256 -s 4096'
    perftest $tool '-n 20 -x $(gid 6)'
done
perftest ib_atomic_bw '-n 20'
perftest ib_send_bw '-c UD -n 20'
perftest ib_send_bw '-c UC -n 20'
perftest ib_write_bw '-R -n 20'
install_rdma_bench && pair 'rdma-bench -R -T 104' 'rdma-bench send-bw -F -R -T 104 -n 20' 'rdma-bench send-bw -F -R -T 104 -n 20 A' '^ 65536 '
pair 'rping' 'rping -s -a 10.77.0.1 -C 5 -V' 'rping -c -a 10.77.0.1 -C 5 -V' ''
pair 'udaddy' 'udaddy -b 10.77.0.1' 'udaddy -b 10.77.0.2 -s 10.77.0.1' 'return status 0'
pair 'ibv_rc_pingpong' 'ibv_rc_pingpong -n 20 -g $(gid 4)' 'ibv_rc_pingpong -n 20 -g $(gid 4) A' 'iters in'
single 'ping' B 'ping -c 1 A' ' 0% packet loss'
clean_dmesg
shut_down

# decode FILTER [FIELD]: prints the frames of the capture that match. Changes two of tshark's
# defaults: its RPC-over-RDMA heuristic takes some of perftest's random payloads for malformed RPC,
# and it reports a zero UDP checksum over IPv6, which this card sends, as an error.
decode() {
    tshark -r "$logs/wire.pcap" --disable-protocol rpcordma \
        -o udp.ignore_ipv6_zero_checksum:TRUE -Y "$1" -T fields -e "${2:-frame.number}" 2>/dev/null
}
count=$(decode infiniband | wc -l)
if [ "$count" -gt 100 ]; then pass "tshark sees RoCE v2"; else
    fail "tshark sees RoCE v2" "only $count frames"
fi
bad=$(decode '_ws.malformed || _ws.expert.severity == error' | wc -l)
if [ "$bad" = 0 ]; then pass "no malformed frame in $count"; else
    fail "no malformed frame" "$bad of $count; the first: $(decode '_ws.malformed || _ws.expert.severity == error' | head -1)"
fi
other=$(decode 'udp.port == 4791 && !infiniband' | wc -l)
if [ "$other" = 0 ]; then pass "every frame to port 4791 decodes"; else
    fail "every frame to port 4791 decodes" "$other do not"
fi
# Both data packets and acknowledgements have the traffic class, which both sides were given.
count=$(decode 'infiniband && ip.dsfield == 104' | wc -l)
if [ "$count" -ge 40 ]; then pass 'the type of service that -R -T asks for is in the frames'; else
    fail 'the type of service that -R -T asks for is in the frames' "in $count"
fi
# Opcodes of each kind: RC send, write, read, acknowledge, atomic; UC; UD.
opcodes=$(decode infiniband infiniband.bth.opcode | sort | uniq -c | sort -rn | awk '{print $2}' | xargs)
for want in 4:SEND_ONLY 6:WRITE_FIRST 10:WRITE_ONLY 12:READ_REQUEST 13:READ_RESPONSE_FIRST 17:ACK 18:ATOMIC_ACK 20:FETCH_ADD 100:UD_SEND_ONLY; do
    case " $opcodes " in
    *" ${want%%:*} "*) pass "opcode ${want#*:} is on the wire" ;;
    *) fail "opcode ${want#*:} is on the wire" "seen: $opcodes" ;;
    esac
done
