// SPDX-License-Identifier: BSD-2-Clause
#include "memory/buffer.h"

#include <stdexcept>

#include "memory/kinds.h"

namespace rdma_bench {

std::unique_ptr<Buffer> make_buffer(std::string_view spec, const BufferRequest& request) {
    const auto colon = spec.find(':');
    const auto name = spec.substr(0, colon);
    const auto argument = colon == spec.npos ? std::string_view{} : spec.substr(colon + 1);
    std::string names;
    for (const auto& kind : memory_kind_table()) {
        if (kind.name != name) {
            names.append(names.empty() ? "" : ", ").append(kind.name).append(kind.argument);
            continue;
        }
        if (kind.argument.empty() && colon != spec.npos) {
            throw std::invalid_argument("memory kind " + std::string(name) +
                                        " takes no argument after ':'");
        }
        if (kind.argument.starts_with(':') && argument.empty()) {
            throw std::invalid_argument("memory kind " + std::string(name) + " is written " +
                                        std::string(name) + std::string(kind.argument));
        }
        return kind.make(argument, request);
    }
    throw std::invalid_argument("no memory kind '" + std::string(spec) + "'; there are: " + names);
}

std::string memory_kinds() {
    std::string text;
    for (const auto& kind : memory_kind_table()) {
        std::string head = std::string(kind.name) + std::string(kind.argument);
        head.resize(std::max<std::size_t>(head.size() + 2, 16), ' ');
        text += "  " + head + std::string(kind.help) + "\n";
    }
    return text;
}

}  // namespace rdma_bench
