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

/// A hostile close() blocks its thread. When all threads are blocked, further descriptors wait;
/// most honest ones do not need a thread, as their close() returns at once.
constexpr unsigned kMostThreads = 32;

/// Freeing this much memory takes no noticeable time.
constexpr std::int64_t kSmallFile = 16 << 20;

/// Keeps errno when a descriptor goes out of scope between a failed call and the check of errno.
class KeepErrno {
  public:
    ~KeepErrno() { errno = saved_; }

  private:
    int saved_ = errno;
};

/// Shuts a UNIX socket down, so that no one can send to it any more. True: its queue is empty, so
/// no descriptors wait in it.
bool end_and_look(int fd) {
    int type = 0;
    socklen_t length = sizeof type;
    if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_SEQPACKET) {
        return false;
    }
    int domain = 0;
    length = sizeof domain;
    // With SO_PASSCRED every message has control data. Its truncation (MSG_CTRUNC) tells an empty
    // message from the end of the stream.
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
    /// Call with the lock held. When no thread can be started, the descriptors wait for the next
    /// attempt.
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
            // Start another thread, so that the descriptors behind this one do not wait for it.
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
