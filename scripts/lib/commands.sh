# SPDX-License-Identifier: BSD-2-Clause
# vm.sh's commands for a running session. Sourced by vm.sh after it has read its options, which are
# the variables used here; $session is the session's directory.
# shellcheck disable=SC2154

# remember_command ID, forget_command ID: the supervisor ends a remembered command in the guest if
# this process dies before it forgets the command.
remember_command() {
    process_start "$1" >"$session/new-command.$1"
    mv "$session/new-command.$1" "$session/command.$1"
}
forget_command() { rm -f "$session/command.$1"; }

# cmd_exec SIDE COMMAND
cmd_exec() {
    local side id rc=0
    side=$(side_of "${1:-}")
    [ -n "${2:-}" ] || die "exec needs a command"
    shift
    id=$BASHPID
    if [ -n "$tty" ]; then
        channel "$side" -t "$(guest_command "$id" "$*")"
        return
    fi
    [ -n "$use_stdin" ] || exec </dev/null
    trap 'guest_stop "$side" "$id"; forget_command "$id"; exit 130' INT TERM HUP
    remember_command "$id"
    # In the background, because bash delays traps until a foreground command ends; <&0 keeps its
    # stdin.
    ssh_words "$side"
    timeout --foreground "$timeout" "${ssh_words[@]}" "$(guest_command "$id" "$*")" <&0 &
    wait $! || rc=$?
    if [ $rc = 124 ]; then
        guest_stop "$side" "$id"
        log "command in $side ended after $timeout s"
    fi
    if [ $rc = 255 ] && ! alive "$session/$side.qemu.pid"; then
        log "guest $side has ended; its console ($session/$side.console) ends with:"
        tail -n 5 "$session/$side.console" >&2
    fi
    forget_command "$id"
    return $rc
}

# guest_run SIDE ID COMMAND: runs COMMAND for at most $timeout seconds; status 124 if it timed out.
guest_run() {
    local rc=0
    ssh_words "$1"
    timeout --foreground "$timeout" "${ssh_words[@]}" "$(guest_command "$2" "$3")" </dev/null || rc=$?
    # End it in the guest, too: until then the master connection keeps our output's descriptors
    # open.
    [ $rc != 124 ] || guest_stop "$1" "$2"
    return $rc
}

# cmd_run -- SERVER -- CLIENT: runs SERVER in guest $server_side and CLIENT in the other.
cmd_run() {
    local id dir job_s rc_s rc_c i grace=2 s=$server_side c
    [ "${#positional[@]}" = 4 ] && [ "${positional[0]}" = -- ] && [ "${positional[2]}" = -- ] ||
        die "expected: -- 'SERVER COMMAND' -- 'CLIENT COMMAND'"
    c=$(peer_of "$s")
    [ "$accel" = kvm ] || grace=4
    id=$BASHPID
    dir=${out_dir:-$session/run.$id}
    mkdir -p "$dir"
    rm -f "$dir"/[AB].{out,err,rc}
    trap 'guest_stop A "$id"; guest_stop B "$id"; forget_command "$id"; exit 130' INT TERM HUP
    remember_command "$id"
    labelled "[$s] " "$dir/$s" guest_run "$s" "$id" "${positional[1]}" &
    job_s=$!
    ssh_words "$s"
    timeout 90 "${ssh_words[@]}" "/usr/lib/dingo-guest/wait-listen $id $grace" \
        </dev/null >/dev/null 2>&1 || true
    labelled "[$c] " "$dir/$c" guest_run "$c" "$id" "${positional[3]}" &
    wait $! || true
    rc_c=$(cat "$dir/$c.rc" 2>/dev/null || echo 255)
    i=0
    [ -z "$kill_server" ] || i=$((linger * 10))
    while [ ! -e "$dir/$s.rc" ] && [ $i -lt $((linger * 10)) ]; do
        sleep 0.1
        i=$((i + 1))
    done
    if [ -e "$dir/$s.rc" ]; then
        rc_s=$(cat "$dir/$s.rc")
    else
        guest_stop "$s" "$id"
        rc_s=124
        [ -n "$kill_server" ] || log "[$s] did not end within $linger s after [$c]; ended it"
        wait $job_s || true
        echo "$rc_s" >"$dir/$s.rc"
    fi
    [ -z "$kill_server" ] || rc_s=0
    wait $job_s || true
    trap - INT TERM HUP
    forget_command "$id"
    log "[$s] exit status $rc_s, [$c] exit status $rc_c"
    [ -n "$out_dir" ] || rm -rf "$dir"
    [ "$rc_c" = 0 ] || return "$rc_c"
    return "$rc_s"
}

