# SPDX-License-Identifier: BSD-2-Clause
# qp-exchange on the kernel's devices: queue pairs of every type, and two peers that connect by
# librdmacm.
if install_program qpx_device_test; then
    single 'qp-exchange: GIDs, limits, RC, UC and UD' A qpx_device_test '^\[  PASSED  \] [0-9]+ tests'
fi
if install_program qpx_cm_test; then
    cm() { echo "QPX_CM_ROLE=$1 QPX_CM_ADDRESS=10.77.0.1 qpx_cm_test --gtest_filter=Cm.*"; }
    single 'qp-exchange: cm:// on one host' A 'QPX_CM_ADDRESS=10.77.0.1 qpx_cm_test' '^\[  PASSED  \] 4 tests'
    pair 'qp-exchange: cm:// between two hosts' "$(cm server)" "$(cm client)" '^\[  PASSED  \] '
fi

# Two VLANs on each side, of which one is common; the two sides connect by the link-local address of
# the untagged interface. tests/qp-exchange/cases/vlans.sh has more cases, on kernel-less cards.
if install_program qpx_c_pair; then
    net='$(ls /sys/class/infiniband/*/device/net | head -n 1)'
    # vlan SIDE ID ADDRESS
    vlan() { in_guest "$1" "modprobe -q 8021q; ip link add link $net name vlan$2 type vlan id $2 && ip addr add $3 dev vlan$2 && ip link set vlan$2 up"; }
    in_guest A "ip -o addr show dev $net scope global" >"$logs/addresses.A"
    in_guest B "ip -o addr show dev $net scope global" >"$logs/addresses.B"
    if vlan A 10 10.81.10.1/24 && vlan A 20 10.81.20.1/24 && vlan B 30 10.81.30.2/24 && vlan B 20 10.81.20.2/24; then
        link_local=$(in_guest A "ip -6 -o addr show dev $net scope link | awk '{ sub(\"/.*\", \"\", \$4); print \$4; exit }'")
        for side in A B; do in_guest $side "ip addr flush dev $net scope global"; done
        host="[$link_local%$net]"
        common='between 10.81.20.2 and 10.81.20.1$'
        pair 'qp-exchange: two VLANs on each side, both take the one that they share' 'qpx_c_pair' "qpx_c_pair $host" "$common"
        pair 'qp-exchange: the same by ibv_modify_qp with what qpx_agree() says' 'qpx_c_pair -r' "qpx_c_pair -r $host" "$common"
        for side in A B; do
            in_guest $side "for d in 10 20 30; do ip link del vlan\$d 2>/dev/null; done; for a in $(awk '{ print $4 }' "$logs/addresses.$side" | tr '\n' ' '); do ip addr add \$a dev $net; done"
        done
    else
        fail 'qp-exchange: two VLANs on each side' 'no VLAN could be made'
    fi
fi
