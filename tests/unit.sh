#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Builds one preset and runs its ctest tests: one PASS, FAIL or SKIP line for each.
# usage: tests/unit.sh release|asan|tsan
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/build.sh
preset=$1

# Only these have threads; the rest is single-threaded by construction.
targets=()
[ "$preset" != tsan ] || targets=(doorbell_scanner_test card_test wire_test test_qpx_net test_qpx_peer test_qpx_group rdma_bench_run_test)
# The tests know both engines; users who build the card do not wait for Verilator.
[ "$preset" != release ] || export DINGO_CMAKE_OPTIONS=$rtl_engine_options
build_preset "$preset" "${targets[@]}"
results=build/test-logs/ctest-$preset.xml
mkdir -p build/test-logs
rm -f "$results"
select=()
[ "$preset" != tsan ] || select=(-R "$(IFS='|'; echo "^(${targets[*]})\\.|^card\\.|^wire\\.|^qpx\\.(net|peer|group)\\.|^bench\\.run\\.")" -E 'NOT_BUILT|^card\.tool|^wire\.model\.')
if [ "$preset" = asan ]; then
    select=(-E TooManyWindows)
    echo "SKIP asan:TooManyWindows: 4,096 mappings of guest memory were not tried under AddressSanitizer; the release run has it"
fi
rc=0
ctest --preset "$preset" -j "$(nproc)" --timeout 600 "${select[@]}" --output-junit "$PWD/$results" || rc=$?
[ -s "$results" ] || { echo "FAIL $preset: ctest ended with status $rc and no results"; exit 1; }
python3 - "$results" "$preset" <<'EOF'
import sys
import xml.etree.ElementTree as tree

def why(output):
    """The program's own words: GoogleTest's line behind "Skipped", wire_script's behind "skipped CASE:"."""
    for line, following in zip(output, output[1:] + [""]):
        if line.endswith("Skipped"):
            return following
        if line.startswith("skipped "):
            return line.partition(": ")[2]
    return ""


root, preset = tree.parse(sys.argv[1]).getroot(), sys.argv[2]
for case in root.iter("testcase"):
    name, status = f"{preset}:{case.get('name')}", case.get("status")
    output = (case.findtext("system-out") or "").strip().splitlines()
    if status == "run":
        # A GoogleTest that skips itself ends well and says so.
        skips = [line for line in output if "Skipped" in line or "SKIPPED" in line]
        if skips and any("[  SKIPPED ]" in line for line in output):
            print(f"SKIP {name}: {' '.join(line for line in output[-12:] if line and not line.startswith('['))[:200]}")
        else:
            print(f"PASS {name}")
    elif status in ("notrun", "disabled"):
        reason = case.find("skipped")
        text = (reason.get("message") if reason is not None else "") or (output[-1] if output else "")
        print(f"SKIP {name}: {(why(output) or text)[:200]}")
    else:
        print(f"FAIL {name}: {' / '.join(output[-3:])[:300]}")
EOF
