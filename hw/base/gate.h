// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

namespace dingo {

/// What a data thread holds while it serves its cards. Others ("visitors") change what the data
/// thread uses, as a card's registers or its memory map: they hand it a job, or hold the gate for a
/// short time.
///
/// The data thread keeps it from round to round, so that a round costs no lock; it asks wanted()
/// and lets visitors in between two rounds. Visitors take turns with it: whoever comes and goes
/// without pause cannot keep it out.
class Gate {
  public:
    Gate() = default;
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;

    /// While it lives its thread has the gate to itself. May be held by a thread that holds it.
    class Hold {
      public:
        explicit Hold(Gate& gate) : Hold(&gate) {}
        /// Null: there is none.
        explicit Hold(Gate* gate) : gate_(gate) {
            if (gate_ != nullptr) {
                gate_->enter();
            }
        }
        ~Hold() {
            if (gate_ != nullptr) {
                gate_->leave();
            }
        }
        Hold(const Hold&) = delete;
        Hold& operator=(const Hold&) = delete;

      private:
        Gate* gate_;
    };

    /// Calls `job` while nobody else has the gate, and returns what it returns or throws what it
    /// throws. A data thread that is awake does it between two rounds, so that it need not wait for
    /// the caller's processor; then what is thread-local, but for the log, is the data thread's.
    template <typename F>
    std::invoke_result_t<F&> run(F&& job) {
        using Result = std::invoke_result_t<F&>;
        if (mine()) {
            return job();
        }
        if constexpr (std::is_void_v<Result>) {
            auto call = [&job] { job(); };
            Job task([](void* f) { (*static_cast<decltype(call)*>(f))(); }, &call);
            run_job(task);
        } else {
            std::optional<Result> result;
            run([&] { result.emplace(job()); });
            return std::move(*result);
        }
    }

    /// The calling thread is the data thread: takes the gate, after a visitor that is inside.
    void close();
    /// Gives the gate up, before the data thread waits.
    void open();
    /// A visitor waits.
    [[nodiscard]] bool wanted() const { return waiting_.load(std::memory_order_relaxed) != 0; }
    struct Visit {
        std::chrono::nanoseconds inside{};  ///< without what changes of threads took
        bool stayed = false;                ///< there were such changes
    };
    /// Does a visitor's job or lets one in, when one waits, and has the gate again.
    Visit give_way();
    /// Number of visits so far, of all visitors.
    [[nodiscard]] std::uint64_t visits() const { return visits_.load(std::memory_order_relaxed); }

    /// Called by each visitor before it leaves. Set while nobody else knows the gate.
    std::function<void()> on_leave;

  private:
    struct Job {
        Job(void (*c)(void*), void* a) : call(c), argument(a) {}
        void (*call)(void*);
        void* argument;
        int log = -1;              ///< the visitor's
        bool done = false;         ///< the data thread has done it
        std::exception_ptr error;  ///< what the job threw in the data thread
    };

    void enter();
    void leave();
    void admit(std::unique_lock<std::mutex>& lock);
    void run_job(Job& job);
    Visit do_job(std::unique_lock<std::mutex>& lock);
    void take_back(std::unique_lock<std::mutex>& lock);

    [[nodiscard]] bool mine() const {
        return holder_.load(std::memory_order_relaxed) == std::this_thread::get_id();
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::atomic<std::thread::id> holder_{};  ///< only its own thread sees itself there
    std::atomic<unsigned> waiting_ = 0;      ///< visitors
    /// jobs of waiting visitors that may run in the data thread
    std::deque<Job*> jobs_;
    bool stay_is_next_ = false;  ///< where both are wanted
    std::atomic<std::uint64_t> visits_ = 0;
    unsigned depth_ = 0;         ///< nested holds of the thread that has the gate
    bool held_by_data_ = false;  ///< the data thread has the gate
    bool data_waits_ = false;    ///< the data thread is next, unless it gives way
    bool offered_ = false;       ///< by the data thread, which waits, to one visitor
    /// when the visitor that took the offer entered
    std::chrono::steady_clock::time_point entered_;
    std::chrono::nanoseconds inside_{};  ///< how long that visitor stayed
    bool timed_ = false;                 ///< that visitor is inside
};

}  // namespace dingo
