# SPDX-License-Identifier: BSD-2-Clause
# Sourced by cases that build in a root.

# build_there RELEASE COMPILER: builds all programs in a root, which must not give warnings; then
# runs the suite native core with them.
build_there() {
    local name=$1-$2 rc=0
    build_in_root "$1" "$2" programs "${native_core_targets[@]}" >"$logs/$name.build" 2>&1 || rc=$?
    if [ $rc != 0 ]; then
        fail "$name builds" "status $rc: $(grep -m 3 -E 'error|warning' "$logs/$name.build" | tr '\n' ' ' | cut -c1-300) $(why "$logs/$name.build")"
        return
    fi
    pass "$name builds"
    # Looks for warnings in the log: ccache repeats those of cached objects, but does not fail with
    # -Werror.
# rdma-core's files are not checked.
    local warnings
    warnings=$(grep 'warning: ' "$logs/$name.build" | grep -vE '(^|/)rdma-core/(ccan|libibverbs|librdmacm|util)/' || true)
    if [ -n "$warnings" ]; then
        fail "$name: no warning" "$(head -n 2 <<<"$warnings" | tr '\n' ' ' | cut -c1-300)"
    else
        pass "$name: no warning"
    fi
    rc=0
    in_root "$(debian_root "$1")" "$dingo_root/build/roots/$name" timeout 600 unshare --net \
        bash -c 'ip link set lo up; exec tests/e2e/native/suite.sh core' >"$logs/$name.native" 2>&1 || rc=$?
    sed -nE "s/^(PASS|FAIL|SKIP) core:/\1 $suite:$name: /p" "$logs/$name.native"
    failed=$((failed + $(grep -c '^FAIL ' "$logs/$name.native" || true)))
    [ $rc = 0 ] || grep -q '^FAIL ' "$logs/$name.native" || fail "$name: native programs" "status $rc: $(why "$logs/$name.native")"
}
