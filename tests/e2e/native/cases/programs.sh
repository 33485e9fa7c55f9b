# SPDX-License-Identifier: BSD-2-Clause
# Third-party and own programs that use verbs in unusual ways. Sourced by tools.sh.
load=$dingo_root/build/bin/verbs_load
check=$dingo_root/build/bin/verbs_check
single 'fork: parent and child both work' alpha "$load fork" ok
single 'threads: contexts of their own, and one shared' alpha "$load threads 8" ok
single 'import: a process uses device, PD and MR of another' alpha "$load import" ok
single "allocators of a parent domain give the provider's memory and get it back" alpha "$load allocators" ok
single 'device memory: copies, traffic, atomics, borders' alpha "$load dm" ok
single 'more requests for events than events read: no completion goes unnoticed' alpha "$load events" ok
single 'completions in wall clock' alpha "$load wallclock" ok
single 'dlopen of libibverbs' alpha "$dingo_root/build/bin/verbs_dlopen" 'alpha: opened'
for sanitizer in address thread undefined; do
    if cc -fsanitize=$sanitizer -g "$dingo_root/tests/e2e/native/sanitized.c" -o "$logs/sanitized-$sanitizer" -libverbs 2>"$logs/sanitized-$sanitizer.cc"; then
        single "a program with gcc's $sanitizer sanitizer registers and closes, and nothing is reported" alpha "$logs/sanitized-$sanitizer" '^registered$'
    else
        skip "a program with gcc's $sanitizer sanitizer registers and closes, and nothing is reported" "no run time of it: $(why "$logs/sanitized-$sanitizer.cc")"
    fi
done
# iperf3 does not know RDMA: the preloaded library makes its sockets rsockets. The awk program reads
# to the end, as with pipefail a SIGPIPE of ldconfig would end this suite.
rsockets=$(dirname "$(ldconfig -p | awk '/librdmacm.so.1 / && !n++ {print $NF}')")/rsocket/librspreload.so
if [ -r "$rsockets" ] && command -v iperf3 >/dev/null; then
    export over="$rsockets"
    rings() { "$dingo" --json stats alpha | /usr/bin/python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["doorbells"]["rings"])'; }
    before=$(rings)
    single 'iperf3 over librspreload: its sockets are rsockets' alpha \
        'export LD_PRELOAD=$LD_PRELOAD:$over; iperf3 -s -1 -B 127.0.0.1 & for i in $(seq 30); do sleep 1; iperf3 -c 127.0.0.1 -t 1 && break; done; wait' 'iperf Done'
    plain 'and its bytes went through the card' "[ $(rings) -gt $((before + 20)) ]"
else
    skip 'iperf3 over librspreload: its sockets are rsockets' 'librspreload.so or iperf3 is not installed'
fi
single 'python: pyverbs opens the card' alpha \
    "/usr/bin/python3 -c 'from pyverbs.device import Context; c = Context(name=\"alpha\"); print(c.query_device().max_qp)'" '^[1-9]'
single '64 processes with 16 QPs each, data checked' alpha "$load many 64 16" ok
limit=120 single '10,000 QPs created and destroyed' alpha "$load churn 10000" ok
plain 'and nothing of them is left' "$dingo --json stats alpha | /usr/bin/python3 -c 'import json,sys; s = json.load(sys.stdin)[0]; print(len(s[\"qps\"]), len(s[\"clients\"]))'" '^0 0$'
client_card=beta
pair 'verbs_check: every operation, every byte' "$check -n 2" "$check -n 2 A" '' 18600
pair 'verbs_check over IPv6' "$check -6 -n 2" "$check -6 -n 2 A" '' 18600
# UCX hooks mmap() and reads the network header of datagrams; rc_verbs needs SRQs and connects over
# UD.
for transport in rc ud; do
    for what in 'tag_lat -s 8' 'tag_bw -s 65536' 'ucp_get -s 4096' 'ucp_fadd -s 8'; do
        pair "ucx_perftest $what over $transport" "UCX_NET_DEVICES=$server_card:1 UCX_TLS=$transport ucx_perftest -p 13400" \
            "UCX_NET_DEVICES=$client_card:1 UCX_TLS=$transport ucx_perftest -p 13400 A -n 200 -w 20 -f -t $what" '^ +200 +[0-9.]+' 13400
    done
done
# The programs of docs/p2p.md on a card that is not behind PCI: its memory belongs to a process.
p2p="$dingo_root/build/bin/p2p"
single 'device memory: into a file and from it, by O_DIRECT' alpha \
    "file=\$(mktemp); ${p2p}_file -w -s 65536 \$file && ${p2p}_file \$file; status=\$?; rm \$file; exit \$status" \
    'into card memory: 65536 bytes, checksum 291f767bdca179c4'
single 'device memory: has no export for other devices' 'alpha beta' "! ${p2p}_cards" 'the card is not behind PCI'
