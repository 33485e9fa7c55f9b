#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Tests the packages in a clean root, as a user would: installs and uses them (also as an ordinary
# user), upgrades, removes, purges. Started by cases/packages.sh with LOGS and RELEASE. Only apt
# uses the network.
set -uo pipefail
packages=(dingo libdingo1 libdingo-dev rdma-bench libqp-exchange0 libqp-exchange-dev python3-qpx qpxd)
tuple=$(dpkg --print-architecture | sed 's/amd64/x86_64-linux-gnu/; s/arm64/aarch64-linux-gnu/')
apt_get() { apt-get -qq -o Dpkg::Use-Pty=0 "$@"; }
offline() { unshare --net bash -c 'ip link set lo up; exec "$@"' bash "$@"; }
# check NAME COMMAND [REGEX]: case: COMMAND succeeds and prints a line like REGEX.
check() {
    local out rc=0
    out=$(timeout 300 bash -c "$2" 2>&1 </dev/null) || rc=$?
    printf '## %s\n%s\n' "$1" "$out"
    if [ $rc != 0 ]; then
        echo "FAIL packages:$RELEASE: $1: status $rc: $(tail -n 3 <<<"$out" | tr '\n' ' ' | cut -c1-300)"
    elif [ -n "${3:-}" ] && ! grep -qE "$3" <<<"$out"; then
        echo "FAIL packages:$RELEASE: $1: no line like /$3/: $(tail -n 3 <<<"$out" | tr '\n' ' ' | cut -c1-300)"
    else
        echo "PASS packages:$RELEASE: $1"
    fi
}
export -f apt_get offline
# pair_of SERVER CLIENT PORT: runs a pair of commands on cards of the calling user.
pair_of() {
    dingo card start a && dingo card start b || return
    dingo run --card a -- $1 >/tmp/server.$$ 2>&1 &
    for _ in $(seq 100); do ! ss -Hltn "sport = :$3" | grep -q . || break; sleep 0.1; done
    dingo run --card b -- $2
    rc=$?
    dingo card stop --all >/dev/null
    wait
    return $rc
}
export -f pair_of
# command_of SERVICE: prints the command of that service in compose.yaml.
command_of() { sed -n "/^  $1:/,/^  [a-z]*:\$/s/^    command: //p" scripts/packaging/container/compose.yaml; }
# two_containers: runs compose.yaml's two commands, as an ordinary user, in two connected network
# namespaces.
two_containers() {
    local a b rc=0
    unshare --net sleep 300 & a=$!
    unshare --net sleep 300 & b=$!
    sleep 1
    ip link add veth0 netns $a type veth peer name veth0 netns $b || return
    for place in "$a 2" "$b 3"; do
        # shellcheck disable=SC2086
        set -- $place
        nsenter -t "$1" -n sh -ec "ip link set lo up; ip addr add 10.123.0.$2/24 dev veth0; ip link set veth0 up"
        install -d -m 700 -o visitor "/tmp/container-$2"
    done
    local as='setpriv --reuid=visitor --regid=visitor --init-groups env HOME=/home/visitor'
    # shellcheck disable=SC2086
    nsenter -t $a -n $as DINGO_RUN=/tmp/container-2 bash -c "$(command_of server)" >/tmp/container-2.log 2>&1 &
    # shellcheck disable=SC2086
    nsenter -t $b -n $as DINGO_RUN=/tmp/container-3 bash -c "$(command_of client)" || rc=$?
    [ $rc = 0 ] || cat /tmp/container-2.log
    for place in 2 3; do setpriv --reuid=visitor --regid=visitor --init-groups env DINGO_RUN=/tmp/container-$place dingo card stop --all >/dev/null; done
    kill $a $b
    return $rc
}
export -f command_of two_containers

