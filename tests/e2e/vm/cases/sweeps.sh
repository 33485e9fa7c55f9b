# SPDX-License-Identifier: BSD-2-Clause
# Repeats disturbances (resets, unplugs, kills ...) many times, and runs a fuzzer: see
# docs/reference/driver.md. Each group is one case. DINGO_SWEEPS=quick: about three of each, for
# emulated guests; a number: per cent of the full counts.
# DINGO_SWEEP_GROUPS: names of groups, default all.
# DINGO_SWEEP_COMMANDS: names of admin commands for the group commands, default all.
# DINGO_FUZZ_SECONDS: how long the fuzzer runs (default 60). DINGO_SWEEP_SEED: its seed.
# DINGO_SWEEP_END: a time (seconds since the epoch) after which nothing more is started; the cases'
# names tell how much was done.
. tests/e2e/vm/cases/driver_parts.sh

driver_module=dingo # its function dingo_remove() is timed
groups=${DINGO_SWEEP_GROUPS:-resets unplugs kills commands users fuzz}
seed=${DINGO_SWEEP_SEED:-$RANDOM}
resets=200 unplugs=200 kills=1000 user_resets=20 some_commands=${DINGO_SWEEP_COMMANDS:-}
quick=''
case ${DINGO_SWEEPS:-full} in
full) ;;
quick) quick=1 resets=3 unplugs=3 kills=10 user_resets=3 some_commands=${some_commands:-SET_PORT CREATE_CQ CREATE_QP} ;;
*)
    resets=$((resets * DINGO_SWEEPS / 100)) unplugs=$((unplugs * DINGO_SWEEPS / 100))
    kills=$((kills * DINGO_SWEEPS / 100)) user_resets=$((user_resets * DINGO_SWEEPS / 100))
    ;;
esac
fuzz_seconds=${DINGO_FUZZ_SECONDS:-60}
# seconds_left [PARTS]: prints the time until DINGO_SWEEP_END divided by PARTS (1); nothing if it is
# unset.
seconds_left() { [ -z "${DINGO_SWEEP_END:-}" ] || echo $(((DINGO_SWEEP_END > EPOCHSECONDS ? DINGO_SWEEP_END - EPOCHSECONDS : 0) / ${1:-1})); }
over() { [ "$(seconds_left)" = 0 ]; }
# progress WORD...: logs how far the sweep is, for users and for scripts/lab-shards.sh.
progress() { echo "# $*" >>"$logs/sweeps.out"; }
peer=10.77.0.2

