// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <optional>

#include "exit.h"
#include "run/clock.h"
#include "run/cost.h"
#include "run/peak.h"
#include "run/worker.h"

namespace rdma_bench {
namespace {

/// The loop of one thread. Post: how requests are posted; kStamps: record the time of each message.
template <class Post, bool kStamps>
class Loop {
  public:
    Loop(Worker& worker, Control& control) : w_(worker), control_(control), lanes_(worker.lanes) {
        for (const Lane* lane : lanes_) {
            goals_ += lane->goal;
        }
        if constexpr (kStamps) {
            posted_.reserve(goals_);
            completed_.assign(goals_, 0);
        }
    }

    void run() {
        ThreadCost cost(w_.task.cost);
        const std::uint64_t start = ticks();
        // Never reached without a duration; each step of a timed run sets the next moment.
        sample_from_ = start + w_.task.margin_ticks;
        sample_to_ = start + w_.task.duration_ticks - w_.task.margin_ticks;
        end_ = start + w_.task.duration_ticks;
        next_moment_ = w_.task.duration_ticks ? sample_from_ : UINT64_MAX;
        first_tick_ = start;
        try {
            move();
        } catch (...) {
            // Keep the results so far.
            finish(start, cost.stop());
            throw;
        }
        finish(start, cost.stop());
    }

  private:
    void move() {
        for (;;) {
            bool moved = false;
            if (done_ < goals_) {
                if (room_) {
                    post();
                }
                moved = poll_sends();
            }
            if (w_.task.receives) {
                moved |= poll_receives();
            }
            if (next_moment_ != UINT64_MAX && ticks() >= next_moment_) [[unlikely]] {
                pass_moment();
            }
            if (moved) {
                w_.progress.store(done_, std::memory_order_relaxed);
                w_.arrived.store(received_, std::memory_order_relaxed);
            }
            if (control_.stop.load(std::memory_order_relaxed) && !stopping_) [[unlikely]] {
                stop_posting();
            }
            if (finished(moved)) [[unlikely]] {
                break;
            }
            if (!moved && w_.send_cq->channel) {
                doze();
            }
        }
    }

    void post() {
        // Nothing can be posted until a completion makes room.
        room_ = false;
        for (Lane* lane : lanes_) {
            auto room = std::min<std::uint64_t>(lane->depth - (lane->posted - lane->completed),
                                                lane->goal - lane->posted);
            std::uint64_t lists = room / lane->list;
            // The last request of all must be signaled whatever the interval.
            if (lists && lane->goal - lane->posted == lists * lane->list &&
                (lists * lane->list + lane->interval - lane->until) % lane->interval) [[unlikely]] {
                --lists;
            }
            room -= lists * lane->list;
            if (const int error = post_lists(*lane, lists)) [[unlikely]] {
                fail_post("ibv_post_send", error, lane->qp);
            }
            if (room && lane->goal - lane->posted == room) [[unlikely]] {
                if constexpr (kStamps) {
                    posted_.insert(posted_.end(), room, ticks());
                }
                if (const int error = post_tail<Post>(*lane, static_cast<unsigned>(room))) {
                    fail_post("ibv_post_send", error, lane->qp);
                }
            }
        }
    }

    int post_lists(Lane& lane, std::uint64_t lists) {
        if constexpr (!kStamps) {
            return rdma_bench::post_lists<Post>(lane, lists);
        }
        int error = 0;
        for (; lists && !error; --lists) {
            posted_.insert(posted_.end(), lane.list, ticks());
            error = rdma_bench::post_lists<Post>(lane, 1);
        }
        return error;
    }

    bool poll_sends() {
        ibv_wc wc[kBatch];
        const int count = ibv_poll_cq(w_.send_cq->cq.get(), kBatch, wc);
        if (count <= 0) {
            if (count < 0) [[unlikely]] {
                fail_poll();
            }
            return false;
        }
        [[maybe_unused]] const std::uint64_t now = kStamps ? ticks() : 0;
        room_ = true;
        for (int i = 0; i < count; ++i) {
            if (wc[i].status != IBV_WC_SUCCESS) [[unlikely]] {
                fail_completion(w_, wc[i]);
            }
            Lane& lane = *lanes_[wc[i].wr_id];
            const auto more = std::min<std::uint64_t>(lane.interval, lane.posted - lane.completed);
            lane.completed += more;
            done_ += more;
            if constexpr (kStamps) {
                completed_[done_ - 1] = now;
            }
        }
        return true;
    }

    bool poll_receives() {
        ibv_wc wc[kBatch];
        const int count = ibv_poll_cq(w_.recv_cq->cq.get(), kBatch, wc);
        if (count <= 0) {
            if (count < 0) [[unlikely]] {
                fail_poll();
            }
            return false;
        }
        for (int i = 0; i < count; ++i) {
            if (wc[i].status != IBV_WC_SUCCESS) [[unlikely]] {
                fail_completion(w_, wc[i]);
            }
            if (!w_.srq) {
                Lane& lane = *lanes_[wc[i].wr_id];
                if (++lane.owed >= w_.repost) {
                    if (const int error = post_receives(lane.qp, nullptr, lane.receives,
                                                        lane.receive_at, lane.owed)) {
                        fail_post("ibv_post_recv", error, lane.qp);
                    }
                    lane.owed = 0;
                }
            } else if (++w_.srq_owed >= w_.repost) {
                if (const int error =
                        post_receives(nullptr, w_.srq.get(), w_.srq_ring, w_.srq_at, w_.srq_owed)) {
                    fail_post("ibv_post_srq_recv", error, nullptr);
                }
                w_.srq_owed = 0;
            }
        }
        received_ += static_cast<unsigned>(count);
        return true;
    }

