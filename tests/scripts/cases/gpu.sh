# SPDX-License-Identifier: BSD-2-Clause
# scripts/gpu.sh: a suite that did not run is a failure. Sourced by suite.sh.
mkdir -p "$work/gpu/tests/e2e/native" "$work/gpu/logs"
# suite_of COMMANDS: prints the lines that gpu.sh keeps of a suite of these commands, without its
# other parts, which need a GPU.
suite_of() (
    eval "$(sed -n '/^suite() {/,/^}/p' scripts/gpu.sh)"
    cd "$work/gpu"
    logs=$PWD/logs
    : >"$logs/cases"
    printf '#!/bin/bash\n%s\n' "$1" >tests/e2e/native/suite.sh
    chmod +x tests/e2e/native/suite.sh
    suite some >/dev/null
    paste -sd '|' "$logs/cases"
)
check 'gpu: a suite passes' 'PASS a: one|SKIP a: two' "$(suite_of 'echo PASS a: one; echo SKIP a: two')"
check 'gpu: its failures are those that it prints' 'FAIL a: one' "$(suite_of 'echo FAIL a: one; exit 1')"
check 'gpu: a suite that cannot begin has failed' 'FAIL gpu:some: the suite ended with status 125' "$(suite_of 'exit 125')"
check 'gpu: so has one that dies' 'PASS a: one|FAIL gpu:some: the suite ended with status 7' "$(suite_of 'echo PASS a: one; exit 7')"
check 'gpu: and one without a case' 'FAIL gpu:some: the suite ended with status 0' "$(suite_of :)"
