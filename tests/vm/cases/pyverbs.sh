# SPDX-License-Identifier: BSD-2-Clause
# Debian's pyverbs suite on the card: 0 failures; every skip with its reason.
boot --cpus 1 "${vm_options[@]}"
out=$logs/pyverbs.out
rc=0
# Debian compresses the larger files of a package's documentation.
in_guest A 'mkdir /root/pyverbs && cp -r /usr/share/doc/rdma-core/tests /root/pyverbs/ && gunzip -r /root/pyverbs'
limit=3000 in_guest A 'cd /root/pyverbs && timeout 2900 python3 -W ignore tests/run_tests.py -v \
    --dev $(ls /sys/class/infiniband) --gid $(gid 4) 2>&1' >"$out" 2>&1 || rc=$?
# Lines are "test_name (tests.module.Class.test_name)" or a docstring, then " ... ok|skipped 'WHY'|FAIL|ERROR".
python3 - "$out" "$suite" <<'PY' >"$logs/verdicts"
import re
import sys

text, suite = open(sys.argv[1], errors="replace").read(), sys.argv[2]
name = None
for line in text.splitlines():
    found = re.match(r"^(test_\w+) \(([\w.]+)\)", line)
    if found:
        name = found.group(2) if found.group(2).endswith(found.group(1)) else f"{found.group(2)}.{found.group(1)}"
    result = re.search(r"\.\.\. (.*)$", line)
    if not result or name is None:
        continue
    verdict = result.group(1)
    short = name.removeprefix("tests.")
    if verdict.startswith("ok"):
        print(f"PASS {suite}:{short}")
    elif verdict.startswith("skipped"):
        print(f"SKIP {suite}:{short}: {verdict[8:].strip(chr(34) + chr(39))[:160]}")
    else:
        print(f"FAIL {suite}:{short}: {verdict[:160]}")
    name = None
PY
cat "$logs/verdicts"
failed=$((failed + $(grep -c '^FAIL' "$logs/verdicts" || true)))
grep -qE '^Ran [0-9]+ tests' "$out" || fail 'the suite ran to its end' "status $rc: $(tail -n 2 "$out" | tr '\n' ' ')"
clean_dmesg
