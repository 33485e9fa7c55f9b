// SPDX-License-Identifier: BSD-2-Clause
//
// What another process has sent may make a system call wait as long as that process likes.
#include "base/foreign_fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <string>
#include <thread>

#include "base/exported_memory.h"
#include "tcp_pair.h"

namespace dingo {
namespace {

constexpr auto kSoon = std::chrono::seconds(5);

/// A page whose first use waits for let_go().
class Trap {
  public:
    static constexpr std::size_t kBytes = 4096;
    Trap() {
        uffdio_api api{};
        api.api = UFFD_API;
        faults_.reset(static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK)));
        if (!faults_ || ::ioctl(faults_.get(), UFFDIO_API, &api) != 0) {
            return;
        }
        page_ = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        uffdio_register range{};
        range.range = {reinterpret_cast<std::uintptr_t>(page_), kBytes};
        range.mode = UFFDIO_REGISTER_MODE_MISSING;
        works_ = ::ioctl(faults_.get(), UFFDIO_REGISTER, &range) == 0;
    }
    ~Trap() { ::munmap(page_, kBytes); }
    [[nodiscard]] bool works() const { return works_; }
    [[nodiscard]] const void* page() const { return page_; }
    [[nodiscard]] bool wait_until_used() const {
        pollfd fault{faults_.get(), POLLIN, 0};
        return ::poll(&fault, 1, 10'000) == 1;
    }
    void let_go() const {
        uffdio_zeropage zero{};
        zero.range = {reinterpret_cast<std::uintptr_t>(page_), kBytes};
        ::ioctl(faults_.get(), UFFDIO_ZEROPAGE, &zero);
    }

  private:
    UniqueFd faults_;
    void* page_ = MAP_FAILED;
    bool works_ = false;
};

/// Whether `what` returns soon, though nothing is let go of; then `let_go` has it return.
template <typename What, typename LetGo>
bool returns_soon(What what, LetGo let_go) {
    auto done = std::async(std::launch::async, what);
    const bool soon = done.wait_for(kSoon) == std::future_status::ready;
    let_go();
    done.get();
    return soon;
}

TEST(ForeignFd, ASocketThatItsSenderHasLockedIsClosedWithoutWaiting) {
    const Trap trap;
    if (!trap.works()) {
        GTEST_SKIP() << "no userfaultfd";
    }
    const auto [from, to] = test::tcp_pair();
    std::thread sender(
        [&, fd = from.get()] { ::send(fd, trap.page(), Trap::kBytes, MSG_NOSIGNAL); });
    ASSERT_TRUE(trap.wait_until_used());
    const int copy = ::dup(from.get());
    EXPECT_TRUE(returns_soon([copy] { close_elsewhere(copy); }, [&] { trap.let_go(); }));
    sender.join();
}

TEST(ForeignFd, AFileWithALeaseIsNotWaitedFor) {
    ::signal(SIGIO, SIG_IGN);
    const UniqueFd memory(::memfd_create("leased", MFD_CLOEXEC));
    const std::string path = "/proc/self/fd/" + std::to_string(memory.get());
    const UniqueFd holder(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (::fcntl(holder.get(), F_SETLEASE, F_WRLCK) != 0) {
        GTEST_SKIP() << "no leases";
    }
    EXPECT_TRUE(returns_soon([fd = memory.get()] { open_for_reading(fd); },
                             [&] { ::fcntl(holder.get(), F_SETLEASE, F_UNLCK); }));
    EXPECT_TRUE(open_for_reading(memory.get()));
}

}  // namespace
}  // namespace dingo
