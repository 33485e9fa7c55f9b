// SPDX-License-Identifier: BSD-2-Clause
//
// dingo-card: an engine, its host (QEMU over vfio-user, or applications) and its wire in one
// process.
#include "dingo/model.h"
#ifdef DINGO_WITH_RTL
#include "dingo/rtl.h"
#endif
#include "program.h"

int main(int argc, char** argv) {
    dingo::model::register_model_engine();
#ifdef DINGO_WITH_RTL
    dingo::rtl::register_rtl_engine();
#endif
    return dingo::run_program(argc, argv);
}
