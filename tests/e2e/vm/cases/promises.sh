# SPDX-License-Identifier: BSD-2-Clause
# Checks the promises of libibverbs' and librdmacm's man pages with dingo_ib.ko below the kernel's
# ib_uverbs and rdma_cm.
boot "${vm_options[@]}"
. tests/e2e/cases/promises.sh
if install_program verbs_promises; then
    limit=1500 in_guest A 'verbs_promises' >"$logs/promises.out" 2>&1 || true
    promises "$logs/promises.out" \
        ': (every value is allowed|the table is full|the device has no (device memory|clock|extended CQs with these fields))'
fi
# wrong_keys: datagrams with a wrong P_Key or Q_Key are counted (ibv_query_port(), printed by
# ibv_devinfo).
wrong_keys() {
    local key counter before line
    "$vm" push --quiet --name "$session" B tests/e2e/native/forge.py tests/e2e/vm/wrong_keys.py /root/driver
    for key in pkey qkey; do
        counter=bad_pkey_cntr
        [ $key = pkey ] || counter=qkey_viol_cntr
        before=$(in_guest A 'ibv_devinfo -v' | sed -n "s/.*$counter:[[:space:]]*//p") || true
        line="$counter:[[:space:]]+$(printf 0x%x $((before + 5)))\$"
        single "packets of another host with a wrong $key are sent" B "python3 /root/driver/wrong_keys.py 10.77.0.1 10.77.0.2 $key 5"
        single "ibv_query_port counts packets of another host with a wrong $key" A \
            "for n in \$(seq 20); do ! ibv_devinfo -v | grep -E '$line' || exit 0; sleep 0.5; done; ibv_devinfo -v | grep cntr" "$line"
    done
}
wrong_keys
# One promise is about overflowing a CQ.
clean_dmesg ' dingo [0-9a-f:.]+ [a-z0-9]+: CQ [0-9]+ overflowed$'
