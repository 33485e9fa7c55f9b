# SPDX-License-Identifier: BSD-2-Clause
# The command channel to a guest: ssh over a virtio-serial port, one master connection per guest
# and a cheap session per command. Expects $session, the session's directory.

ssh_options=(-F none -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null
    -o LogLevel=ERROR -o KexAlgorithms=curve25519-sha256 -o HostKeyAlgorithms=ssh-ed25519
    -o Ciphers=aes128-gcm@openssh.com,aes128-ctr -o MACs=umac-64@openssh.com
    -o PreferredAuthentications=none -o ForwardX11=no
    # Data can stay in the port's socket for minutes, until more arrives (seen); keep-alives are
    # that more.
    -o ServerAliveInterval=2 -o ServerAliveCountMax=1000)

# ssh_words SIDE: sets the array ssh_words to an ssh command line that uses the guest's master
# connection; the caller appends options and the command. That ssh fails at once without a master.
ssh_words() {
    ssh_words=(ssh "${ssh_options[@]}" -o ControlMaster=no -o ProxyCommand=/bin/false
        -S "$session/$1.ctl" "root@$1")
}

# channel SIDE [SSH-OPTION...] COMMAND: runs COMMAND in the guest's shell.
channel() {
    ssh_words "$1"
    shift
    "${ssh_words[@]}" "$@"
}

# channel_open SIDE: succeeds if the master connection to the guest is up.
channel_open() {
    [ -S "$session/$1.ctl" ] &&
        ssh "${ssh_options[@]}" -S "$session/$1.ctl" -O check "root@$1" >/dev/null 2>&1
}

# guest_command ID COMMAND: prints the shell line that runs COMMAND in the guest under the name ID. The
# shell that sshd starts is the only one, as each costs 0.1 s under emulation; it leads its own
# session. Like a login on a console: the root directory's home.
guest_command() {
    # shellcheck disable=SC2016  # the guest expands it
    printf 'echo $$ >/run/dingo/cmd.%s; cd /root || exit; eval %q' "$1" "$2"
}

# guest_stop SIDE ID: end command ID in the guest, with all its children.
guest_stop() {
    ssh_words "$1"
    timeout 20 "${ssh_words[@]}" "/usr/lib/dingo-guest/stop $2" </dev/null >/dev/null 2>&1 || true
}

# labelled LABEL PREFIX COMMAND...: runs COMMAND; its lines go to stdout and stderr with LABEL in
# front, unchanged into PREFIX.out and PREFIX.err, and its exit status into PREFIX.rc.
labelled() {
    local label=$1 prefix=$2
    shift 2
    {
        {
            local rc=0
            "$@" || rc=$?
            echo "$rc" >"$prefix.rc.new"
        } 2>&1 1>&3 3>&- | tee "$prefix.err" | sed -u "s/^/$label/" >&2
    } 3>&1 | tee "$prefix.out" | sed -u "s/^/$label/"
    # PREFIX.rc appears only after all lines are written.
    mv "$prefix.rc.new" "$prefix.rc"
}
