# SPDX-License-Identifier: BSD-2-Clause
# The network interface: offloads, rings, channels and their table, as ethtool shows and sets them, under TCP whose bytes are
# looked at.
. tests/e2e/vm/cases/driver_parts.sh
tcp_port=18700
boot --cpus 2 "${vm_options[@]}"
"$vm" push --quiet --name "$session" A tests/kmod/ethernet.sh tests/kmod/tcp_bytes.py /root/driver
"$vm" push --quiet --name "$session" B tests/kmod/tcp_bytes.py /root/driver
single 'a VLAN on the other side' B \
    'n=$(cat /run/dingo/netdev); ip link add link $n name vlan77 type vlan id 77 && ip addr add 10.78.0.2/24 dev vlan77 && ip link set vlan77 up'
(limit=1000 in_guest B "exec python3 /root/driver/tcp_bytes.py serve $tcp_port" >"$logs/server.out" 2>&1 || true) &
single 'the other side serves' A "for n in \$(seq 100); do ! nc -z 10.77.0.2 $tcp_port || exit 0; sleep 0.2; done; exit 1"
limit=600 guest_cases ethernet "/root/driver/ethernet.sh 10.77.0.2 $tcp_port 10.78.0.2 fd77::2"
no_complaint 'the network interface'
shut_down

# An interface of a card that can nothing of this.
boot --card-args '--without eth_offload,eth_rss' "${vm_options[@]}"
single 'a card without offloads says so' A 'n=$(cat /run/dingo/netdev)
    ethtool -k $n | grep -c -E "^\s*(tx-checksum-ip-generic|tcp-segmentation-offload|tx-tcp6-segmentation|rx-checksumming|receive-hashing): off"
    ! ethtool -x $n | grep -q toeplitz && ! ethtool -X $n equal 1 2>/dev/null' '^5$'
single 'and carries frames' A 'ping -c 3 -W 10 B'
no_complaint 'without offloads'
shut_down
