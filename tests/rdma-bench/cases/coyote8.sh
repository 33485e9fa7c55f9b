# SPDX-License-Identifier: BSD-2-Clause
# Coyote's example 8: options and output. Sourced by suite.sh.
for o in 0 1; do
    pair "coyote8 -o $o" "$coyote8 -o $o -X 65536 -r 3" "$coyote8 -i A -o $o -X 65536 -r 3" \
        '^Size: +65536; Average throughput: +[0-9.e+]+ MB/s; Average latency: +[0-9.]+ us$' 18488
done
pair 'coyote8 over IPv6, sizes that are no powers of two' "$coyote8 -o 1 -x 3 -X 7000 -r 2" "$coyote8 -i ::1 -o 1 -x 3 -X 7000 -r 2" 'Size: +6144;' 18488
single 'coyote8: nobody listens' beta "$coyote8 -i 127.0.0.1 2>&1; test \$? = 4" 'nobody listens'
plain 'coyote8: sides that differ both say so' "timeout 20 $dingo run --card alpha -- $coyote8 -r 3 >$logs/coyote8-server 2>&1 & p=\$!
    for i in \$(seq 100); do ! ss -Hltn 'sport = :18488' | grep -q . || break; sleep 0.1; done
    timeout 20 $dingo run --card beta -- $coyote8 -i 127.0.0.1 -r 4 2>&1; a=\$?; wait \$p; echo \"status \$a \$?\"; cat $logs/coyote8-server" '^status 2 2$'
