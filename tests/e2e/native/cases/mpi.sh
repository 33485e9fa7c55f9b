# SPDX-License-Identifier: BSD-2-Clause
# Debian's Open MPI and libfabric: their messages go through the two cards. Sourced by cluster.sh.
need_packages openmpi-bin libfabric-bin
start_card mpi0 --one-process --ip 10.79.0.1/24
start_card mpi1 --one-process --ip 10.79.0.2/24
ring=$dingo_root/tests/e2e/native/mpi_ring.py
ranks='mpirun --allow-run-as-root --oversubscribe -n 2 --mca btl self'
# With rdma_cm, libfabric accepts only addresses of this machine's interfaces.
with_addresses='unshare --net sh -ec "ip link set lo up; ip link add eth7 type veth peer name eth8
    for n in 1 2; do ip addr add 10.79.0.\$n/24 dev eth7; done; ip link set eth8 up; ip link set eth7 up; exec \"\$@\"" sh'

# mpi NAME OPTIONS [BEFORE]: case: every rank verifies 4473144 bytes, on the direct road and through
# the cards, which must send as many.
mpi() {
    local one two run="$dingo run --cluster 2 --card mpi -- ${3:-} $ranks $2 $ring"
    limit=60 plain "$1" "$run" 'rank 1 of 2: 4473144 bytes right'
    one=$(sent mpi0) two=$(sent mpi1)
    DINGO_DIRECT=0 limit=60 plain "$1, by the cards" "$run" 'rank 1 of 2: 4473144 bytes right'
    one=$(($(sent mpi0) - one)) two=$(($(sent mpi1) - two))
    [ $one -gt 4473144 ] && [ $two -gt 4473144 ] && pass "$1: by the cards" || fail "$1: by the cards" "they sent $one and $two bytes"
}
for transport in rc ud; do mpi "mpi: Open MPI over UCX, $transport" "--mca pml ucx -x UCX_TLS=$transport"; done
ofi='--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include'
mpi 'mpi: Open MPI over verbs;ofi_rxd' "$ofi 'verbs;ofi_rxd'"
if [ "$(id -u)" = 0 ]; then
    mpi 'mpi: Open MPI over verbs;ofi_rxm' "$ofi 'verbs;ofi_rxm'" "$with_addresses"
else
    skip 'mpi: Open MPI over verbs;ofi_rxm' 'an interface for it can only root make'
fi
for what in msg tagged; do
    limit=60 plain "fi_pingpong over verbs;ofi_rxd, $what" "$dingo pair mpi0 mpi1 -- fi_pingpong -c -m $what -p 'verbs;ofi_rxd' -e rdm" '^1m '
done
for card in mpi0 mpi1; do "$dingo" card stop $card >/dev/null; done