collect_dmesg() {
    local side
    for side in A B; do
        channel "$side" dmesg </dev/null >"$dmesg_prefix.$side" 2>/dev/null ||
            cp "$session/$side.console" "$dmesg_prefix.$side" || true
    done
}

cmd_copy() {
    local verb=$1 side last files=() f
    side=$(side_of "${2:-}")
    shift 2
    [ $# -ge 2 ] || die "$verb needs FILE... DIRECTORY"
    last=${!#}
    files=("${@:1:$#-1}")
    if [ "$verb" = push ]; then
        for f in "${files[@]}"; do
            [ -e "$f" ] || die "no file '$f'"
            tar -C "$(dirname "$(realpath "$f")")" -cf - "$(basename "$(realpath "$f")")" |
                channel "$side" "mkdir -p $(printf %q "$last") && tar --no-same-owner -C $(printf %q "$last") -xf -"
        done
    else
        mkdir -p "$last"
        for f in "${files[@]}"; do
            channel "$side" "tar -C $(printf %q "$(dirname "$f")") -cf - $(printf %q "$(basename "$f")")" \
                </dev/null | tar --no-same-owner -C "$last" -xf -
        done
    fi
}

cmd_dmesg() {
    local side
    side=$(side_of "${1:-}")
    if [ -n "$warnings_only" ]; then
        channel "$side" /usr/lib/dingo-guest/warnings
    else
        channel "$side" dmesg
    fi </dev/null
}

# supervisor_request VERB SIDE: asks the supervisor, which must be the cards' parent, to do VERB.
supervisor_request() {
    local reply=$session/reply.$BASHPID i
    echo "$reply $1 $2" >"$session/fifo"
    for i in {1..300}; do
        if [ -e "$reply" ]; then
            local rc
            rc=$(cat "$reply")
            rm -f "$reply"
            return "$rc"
        fi
        sleep 0.05
    done
    die "the session's supervisor does not answer"
}

cmd_card() {
    local side
    side=$(side_of "${1:-}")
    [ "$(kind_of "$side")" = card ] || die "guest $side has no Dingo card"
    case ${2:-} in
    start)
        # Neither QEMU nor the guest's driver reconnects to a card that died: unplug it first.
        if plugged "$side" && ! alive "$session/$side.card.pid"; then
            log "the card of guest $side died: it is unplugged, and a new one plugged in"
            cmd_plug unplug "$side"
            cmd_plug plug "$side"
        else
            supervisor_request card-start "$side"
        fi
        ;;
    stop | kill) supervisor_request "card-$2" "$side" ;;
    log) cat "$session/$side.card.log" ;;
    ctl) shift 2; "$card" ctl "$session/$side.control" "$@" ;;
    *) die "card: start, stop, kill, log or ctl" ;;
    esac
}

qmp() { python3 "$here/lib/qmp.py" "$session/$1.qmp" "$2"; }

# plugged SIDE: succeeds if that guest's card (or NIC) is plugged in QEMU.
plugged() {
    qmp "$1" '{"execute":"qom-list","arguments":{"path":"/machine/peripheral"}}' |
        grep -qE '"name": "(card|nic)"'
}

cmd_plug() {
    local side device=card i
    side=$(side_of "${2:-}")
    [ "$(kind_of "$side")" = card ] || device=nic
    if [ "$1" = unplug ]; then
        plugged "$side" || die "guest $side has no card plugged in"
        for i in {1..600}; do
            # Repeated, because a guest that has only just booted may miss the first request.
            if [ $((i % 100)) = 1 ]; then
                qmp "$side" "{\"execute\":\"device_del\",\"arguments\":{\"id\":\"$device\"}}" \
                    >/dev/null || true
            fi
            sleep 0.1
            plugged "$side" || break
        done
        ! plugged "$side" || die "guest $side did not release its card within 60 s"
        # QEMU keeps its connection to this process (lib/qemu_preload.c says why); the next plug
        # starts another.
        [ $device = nic ] || supervisor_request card-stop "$side"
    else
        [ $device = card ] || die "plug: guest $side has no Dingo card"
        ! plugged "$side" || die "guest $side has its card already"
        supervisor_request card-stop "$side"
        supervisor_request card-start "$side" || die "card $side did not start"
        qmp "$side" "{\"execute\":\"device_add\",\"arguments\":$(card_device_json "$side")}" \
            >/dev/null || die "QEMU refused the card"
    fi
}
