# SPDX-License-Identifier: BSD-2-Clause
# Runs README.md's quick start line by line in clean roots of Debian 12 and 13: installs packages as
# root, does everything else as an ordinary user.
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
