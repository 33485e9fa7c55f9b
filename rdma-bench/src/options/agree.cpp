// SPDX-License-Identifier: BSD-2-Clause
#include "options/agree.h"

#include <algorithm>

namespace rdma_bench {
namespace {

template <class Numbers>
std::string list(const Numbers& numbers) {
    std::string text;
    for (const auto number : numbers) {
        text += (text.empty() ? "" : ",") + std::to_string(number);
    }
    return text;
}

std::string given(bool value) {
    return value ? "given" : "not given";
}

}  // namespace

std::vector<OptionValue> agreed_options(const Options& o) {
    std::vector<OptionValue> values{
        {"test", std::string(to_string(o.test))},
        {"-R", given(o.rdma_cm)},
        {"-c", std::string(to_string(o.connection))},
        {"-s", o.all_sizes ? "-a" : list(o.sizes)},
        {"-q", list(o.qps)},
        {"-n", o.duration ? "none" : std::to_string(o.iterations)},
        {"-D", o.duration ? std::to_string(o.duration) + " s" : "none"},
        {"-b", given(o.bidirectional)},
        {"--reversed", given(o.reversed)},
        {"--run_infinitely", given(o.run_infinitely)},
        {"--verify", given(o.verify)},
        {"--perform_warm_up", given(o.warm_up)},
        {"--repeat", std::to_string(o.repeat)},
    };
    if (o.verify) {
        // Both sides must use the same slots.
        values.push_back({"-t", std::to_string(o.tx_depth)});
        values.push_back({"-r", std::to_string(o.rx_depth)});
    }
    if (o.test.operation == Operation::kAtomic) {
        values.push_back(
            {"-A", o.atomic == AtomicType::kFetchAndAdd ? "FETCH_AND_ADD" : "CMP_AND_SWAP"});
    }
    return values;
}

std::string option_differences(const std::vector<OptionValue>& mine,
                               const std::vector<OptionValue>& peers) {
    const auto value = [](const std::vector<OptionValue>& all, const std::string& option) {
        const auto found = std::find_if(all.begin(), all.end(),
                                        [&](const OptionValue& v) { return v.option == option; });
        return found == all.end() ? std::string("not known") : found->value;
    };
    std::string text;
    const auto compare = [&](const std::string& option) {
        const auto here = value(mine, option), there = value(peers, option);
        if (here != there) {
            text += (text.empty() ? "" : "; ") + option + ": " + here + " here, " + there +
                    " at the peer";
        }
    };
    for (const auto& v : mine) {
        compare(v.option);
        // Different tests have different options, so report only the test.
        if (v.option == "test" && !text.empty()) {
            return text;
        }
    }
    for (const auto& v : peers) {
        if (value(mine, v.option) == "not known") {
            compare(v.option);
        }
    }
    return text;
}

}  // namespace rdma_bench
