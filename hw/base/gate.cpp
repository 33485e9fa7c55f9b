// SPDX-License-Identifier: BSD-2-Clause
#include "base/gate.h"

#include <utility>

#include "base/log.h"

namespace dingo {

void Gate::take_back(std::unique_lock<std::mutex>& lock) {
    data_waits_ = true;
    changed_.wait(lock, [this] {
        return holder_.load(std::memory_order_relaxed) == std::thread::id{} && !offered_;
    });
    data_waits_ = false;
    holder_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    depth_ = 1;
    held_by_data_ = true;
}

void Gate::close() {
    std::unique_lock lock(mutex_);
    take_back(lock);
}

void Gate::open() {
    {
        const std::scoped_lock lock(mutex_);
        held_by_data_ = false;
        holder_.store(std::thread::id{}, std::memory_order_relaxed);
    }
    changed_.notify_all();
}

Gate::Visit Gate::give_way() {
    std::unique_lock lock(mutex_);
    if (!wanted()) {
        return {};
    }
    const bool stays = jobs_.size() < waiting_.load(std::memory_order_relaxed);
    if (!jobs_.empty() && (!stays || !stay_is_next_)) {
        stay_is_next_ = true;
        return do_job(lock);
    }
    stay_is_next_ = false;
    held_by_data_ = false;
    holder_.store(std::thread::id{}, std::memory_order_relaxed);
    offered_ = true;
    changed_.notify_all();
    take_back(lock);
    return {inside_, true};
}

Gate::Visit Gate::do_job(std::unique_lock<std::mutex>& lock) {
    Job& job = *jobs_.front();
    jobs_.pop_front();
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    visits_.fetch_add(1, std::memory_order_relaxed);
    lock.unlock();
    const int log = current_log();
    set_log(job.log);
    const auto begin = std::chrono::steady_clock::now();
    try {
        job.call(job.argument);
    } catch (...) {
        job.error = std::current_exception();
    }
    const auto inside = std::chrono::steady_clock::now() - begin;
    set_log(log);
    lock.lock();
    job.done = true;  // the waiting visitor may destroy the job from now on
    lock.unlock();
    changed_.notify_all();
    return {inside, false};
}

void Gate::run_job(Job& job) {
    std::unique_lock lock(mutex_);
    // An offer is for a visitor that enters itself; a job does not need it.
    const auto is_open = [this] {
        return holder_.load(std::memory_order_relaxed) == std::thread::id{} && !data_waits_ &&
               !offered_;
    };
    if (!is_open()) {
        job.log = current_log();
        jobs_.push_back(&job);
        waiting_.fetch_add(1, std::memory_order_relaxed);
        // A running job is not in the list; the gate is held meanwhile.
        changed_.wait(lock, [&] { return job.done || is_open(); });
        if (job.done) {
            lock.unlock();
            if (job.error) {
                std::rethrow_exception(job.error);
            }
            return;
        }
        std::erase(jobs_, &job);
        waiting_.fetch_sub(1, std::memory_order_relaxed);
    }
    admit(lock);
    lock.unlock();
    struct Inside {
        ~Inside() { gate.leave(); }
        Gate& gate;
    } const inside{*this};
    entered();
    job.call(job.argument);
}

void Gate::admit(std::unique_lock<std::mutex>& /*lock*/) {
    visits_.fetch_add(1, std::memory_order_relaxed);
    holder_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    depth_ = 1;
}

void Gate::enter() {
    if (mine()) {
        ++depth_;
        return;
    }
    std::unique_lock lock(mutex_);
    waiting_.fetch_add(1, std::memory_order_relaxed);
    changed_.wait(lock, [this] {
        return holder_.load(std::memory_order_relaxed) == std::thread::id{} &&
               (!data_waits_ || offered_);
    });
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    timed_ = std::exchange(offered_, false);
    if (timed_) {
        entered_ = std::chrono::steady_clock::now();
    }
    admit(lock);
    lock.unlock();
    entered();
}

void Gate::leave() {
    if (--depth_ != 0) {
        return;
    }
    if (on_leave && !held_by_data_) {
        depth_ = 1;  // on_leave may use what needs the gate
        on_leave();
        depth_ = 0;
    }
    {
        const std::scoped_lock lock(mutex_);
        if (std::exchange(timed_, false)) {
            inside_ = std::chrono::steady_clock::now() - entered_;
        }
        holder_.store(std::thread::id{}, std::memory_order_relaxed);
    }
    changed_.notify_all();
}

}  // namespace dingo
