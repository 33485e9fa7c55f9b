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

/// The lock that a data thread holds while it serves its cards. Other threads ("visitors") change
/// what the data thread uses, such as a card's registers or its memory map: they pass it a job, or
/// hold the gate for a short time.
///
/// The data thread keeps the gate from round to round, so that a round costs no lock; it polls
/// wanted() and admits visitors between two rounds. Visitors alternate with the data thread: one
/// that enters again and again cannot starve it.
class Gate {
  public:
    Gate() = default;
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;

    /// Exclusive ownership of the gate, RAII. Recursive: its thread may hold it more than once.
    class Hold {
      public:
        explicit Hold(Gate& gate) : Hold(&gate) {}
        /// Null: holds nothing.
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

    /// Calls `job` with exclusive access and returns its result or rethrows its exception. An awake
    /// data thread runs the job itself between two rounds, which saves a change of threads;
    /// thread-local variables, other than the log's descriptor, are then those of the data thread.
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

    /// The calling thread becomes the data thread: takes the gate, after the visitor that holds it.
    void close();
    /// Releases the gate, before the data thread sleeps.
    void open();
    /// Returns true if a visitor waits.
    [[nodiscard]] bool wanted() const { return waiting_.load(std::memory_order_relaxed) != 0; }
    struct Visit {
        std::chrono::nanoseconds inside{};  ///< duration of the visit without thread switches
        bool stayed = false;                ///< the visitor entered itself: threads were switched
    };
    /// If a visitor waits, runs its job or lets it in; holds the gate again on return.
    Visit give_way();
    /// Number of visits so far, of all visitors.
    [[nodiscard]] std::uint64_t visits() const { return visits_.load(std::memory_order_relaxed); }

    /// Called by each visitor that has entered itself. Set both before other threads know the gate.
    std::function<void()> on_enter;
    /// Called by each visitor before it leaves.
    std::function<void()> on_leave;

  private:
    struct Job {
        Job(void (*c)(void*), void* a) : call(c), argument(a) {}
        void (*call)(void*);
        void* argument;
        int log = -1;              ///< the visitor's log descriptor
        bool done = false;         ///< the data thread has run the job
        std::exception_ptr error;  ///< thrown by the job in the data thread
    };

    void enter();
    void leave();
    void entered() const {
        if (on_enter) {
            on_enter();
        }
    }
    void admit(std::unique_lock<std::mutex>& lock);
    void run_job(Job& job);
    Visit do_job(std::unique_lock<std::mutex>& lock);
    void take_back(std::unique_lock<std::mutex>& lock);

    [[nodiscard]] bool mine() const {
        return holder_.load(std::memory_order_relaxed) == std::this_thread::get_id();
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    /// a thread sees its own id only while it is the holder
    std::atomic<std::thread::id> holder_{};
    std::atomic<unsigned> waiting_ = 0;  ///< number of visitors that wait
    /// jobs of waiting visitors that may run in the data thread
    std::deque<Job*> jobs_;
    bool stay_is_next_ = false;  ///< whether a visitor enters before a job runs, if both wait
    std::atomic<std::uint64_t> visits_ = 0;
    unsigned depth_ = 0;         ///< nested holds of the thread that has the gate
    bool held_by_data_ = false;  ///< the holder is the data thread
    bool data_waits_ = false;    ///< the data thread is next, unless it gives way
    bool offered_ = false;       ///< a visitor may enter although the data thread waits
    /// when the visitor that took the offer entered
    std::chrono::steady_clock::time_point entered_;
    std::chrono::nanoseconds inside_{};  ///< duration of that visit
    bool timed_ = false;                 ///< that visitor is inside
};

}  // namespace dingo
