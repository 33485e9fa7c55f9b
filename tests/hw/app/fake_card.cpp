// SPDX-License-Identifier: BSD-2-Clause
// dingo-card with the fake engine only: what QEMU sees of a card without the model.
#include "app/program.h"
#include "fake_engine.h"

int main(int argc, char** argv) {
    dingo::test::register_fake_engine();
    return dingo::run_program(argc, argv);
}
