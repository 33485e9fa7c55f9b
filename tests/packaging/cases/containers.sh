# SPDX-License-Identifier: BSD-2-Clause
# Tests the container file and the compose file with podman. Uses no registry: Debian's image is
# made from a clean root. The containers run offline, in this case's network namespace.
need_packages podman crun containernetworking-plugins iptables python3-yaml python3-dotenv
release=trixie
work=$dingo_root/build/containers
clean_root=$(debian_root "$release" clean) || exit 125
cleanups+=("rm -rf --one-file-system $work")
rm -rf --one-file-system "$work"
mkdir -p "$work" "$DINGO_CACHE/ccache-$release" "$DINGO_CACHE/archives-$release/partial"
# Minimal use of cgroups and limits, so that it works if this machine is a container.
cat >"$work/containers.conf" <<CONF
[containers]
cgroups = "disabled"
default_ulimits = ["nofile=$(ulimit -Hn):$(ulimit -Hn)", "nproc=4096:4096"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_config_dir = "$work/networks"
CONF
cat >"$work/storage.conf" <<CONF
[storage]
driver = "overlay"
graphroot = "$work/storage"
runroot = "$work/run"
CONF

# apart UNSHARE-OPTION... -- COMMAND: runs COMMAND with its own podman state, and with mounts and
# processes in namespaces that end with it.
apart() {
    local options=()
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    shift
    CONTAINERS_CONF=$work/containers.conf CONTAINERS_STORAGE_CONF=$work/storage.conf \
        unshare --mount --pid --fork --kill-child --mount-proc "${options[@]}" bash -c '
            set -e
            for directory in /run/netns /run/libpod /run/crun /run/containers /var/lib/cni; do
                mkdir -p "$directory"
                mount -t tmpfs tmpfs "$directory"
            done
            # crun does not support mixed cgroup versions.
            umount /sys/fs/cgroup/unified 2>/dev/null || true
            exec "$@"' bash "$@"
}
export -f apart
export work release clean_root
limit=120 plain "Debian's image" "tar -C $clean_root --one-file-system -cf - . | apart -- podman import - docker.io/library/debian:$release && \
    apart -- podman tag debian:$release docker.io/library/debian:$release-slim"
# Uses this machine's ccache and downloaded packages.
limit=1500 plain 'podman build' "apart -- podman build --isolation chroot --network host --build-arg RELEASE=$release -v $DINGO_CACHE/ccache-$release:/root/.cache/ccache \
    -v $DINGO_CACHE/archives-$release:/var/cache/apt/archives -t dingo -f scripts/packaging/container/Containerfile ." 'Successfully tagged localhost/dingo'
limit=120 plain 'podman run: a pair, as an ordinary user, without a privilege' "apart --net -- podman run --rm --network none dingo dingo pair -- ib_write_bw -F" '^ 65536'
limit=120 plain 'podman run: what the image does by itself' "apart --net -- podman run --rm --network none dingo" '^ 65536'
limit=120 plain 'podman run: dingo doctor finds nothing that stops it' "apart --net -- podman run --rm --network none dingo dingo doctor"
# Debian 12's podman-compose 1.0.3 does not support ipv4_address: use trixie's, a single Python
# file.
fetch_podman_compose() {
    local out=$1 apt=$1/apt
    private_trixie_apt "$apt"
    (cd "$apt/download" && APT_CONFIG=$apt/apt.conf apt-get -qq download podman-compose && dpkg-deb -x ./*.deb "$out")
    rm -rf "$apt"
}
compose_files=$(cached podman-compose-trixie "v1 $(declare -f fetch_podman_compose)" fetch_podman_compose) || exit 125
export compose_files
compose() {
    ip link set lo up
    # podman-compose 1.3.0 does not find the file given by -f DIRECTORY/FILE.
    cd scripts/packaging/container
    PYTHONPATH=$compose_files/usr/lib/python3/dist-packages /usr/bin/python3 -m podman_compose "$@"
}
export -f compose
limit=180 plain 'podman-compose up: two containers, RoCE v2 between them' \
    "apart --net -- bash -ec 'compose up --no-build --abort-on-container-exit'" ' 65536 .*[0-9]'
