// SPDX-License-Identifier: BSD-2-Clause
#include "run/entry_run.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <nlohmann/json.hpp>

#include "exit.h"
#include "run/clock.h"
#include "run/pattern.h"
#include "run/placement.h"
#include "verbs/explain.h"

namespace rdma_bench {
namespace {

using nlohmann::json;
constexpr std::uint64_t kSecond = 1'000'000'000;
/// Goal of a QP if the duration or the user ends the run.
constexpr std::uint64_t kEndless = std::uint64_t{1} << 40;
/// Largest number of messages with time stamps for the peak, as in perftest.
constexpr std::uint64_t kMostStamps = 20000;
/// Largest number of points of a time series.
constexpr std::size_t kMostPoints = 1000;

}  // namespace

Role role_of(const Options& options) {
    Role role;
    role.initiator = options.client() != options.reversed;
    const bool both = options.bidirectional || options.test.ping_pong();
    role.sends = role.initiator || both;
    role.peer_sends = !role.initiator || both;
    role.receives =
        takes_receives(options.test.operation) && !options.test.latency() && role.peer_sends;
    return role;
}

EntryRun::EntryRun(Traffic& traffic, const Options& options, Link& link, Sink& sink)
    : traffic_(traffic), options_(options), link_(link), sink_(sink), role_(role_of(options)) {
    control_.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

EntryRun::~EntryRun() {
    control_.abort = true;
    join_threads();
    close(control_.wake_fd);
}

void EntryRun::join_threads() {
    for (auto& thread : threads_) {
        thread.join();
    }
    threads_.clear();
}

Task EntryRun::task() const {
    Task task;
    task.sends = role_.sends;
    task.receives = role_.receives;
    task.samples = role_.initiator && (options_.report.histogram || options_.report.unsorted);
    task.extended = traffic_.extended();
    task.cost = options_.report.cpu;
    const double per_second = 1e9 / ns_per_tick();
    if (options_.duration && !options_.run_infinitely) {
        task.duration_ticks = static_cast<std::uint64_t>(options_.duration * per_second);
        task.margin_ticks = static_cast<std::uint64_t>(options_.margin * per_second);
    }
    task.stamps = role_.sends && !options_.test.latency() && !options_.no_peak &&
                  options_.rate == 0 && !options_.duration &&
                  options_.iterations * where_.qps <= kMostStamps;
    if (options_.rate > 0 && (role_.initiator || options_.bidirectional)) {
        task.ticks_per_message = per_second / options_.rate;
        task.burst = options_.burst;
    }
    return task;
}

void EntryRun::start_threads() {
    Traffic::Part part;
    part.size = where_.size;
    part.qps = where_.qps;
    const bool counted = !options_.duration && !options_.run_infinitely;
    part.goal = !role_.sends ? 0 : counted ? options_.iterations : kEndless;
    part.expected = !role_.receives ? 0 : counted ? options_.iterations : UINT64_MAX;
    part.task = task();
    workers_ = traffic_.prepare(part);
    if (!role_.sends && !role_.receives) {
        workers_.clear();
    }
}

Measured EntryRun::run(const Where& where) {
    where_ = where;
    start_threads();
    PingPong ping;
    if (options_.test.latency() && !workers_.empty()) {
        const Slots out = out_slots(options_, where.size), in = in_slots(options_, where.size);
        std::byte* host = traffic_.buffer().host();
        ping.operation = options_.test.operation;
        ping.first = role_.initiator;
        ping.size = where.size;
        ping.out = host ? host + traffic_.out_offset(0) : nullptr;
        ping.in = host ? host + traffic_.in_offset(0) : nullptr;
        ping.out_stride = out.stride;
        ping.in_stride = in.stride;
        ping.slots = out.count;
        ping.header = options_.connection == Connection::kUd ? kGrhSize : 0;
        ping.verify = options_.verify;
        ping.from_server = !options_.client();
        ping.compare_and_swap = options_.atomic == AtomicType::kCompareAndSwap;
    }
    prepare_memory(ping);
    if (start_together) {
        // The client begins when its server is ready.
        link_.expect("ready", false);
        start_together(link_);
        link_.send("ready", json::object());
    } else {
        link_.send("ready", json::object());
        // No timeout: the peer may still register memory, or be stopped in a debugger.
        link_.expect("ready", false);
    }

    std::barrier start(static_cast<std::ptrdiff_t>(workers_.size()) + 1);
    control_.running = static_cast<unsigned>(workers_.size());
    for (Worker* worker : workers_) {
        const std::size_t number = threads_.size();
        threads_.emplace_back([this, worker, number, &start, &ping] {
            start.arrive_and_wait();
            try {
                pin_thread(options_.pin, number);
                if (options_.test.latency()) {
                    run_latency(*worker, control_, ping, verification_);
                } else if (worker->task.ticks_per_message > 0 && role_.sends && !role_.receives) {
                    run_paced(*worker, control_);
                } else {
                    run_bandwidth(*worker, control_);
                }
            } catch (...) {
                worker->error = std::current_exception();
                control_.abort = true;
            }
            control_.running.fetch_sub(1);
            control_.wake();
        });
    }
    started_ns_ = shown_ns_ = looked_ns_ = interval_ns_ = series_ns_ = monotonic_ns();
    series_step_ = options_.interval;
    quiet_ns_ = 0;
    moved_processor_ns_ = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    start.arrive_and_wait();
    try {
        watch();
    } catch (...) {
        // The threads use this function's variables.
        control_.abort = true;
        join_threads();
        throw;
    }
    join_threads();
    throw_worker_error();
    return collect();
}

void EntryRun::prepare_memory(PingPong& ping) {
    Buffer& buffer = traffic_.buffer();
    std::vector<std::byte> zeros(std::max(traffic_.layout().in_area, traffic_.layout().out_area));
    for (unsigned qp = 0; qp < where_.qps; ++qp) {
        if (options_.test.latency()) {
            // The memory of WRITEs, READs and atomics has the same initial content in each entry.
            buffer.write(traffic_.in_offset(qp), std::span(zeros).first(traffic_.layout().in_area));
            buffer.write(traffic_.out_offset(qp),
                         std::span(zeros).first(traffic_.layout().out_area));
        }
        if (options_.verify && options_.test.latency() &&
            options_.test.operation == Operation::kWrite) {
            // A change of the last byte signals the arrival of a message, so it must differ before.
            const Slots slots = in_slots(options_, where_.size);
            std::vector<std::byte> message(where_.size);
            for (unsigned slot = 0; slot < slots.count; ++slot) {
                fill_pattern(message, {qp, options_.client()}, slot);
                const std::byte other = ~message.back();
                buffer.write(traffic_.in_offset(qp) + slot * slots.stride + where_.size - 1,
                             {&other, 1});
                ping.before[slot] = other;
            }
        }
        if (options_.verify && options_.test.operation == Operation::kRead && !role_.initiator) {
            const Slots slots = out_slots(options_, where_.size);
            std::vector<std::byte> message(where_.size);
            for (unsigned slot = 0; slot < slots.count; ++slot) {
                fill_pattern(message, {qp, !options_.client()}, slot);
                buffer.write(traffic_.out_offset(qp) + slot * slots.stride, message);
            }
        }
    }
}

std::uint64_t EntryRun::sent() const {
    std::uint64_t sum = 0;
    for (const Worker* worker : workers_) {
        sum += worker->progress.load(std::memory_order_relaxed);
    }
    return sum;
}

std::uint64_t EntryRun::moved() const {
    std::uint64_t sum = sent();
    for (const Worker* worker : workers_) {
        sum += worker->arrived.load(std::memory_order_relaxed);
    }
    return sum;
}

void EntryRun::watch() {
    for (;;) {
        const bool finished = control_.running == 0;
        if (finished || (role_.sends && !said_done_)) {
            say_done();
        }
        if (finished && (peer_done_ || !role_.peer_sends || ended_)) {
            return;
        }
        pollfd fds[3] = {{link_.fd(), POLLIN, 0},
                         {Interrupt::instance().fd(), POLLIN, 0},
                         {control_.wake_fd, POLLIN, 0}};
        // After Ctrl-C its descriptor stays readable, so it is no longer polled.
        const bool interrupted = Interrupt::instance().seen();
        if (interrupted) {
            fds[1].fd = -1;
        }
        const int step = static_cast<int>(std::clamp(options_.interval * 1000, 1.0, 100.0));
        poll(fds, 3, ended_ ? 20 : step);
        eventfd_t drained;
        eventfd_read(control_.wake_fd, &drained);
        if (!ended_ && !early_) {
            hear_peer();
        }
        if (interrupted && !ended_) {
            end_early(RunError(Exit::kInterrupted, "interrupted"));
        }
        if (ended_ && monotonic_ns() - ended_ns_ > kSecond / 2) {
            control_.abort = true;
        }
        if (!ended_) {
            show_progress();
        }
    }
}

/// Ends the entry: sending threads complete outstanding requests; others, and those that take too
/// long, are aborted.
void EntryRun::end_early(const RunError& why) {
    ended_ = std::make_unique<RunError>(why);
    ended_ns_ = monotonic_ns();
    control_.stop = true;
    if (!role_.initiator) {
        control_.abort = true;
    }
}

void EntryRun::hear_peer() {
    try {
        std::vector<std::string> types{"done", "report"};
        if (peer_ends_intervals()) {
            types.emplace_back("interval");
        }
        const auto message = link_.look_any(types);
        if (!message) {
            return;
        }
        if ((*message)["type"] == "interval") {
            const Measured peers = measured_from(*message);
            if (interval && control_.running != 0) {
                interval(take_interval(monotonic_ns()), peers);
            }
            return;
        }
        // A peer that has ended early sends its report.
        if ((*message)["type"] == "report") {
            early_ = measured_from(*message);
            return;
        }
        peer_done_ = true;
        const auto posted = message->at("posted").get<std::vector<std::uint64_t>>();
        for (Worker* worker : workers_) {
            std::uint64_t expected = 0;
            for (const Lane* lane : worker->lanes) {
                expected += lane->number < posted.size() ? posted[lane->number] : 0;
            }
            if (role_.receives) {
                peer_posted_ += expected;
                worker->expected.store(expected, std::memory_order_release);
            }
        }
        control_.peer_done.store(true, std::memory_order_release);
        // The answering side cannot tell which message was the last.
        if (options_.test.ping_pong() && !role_.initiator && !posted.empty() &&
            posted.front() < workers_.front()->lanes.front()->goal) {
            control_.abort = true;
        }
    } catch (const RunError& error) {
        end_early(error);
    } catch (const std::exception&) {
        end_early(RunError(Exit::kPeer, kNotOurProtocol));
    }
}

void EntryRun::say_done() {
    const bool sent = std::all_of(workers_.begin(), workers_.end(), [](const Worker* w) {
        return w->sends_done.load(std::memory_order_acquire);
    });
    if (said_done_ || !role_.sends || !sent || ended_) {
        return;
    }
    std::vector<std::uint64_t> posted(where_.qps);
    for (const Worker* worker : workers_) {
        for (const Lane* lane : worker->lanes) {
            posted[lane->number] = lane->posted;
        }
    }
    said_done_ = true;
    try {
        link_.send("done", {{"posted", posted}});
    } catch (const RunError& error) {
        end_early(error);
    }
}

/// --run_infinitely -b: returns true on the initiator, whose intervals end when the peer reports
/// its own, so that a row has both directions.
bool EntryRun::peer_ends_intervals() const {
    return options_.run_infinitely && options_.bidirectional && role_.initiator;
}

void EntryRun::pass_interval(std::uint64_t now) {
    if (!options_.run_infinitely || !role_.sends || peer_ends_intervals() ||
        now - interval_ns_ < options_.duration * kSecond) {
        return;
    }
    const Measured part = take_interval(now);
    if (role_.initiator) {
        if (interval) {
            interval(part, {});
        }
        return;
    }
    try {
        link_.send("interval", to_json(part));
    } catch (const RunError& error) {
        end_early(error);
    }
}

/// Begins the next interval. @return this side's part of the last one
Measured EntryRun::take_interval(std::uint64_t now) {
    const std::uint64_t count = sent();
    Measured part;
    part.messages = count - interval_sent_;
    part.seconds = static_cast<double>(now - interval_ns_) * 1e-9;
    part.rate = static_cast<double>(part.messages) / part.seconds;
    interval_ns_ = now;
    interval_sent_ = count;
    return part;
}

void EntryRun::show_progress() {
    const std::uint64_t now = monotonic_ns();
    const std::uint64_t count = moved();
    look_for_stall(now, count);
    note_series(now, count);
    pass_interval(now);
    if (now - shown_ns_ < kSecond / 4) {
        return;
    }
    shown_ns_ = now;
    Progress progress;
    progress.size = where_.size;
    progress.qps = where_.qps;
    progress.entry = where_.entry;
    progress.entries = where_.entries;
    progress.messages = count;
    progress.bytes = count * where_.size;
    progress.seconds = static_cast<double>(now - started_ns_) * 1e-9;
    const double goal = options_.duration ? options_.duration
                                          : static_cast<double>(options_.iterations) * where_.qps;
    progress.done =
        options_.run_infinitely
            ? 0
            : std::min(1.0,
                       (options_.duration ? progress.seconds : static_cast<double>(count)) / goal);
    sink_.progress(progress);
}

void EntryRun::note_series(std::uint64_t now, std::uint64_t count) {
    const double since = static_cast<double>(now - series_ns_) * 1e-9;
    if (workers_.empty() || since < series_step_) {
        return;
    }
    series_.push_back({static_cast<double>(now - started_ns_) * 1e-9, count - series_moved_});
    series_ns_ = now;
    series_moved_ = count;
    if (series_.size() < kMostPoints) {
        return;
    }
    // Merge pairs of points, each then for twice the time.
    for (std::size_t i = 0; i < series_.size() / 2; ++i) {
        series_[i] = {series_[2 * i + 1].seconds,
                      series_[2 * i].messages + series_[2 * i + 1].messages};
    }
    series_.resize(series_.size() / 2);
    series_step_ *= 2;
}

void EntryRun::look_for_stall(std::uint64_t now, std::uint64_t count) {
    // Time in which this thread did not run (process stopped, virtual machine frozen, processors
    // busy) counts as one second at most.
    quiet_ns_ += std::min(now - looked_ns_, kSecond);
    looked_ns_ = now;
    if (count != moved_before_) {
        moved_before_ = count;
        quiet_ns_ = 0;
        moved_processor_ns_ = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        return;
    }
    // RC fails on its own only after retry_count + 1 retransmissions, each after a few timeouts.
    const bool repeats = options_.connection == Connection::kRc;
    double limit =
        repeats ? 30 + 8 * 4 * 4.096e-6 * static_cast<double>(std::uint64_t{1} << options_.timeout)
                : 5;
    limit += static_cast<double>(where_.size) / 1e6 * static_cast<double>(traffic_.lanes().size()) *
                 options_.tx_depth +
             (options_.rate > 0 ? 2 / options_.rate : 0);
    const bool waits =
        !workers_.empty() && role_.initiator && control_.running != 0 &&
        !(options_.duration && count == 0 && !repeats && now - started_ns_ < 5 * kSecond);
    if (waits && static_cast<double>(quiet_ns_) * 1e-9 > limit) {
        // The CPU time distinguishes a stall from an overloaded machine.
        const auto ran_ms = (clock_ns(CLOCK_PROCESS_CPUTIME_ID) - moved_processor_ns_) / 1'000'000;
        end_early(RunError(
            Exit::kFailed,
            "no message was completed for " + std::to_string(static_cast<int>(limit)) +
                " s (this process ran for " + std::to_string(ran_ms) + " ms of them)" +
                (repeats
                     ? ": does the peer's device answer?"
                     : ": a message was lost, and " + std::string(to_string(options_.connection)) +
                           " does not retransmit (try a larger -r at the peer or a smaller -t "
                           "here)") +
                " " + name_qp(*traffic_.lanes().front()->qp)));
        control_.abort = true;
    }
}

void EntryRun::throw_worker_error() {
    for (const Worker* worker : workers_) {
        if (!worker->error) {
            continue;
        }
        std::string text;
        Exit status = Exit::kFailed;
        try {
            std::rethrow_exception(worker->error);
        } catch (const RunError& error) {
            text = error.what();
            status = error.status();
        } catch (const std::exception& error) {
            text = error.what();
        }
        // If the peer is gone, that is the cause; the connection detects it shortly.
        for (int i = 0; i < 10 && !ended_ && !early_; ++i) {
            hear_peer();
            poll(nullptr, 0, 50);
        }
        if (!ended_) {
            throw RunError(status, text);
        }
        if (ended_->status() != Exit::kInterrupted) {
            ended_ = std::make_unique<RunError>(ended_->status(),
                                                std::string(ended_->what()) + "; here: " + text);
        }
        return;
    }
}

Measured EntryRun::collect() {
    Measured m;
    const double tick_ns = ns_per_tick();
    const double unit = options_.test.ping_pong() ? tick_ns / 2 : tick_ns;
    std::uint64_t first = UINT64_MAX, last = 0;
    for (Worker* worker : workers_) {
        const Outcome& out = worker->outcome;
        m.messages += out.messages;
        m.received += out.received;
        m.late += out.late;
        m.peak += out.peak * 1e9 / tick_ns;
        if (out.messages) {
            first = std::min(first, out.first_tick);
            last = std::max(last, out.last_tick);
        }
        add_cost(m.cost, out.cost);
        latency.merge(out.latency);
        for (const auto sample : out.samples) {
            samples.push_back(static_cast<double>(sample) * unit);
        }
        for (Lane* lane : worker->lanes) {
            lane->taken += takes_receives(options_.test.operation) ? out.received : 0;
        }
    }
    latency.set_unit_ns(unit);
    if (first < last) {
        m.seconds = static_cast<double>(last - first) * tick_ns * 1e-9;
        m.rate = static_cast<double>(m.messages) / m.seconds;
    }
    if (role_.receives && peer_posted_ > m.received) {
        m.lost = peer_posted_ - m.received;
    }
    m.verification = verification_;
    // A single point is just the average.
    if (series_.size() > 1) {
        m.series = series_;
    }
    return m;
}

Measured EntryRun::exchange(const Measured& mine) {
    link_.send("report", to_json(mine));
    // No timeout: the peer may still wait for lost messages or slower QPs.
    return early_ ? *early_ : measured_from(link_.expect("report", false));
}

}  // namespace rdma_bench
