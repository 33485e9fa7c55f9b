// SPDX-License-Identifier: BSD-2-Clause
// A thread's share of the traffic: its QPs, completion queues and results.
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

/// Completions per ibv_poll_cq() call.
constexpr int kBatch = 16;

/// Task of one thread for one entry.
struct Task {
    bool sends = false, receives = false;
    bool stamps = false;               ///< record a time stamp of each message, for the peak
    bool samples = false;              ///< keep all latency samples
    bool extended = false;             ///< post by ibv_wr_*()
    bool cost = false;                 ///< also count instructions
    std::uint64_t duration_ticks = 0;  ///< 0: run until the goals are reached
    std::uint64_t margin_ticks = 0;
    double ticks_per_message = 0;  ///< --rate: time between two messages of this thread; 0: none
    unsigned burst = 1;
};

/// Results of one thread.
struct Outcome {
    std::uint64_t messages = 0;  ///< measured messages, sent and completed
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
    std::atomic<bool> stop{false};       ///< stop posting, and wait for outstanding requests
    std::atomic<bool> abort{false};      ///< end at once
    std::atomic<bool> peer_done{false};  ///< the peer sends no more; Worker::expected is final
    std::atomic<unsigned> running{0};    ///< running threads
    int wake_fd = -1;                    ///< eventfd: a thread has sent all, or ended
    void wake() const { [[maybe_unused]] const int result = eventfd_write(wake_fd, 1); }
};

struct Worker {
    std::unique_ptr<CompletionQueue> send_cq, recv_cq;
    SrqPtr srq;
    std::vector<ibv_recv_wr> srq_ring;
    std::vector<ibv_sge> srq_sges;
    unsigned srq_at = 0;
    unsigned srq_owed = 0;  ///< as Lane::owed; kept between entries, which share the SRQ
    unsigned repost = 1;    ///< receives posted again in one call

    std::vector<Lane*> lanes;  ///< lanes of this entry
    Task task;
    Outcome outcome;
    std::atomic<std::uint64_t> progress{0};  ///< messages completed, updated at times
    std::atomic<std::uint64_t> arrived{0};   ///< bandwidth: messages received, updated at times
    std::atomic<std::uint64_t> expected{0};  ///< messages to receive; UINT64_MAX: not known yet
    std::atomic<bool> sends_done{false};     ///< all sends are complete, no more are posted
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

/// @throws RunError(kFailed) that explains the root cause, not the flushed requests after it
[[noreturn]] void fail_completion(const Worker& worker, const ibv_wc& wc);
/// @throws RunError(kFailed) for an errno of a post
[[noreturn]] void fail_post(const char* verb, int error, ibv_qp* qp);
/// @throws RunError(kFailed): ibv_poll_cq failed
[[noreturn]] void fail_poll();
/// Sleeps until one of the CQs (null: ignored) has an event, at most 100 ms. The caller then polls.
void sleep_on(CompletionQueue* first, CompletionQueue* second);

/// Sends messages as fast as possible, receives them, or both. Runs in its own thread.
void run_bandwidth(Worker& worker, Control& control);
/// Sends messages at scheduled times (--rate) and measures each latency from that time.
void run_paced(Worker& worker, Control& control);

/// Parameters of a latency test, which sends one message at a time.
struct PingPong {
    Operation operation = Operation::kWrite;
    bool first = false;  ///< this side begins; the other answers (WRITE, SEND)
    std::uint64_t size = 0;
    std::byte* out =
        nullptr;  ///< host addresses of this QP's areas; null if the CPU cannot access them
    std::byte* in = nullptr;
    std::size_t out_stride = 0, in_stride = 0;
    unsigned slots = 1;      ///< slots of each area
    std::size_t header = 0;  ///< bytes before a received message (GRH)
    bool verify = false;
    bool from_server = false;  ///< this side's messages have the server's pattern
    bool compare_and_swap = false;
    std::byte before[2]{};  ///< verified WRITE: the last byte of each slot before its first message
};
/// Runs a latency test in the calling thread. @param verification result, if `verify` is set
void run_latency(Worker& worker, Control& control, const PingPong& what,
                 Verification& verification);

}  // namespace rdma_bench
