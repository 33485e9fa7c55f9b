# SPDX-License-Identifier: BSD-2-Clause
# Coyote's example 8: its options and lines. Sourced by suite.sh.
for o in 0 1; do
    pair "coyote -o $o" "$bench coyote -o $o -X 65536 -r 3" "$bench coyote -i A -o $o -X 65536 -r 3" \
        '^Size: +65536; Average throughput: +[0-9.e+]+ MB/s; Average latency: +[0-9.]+ us$' 18488
done
pair 'coyote over IPv6, sizes that are no powers of two' "$bench coyote -o 1 -x 3 -X 7000 -r 2" "$bench coyote -i ::1 -o 1 -x 3 -X 7000 -r 2" 'Size: +6144;' 18488
single 'coyote: nobody listens' beta "$bench coyote -i 127.0.0.1 2>&1; test \$? = 4" 'nobody listens'
plain 'coyote: sides that differ both say so' "timeout 20 $dingo run --card alpha -- $bench coyote -r 3 >$logs/coyote-server 2>&1 & p=\$!; sleep 1
    timeout 20 $dingo run --card beta -- $bench coyote -i 127.0.0.1 -r 4 2>&1; a=\$?; wait \$p; echo \"status \$a \$?\"; cat $logs/coyote-server" '^status 2 2$'
