// SPDX-License-Identifier: BSD-2-Clause
#include "foreign_fd.h"

#include <pthread.h>

#include <csignal>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

namespace dingo::card {
namespace {

/// Each hostile close() keeps one thread; with all of them kept the others' descriptors wait.
constexpr unsigned kMostThreads = 32;

class Closer {
  public:
    void take(int fd) {
        const std::lock_guard lock(mutex_);
        queue_.push_back(fd);
        if (idle_ != 0) {
            wanted_.notify_one();
        } else if (threads_ < kMostThreads) {
            start();
        }
    }

    [[nodiscard]] std::size_t open() {
        const std::lock_guard lock(mutex_);
        return queue_.size() + busy_;
    }

  private:
    /// Under the lock. Without a thread the descriptors wait until the next one can be started.
    void start() {
        sigset_t all;
        sigset_t old;
        sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &old);  // signals are the main thread's
        try {
            std::thread([this] { run(); }).detach();
            ++threads_;
        } catch (const std::exception&) {  // no thread can be had now
        }
        ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
    }

    void run() {
        std::unique_lock lock(mutex_);
        for (;;) {
            ++idle_;
            wanted_.wait(lock, [this] { return !queue_.empty(); });
            --idle_;
            const int fd = queue_.front();
            queue_.pop_front();
            ++busy_;
            // Descriptors behind this one must not wait for it.
            if (!queue_.empty() && idle_ == 0 && threads_ < kMostThreads) {
                start();
            }
            lock.unlock();
            ::close(fd);
            lock.lock();
            --busy_;
        }
    }

    std::mutex mutex_;
    std::condition_variable wanted_;
    std::deque<int> queue_;
    unsigned threads_ = 0;
    unsigned idle_ = 0;
    std::size_t busy_ = 0;
};

/// Never destroyed: its threads may be inside close() when the process ends.
Closer& closer() {
    static auto* const instance = new Closer;
    return *instance;
}

}  // namespace

void close_elsewhere(int fd) {
    closer().take(fd);
}

std::size_t closing_elsewhere() {
    return closer().open();
}

}  // namespace dingo::card
