// SPDX-License-Identifier: BSD-2-Clause
//
// dingo-card: an engine, its host (QEMU, over vfio-user) and its wire in one process.
#include "dingo/model.h"
#include "program.h"

int main(int argc, char** argv) {
    dingo::model::register_model_engine();
    return dingo::card::run_program(argc, argv);
}
