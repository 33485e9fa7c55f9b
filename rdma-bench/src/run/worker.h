// SPDX-License-Identifier: BSD-2-Clause
// A thread's share of the traffic: its QPs, its completion queues, and what it measured.
#pragma once
#include <sys/eventfd.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "options/options.h"
#include "report/histogram.h"
#include "report/result.h"
#include "run/lane.h"
#include "verbs/queues.h"

namespace rdma_bench {

/// Completions that one call takes.
constexpr int kBatch = 16;

/// What one thread is to do for one entry.
struct Task {
    bool sends = false, receives = false;
    bool stamps = false;               ///< a time stamp for each message, for the peak
    bool samples = false;              ///< keep each latency
    bool extended = false;             ///< post by ibv_wr_*
    bool cost = false;                 ///< count instructions too
    std::uint64_t duration_ticks = 0;  ///< 0: until the goals are reached
    std::uint64_t margin_ticks = 0;
    double ticks_per_message = 0;  ///< --rate: time between two messages of this thread; 0: none
    unsigned burst = 1;
};

/// What one thread found.
struct Outcome {
    std::uint64_t messages = 0;  ///< measured; sent and completed
    std::uint64_t first_tick = 0, last_tick = 0;
    double peak = 0;  ///< messages per tick
    std::uint64_t received = 0;
    std::uint64_t late = 0;  ///< --rate: messages that could not start in time
    CpuCost cost;
    Histogram latency{1.0};              ///< in ticks, or half ticks for half round trips
    std::vector<std::uint64_t> samples;  ///< in the same unit
};

/// Shared by the threads of an entry and the main thread.
struct Control {
    std::atomic<bool> stop{
        false};  ///< finish soon: what is outstanding is waited for, no more is posted
    std::atomic<bool> abort{false};      ///< finish now
    std::atomic<bool> peer_done{false};  ///< the peer sends no more; Worker::expected is right
    std::atomic<unsigned> running{0};    ///< threads that have not ended
    int wake_fd = -1;                    ///< eventfd: a thread has sent all, or ended
    void wake() const { [[maybe_unused]] const int result = eventfd_write(wake_fd, 1); }
};

struct Worker {
    std::unique_ptr<CompletionQueue> send_cq, recv_cq;
    SrqPtr srq;
    std::vector<ibv_recv_wr> srq_ring;
    std::vector<ibv_sge> srq_sges;
    unsigned srq_at = 0;
    unsigned repost = 1;  ///< receives that are posted again together

    std::vector<Lane*> lanes;  ///< of this entry
    Task task;
    Outcome outcome;
    std::atomic<std::uint64_t> progress{0};  ///< messages completed or received, now and then
    std::atomic<std::uint64_t> expected{0};  ///< messages that come in; UINT64_MAX: not known yet
    std::atomic<bool> sends_done{false};     ///< no more is posted, all is complete
    std::exception_ptr error;

    [[nodiscard]] ibv_qp* qp_of(const ibv_wc& wc) const {
        for (const Lane* lane : lanes) {
            if (lane->qp->qp_num == wc.qp_num) {
                return lane->qp;
            }
        }
        return nullptr;
    }
};

/// @throws RunError(kFailed): what the completion means, the root and not the flushes behind it
[[noreturn]] void fail_completion(const Worker& worker, const ibv_wc& wc);
/// @throws RunError(kFailed) for an errno of a post
[[noreturn]] void fail_post(const char* verb, int error, ibv_qp* qp);
/// @throws RunError(kFailed): ibv_poll_cq failed
[[noreturn]] void fail_poll();
/// Sleeps until one of the CQs (null: left out) has a completion, at most 100 ms. The caller polls
/// them afterwards.
void sleep_on(CompletionQueue* first, CompletionQueue* second);

/// Messages as fast as they go, or as they come in, or both. Runs in its own thread.
void run_bandwidth(Worker& worker, Control& control);
/// Messages at given times, each with its latency from then.
void run_paced(Worker& worker, Control& control);

/// One message after the other with the latency of each.
struct PingPong {
    Operation operation = Operation::kWrite;
    bool first = false;  ///< this side starts; the other answers (WRITE, SEND)
    std::uint64_t size = 0;
    std::byte* out =
        nullptr;  ///< host addresses of this QP's areas; null where the CPU cannot reach
    std::byte* in = nullptr;
    std::size_t out_stride = 0, in_stride = 0;
    unsigned slots = 1;      ///< slots of each area
    std::size_t header = 0;  ///< bytes in front of a received message
    bool verify = false;
    bool from_server = false;  ///< this side's messages carry the server's pattern
    bool compare_and_swap = false;
    std::byte before[2]{};  ///< verified WRITE: the last byte of each slot before its first message
};
/// @param verification filled with `verify`
void run_latency(Worker& worker, Control& control, const PingPong& what,
                 Verification& verification);

}  // namespace rdma_bench
