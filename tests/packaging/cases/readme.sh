# SPDX-License-Identifier: BSD-2-Clause
# README.md's quick start, pasted line by line into clean roots of Debian 12 and 13: packages as root, all else as a user.
for release in ${DINGO_RELEASES:-bookworm trixie}; do
    root=$(debian_root "$release" clean)
    root_binds=("$logs") root_environment=(LOGS="$logs" RELEASE="$release")
    rc=0
    in_root "$root" '' timeout 3400 tests/packaging/readme_in_root.sh >"$logs/$release.log" 2>&1 || rc=$?
    root_binds=() root_environment=()
    grep -E '^(PASS|FAIL|SKIP) ' "$logs/$release.log" || true
    failed=$((failed + $(grep -c '^FAIL ' "$logs/$release.log" || true)))
    [ $rc = 0 ] || fail "$release: to the end" "status $rc: $(why "$logs/$release.log")"
done
