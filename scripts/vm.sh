#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Two virtual machines with one Dingo card each and a wire between them. See usage below.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
for part in common kernel guest qemu channel session dingo commands; do
    # shellcheck source=/dev/null
    . "$here/lib/$part.sh"
done

usage() {
    cat <<'EOF'
Two virtual machines, A and B, with one Dingo card each and a wire between the cards.

usage:
  vm.sh [OPTIONS] -- 'SERVER COMMAND' -- 'CLIENT COMMAND'
        Boot both guests, start SERVER in A, wait until it listens, run CLIENT in B, show both
        outputs, clean up. Exit status: the client's if that is not 0, else the server's.
  vm.sh [OPTIONS] --shell
        Boot both guests and open a console on each (in tmux when there is one).
  Sessions, for several commands on one boot:
  vm.sh up   [OPTIONS] --name S [--parent PID]     boot; --parent ends the session with PID
  vm.sh run  --name S [RUN-OPTIONS] -- 'SERVER' -- 'CLIENT'
  vm.sh exec --name S [-t|-i] [--timeout SEC] A|B 'COMMAND'
        Run one command; stdout, stderr and exit status are the command's own.
        -i passes this command's stdin on, -t gives it a terminal.
  vm.sh push --name S A|B FILE... DIRECTORY        copy files into a guest
  vm.sh pull --name S A|B FILE... DIRECTORY        copy files out of a guest
  vm.sh dmesg --name S A|B [--warnings]            kernel log (only warnings and worse)
  vm.sh unplug|plug --name S A|B                   hot-unplug (QMP device_del), hot-plug the card
  vm.sh card --name S A|B start|stop|kill|log      the card process
  vm.sh card --name S A|B ctl stats|faults [SPEC]|link up|down|admin [SPEC]
  vm.sh qmp  --name S A|B 'JSON'                   any QMP command
  vm.sh shell --name S [A|B]                       consoles; one console
  vm.sh list                                       sessions and their state
  vm.sh down --name S | --all                      end sessions, leave no process behind
  vm.sh build [--kernel K] [--packages "p q"]      fill the cache only

options:
  --kernel 6.12|7.2     guest kernel: Debian 13's, or trixie-backports' (default 6.12);
                        with -debug, -lockdep or -kasan the laboratory's (scripts/kernel-lab.sh)
  --packages "P Q"      more Debian packages in the guests (cached)
  --faults SPEC         fault injection of both cards (see dingo-card --help);
                        --faults-a, --faults-b for one card
  --pcap FILE           capture the wire at A's end
  --rxe-b               guest B has an ordinary NIC and the kernel's rdma_rxe on the same wire
  --rxe-a               the same for guest A
  --rxe                 both: rxe against rxe, no card
  --wire unix|udp       what carries the frames between two cards (default udp, which is
                        faster; unix holds a sender back instead of ever losing a frame)
  --mtu N|default       MTU of the network interfaces, 256 to 9216 (default 9000); IPv6 needs 1280
  --accel kvm|tcg|auto  (default auto: KVM where it works)
  --cpus N              processors of a guest (default: half of this machine's, at most 2)
  --memory MIB          memory of a guest (default 1024)
  --engine model|rtl    what both cards are made of (default model); --engine-a, --engine-b for
                        one card. rtl: SystemVerilog under Verilator, a thousand times slower, in
                        a dingo-card that was configured with DINGO_RTL_ENGINE
  --card PATH           the dingo-card program (default: built from this tree)
  --card-args "ARGS"    more arguments for dingo-card, for example "--max-qp 64"
  --log LEVEL           log level of dingo-card
  --append "ARGS"       more parameters for the guests' kernels, for example "iomem=relaxed"
  --iommu               an IOMMU before the card: each address that it is given is translated, and
                        only while the driver has it mapped (intel-iommu, strict)
  --ko FILE             the kernel module dingo.ko, and dingo_ib.ko beside it (default: built from this tree)
  --provider DIR        directory with libdingo-rdmav34.so and dingo.driver
  --switch              each card stands below a PCIe switch of its guest
  --nvme MIB            and beside it an NVMe disk of QEMU's; with --switch
  --second-card "ARGS"  and in A a second card, alone on its wire, with these arguments; with --switch
  --qemu-args "ARGS"    more arguments for both QEMUs, for example "-trace pci_nvme_map_prp"
  --overlay DIR         a directory tree laid over the guests' root
  --dmesg PREFIX        at the end write the guests' kernel logs to PREFIX.A and PREFIX.B
  --keep                one-shot form: leave the session running afterwards
run options (also for the one-shot form):
  --server B            run SERVER in B and CLIENT in A
  --timeout SEC         limit for each command (default 300); then its status is 124
  --linger SEC          time for SERVER to end after CLIENT has (default 10); then it is ended
                        and counts as failed with status 124
  --kill-server         SERVER is meant to run on: end it at once, and do not count its status
  --out DIR             keep the outputs apart as DIR/{A,B}.{out,err,rc}
  --quiet               no progress messages

The guests: A is 10.77.0.1 and fd77::1, B is 10.77.0.2 and fd77::2 (also by the names A and B).
The RDMA device gets its name from udev, as on any machine: /sys/class/infiniband lists it.
Everything built is kept in ${DINGO_CACHE:-~/.cache/dingo}; deleting that directory is safe.

examples:
  vm.sh -- ib_write_bw -- 'ib_write_bw A'
  vm.sh --kernel 7.2 --faults drop=0.01 --pcap /tmp/x.pcap -- 'ib_send_bw -e' -- 'ib_send_bw -e A'
  vm.sh --engine rtl -- 'ib_write_bw -n 20 -s 4096' -- 'ib_write_bw -n 20 -s 4096 A'
  vm.sh up --name t && vm.sh exec --name t A ibv_devinfo; vm.sh down --name t
EOF
}

kernel=6.12 packages='' append='' iommu='' accel=auto cpus='' memory=1024 mtu=9000 kind_A=card kind_B=card wire=udp
engine_A='' engine_B='' switch='' nvme='' second_card='' second_card_args='' qemu_args=''
card='' card_args='' faults_A='' faults_B='' pcap='' log_level='' boot_timeout=300 parent=''
preload='' ko='' provider='' overlay='' name='' dmesg_prefix='' keep='' shell_mode=''
timeout=300 linger=10 kill_server='' server_side=A out_dir='' tty='' use_stdin='' warnings_only='' all='' own_session=''
positional=()

parse() {
    while [ $# -gt 0 ]; do
        case $1 in
        --kernel | --packages | --append | --faults | --faults-a | --faults-b | --engine | --engine-a | --engine-b | --pcap | --mtu | --accel | --wire | \
            --cpus | --memory | --card | --card-args | --log | --ko | --provider | --overlay | \
            --nvme | --second-card | --qemu-args | \
            --dmesg | --server | --timeout | --linger | --out | --name | --parent)
            [ $# -ge 2 ] || die "$1 needs a value"
            ;;
        esac
        case $1 in
        --kernel) kernel=$2; shift ;;
        --packages) packages=$2; shift ;;
        --append) append=$2; shift ;;
        --iommu) iommu=1 ;;
        --switch) switch=1 ;;
        --nvme) nvme=$2; shift ;;
        --second-card) second_card=1 second_card_args=$2; shift ;;
        --qemu-args) qemu_args=$2; shift ;;
        --faults) faults_A=$2 faults_B=$2; shift ;;
        --faults-a) faults_A=$2; shift ;;
        --faults-b) faults_B=$2; shift ;;
        --engine) engine_A=$2 engine_B=$2; shift ;;
        --engine-a) engine_A=$2; shift ;;
        --engine-b) engine_B=$2; shift ;;
        --pcap) pcap=$(realpath -m "$2"); shift ;;
        --rxe-a) kind_A=rxe ;;
        --rxe-b) kind_B=rxe ;;
        --rxe) kind_A=rxe kind_B=rxe ;;
        --wire) wire=$2; shift ;;
        --mtu) mtu=$2; shift ;;
        --accel) accel=$2; shift ;;
        --cpus) cpus=$2; shift ;;
        --memory) memory=$2; shift ;;
        --card) card=$(realpath -m "$2"); shift ;;
        --card-args) card_args=$2; shift ;;
        --log) log_level=$2; shift ;;
        --ko) ko=$(realpath -m "$2"); shift ;;
        --provider) provider=$(realpath -m "$2"); shift ;;
        --overlay) overlay=$(realpath -m "$2"); shift ;;
        --dmesg) dmesg_prefix=$(realpath -m "$2"); shift ;;
        --keep) keep=1 ;;
        --shell) shell_mode=1 ;;
        --server) server_side=$(side_of "$2") || exit 125; shift ;;
        --timeout) timeout=$2; shift ;;
        --linger) linger=$2; shift ;;
        --kill-server) kill_server=1 ;;
        --out) out_dir=$(realpath -m "$2"); shift ;;
        --quiet) export DINGO_QUIET=1 ;;
        --name) name=$2; shift ;;
        --parent) parent=$2; shift ;;
        --warnings) warnings_only=1 ;;
        --all) all=1 ;;
        -t) tty=1 ;;
        -i) use_stdin=1 ;;
        -h | --help) usage; exit 0 ;;
        --) positional+=("$@"); return ;;
        -*) die "unknown option $1 (see vm.sh --help)" ;;
        *) positional+=("$1") ;;
        esac
        shift
    done
}

