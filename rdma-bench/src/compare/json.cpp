// SPDX-License-Identifier: BSD-2-Clause
#include "compare/json.h"

#include <nlohmann/json.hpp>

#include "report/json.h"

namespace rdma_bench {

nlohmann::ordered_json comparison_json(const Comparison& comparison) {
    using Json = nlohmann::ordered_json;
    Json figures = Json::array();
    for (const Figure& f : comparison.figures) {
        const double unit = f.higher_is_better ? 1 : 1e3;
        figures.push_back(
            {{"size_bytes", f.size},
             {"qps", f.qps},
             {"figure", f.name},
             {"unit", f.higher_is_better ? "bytes_per_second" : "us"},
             {"first", f.first / unit},
             {"second", f.second / unit},
             {"ratio", f.ratio()},
             {"interval_of_the_ratio", f.interval ? report::spread_json(*f.interval) : nullptr},
             {"verdict", std::string(to_string(f.verdict))}});
    }
    return {{"judged", comparison.ground},
            {"figures", figures},
            {"failures", comparison.failures},
            {"remarks", comparison.remarks}};
}

}  // namespace rdma_bench
