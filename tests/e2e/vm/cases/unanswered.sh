# SPDX-License-Identifier: BSD-2-Clause
# Admin commands that a card answers late or never: removal and reset take seconds, not the
# commands' full timeout, and a slow card does not fail. Sourced by driver.sh and lab.sh, with a
# session of a model card whose kernel has iomem=relaxed.

# The kernel's messages in these cases.
unanswered_says='no (automatic recovery|restart of the rings): the last one|no traffic since a failed change of the MTU|receive filter was not set|recovery failed|not usable after a reset|did not come back|limits cannot be read'
unanswered_says+='|probe with driver dingo failed|rings could not be restarted|RDMA did not come back|Couldn.t (open|create|allocate)|add_roce_gid|__ib_cache_gid_add|probe with driver dingo_ib'
unanswered_says+='|NETDEV WATCHDOG|queue [0-9]+ sends nothing'

# guest_slow: prints the factor for time limits in a guest: emulated guests are slow, and the host
# may be busy.
guest_slow() { if on_kvm; then echo 1; else echo $((1 + slow)); fi; }

# opcode NAME: prints the contract's opcode of an admin command.
opcode() { sed -nE "s/^#define DINGO_OP_$1 (0x[0-9a-f]+|[0-9]+)U? .*/\\1/p" "$(dingo_build_dir)/hw/contract/include/dingo_hw.h"; }
# faults NAME=refuse|never|MS...: makes A's card refuse, ignore or delay these commands; without
# arguments: ends all faults.
faults() {
    local rule spec=''
    for rule in "$@"; do spec+="${spec:+,}$(opcode "${rule%%=*}")=${rule#*=}"; done
    # shellcheck disable=SC2086
    "$vm" card --quiet --name "$session" A ctl admin $spec >>"$logs/faults.out" 2>&1
}

# Shell functions for the guest. timed MOST COMMAND: fails if COMMAND takes more than MOST ms.
unanswered_functions='pci=0000:01:00.0; cd /sys/bus/pci/drivers/dingo
milliseconds() { echo "${EPOCHREALTIME/./}" | cut -c1-13; }
device() { ls ../../devices/$pci/infiniband 2>/dev/null; }
netdev() { ls ../../devices/$pci/net 2>/dev/null; }
works() { for n in $(seq 240); do [ -n "$(device)" ] && ping -c 1 -W 1 B >/dev/null 2>&1 && return 0; sleep 0.1; done; echo "does not work: $(dmesg | tail -n 1)"; return 1; }
fails() { dmesg | grep -c "$pci: failed" || true; }
timed() {
    local most=$1 begin took rc=0; shift
    begin=$(milliseconds); "$@" || rc=$?; took=$(($(milliseconds) - begin))
    echo "status $rc after $took ms"
    [ $took -le $((most * SLOW)) ]
}
'
# unanswered NAME COMMAND [REGEX]: case: COMMAND in A succeeds, with these functions.
unanswered() { limit=120 single "$1" A "SLOW=$(guest_slow); $unanswered_functions$2" "${3:-}"; }

# Slow, but alive: a command takes long, but less than its own timeout.
faults CREATE_MR=8000
unanswered 'a command of 8 s does not fail, nor does its card' \
    'works && before=$(fails); (sleep 12; pkill ibv_rc_pingpong) &
    stdbuf -oL ibv_rc_pingpong -g 1 >/tmp/slow 2>&1; cat /tmp/slow; grep -q "local address" /tmp/slow && [ "$(fails)" = "$before" ] && works'
faults CREATE_MR=3000
unanswered 'nor does a command of 3 s while an image of the machine is written' \
    '[ ! -e /dev/snapshot ] || exec 9</dev/snapshot; works && before=$(fails); (sleep 7; pkill ibv_rc_pingpong) &
    stdbuf -oL ibv_rc_pingpong -g 1 >/tmp/slow 2>&1; cat /tmp/slow; grep -q "local address" /tmp/slow && [ "$(fails)" = "$before" ] && works'
