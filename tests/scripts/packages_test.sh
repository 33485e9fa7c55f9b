#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Tests the scripts' messages to a new user: missing packages, other distributions, a full disk,
# another user's build directory. Programs that install packages or describe the machine are
# replaced by fakes.
set -uo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
failed=0
path=$PATH
export DINGO_CACHE=$work/cache

# fake PROGRAM TEXT: makes a shell script of that name on the machine. Replaces a link instead of
# writing through it.
fake() {
    rm -f "$machine/$1"
    printf '#!/bin/sh\n%s\n' "$2" >"$machine/$1"
    chmod 755 "$machine/$1"
}
# machine NAME PROGRAM=TEXT...: sets $machine to a PATH with bash, coreutils and fakes.
machine() {
    local tool
    machine=$work/$1
    shift
    mkdir -p "$machine"
    for tool in awk bash basename cat chmod cut date df dirname env flock git grep head id mkdir mktemp rm sed seq sh sort stat tail timeout tr uname; do
        ln -s "$(PATH=$path command -v $tool)" "$machine/$tool"
    done
    for tool in "$@"; do fake "${tool%%=*}" "${tool#*=}"; done
}
# says NAME STATUS REGEX COMMAND...: case: on that machine, COMMAND exits with STATUS within a
# minute and prints a line like REGEX.
says() {
    local name=$1 status=$2 text=$3 out rc=0
    shift 3
    out=$(PATH=$machine timeout 60 "$@" 2>&1) || rc=$?
    if [ "$rc" = "$status" ] && grep -qE -- "$text" <<<"${out//$'\n'/ }"; then
        echo "ok   $name"
    else
        echo "FAIL $name: status $rc, not $status, or no '$text' in: $out"
        failed=1
    fi
}

never='echo "apt-get ran" >&2; exit 1'
machine user "apt-get=$never" 'dpkg-query=exit 1' 'id=[ "$1" = -u ] && echo 1000 || echo user'
says 'a user without packages reads their names and the line for root' 125 \
    'packages are missing: .*libcli11-dev.*as root:[[:space:]]+apt-get install .*libcli11-dev' scripts/deps.sh build
says 'so does who starts the demo' 125 'apt-get install .*perftest' scripts/demo.sh native
says 'and who starts the tests' 125 'apt-get install .*verilator' scripts/test.sh unit
says 'the line can be asked for' 0 '^apt-get install .*libgtest-dev' scripts/deps.sh --print test
says 'an unknown group is refused' 125 "no group 'all'" scripts/deps.sh all

machine fedora 'dnf=exit 1'
says 'Fedora: its own names' 125 'dnf install gcc-c\+\+ cmake .*cli11-devel.*DINGO_PACKAGES=installed' scripts/deps.sh build
machine arch 'pacman=exit 1'
says 'Arch: its own names' 125 'pacman -S gcc cmake .*nlohmann-json' scripts/deps.sh build
says 'Arch: what its repositories lack' 125 'and from the AUR: isa-l' scripts/deps.sh build
says 'there the user says what is installed' 0 'all packages are there' env DINGO_PACKAGES=installed scripts/deps.sh build

# disk FREE: makes df report FREE MiB.
disk() { fake df "echo 'Filesystem 1048576-blocks Used Available Capacity Mounted on'; echo '/dev/x 9000 100 $1 50% /'"; }
machine full "apt-get=$never" 'dpkg-query=exit 1' 'id=echo 0'
disk 3
says 'a full disk is told before apt-get begins' 125 'needs [0-9]+ MiB at /var/[a-z/]+, where 3 MiB are free' scripts/deps.sh build
machine wants 'dpkg-query=exit 1' 'id=echo 0' \
    'apt-get=echo "Need to get 900 MB/1,000 MB of archives."; echo "After this operation, 3,500 MB of additional disk space will be used."'
disk 4000
says 'apt-get tells how much it wants' 125 'needs 4500 MiB at /var/[a-z/]+, where 4000 MiB are free' scripts/deps.sh build

# An ordinary user in a tree in which root has built.
if [ "$(id -u)" = 0 ]; then
    machine=$path
    tree=$work/tree
    mkdir -p "$tree/build"
    cp -r scripts "$tree"
    touch "$tree/build/CMakeCache.txt"
    echo 'an old build failed' >"$tree/build/demo-build.log"
    chmod -R a+rX "$tree"
    mkdir -m 777 "$work/home"
    user="setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=$work/home DINGO_CACHE=$work/home/cache DINGO_PACKAGES=installed"
    refused='build belongs to root.*chown -R 65534:65534 .*/build[[:space:]]+or build in a clone of your own'
    # shellcheck disable=SC2086
    says 'a build of root is refused in words' 125 "$refused" $user bash -c "cd '$tree' && . scripts/lib/common.sh && . scripts/lib/build.sh && build_preset release"
    printf '#!/bin/sh\necho downloading; exit 1\n' >"$tree/scripts/rdma-core.sh"
    # shellcheck disable=SC2086
    says 'so is the demo of one who cannot build, before anything is downloaded' 125 "$refused" $user "$tree/scripts/demo.sh" native
    # shellcheck disable=SC2086
    ! $user "$tree/scripts/demo.sh" native 2>&1 | grep 'an old build failed' || { echo 'FAIL the demo shows an old log'; failed=1; }
fi
exit $failed