# check_options: dies if a number is not one, as they go into arithmetic and command lines.
check_options() {
    local v
    # Two cards and two guests share the host's processors: more guest processors would only take
    # turns.
    [ -n "$cpus" ] || cpus=$(($(nproc) >= 4 ? 2 : 1))
    for v in timeout linger cpus memory; do
        [[ ${!v} =~ ^[0-9]+$ ]] || die "--$v takes a number, not '${!v}'"
    done
    [ "$cpus" -ge 1 ] || die "--cpus: a guest needs one"
    [ "$memory" -ge 256 ] || die "--memory: a guest needs 256 MiB"
    [[ $kernel =~ ^(6\.12|7\.2)(-debug|-lockdep|-kasan)?$ ]] || die "--kernel takes 6.12 or 7.2, not '$kernel'"
    [ "$mtu" = default ] || { [[ $mtu =~ ^[0-9]{1,5}$ ]] && [ "$mtu" -ge 256 ] && [ "$mtu" -le 9216 ]; } ||
        die "--mtu takes 256 to 9216 or 'default', not '$mtu'"
    [[ $nvme =~ ^[0-9]*$ ]] || die "--nvme takes a number of MiB, not '$nvme'"
    [ -n "$switch" ] || [ -z "$nvme$second_card" ] || die "--nvme and --second-card need --switch"
    for v in "$engine_A" "$engine_B"; do [[ $v =~ ^(model|rtl|)$ ]] || die "--engine takes model or rtl, not '$v'"; done
    for v in card ko; do [ -z "${!v}" ] || [ -f "${!v}" ] || die "--$v: no file '${!v}'"; done
    for v in provider overlay; do [ -z "${!v}" ] || [ -d "${!v}" ] || die "--$v: no directory '${!v}'"; done
    [[ $accel =~ ^(kvm|tcg|auto)$ ]] || die "--accel takes kvm, tcg or auto, not '$accel'"
    [[ $wire =~ ^(unix|udp)$ ]] || die "--wire takes unix or udp, not '$wire'"
    [ "$wire" = udp ] || [ "$kind_A$kind_B" = cardcard ] || die "rxe guests are joined by udp only"
    [[ $name =~ ^([A-Za-z0-9_-][A-Za-z0-9_.-]{0,39})?$ ]] || die "--name: letters, digits, '_', '-', and '.' after the first"
    [ "$name" != slots ] || die "--name: 'slots' has the locks of all sessions"
    [[ -z $parent || $parent =~ ^[0-9]+$ ]] || die "--parent takes a process id"
}

