#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Starts a Slurm cluster of two nodes, a and b, in its own namespaces: munged, slurmctld and two
# slurmd, connected by a veth pair.
# usage: unshare --net --pid --mount --uts --fork --mount-proc --kill-child cluster.sh DIRECTORY
# DIRECTORY/ready appears when both nodes accept jobs. Everything ends with unshare. DIRECTORY/b.pid
# is a process in node b's namespaces.
set -euo pipefail
[ $$ = 1 ] || { echo 'not alone in a process namespace: see the usage' >&2; exit 2; }
d=$1
# munged refuses a socket that other users could replace; each node has its own run-time
# directories.
chmod 755 "$d"
mkdir -p "$d"/{state,spool-a,spool-b,tmp-a,tmp-b}

hostname a
printf '127.0.0.1 localhost\n10.79.1.1 a\n10.79.1.2 b\n' >"$d/hosts"
mount --bind "$d/hosts" /etc/hosts
unshare --net --uts bash -c 'hostname b; echo $$ >"$1"; exec sleep infinity' - "$d/b.pid" &
for _ in $(seq 100); do [ ! -s "$d/b.pid" ] || break; sleep 0.05; done
b=$(cat "$d/b.pid")
on_b() { nsenter -t "$b" --net --uts -- "$@"; }
ip link add v0 type veth peer name v0 netns "$b"
# Slurm resolves names with AI_ADDRCONFIG, which finds no address on a host with only the loopback
# interface.
ip addr add 10.79.1.1/24 dev v0
on_b ip addr add 10.79.1.2/24 dev v0
for link in lo v0; do
    ip link set $link up
    on_b ip link set $link up
done

(umask 077; head -c 128 /dev/urandom >"$d/munge.key")
munged --foreground --socket="$d/munge.sock" --key-file="$d/munge.key" --log-file="$d/munged.log" \
    --pid-file="$d/munged.pid" --seed-file="$d/munge.seed" --num-threads=2 >"$d/munged.out" 2>&1 &
for _ in $(seq 100); do [ ! -S "$d/munge.sock" ] || break; sleep 0.1; done

# config_overrides: ranks share processors. linuxproc and task/none: do not use cgroups.
cat >"$d/slurm.conf" <<CONF
ClusterName=dingo
SlurmctldHost=a(10.79.1.1)
SlurmUser=root
AuthInfo=socket=$d/munge.sock
StateSaveLocation=$d/state
SlurmdSpoolDir=$d/spool-%n
TmpFS=$d/tmp-%n
SlurmctldPidFile=$d/slurmctld.pid
SlurmdPidFile=$d/slurmd-%n.pid
SlurmdLogFile=$d/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
SchedulerParameters=sched_min_interval=1
MailProg=/bin/true
MpiDefault=none
KillWait=2
NodeName=a NodeAddr=10.79.1.1 CPUs=16 State=UNKNOWN
NodeName=b NodeAddr=10.79.1.2 CPUs=16 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
CONF
export SLURM_CONF=$d/slurm.conf
slurmctld -D >"$d/slurmctld.log" 2>&1 &
slurmd -D >"$d/slurmd-a.out" 2>&1 &
on_b slurmd -D >"$d/slurmd-b.out" 2>&1 &
for _ in $(seq 600); do
    if [ "$(sinfo -h -o %D%t 2>"$d/sinfo.err")" = 2idle ]; then
        echo 'two nodes' >"$d/ready"
        break
    fi
    sleep 0.1
done
wait
