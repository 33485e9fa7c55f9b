# SPDX-License-Identifier: BSD-2-Clause
# A run's files can be parsed, and contain the table's figures. Sourced by suite.sh.
files=$logs/files
mkdir -p "$files"
bench_pair 'write-bw --json --csv --html --out_json_file' '^ 4096 ' 'write-bw -s 64,4096 -q 1,2 -n 200' \
    "write-bw -s 64,4096 -q 1,2 -n 200 --json $files/bw.json --csv $files/bw.csv --html $files/bw.html --out_json_file $files/perftest.json"
plain 'the JSON has each size and number of QPs' "python3 -c 'import json; r = json.load(open(\"$files/bw.json\")); print(len(r[\"entries\"]), \"entries\")'" '^4 entries'
plain 'the CSV has a line for each' "python3 -c 'import csv; print(len(list(csv.DictReader(open(\"$files/bw.csv\")))), \"lines\")'" '^4 lines'
plain "perftest's JSON is valid" "python3 -c 'import json; print(json.load(open(\"$files/perftest.json\"))[\"results\"])'" 'BW_average'
page 'the page has plots' '<svg .*Bandwidth against message size' "$files/bw.html"
plain 'the page loads nothing' "! grep -qE '(src|href)=' $files/bw.html && ! sed s,http://www.w3.org/2000/svg,, $files/bw.html | grep 'https*:'"
bench_pair 'send-lat --json --html' '^ 2 ' 'send-lat -n 200' "send-lat -n 200 --json $files/lat.json --html $files/lat.html"
plain 'compare finds a run equal to itself' "$bench compare $files/bw.json $files/bw.json"
