# SPDX-License-Identifier: BSD-2-Clause
# scripts/lib/build.sh: build_preset configures only if something has changed, and admits one
# builder at a time. Sourced by suite.sh.
. scripts/lib/build.sh
tree=$work/configured
mkdir -p "$tree/build" "$work/build-bin"
cp CMakePresets.json "$tree/"
# A fake cmake: caches the options, and builds slowly.
cat >"$work/build-bin/cmake" <<'CMAKE'
#!/bin/bash
dir=${DINGO_TREE:?}/build
if [ "$1" = --build ]; then
    mkdir "$dir/building" || echo twice >>"$DINGO_TREE/did"
    sleep 0.3
    rmdir "$dir/building"
    echo build >>"$DINGO_TREE/did"
    exit
fi
echo configure >>"$DINGO_TREE/did"
for option in "$@"; do [[ $option != -D*=* ]] || { o=${option#-D}; sed -i "/^${o%%=*}:/d" "$dir/CMakeCache.txt"; echo "${o%%=*}:STRING=${o#*=}" >>"$dir/CMakeCache.txt"; }; done
touch "$dir/build.ninja"
CMAKE
chmod +x "$work/build-bin/cmake"
: >"$tree/build/CMakeCache.txt"
# builds [OPTIONS]: prints what build_preset does with the fake cmake.
builds() (
    PATH=$work/build-bin:$PATH dingo_root=$tree DINGO_CMAKE_OPTIONS=${1:-} DINGO_WERROR=ON
    export DINGO_TREE=$tree
    : >"$tree/did"
    build_preset release >/dev/null
    paste -sd ' ' "$tree/did"
)
check 'build: a fresh tree is configured' 'configure build' "$(builds)"
check 'build: a configured tree is not configured again' 'build' "$(builds)"
check 'build: with an option that it has not, it is' 'configure build' "$(builds -DDINGO_RTL=ON)"
check 'build: an option that it has stays' 'build' "$(builds)"
touch -d '+1 minute' "$tree/CMakePresets.json"
check 'build: new presets are read' 'configure build' "$(builds)"
touch -d '-1 hour' "$tree/CMakePresets.json"
builds >"$work/first" &
build_preset_pid=$!
builds >/dev/null
wait $build_preset_pid
check 'build: one builder at a time' 0 "$(grep -c twice "$tree/did")"
