// SPDX-License-Identifier: BSD-2-Clause
//
// Runs the suite for each engine of this build: tests/support/engines.cpp lists them.
#include <gtest/gtest.h>

#include "engines.h"

int main(int argc, char** argv) {
    dingo::test::register_engines();
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
