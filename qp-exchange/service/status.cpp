// SPDX-License-Identifier: BSD-2-Clause
// The registry's state as JSON.
#include <nlohmann/json.hpp>

#include "service/job.h"
#include "service/registry.h"

namespace qpx::service {
namespace {

constexpr size_t most_labels = 64;  // labels shown of one job

}  // namespace

std::string Registry::status_json() const {
    nlohmann::ordered_json status;
    status["clients"] = clients_open_;
    status["members"] = members_;
    status["bytes"] = bytes_;
    status["unread_bytes"] = outputs_;
    auto& jobs = status["jobs"] = nlohmann::ordered_json::array();
    for (const auto& [name, job] : jobs_) {
        nlohmann::ordered_json one;
        one["job"] = name;
        one["size"] = job->size;
        one["shrink"] = job->shrink;
        one["here"] = job->here;
        one["failed"] = job->failed;
        one["keys"] = job->store.size();
        one["store_bytes"] = job->store_bytes.value();
        one["wait_bytes"] = job->wait_bytes.value();
        one["exchange_bytes"] = job->exchange_bytes.value();
        one["in_barriers_and_gatherings"] = nlohmann::ordered_json::object();
        for (const auto& [label, collective] : job->collectives) {
            if (one["in_barriers_and_gatherings"].size() == most_labels) {
                break;
            }
            one["in_barriers_and_gatherings"][label] = collective.entries.size();
        }
        std::vector<uint32_t> failed;
        job->failed_ranks.for_each([&failed](uint32_t rank) { failed.push_back(rank); });
        one["exchanging"] = job->exchanging.size();
        one["failed_ranks"] = failed;
        jobs.push_back(std::move(one));
    }
    auto& counts = status["counters"];
#define QPXD_JSON(name, help) counts[#name] = counters_.name;
    QPXD_COUNTERS(QPXD_JSON)
#undef QPXD_JSON
    return status.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace qpx::service
