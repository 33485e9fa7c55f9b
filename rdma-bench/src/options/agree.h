// SPDX-License-Identifier: BSD-2-Clause
// Options that must be equal on both sides.
#pragma once
#include <string>
#include <vector>

#include "options/options.h"

namespace rdma_bench {

struct OptionValue {
    std::string option, value;
    bool operator==(const OptionValue&) const = default;
};

/// Returns the options that must be equal, in a fixed order; `value` as a user would write it.
std::vector<OptionValue> agreed_options(const Options& options);

/// Describes each difference: "-s: 64 here, 4096 at the peer"; empty if there is none. An option
/// that only one side knows (another version) counts as different.
std::string option_differences(const std::vector<OptionValue>& mine,
                               const std::vector<OptionValue>& peers);

}  // namespace rdma_bench
