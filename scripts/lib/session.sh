# SPDX-License-Identifier: BSD-2-Clause
# A session: two guests, their cards and the wire, owned by one supervisor process. All files of
# a session live in its directory $session; its parameters are the variables in $session/conf.

# Unix socket paths have 108 bytes, so sessions live in a short place.
sessions_dir=${DINGO_VM_DIR:-/tmp/dingo-vm-$(id -u)}
sessions_dir=${sessions_dir%/}

session_variables=(kernel packages accel cpus memory mtu kind_A kind_B wire card card_args engine_A engine_B
    faults_A faults_B pcap append iommu switch nvme second_card second_card_args qemu_args kernel_dir root_img qemu_dir preload boot_timeout parent
    log_level)

# own_sessions: makes $sessions_dir, for this user only. Dies if it is another user's or a link:
# commands source the sessions' files, and anyone may make directories in /tmp.
own_sessions() {
    local mode
    [ -e "$sessions_dir" ] || mkdir -p -m 700 "$sessions_dir"
    [ ! -L "$sessions_dir" ] && [ -d "$sessions_dir" ] && [ -O "$sessions_dir" ] ||
        die "$sessions_dir is not a directory of this user (owner: $(stat -c %U "$sessions_dir")); DINGO_VM_DIR names another"
    mode=$(stat -c %a "$sessions_dir")
    [ $((0$mode & 022)) = 0 ] ||
        die "others may write to $sessions_dir (mode $mode): chmod go-w, or name another by DINGO_VM_DIR"
}

save_conf() {
    local v
    for v in "${session_variables[@]}"; do printf '%s=%q\n' "$v" "${!v:-}"; done >"$session/conf"
}

peer_of() { [ "$1" = A ] && echo B || echo A; }

# wire_address SIDE: prints the address of that end of the wire: UDP on loopback addresses of this
# session's slot.
wire_address() {
    local slot
    slot=$(cat "$session/slot")
    [ "$1" = A ] && echo "127.77.$slot.1" || echo "127.77.$slot.2"
}
wire_port=4801

# wire_of SIDE: prints the --wire option of that card. UNIX sockets block a sender where UDP may
# lose frames, but reached half of UDP's bandwidth when measured.
wire_of() {
    local peer
    peer=$(peer_of "$1")
    if [ "$wire" = unix ]; then
        echo "unix:$session/$1.wire,$session/$peer.wire"
    else
        echo "udp:$(wire_address "$1"):$wire_port,$(wire_address "$peer"):$wire_port"
    fi
}

# With --switch, a PCIe switch has the card at its first port, a disk at the second and a second
# card at the third; the fourth is free.
nic_pci() { [ -n "$switch" ] && echo 0000:03:00.0 || echo 0000:01:00.0; }
card_bus() { [ -n "$switch" ] && echo port0 || echo rp4; }

mac_of() { [ "$1" = A ] && echo 02:44:49:00:00:0a || echo 02:44:49:00:00:0b; }
kind_of() { local v=kind_$1; echo "${!v}"; }

# alive PIDFILE: succeeds if that process still runs; the start time guards against a reused pid.
alive() {
    local pid start
    [ -r "$1" ] || return 1
    read -r pid start <"$1" || return 1
    # An empty start time: the process had ended before it could be read.
    [ -n "$start" ] && [ "$(process_start "$pid")" = "$start" ]
}
process_start() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }
record_pid() { printf '%s %s\n' "$2" "$(process_start "$2")" >"$1"; }

# end_process PIDFILE: sends TERM and, if the process still runs after two seconds, KILL.
end_process() {
    local pid start i
    [ -r "$1" ] || return 0
    read -r pid start <"$1" || return 0
    for i in {1..40}; do
        alive "$1" || break
        [ "$i" = 1 ] && kill -TERM "$pid" 2>/dev/null
        [ "$i" = 40 ] && kill -KILL "$pid" 2>/dev/null
        sleep 0.05
    done
    rm -f "$1"
}