side_of() {
    case ${1:-} in
    A | a) echo A ;;
    B | b) echo B ;;
    *) die "expected guest A or B, not '${1:-}'" ;;
    esac
}

# use_session: sets $session to the directory of the running session --name.
use_session() {
    [ -n "$name" ] || die "--name says which session (vm.sh list)"
    session=$sessions_dir/$name
    [ -r "$session/conf" ] || die "no session '$name'"
    . "$session/conf"
    alive "$session/supervisor.pid" || die "session '$name' has ended; vm.sh down --name $name clears it"
}

# prepare: makes everything that a boot needs, or takes it from the cache.
prepare() {
    need_root
    need_packages mmdebstrap debian-archive-keyring gpgv openssh-client cpio python3 \
        util-linux procps
    qemu_dir=$(qemu_root)
    # shellcheck disable=SC2086 # a list of words
    root_img=$(guest_root_image $packages)
    kernel_dir=$(kernel_image "$kernel")
    if [ "$accel" = auto ] || [ "$accel" = kvm ]; then
        if kvm_usable "$kernel_dir"; then
            accel=kvm
        else
            [ "$accel" = auto ] || die "KVM does not work on this machine (--accel tcg does)"
            accel=tcg
        fi
    fi
    if [ "$kind_A" = card ] || [ "$kind_B" = card ]; then
        preload=$(qemu_preload)
        prepare_dingo
    fi
}

