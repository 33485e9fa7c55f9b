// SPDX-License-Identifier: BSD-2-Clause
#include "engines.h"

#include "dingo/engine.h"
#include "dingo/model.h"

namespace dingo::test {

std::vector<std::string> register_engines() {
    model::register_model_engine();
    return engine_names();
}

}  // namespace dingo::test
