# SPDX-License-Identifier: BSD-2-Clause
# Twenty seconds of new inputs for all that reads a peer's bytes; the kept corpus itself is a unit test.
out=$logs/fuzz.out rc=0
timeout 600 tests/qp-exchange/fuzz/run.sh 20 200000 >"$out" 2>&1 || rc=$?
case $rc in
    0) pass 'fuzz: the parser takes whatever comes' ;;
    77) skip 'fuzz: the parser takes whatever comes' "$(tail -n 1 "$out")" ;;
    *) fail 'fuzz: the parser takes whatever comes' "status $rc: $(grep -m 2 -E 'ERROR|broken|SUMMARY|error:' "$out" | tr '\n' ' ')" ;;
esac
