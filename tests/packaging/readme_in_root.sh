#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs README.md's quick start without a kernel module; each line of its block is a case. Started by
# cases/readme.sh in a clean root, with LOGS and RELEASE. An ordinary user owns the tree, as after a
# clone; commands that README runs as root run as root.
set -uo pipefail
apt-get -qq -o Dpkg::Use-Pty=0 update
apt-get -qq -o Dpkg::Use-Pty=0 install -y --no-install-recommends git ca-certificates >/dev/null
useradd -m -s /bin/bash visitor
git -c safe.directory='*' clone -q . /home/visitor/dingo
chown -R visitor: /home/visitor/dingo
# Use the user's default caches, not this suite's.
unset DINGO_CACHE CCACHE_DIR
cd /home/visitor/dingo || exit 1
# Stand-ins for the package and the program that README's lines name.
cp /bin/hostname program
as_root() { bash -c "$1"; }
as_user() { setpriv --reuid=visitor --regid=visitor --init-groups env HOME=/home/visitor USER=visitor bash -c "$1"; }
count=0
while IFS= read -r line; do
    command=$(sed -E 's/ {2,}#.*//; s/ +$//' <<<"$line")
    [ -n "$command" ] || continue
    count=$((count + 1))
    who=user
    [[ $line != *"# as root"* ]] || who=root
    [[ $command != *mpirun* ]] || apt-get -qq -o Dpkg::Use-Pty=0 install -y --no-install-recommends openmpi-bin >/dev/null 2>&1
    log=$LOGS/$RELEASE-$count
    rc=0
    "as_$who" "$command" >"$log" 2>&1 </dev/null || rc=$?
    if [ $rc = 0 ]; then echo "PASS readme:$RELEASE: as $who: $command"
    else echo "FAIL readme:$RELEASE: as $who: $command: status $rc: $(grep -v '^ *$' "$log" | tail -n 3 | tr '\n' ' ' | cut -c1-300)"
    fi
done < <(sed -n '/^## Quick start without/,/^##* Quick start with two/{s/^    //p}' README.md | sed 's/^ *# .*//')
[ $count -ge 7 ] || echo "FAIL readme:$RELEASE: the block has its lines: $count commands"
# `dingo run` leaves its card running for the next program.
as_user 'build/bin/dingo card stop --all' >"$LOGS/$RELEASE-stop" 2>&1
left=$(ps -u visitor -o stat=,args= | grep -v '^Z' | sed -E 's/^[^ ]+ +//')
if [ -z "$left" ]; then echo "PASS readme:$RELEASE: no process is left"; else echo "FAIL readme:$RELEASE: no process is left: $(head -n 3 <<<"$left" | tr '\n' ' ')"; fi
exit 0
