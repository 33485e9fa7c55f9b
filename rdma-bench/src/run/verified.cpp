// SPDX-License-Identifier: BSD-2-Clause
#include "run/verified.h"

#include <poll.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "exit.h"
#include "run/clock.h"
#include "run/pattern.h"

namespace rdma_bench {
namespace {

using nlohmann::json;

/// What both roles know of the areas.
class Areas {
  public:
    explicit Areas(const VerifiedRun& run)
        : run_(run),
          out_(out_slots(run.options, run.size)),
          in_(in_slots(run.options, run.size)),
          header_(run.options.connection == Connection::kUd ? kGrhSize : 0),
          text_(run.size) {}

    [[nodiscard]] unsigned slots() const {
        return std::min({out_.count, in_.count, send_depth(run_.options, run_.size)});
    }

    void fill_out(unsigned qp, unsigned slot, Stream stream, std::uint64_t sequence) {
        fill_pattern(text_, stream, sequence);
        run_.traffic.buffer().write(out_at(qp, slot), text_);
    }
    void clear_in(unsigned qp, unsigned slot) {
        std::fill(text_.begin(), text_.end(), std::byte{0});
        run_.traffic.buffer().write(in_at(qp, slot), text_);
    }
    /// The message in a slot, valid until the next call.
    std::span<const std::byte> message(unsigned qp, unsigned slot) {
        run_.traffic.buffer().read(in_at(qp, slot), text_);
        return text_;
    }
    std::uint64_t counter(unsigned qp) {
        std::uint64_t value;
        run_.traffic.buffer().read(run_.traffic.out_offset(qp),
                                   std::as_writable_bytes(std::span(&value, 1)));
        return value;
    }
    void clear_counter(unsigned qp) {
        const std::uint64_t value = 0;
        run_.traffic.buffer().write(run_.traffic.out_offset(qp),
                                    std::as_bytes(std::span(&value, 1)));
    }

  private:
    [[nodiscard]] std::size_t out_at(unsigned qp, unsigned slot) const {
        return run_.traffic.out_offset(qp) + slot * out_.stride;
    }
    [[nodiscard]] std::size_t in_at(unsigned qp, unsigned slot) const {
        return run_.traffic.in_offset(qp) + slot * in_.stride + header_;
    }
    const VerifiedRun& run_;
    Slots out_, in_;
    std::size_t header_;
    std::vector<std::byte> text_;
};

void tell(Verification& verification, std::uint64_t size, const std::string& wrong) {
    ++verification.messages;
    verification.bytes += size;
    if (!wrong.empty() && verification.wrong++ == 0) {
        verification.first = wrong;
    }
}

void add(Verification& sum, const json& more) {
    sum.messages += more.at("messages").get<std::uint64_t>();
    sum.bytes += more.at("bytes").get<std::uint64_t>();
    sum.lost += more.at("lost").get<std::uint64_t>();
    const auto wrong = more.at("wrong").get<std::uint64_t>();
    if (wrong && sum.first.empty()) {
        sum.first = more.at("first").get<std::string>();
    }
    sum.wrong += wrong;
}

json to_json(const Verification& v) {
    return {{"messages", v.messages},
            {"bytes", v.bytes},
            {"lost", v.lost},
            {"wrong", v.wrong},
            {"first", v.first}};
}

// --- The initiator.

class Initiator {
  public:
    explicit Initiator(const VerifiedRun& run)
        : run_(run), areas_(run), from_server_(!run.options.client()) {}

    VerifiedOutcome operator()(const std::function<void(const VerifiedOutcome&)>& progress) {
        const auto& o = run_.options;
        const auto end = monotonic_ns() + std::uint64_t{o.duration} * 1'000'000'000;
        std::uint64_t first = 0;
        while (!Interrupt::instance().seen() &&
               (o.duration ? monotonic_ns() < end : first < o.iterations)) {
            const auto count = static_cast<unsigned>(
                o.duration ? areas_.slots()
                           : std::min<std::uint64_t>(areas_.slots(), o.iterations - first));
            prepare(first, count);
            run_.link.send("round", {{"first", first}, {"count", count}});
            run_.link.expect("go", false);
            transfer(first, count);
            run_.link.send("sent", json::object());
            compare(first, count);
            add(out_.verification, run_.link.expect("checked", false));
            first += count;
            progress(out_);
        }
        run_.link.send("end", json::object());
        return out_;
    }

  private:
    [[nodiscard]] Operation operation() const { return run_.options.test.operation; }

    void prepare(std::uint64_t first, unsigned count) {
        for (unsigned qp = 0; qp < run_.qps; ++qp) {
            for (unsigned slot = 0; slot < count; ++slot) {
                if (operation() == Operation::kWrite || operation() == Operation::kSend) {
                    areas_.fill_out(qp, slot, {qp, from_server_}, first + slot);
                } else {
                    areas_.clear_in(qp, slot);
                }
            }
        }
    }

