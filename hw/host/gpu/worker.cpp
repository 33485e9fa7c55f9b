// SPDX-License-Identifier: BSD-2-Clause
#include "host/gpu/worker.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace dingo::gpu {
namespace {

struct Worker {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> jobs;
    std::deque<std::function<void()>> first;  ///< before all `jobs`
    bool started = false;
    bool busy = false;
    bool ended = false;

    [[noreturn]] void run() {
        std::unique_lock lock(mutex);
        for (;;) {
            changed.wait(lock, [this] { return !(first.empty() && jobs.empty()) && !ended; });
            {
                auto& queue = first.empty() ? jobs : first;
                const std::function<void()> job = std::move(queue.front());
                queue.pop_front();
                busy = true;
                lock.unlock();
                job();
            }
            lock.lock();
            busy = false;
            changed.notify_all();
        }
    }
};

// At process exit the driver is unloaded: no further call is started, and a running one gets a
// short time to finish.
struct Ender {
    ~Ender();
};

// Never destroyed: the thread may be in a driver call when the process ends.
Worker& worker() {
    static Worker& the_worker = *new Worker;
    return the_worker;
}

Ender::~Ender() {
    constexpr std::chrono::milliseconds kMoment(200);
    Worker& w = worker();
    std::unique_lock lock(w.mutex);
    w.ended = true;
    w.changed.wait_for(lock, kMoment, [&w] { return !w.busy; });
}

void add(std::deque<std::function<void()>> Worker::*queue, std::function<void()> job) {
    Worker& w = worker();
    static const Ender ender;  // constructed after the driver was loaded, so destroyed before it
    {
        const std::scoped_lock lock(w.mutex);
        if (!w.started) {
            std::thread([&w] { w.run(); }).detach();
            w.started = true;
        }
        (w.*queue).push_back(std::move(job));
    }
    w.changed.notify_one();
}

}  // namespace

void do_soon(std::function<void()> job) {
    add(&Worker::jobs, std::move(job));
}

void do_next(std::function<void()> job) {
    add(&Worker::first, std::move(job));
}

}  // namespace dingo::gpu
