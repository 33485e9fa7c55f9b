// SPDX-License-Identifier: BSD-2-Clause
#include "run/round_transfer.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "run/clock.h"

namespace rdma_bench {
namespace {

using nlohmann::json;
/// UC and UD: messages that have not arrived this long after the peer's "sent" are lost.
constexpr std::uint64_t kPatienceNs = 200'000'000;
/// Time after Ctrl-C in which a round may still end normally.
constexpr std::uint64_t kGraceNs = 500'000'000;

}  // namespace

RoundTransfer::RoundTransfer(const VerifiedRun& run, const Role& role, std::vector<Worker*> workers,
                             unsigned count)
    : run_(run),
      role_(role),
      workers_(std::move(workers)),
      count_(count),
      collected_(workers_.size()) {
    control_.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

RoundTransfer::~RoundTransfer() {
    control_.abort = true;
    join();
    close(control_.wake_fd);
}

void RoundTransfer::join() noexcept {
    for (auto& thread : threads_) {
        thread.join();
    }
    threads_.clear();
}

std::optional<json> RoundTransfer::run() {
    if (role_.sends || role_.receives) {
        control_.running = static_cast<unsigned>(workers_.size());
        for (std::size_t i = 0; i < workers_.size(); ++i) {
            threads_.emplace_back([this, i] { work(*workers_[i], collected_[i]); });
        }
    }
    watch();
    join();
    for (const Worker* worker : workers_) {
        if (worker->error) {
            std::rethrow_exception(worker->error);
        }
    }
    for (const auto& part : collected_) {
        arrivals_.insert(arrivals_.end(), part.begin(), part.end());
    }
    return checked_ ? std::optional<json>(std::move(*checked_)) : std::nullopt;
}

void RoundTransfer::work(Worker& worker, std::vector<Arrival>& arrived) {
    try {
        if (role_.sends) {
            // All receives of the round are posted, so their completions can be polled later.
            worker.task.receives = false;
            run_bandwidth(worker, control_);
        }
        if (role_.receives) {
            collect(worker, arrived);
        }
    } catch (...) {
        worker.error = std::current_exception();
        control_.abort = true;
    }
    control_.running.fetch_sub(1);
    control_.wake();
}

void RoundTransfer::collect(Worker& worker, std::vector<Arrival>& arrived) {
    const auto all = std::size_t{count_} * worker.lanes.size();
    const bool reliable = run_.options.connection == Connection::kRc;
    std::uint64_t quiet_since = 0;
    while (arrived.size() < all && !control_.abort.load(std::memory_order_relaxed)) {
        ibv_wc wc[kBatch];
        const int count = ibv_poll_cq(worker.recv_cq->cq.get(), kBatch, wc);
        if (count < 0) {
            fail_poll();
        }
        for (int i = 0; i < count; ++i) {
            if (wc[i].status != IBV_WC_SUCCESS) {
                fail_completion(worker, wc[i]);
            }
            const auto lane =
                std::find_if(worker.lanes.begin(), worker.lanes.end(),
                             [&](const Lane* l) { return l->qp->qp_num == wc[i].qp_num; });
            if (lane == worker.lanes.end()) {
                throw RunError(Exit::kFailed, "a receive completed for QP " +
                                                  std::to_string(wc[i].qp_num) +
                                                  ", which this thread does not have");
            }
            arrived.push_back({&worker, *lane, wc[i].wr_id, wc[i].byte_len});
        }
        if (count) {
            quiet_since = 0;
        } else if (!reliable && control_.peer_done.load(std::memory_order_acquire)) {
            const auto now = monotonic_ns();
            quiet_since = quiet_since ? quiet_since : now;
            if (now - quiet_since > kPatienceNs) {
                return;
            }
        } else {
            std::this_thread::yield();
        }
    }
}

void RoundTransfer::watch() {
    try {
        for (;;) {
            const bool sent =
                std::all_of(workers_.begin(), workers_.end(), [](const Worker* worker) {
                    return worker->sends_done.load(std::memory_order_acquire);
                });
            if (role_.sends && sent && !said_sent_) {
                run_.link.send("sent", json::object());
                said_sent_ = true;
            }
            const bool ended = control_.running == 0;
            if (ended && control_.abort) {
                // A thread failed. If the peer is gone, that is the cause, detected shortly.
                for (int i = 0; i < 10; ++i) {
                    hear();
                    poll(nullptr, 0, 50);
                }
                return;
            }
            if (ended && (said_sent_ || !role_.sends) &&
                (control_.peer_done || !role_.peer_sends)) {
                return;
            }
            pollfd fds[3] = {{run_.link.fd(), POLLIN, 0},
                             {interrupted_ns_ ? -1 : Interrupt::instance().fd(), POLLIN, 0},
                             {control_.wake_fd, POLLIN, 0}};
            poll(fds, 3, 100);
            eventfd_t drained;
            eventfd_read(control_.wake_fd, &drained);
            hear();
            look_for_interrupt();
        }
    } catch (...) {
        control_.abort = true;
        throw;
    }
}

/// Receives "sent" and, at the leader, "checked" after it; each at most once in a round.
void RoundTransfer::hear() {
    while (!checked_) {
        auto message = run_.link.look_any({"sent", "checked"});
        if (!message) {
            return;
        }
        if ((*message)["type"] == "sent") {
            control_.peer_done.store(true, std::memory_order_release);
        } else {
            checked_ = std::make_unique<json>(std::move(*message));
        }
    }
}

void RoundTransfer::look_for_interrupt() {
    if (!Interrupt::instance().seen()) {
        return;
    }
    const auto now = monotonic_ns();
    interrupted_ns_ = interrupted_ns_ ? interrupted_ns_ : now;
    if (now - interrupted_ns_ > kGraceNs) {
        throw RunError(Exit::kInterrupted, "interrupted");
    }
}

}  // namespace rdma_bench
