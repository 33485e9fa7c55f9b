// SPDX-License-Identifier: BSD-2-Clause
#include "foreign_fd.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

namespace dingo {
namespace {

/// Each hostile close() keeps one thread; with all of them kept what is left waits. What honest
/// clients send mostly closes at once, so that it does not wait behind it.
constexpr unsigned kMostThreads = 32;

/// Freeing so much memory takes no time that anybody sees.
constexpr std::int64_t kSmallFile = 16 << 20;

/// A descriptor goes out of scope between a call that failed and a look at errno.
class KeepErrno {
  public:
    ~KeepErrno() { errno = saved_; }

  private:
    int saved_ = errno;
};

/// Ends a UNIX socket: nobody can send to it any more. True: nothing waits in it, above all no
/// descriptors.
bool end_and_look(int fd) {
    int type = 0;
    socklen_t length = sizeof type;
    if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_SEQPACKET) {
        return false;
    }
    int domain = 0;
    length = sizeof domain;
    // With SO_PASSCRED every message has a control part, for which there is no room: so its end is
    // told from an empty message.
    const int on = 1;
    if (::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) != 0 || domain != AF_UNIX ||
        ::shutdown(fd, SHUT_RD) != 0 ||
        ::setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) {
        return false;
    }
    char byte = 0;
    iovec iov{&byte, sizeof byte};
    msghdr message{};
    message.msg_iov = &iov;
    message.msg_iovlen = 1;
    return ::recvmsg(fd, &message, MSG_PEEK | MSG_DONTWAIT) == 0 &&
           (message.msg_flags & MSG_CTRUNC) == 0;
}

/// A file in memory, which no file system has to be asked about.
bool is_small_memory(int fd) {
    struct stat st {};
    return ::fcntl(fd, F_GET_SEALS) >= 0 && ::fstat(fd, &st) == 0 &&
           st.st_blocks * 512 <= kSmallFile;
}

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
    const KeepErrno keep;
    if (is_small_memory(fd)) {
        ::close(fd);
    } else {
        closer().take(fd);
    }
}

void end_connection(int fd) {
    const KeepErrno keep;
    if (end_and_look(fd)) {
        ::close(fd);
    } else {
        closer().take(fd);
    }
}

std::size_t closing_elsewhere() {
    return closer().open();
}

}  // namespace dingo
