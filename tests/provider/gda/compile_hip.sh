#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Compiles the tests' kernel for AMD GPUs with wavefronts of 64 and of 32 lanes, by Clang and the
# headers of libamdhip64-dev. Does not run it. Exit status 77: no suitable Clang, or no headers.
set -eu
case ${1:-} in -h | --help | '') echo "usage: compile_hip.sh CONTRACT_HEADERS"; exit 0 ;; esac
here=$(dirname "$0")
clang=$(command -v clang++) && [ -e /usr/include/hip/hip_runtime.h ] || { echo "no clang++, or no libamdhip64-dev"; exit 77; }
for gpu in gfx90a gfx1030; do
    "$clang" -x hip --offload-arch=$gpu --cuda-device-only --rocm-path=/usr -nogpulib -std=c++17 -O2 -Wall -Wextra -Werror \
        -I"$here/../../../provider/gda" -I"$1" -S -o /dev/null "$here/kernel_hip.cpp"
    echo "compiled for $gpu"
done
