# SPDX-License-Identifier: BSD-2-Clause
# tests/unit_report.py: the report of ctest's results. Sourced by suite.sh.
mkdir -p "$work/report"
# results FILE NAME STATUS OUTPUT ...: writes a JUnit file of these tests.
results() {
    local file=$work/report/$1
    shift
    {
        echo '<testsuite>'
        while [ $# != 0 ]; do
            echo "<testcase name=\"$1\" status=\"$2\"><failure message=\"Failed\"/><system-out>$3</system-out></testcase>"
            shift 3
        done
        echo '</testsuite>'
    } >"$file"
}
lines() { python3 tests/unit_report.py "$work/report/first" "$work/report/${1:-again}" p | cut -d: -f1,2 | paste -sd '|'; }
results first a run fine b fail 'off by one' c fail 'WARNING: ThreadSanitizer: data race' d fail wrong
results again b run fine c run fine d fail wrong
check 'unit: a failure that does not come again is told; a race and one that stays are failures' \
    'PASS p:a|# second try of p:b, the first|PASS p:b|FAIL p:c|FAIL p:d' "$(lines)"
check 'unit: without a second run a failure is one' 'PASS p:a|FAIL p:b|FAIL p:c|FAIL p:d' "$(lines none)"
results many b run fine e run fine f run fine g run fine h run fine i run fine
check 'unit: many failures are no accidents' 'PASS p:a|FAIL p:b|FAIL p:c|FAIL p:d' "$(lines many)"
run='[ RUN      ] Some.Test'
results hangs b fail "$run" c fail "$run
timeout: nobody came, and the call was aborted
[  FAILED  ] Some.Test"
results again b run fine c run fine
check 'unit: a test that did not end is a failure; one whose own words are of timeouts is tried again' \
    'FAIL p:b|# second try of p:c, the first|PASS p:c' "$(python3 tests/unit_report.py "$work/report/hangs" "$work/report/again" p | cut -d: -f1,2 | paste -sd '|')"
