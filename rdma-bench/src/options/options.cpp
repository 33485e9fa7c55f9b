// SPDX-License-Identifier: BSD-2-Clause
#include "options/options.h"

#include <algorithm>

namespace rdma_bench {

const std::array<Test, 10>& all_tests() {
    static constexpr std::array<Test, 10> kTests{{
        {Operation::kWrite, Metric::kBandwidth},
        {Operation::kWrite, Metric::kLatency},
        {Operation::kRead, Metric::kBandwidth},
        {Operation::kRead, Metric::kLatency},
        {Operation::kSend, Metric::kBandwidth},
        {Operation::kSend, Metric::kLatency},
        {Operation::kAtomic, Metric::kBandwidth},
        {Operation::kAtomic, Metric::kLatency},
        {Operation::kWriteImm, Metric::kBandwidth},
        {Operation::kWriteImm, Metric::kLatency},
    }};
    return kTests;
}

std::string_view to_string(Test test) {
    switch (test.operation) {
        case Operation::kWrite:
            return test.latency() ? "write-lat" : "write-bw";
        case Operation::kRead:
            return test.latency() ? "read-lat" : "read-bw";
        case Operation::kSend:
            return test.latency() ? "send-lat" : "send-bw";
        case Operation::kAtomic:
            return test.latency() ? "atomic-lat" : "atomic-bw";
        case Operation::kWriteImm:
            return test.latency() ? "write-imm-lat" : "write-imm-bw";
    }
    return "";
}

std::optional<Test> parse_test(std::string_view name) {
    const auto& tests = all_tests();
    const auto found = std::find_if(tests.begin(), tests.end(),
                                    [&](Test test) { return to_string(test) == name; });
    return found == tests.end() ? std::nullopt : std::optional(*found);
}

std::string_view to_string(Connection connection) {
    switch (connection) {
        case Connection::kRc:
            return "RC";
        case Connection::kUc:
            return "UC";
        case Connection::kUd:
            return "UD";
    }
    return "";
}

}  // namespace rdma_bench
