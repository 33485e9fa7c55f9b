# SPDX-License-Identifier: BSD-2-Clause
# Files that a run leaves: they parse, and hold what the table holds. Sourced by suite.sh.
files=$logs/files
mkdir -p "$files"
pair 'write-bw --json --csv --html --out_json_file' "$bench write-bw -s 64,4096 -q 1,2 -n 200 -F" \
    "$bench write-bw -s 64,4096 -q 1,2 -n 200 -F --json $files/bw.json --csv $files/bw.csv --html $files/bw.html --out_json_file $files/perftest.json A" '^ 4096 '
plain 'the JSON has each size and number of QPs' "python3 -c 'import json; r = json.load(open(\"$files/bw.json\")); print(len(r[\"entries\"]), \"entries\")'" '^4 entries'
plain 'the CSV has a line for each' "python3 -c 'import csv; print(len(list(csv.DictReader(open(\"$files/bw.csv\")))), \"lines\")'" '^4 lines'
plain "perftest's JSON is valid" "python3 -c 'import json; print(json.load(open(\"$files/perftest.json\"))[\"results\"])'" 'BW_average'
plain 'the page has plots and loads nothing' "grep -q '<svg' $files/bw.html && ! grep -qE '(src|href)=\"?https?:' $files/bw.html"
pair 'send-lat --json: an interval of latencies' "$bench send-lat -n 200 -F" "$bench send-lat -n 200 -F --json $files/lat.json --html $files/lat.html A" '^ 2 '
plain 'compare finds a run equal to itself' "$bench compare $files/bw.json $files/bw.json"