echo "deb [trusted=yes] file:$LOGS/packages/$RELEASE ./" >/etc/apt/sources.list.d/dingo.list
check 'apt update reads the repository' 'apt_get update'
check 'one apt command installs all of it' "apt_get install -y --no-install-recommends ${packages[*]}"
apt_get install -y --no-install-recommends perftest ibverbs-utils iproute2 man-db bash-completion >/dev/null 2>&1
check 'no file lies about whence it comes: dpkg --verify' 'dpkg --verify dingo libdingo1 rdma-bench libqp-exchange0 qpxd && ! dpkg --audit | grep .'
check "the provider is in libibverbs's directory" "ls /usr/lib/$tuple/libibverbs/libdingo-rdmav34.so && cat /etc/libibverbs.d/dingo.driver" '^driver dingo$'
check 'libibverbs loads it without a word' "! ibv_devices 2>&1 | grep -iE 'warning|load driver'"
check 'nothing has an RPATH' '! for f in $(dpkg -L '"${packages[*]}"' | grep -E "^/usr/(bin|lib)/"); do [ -f $f ] && head -c 4 $f | grep -q ELF && readelf -d $f | grep -E "RPATH|RUNPATH"; done | grep . '
check 'dingo doctor' 'offline dingo doctor' 'provider.*/usr/lib'
check 'ibv_devinfo on a card' 'offline dingo run -- ibv_devinfo' 'PORT_ACTIVE'
check 'ib_write_bw between two cards' 'offline bash -c "pair_of \"ib_write_bw -F\" \"ib_write_bw -F localhost\" 18515"' '^ 65536'
check 'local_transfer' 'offline dingo run -- local_transfer -X 4096 -r 2' '4096'
useradd -m visitor
as_visitor='offline setpriv --reuid=visitor --regid=visitor --init-groups env HOME=/home/visitor USER=visitor'
check 'an ordinary user: ib_send_lat' "$as_visitor bash -c 'pair_of \"ib_send_lat -F\" \"ib_send_lat -F localhost\" 18515'" '^ 2 '
check 'an ordinary user: rdma-bench' "$as_visitor bash -c 'pair_of \"rdma-bench write-bw -n 200\" \"rdma-bench write-bw -n 200 localhost\" 18515'" '65536'
check 'the two commands of compose.yaml, in two network namespaces' two_containers '^ 65536'
check 'dingo pair, as another project would have it in its CI' "$as_visitor dingo pair -- ib_write_bw -F" '^ 65536'
check 'man pages and completion' 'for p in dingo dingo-card dingo-criteo gpu_interchange local_transfer p2p_cards p2p_file rdma-bench qpxd; do zcat -f /usr/share/man/man1/$p.1* | grep -q . || exit 1; done; for p in dingo dingo-card dingo-criteo gpu_interchange local_transfer p2p_cards p2p_file rdma-bench qpxd; do bash -c ". /usr/share/bash-completion/completions/$p; complete -p $p" || exit 1; done'
check 'Python: import qpx' "/usr/bin/python3 -c 'import qpx; print(qpx.version())'" '^[0-9]+\.[0-9]+'
check "beside Debian's libqpx0, of a program that tests disks" \
    "apt_get install -y --no-install-recommends libqpx0 libqpx-dev && dpkg-query -W -f '\${db:Status-Status}\n' ${packages[*]} | grep -c '^installed' && apt_get purge -y --autoremove libqpx-dev 'libqpx0*'" "^${#packages[@]}\$"
check 'qpxd: a user, a unit that systemd takes, a directory for keys that only it reads' \
    'id qpxd && stat -c "%U:%G %a" /etc/qpxd && { ! command -v systemd-analyze || systemd-analyze verify --man=no /lib/systemd/system/qpxd.service; }' 'root:qpxd 750'
check 'qpxd serves as its user' "offline bash -c 'setpriv --reuid=qpxd --regid=qpxd --clear-groups qpxd --listen 18600 & p=\$!; for _ in \$(seq 50); do qpxd --status qpxd://127.0.0.1:18600 && ok=1 && break; sleep 0.1; done; kill \$p; [ -n \"\$ok\" ]'" 'jobs'

# DKMS. Debian 12's kernel is too old for the modules: the installation reports that, but must not
# fail.
kernel() { apt-get -qq -o Dpkg::Use-Pty=0 install -y --no-install-recommends linux-headers-amd64 >/dev/null 2>&1; basename "$(ls -d /usr/src/linux-headers-*-amd64 | tail -n 1)" | sed 's/^linux-headers-//'; }
export -f kernel
check 'dingo-dkms is installed beside headers of a kernel' 'kernel && apt_get install -y --no-install-recommends dingo-dkms'
if [ "$RELEASE" = bookworm ]; then
    check 'DKMS says that this kernel is not one of them' 'dkms build dingo/0.1.0 -k "$(kernel)" 2>&1; dkms status' 'BUILD_EXCLUSIVE'
else
    check 'DKMS builds and installs both modules' 'dkms autoinstall -k "$(kernel)" && dkms status -k "$(kernel)"' '^dingo/0\.1\.0, .*: installed'
    check 'modinfo: dingo_ib stands on dingo and ib_core' 'depmod "$(kernel)" && modinfo -k "$(kernel)" -F depends dingo_ib' 'dingo'
fi
check 'dingo-dkms is purged' 'apt_get purge -y dingo-dkms && ! dkms status | grep dingo'

echo '# changed here' >>/etc/default/qpxd
echo 'a key' >/etc/qpxd/keys
sed -i "s|/packages/$RELEASE|/newer/$RELEASE|" /etc/apt/sources.list.d/dingo.list
check 'apt upgrade' "apt_get update && apt_get upgrade -y && dpkg-query -W -f '\${Version}\n' ${packages[*]} | grep -c -- '-2~deb'" "^${#packages[@]}\$"
check 'an upgrade keeps what the administrator has written' 'cat /etc/default/qpxd /etc/qpxd/keys' 'changed here'
check 'upgraded: a card works' 'offline dingo run -- ibv_devinfo' 'PORT_ACTIVE'
check 'remove' "apt_get remove -y ${packages[*]} && ! command -v dingo && ls /etc/qpxd/keys"
check 'purge leaves nothing of ours' "apt_get purge -y ${packages[*]} && ! find / -xdev \\( -path /proc -o -path /sys -o -path /tmp -o -path \"$PWD\" -o -path \"$LOGS\" -o -path \"$DINGO_CACHE\" -o -path /var/lib/apt -o -path /var/log -o -path /home \\) -prune -o \\( -name '*dingo*' -o -name '*qpx*' -o -name '*qp-exchange*' \\) -print | grep -vE 'sources.list.d|/var/cache/apt|^/work|^/root/.cache' | grep ."
exit 0
