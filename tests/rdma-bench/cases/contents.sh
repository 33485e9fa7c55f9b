# SPDX-License-Identifier: BSD-2-Clause
# Checks a run's files with independent programs, and the output of comparisons. Sourced by
# suite.sh.
out=$logs/contents
mkdir -p "$out"
pair 'bandwidth run writes JSON, CSV, HTML and the JSON of perftest' "$bench write-bw -F -s 64,4k -q 1,2 -n 500" \
    "$bench write-bw -F -s 64,4k -q 1,2 -n 500 --json $out/bw.json --csv $out/bw.csv --html $out/bw.html --out_json_file $out/perftest.json A" '4096'
pair 'latency run writes JSON, and CSV to standard output' "$bench read-lat -F -s 2,1k -n 1000" \
    "$bench read-lat -F -s 2,1k -n 1000 --json $out/lat.json --csv - A" '^read-lat,client,'
pair 'a second latency run, shown beside the first' "$bench read-lat -F -s 2,1k -n 1000" \
    "$bench read-lat -F -s 2,1k -n 1000 --json $out/lat2.json --compare $out/lat.json --html $out/lat2.html A" '1024'
plain 'the JSON is JSON' "for f in $out/*.json; do /usr/bin/python3 -m json.tool \$f >/dev/null || exit 1; done"
plain 'the JSON has an entry for each size and number of QPs' \
    "/usr/bin/python3 -c 'import json,sys; print(*((e[\"size_bytes\"], e[\"qps\"], e[\"bandwidth\"][\"messages_per_second\"] > 0) for e in json.load(open(sys.argv[1]))[\"entries\"]))' $out/bw.json" \
    '\(64, 1, True\) .*\(4096, 2, True\)'
plain 'the CSV is CSV' "/usr/bin/python3 -c 'import csv,sys; rows = list(csv.DictReader(open(sys.argv[1], newline=\"\"), strict=True)); print(len(rows), rows[3][\"size_bytes\"], rows[3][\"qps\"])' $out/bw.csv" '^4 4096 2$'
page 'the page of a bandwidth run is whole' '<h3>Message rate</h3>.*<h2>Machines</h2>' "$out/bw.html"
page 'the page of two runs is whole' '<h3>Ratio of median latency</h3>.*<h2>Machines</h2>' "$out/lat2.html"
plain 'perftest keys' "/usr/bin/python3 -c 'import json,sys; d = json.load(open(sys.argv[1])); print(d[\"test_info\"][\"test\"], d[\"results\"][\"MsgSize\"], d[\"results\"][\"BW_average\"] > 0)' $out/perftest.json" '^RDMA_Write_BW_Test 4096 True$'
plain 'compare: a run with itself is the same' "$bench compare $out/bw.json $out/bw.json" '^not worse: 0 worse, 0 better'
plain 'compare: a slower run ends with 1' "/usr/bin/python3 -c 'import json,sys; d = json.load(open(sys.argv[1])); [e[\"bandwidth\"].update(average_bytes_per_second=e[\"bandwidth\"][\"average_bytes_per_second\"] / 2) for e in d[\"entries\"]]; json.dump(d, open(sys.argv[2], \"w\"))' $out/bw.json $out/slow.json && $bench compare $out/bw.json $out/slow.json --html $out/slow.html" '^worse: 4 worse' 1
plain 'compare: two tests end with 2' "$bench compare $out/bw.json $out/lat.json" 'two tests' 2
plain 'compare: what is no result ends with 2' "$bench compare $out/bw.json $out/bw.csv" 'bw.csv: neither JSON nor a table' 2
plain 'compare: a JSON file that was cut off ends with 2' "head -c 300 $out/bw.json >$out/cut.json; $bench compare $out/bw.json $out/cut.json" 'cut.json: not JSON: line [0-9]+' 2
plain 'report of several runs' "$bench report $out/bw.json $out/slow.json $out/lat.json --html $out/all.html"
page 'the page of several runs compares what is of one test' 'Ratio of bandwidth.*lat.json is not compared' "$out/all.html"
single 'a file that cannot be written is said before the run' beta "! timeout 10 $bench write-bw -F --json /nowhere/x.json 127.0.0.1 2>&1" 'nowhere/x.json: create: No such file'