build_sweeps() {
    local flags=(-std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -pthread)
    need_packages gcc libc6-dev libibverbs-dev
    mkdir -p "$logs/sweeps"
    gcc "${flags[@]}" -o "$logs/sweeps/verbs_churn" tests/kmod/verbs_churn.c -libverbs &&
        gcc "${flags[@]}" -Ikmod/include/uapi -o "$logs/sweeps/uverbs_fuzz" tests/kmod/uverbs_fuzz/*.c ||
        { fail sweeps 'a program did not build'; exit 1; }
}

push_sweeps() {
    local side
    for side in A B; do
        "$vm" push --quiet --name "$session" $side "$logs"/sweeps/* tests/kmod/sweep.sh /root/sweeps
    done
}

# sweep A|B SECONDS COMMAND...: runs a command of tests/kmod/sweep.sh with that time limit; returns
# its status and sets $said to its last line. Counting commands stop after $seconds, by default when
# no time is left.
sweep() {
    local side=$1 limit=$2 rc=0
    shift 2
    in_guest "$side" "DINGO_SECONDS=${seconds:-$(seconds_left)} DINGO_PATIENCE=$patience /root/sweeps/sweep.sh $*" >"$logs/sweep.out" 2>&1 || rc=$?
    cat "$logs/sweep.out" >>"$logs/sweeps.out"
    said=$(tail -n 1 "$logs/sweep.out")
    return $rc
}

# in_background A|B COMMAND: runs COMMAND until stop_all.
jobs=()
in_background() {
    (limit=1000000 in_guest "$1" "$2" >>"$logs/background.$1" 2>&1 || true) &
    jobs+=($!)
}
begin_traffic() {
    in_background A '/root/sweeps/sweep.sh traffic -'
    in_background B '/root/sweeps/sweep.sh traffic 10.77.0.1'
}
stop_all() {
    local side
    for side in A B; do limit=60 in_guest $side '/root/sweeps/sweep.sh stop' || true; done
    [ ${#jobs[@]} = 0 ] || wait "${jobs[@]}" || true
    jobs=()
    for side in A B; do limit=60 in_guest $side 'rm -f /run/sweep-end' || true; done
}

# begin_group: clears the kernels' logs.
begin_group() {
    trouble='' counts=''
    limit=60 in_guest A 'dmesg --clear' && limit=60 in_guest B 'dmesg --clear' || trouble='a guest does not answer'
    group_began=$SECONDS
}
note() { trouble+="${trouble:+; }$1"; }

# end_group NAME [REGEX]: prints the group's case. It fails if trouble was noted, a kernel's log has
# other warnings than lines like REGEX, traffic does not work, or kmemleak finds a leak.
end_group() {
    local side text leaks
    for side in A B; do
        text=$(complaints $side "${2:-}")
        [ -z "$text" ] || note "kernel of $side: $(head -n 3 <<<"$text" | tr '\n' ' ' | cut -c1-300)"
    done
    sweep B 200 works 10.77.0.1 100 || note "afterwards: $said"
    try_pair "$logs/$1-pair" 'ib_write_bw -n 200' 'ib_write_bw -n 200 A' 65536
    [ -z "$problem" ] || note "afterwards: $problem"
    text=$(limit=200 in_guest A 'cd /sys/kernel/debug && [ -e kmemleak ] || { echo none; exit; }
        echo scan >kmemleak; sleep 6; echo scan >kmemleak; grep -B 8 -A 8 dingo kmemleak | head -n 20' 2>&1)
    case $text in
    '') leaks='no leak' ;;
    none) leaks='no kmemleak' ;;
    *) leaks=leaks; note "kmemleak: $(tr '\n' ' ' <<<"$text" | cut -c1-300)" ;;
    esac
    text="$1: ${counts:-nothing}; $leaks ($((SECONDS - group_began)) s)"
    if [ -z "$trouble" ]; then pass "$text"; else
        fail "$text" "$trouble"
        save_dmesg "$logs/$1-dmesg"
        check_alive
    fi
}

group_resets() {
    begin_traffic
    sweep A $((resets * 3 * patience)) resets $resets $peer || note "$said"
    counts=$said
    stop_all
}

# time_removals: traces the driver's remove(), to time it by the guest's clock, without the 5 s that
# Linux waits for an operator to cancel an unplug. Leaves removals_timed empty if the kernel has no
# tracer.
time_removals() {
    removals_timed=''
    in_guest A "mountpoint -q /sys/kernel/tracing || mount -t tracefs none /sys/kernel/tracing
cd /sys/kernel/tracing && echo ${driver_module}_remove >set_ftrace_filter && echo function_graph >current_tracer && echo >trace" >>"$logs/sweeps.out" 2>&1 && removals_timed=1
}
# removal_time: prints the last removal's milliseconds, or nothing.
removal_time() {
    in_guest A "cd /sys/kernel/tracing && sed -nE 's/.* ([0-9]+)(\\.[0-9]+)? us +\\| .*${driver_module}_remove.*/\\1/p' trace | tail -n 1; echo >trace" |
        awk '{ print int($1 / 1000) }'
}

group_unplugs() {
    local n took slowest=0 moved=0 timed=0
    begin_traffic
    time_removals || true
    for ((n = 1; n <= unplugs; n++)); do
        progress "$((n - 1)) of $unplugs unplugs done"
        ! over || break
        ! sweep A $((2 * patience)) moving || moved=$((moved + 1))
        "$vm" unplug --quiet --name "$session" A >>"$logs/sweeps.out" 2>&1 || { note "unplug $n: the guest did not let the card go"; break; }
        took=$(removal_time) || true
        if [ -n "$took" ]; then
            timed=$((timed + 1))
            [ "$took" -le $slowest ] || slowest=$took
        fi
        "$vm" plug --quiet --name "$session" A >>"$logs/sweeps.out" 2>&1 || { note "plug $n failed"; break; }
        sweep A $((2 * patience)) works $peer $patience || { note "plug $n: $said"; break; }
    done
    [ -z "$removals_timed" ] || in_guest A 'cd /sys/kernel/tracing && echo nop >current_tracer && echo >set_ftrace_filter' || true
    n=$((n - 1))
    counts="$n of $unplugs unplugs, $moved under traffic"
    if [ -n "$removals_timed" ]; then counts+=", $timed timed, removal took $slowest ms at most"; else counts+=', none timed (no tracer)'; fi
    [ $n -gt 0 ] && [ $moved = $n ] || note 'not each under traffic'
    [ -z "$removals_timed" ] || [ $timed = $n ] || note 'not each was timed'
    [ $slowest -le 2000 ] || ! on_kvm || note 'a removal took more than 2 s'
    stop_all
}