# make_session_cpio SIDE: packs the session's files, which the initramfs lays over the guest's root.
make_session_cpio() {
    local side=$1 tree=$session/$1.tree
    mkdir -p "$tree/session/etc" "$tree/session/usr/lib/dingo-guest/boot.d"
    cp "$dingo_root"/scripts/guest/{init,stop,wait-listen,warnings,configure-nic,sshd_config} \
        "$tree/session/usr/lib/dingo-guest/"
    mkdir -p "$tree/session/usr/lib/udev/rules.d"
    # The first card of a guest gets the IP addresses, also if there is a second one.
    sed "s/0000:01:00.0/$(nic_pci)/" "$dingo_root/scripts/guest/90-dingo-guest.rules" \
        >"$tree/session/usr/lib/udev/rules.d/90-dingo-guest.rules"
    printf '127.0.0.1 localhost\n::1 localhost ip6-localhost\n%s\n%s\n%s\n%s\n' \
        '10.77.0.1 A a dingo-a' '10.77.0.2 B b dingo-b' 'fd77::1 A6 a6' 'fd77::2 B6 b6' \
        >"$tree/session/etc/hosts"
    {
        local n=1
        [ "$side" = A ] || n=2
        echo "GUEST_HOSTNAME=dingo-${side,,}"
        echo "NIC_KIND=$(kind_of "$side")"
        echo "NIC_PCI=$(nic_pci)"
        echo "MTU=$mtu"
        echo "IPV4=10.77.0.$n/24"
        echo "IPV6=fd77::$n/64"
    } >"$tree/session/etc/dingo-guest.conf"
    mkdir -p "$tree/session/root/.ssh"
    printf 'Host *\n StrictHostKeyChecking no\n UserKnownHostsFile /dev/null\n LogLevel ERROR\n' \
        >"$tree/session/root/.ssh/config"
    [ ! -d "$session/overlay" ] || cp -a "$session/overlay/." "$tree/session/"
    (cd "$tree" && find session | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0) \
        >"$session/$side.cpio"
    cat "$kernel_dir/initrd" "$session/$side.cpio" >"$session/$side.initrd"
    rm -rf "$tree" "$session/$side.cpio"
}

# Children die with the supervisor, however it ends.
child() { exec setpriv --pdeathsig KILL -- "$@"; }

start_card() {
    local side=$1 i args=()
    local faults=faults_$side engine=engine_$side
    rm -f "$session/$side.vfu" "$session/$side.control"
    args=(--vfio-user "$session/$side.vfu" --mac "$(mac_of "$side")"
        --control "$session/$side.control"
        --wire "$(wire_of "$side")")
    [ -z "${!faults}" ] || args+=(--faults "${!faults}")
    [ -z "${!engine}" ] || args+=(--engine "${!engine}")
    [ -z "$log_level" ] || args+=(--log "$log_level")
    if [ "$side" = A ] && [ -n "$pcap" ]; then
        # A restarted card must not overwrite the capture of the one before.
        i=$pcap
        [ ! -e "$session/pcap-taken" ] || i=$pcap.$(date +%s)
        touch "$session/pcap-taken"
        args+=(--pcap "$i")
    fi
    # shellcheck disable=SC2086 # the user's own words
    child "$card" "${args[@]}" $card_args </dev/null >>"$session/$side.card.log" 2>&1 8>&- 9>&- &
    record_pid "$session/$side.card.pid" $!
    for i in {1..200}; do
        [ ! -S "$session/$side.vfu" ] || return 0
        alive "$session/$side.card.pid" || break
        sleep 0.05
    done
    echo "the card of $side did not start:"
    tail -5 "$session/$side.card.log"
    return 1
}

card_device_json() {
    printf '{"driver":"vfio-user-pci","id":"%s","bus":"%s","rombar":0,"socket":{"type":"unix","path":"%s"}}' \
        "${2:-card}" "${3:-$(card_bus)}" "$session/$1.vfu"
}

has_second_card() { [ "$1" = A ] && [ -n "$second_card" ]; }

# start_second_card SIDE: starts one more card for that guest, on a wire without a peer, to test
# what the cards of one machine do with each other.
start_second_card() {
    local side=$1 i
    # shellcheck disable=SC2086 # the user's own words
    child "$card" --vfio-user "$session/${side}2.vfu" --control "$session/${side}2.control" \
        --wire "unix:$session/${side}2.wire,$session/${side}2.nobody" \
        --mac "02:44:49:00:01:0${side,,}" $second_card_args </dev/null >>"$session/${side}2.card.log" 2>&1 8>&- 9>&- &
    record_pid "$session/${side}2.card.pid" $!
    for i in {1..200}; do
        [ ! -S "$session/${side}2.vfu" ] || return 0
        alive "$session/${side}2.card.pid" || break
        sleep 0.05
    done
    return 1
}

