// SPDX-License-Identifier: BSD-2-Clause
//
// dingo-card with the fake engine only: what QEMU sees of a card, before and without the model.
#include "fake_engine.h"
#include "program.h"

int main(int argc, char** argv) {
    dingo::card::test::register_fake_engine();
    return dingo::card::run_program(argc, argv);
}