group_kills() {
    local killer
    sweep A 200 left || note "before: $said"
    in_background A '/root/sweeps/sweep.sh churn $(gid 4)'
    in_background B '/root/sweeps/sweep.sh churn $(gid 4) 10.77.0.1'
    limit=$((kills * patience + 300)) in_guest B "DINGO_SECONDS=$(seconds_left) DINGO_PATIENCE=$patience /root/sweeps/sweep.sh kills $((kills - kills / 2))" >"$logs/kills-B.out" 2>&1 &
    killer=$!
    sweep A $((kills * patience + 300)) kills $((kills / 2)) || note "A: $said"
    counts="$said of servers and a program with many objects in A"
    wait $killer || note "B: $(tail -n 1 "$logs/kills-B.out")"
    counts+=", $(tail -n 1 "$logs/kills-B.out") of clients and another in B"
    stop_all
    sweep A 200 left || note "A: $said"
    sweep B 200 left || note "B: $said"
}

# admin_commands: prints "NAME OPCODE" of each admin command of the contract.
admin_commands() {
    sed -nE 's/^#define DINGO_OP_([A-Z_]+) (0x[0-9a-f]+|[0-9]+)U? .*/\1 \2/p' "$(dingo_build_dir)/hw/contract/include/dingo_hw.h"
}
card_faults() { "$vm" card --quiet --name "$session" A ctl admin "$@" >>"$logs/sweeps.out" 2>&1; }
commands_met() { "$vm" card --quiet --name "$session" A ctl stats 2>/dev/null | sed -n 's/.*"met": \([0-9]*\).*/\1/p'; }

# recovered NAME: lets the card answer again and rebinds the driver.
recovered() {
    card_faults || note "$1: the card does not answer"
    sweep A $((3 * patience)) again-bound $peer || note "$1: $said"
}

# answered NAME OPCODE refuse|never|MS: with that fault of the command, each call of a probe and of
# a process returns in time, with an errno if it failed.
answered() {
    if over; then cut=1; return; fi
    card_faults "$2=$3" || note "$1 $3: the card does not answer"
    sweep A 1000 attempt '$(gid 4)' || note "$1 $3: $said"
    echo "# $1 $3: $said" >>"$logs/commands.out"
    attempts=$((attempts + 1))
    recovered "$1 $3"
}

# disturbed NAME OPCODE remove|reset|kill: removes, resets or kills the card while it does not
# answer the command.
disturbed() {
    local before n job
    if over; then cut=1; return; fi
    before=$(commands_met) || true
    card_faults "$2=never" || note "$1: the card does not answer"
    limit=1000 in_guest A 'DINGO_PATIENCE=5 /root/sweeps/sweep.sh attempt $(gid 4)' >"$logs/disturbed.out" 2>&1 &
    job=$!
    for ((n = 0; n < patience && $(commands_met) == before; n++)); do
        [ -e /proc/$job ] || break
        sleep 0.3
    done
    if [ "$(commands_met)" = "$before" ]; then
        missed+=" $1"
    else
        disturbances=$((disturbances + 1))
        case $3 in
        kill)
            "$vm" card --quiet --name "$session" A kill || true
            "$vm" unplug --quiet --name "$session" A >>"$logs/sweeps.out" 2>&1 || note "$1 $3: the guest did not let the card go"
            n=$(removal_time) || true
            [ "${n:-0}" -le $slowest ] || slowest=$n
            said="removal took ${n:-?} ms"
            "$vm" plug --quiet --name "$session" A >>"$logs/sweeps.out" 2>&1 || note "$1 $3: plug failed"
            ;;
        *)
            sweep A 200 at-once $3 || note "$1 $3: $said"
            n=$(sed -n 's/.* took \([0-9]*\) ms$/\1/p' <<<"$said")
            [ "${n:-0}" -le "${took_most[$3]}" ] || took_most[$3]=$n
            ;;
        esac
        echo "# $1 $3: $said" >>"$logs/commands.out"
    fi
    card_faults || true
    wait $job || note "$1 $3: $(tail -n 1 "$logs/disturbed.out")"
    recovered "$1 $3"
}

