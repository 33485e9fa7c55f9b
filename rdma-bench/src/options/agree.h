// SPDX-License-Identifier: BSD-2-Clause
// Which options both sides must have given alike.
#pragma once
#include <string>
#include <vector>

#include "options/options.h"

namespace rdma_bench {

struct OptionValue {
    std::string option, value;
    bool operator==(const OptionValue&) const = default;
};

/// Options that both sides must agree on, in a fixed order; `value` as a user would write it.
std::vector<OptionValue> agreed_options(const Options& options);

/// One part of a sentence for each that differs: "-s: 64 here, 4096 at the peer"; empty when all
/// are alike. An option that only one side knows (another version) counts as different.
std::string option_differences(const std::vector<OptionValue>& mine,
                               const std::vector<OptionValue>& peers);

}  // namespace rdma_bench
