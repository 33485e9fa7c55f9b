// SPDX-License-Identifier: BSD-2-Clause
#include <map>

#include "dingo/engine.h"

namespace dingo {
namespace {

std::map<std::string, EngineFactory, std::less<>>& registry() {
    static std::map<std::string, EngineFactory, std::less<>> engines;
    return engines;
}

}  // namespace

void register_engine(std::string_view name, EngineFactory factory) {
    registry()[std::string(name)] = factory;
}

std::vector<std::string> engine_names() {
    std::vector<std::string> names;
    for (const auto& [name, factory] : registry()) {
        names.push_back(name);
    }
    return names;
}

std::unique_ptr<Engine> make_engine(std::string_view name, const EngineConfig& config,
                                    HostPort& host, WirePort& wire) {
    const auto it = registry().find(name);
    return it == registry().end() ? nullptr : it->second(config, host, wire);
}

}  // namespace dingo