# cmd_up: start a session and wait until both guests are ready.
cmd_up() {
    local started attempt lock
    [ -n "$name" ] || die "up needs --name"
    session=$sessions_dir/$name
    mkdir -p "$sessions_dir/slots"
    lock=$sessions_dir/slots/$name.lock
    # Held until the guests are ready: another `up` would delete this one's files. -ef: the last
    # owner may have removed the file after this process opened it.
    exec 5>"$lock"
    flock -n 5 && [ "$lock" -ef /dev/fd/5 ] || die "session '$name' is being started by another vm.sh"
    ! alive "$session/supervisor.pid" || die "session '$name' is running already"
    prepare
    # Under emulation, a debug kernel takes minutes to boot.
    [ "$accel" = kvm ] || ! is_debug_kernel "$kernel" || boot_timeout=1200
    started=$SECONDS
    for attempt in 1 2; do
        start_session
        failed_side=''
        wait_ready A "$((SECONDS + boot_timeout))" || failed_side=A
        [ -n "$failed_side" ] || wait_ready B "$((SECONDS + boot_timeout))" || failed_side=B
        [ -n "$failed_side" ] || break
        # Try again: a busy host can break an emulated kernel's timer calibration. That is no bug of
        # Dingo.
        if [ $attempt = 1 ] && ! grep -q systemd-udevd "$session/$failed_side.console"; then
            log "guest $failed_side stopped before its first process; once more"
            end_session
        else
            boot_failed "$failed_side"
        fi
    done
    rm -f "$lock"
    exec 5>&-
    log "session $name: ready after $((SECONDS - started)) s"
}

# start_session: makes the session's directory and starts its supervisor.
start_session() {
    own_session=1
    rm -rf "$session"
    mkdir -p "$session/overlay"
    [ -z "$overlay" ] || cp -a "$overlay/." "$session/overlay/"
    if [ "$kind_A" = card ] || [ "$kind_B" = card ]; then install_dingo "$session/overlay"; fi
    mkfifo "$session/fifo"
    save_conf
    echo starting >"$session/state"
    log "session $name: booting ($accel, kernel $kernel, A: $kind_A, B: $kind_B)"
    setsid "$here/vm.sh" __supervise "$session" </dev/null >"$session/supervisor.log" 2>&1 5>&- &
    record_pid "$session/supervisor.pid" $!
}

# wait_ready SIDE DEADLINE: wait for the guest's channel, then for its own report.
wait_ready() {
    local side=$1 deadline=$2 state=''
    until channel_open "$side"; do
        [ $SECONDS -lt "$deadline" ] || return 1
        alive "$session/supervisor.pid" || return 1
        [[ $(cat "$session/state") != failed* ]] || return 1
        if [ -e "$session/$side.qemu.pid" ] && ! alive "$session/$side.qemu.pid"; then return 1; fi
        sleep 0.2
    done
    ssh_words "$side"
    state=$(timeout $((deadline - SECONDS + 1)) "${ssh_words[@]}" \
        'until [ -s /run/dingo/state ]; do sleep 0.1; done; cat /run/dingo/state' </dev/null) ||
        return 1
    [ "$state" = ready ] && return 0
    log "guest $side is up, but without a working card; see vm.sh dmesg"
    echo "$state" >"$session/$side.state"
}

boot_failed() {
    local side=$1 f
    {
        echo "guest $side did not come up: $(cat "$session/state")"
        for f in supervisor.log "$side.qemu.log" "$side.card.log" "$side.ssh.log" "$side.console"; do
            [ ! -s "$session/$f" ] || { echo "--- $f"; tail -15 "$session/$f"; }
        done
    } >&2
    end_session
    die "session $name failed"
}

