# SPDX-License-Identifier: BSD-2-Clause
# Builds the provider in another rdma-core than that of scripts/rdma-core.sh, and runs that
# rdma-core's tools and the man pages' promises with its libibverbs. DINGO_RDMA_CORE is its unpacked
# source, for example git's head.
source=${DINGO_RDMA_CORE:-}
[ -n "$source" ] || { skip 'another rdma-core' 'DINGO_RDMA_CORE does not name an unpacked source'; return; }
[ -r "$source/libibverbs/driver.h" ] || { fail 'another rdma-core' "DINGO_RDMA_CORE: $source has no libibverbs/driver.h"; return; }
there=$dingo_root/build/other-rdma-core
theirs=$there/provider/build
tools=(ibv_devices ibv_devinfo ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong ibv_srq_pingpong)
if ! {
    cmake -S . -B "$there" -G Ninja -DCMAKE_BUILD_TYPE=Release -DDINGO_RTL=OFF "-DRDMA_CORE_SOURCE=$(realpath "$source")" \
        "-DCMAKE_C_COMPILER_LAUNCHER=$(command -v ccache)" "-DCMAKE_CXX_COMPILER_LAUNCHER=$(command -v ccache)" &&
        cmake --build "$there" --target dingo_provider &&
        cmake --build "$theirs" --target "${tools[@]}"
} >"$logs/build-other.log" 2>&1; then
    fail 'the provider builds' "$(grep -m 2 -E 'error|Error' "$logs/build-other.log" | tr '\n' ' ' | cut -c1-300) $(why "$logs/build-other.log")"
    return
fi
pass 'the provider builds'
warnings=$(grep 'warning: ' "$logs/build-other.log" | grep 'providers/dingo/' || true)
if [ -z "$warnings" ]; then pass 'no warning'; else fail 'no warning' "$(head -n 2 <<<"$warnings" | tr '\n' ' ')"; fi
# `dingo` uses the card program and the provider beside it.
mkdir -p "$there/bin"
cp build/bin/{dingo,dingo-card} "$there/bin/"
cp -P build/lib/libdingo-preload.so "$there/lib/"
dingo=$there/bin/dingo
with_theirs="export LD_LIBRARY_PATH=$theirs/lib PATH=$theirs/bin:\$PATH;"
start_card alpha
start_card beta
single 'its libibverbs is the one that is loaded' alpha "$with_theirs LD_DEBUG=libs ibv_devices 2>&1" "calling init: $theirs/lib/libibverbs.so.1"
single 'ibv_devices lists the card' alpha "$with_theirs ibv_devices" 'alpha[[:space:]]+[0-9a-f]{16}'
single 'ibv_devinfo -v' alpha "$with_theirs ibv_devinfo -v" 'state:[[:space:]]+PORT_ACTIVE'
for tool in "${tools[@]:2}"; do
    pair "$tool" "$with_theirs $tool -g \$(gid 4)" "$with_theirs $tool -g \$(gid 4) A" 'usec/iter'
done
. tests/e2e/cases/promises.sh
limit=900 on alpha "$with_theirs $dingo_root/build/bin/verbs_promises -d alpha" >"$logs/promises.out" 2>&1 || true
promises "$logs/promises.out" ': (every value is allowed|the table is full)'
