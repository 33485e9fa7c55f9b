// SPDX-License-Identifier: BSD-2-Clause
#include "run/round_check.h"

#include <poll.h>

#include <algorithm>
#include <cstring>

#include "exit.h"
#include "run/clock.h"

namespace rdma_bench {
namespace {

/// A WRITE over UC completes when it is sent; it may arrive up to this much later.
constexpr std::uint64_t kArrivalNs = 200'000'000;

}  // namespace

RoundCheck::RoundCheck(const VerifiedRun& run, const Role& role)
    : run_(run),
      role_(role),
      out_(out_slots(run.options, run.size)),
      in_(in_slots(run.options, run.size)),
      header_(run.options.connection == Connection::kUd ? kGrhSize : 0),
      text_(run.size) {}

unsigned RoundCheck::slots() const {
    return std::min({out_.count, in_.count, send_depth(run_.options, run_.size)});
}

std::size_t RoundCheck::out_at(unsigned qp, unsigned slot) const {
    return run_.traffic.out_offset(qp) + slot * out_.stride;
}
std::size_t RoundCheck::in_at(unsigned qp, unsigned slot) const {
    return run_.traffic.in_offset(qp) + slot * in_.stride;
}

/// Returns the message at an offset of the buffer, valid until the next call.
std::span<const std::byte> RoundCheck::read(std::size_t offset) {
    run_.traffic.buffer().read(offset, text_);
    return text_;
}

void RoundCheck::fill_out(unsigned qp, unsigned slot, std::uint64_t sequence) {
    fill_pattern(text_, mine(qp), sequence);
    run_.traffic.buffer().write(out_at(qp, slot), text_);
}

void RoundCheck::clear_in(unsigned qp, unsigned slot) {
    std::fill(text_.begin(), text_.end(), std::byte{0});
    run_.traffic.buffer().write(in_at(qp, slot) + header_, text_);
}

void RoundCheck::clear_counters() {
    const std::uint64_t value = 0;
    for (unsigned qp = 0; qp < run_.qps && operation() == Operation::kAtomic; ++qp) {
        run_.traffic.buffer().write(run_.traffic.out_offset(qp),
                                    std::as_bytes(std::span(&value, 1)));
    }
}

/// Returns true if messages may be lost: on UC a completion means sent, not received.
bool RoundCheck::unsure() const {
    return operation() == Operation::kWrite && run_.options.connection != Connection::kRc;
}

void RoundCheck::begin(std::uint64_t first, unsigned count) {
    first_ = first;
    count_ = count;
    round_ = {};
    const bool two_sided = operation() == Operation::kWrite || operation() == Operation::kSend;
    const bool asks = role_.sends && !two_sided;
    const bool fills =
        (two_sided && role_.sends) || (operation() == Operation::kRead && role_.peer_sends);
    const bool clears = asks || (role_.peer_sends && unsure());
    for (unsigned qp = 0; qp < run_.qps; ++qp) {
        for (unsigned slot = 0; slot < count; ++slot) {
            if (fills) {
                fill_out(qp, slot, first + slot);
            }
            if (clears) {
                clear_in(qp, slot);
            }
        }
    }
}

void RoundCheck::set_atomics(Worker& worker, std::uint64_t first, unsigned count) const {
    if (operation() != Operation::kAtomic || !role_.sends ||
        run_.options.atomic != AtomicType::kCompareAndSwap) {
        return;
    }
    for (Lane* lane : worker.lanes) {
        for (unsigned slot = 0; slot < count; ++slot) {
            lane->ring[slot].wr.atomic.compare_add = first + slot;
            lane->ring[slot].wr.atomic.swap = first + slot + 1;
        }
    }
}

Verification RoundCheck::compare() {
    switch (operation()) {
        case Operation::kWrite:
            if (role_.peer_sends) {
                compare_written();
            }
            break;
        case Operation::kWriteImm:
            break;  // check_options() refuses it: there are no rounds
        case Operation::kSend:
            if (role_.receives) {
                compare_arrivals();
            }
            break;
        case Operation::kRead:
            if (role_.sends) {
                compare_read();
            }
            break;
        case Operation::kAtomic:
            if (role_.sends) {
                compare_atomics();
            }
            if (role_.peer_sends) {
                compare_counters();
            }
    }
    return round_;
}

void RoundCheck::tell(const std::string& wrong) {
    ++round_.messages;
    round_.bytes += run_.size;
    if (!wrong.empty() && round_.wrong++ == 0) {
        round_.first = wrong;
    }
}

void RoundCheck::compare_written() {
    const auto patience = monotonic_ns() + kArrivalNs;
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
            tell(wrong);
        }
    }
}

std::string RoundCheck::written(unsigned qp, unsigned slot) {
    return check_pattern(read(in_at(qp, slot)), theirs(qp), first_ + slot);
}

