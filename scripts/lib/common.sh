# SPDX-License-Identifier: BSD-2-Clause
# Pieces that every script shares: messages, host packages, the product cache, the Debian mirror.
# Sourced by the scripts in this directory's parent; not a program.

dingo_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
DINGO_CACHE=${DINGO_CACHE:-$HOME/.cache/dingo}
export DINGO_CACHE

# log MESSAGE...: prints progress for the user; silent with DINGO_QUIET=1.
log() {
    [ -n "${DINGO_QUIET:-}" ] || printf '%s: %s\n' "${0##*/}" "$*" >&2
}

# die MESSAGE...: exits with status 125, which none of our commands in guests uses.
die() {
    printf '%s: error: %s\n' "${0##*/}" "$*" >&2
    exit 125
}

need_root() {
    [ "$(id -u)" = 0 ] || die "must run as root: it builds and mounts Debian root file systems (sudo ${0##*/} ...)"
}

# shellcheck source=scripts/lib/packages.sh
. "$(dirname "${BASH_SOURCE[0]}")/packages.sh"

# debian_mirror: print the base address of the Debian archive that this machine's apt uses.
# apt itself parses its configuration, so .list and .sources files and options all count.
debian_mirror() {
    local codename uri
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    uri=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' \
              'Created-By: Packages' 2>/dev/null |
          awk -v c="$codename" '$3 == "main" && $2 == c "-updates" { if (!u) u = $1 }
                                $3 == "main" && $2 == c { if (!m) m = $1; seen[$1] = 1 }
                                END { print (u in seen) ? u : m }')
    [ -n "$uri" ] || die "found no Debian archive for '$codename' in this machine's apt sources"
    printf '%s\n' "${uri%/}"
}

# debian_keyring: print the path of a keyring that signs trixie.
debian_keyring() {
    local k
    for k in /usr/share/keyrings/debian-archive-keyring.gpg \
             /usr/share/keyrings/debian-archive-trixie-stable.gpg \
             /usr/share/keyrings/debian-archive-keyring.pgp \
             /usr/share/debian-archive-keyring/debian-archive-keyring.gpg \
             /etc/apt/trusted.gpg.d/debian-archive-trixie-stable.asc; do
        [ -r "$k" ] && { printf '%s\n' "$k"; return; }
    done
    die "no Debian archive keyring found (package debian-archive-keyring)"
}

# trixie_sources: print deb822 sources for trixie and trixie-backports on this machine's mirror.
trixie_sources() {
    printf 'Types: deb deb-src\nURIs: %s\nSuites: trixie trixie-backports\n' "$(debian_mirror)"
    printf 'Components: main\nSigned-By: %s\n' "$(debian_keyring)"
}

# apt_acquire_options: print this machine's download settings (proxy, dates, retries), one
# apt.conf line each, for apt runs that do not read /etc/apt.
apt_acquire_options() {
    apt-config dump | grep -E '^Acquire::(https?::|Check-|Retries)' | grep -v '""' || true
    echo 'Acquire::Retries "3";'
    echo 'Acquire::Languages "none";'
}

# private_trixie_apt DIR: set up DIR/apt.conf, an apt state that knows only trixie(-backports).
private_trixie_apt() {
    local apt=$1
    mkdir -p "$apt"/{lists/partial,cache/archives/partial,etc/preferences.d,download}
    trixie_sources >"$apt/etc/trixie.sources"
    : >"$apt/status"
    apt_acquire_options >"$apt/apt.conf"
    cat >>"$apt/apt.conf" <<EOF
Dir::Etc::sourcelist "$apt/etc/trixie.sources";
Dir::Etc::sourceparts "-";
Dir::Etc::preferencesparts "$apt/etc/preferences.d";
Dir::State "$apt";
Dir::State::lists "$apt/lists";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
APT::Sandbox::User "root";
EOF
    APT_CONFIG=$apt/apt.conf apt-get -qq update
}

# shell_state: prints this shell's functions and variables, as a script for another bash.
shell_state() {
    local state_name state_text
    for state_name in $(compgen -A variable); do
        case $state_name in
        BASH* | DIRSTACK | EPOCH* | EUID | FUNCNAME | GROUPS | LINENO | PIPESTATUS | PPID | RANDOM | SECONDS | SHELLOPTS | SRANDOM | UID | _ | state_*)
            continue
            ;;
        esac
        # Skips variables without a value and read-only ones, which may be read-only there, too.
        state_text=$(declare -p "$state_name" 2>/dev/null) || continue
        [[ ! $state_text =~ ^declare\ -[a-zA-Z]*r ]] || continue
        printf '%s\n' "$state_text"
    done
    declare -f
}

# strictly FUNCTION [ARG...]: calls FUNCTION under set -e, whatever its caller does with the status.
# In a command before `||`, in an `if` and in `x=$(...) || ...` bash ignores -e, even in subshells
# with a `set -e` of their own. So FUNCTION runs in another bash, which gets this shell's functions
# and variables. Variables that FUNCTION sets are lost.
strictly() {
    "$BASH" -c '. /dev/fd/8 && exec 8<&- && set -euo pipefail || exit 125
        "$@"' "$0" "$@" 8< <(shell_state)
}

# cached_path NAME RECIPE: prints the path at which `cached` keeps the product; it may not exist
# yet.
cached_path() { printf '%s/%s-%s\n' "$DINGO_CACHE" "$1" "$(printf '%s' "$2" | sha256sum | cut -c1-12)"; }

# cached NAME RECIPE BUILDER [ARG...]: prints the path of product NAME as made by RECIPE (any text
# that changes when the product must be made anew). If the product is missing, calls BUILDER with a
# temporary path and ARGs; only a finished product gets the final name. Concurrent callers wait.
cached() {
    local name=$1 recipe=$2 builder=$3 hash path
    shift 3
    path=$(cached_path "$name" "$recipe")
    hash=${path##*-}
    if [ ! -e "$path" ]; then
        mkdir -p "$DINGO_CACHE/locks" "$DINGO_CACHE/logs"
        (
            flock 9
            [ ! -e "$path" ] || exit 0
            rm -rf --one-file-system "$path".tmp.*
            log "building $name (log: $DINGO_CACHE/logs/$name-$hash.log)"
            start=$SECONDS
            rc=0
            strictly "$builder" "$path.tmp.$$" "$@" \
                </dev/null >"$DINGO_CACHE/logs/$name-$hash.log" 2>&1 9>&- || rc=$?
            if [ $rc != 0 ]; then
                tail -25 "$DINGO_CACHE/logs/$name-$hash.log" >&2
                rm -rf --one-file-system "$path.tmp.$$"
                die "building $name failed"
            fi
            mv -T "$path.tmp.$$" "$path"
            log "built $name in $((SECONDS - start)) s"
        ) 9>"$DINGO_CACHE/locks/$name-$hash.lock" || exit 125
    fi
    printf '%s\n' "$path"
}
