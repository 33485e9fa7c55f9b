// SPDX-License-Identifier: BSD-2-Clause
//
// Memory that blocks every thread that touches it, as a hostile client's does.
#pragma once

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <future>

#include "base/unique_fd.h"

namespace dingo::test {

inline constexpr auto kSoon = std::chrono::seconds(5);

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
    [[nodiscard]] void* page() const { return page_; }
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

/// Whether `what` returns soon although nothing is released; then `let_go` makes it return.
template <typename What, typename LetGo>
bool returns_soon(What what, LetGo let_go) {
    auto done = std::async(std::launch::async, what);
    const bool soon = done.wait_for(kSoon) == std::future_status::ready;
    let_go();
    done.get();
    return soon;
}

}  // namespace dingo::test
