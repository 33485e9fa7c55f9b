// SPDX-License-Identifier: BSD-2-Clause
#include "elsewhere.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace dingo {
namespace {

/// Limits of threads. A hostile close() blocks its thread. When all threads that a sender may have
/// are blocked, further descriptors of this sender wait; most honest ones need no thread, as their
/// close() returns at once.
struct MostThreads {
    unsigned sender;
    unsigned user;
    unsigned all;
};
constexpr MostThreads kClosers{8, 64, 256};
constexpr MostThreads kUnmappers{1, 1, 1};
constexpr MostThreads kCallers{1, 64, 256};
/// Most descriptors that may wait while none was closed for kStall: of one sender, and of all
/// senders of a user.
constexpr std::size_t kMostStalled = 64;
constexpr std::size_t kMostStalledOfUser = 256;
constexpr auto kStall = std::chrono::seconds(1);
/// Most descriptors that may wait in any case: 1/kPart (of a user 1/kPartOfUser) of RLIMIT_NOFILE,
/// but at least kLeast. One message brings up to 253 more: the reserve (quota.h) is larger.
constexpr std::size_t kPart = 8;
constexpr std::size_t kPartOfUser = 4;
constexpr std::size_t kLeast = 256;

std::size_t part_of_all(std::size_t part) {
    rlimit limit{};
    const bool known = ::getrlimit(RLIMIT_NOFILE, &limit) == 0;
    return std::max(kLeast, known ? limit.rlim_cur / part : 0);
}

thread_local Sender closes_for;

/// Unmapping this much takes no noticeable time.
constexpr std::size_t kSmallMapping = 1 << 20;

/// A descriptor to close, a mapping to remove, or any other call.
struct LetGo {
    int fd = -1;
    void* at = nullptr;
    std::size_t size = 0;  ///< of the mapping in bytes; 0: not a mapping
    std::function<void()> call = nullptr;
};

/// The descriptor may be a socket whose close() waits until its data are sent (SO_LINGER).
/// setsockopt() may block, too, while the socket is locked by a system call of its owner.
void do_not_linger(int fd) {
    const linger off{};
    ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &off, sizeof off);
}

class Threads {
  public:
    explicit Threads(MostThreads most) : most_(most) {}

    void take(LetGo what, const Sender& sender) {
        const std::lock_guard lock(mutex_);
        const auto lane = lanes_.try_emplace(sender).first;
        lane->second.queue.push_back(std::move(what));
        ++waiting_;
        if (!may_have_a_thread(*lane)) {
            return;  // a busy thread of the lane takes it later
        }
        if (idle_ != 0) {
            wanted_.notify_one();
        } else if (starting_ == 0 && threads_ < most_.all) {
            start();  // each new thread starts the next one if needed
        }
    }

    [[nodiscard]] std::size_t waiting() {
        const std::lock_guard lock(mutex_);
        return waiting_;
    }
    [[nodiscard]] bool has_too_many(const Sender& sender) {
        const std::lock_guard lock(mutex_);
        const auto lane = lanes_.find(sender);
        if (lane == lanes_.end()) {
            return false;
        }
        static const std::size_t most = part_of_all(kPart);
        return lane->second.count() >= most || lane->second.stalled() >= kMostStalled;
    }
    [[nodiscard]] bool user_has_too_many(uid_t user) {
        const std::lock_guard lock(mutex_);
        static const std::size_t most = part_of_all(kPartOfUser);
        return sum(user, [](const Lane& lane) { return lane.count(); }) >= most ||
               sum(user, [](const Lane& lane) { return lane.stalled(); }) >= kMostStalledOfUser;
    }

  private:
    using Clock = std::chrono::steady_clock;
    /// Calls that are queued or running for one sender.
    struct Lane {
        std::deque<LetGo> queue;
        unsigned busy = 0;                          ///< number of threads in a call
        Clock::time_point progress = Clock::now();  ///< when the last call ended

        [[nodiscard]] std::size_t count() const { return queue.size() + busy; }
        [[nodiscard]] std::size_t stalled() const {
            return Clock::now() - progress > kStall ? count() : 0;
        }
    };
    using Lanes = std::map<Sender, Lane>;

    /// Sums over the lanes of a user. This and the functions below need the lock.
    template <class Value>
    std::size_t sum(uid_t user, Value value) const {
        std::size_t total = 0;
        for (auto at = lanes_.lower_bound({user, 0}); at != lanes_.end() && at->first.user == user;
             ++at) {
            total += value(at->second);
        }
        return total;
    }