    void transfer(std::uint64_t first, unsigned count) {
        Traffic::Part part;
        part.size = run_.size;
        part.qps = run_.qps;
        part.goal = count;
        part.task.sends = true;
        part.task.extended = run_.extended;
        part.task.cost = run_.options.report.cpu;
        Worker& worker = *run_.traffic.prepare(part).front();
        if (operation() == Operation::kAtomic &&
            run_.options.atomic == AtomicType::kCompareAndSwap) {
            for (Lane* lane : worker.lanes) {
                for (unsigned slot = 0; slot < count; ++slot) {
                    lane->ring[slot].wr.atomic.compare_add = first + slot;
                    lane->ring[slot].wr.atomic.swap = first + slot + 1;
                }
            }
        }
        Control control;
        run_bandwidth(worker, control);
        out_.messages += worker.outcome.messages;
        out_.seconds += static_cast<double>(worker.outcome.last_tick - worker.outcome.first_tick) *
                        ns_per_tick() * 1e-9;
        out_.cost.user_seconds += worker.outcome.cost.user_seconds;
        out_.cost.system_seconds += worker.outcome.cost.system_seconds;
        out_.cost.messages += worker.outcome.cost.messages;
        if (worker.outcome.cost.instructions) {
            out_.cost.instructions =
                out_.cost.instructions.value_or(0) + *worker.outcome.cost.instructions;
        }
    }

    void compare(std::uint64_t first, unsigned count) {
        for (unsigned qp = 0; qp < run_.qps; ++qp) {
            for (unsigned slot = 0; slot < count; ++slot) {
                if (operation() == Operation::kRead) {
                    tell(
                        out_.verification, run_.size,
                        check_pattern(areas_.message(qp, slot), {qp, !from_server_}, first + slot));
                } else if (operation() == Operation::kAtomic) {
                    compare_atomic(qp, slot, first + slot);
                }
            }
        }
    }

    void compare_atomic(unsigned qp, unsigned slot, std::uint64_t sequence) {
        std::uint64_t before;
        std::memcpy(&before, areas_.message(qp, slot).data(), sizeof before);
        tell(out_.verification, run_.size,
             before == sequence
                 ? ""
                 : "atomic " + std::to_string(sequence) + " of QP " + std::to_string(qp) +
                       ": expected the counter at " + std::to_string(sequence) + ", it was " +
                       std::to_string(before));
    }

    const VerifiedRun& run_;
    Areas areas_;
    bool from_server_;
    VerifiedOutcome out_;
};

// --- The responder.

class Responder {
  public:
    explicit Responder(const VerifiedRun& run)
        : run_(run), areas_(run), from_server_(!run.options.client()) {}

    VerifiedOutcome operator()() {
        Traffic::Part part;
        part.size = run_.size;
        part.qps = run_.qps;
        worker_ = run_.traffic.prepare(part).front();
        for (unsigned qp = 0; qp < run_.qps && operation() == Operation::kAtomic; ++qp) {
            areas_.clear_counter(qp);
        }
        run_.link.send("ready", json::object());
        for (;;) {
            auto message = run_.link.expect_any({"round", "end"});
            if (message["type"] == "end") {
                return out_;
            }
            first_ = message.at("first").get<std::uint64_t>();
            count_ = message.at("count").get<unsigned>();
            if (count_ > areas_.slots()) {
                throw RunError(Exit::kPeer, "the peer wants rounds of " + std::to_string(count_) +
                                                " messages, this side has " +
                                                std::to_string(areas_.slots()) + " slots");
            }
            round();
        }
    }

  private:
    [[nodiscard]] Operation operation() const { return run_.options.test.operation; }

    void round() {
        if (operation() == Operation::kRead) {
            for (unsigned qp = 0; qp < run_.qps; ++qp) {
                for (unsigned slot = 0; slot < count_; ++slot) {
                    areas_.fill_out(qp, slot, {qp, from_server_}, first_ + slot);
                }
            }
        }
        if (unsure()) {
            for (unsigned qp = 0; qp < run_.qps; ++qp) {
                for (unsigned slot = 0; slot < count_; ++slot) {
                    areas_.clear_in(qp, slot);
                }
            }
        }
        run_.link.send("go", json::object());
        round_ = {};
        if (operation() == Operation::kSend) {
            receive();
        } else {
            run_.link.expect("sent", false);
        }
        if (operation() == Operation::kWrite) {
            compare_written();
        } else if (operation() == Operation::kAtomic) {
            compare_counters();
        }
        run_.link.send("checked", to_json(round_));
        out_.verification.messages += round_.messages;
    }

    /// UC says "sent" when a message has left, not when it has arrived, and loses what the network
    /// loses.
    [[nodiscard]] bool unsure() const {
        return operation() == Operation::kWrite && run_.options.connection != Connection::kRc;
    }

