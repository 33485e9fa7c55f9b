# SPDX-License-Identifier: BSD-2-Clause
# This host's pyverbs test suite on a kernel-less card: no failures; each skip is listed with its
# reason.
start_card alpha
cp -r /usr/share/doc/rdma-core/tests "$logs/tests"
find "$logs/tests" -name '*.gz' -exec gunzip {} +
# One test needs huge pages of 2 MiB; it is skipped if the machine has none to give.
pages=$(cat /proc/sys/vm/nr_hugepages)
[ "$(id -u)" != 0 ] || echo $((pages + 8)) 2>/dev/null >/proc/sys/vm/nr_hugepages || true
for direct in 1 0; do
    name=$([ $direct = 1 ] || echo 'by the card: ')
    rc=0
    limit=900 on alpha "DINGO_DIRECT=$direct /usr/bin/python3 $dingo_root/tests/e2e/vm/guest/usr/local/bin/pyverbs-suite $logs/tests $logs/verdicts$direct -v --dev alpha --gid \$(gid 4)" >"$logs/pyverbs.out$direct" 2>&1 || rc=$?
    sed -E "s/^(PASS|SKIP|FAIL) /\1 $suite:$name/" "$logs/verdicts$direct"
    failed=$((failed + $(grep -c '^FAIL' "$logs/verdicts$direct" || true)))
    if grep -qE '^Ran [0-9]+ tests' "$logs/pyverbs.out$direct"; then
        pass "${name}the suite ran to its end"
    else
        fail "${name}the suite ran to its end" "status $rc: $(tail -n 2 "$logs/pyverbs.out$direct" | tr '\n' ' ')"
    fi
done
echo "$pages" 2>/dev/null >/proc/sys/vm/nr_hugepages || true
