# SPDX-License-Identifier: BSD-2-Clause
# Builds Debian packages from this tree. Sourced after common.sh, build.sh and roots.sh.

declare -A debian_numbers=([bookworm]=12 [trixie]=13)

# package_source DIR RDMA_CORE RELEASE REVISION: fills DIR with what dpkg-buildpackage takes: this
# tree's files, debian/ and rdma-core.
package_source() {
    local dir=$1 rdma_core=$2 release=$3 revision=$4 version when
    version=$(sed -nE 's/^project\(dingo VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
    mkdir -p "$dir"
    if git -c safe.directory='*' rev-parse HEAD >/dev/null 2>&1; then
        git -c safe.directory='*' ls-files -z --cached --others --exclude-standard
        when=$(git -c safe.directory='*' log -1 --format=%cD)
    else
        # A tree without git, such as an unpacked archive.
        find . -path ./build -prune -o -path ./rdma-core -prune -o -type f -print0
        when=$(date -R -r CMakeLists.txt)
    fi >"$dir.files"
    tar --null --no-recursion --ignore-failed-read -T "$dir.files" -cf - 2>/dev/null | tar -C "$dir" -xf -
    rm "$dir.files"
    cp -a "$rdma_core" "$dir/rdma-core"
    cp -a scripts/packaging/debian "$dir/debian"
    # The maintainer is DEBFULLNAME <DEBEMAIL> if the environment sets them.
    [ -z "${DEBEMAIL:-}" ] || sed -i "s/^Maintainer: .*/Maintainer: ${DEBFULLNAME:-The Dingo authors} <$DEBEMAIL>/" "$dir/debian/control"
    printf 'dingo (%s-%s~deb%su1) %s; urgency=medium\n\n  * Built from this tree.\n\n -- %s  %s\n' "$version" "$revision" \
        "${debian_numbers[$release]}" "$release" "$(sed -n 's/^Maintainer: //p' "$dir/debian/control")" "$when" >"$dir/debian/changelog"
}

# Script that runs in a root or on this machine: builds the packages, checks them with lintian (if
# LINTIAN is not empty), and makes OUT an apt repository. Arguments: DIR, OUT, LINTIAN.
# shellcheck disable=SC2016
build_package='
    # debhelper gives the build a home of its own.
    export CCACHE_DIR=${CCACHE_DIR:-$HOME/.cache/ccache} CCACHE_BASEDIR=$1 CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1 CCACHE_IGNOREOPTIONS=-Werror
    export DEB_BUILD_OPTIONS="parallel=$(nproc) noautodbgsym nocheck"
    ! command -v ccache >/dev/null || export DINGO_PACKAGE_CMAKE="-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache"
    cd "$1"
    dpkg-buildpackage -b -uc -us
    cd ..
    # Packages that Debian does not have close no bug of it; nor has their maintainer an address until DEBEMAIL says one.
    suppress=initial-upload-closes-no-bugs,bad-distribution-in-changes-file
    ! grep -q "@localhost" "$1/debian/control" || suppress+=,bogus-mail-host,bogus-mail-host-in-debian-changelog
    [ -z "$3" ] || lintian --allow-root --fail-on error,warning --suppress-tags "$suppress" ./*.changes
    cp ./*.deb "$2"
    cd "$2"
    dpkg-scanpackages --multiversion . >Packages 2>/dev/null
    gzip -9kf Packages
    {
        printf "Origin: Dingo\nSuite: stable\nDate: %s\nSHA256:\n" "$(date -Ru)"
        for file in Packages Packages.gz; do
            printf " %s %s %s\n" "$(sha256sum "$file" | cut -d" " -f1)" "$(stat -c %s "$file")" "$file"
        done
    } >Release
'

# build_packages_for RELEASE RDMA_CORE REVISION OUT HERE LINTIAN: builds RELEASE's packages into
# OUT, with an index for apt. HERE: on this machine instead of in a root, if not empty.
build_packages_for() {
    local release=$1 rdma_core=$2 revision=$3 out=$4 here=$5 lintian=$6 work root rc=0
    mkdir -p "$out"
    rm -f "$out"/*.deb "$out"/Packages* "$out/Release"
    work=$(mktemp -d "$(dirname "$out")/.work-XXXXXX")
    package_source "$work/dingo" "$rdma_core" "$release" "$revision"
    if [ -n "$here" ]; then
        bash -euc "$build_package" bash "$work/dingo" "$out" "$lintian" >"$out/build.log" 2>&1 || rc=$?
    else
        root=$(debian_root "$release") || exit 125
        root_binds=("$work" "$out")
        in_root "$root" '' bash -euc "$build_package" bash "$work/dingo" "$out" "$lintian" >"$out/build.log" 2>&1 || rc=$?
    fi
    root_binds=()
    if [ $rc != 0 ]; then
        tail -n 25 "$out/build.log" >&2
        rm -rf "$work"
        die "no packages for $release (log: $out/build.log)"
    fi
    rm -rf "$work"
}