    void compare_written() {
        const auto patience = monotonic_ns() + 200'000'000;
        for (unsigned qp = 0; qp < run_.qps; ++qp) {
            for (unsigned slot = 0; slot < count_; ++slot) {
                auto wrong = written(qp, slot);
                while (unsure() && !wrong.empty() && monotonic_ns() < patience) {
                    poll(nullptr, 0, 1);
                    wrong = written(qp, slot);
                }
                if (unsure() && !wrong.empty() && never_came(qp, slot)) {
                    ++round_.lost;
                    continue;
                }
                tell(round_, run_.size, wrong);
            }
        }
    }
    std::string written(unsigned qp, unsigned slot) {
        return check_pattern(areas_.message(qp, slot), {qp, !from_server_}, first_ + slot);
    }
    /// From some packet on the slot is as it was cleared.
    bool never_came(unsigned qp, unsigned slot) {
        const auto message = areas_.message(qp, slot);
        std::vector<std::byte> expected(message.size());
        fill_pattern(expected, {qp, !from_server_}, first_ + slot);
        const auto differs = std::mismatch(message.begin(), message.end(), expected.begin()).first;
        return std::all_of(differs, message.end(), [](std::byte b) { return b == std::byte{0}; });
    }

    /// The atomics themselves are compared by the initiator; here only that all were done once.
    void compare_counters() {
        for (unsigned qp = 0; qp < run_.qps; ++qp) {
            const auto value = areas_.counter(qp);
            if (value != first_ + count_ && round_.wrong++ == 0) {
                round_.first = "counter of QP " + std::to_string(qp) + ": expected " +
                               std::to_string(first_ + count_) + " after all atomics, got " +
                               std::to_string(value);
            }
        }
    }

    void receive() {
        next_.assign(run_.qps, first_);
        std::uint64_t got = 0, quiet_since = 0;
        bool sent = false;
        const auto all = std::uint64_t{count_} * run_.qps;
        std::uint64_t looked = monotonic_ns();
        while (got < all) {
            ibv_wc wc[16];
            const int count = ibv_poll_cq(worker_->recv_cq->cq.get(), 16, wc);
            if (count < 0) {
                fail_poll();
            }
            for (int i = 0; i < count; ++i) {
                take(wc[i]);
            }
            got += static_cast<unsigned>(count);
            const auto now = monotonic_ns();
            if (count || !sent) {
                quiet_since = now;
            } else if (run_.options.connection != Connection::kRc &&
                       now - quiet_since > 200'000'000) {
                break;
            }
            // The link is looked at now and then: the peer may be gone.
            if (!sent && (count == 0 || now - looked > 10'000'000)) {
                looked = now;
                sent = run_.link.look("sent").has_value();
                if (Interrupt::instance().seen()) {
                    throw RunError(Exit::kInterrupted, "interrupted");
                }
            }
        }
        if (!sent) {
            run_.link.expect("sent", false);
        }
        round_.lost = all - got;
        for (Lane* lane : worker_->lanes) {
            if (const int error = post_receives(lane->qp, nullptr, lane->receives, lane->receive_at,
                                                lane->owed)) {
                fail_post("ibv_post_recv", error, lane->qp);
            }
            lane->owed = 0;
        }
    }

    void take(const ibv_wc& wc) {
        if (wc.status != IBV_WC_SUCCESS) {
            fail_completion(*worker_, wc);
        }
        Lane& lane = *worker_->lanes.at(wc.wr_id);
        const auto slot = static_cast<unsigned>(lane.taken++ % lane.receives.size());
        ++lane.owed;
        const std::size_t header = run_.options.connection == Connection::kUd ? kGrhSize : 0;
        auto& next = next_[lane.number];
        if (wc.byte_len != run_.size + header) {
            tell(round_, run_.size,
                 "message " + std::to_string(next) + " of QP " + std::to_string(lane.number) +
                     ": expected " + std::to_string(run_.size) + " bytes, got " +
                     std::to_string(wc.byte_len - header));
            ++next;
            return;
        }
        const auto message = areas_.message(lane.number, slot);
        std::uint64_t sequence = next;
        // UC and UD may lose messages, but what comes is in order and of this round.
        if (run_.options.connection != Connection::kRc && run_.size >= 8) {
            const auto other = sequence_of(message, {lane.number, !from_server_});
            sequence = other > next && other < first_ + count_ ? other : next;
        }
        tell(round_, run_.size, check_pattern(message, {lane.number, !from_server_}, sequence));
        next = sequence + 1;
    }

    const VerifiedRun& run_;
    Areas areas_;
    bool from_server_;
    Worker* worker_ = nullptr;
    std::uint64_t first_ = 0;
    unsigned count_ = 0;
    std::vector<std::uint64_t> next_;
    Verification round_;
    VerifiedOutcome out_;
};

}  // namespace

VerifiedOutcome run_initiator(const VerifiedRun& run,
                              const std::function<void(const VerifiedOutcome&)>& progress) {
    run.link.expect("ready", false);
    return Initiator(run)(progress);
}

VerifiedOutcome run_responder(const VerifiedRun& run) {
    return Responder(run)();
}

}  // namespace rdma_bench
