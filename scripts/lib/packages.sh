# SPDX-License-Identifier: BSD-2-Clause
# The host's packages: finds and installs missing ones, or prints the command for the user to
# install them. Sourced by common.sh.

# Packages whose names differ: Debian, Fedora, Arch. aur:NAME is built from Arch's user repository.
# Fedora's names are from its list of packages. Not tested on Fedora or Arch.
package_names='
build-essential gcc-c++ base-devel
g++ gcc-c++ gcc
ninja-build ninja-build ninja
pkg-config pkgconf-pkg-config pkgconf
python3 python3 python
libisal-dev isa-l-devel aur:isa-l
perftest perftest aur:perftest
libcli11-dev cli11-devel cli11
libfmt-dev fmt-devel fmt
libspdlog-dev spdlog-devel spdlog
nlohmann-json3-dev json-devel nlohmann-json
libpcap-dev libpcap-devel libpcap
libibverbs-dev rdma-core-devel rdma-core
librdmacm-dev rdma-core-devel rdma-core
libssl-dev openssl-devel openssl
libnl-3-dev libnl3-devel libnl
libnl-route-3-dev libnl3-devel libnl
libudev-dev systemd-devel systemd-libs
libpmix-dev pmix-devel openpmix
ibverbs-utils libibverbs-utils rdma-core
rdmacm-utils librdmacm-utils rdma-core
iproute2 iproute iproute2
xz-utils xz xz
libgtest-dev gtest-devel gtest
libgmock-dev gmock-devel gtest
libbenchmark-dev google-benchmark-devel benchmark
zlib1g-dev zlib-devel zlib
'

# package_line PACKAGE...: prints the command that installs these Debian packages on this machine,
# as root.
package_line() {
    local column=1 tool='apt-get install' words p other
    if ! command -v apt-get >/dev/null; then
        if command -v dnf >/dev/null; then
            column=2 tool='dnf install'
        elif command -v pacman >/dev/null; then
            column=3 tool='pacman -S'
        fi
    fi
    words=$(for p in "$@"; do
        other=$(awk -v p="$p" -v c=$column '$1 == p { print $c }' <<<"$package_names")
        printf '%s\n' "${other:-$p}"
    done | awk '!seen[$0]++')
    other=$(sed -n 's/^aur://p' <<<"$words" | tr '\n' ' ')
    words=$(sed '/^aur:/d' <<<"$words" | tr '\n' ' ')
    printf '%s %s\n' "$tool" "${words% }"
    [ -z "$other" ] || printf 'and from the AUR: %s\n' "${other% }"
}

# missing_packages PACKAGE...: prints those that are not installed, one per line.
missing_packages() {
    local p
    for p in "$@"; do
        dpkg-query -W -f '${db:Status-Status}\n' "$p" 2>/dev/null | grep -qx installed || printf '%s\n' "$p"
    done
}

# free_mib PATH: prints the MiB free in the file system in which PATH is, or would be made.
free_mib() {
    local path=$1
    while [ ! -e "$path" ]; do path=$(dirname "$path"); done
    df -P -B 1048576 "$path" | awk 'NR == 2 { print $4 }'
}

# need_space MIB PATH WHAT: dies if fewer than MIB MiB are free at PATH for WHAT.
need_space() {
    local free
    free=$(free_mib "$2")
    [ "$free" -ge "$1" ] || die "$3 needs $1 MiB at $2, where $free MiB are free; to see what uses the space: du -xh --max-depth 2 $(df -P "$2" 2>/dev/null | awk 'NR == 2 { print $6 }') | sort -h | tail"
}

# apt_space PACKAGE...: prints the MiB that apt needs to download and install; 0 if apt does not
# say.
apt_space() {
    LC_ALL=C apt-get install --assume-no --no-install-recommends -o Debug::NoLocking=1 "$@" 2>/dev/null |
        awk '{ gsub(",", "") }
             /^Need to get/ { unit = $5; n = $4; if (index($4, "/")) { split($4, part, "/"); n = part[1] } sum += mib(n, unit) }
             /^After this operation/ && /will be used/ { sum += mib($4, $5) }
             function mib(n, unit) { return unit ~ /^GB/ ? n * 1000 : unit ~ /^MB/ ? n : 1 }
             END { print int(sum + 0.5) }'
}

# need_packages PACKAGE...: installs missing Debian packages if run as root on Debian; else dies
# with the command to type. DINGO_PACKAGES=installed: assumes that they are installed, under
# whatever name.
need_packages() {
    local missing
    [ "${DINGO_PACKAGES:-}" != installed ] || return 0
    if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
        die "this is not Debian, so the script cannot check which packages are installed. Install, as root:
    $(package_line "$@")
then run this again with DINGO_PACKAGES=installed before it (docs/other-distributions.md)"
    fi
    mapfile -t missing < <(missing_packages "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" != 0 ]; then
        die "packages are missing: ${missing[*]}. Install them as root:
    $(package_line "${missing[@]}")"
    fi
    install_packages "${missing[@]}"
}

install_packages() {
    log "installing $*"
    mkdir -p "$DINGO_CACHE"
    need_space 200 /var/lib/apt/lists "apt-get update"
    need_space $(($(apt_space "$@") + 100)) /var/cache/apt/archives "installing $*"
    (
        flock 8
        export DEBIAN_FRONTEND=noninteractive
        opts=(-qq -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
        # A cloud image may come without package lists, or with lists of superseded versions.
        if ! apt-get "${opts[@]}" install -y --no-install-recommends "$@" \
            >"$DINGO_CACHE/apt.log" 2>&1; then
            apt-get "${opts[@]}" update >>"$DINGO_CACHE/apt.log" 2>&1 || true
            apt-get "${opts[@]}" install -y --no-install-recommends "$@" \
                >>"$DINGO_CACHE/apt.log" 2>&1 ||
                { tail -20 "$DINGO_CACHE/apt.log" >&2
                  die "apt-get could not install $* (log: $DINGO_CACHE/apt.log)"; }
        fi
    ) 8>"$DINGO_CACHE/apt.lock"
}
