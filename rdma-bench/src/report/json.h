// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

#include "report/result.h"
#include "report/spread.h"

namespace rdma_bench::report {

/// A file of a newer major schema is refused; within one, keys are only added.
constexpr int kSchemaVersion = 1;

/// The run as JSON, schema "rdma-bench" (docs/reference/rdma-bench.md, "Results"). Always valid:
/// text that is not UTF-8 is replaced, numbers that JSON does not have are null.
std::string to_json(const Result& result);
/// The same as a value.
nlohmann::ordered_json result_json(const Result& result);
nlohmann::ordered_json spread_json(const Spread& spread);

/// Not JSON, or not of this schema. what() has the name, the place in it and what was expected
/// there.
class BadInput : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// The inverse of to_json(). Unknown keys are skipped.
/// @param name for messages, e.g. the file's
Result from_json(std::string_view text, const std::string& name);

/// The keys of perftest's --out_json, as valid JSON, which perftest's own file is not: "test_info",
/// and as "results" the last entry; "all_results" has every entry.
/// @param gbits bandwidths in 10^9 bit/s, else MiB/s
std::string to_perftest_json(const Result& result, bool gbits);

}  // namespace rdma_bench::report
