# SPDX-License-Identifier: BSD-2-Clause
# Unit tests of code that depends on the architecture (memory model, unsigned char), built for arm64
# and run under qemu-user.
root=$(debian_root trixie arm64) || exit 125
targets=(contract_dump_c test_packet model_test test_transport)
rc=0
root_environment=(PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig DINGO_WERROR=ON
    DINGO_CMAKE_OPTIONS="--toolchain scripts/packaging/arm64.cmake -DDINGO_RTL=OFF -DDINGO_PROVIDER=OFF -DDINGO_QPX=OFF")
# shellcheck disable=SC2016
in_root "$root" "$dingo_root/build/roots/arm64" bash -ec '
    . scripts/lib/common.sh
    . scripts/lib/build.sh
    build_preset release "$@"
    aarch64-linux-gnu-readelf -h build/bin/test_packet' bash "${targets[@]}" >"$logs/arm64.build" 2>&1 || rc=$?
if [ $rc != 0 ]; then
    fail 'it builds' "status $rc: $(grep -m 3 -E 'error|warning' "$logs/arm64.build" | tr '\n' ' ' | cut -c1-300) $(why "$logs/arm64.build")"
else
    plain 'it builds, for AArch64' "tail -n 30 $logs/arm64.build" 'AArch64|aarch64'
    rc=0
    in_root "$root" "$dingo_root/build/roots/arm64" timeout 900 ctest --test-dir build -j "$(nproc)" --timeout 300 -E NOT_BUILT \
        -R '^(contract|packet|model|transport)\.|^(Icrc|Parse|Build|Aeth|Psn|Opcode|Address|Header|Decoder|Text)' >"$logs/arm64.ctest" 2>&1 || rc=$?
    sed -nE "s/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: (.*[^ .]) \.+ +Passed.*/PASS $suite:\1/p; s/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: (.*[^ .]) \.+\*\*\*(Skipped|Not Run).*/SKIP $suite:\1: skipped by itself/p" "$logs/arm64.ctest"
    while read -r test; do fail "$test" 'see arm64.ctest'; done < <(sed -nE 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: (.*[^ .]) \.+\*\*\*(Failed|Timeout|Exception).*/\1/p' "$logs/arm64.ctest")
    [ $rc = 0 ] || [ "$failed" != 0 ] || fail 'ctest' "status $rc: $(why "$logs/arm64.ctest")"
    grep -q '^PASS' <<<"$(sed -nE 's/.*Passed.*/PASS/p' "$logs/arm64.ctest")" || fail 'tests run' 'none did'
fi
root_environment=()
