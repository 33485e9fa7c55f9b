// SPDX-License-Identifier: BSD-2-Clause
//
// The page by which clients learn that their card is gone (dingo-abi.h: DINGO_STATUS_GONE): its
// first word is the futex of a robust mutex that the control thread holds, so that the kernel sets
// FUTEX_OWNER_DIED there however the thread ends.
#pragma once

#include <cstdint>

#include "base/shared_memory.h"
#include "base/unique_fd.h"

namespace dingo::uverbs {

class StatusPage {
  public:
    /// The calling thread is the control thread. Throws std::system_error.
    StatusPage();
    /// Marks the card as gone in an orderly stop.
    ~StatusPage();
    StatusPage(const StatusPage&) = delete;
    StatusPage& operator=(const StatusPage&) = delete;

    /// Marks the card as gone after it has failed, while its thread still runs.
    void set_gone();

    /// Tells clients whether the card lacks processor time. If so, they yield after an empty poll.
    void set_crowded(bool crowded);

    /// CLOCK_REALTIME was real_ns, within error_ns, when register CLOCK was card_ns.
    void set_clock(std::uint64_t card_ns, std::uint64_t real_ns, std::uint32_t error_ns);

    /// Descriptor that can be mapped for reading only.
    [[nodiscard]] int fd() const { return fd_.get(); }

  private:
    UniqueFd fd_;
    void* page_ = nullptr;
};

}  // namespace dingo::uverbs