    [[nodiscard]] bool may_have_a_thread(const Lanes::value_type& lane) const {
        return !lane.second.queue.empty() && lane.second.busy < most_.sender &&
               sum(lane.first.user, [](const Lane& l) { return l.busy; }) < most_.user;
    }

    /// If no thread can be started, the queue waits until the next attempt.
    void start() {
        try {
            do_elsewhere([this] { run(); });
            ++threads_;
            ++starting_;
        } catch (const std::exception&) {  // no thread available
        }
    }

    Lanes::iterator next() {
        return std::ranges::find_if(lanes_,
                                    [this](const auto& lane) { return may_have_a_thread(lane); });
    }

    void run() {
        std::unique_lock lock(mutex_);
        --starting_;
        for (;;) {
            ++idle_;
            wanted_.wait(lock, [this] { return next() != lanes_.end(); });
            --idle_;
            const auto at = next();
            Lane& lane = at->second;
            LetGo what = std::move(lane.queue.front());
            lane.queue.pop_front();
            ++lane.busy;
            // Start another thread, so that calls behind this one do not wait for it.
            if (idle_ == 0 && starting_ == 0 && threads_ < most_.all && next() != lanes_.end()) {
                start();
            }
            lock.unlock();
            if (what.call) {
                std::exchange(what.call, nullptr)();
            } else if (what.size != 0) {
                ::munmap(what.at, what.size);
            } else {
                do_not_linger(what.fd);
                ::close(what.fd);
            }
            lock.lock();
            --waiting_;
            lane.progress = Clock::now();
            if (--lane.busy == 0 && lane.queue.empty()) {
                lanes_.erase(at);
            }
        }
    }

    const MostThreads most_;
    std::mutex mutex_;
    std::condition_variable wanted_;
    Lanes lanes_;
    unsigned threads_ = 0;
    unsigned idle_ = 0;
    unsigned starting_ = 0;    ///< threads that are being started
    std::size_t waiting_ = 0;  ///< calls that are queued or running
};

/// Never destroyed: its threads may be inside close() when the process ends.
Threads& closers() {
    static auto* const instance = new Threads(kClosers);
    return *instance;
}

/// Separate threads, as hostile clients may block all closers.
Threads& unmapper() {
    static auto* const instance = new Threads(kUnmappers);
    return *instance;
}

/// Separate ones, too.
Threads& callers() {
    static auto* const instance = new Threads(kCallers);
    return *instance;
}

}  // namespace

void do_elsewhere(std::function<void()> what) {
    sigset_t all;
    sigset_t old;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &old);  // the main thread handles signals
    const std::unique_ptr<sigset_t, void (*)(sigset_t*)> back(
        &old, [](sigset_t* mask) { ::pthread_sigmask(SIG_SETMASK, mask, nullptr); });
    std::thread(std::move(what)).detach();
}

void close_on_another_thread(int fd) {
    closers().take({.fd = fd}, closes_for);
}

std::size_t closing_elsewhere() {
    return closers().waiting() + callers().waiting();
}

ClosesFor::ClosesFor(Sender sender) : before_(std::exchange(closes_for, sender)) {}

ClosesFor::~ClosesFor() {
    closes_for = before_;
}

bool has_too_many_closing(const Sender& sender) {
    return closers().has_too_many(sender);
}

bool user_has_too_many_closing(uid_t user) {
    return closers().user_has_too_many(user);
}

void let_go_later(std::shared_ptr<const void> what) {
    // An access of far memory may take 2 s, and others may be queued before it.
    static constexpr std::chrono::seconds kLater(10);
    auto* const kept = new std::shared_ptr(std::move(what));
    try {
        do_elsewhere([kept] {
            std::this_thread::sleep_for(kLater);
            delete kept;
        });
    } catch (const std::system_error&) {  // no thread: leaked
    }
}

void call_elsewhere(const Sender& client, std::function<void()> call) {
    callers().take({.call = std::move(call)}, client);
}

void unmap_elsewhere(void* at, std::size_t size) {
    if (size <= kSmallMapping) {
        ::munmap(at, size);
    } else {
        unmapper().take({.at = at, .size = size}, {});
    }
}

}  // namespace dingo