group_commands() {
    local name opcode attempts=0 disturbances=0 missed='' slowest=0 n=0 total=0 whole=0 cut=''
    local -A took_most=([remove]=0 [reset]=0)
    expected='\] (dingo [0-9a-f:.]+( [a-z0-9]+)?|infiniband [a-z0-9_]+|__ib_cache_gid_add): '
    time_removals || true
    while read -r name opcode <&3; do
        [ -z "$some_commands" ] || [[ " $some_commands " == *" $name "* ]] || continue
        total=$((total + 1))
        [ -z "$cut" ] || continue
        n=$((n + 1))
        progress "$whole admin commands done, next is $name"
        answered $name $opcode refuse
        answered $name $opcode 300
        [ -n "$quick" ] && [ $((n % 3)) != 1 ] || answered $name $opcode never
        [ -n "$quick" ] && [ $((n % 3)) != 1 ] || disturbed $name $opcode remove
        [ -n "$quick" ] && [ $((n % 3)) != 2 ] || disturbed $name $opcode reset
        [ -n "$quick" ] && [ $((n % 3)) != 0 ] || disturbed $name $opcode kill
        [ -n "$cut" ] || whole=$((whole + 1))
    done 3< <(admin_commands)
    [ -z "$removals_timed" ] || in_guest A 'cd /sys/kernel/tracing && echo nop >current_tracer && echo >set_ftrace_filter' || true
    counts="$whole of $total admin commands, $attempts times refused, late or without answer, $disturbances removals and resets within one"
    counts+=", a removal in ${took_most[remove]} ms at most, a reset in ${took_most[reset]} ms, a removal of a card that is gone in $slowest ms; not met:$(tr ' ' '\n' <<<"$missed" | sort -u | tr '\n' ' ')"
    [ $slowest -le 2000 ] || ! on_kvm || note 'a removal took more than 2 s'
    # Removal and reset may have to wait for a probe; after a reset the card still does not answer.
    [ ${took_most[remove]} -le 7000 ] && [ ${took_most[reset]} -le 12000 ] || ! on_kvm || note 'a removal took more than 7 s, or a reset more than 12 s'
    [ $disturbances -gt 0 ] || note 'no command was met'
}

group_users() {
    local took
    expected='\] (nvme|nvmet|nvmet_rdma|block|I/O error|Buffer I/O error)[ :,]' # the disk is unreachable at times
    sweep A 200 offer-disk || note "the disk was not offered: $said"
    in_background B '/root/sweeps/sweep.sh use-disk'
    seconds=$(seconds_left 2) sweep A $((user_resets * 3 * patience)) nvme-resets $user_resets $peer || note "$said"
    counts=$said
    took=$(sed -n 's/.* after \([0-9]*\) ms.*/\1/p' <<<"$said")
    [ "${took:-0}" -le 5000 ] || ! on_kvm || note 'a reset took more than 5 s'
    stop_all
    sweep B 200 leave-disk || note "the disk is not left: $said"
    sweep A 200 withdraw-disk || note "the disk is not withdrawn: $said"
    in_guest A 'insmod /root/sweeps/dmabuf_exporter.ko' || note 'no exporter'
    sweep A $((user_resets * 3 * patience)) dmabuf-resets $user_resets '$(gid 4)' $peer || note "$said"
    counts+="; $said"
    in_guest A 'rmmod dmabuf_exporter' || note 'the exporter is held'
}

# fuzz_as NAME OPTION...: runs the fuzzer for half of $fuzz_seconds, logged as NAME.
fuzz_as() {
    local out=$logs/fuzz-$1.out
    shift
    limit=$((fuzz_seconds + 300)) in_guest A "chmod 666 /dev/infiniband/uverbs*
/root/sweeps/uverbs_fuzz -t $((fuzz_seconds / 2)) $* \$(ls /dev/infiniband/uverbs* | head -n 1)" >"$out" 2>&1 || note "$(tail -n 2 "$out" | head -n 1)"
    counts+="${counts:+; }$(tail -n 1 "$out")"
}
group_fuzz() {
    expected='uverbs_write: process .* changed security contexts' # by a child of the fuzzer
    local left
    left=$(seconds_left)
    counts="$fuzz_seconds s"
    if [ -n "$left" ] && [ "$left" -lt "$fuzz_seconds" ]; then
        counts="$left of $fuzz_seconds s"
        fuzz_seconds=$left
    fi
    fuzz_as root -s $seed
    fuzz_as user -s $seed -u 12345
    sweep A 200 left || note "$said"
}

# shellcheck source=scripts/lib/dingo.sh
. scripts/lib/dingo.sh
build_sweeps
[[ " $groups " != *' users '* ]] || build_exporter
boot --memory 2048 "${vm_options[@]}"
if on_kvm; then patience=30; else patience=200; fi
push_sweeps
[[ " $groups " != *' users '* ]] || "$vm" push --quiet --name "$session" A "$exporter/dmabuf_exporter.ko" "$exporter/dmabuf_move" /root/sweeps
for group in $groups; do
    if over; then
        skip "$group" 'no time left (DINGO_SWEEP_END)'
        continue
    fi
    begin_group
    expected=''
    group_$group
    end_group $group "$expected"
done
