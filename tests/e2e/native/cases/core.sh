# SPDX-License-Identifier: BSD-2-Clause
# The minimum that must work wherever Dingo is built: each perftest tool, pingpongs, verified data,
# rdma_cm, an ordinary user.
start_card alpha
start_card beta
single 'ibv_devinfo: port state' alpha ibv_devinfo 'state:[[:space:]]+PORT_ACTIVE'
check=$dingo_root/build/bin/verbs_check
pair 'verbs_check' "$check -p 18601" "$check -p 18601 A" 'every byte right' 18601
for tool in ib_write_bw ib_read_bw ib_send_bw ib_atomic_bw ib_write_lat ib_read_lat ib_send_lat ib_atomic_lat; do perftest $tool '-n 200'; done
for kind in rc uc ud srq; do
    tool="ibv_${kind}_pingpong"
    pair "$tool -e" "$tool -e -n 200 -g \$(gid 4)" "$tool -e -n 200 -g \$(gid 4) A" 'iters in'
done
. tests/e2e/native/cases/compute.sh
as_user='setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nonexistent'
root_run=$DINGO_RUN
DINGO_RUN=$(mktemp -d /tmp/dingo-user-XXXXXX)
chown 65534:65534 "$DINGO_RUN"
prefix='ordinary user: '
server_card=gamma client_card=delta
start_card gamma
start_card delta
perftest ib_send_bw '-n 200'
stop_cards
DINGO_RUN=$root_run
as_user=''
