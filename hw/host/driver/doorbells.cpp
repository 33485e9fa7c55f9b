// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/doorbells.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>

#include "base/errno_error.h"
#include "base/quota.h"

namespace dingo::uverbs {
namespace {

UniqueFd make_page() {
    UniqueFd fd(::memfd_create("dingo-doorbells", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!fd || ::ftruncate(fd.get(), DINGO_DB_PAGE_SIZE) != 0 ||
        ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        throw ErrnoError(ENOMEM);
    }
    need_room(fd.get());
    return fd;
}

/// Puts a page of a file over page `index` of the card's doorbells.
bool overlay(LocalCard& card, std::uint32_t index, int fd, std::uint64_t offset) {
    void* const at = card.doorbell_memory().data() + std::size_t{index} * DINGO_DB_PAGE_SIZE;
    return ::mmap(at, DINGO_DB_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
                  static_cast<off_t>(offset)) != MAP_FAILED;
}

}  // namespace

DoorbellPages::DoorbellPages(LocalCard& card)
    : card_(card),
      ids_(static_cast<std::uint32_t>(card.doorbell_memory().size() / DINGO_DB_PAGE_SIZE)) {
    static_assert(DINGO_DB_PAGE_KERNEL == 0, "the first number is the driver's own");
    ids_.take();
    card_.use_doorbell_pages(ids_.end());
}

std::uint32_t DoorbellPages::take() {
    const std::uint32_t page = ids_.take();
    card_.use_doorbell_pages(ids_.end());
    return page;
}

void DoorbellPages::give_back(std::uint32_t page) {
    ids_.give_back(page);
    card_.use_doorbell_pages(ids_.end());
}

DoorbellPage::DoorbellPage(DoorbellPages& pages, const MemoryOwner& owner)
    : pages_(pages),
      descriptor_(owner.account.lock(), process_quotas().descriptors),
      index_(pages.take()),
      owned_(pages.card().doorbell_memory().subspan(std::size_t{index_} * DINGO_DB_PAGE_SIZE,
                                                    DINGO_DB_PAGE_SIZE),
             owner) {
    try {
        fd_ = make_page();
        pages_.card().gate()->run([this] {
            if (!overlay(pages_.card(), index_, fd_.get(), 0)) {
                throw ErrnoError(ENOMEM);
            }
            pages_.card().renew_doorbell_page(index_);
        });
    } catch (const ErrnoError&) {
        pages_.give_back(index_);
        throw;
    }
}

// Maps the card's own page again, which no client ever had and which is zero.
DoorbellPage::~DoorbellPage() {
    LocalCard& card = pages_.card();
    card.gate()->run([&] {
        if (!overlay(card, index_, card.doorbell_fd(),
                     std::uint64_t{index_} * DINGO_DB_PAGE_SIZE)) {
            return;  // lose the page: its last owner can still write to it
        }
        card.renew_doorbell_page(index_);
        pages_.give_back(index_);
    });
}

std::uint32_t DoorbellPage::free_slot(std::uint32_t after) const {
    std::uint32_t slot = after + 1;
    while (slot < DINGO_DB_SLOTS && used_.test(slot)) {
        ++slot;
    }
    return slot;
}

void Doorbell::release() {
    if (page_ != nullptr) {
        if (std::exchange(watched_, false)) {
            set_watch(false);
        }
        clear();
        page_->used_.reset(slot_);
        page_ = nullptr;
    }
}

void Doorbell::clear() {
    page_->pages_.card().clear_doorbell(std::uint64_t{page_->index_} * DINGO_DB_PAGE_SIZE +
                                        slot_ * sizeof(std::uint64_t));
}

void Doorbell::set_watch(bool on) {
    page_->pages_.card().write(Bar::kRegisters, DINGO_REG_DB_WATCH,
                               DINGO_PREP(DINGO_DB_WATCH_PAGE_MASK, page_->index_) |
                                   DINGO_PREP(DINGO_DB_WATCH_SLOT_MASK, slot_) |
                                   (on ? DINGO_DB_WATCH_ON_MASK : 0),
                               sizeof(std::uint32_t));
}

Doorbell DoorbellSpace::take() {
    for (const auto& page : list_) {
        const std::uint32_t slot = page->free_slot();
        if (slot < DINGO_DB_SLOTS) {
            return {*page, slot};
        }
    }
    return {add_page(), DINGO_DB_FIRST_SLOT};
}

DoorbellPage& DoorbellSpace::add_page() {
    list_.push_back(std::make_unique<DoorbellPage>(pages_, owner_));
    kick_.add_page(list_.back()->index());
    return *list_.back();
}

std::pair<Doorbell, Doorbell> DoorbellSpace::take_pair() {
    const auto pair = [](DoorbellPage& page, std::uint32_t a, std::uint32_t b) {
        return std::pair<Doorbell, Doorbell>(Doorbell(page, a), Doorbell(page, b));
    };
    for (const auto& page : list_) {
        const std::uint32_t a = page->free_slot();
        const std::uint32_t b = a < DINGO_DB_SLOTS ? page->free_slot(a) : a;
        if (b < DINGO_DB_SLOTS) {
            return pair(*page, a, b);
        }
    }
    return pair(add_page(), DINGO_DB_FIRST_SLOT, DINGO_DB_FIRST_SLOT + 1);
}

}  // namespace dingo::uverbs
