// SPDX-License-Identifier: BSD-2-Clause
//
// Doorbell pages and their slots. Each page of a context is a file of its own that is mapped over
// the card's page of the same number, so that no client can map another's page.
#pragma once

#include <bitset>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/offenders.h"
#include "base/quota.h"
#include "base/unique_fd.h"
#include "dingo_hw.h"
#include "host/driver/kick.h"
#include "host/driver/numbers.h"
#include "host/local_card.h"

namespace dingo::uverbs {

/// Allocates the numbers of the card's pages.
class DoorbellPages {
  public:
    explicit DoorbellPages(LocalCard& card);

    [[nodiscard]] LocalCard& card() { return card_; }
    /// Throws ErrnoError(ENOMEM).
    std::uint32_t take();
    void give_back(std::uint32_t page);
    [[nodiscard]] std::size_t in_use() const { return ids_.in_use(); }

  private:
    LocalCard& card_;
    IdPool ids_;
};

class DoorbellPage {
  public:
    DoorbellPage(DoorbellPages& pages, const MemoryOwner& owner);
    ~DoorbellPage();
    DoorbellPage(const DoorbellPage&) = delete;
    DoorbellPage& operator=(const DoorbellPage&) = delete;

    [[nodiscard]] std::uint32_t index() const { return index_; }
    [[nodiscard]] int fd() const { return fd_.get(); }
    /// Returns the first free slot after `after`, or DINGO_DB_SLOTS if there is none.
    [[nodiscard]] std::uint32_t free_slot(std::uint32_t after = DINGO_DB_FIRST_SLOT - 1) const;

    std::uint64_t mmap_offset = 0;  ///< mmap() offset in its context; 0: not published

  private:
    friend class Doorbell;
    DoorbellPages& pages_;
    Charge descriptor_;
    std::uint32_t index_;
    UniqueFd fd_;
    OwnedMemory owned_;
    std::bitset<DINGO_DB_SLOTS> used_;
};

/// The slot of a ring; cleared and freed by the destructor.
class Doorbell {
  public:
    Doorbell() = default;
    Doorbell(DoorbellPage& page, std::uint32_t slot) : page_(&page), slot_(slot) {
        page.used_.set(slot);
    }
    Doorbell(Doorbell&& other) noexcept
        : page_(std::exchange(other.page_, nullptr)),
          slot_(other.slot_),
          watched_(other.watched_) {}
    Doorbell& operator=(Doorbell&&) = delete;
    ~Doorbell() { release(); }
    /// Clears and frees it now.
    void release();

    [[nodiscard]] DoorbellPage& page() const { return *page_; }
    [[nodiscard]] std::uint32_t slot() const { return slot_; }
    /// Clears the value before the slot gets another owner or its QP is reset. The scanner notices
    /// that with the next command, as each command scans all doorbells first.
    void clear();
    /// Makes the card watch the slot until it is released: its writer only stores the value.
    void watch() {
        set_watch(true);
        watched_ = true;
    }

  private:
    void set_watch(bool on);

    DoorbellPage* page_ = nullptr;
    std::uint32_t slot_ = 0;
    bool watched_ = false;
};

/// The doorbell pages of one context. Pages are added as needed and freed together.
class DoorbellSpace {
  public:
    /// `kick` is the client's for all of them, and outlives this. Their descriptors are charged to
    /// the owner's account.
    DoorbellSpace(DoorbellPages& pages, Kick& kick, MemoryOwner owner = {})
        : pages_(pages), kick_(kick), owner_(std::move(owner)) {}

    Doorbell take();
    /// Returns two slots of one page, as a QP refers to a single page.
    std::pair<Doorbell, Doorbell> take_pair();
    [[nodiscard]] const std::vector<std::unique_ptr<DoorbellPage>>& pages() const { return list_; }

  private:
    DoorbellPage& add_page();

    DoorbellPages& pages_;
    Kick& kick_;
    MemoryOwner owner_;
    std::vector<std::unique_ptr<DoorbellPage>> list_;
};

}  // namespace dingo::uverbs
