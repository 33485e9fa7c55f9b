// SPDX-License-Identifier: BSD-2-Clause
#include "run/verified.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "exit.h"
#include "run/clock.h"
#include "run/cost.h"
#include "run/entry_run.h"
#include "run/round_check.h"
#include "run/round_transfer.h"

namespace rdma_bench {
namespace {

using nlohmann::json;

void add(Verification& sum, const Verification& more) {
    sum.messages += more.messages;
    sum.bytes += more.bytes;
    sum.lost += more.lost;
    if (more.wrong && sum.first.empty()) {
        sum.first = more.first;
    }
    sum.wrong += more.wrong;
}

Verification verification_from(const json& j) {
    Verification v;
    j.at("messages").get_to(v.messages);
    j.at("bytes").get_to(v.bytes);
    j.at("lost").get_to(v.lost);
    j.at("wrong").get_to(v.wrong);
    j.at("first").get_to(v.first);
    return v;
}

json to_json(const Verification& v) {
    return {{"messages", v.messages},
            {"bytes", v.bytes},
            {"lost", v.lost},
            {"wrong", v.wrong},
            {"first", v.first}};
}

class Rounds {
  public:
    explicit Rounds(const VerifiedRun& run)
        : run_(run), role_(role_of(run.options)), check_(run, role_) {}

    VerifiedOutcome lead(const std::function<void(const VerifiedOutcome&)>& progress) {
        const auto& o = run_.options;
        const auto theirs = run_.link.expect("ready", false).at("slots").get<unsigned>();
        const unsigned slots = std::max(1U, std::min(theirs, check_.slots()));
        const auto end = monotonic_ns() + std::uint64_t{o.duration} * 1'000'000'000;
        std::uint64_t first = 0;
        while (!Interrupt::instance().seen() &&
               (o.duration ? monotonic_ns() < end : first < o.iterations)) {
            const auto count = static_cast<unsigned>(
                o.duration ? slots : std::min<std::uint64_t>(slots, o.iterations - first));
            const auto workers = prepare(first, count);
            run_.link.send("round", {{"first", first}, {"count", count}});
            run_.link.expect("go", false);
            auto checked = transfer(workers, count);
            add(out_.verification, check_.compare());
            add(out_.verification,
                verification_from(checked ? *checked : run_.link.expect("checked", false)));
            first += count;
            progress(out_);
        }
        run_.link.send("end", json::object());
        return out_;
    }

    VerifiedOutcome follow() {
        check_.clear_counters();
        run_.link.send("ready", {{"slots", check_.slots()}});
        for (;;) {
            const auto message = run_.link.expect_any({"round", "end"});
            if (message["type"] == "end") {
                return out_;
            }
            const auto first = message.at("first").get<std::uint64_t>();
            const auto count = message.at("count").get<unsigned>();
            if (count == 0 || count > check_.slots()) {
                throw RunError(Exit::kPeer, "the peer wants rounds of " + std::to_string(count) +
                                                " messages, this side has " +
                                                std::to_string(check_.slots()) + " slots");
            }
            const auto workers = prepare(first, count);
            run_.link.send("go", json::object());
            transfer(workers, count);
            const auto checked = check_.compare();
            run_.link.send("checked", to_json(checked));
            add(out_.verification, checked);
        }
    }

  private:
    /// Prepares what the peer needs before it may send: data, and the receives of the first round.
    std::vector<Worker*> prepare(std::uint64_t first, unsigned count) {
        check_.begin(first, count);
        Traffic::Part part;
        part.size = run_.size;
        part.qps = run_.qps;
        part.goal = role_.sends ? count : 0;
        part.task.sends = role_.sends;
        part.task.receives = role_.receives;
        part.task.extended = run_.extended;
        part.task.cost = run_.options.report.cpu;
        auto workers = run_.traffic.prepare(part);
        for (Worker* worker : workers) {
            check_.set_atomics(*worker, first, count);
        }
        return workers;
    }

    /// @return the peer's "checked" message if it has arrived already
    std::optional<json> transfer(const std::vector<Worker*>& workers, unsigned count) {
        RoundTransfer round(run_, role_, workers, count);
        auto checked = round.run();
        check_.arrived(round.arrivals());
        std::uint64_t from = UINT64_MAX, to = 0;
        for (const Worker* worker : workers) {
            const Outcome& out = worker->outcome;
            out_.messages += out.messages;
            add_cost(out_.cost, out.cost);
            if (out.messages) {
                from = std::min(from, out.first_tick);
                to = std::max(to, out.last_tick);
            }
        }
        if (from < to) {
            out_.seconds += static_cast<double>(to - from) * ns_per_tick() * 1e-9;
        }
        return checked;
    }

    const VerifiedRun& run_;
    Role role_;
    RoundCheck check_;
    VerifiedOutcome out_;
};

}  // namespace

VerifiedOutcome lead_rounds(const VerifiedRun& run,
                            const std::function<void(const VerifiedOutcome&)>& progress) {
    return Rounds(run).lead(progress);
}

VerifiedOutcome follow_rounds(const VerifiedRun& run) {
    return Rounds(run).follow();
}

}  // namespace rdma_bench
