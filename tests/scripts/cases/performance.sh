# SPDX-License-Identifier: BSD-2-Clause
# scripts/lib/performance.py: a benchmark's output becomes a table of docs/performance.md, or
# nothing changes.
export DINGO_PERFORMANCE=$work/performance
mkdir -p "$DINGO_PERFORMANCE"
cat >"$DINGO_PERFORMANCE/part.json" <<'JSON'
{"title": "A part", "order": 1, "command": "scripts/bench.sh part", "machine": "m", "commit": "c", "date": "2020-01-01", "limit": "l",
 "rows": [{"what": "goodput", "measured": "1", "unit": "Gb/s", "goal": "", "limit": "", "match": "^goodput ([0-9.]+)", "format": "{0:.1f}"}]}
JSON
figure() { scripts/lib/performance.py render | grep '^| goodput' || true; }
check "performance: a table of the page" "| goodput | 1 Gb/s | | |" "$(figure | sed 's/  */ /g')"
scripts/lib/performance.py record part <<<'goodput 2.55' >/dev/null
check "performance: a figure is recorded, with the date" "2.5 $(date +%F)" \
    "$(python3 -c 'import json, sys; t = json.load(open(sys.argv[1])); print(t["rows"][0]["measured"], t["date"])' "$DINGO_PERFORMANCE/part.json")"
before=$(cat "$DINGO_PERFORMANCE/part.json")
rc=0
said=$(scripts/lib/performance.py record part <<<'nothing' 2>&1) || rc=$?
check "performance: a figure that is missing is named" "1 1" "$rc $(grep -c 'no figure for goodput' <<<"$said")"
check "performance: then nothing changes" "$before" "$(cat "$DINGO_PERFORMANCE/part.json")"
rc=0
scripts/lib/performance.py record other <<<'goodput 1' >/dev/null 2>&1 || rc=$?
check "performance: a part without a table is refused" 1 "$rc"
unset DINGO_PERFORMANCE
