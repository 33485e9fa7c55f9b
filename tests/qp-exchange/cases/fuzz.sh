# SPDX-License-Identifier: BSD-2-Clause
# Fuzzes all parsers of a peer's bytes for twenty seconds; the stored corpora run as unit tests.
for target in wire service; do
    name="fuzz: $target takes whatever comes" out=$logs/fuzz-$target.out rc=0
    timeout 600 tests/qp-exchange/fuzz/run.sh $target 20 200000 >"$out" 2>&1 || rc=$?
    case $rc in
        0) pass "$name" ;;
        77) skip "$name" "$(tail -n 1 "$out")" ;;
        *) fail "$name" "status $rc: $(grep -m 2 -E 'ERROR|broken|SUMMARY|error:' "$out" | tr '\n' ' ')" ;;
    esac
done