# end_session: stop the supervisor of $session and remove its directory.
end_session() {
    end_process "$session/supervisor.pid"
    # The supervisor ends its children; a killed one may have left some.
    end_children
    rm -rf "$session"
}

cmd_down() {
    local s
    if [ -n "$all" ]; then
        for s in "$sessions_dir"/*/conf; do
            [ -e "$s" ] || continue
            session=${s%/conf}
            end_session
        done
        return
    fi
    [ -n "$name" ] || die "down needs --name or --all"
    session=$sessions_dir/$name
    [ -d "$session" ] || return 0
    [ -z "$dmesg_prefix" ] || collect_dmesg
    end_session
}

cmd_list() {
    local s
    for s in "$sessions_dir"/*/conf; do
        [ -e "$s" ] || continue
        session=${s%/conf}
        (
            . "$session/conf"
            state=$(cat "$session/state")
            alive "$session/supervisor.pid" || state=ended
            printf '%s\t%s\tkernel %s, %s, A %s, B %s\n' "${session##*/}" "$state" "$kernel" \
                "$accel" "$kind_A" "$kind_B"
        )
    done
}

cmd_shell() {
    if [ -n "${1:-}" ]; then
        tty=1
        cmd_exec "$1" 'exec bash -i'
    elif command -v tmux >/dev/null && [ -t 0 ] && [ -t 1 ]; then
        tmux -L dingo new-session -s "dingo-$name" "$here/vm.sh shell --name $name A" \; \
            split-window -v "$here/vm.sh shell --name $name B" \; select-pane -t 0
    else
        printf 'two consoles, one command each (vm.sh down --name %s ends the session):\n' "$name"
        printf '  %s shell --name %s A\n  %s shell --name %s B\n' "$here/vm.sh" "$name" "$here/vm.sh" "$name"
        return 10
    fi
}

# cmd_once: runs a command in a temporary session, which ends with this process.
cmd_once() {
    local rc=0
    if [ -z "$shell_mode" ]; then
        [ "${#positional[@]}" = 4 ] || { usage >&2; exit 125; }
    fi
    name=${name:-once-$$}
    [ -n "$keep" ] || parent=$$
    [ -n "$keep" ] || trap 'end_once' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    cmd_up
    if [ -n "$shell_mode" ]; then
        if ! cmd_shell; then
            echo 'this command keeps the guests until it is interrupted (Ctrl-C)'
            sleep infinity &
            wait $! || true
        fi
    else
        cmd_run || rc=$?
    fi
    [ -z "$dmesg_prefix" ] || collect_dmesg
    exit "$rc"
}

end_once() {
    trap '' INT TERM HUP
    # Without it, --name named a session of another vm.sh.
    [ -z "$own_session" ] || end_session
}

main() {
    local command=once
    case ${1:-} in
    up | down | run | exec | push | pull | dmesg | unplug | plug | card | qmp | shell | list | build)
        command=$1
        shift
        ;;
    __supervise)
        session=$2
        . "$session/conf"
        supervise
        exit
        ;;
    '') usage >&2; exit 125 ;;
    esac
    parse "$@"
    check_options
    set -- "${positional[@]}"
    [ "$command" = build ] || own_sessions
    case $command in
    once)
        [[ ${1:-} != [a-z]* ]] || die "'$1': the command comes before its options (vm.sh --help)"
        cmd_once
        ;;
    up) cmd_up ;;
    down) cmd_down ;;
    list) cmd_list ;;
    build) prepare ;;
    *)
        use_session
        case $command in
        run) cmd_run ;;
        exec) cmd_exec "$@" ;;
        push | pull) cmd_copy "$command" "$@" ;;
        dmesg) cmd_dmesg "$@" ;;
        card) cmd_card "$@" ;;
        unplug | plug) cmd_plug "$command" "$@" ;;
        qmp) qmp "$(side_of "${1:-}")" "${2:?JSON}" ;;
        shell) cmd_shell "$@" || [ $? = 10 ] ;;
        esac
        ;;
    esac
}

# On one line: bash reads the file as it runs, and an update may have replaced it before main
# returns.
main "$@"; exit