    /// Handles the next moment of a timed run: begin of the sample, its end, end of the run.
    void pass_moment() {
        const std::uint64_t now = ticks();
        if (next_moment_ == sample_from_ && !sampling_) {
            sampling_ = true;
            first_tick_ = now;
            done_before_ = done_;
            next_moment_ = sample_to_;
        } else if (!sampled_) {
            sampled_ = true;
            last_tick_ = now;
            sample_ = done_ - done_before_;
            next_moment_ = end_;
        }
        if (sampled_ && now >= end_) {
            next_moment_ = UINT64_MAX;
            stop_posting();
        }
    }

    /// Reduces the goals to what is posted, extended to the next signaled request.
    void stop_posting() {
        stopping_ = true;
        room_ = true;  // for the requests up to the next signaled one
        stopped_at_ = ticks();
        goals_ = 0;
        for (Lane* lane : lanes_) {
            if (lane->goal > lane->posted) {
                lane->goal = std::min<std::uint64_t>(lane->goal, lane->until == lane->interval
                                                                     ? lane->posted
                                                                     : lane->posted + lane->until);
            }
            goals_ += lane->goal;
        }
    }

    bool finished(bool moved) {
        if (control_.abort.load(std::memory_order_relaxed)) {
            return true;
        }
        if (done_ < goals_) {
            return false;
        }
        if (w_.task.sends && last_done_ == 0) {
            last_done_ = ticks();
            w_.sends_done.store(true, std::memory_order_release);
            control_.wake();
        }
        if (!w_.task.receives) {
            return true;
        }
        const auto expected = w_.expected.load(std::memory_order_acquire);
        if (received_ >= expected) {
            return true;
        }
        // Messages lost on UC or UD never arrive. After the peer's last report, stop if none has
        // arrived for a while.
        if (moved || !control_.peer_done.load(std::memory_order_acquire)) {
            quiet_since_ = 0;
            return false;
        }
        const auto now = monotonic_ns();
        quiet_since_ = quiet_since_ ? quiet_since_ : now;
        return now - quiet_since_ > 200'000'000;
    }

    /// Requests an event, polls once more, then sleeps.
    void doze() {
        CompletionQueue* sends = done_ < goals_ ? w_.send_cq.get() : nullptr;
        CompletionQueue* receives = w_.task.receives ? w_.recv_cq.get() : nullptr;
        for (CompletionQueue* queue : {sends, receives}) {
            if (queue) {
                queue->arm();
            }
        }
        if ((sends && poll_sends()) || (receives && poll_receives())) {
            return;
        }
        sleep_on(sends, receives);
    }

    void finish(std::uint64_t start, CpuCost cost) {
        auto& out = w_.outcome;
        const std::uint64_t now = ticks();
        if (sampled_) {
            out.messages = sample_;
            out.first_tick = first_tick_;
            out.last_tick = last_tick_;
        } else {
            out.messages = done_;
            out.first_tick = start;
            out.last_tick = stopped_at_ ? stopped_at_ : last_done_ ? last_done_ : now;
        }
        out.received = received_;
        out.cost = cost;
        out.cost.messages = w_.task.sends ? done_ + (w_.task.receives ? received_ : 0) : received_;
        if constexpr (kStamps) {
            completed_.resize(done_);
            posted_.resize(std::min<std::size_t>(posted_.size(), done_));
            out.peak = peak_rate(posted_, completed_);
        }
    }

    Worker& w_;
    Control& control_;
    std::vector<Lane*>& lanes_;
    std::uint64_t goals_ = 0, done_ = 0, received_ = 0;
    std::uint64_t sample_from_ = 0, sample_to_ = 0, end_ = 0, next_moment_ = 0;
    std::uint64_t first_tick_ = 0, last_tick_ = 0, done_before_ = 0;
    std::uint64_t sample_ = 0;
    std::uint64_t last_done_ = 0, stopped_at_ = 0, quiet_since_ = 0;
    bool sampling_ = false, sampled_ = false, stopping_ = false;
    bool room_ = true;  ///< posting may be possible
    std::vector<std::uint64_t> posted_, completed_;
};

}  // namespace

void run_bandwidth(Worker& worker, Control& control) {
    const bool stamps = worker.task.stamps;
    if (worker.task.extended) {
        stamps ? Loop<ExtendedPost, true>(worker, control).run()
               : Loop<ExtendedPost, false>(worker, control).run();
    } else {
        stamps ? Loop<ClassicPost, true>(worker, control).run()
               : Loop<ClassicPost, false>(worker, control).run();
    }
}

}  // namespace rdma_bench
