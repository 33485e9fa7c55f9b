// SPDX-License-Identifier: BSD-2-Clause
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdio>

/// Loads the fake drivers first: dlopen() then returns them for these names, so that no test uses a
/// real driver of this machine.
int main(int argc, char** argv) {
    for (const char* file : {FAKE_GPU_DIR "/libcuda.so.1", FAKE_GPU_DIR "/libamdhip64.so",
                             FAKE_GPU_DIR "/libhsa-runtime64.so.1"}) {
        if (::dlopen(file, RTLD_NOW | RTLD_GLOBAL) == nullptr) {
            std::fprintf(stderr, "%s\n", ::dlerror());
            return 1;
        }
    }
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