# switch_arguments SIDE: sets the array switch_args to QEMU's options for a PCIe switch at rp4 and
# the devices below it, except the first card.
switch_arguments() {
    local side=$1 n
    switch_args=(-device x3130-upstream,id=switch,bus=rp4)
    for n in 0 1 2 3; do
        switch_args+=(-device "xio3130-downstream,id=port$n,bus=switch,addr=$n,chassis=1$n,slot=1$n")
    done
    if [ -n "$nvme" ]; then
        truncate -s "${nvme}M" "$session/$side.nvme"
        switch_args+=(-blockdev "driver=file,node-name=nvme-file,filename=$session/$side.nvme,discard=unmap"
            -device nvme,drive=nvme-file,serial=dingo,bus=port1)
    fi
    ! has_second_card "$side" || switch_args+=(-device "$(card_device_json "${side}2" card2 port2)")
}

start_qemu() {
    local side=$1 peer args mtu_property='' clock='' machine='' translation=''
    peer=$(peer_of "$side")
    [ "$accel" = kvm ] || clock="tsc_early_khz=$(tsc_khz)"
    if [ -n "$iommu" ]; then
        machine=,kernel-irqchip=split
        translation='intel_iommu=on iommu.passthrough=0 iommu.strict=1'
    fi
    args=(-nodefaults -no-user-config -no-reboot -display none -name "dingo-$side"
        -object "memory-backend-memfd,id=ram,size=${memory}M,share=on"
        -m "${memory}M" -smp "$cpus"
        -machine "q35,memory-backend=ram,hpet=off,smm=off,vmport=off,usb=off,i8042=off$machine"
        -kernel "$(boot_file "$kernel_dir")" -initrd "$session/$side.initrd"
        -append "console=ttyS0 quiet loglevel=5 panic=-1 mitigations=off nokaslr no_timer_check random.trust_cpu=on rcupdate.rcu_cpu_stall_timeout=180 watchdog_thresh=60 tsc=reliable $clock $translation $append"
        -chardev "file,id=console,path=$session/$side.console" -serial chardev:console
        -qmp "unix:$session/$side.qmp,server=on,wait=off"
        -blockdev "driver=file,node-name=root-file,filename=$root_img,read-only=on"
        -device virtio-blk-pci,drive=root-file,bus=pcie.0,addr=8
        -blockdev "driver=file,node-name=modules-file,filename=$kernel_dir/modules.img,read-only=on"
        -device virtio-blk-pci,drive=modules-file,bus=pcie.0,addr=9
        -device virtio-serial-pci,bus=pcie.0,addr=a
        -chardev "socket,id=ssh,path=$session/$side.ssh,server=on,wait=off"
        -device virtserialport,chardev=ssh,name=dingo.ssh
        # A root port, because devices of pcie.0 itself cannot be unplugged.
        -device pcie-root-port,id=rp4,bus=pcie.0,addr=4,chassis=1,slot=4)
    # Before the devices whose addresses it translates.
    [ -z "$iommu" ] || args+=(-device 'intel-iommu,intremap=on,caching-mode=on')
    if [ "$accel" = kvm ]; then
        args+=(-accel kvm -cpu host)
    else
        # Without fast string instructions, which TCG emulates byte by byte: kernel and libc use loops, a
        # fifth less work in a run of perftest.
        args+=(-accel tcg,thread=multi,tb-size=256 -cpu max,la57=off,erms=off,fsrm=off,fzrm=off,fsrs=off,fsrc=off)
    fi
    if [ -n "$switch" ]; then
        switch_arguments "$side"
        args+=("${switch_args[@]}")
    fi
    # shellcheck disable=SC2206 # the user's own words
    args+=($qemu_args)
    if [ "$(kind_of "$side")" = card ]; then
        args+=(-device "$(card_device_json "$side")")
    else
        [ "$mtu" = default ] || mtu_property=",host_mtu=$mtu"
        args+=(-netdev "dgram,id=wire,local.type=inet,local.host=$(wire_address "$side"),local.port=$wire_port,remote.type=inet,remote.host=$(wire_address "$peer"),remote.port=$wire_port"
            -device "virtio-net-pci,netdev=wire,mac=$(mac_of "$side"),bus=rp4,id=nic$mtu_property")
        if [ -n "$pcap" ] && { [ "$side" = A ] || [ "$kind_A" = card ]; } &&
            [ "$(kind_of A)" != card ]; then
            args+=(-object "filter-dump,id=dump,netdev=wire,file=$pcap")
        fi
    fi
    qemu_command "$qemu_dir" "$preload"
    child "${qemu_command[@]}" "${args[@]}" </dev/null >>"$session/$side.qemu.log" 2>&1 8>&- 9>&- &
    record_pid "$session/$side.qemu.pid" $!
}

