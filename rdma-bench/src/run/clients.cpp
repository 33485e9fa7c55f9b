// SPDX-License-Identifier: BSD-2-Clause
#include "run/clients.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "run/session.h"

namespace rdma_bench {
namespace {

/// Barrier of the sessions. The first that fails ends all with its reason.
class Gate {
  public:
    explicit Gate(unsigned size) : size_(size) {}

    /// Returns when all have called it. Meanwhile checks the client and Ctrl-C.
    /// @throws RunError: another session failed, the client gave up or is gone, kInterrupted
    void wait(Link& link) {
        std::unique_lock hold(mutex_);
        check();
        const std::uint64_t turn = turn_;
        if (++waiting_ == size_) {
            waiting_ = 0;
            ++turn_;
            changed_.notify_all();
            return;
        }
        while (turn_ == turn) {
            changed_.wait_for(hold, std::chrono::milliseconds(50));
            if (turn_ != turn) {
                return;
            }
            check();
            hold.unlock();
            if (Interrupt::instance().seen()) {
                throw RunError(Exit::kInterrupted, "interrupted");
            }
            // Throws if the client gives up; no other message is expected.
            link.look("nothing");
            hold.lock();
        }
    }

    void fail(const std::string& client, const Result& result) {
        const std::lock_guard hold(mutex_);
        if (!error_) {
            error_.emplace(static_cast<Exit>(result.exit_status), client + ": " + result.error);
            changed_.notify_all();
        }
    }
    /// Returns why the run must end; nullopt if it goes on.
    [[nodiscard]] std::optional<RunError> error() const {
        const std::lock_guard hold(mutex_);
        return error_;
    }

  private:
    void check() const {
        if (error_) {
            throw RunError(error_->status(), std::string("the run has ended: ") + error_->what());
        }
    }

    const unsigned size_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    unsigned waiting_ = 0;
    std::uint64_t turn_ = 0;
    std::optional<RunError> error_;
};

/// Merges the results of all sessions, which run in separate threads, into one run for the sinks.
class Gatherer {
  public:
    Gatherer(const Options& options, Sink& sink)
        : sink_(sink), limits_(options), sessions_(options.clients) {}

    void start(std::size_t number, const Result& result) {
        const std::lock_guard hold(mutex_);
        sessions_[number].result = result;
        if (++started_ < sessions_.size()) {
            return;
        }
        result_ = sessions_.front().result;
        for (std::size_t i = 0; i < sessions_.size(); ++i) {
            const Result& one = sessions_[i].result;
            result_.clients.push_back(one.peer);
            if (i > 0) {
                const auto append = [](auto& to, const auto& from) {
                    to.insert(to.end(), from.begin(), from.end());
                };
                append(result_.local_qps, one.local_qps);
                append(result_.peer_qps, one.peer_qps);
            }
        }
        sink_.start(result_);
    }

    void entry(std::size_t number, const Entry& entry) {
        const std::lock_guard hold(mutex_);
        sessions_[number].entries.push_back(entry);
        const std::size_t next = result_.entries.size();
        std::vector<Entry> all;
        for (const Session& session : sessions_) {
            if (session.entries.size() <= next) {
                return;
            }
            all.push_back(session.entries[next]);
        }
        result_.entries.push_back(add_up(std::move(all)));
        limits_.note(result_.entries.back());
        sink_.entry(result_, result_.entries.back());
    }

    void progress(std::size_t number, const Progress& progress) {
        const std::lock_guard hold(mutex_);
        sessions_[number].progress = progress;
        if (number != 0) {
            return;
        }
        Progress sum = progress;
        for (std::size_t i = 1; i < sessions_.size(); ++i) {
            sum.messages += sessions_[i].progress.messages;
            sum.bytes += sessions_[i].progress.bytes;
        }
        sink_.progress(sum);
    }

    /// Uses the facts of a session's result if the run ends before all were connected.
    void ended(const Result& result) {
        const std::lock_guard hold(mutex_);
        if (started_ < sessions_.size() && result_.version.empty()) {
            result_ = result;
        }
    }

    /// Called when all sessions have ended.
    Exit done(const std::optional<RunError>& error) {
        const auto fail = [&](const RunError& why) {
            result_.error = why.what();
            result_.exit_status = static_cast<int>(why.status());
        };
        if (error) {
            fail(*error);
        } else {
            try {
                limits_.check();
            } catch (const RunError& below) {
                fail(below);
            }
        }
        sink_.done(result_);
        return static_cast<Exit>(result_.exit_status);
    }
    [[nodiscard]] const Result& result() const { return result_; }

  private:
    struct Session {
        Result result;
        std::vector<Entry> entries;
        Progress progress;
    };

    Sink& sink_;
    Limits limits_;
    std::mutex mutex_;
    std::vector<Session> sessions_;
    std::size_t started_ = 0;
    Result result_;
};

class OneSink final : public Sink {
  public:
    OneSink(Gatherer& gatherer, Gate& gate, std::size_t number, std::string name)
        : gatherer_(gatherer), gate_(gate), number_(number), name_(std::move(name)) {}
    void start(const Result& result) override { gatherer_.start(number_, result); }
    void progress(const Progress& progress) override { gatherer_.progress(number_, progress); }
    void entry(const Result& /*result*/, const Entry& entry) override {
        gatherer_.entry(number_, entry);
    }
    void done(const Result& result) override {
        gatherer_.ended(result);
        if (!result.error.empty()) {
            gate_.fail(name_, result);
        }
    }

  private:
    Gatherer& gatherer_;
    Gate& gate_;
    std::size_t number_;
    std::string name_;
};

/// Assigns the processors of --pin round-robin to the threads of all sessions.
std::vector<unsigned> pin_of(const Options& options, std::size_t number) {
    auto pin = options.pin;
    if (!pin.empty()) {
        const auto first = number * options.threads % pin.size();
        std::rotate(pin.begin(), pin.begin() + static_cast<std::ptrdiff_t>(first), pin.end());
    }
    return pin;
}

}  // namespace

Exit run_clients(const Options& options, Sink& sink) {
    Interrupt::instance();
    Gate gate(options.clients);
    Gatherer gatherer(options, sink);
    std::vector<std::thread> sessions;
    const auto serve = [&](Link link) {
        const std::size_t number = sessions.size();
        const std::string name =
            "client " + std::to_string(number + 1) + " (" + link.connection().peer_address() + ")";
        Options mine = options;
        mine.pin = pin_of(options, number);
        // The limits apply to the sum.
        mine.limit_bandwidth.reset();
        mine.limit_message_rate.reset();
        sessions.emplace_back(
            [&gate, &gatherer, number, name, mine, taken = std::move(link)]() mutable {
                OneSink one(gatherer, gate, number, name);
                run_session_with(std::move(mine), one,
                                 {std::move(taken), [&gate](Link& l) { gate.wait(l); }});
            });
    };
    std::optional<RunError> error;
    try {
        Link::accept_all(options, serve, [&] { return !gate.error(); });
    } catch (const RunError& why) {
        error = why;
        Result result;
        result.error = why.what();
        result.exit_status = static_cast<int>(why.status());
        gate.fail("the server", result);
    }
    for (std::thread& session : sessions) {
        session.join();
    }
    const Exit status = gatherer.done(error ? error : gate.error());
    if (!gatherer.result().error.empty()) {
        std::fprintf(stderr, "rdma-bench: %s\n", gatherer.result().error.c_str());
    }
    return status;
}

}  // namespace rdma_bench
