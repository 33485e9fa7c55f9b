// SPDX-License-Identifier: BSD-2-Clause
// Latency tests send one message at a time. With WRITE and
// SEND both sides alternate, and a sample is half a round trip. READ and atomics are answered by
// the device, and a sample is the whole round trip. A sample lasts from the post of a message to
// the post of the next, as in perftest.
#include <cstring>

#include "exit.h"
#include "run/clock.h"
#include "run/cost.h"
#include "run/pattern.h"
#include "run/worker.h"

namespace rdma_bench {
namespace {

template <class Post>
class Exchange {
  public:
    Exchange(Worker& worker, Control& control, const PingPong& what, Verification& verification)
        : w_(worker),
          control_(control),
          what_(what),
          verification_(verification),
          lane_(*worker.lanes.front()) {}

    void run() {
        ThreadCost cost(w_.task.cost);
        const std::uint64_t start = ticks();
        sample_from_ = start + w_.task.margin_ticks;
        sample_to_ = w_.task.duration_ticks ? start + w_.task.duration_ticks - w_.task.margin_ticks
                                            : UINT64_MAX;
        end_ = w_.task.duration_ticks ? start + w_.task.duration_ticks : UINT64_MAX;
        start_ = start;
        switch (what_.operation) {
            case Operation::kWrite:
                write();
                break;
            case Operation::kSend:
            case Operation::kWriteImm:
                send();
                break;
            default:
                ask();
        }
        w_.outcome.cost = cost.stop();
        w_.outcome.cost.messages = i_;
        w_.outcome.received = i_;
    }

  private:
    struct Aborted {};

    // --- When messages start and what is recorded.

    /// Returns true if another message follows. The answering side follows the other and ignores
    /// the duration.
    bool more() {
        if (i_ >= lane_.goal) {
            return false;
        }
        if (control_.stop.load(std::memory_order_relaxed)) {
            return false;
        }
        return end_ == UINT64_MAX || !what_.first || ticks() < end_;
    }

    /// Waits until message i is due. @return ticks by which it is late
    std::uint64_t await_turn() {
        const auto due = start_ + static_cast<std::uint64_t>(static_cast<double>(i_) *
                                                             w_.task.ticks_per_message);
        std::uint64_t now = ticks();
        while (now < due) {
            check();
            now = ticks();
        }
        late_ = now - due;
        if (static_cast<double>(late_) > w_.task.ticks_per_message) {
            ++w_.outcome.late;
        }
        return now;
    }

    /// Records the start of message i, directly before its post.
    void stamp() {
        before_it_ = started_;
        started_ = w_.task.ticks_per_message > 0 ? await_turn() : ticks();
    }

    /// Records the sample that ended when message i started, unless there is a rate. Called after
    /// the post, where it delays nothing.
    void note() {
        if (i_ && w_.task.ticks_per_message == 0) {
            record(before_it_, started_, started_ - before_it_);
        }
    }

    /// Ends message i.
    void over() {
        if (w_.task.ticks_per_message > 0) {
            const std::uint64_t now = ticks();
            // In half ticks: the round trip counts half, the delay before it in full.
            record(started_, now, now - started_ + (ping_pong() ? 2 : 1) * late_);
        }
        ++i_;
        w_.progress.store(i_, std::memory_order_relaxed);
    }

    /// Records the sample of the last message.
    void close() {
        const std::uint64_t now = ticks();
        if (i_ && w_.task.ticks_per_message == 0) {
            record(started_, now, now - started_);
        }
    }

    void record(std::uint64_t from, std::uint64_t to, std::uint64_t value) {
        if (to < sample_from_ || to > sample_to_) {
            return;
        }
        if (w_.outcome.messages++ == 0) {
            w_.outcome.first_tick = from;
        }
        w_.outcome.last_tick = to;
        w_.outcome.latency.record(value);
        if (w_.task.samples) {
            w_.outcome.samples.push_back(value);
        }
    }

    [[nodiscard]] bool ping_pong() const {
        return writes(what_.operation) || takes_receives(what_.operation);
    }

    /// Throws Aborted if the run has ended; called in all waits.
    void check() const {
        if (control_.abort.load(std::memory_order_relaxed)) [[unlikely]] {
            throw Aborted{};
        }
    }

    // --- Queues.

    void post() {
        if (const int error = post_single<Post>(lane_)) [[unlikely]] {
            fail_post("ibv_post_send", error, lane_.qp);
        }
    }

    void await(CompletionQueue& queue) {
        ibv_wc wc;
        for (;;) {
            const int count = ibv_poll_cq(queue.cq.get(), 1, &wc);
            if (count > 0) [[likely]] {
                if (wc.status != IBV_WC_SUCCESS) [[unlikely]] {
                    fail_completion(w_, wc);
                }
                return;
            }
            if (count < 0) [[unlikely]] {
                fail_poll();
            }
            check();
            if (queue.channel) {
                if (!queue.armed) {
                    queue.arm();
                } else {
                    sleep_on(&queue, nullptr);
                }
            }
        }
    }

    void await_sent() {
        await(*w_.send_cq);
        ++lane_.completed;
    }

    void receive_again() {
        const int error =
            w_.srq ? post_receives(nullptr, w_.srq.get(), w_.srq_ring, w_.srq_at, 1)
                   : post_receives(lane_.qp, nullptr, lane_.receives, lane_.receive_at, 1);
        if (error) [[unlikely]] {
            fail_post("ibv_post_recv", error, lane_.qp);
        }
    }

