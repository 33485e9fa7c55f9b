# SPDX-License-Identifier: BSD-2-Clause
# One server with several clients at the same time. Sourced by suite.sh.
out=$logs/clients
mkdir -p "$out"
bench_clients 'write-bw: three clients at a time' 3 0 'client 3: [0-9.]+ MiB/sec, [0-9.]+ Mpps, [0-9.]+ %' 'write-bw -D 2 -s 4096' "--json $out/a.json --html $out/a.html"
bench_clients 'send-bw: two clients, threads that receive, processors in turn' 2 0 'fairness: [01]\.[0-9]{4} ' 'send-bw -D 1 -s 4096,8192 --cpu' '--pin 0,1'
bench_clients 'read-bw: two clients read, each row twice' 2 0 '2 repeats: median' 'read-bw -D 1 -q 2 -s 4096 --repeat 2'
bench_clients 'write-bw --reversed: one server writes to two' 2 0 'client 2: ' 'write-bw -D 1 -s 4096 --reversed'
bench_clients 'write-bw -b: both ways' 2 0 'fairness: ' 'write-bw -D 1 -s 4096 -b'
bench_clients 'write-bw -R: rdma_cm connects each' 2 0 'fairness: ' 'write-bw -D 1 -s 4096 -R'
plain 'the JSON has the sum, each client and the fairness' "/usr/bin/python3 - $out/a.json <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
e, = d['entries']
rates = [c['bandwidth_bytes_per_second'] for c in e['clients']]
assert len(d['clients']) == len(rates) == 3 and all(r > 0 for r in rates), rates
assert abs(sum(rates) - e['bandwidth']['average_bytes_per_second']) < 1, e['bandwidth']
assert abs(e['fairness']['jain_index'] - sum(rates) ** 2 / 3 / sum(r * r for r in rates)) < 1e-9, e['fairness']
assert sum(c['iterations'] for c in e['clients']) == e['iterations']
assert [p['value'] for p in d['parameters'] if p['name'] == 'clients'] == ['3']
print('adds up')
END" '^adds up$'
page 'the page has the clients' '>Clients<.*client 3' "$out/a.html"
plain 'report reads it back' "$bench report $out/a.json --html $out/again.html"
page 'the page of report has them, too' '>Clients<.*client 3' "$out/again.html"
# A client with different options ends the run for all; each prints the reason.
$as_user timeout -k 5 $limit "$dingo" run --card alpha -- "$bench" write-bw -D 5 -F -p $port --clients 2 >"$out/differ.A" 2>&1 &
pid=$! rc=0 rc_1=0 rc_2=0
wait_listen $port $pid || true
$as_user timeout -k 5 $limit "$dingo" run --card beta -- "$bench" write-bw -D 5 -F -p $port $server_address >"$out/differ.1" 2>&1 &
first=$!
wait_connected $port $pid || true
sleep 1
$as_user timeout -k 5 $limit "$dingo" run --card beta -- "$bench" write-bw -D 6 -F -p $port $server_address >"$out/differ.2" 2>&1 || rc_2=$?
wait $first || rc_1=$?
wait $pid || rc=$?
if [ "$rc $rc_2" = '2 2' ] && [ $rc_1 = 4 ] && grep -q 'client 2 .*-D: 5 s here, 6 s at the peer' "$out/differ.A" && grep -q 'client 2 .*different options' "$out/differ.1"; then
    pass 'a client with other options ends the run, and the others hear which'
else
    fail 'a client with other options ends the run, and the others hear which' "status $rc $rc_1 $rc_2: $(why "$out/differ.A") | $(why "$out/differ.1")"
fi
# A client exits while the server waits for the next one.
$as_user timeout -k 5 $limit "$dingo" run --card alpha -- "$bench" write-bw -D 5 -F -p $port --clients 2 >"$out/gone.A" 2>&1 &
pid=$! rc=0
wait_listen $port $pid || true
$as_user "$dingo" run --card beta -- "$bench" write-bw -D 5 -F -p $port $server_address >"$out/gone.1" 2>&1 &
first=$!
wait_connected $port $pid || true
sleep 1
kill -INT $first 2>/dev/null || true
wait $first || true
wait $pid || rc=$?
if [ $rc = 130 ] && grep -q 'client 1 .*: the peer was interrupted' "$out/gone.A"; then
    pass 'a client that goes while the others are awaited ends the run'
else
    fail 'a client that goes while the others are awaited ends the run' "status $rc: $(why "$out/gone.A") | $(why "$out/gone.1")"
fi
