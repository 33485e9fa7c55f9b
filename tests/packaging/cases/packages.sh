# SPDX-License-Identifier: BSD-2-Clause
# Builds Debian packages, checks them with lintian, and uses them in clean roots of Debian 12 and
# 13.
. scripts/lib/rdma_core.sh
. scripts/lib/package.sh
newer() { # RELEASE: repacks the packages with the next revision, in NEWER/RELEASE
    local file dir
    mkdir -p "$logs/newer/$1"
    for file in "$logs/packages/$1"/*.deb; do
        dir=$logs/newer/$1/tree
        dpkg-deb -R "$file" "$dir"
        # Its own version, and its dependencies on the other packages of the source.
        sed -i -E "s/-1~deb([0-9]+)u1/-2~deb\1u1/g" "$dir/DEBIAN/control"
        dpkg-deb --root-owner-group -Zgzip -b "$dir" "$logs/newer/$1/$(basename "${file/-1~deb/-2~deb}")" >/dev/null
        rm -rf "$dir"
    done
    (cd "$logs/newer/$1" && dpkg-scanpackages --multiversion . >Packages 2>/dev/null)
}
for release in ${DINGO_RELEASES:-bookworm trixie}; do
    # DINGO_PACKAGES: a directory with built packages, from scripts/packages.sh.
    if [ -n "${DINGO_PACKAGES:-}" ]; then mkdir -p "$logs/packages" && cp -r "$DINGO_PACKAGES/$release" "$logs/packages/"
    else limit=3000 plain "$release: packages are built, and lintian finds nothing" "scripts/packages.sh --release $release --out $logs/packages"
    fi
    ls "$logs/packages/$release"/dingo_*.deb >/dev/null 2>&1 || continue
    newer "$release"
    root=$(debian_root "$release" clean)
    root_binds=("$logs") root_environment=(LOGS="$logs" RELEASE="$release")
    rc=0
    in_root "$root" '' timeout 900 tests/packaging/in_clean_root.sh >"$logs/clean-$release.log" 2>&1 || rc=$?
    root_binds=() root_environment=()
    grep -E '^(PASS|FAIL|SKIP) ' "$logs/clean-$release.log" || true
    failed=$((failed + $(grep -c '^FAIL ' "$logs/clean-$release.log" || true)))
    [ $rc = 0 ] || grep -q '^FAIL ' "$logs/clean-$release.log" || fail "$release: the clean root" "status $rc: $(why "$logs/clean-$release.log")"
done
