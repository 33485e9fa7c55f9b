// SPDX-License-Identifier: BSD-2-Clause
// Run of one entry: worker threads move the messages while the main thread handles the peer, Ctrl-C
// and the progress display.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "exit.h"
#include "report/result.h"
#include "run/cost.h"
#include "run/link.h"
#include "run/measured.h"
#include "run/traffic.h"

namespace rdma_bench {

/// This side's part in the test.
struct Role {
    bool initiator = false;  ///< initiates the messages
    bool sends = false;      ///< initiator, answering side, or bidirectional
    bool receives = false;   ///< polls for incoming SENDs
    bool peer_sends = false;
};
Role role_of(const Options& options);

class EntryRun {
  public:
    EntryRun(Traffic& traffic, const Options& options, Link& link, Sink& sink);
    ~EntryRun();
    EntryRun(const EntryRun&) = delete;
    EntryRun& operator=(const EntryRun&) = delete;

    struct Where {
        std::uint64_t size;
        unsigned qps;
        std::size_t entry, entries;
    };
    /// Moves the messages. Ctrl-C on either side ends it early: then ended() is the reason, and the
    /// results so far are returned. @throws RunError if a message failed
    Measured run(const Where& where);
    /// Sends this side's results to the peer. @return those of the peer
    Measured exchange(const Measured& mine);
    /// Reason of an early end; null if it did not end early.
    [[nodiscard]] const RunError* ended() const { return ended_.get(); }

    // Filled by run().
    Histogram latency{1.0};
    std::vector<double> samples;  ///< nanoseconds

    /// --clients: called when the peer is ready; returns when all clients are.
    std::function<void(Link&)> start_together;
    /// --run_infinitely: called on the initiator after each interval with its results, and with
    /// those of the peer if it sends, too.
    std::function<void(const Measured& mine, const Measured& peers)> interval;

  private:
    void start_threads();
    void join_threads();
    void prepare_memory(PingPong& ping);
    void watch();
    void hear_peer();
    void say_done();
    void show_progress();
    void pass_interval(std::uint64_t now);
    Measured take_interval(std::uint64_t now);
    [[nodiscard]] bool peer_ends_intervals() const;
    void end_early(const RunError& why);
    void note_series(std::uint64_t now, std::uint64_t count);
    void look_for_stall(std::uint64_t now, std::uint64_t moved);
    void throw_worker_error();
    [[nodiscard]] std::uint64_t sent() const;
    [[nodiscard]] std::uint64_t moved() const;
    Measured collect();
    [[nodiscard]] Task task() const;

    Traffic& traffic_;
    const Options& options_;
    Link& link_;
    Sink& sink_;
    Role role_;
    Where where_{};
    std::vector<Worker*> workers_;
    std::vector<std::thread> threads_;
    Control control_;
    Verification verification_;
    std::unique_ptr<RunError> ended_;
    bool said_done_ = false, peer_done_ = false;
    std::uint64_t started_ns_ = 0, ended_ns_ = 0, shown_ns_ = 0;
    std::uint64_t moved_before_ = 0;
    std::uint64_t looked_ns_ = 0, quiet_ns_ = 0;  ///< last check; time without progress
    std::uint64_t moved_processor_ns_ = 0;        ///< CPU time of the process at the last progress
    std::uint64_t interval_ns_ = 0, interval_sent_ = 0;
    std::uint64_t peer_posted_ = 0;
    std::vector<SeriesPoint> series_;
    double series_step_ = 0;  ///< seconds per point
    std::uint64_t series_ns_ = 0, series_moved_ = 0;
    std::optional<Measured> early_;  ///< the peer's results, received before this side was done
};

}  // namespace rdma_bench
