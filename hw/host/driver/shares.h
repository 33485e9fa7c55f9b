// SPDX-License-Identifier: BSD-2-Clause
//
// Owners that share the card's turns: all contexts and doorbell pages of one owner are one share.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>

#include "base/errno_error.h"
#include "host/driver/numbers.h"

namespace dingo::uverbs {

/// Owner of contexts: a process, or a user whose programs share an account.
struct ShareOwner {
    enum class Kind : std::uint8_t { kNobody, kProcess, kUser };
    Kind kind = Kind::kNobody;  ///< kNobody: the context has a share of its own
    std::int64_t number = 0;
    auto operator<=>(const ShareOwner&) const = default;
};

class Shares {
  public:
    using Share = std::shared_ptr<const OwnedId>;

    /// Shares have the numbers 1 to end - 1.
    explicit Shares(std::uint32_t end = 1) : ids_(end) { ids_.take(); }

    /// Returns the share for a context of that owner, to be held by the context. Null if none is
    /// left: then each doorbell page is a share of its own.
    Share of(const ShareOwner& owner) {
        std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
        if (owner.kind != ShareOwner::Kind::kNobody) {
            if (auto share = known_[owner].lock()) {
                return share;
            }
        }
        try {
            auto share = std::make_shared<const OwnedId>(ids_);
            if (owner.kind != ShareOwner::Kind::kNobody) {
                known_[owner] = share;
            }
            return share;
        } catch (const ErrnoError&) {
            return nullptr;
        }
    }

  private:
    IdPool ids_;
    std::map<ShareOwner, std::weak_ptr<const OwnedId>> known_;
};

}  // namespace dingo::uverbs
