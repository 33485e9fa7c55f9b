# SPDX-License-Identifier: BSD-2-Clause
# The network interface: offloads, rings, channels and the RSS table, shown and set by ethtool,
# while TCP with verified bytes runs.
. tests/e2e/vm/cases/driver_parts.sh
boot --cpus 2 "${vm_options[@]}"
ethernet_cases
no_complaint 'the network interface'
counter_cases
no_complaint 'counters of queue pairs'
shut_down

# The interface of a card with none of these capabilities.
boot --card-args '--without eth_offload,eth_rss' "${vm_options[@]}"
single 'a card without offloads says so' A 'n=$(cat /run/dingo/netdev)
    ethtool -k $n | grep -c -E "^\s*(tx-checksum-ip-generic|tcp-segmentation-offload|tx-tcp6-segmentation|rx-checksumming|receive-hashing): off"
    ! ethtool -x $n | grep -q toeplitz && ! ethtool -X $n equal 1 2>/dev/null' '^5$'
single 'and carries frames' A 'ping -c 3 -W 10 B'
no_complaint 'without offloads'
shut_down