    // --- Verification. Message i uses slot i mod slots, until message i + slots replaces it.

    std::byte* out(std::uint64_t i) const { return what_.out + i % what_.slots * what_.out_stride; }
    std::byte* in(std::uint64_t i) const { return what_.in + i % what_.slots * what_.in_stride; }
    [[nodiscard]] Stream mine() const { return {lane_.number, what_.from_server}; }
    [[nodiscard]] Stream theirs() const { return {lane_.number, !what_.from_server}; }

    void fill(std::uint64_t i) {
        if (what_.verify) {
            fill_pattern({out(i), what_.size}, mine(), i);
        }
    }
    void compare(std::uint64_t i) {
        if (what_.verify) {
            tell(check_pattern({in(i) + what_.header, what_.size}, theirs(), i));
        }
    }
    void tell(const std::string& wrong) {
        ++verification_.messages;
        verification_.bytes += what_.size;
        if (!wrong.empty()) {
            verification_.first = verification_.wrong++ ? verification_.first : wrong;
        }
    }

    // --- The three ways.

    /// Polls the message's last byte: RC and UC write in order.
    void await_written(std::uint64_t i) {
        const volatile std::byte* last = in(i) + what_.size - 1;
        if (what_.verify) {
            while (*last == before_[i % 2]) {
                check();
            }
            // Value that the next message in this slot replaces; the pattern never repeats it.
            before_[i % 2] = *last;
            return;
        }
        const auto expected = static_cast<std::byte>(i + 1);
        while (*last != expected) {
            check();
        }
    }

    void write() {
        fill(0);
        std::byte* last_out = out(0) + what_.size - 1;  // last byte, changed for each message
        while (more()) {
            if (!what_.first) {
                await_written(i_);
            }
            stamp();
            if (!what_.verify) {
                *last_out = static_cast<std::byte>(i_ + 1);
            }
            post();
            note();
            last_out = out(i_ + 1) + what_.size - 1;
            fill(i_ + 1);
            if (!what_.first) {
                compare(i_);
            }
            await_sent();
            if (what_.first) {
                await_written(i_);
            }
            over();
            if (what_.first) {
                // Not timed: the next sample begins at its post.
                compare(i_ - 1);
            }
        }
        close();
    }

    void send() {
        fill(0);
        while (more()) {
            if (!what_.first) {
                await(*w_.recv_cq);
            }
            stamp();
            post();
            note();
            fill(i_ + 1);
            if (!what_.first) {
                compare(i_);
            }
            // On the first side this compares the previous answer, while no message waits for it.
            if (!what_.first || i_) {
                receive_again();
            }
            await_sent();
            if (what_.first) {
                await(*w_.recv_cq);
            }
            over();
            if (what_.first) {
                compare(i_ - 1);
            }
        }
        close();
        if (what_.first && i_) {
            receive_again();
        }
    }

    /// Runs READ and atomics, which the peer's device answers.
    void ask() {
        const bool read = what_.operation == Operation::kRead;
        while (more()) {
            if (what_.verify && !read) {
                prepare_atomic();
            } else if (what_.verify) {
                std::memset(in(i_), 0, what_.size);
            }
            stamp();
            post();
            note();
            await_sent();
            over();
            if (what_.verify && read) {
                tell(check_pattern({in(i_ - 1), what_.size}, theirs(), (i_ - 1) % what_.slots));
            } else if (what_.verify) {
                compare_atomic();
            }
        }
        close();
    }

    /// Prepares an atomic: the counter increases by one each time, so its former value is i.
    void prepare_atomic() {
        if (what_.compare_and_swap) {
            auto& atomic = lane_.ring[lane_.at].wr.atomic;
            atomic.compare_add = i_;
            atomic.swap = i_ + 1;
        }
    }
    void compare_atomic() {
        std::uint64_t before;
        std::memcpy(&before, in(i_ - 1), sizeof before);
        tell(before == i_ - 1
                 ? ""
                 : "atomic " + std::to_string(i_ - 1) + " of QP 0: expected the counter at " +
                       std::to_string(i_ - 1) + ", it was " + std::to_string(before));
    }

  public:
    /// Like run(), but an abort ends it without an error and keeps the results so far.
    void run_until_abort() {
        try {
            run();
        } catch (const Aborted&) {
            // The peer sent its last message, or the run was given up: keep the results.
            w_.outcome.cost.messages = w_.outcome.received = i_;
        }
    }

  private:
    Worker& w_;
    Control& control_;
    const PingPong& what_;
    Verification& verification_;
    Lane& lane_;
    std::uint64_t i_ = 0, start_ = 0, started_ = 0, before_it_ = 0, late_ = 0;
    std::uint64_t sample_from_ = 0, sample_to_ = 0, end_ = 0;
    std::byte before_[2] = {what_.before[0], what_.before[1]};
};

}  // namespace

void run_latency(Worker& worker, Control& control, const PingPong& what,
                 Verification& verification) {
    if (worker.task.extended) {
        Exchange<ExtendedPost>(worker, control, what, verification).run_until_abort();
    } else {
        Exchange<ClassicPost>(worker, control, what, verification).run_until_abort();
    }
    worker.sends_done.store(true, std::memory_order_release);
    control.wake();
}

}  // namespace rdma_bench
