// SPDX-License-Identifier: BSD-2-Clause
// Messages at scheduled times (--rate). A message that cannot
// start on time because the queue is full is late; its latency counts from the scheduled time, so a
// delay shows in all messages that it affects.
#include <algorithm>

#include "run/clock.h"
#include "run/cost.h"
#include "run/worker.h"

namespace rdma_bench {
namespace {

template <class Post>
class Pace {
  public:
    Pace(Worker& worker, Control& control) : w_(worker), control_(control) {
        for (const Lane* lane : w_.lanes) {
            goals_ += lane->goal;
            due_.emplace_back(lane->depth);
        }
    }

    void run() {
        ThreadCost cost(w_.task.cost);
        start_ = ticks();
        const auto from = start_ + w_.task.margin_ticks;
        const auto to = w_.task.duration_ticks
                            ? start_ + w_.task.duration_ticks - w_.task.margin_ticks
                            : UINT64_MAX;
        const auto end = w_.task.duration_ticks ? start_ + w_.task.duration_ticks : UINT64_MAX;
        from_ = from;
        to_ = to;
        try {
            move(end);
        } catch (...) {
            finish(cost.stop());
            throw;
        }
        finish(cost.stop());
        w_.sends_done.store(true, std::memory_order_release);
        control_.wake();
    }

  private:
    void move(std::uint64_t end) {
        while (done_ < posted_ || (posted_ < goals_ && !stopping_)) {
            const std::uint64_t now = ticks();
            stopping_ = stopping_ || now >= end || control_.stop.load(std::memory_order_relaxed);
            if (control_.abort.load(std::memory_order_relaxed)) {
                break;
            }
            if (!stopping_) {
                post_due(now);
            }
            poll();
        }
    }

    void finish(const CpuCost& cost) {
        auto& out = w_.outcome;
        out.cost = cost;
        out.cost.messages = done_;
        out.messages = measured_;
        out.first_tick = first_;
        out.last_tick = last_;
    }

    [[nodiscard]] std::uint64_t due(std::uint64_t message) const {
        const std::uint64_t step = message / w_.task.burst * w_.task.burst;
        return start_ +
               static_cast<std::uint64_t>(static_cast<double>(step) * w_.task.ticks_per_message);
    }

    void post_due(std::uint64_t now) {
        while (posted_ < goals_) {
            const std::uint64_t when = due(posted_);
            if (when > now) {
                return;
            }
            Lane* lane = free_lane();
            if (!lane) {
                return;
            }
            if (static_cast<double>(now - when) > w_.task.ticks_per_message * w_.task.burst) {
                ++w_.outcome.late;
            }
            due_[lane_][lane->posted % lane->depth] = when;
            if (const int error = post_single<Post>(*lane)) {
                fail_post("ibv_post_send", error, lane->qp);
            }
            ++posted_;
            lane_ = lane_ + 1 == w_.lanes.size() ? 0 : lane_ + 1;
        }
    }

    /// Returns the next lane, round-robin, skipping those with a full queue.
    Lane* free_lane() {
        for (std::size_t i = 0; i < w_.lanes.size(); ++i) {
            Lane* lane = w_.lanes[lane_];
            if (lane->posted - lane->completed < lane->depth && lane->posted < lane->goal) {
                return lane;
            }
            lane_ = lane_ + 1 == w_.lanes.size() ? 0 : lane_ + 1;
        }
        return nullptr;
    }

    void poll() {
        ibv_wc wc[kBatch];
        const int count = ibv_poll_cq(w_.send_cq->cq.get(), kBatch, wc);
        if (count < 0) {
            fail_poll();
        }
        const std::uint64_t now = ticks();
        for (int i = 0; i < count; ++i) {
            if (wc[i].status != IBV_WC_SUCCESS) {
                fail_completion(w_, wc[i]);
            }
            Lane& lane = *w_.lanes[wc[i].wr_id];
            const std::uint64_t when = due_[wc[i].wr_id][lane.completed % lane.depth];
            ++lane.completed;
            ++done_;
            if (when < from_ || now > to_) {
                continue;
            }
            first_ = measured_ ? std::min(first_, when) : when;
            last_ = now;
            ++measured_;
            w_.outcome.latency.record(now - when);
            if (w_.task.samples) {
                w_.outcome.samples.push_back(now - when);
            }
        }
        if (count) {
            w_.progress.store(done_, std::memory_order_relaxed);
        }
    }

    Worker& w_;
    Control& control_;
    std::vector<std::vector<std::uint64_t>>
        due_;  ///< scheduled times of the outstanding messages of each lane
    std::uint64_t goals_ = 0, posted_ = 0, done_ = 0, measured_ = 0;
    std::uint64_t start_ = 0, from_ = 0, to_ = 0, first_ = 0, last_ = 0;
    std::size_t lane_ = 0;
    bool stopping_ = false;
};

}  // namespace

void run_paced(Worker& worker, Control& control) {
    if (worker.task.extended) {
        Pace<ExtendedPost>(worker, control).run();
    } else {
        Pace<ClassicPost>(worker, control).run();
    }
}

}  // namespace rdma_bench
