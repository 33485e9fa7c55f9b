# SPDX-License-Identifier: BSD-2-Clause
# Debian's pyverbs test suite on the card: no failures; each skip is listed with its reason.
boot "${vm_options[@]}"
rc=0
# The tests are in /usr/share/doc, where Debian compresses larger files.
in_guest A 'mkdir /root/pyverbs && cp -r /usr/share/doc/rdma-core/tests /root/pyverbs/ && gunzip -r /root/pyverbs'
limit=1500 in_guest A 'pyverbs-suite /root/pyverbs/tests /root/verdicts -v \
    --dev $(ls /sys/class/infiniband) --gid $(gid 4)' >"$logs/pyverbs.out" 2>&1 || rc=$?
in_guest A 'cat /root/verdicts' >"$logs/verdicts" || true
sed -E "s/^(PASS|SKIP|FAIL) /\1 $suite:/" "$logs/verdicts"
failed=$((failed + $(grep -c '^FAIL' "$logs/verdicts" || true)))
if grep -qE '^Ran [0-9]+ tests' "$logs/pyverbs.out"; then
    pass 'the suite ran to its end'
else
    fail 'the suite ran to its end' "status $rc: $(tail -n 2 "$logs/pyverbs.out" | tr '\n' ' ')"
    check_alive
fi
clean_dmesg