# Eight regions, one after the other, take four seconds: the last command waits for long, but the
# card makes progress meanwhile.
faults CREATE_MR=500
unanswered 'unbinding beside commands that are slow, but done' \
    'works && before=$(fails); for n in $(seq 8); do ibv_rc_pingpong -p $((18600 + n)) -g 1 >/dev/null 2>&1 & done
    for n in $(seq 50); do [ "$(pgrep -c ibv_rc_pingpong)" != 8 ] || break; sleep 0.1; done
    echo $pci >unbind; pkill ibv_rc_pingpong; wait; [ "$(fails)" = "$before" ] || { dmesg | grep "$pci: failed"; exit 1; }'
faults
unanswered 'and bound again' 'echo $pci >bind && works'

# A card that does not answer while the driver is bound.
faults QUERY_DEVICE=never
unanswered 'a card that answers nothing is not bound, after 5 s' \
    'echo $pci >unbind; timed 6000 eval "echo $pci >bind"' 'status 1 after [1-9][0-9]{3,} ms'
faults
unanswered 'a card that answers is' 'echo $pci >bind && works'
faults CREATE_CQ=never
unanswered 'nor does RDMA that comes alone wait longer' 'rmmod dingo_ib && timed 7000 modprobe dingo_ib; rc=$?; echo $pci >unbind; exit $rc'
faults
unanswered 'and it comes to one that answers' 'echo $pci >bind && works'
faults CREATE_CQ=never
unanswered 'a card that answers nothing after a reset, either' \
    'timed 9000 eval "echo 1 >../../devices/$pci/reset"'
unanswered 'it is taken away' 'timed 2000 eval "echo $pci >unbind"'
faults
unanswered 'it answers again' 'echo $pci >bind && works'

# The card executes a command after its process has exited: no memory of that process is touched.
faults CREATE_MR=never
unanswered 'a process waits, and its device goes' \
    'works && { ibv_rc_pingpong -g 1 >/dev/null 2>&1 & sleep 0.5; timed 2000 eval "echo $pci >unbind" && ! wait $!; }'
faults
unanswered 'the command is done afterwards, and harms nobody' 'sleep 1; echo $pci >bind && works'

# Unplugging. Times the driver's remove() only, as Linux first waits for an operator to cancel.
if in_guest A 'mountpoint -q /sys/kernel/tracing || mount -t tracefs none /sys/kernel/tracing
    cd /sys/kernel/tracing && echo dingo_remove >set_ftrace_filter && echo function_graph >current_tracer && echo >trace' >>"$logs/faults.out" 2>&1; then
    faults CREATE_MR=never
    unanswered 'a process waits for its card' 'works; ibv_rc_pingpong -g 1 >/tmp/waits 2>&1 & sleep 0.5; pgrep ibv_rc_pingpong'
    "$vm" unplug --quiet --name "$session" A >>"$logs/faults.out" 2>&1 || fail 'unplugging while a command waits' 'the guest did not let the card go'
    unanswered 'unplugging while a command waits' 'cd /sys/kernel/tracing; cat trace
    took=$(sed -nE "s/.* ([0-9]+)(\.[0-9]+)? us +\| .*dingo_remove.*/\1/p" trace); echo nop >current_tracer; echo >set_ftrace_filter
    [ -n "$took" ] && echo "removal took $((took / 1000)) ms" && [ $took -le $((2000000 * SLOW)) ] && ! pgrep ibv_rc_pingpong'
    "$vm" plug --quiet --name "$session" A >>"$logs/faults.out" 2>&1 || true
    unanswered 'plugged in again' 'works'
else
    skip 'unplugging while a command waits' 'this kernel has no tracer'
fi

"$vm" push --quiet --name "$session" A tests/kmod/{unanswered.sh,break_card.py} "$(dingo_build_dir)/hw/contract/include/dingo_hw.h" /root/driver
limit=900 guest_cases unanswered "/root/driver/unanswered.sh B /root/driver/dingo_hw.h $(guest_slow)"
