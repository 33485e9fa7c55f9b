// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "base/quota.h"
#include "base/unique_fd.h"
#include "host/driver/doorbells.h"
#include "host/driver/queue_slabs.h"
#include "host/driver/shares.h"
#include "host/driver/verbs_types.h"

namespace dingo::uverbs {

class Driver;
class FarWatch;

/// A process's open device: doorbell pages, queue memory and what it may mmap.
class Context {
  public:
    /// udata: dingo_alloc_ucontext_req and _resp; the kick descriptor is returned as Udata::Fd.
    /// Descriptors of the context are charged to `account`.
    Context(Driver& driver, Udata& udata, const std::shared_ptr<Account>& account = nullptr,
            const ShareOwner& owner = {});
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    struct Mapping {
        UniqueFd fd;
        std::uint64_t offset = 0;
    };
    /// Looks up an offset from an earlier answer. Throws ErrnoError(EINVAL) if it is unknown or has
    /// another length.
    Mapping mmap(std::uint64_t offset, std::uint64_t length);

    /// For a process that imports the context: dingo_alloc_ucontext_resp, with a kick descriptor of
    /// its own.
    void describe(Udata& udata) const;

    /// Readable after the client has kicked.
    [[nodiscard]] int kick_fd() const { return kick_.fd(); }
    /// Called by the card's thread when kick_fd() is readable.
    void kicked() { kick_.kicked(); }

    // Used by the objects of the context.

    [[nodiscard]] Driver& driver() const { return driver_; }
    /// The share of CREATE_QP.
    [[nodiscard]] std::uint32_t share() const { return share_ ? share_->get() : 0; }
    /// With `watched`, slots are on separate pages: the card watches them, and a GPU gets whole
    /// pages.
    [[nodiscard]] DoorbellSpace& doorbells(bool watched = false) {
        return watched ? watched_doorbells_ : doorbells_;
    }
    [[nodiscard]] QueueSlabs& queue_memory() { return queues_; }
    /// Allows the client to map `length` bytes of `fd`, owned by the caller, from file_offset on.
    /// Returns an mmap() offset that was never used before.
    std::uint64_t publish(int fd, std::uint64_t length, std::uint64_t file_offset = 0);
    /// The offset cannot be mapped any more; existing mappings stay.
    void withdraw(std::uint64_t offset) { mappings_.erase(offset); }
    /// Offsets that can be mapped now.
    [[nodiscard]] std::size_t published() const { return mappings_.size(); }

  private:
    struct Entry {
        int fd = -1;  ///< owned by the publisher
        std::uint64_t length = 0;
        std::uint64_t file_offset = 0;
    };

    Driver& driver_;
    std::shared_ptr<FarWatch> far_watch_;
    Shares::Share share_;
    Charge kick_charge_;
    Kick kick_;
    DoorbellSpace doorbells_;
    DoorbellSpace watched_doorbells_;
    QueueSlabs queues_;
    std::map<std::uint64_t, Entry> mappings_;
    std::uint64_t next_offset_;
    std::uint64_t status_offset_ = 0;  ///< mmap() offset of the status page
};

}  // namespace dingo::uverbs
