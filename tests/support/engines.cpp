// SPDX-License-Identifier: BSD-2-Clause
#include "engines.h"

#include "dingo/engine.h"
#include "dingo/model.h"
#ifdef DINGO_WITH_RTL
#include "dingo/rtl.h"
#endif

namespace dingo::test {

std::vector<std::string> register_engines() {
    model::register_model_engine();
#ifdef DINGO_WITH_RTL
    rtl::register_rtl_engine();
#endif
    return engine_names();
}

}  // namespace dingo::test
