#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# pingpong.sh ADDRESS OPTIONS...: runs libfabric's fi_pingpong with itself at 127.0.0.1, in a
# network namespace with an interface that has ADDRESS, as libfabric accepts only such addresses.
# Needs root.
set -euo pipefail
[ "${in_namespace:-}" ] || in_namespace=1 exec unshare --net -- "$0" "$@"
address=$1
shift
ip link set lo up
ip link add eth7 type veth peer name eth8
ip addr add "$address" dev eth7
ip link set eth8 up
ip link set eth7 up
fi_pingpong "$@" &
server=$!
for _ in $(seq 200); do
    ss -Hltn 'sport = :47592' | grep -q . && break
    kill -0 $server || exit 1
    sleep 0.05
done
fi_pingpong "$@" 127.0.0.1
wait $server
