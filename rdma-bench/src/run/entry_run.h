// SPDX-License-Identifier: BSD-2-Clause
// One entry: threads move the messages while this side listens to the peer, to Ctrl-C, and tells
// how far it is.
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
    bool initiator = false;  ///< starts the messages
    bool sends = false;      ///< initiator, answering, or both ways
    bool receives = false;   ///< has a loop for incoming SENDs
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
    /// Moves the messages. Ends early on Ctrl-C, here or there: then ended() says why and what was
    /// measured stands.
    /// @throws RunError when a message failed
    Measured run(const Where& where);
    /// Tells the peer what this side measured. @return what the peer did
    Measured exchange(const Measured& mine);
    /// Why it ended early; null: it did not.
    [[nodiscard]] const RunError* ended() const { return ended_.get(); }

    // Filled by run().
    Histogram latency{1.0};
    std::vector<double> samples;  ///< nanoseconds

    /// --clients: called when the peer is ready; comes back when all clients are.
    std::function<void(Link&)> start_together;
    /// With --run_infinitely: called each interval with what was measured in it.
    std::function<void(const Measured&)> interval;

  private:
    void start_threads();
    void prepare_memory(PingPong& ping);
    void watch();
    void hear_peer();
    void say_done();
    void show_progress();
    void end_early(const RunError& why);
    void note_series(std::uint64_t now, std::uint64_t count);
    void look_for_stall(std::uint64_t now, std::uint64_t moved);
    void throw_worker_error();
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
    std::uint64_t looked_ns_ = 0, quiet_ns_ = 0;  ///< for how long nothing has moved, as was seen
    std::uint64_t moved_processor_ns_ = 0;        ///< processor time of this process then
    std::uint64_t interval_ns_ = 0, interval_moved_ = 0;
    std::uint64_t peer_posted_ = 0;
    std::vector<SeriesPoint> series_;
    double series_step_ = 0;  ///< seconds of a point
    std::uint64_t series_ns_ = 0, series_moved_ = 0;
    std::optional<Measured> early_;  ///< the peer's word that came before this side was done
};

}  // namespace rdma_bench
