# SPDX-License-Identifier: BSD-2-Clause
# The program qpxd: options, signals, status and metrics, security, restart.
. tests/qp-exchange/services.sh
plain 'qpxd --version' "$bin/qpxd --version" '^qpxd [0-9]+\.[0-9]+'
plain 'qpxd --help names its exit statuses' "$bin/qpxd --help" 'Exit status: 0'
plain 'qpxd: an unknown option' "$bin/qpxd --nonsense" 'not expected' 2
plain 'qpxd: a port that is none' "$bin/qpxd --listen 127.0.0.1:99999" 'none of' 2
plain 'qpxd: a key file that is absent' "$bin/qpxd --security psk:/nonexistent" '/nonexistent' 2
plain 'qpxd: rules without security' "$bin/qpxd --listen 0 --authorize /dev/null" 'needs --security' 2
plain 'qpxd --status: nobody there' "$bin/qpxd --status qpxd://127.0.0.1:1" 'nobody listens' 4

# silent_client: prints what a silent connection to qpxd receives before it is closed.
silent_client() {
    python3 -c '
import socket, sys
client = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=8)
print(client.makefile("rb").read())' "$1"
}
if start_qpxd timeout --listen "127.0.0.1:$(free_port)" --handshake-timeout 0.2; then
    plain 'qpxd --handshake-timeout ends a silent connection' "$(declare -f silent_client); silent_client $qpxd_port" 'handshake took too long'
fi
stop_services

metrics=$(free_port)
if start_qpxd plain --listen "127.0.0.1:$(free_port)" --metrics "127.0.0.1:$metrics"; then
    plain 'qpxd warns that nothing is encrypted' "cat $qpxd_log" 'no security'
    plain 'qpxd: the port is taken' "$bin/qpxd --listen 127.0.0.1:$qpxd_port" 'taken' 3
    plain 'qpxd --status is JSON' "$bin/qpxd --status qpxd://127.0.0.1:$qpxd_port | python3 -c 'import json,sys; s = json.load(sys.stdin); print(\"jobs\", s[\"jobs\"], \"counters\", len(s[\"counters\"]))'" 'jobs \[\] counters [0-9]+'
    truth 'qpxd metrics count connections' "$(metric "$metrics" connections_total)" [ "$(metric "$metrics" connections_total)" -ge 1 ]

    # A restart with connected members: the server closes first, so its port is in TIME_WAIT.
    timeout 60 "$bin/qpx-rank" "qpxd://127.0.0.1:$qpxd_port/restart" --rank 0 --size 2 --no-device >"$logs/restart.out" 2>&1 &
    waiting=$!
    until_true metric_is "$metrics" members 1 || true
    rc=0
    kill -TERM "$qpxd_pid"; wait "$qpxd_pid" || rc=$?
    truth 'qpxd ends at SIGTERM with status 0' "status $rc: $(why "$qpxd_log")" eval "[ $rc = 0 ] && grep -q 'ended by a signal' '$qpxd_log'"
    rc=0; wait $waiting || rc=$?
    truth 'members hear that qpxd stops' "status $rc: $(why "$logs/restart.out")" eval "[ $rc = 1 ] && grep -qE 'stopping|ended' '$logs/restart.out'"
    truth 'qpxd restarts at once on its port' 'see qpxd-again.log' start_qpxd again --listen "127.0.0.1:$qpxd_port" --metrics "127.0.0.1:$metrics"
else
    fail 'qpxd starts' "$(why "$qpxd_log")"
fi
stop_services

keys=$logs/keys
(umask 077; printf 'cluster:%s\n' "$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')" >"$keys")
printf 'cluster team-*\n' >"$logs/rules"
if start_qpxd psk --listen "127.0.0.1:$(free_port)" --security "psk:$keys" --authorize "$logs/rules"; then
    rank="$bin/qpx-rank --no-device --size 4 --security psk:$keys qpxd://127.0.0.1:$qpxd_port"
    all_of 'four ranks with a pre-shared key' 4 "$rank/team-a --rank \$N"
    verdict 'four ranks with a pre-shared key' "$all_rc" "$all_out" 'TLSv1.3.*exchanged endpoints with 3 peers, 0 wrong' 4
    plain 'a job that the rules do not name' "$rank/other --rank 0" 'may not join' 1
    plain 'a member without security' "$bin/qpx-rank qpxd://127.0.0.1:$qpxd_port/team-a --rank 0 --size 1 --no-device" 'TLS is required' 1
    truth 'with security qpxd does not warn' "$(why "$qpxd_log")" eval "! grep -q 'no security' '$qpxd_log'"
else
    fail 'qpxd starts with a pre-shared key' "$(why "$qpxd_log")"
fi
stop_services

# qpxd's certificate is renewed while it runs.
tls=$logs/tls
mkdir -p "$tls"
# issue NAME [OPTION...]: makes NAME.pem and NAME.key, self-signed or signed as the options say.
issue() {
    local name=$1
    shift
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$name" \
        -keyout "$tls/$name.key" -out "$tls/$name.pem" "$@" >>"$logs/openssl.log" 2>&1
}
# renew NAME: replaces qpxd's certificate by NAME's; qpxd checks its files five times per second.
renew() {
    cp "$tls/$1.pem" "$tls/fresh" && mv "$tls/fresh" "$tls/qpxd.pem"
    cp "$tls/$1.key" "$tls/fresh" && mv "$tls/fresh" "$tls/qpxd.key"
    sleep 0.3
}
issue ca
for name in first second member; do issue $name -CA "$tls/ca.pem" -CAkey "$tls/ca.key"; done
renew first
if start_qpxd renewal --listen "127.0.0.1:$(free_port)" --security "tls:$tls/qpxd.pem,$tls/qpxd.key,$tls/ca.pem"; then
    # member_of NAME: prints the command of a job of one member, which expects a server with that
    # certificate name.
    member_of() { echo "$bin/qpx-rank --no-device --rank 0 --size 1 --security tls:$tls/member.pem,$tls/member.key,$tls/ca.pem,$1 qpxd://127.0.0.1:$qpxd_port/job"; }
    plain 'qpxd shows its certificate' "$(member_of first)" '0 wrong'
    renew second
    plain 'qpxd shows a renewed certificate without a restart' "$(member_of second)" '0 wrong'
    plain 'qpxd no longer shows the former certificate' "$(member_of first)" 'not in the list of allowed peers' 1
    echo 'no PEM' >"$tls/qpxd.pem"
    sleep 0.3
    plain 'qpxd keeps its certificate when the file is broken' "$(member_of second)" '0 wrong'
    truth 'qpxd names the broken file in its log' "$(why "$qpxd_log")" grep -q "changed security files are not used: certificate $tls/qpxd.pem" "$qpxd_log"
else
    fail 'qpxd starts with a certificate' "$(why "$qpxd_log")"
fi
stop_services
