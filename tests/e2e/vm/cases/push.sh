# SPDX-License-Identifier: BSD-2-Clause
# Pushed send WQEs, for cards whose doorbells are PCI writes. Sourced by driver.sh.

# trapped COMMAND...: prints the number of writes to BARs of B's card while COMMAND runs. A pushed
# block is eight writes of 8 bytes.
trapped() {
    local before after
    before=$(trapped_writes)
    "$@" >>"$logs/push.log" 2>&1 || true
    after=$(trapped_writes)
    echo $((after - before))
}
trapped_writes() { "$vm" card --quiet --name "$session" B ctl stats | sed -n 's/.*"trapped_writes": \([0-9]*\).*/\1/p'; }
latency() {
    "$vm" run --quiet --name "$session" --timeout $((120 * slow)) --out "$logs/push-lat" -- 'ib_write_lat -F -n 500' -- "$1 ib_write_lat -F -n 500 A"
}

boot --card-args --trapped-doorbells "${vm_options[@]}"
with=$(trapped latency '')
without=$(trapped latency 'DINGO_PUSH=0')
if [ $((with - without)) -ge 4000 ] && [ "$without" -ge 500 ]; then
    pass 'send WQEs are pushed'
else
    fail 'send WQEs are pushed' "$with writes of 500 WQEs, $without with DINGO_PUSH=0"
fi
pair 'pushed WQEs: ibv_rc_pingpong -c' 'ibv_rc_pingpong -g $(gid 4) -c -n 300 -s 5000' 'ibv_rc_pingpong -g $(gid 4) -c -n 300 -s 5000 A' 'usec/iter'
pair 'pushed WQEs: ibv_ud_pingpong -c' 'ibv_ud_pingpong -g $(gid 4) -c -n 300 -s 1000' 'ibv_ud_pingpong -g $(gid 4) -c -n 300 -s 1000 A' 'usec/iter'
pair 'pushed WQEs: 8 QPs, lists of 8' 'ib_write_bw -F -q 8 -l 8 -s 64 -n 800' 'ib_write_bw -F -q 8 -l 8 -s 64 -n 800 A' '64 '
pair 'pushed WQEs: inline' 'ib_send_bw -F -s 200 -I 220 -n 500' 'ib_send_bw -F -s 200 -I 220 -n 500 A' '200 '
no_complaint 'pushed WQEs'
shut_down