# start_channel SIDE: starts the ssh master, whose connection waits until the guest's sshd answers.
start_channel() {
    local side=$1 i
    for i in {1..200}; do
        [ ! -S "$session/$side.ssh" ] || break
        alive "$session/$side.qemu.pid" || return 1
        sleep 0.05
    done
    rm -f "$session/$side.ctl"
    child ssh "${ssh_options[@]}" -N -M -S "$session/$side.ctl" -o ServerAliveInterval=0 \
        -o ProxyUseFdpass=yes \
        -o "ProxyCommand=python3 $dingo_root/scripts/lib/pass_socket.py $session/$side.ssh" \
        "root@$side" \
        </dev/null >>"$session/$side.ssh.log" 2>&1 8>&- 9>&- &
    record_pid "$session/$side.ssh.pid" $!
}

take_slot() {
    local n
    mkdir -p "$sessions_dir/slots"
    for n in {1..250}; do
        exec 8>"$sessions_dir/slots/$n"
        if flock -n 8; then
            echo "$n" >"$session/slot"
            return
        fi
    done
    echo "all 250 session slots are taken"
    return 1
}

# supervise: the supervisor's main function. Writes `running` or `failed: WHY` to $session/state.
# Exits, with all its children, on TERM (`down` sends it) and when the process $parent ends. A guest
# that shuts down is not restarted; the rest of the session stays.
supervise() {
    local side command parent_start=''
    set +e
    trap 'exit 0' TERM INT HUP
    trap 'end_children' EXIT
    [ -z "$parent" ] || parent_start=$(process_start "$parent")
    fail() { echo "failed: $*" >"$session/state"; exit 1; }
    take_slot || fail "no slot"
    for side in A B; do
        make_session_cpio "$side" || fail "could not pack the files for guest $side"
        if [ "$(kind_of "$side")" = card ]; then
            start_card "$side" || fail "card $side did not start"
            ! has_second_card "$side" || start_second_card "$side" || fail "the second card of $side did not start"
        fi
        start_qemu "$side"
    done
    for side in A B; do start_channel "$side" || fail "QEMU for guest $side did not start"; done
    echo running >"$session/state"
    exec 7<>"$session/fifo"
    while :; do
        if read -r -t 0.5 -u 7 command; then
            supervisor_command $command
        fi
        if [ -n "$parent" ] && [ "$(process_start "$parent")" != "$parent_start" ]; then
            # Nobody is left to read the logs.
            end_children
            rm -rf "$session"
            exit 0
        fi
        end_orphaned_commands
        for side in A B; do
            # Restart a lost command channel if its guest still runs.
            if alive "$session/$side.qemu.pid" && ! alive "$session/$side.ssh.pid"; then
                sleep 0.5
                start_channel "$side"
            fi
        done
    done
}

# end_orphaned_commands: ends the commands in the guests whose vm.sh process was killed.
end_orphaned_commands() {
    local file id
    for file in "$session"/command.*; do
        id=${file##*.}
        [ -e "$file" ] && [ "$(process_start "$id")" != "$(cat "$file")" ] || continue
        rm -f "$file"
        { guest_stop A "$id"; guest_stop B "$id"; } &
    done
}

# supervisor_command REPLY-FILE VERB SIDE: serves a request from another vm.sh process, read from
# the fifo.
supervisor_command() {
    local reply=$1 verb=$2 side=$3 rc=0
    case $verb in
    card-start) start_card "$side" || rc=1 ;;
    card-stop) end_process "$session/$side.card.pid" ;;
    card-kill) kill -KILL "$(cut -d' ' -f1 "$session/$side.card.pid")" 2>/dev/null ;;
    esac
    echo $rc >"$reply.new"
    mv "$reply.new" "$reply"
}

end_children() {
    local f
    trap '' TERM INT HUP
    for f in "$session"/*.ssh.pid "$session"/*.qemu.pid "$session"/*.card.pid; do
        [ ! -e "$f" ] || end_process "$f"
    done
}