/// Returns true if the slot is still cleared from the first differing byte on (lost packets).
bool RoundCheck::never_came(unsigned qp, unsigned slot) {
    const auto message = read(in_at(qp, slot));
    std::vector<std::byte> expected(message.size());
    fill_pattern(expected, theirs(qp), first_ + slot);
    const auto differs = std::mismatch(message.begin(), message.end(), expected.begin()).first;
    return std::all_of(differs, message.end(), [](std::byte b) { return b == std::byte{0}; });
}

void RoundCheck::compare_read() {
    for (unsigned qp = 0; qp < run_.qps; ++qp) {
        for (unsigned slot = 0; slot < count_; ++slot) {
            tell(check_pattern(read(in_at(qp, slot)), theirs(qp), first_ + slot));
        }
    }
}

/// Checks that each atomic returned the number of atomics before it.
void RoundCheck::compare_atomics() {
    for (unsigned qp = 0; qp < run_.qps; ++qp) {
        for (unsigned slot = 0; slot < count_; ++slot) {
            const auto sequence = first_ + slot;
            std::uint64_t before;
            std::memcpy(&before, read(in_at(qp, slot)).data(), sizeof before);
            tell(before == sequence
                     ? ""
                     : "atomic " + std::to_string(sequence) + " of QP " + std::to_string(qp) +
                           ": expected the counter at " + std::to_string(sequence) + ", it was " +
                           std::to_string(before));
        }
    }
}

/// Checks at the target that each atomic was executed once; the sender compares their results.
void RoundCheck::compare_counters() {
    for (unsigned qp = 0; qp < run_.qps; ++qp) {
        std::uint64_t value;
        run_.traffic.buffer().read(run_.traffic.out_offset(qp),
                                   std::as_writable_bytes(std::span(&value, 1)));
        if (value != first_ + count_ && round_.wrong++ == 0) {
            round_.first = "counter of QP " + std::to_string(qp) + ": expected " +
                           std::to_string(first_ + count_) + " after all atomics, got " +
                           std::to_string(value);
        }
    }
}

/// An SRQ assigns slots in any order, and completions of several QPs are unordered; those of one QP
/// are in the order of its messages.
void RoundCheck::compare_arrivals() {
    next_.assign(run_.qps, first_);
    for (const auto& arrival : arrivals_) {
        compare_arrival(arrival);
    }
    round_.lost = std::uint64_t{count_} * run_.qps - arrivals_.size();
    post_again();
}

std::size_t RoundCheck::place(const Arrival& arrival) const {
    const auto& sges = arrival.worker->srq ? arrival.worker->srq_sges : arrival.lane->receive_sges;
    return sges.at(arrival.slot).addr - run_.traffic.buffer().address();
}

void RoundCheck::compare_arrival(const Arrival& arrival) {
    Lane& lane = *arrival.lane;
    auto& next = next_[lane.number];
    const auto message_of = [&] {
        return "message " + std::to_string(next) + " of QP " + std::to_string(lane.number);
    };
    // A QP consumes its own receives in the order of their posts.
    const auto turn = arrival.worker->srq ? arrival.slot : lane.taken++ % lane.receives.size();
    if (arrival.bytes != run_.size + header_ || arrival.slot != turn) {
        tell(arrival.slot != turn ? message_of() + ": expected in receive " + std::to_string(turn) +
                                        ", came in " + std::to_string(arrival.slot)
                                  : message_of() + ": expected " + std::to_string(run_.size) +
                                        " bytes, got " + std::to_string(arrival.bytes - header_));
        ++next;
        return;
    }
    const auto message = read(place(arrival) + header_);
    std::uint64_t sequence = next;
    // UC and UD may lose messages, but received ones are in order and of this round.
    if (run_.options.connection != Connection::kRc && run_.size >= 8) {
        const auto other = sequence_of(message, theirs(lane.number));
        sequence = other > next && other < first_ + count_ ? other : next;
    }
    tell(check_pattern(message, theirs(lane.number), sequence));
    next = sequence + 1;
}

void RoundCheck::post_again() {
    for (const auto& arrival : arrivals_) {
        auto& ring = arrival.worker->srq ? arrival.worker->srq_ring : arrival.lane->receives;
        ibv_recv_wr request = ring.at(arrival.slot);
        request.next = nullptr;
        ibv_recv_wr* bad;
        const int error = arrival.worker->srq
                              ? ibv_post_srq_recv(arrival.worker->srq.get(), &request, &bad)
                              : ibv_post_recv(arrival.lane->qp, &request, &bad);
        if (error) {
            fail_post(arrival.worker->srq ? "ibv_post_srq_recv" : "ibv_post_recv", error,
                      arrival.lane->qp);
        }
    }
    arrivals_.clear();
}

}  // namespace rdma_bench
