// SPDX-License-Identifier: BSD-2-Clause
#include "offenders.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "unique_fd.h"

namespace dingo {
namespace {

/// Enough for what is touched at once; the rest of a longer range is not looked at.
constexpr std::size_t kMostPages = 64;
constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;  // of an entry of pagemap

/// A page of the range is not there: an access to it faults.
bool any_missing(const std::byte* at, std::size_t bytes) {
    static const UniqueFd pagemap(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
    static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto first = reinterpret_cast<std::uintptr_t>(at) / page;
    const auto last =
        (reinterpret_cast<std::uintptr_t>(at) + std::max<std::size_t>(bytes, 1) - 1) / page;
    std::array<std::uint64_t, kMostPages> entries{};
    const std::size_t count = std::min<std::size_t>(last - first + 1, kMostPages);
    const ssize_t got = ::pread(pagemap.get(), entries.data(), count * sizeof entries[0],
                                static_cast<off_t>(first * sizeof entries[0]));
    return got >= 0 &&
           std::any_of(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(count),
                       [](std::uint64_t entry) { return (entry & kPresent) == 0; });
}

bool is_same(const std::weak_ptr<Account>& a, const std::weak_ptr<Account>& b) {
    return !a.owner_before(b) && !b.owner_before(a);
}

/// Those that have the other memory, too: by their account, or by another connection of theirs.
std::vector<MemoryOwner> on_both_sides(const std::vector<MemoryOwner>& owners,
                                       const std::vector<MemoryOwner>& others) {
    std::vector<MemoryOwner> both;
    std::ranges::copy_if(owners, std::back_inserter(both), [&others](const MemoryOwner& owner) {
        return std::ranges::any_of(others, [&owner](const MemoryOwner& other) {
            return is_same(owner.account, other.account) ||
                   (owner.pid != 0 && owner.pid == other.pid);
        });
    });
    return both;
}

}  // namespace

void add_owner(std::vector<MemoryOwner>& owners, const MemoryOwner& owner) {
    std::erase_if(owners, [](const MemoryOwner& o) { return o.account.expired(); });
    if (std::ranges::none_of(owners, [&](const MemoryOwner& o) {
            return is_same(o.account, owner.account) && o.pid == owner.pid;
        })) {
        owners.push_back(owner);
    }
}

std::uint64_t Offenders::add(std::span<const std::byte> bytes, std::vector<MemoryOwner> owners) {
    const std::scoped_lock lock(mutex_);
    const std::uint64_t id = ++last_id_;
    memory_[bytes.data()] = {id, bytes.size(), std::move(owners)};
    by_id_[id] = bytes.data();
    return id;
}

void Offenders::add_owner(std::uint64_t id, const MemoryOwner& owner) {
    const std::scoped_lock lock(mutex_);
    const auto known = by_id_.find(id);
    if (known == by_id_.end()) {
        return;
    }
    dingo::add_owner(memory_.at(known->second).owners, owner);
}

void Offenders::remove(std::uint64_t id) {
    const std::scoped_lock lock(mutex_);
    const auto known = by_id_.find(id);
    if (known == by_id_.end()) {
        return;
    }
    // The same address may be another mapping's by now.
    if (const auto there = memory_.find(known->second);
        there != memory_.end() && there->second.id == id) {
        memory_.erase(there);
    }
    by_id_.erase(known);
}

std::vector<MemoryOwner> Offenders::owners_of(const std::byte* at) const {
    const std::scoped_lock lock(mutex_);
    const auto behind = memory_.upper_bound(at);
    if (at == nullptr || behind == memory_.begin()) {
        return {};
    }
    const auto& [begin, memory] = *std::prev(behind);
    return static_cast<std::size_t>(at - begin) < memory.size ? memory.owners
                                                              : std::vector<MemoryOwner>{};
}

bool Offenders::has(const std::shared_ptr<Account>& account, const std::byte* at) const {
    return std::ranges::any_of(owners_of(at), [&account](const MemoryOwner& owner) {
        return is_same(owner.account, account);
    });
}

Offenders::Verdict Offenders::held(const std::byte* at, const std::byte* with, std::size_t bytes,
                                   std::uint64_t ns, std::uint64_t now,
                                   const std::function<bool()>& still) {
    std::vector<MemoryOwner> owners = owners_of(at);
    std::vector<MemoryOwner> others = owners_of(with);
    if (!owners.empty() && !any_missing(at, bytes)) {
        owners.clear();
    }
    if (!others.empty() && !any_missing(with, bytes)) {
        others.clear();
    }
    if (owners.empty()) {
        owners.swap(others);
    } else if (!others.empty()) {
        owners = on_both_sides(owners, others);
    }
    if (owners.empty() || (still && !still())) {
        return Verdict::kMay;
    }
    Verdict worst = Verdict::kMay;
    for (const MemoryOwner& owner : owners) {
        worst = std::max(worst, charge(owner, ns, now));
    }
    return worst;
}

std::uint64_t Offenders::Credit::at(std::uint64_t now) const {
    return std::min(kFree, left + (now - std::min(now, counted)) / kPart);
}

// A user gets no new credit by connecting again.
Offenders::Record& Offenders::record_of(const std::shared_ptr<Account>& account,
                                        std::uint64_t now) {
    std::erase_if(records_, [&](const auto& entry) {
        const auto& [owner, record] = entry;
        if (owner.expired()) {
            Credit& rest = left_over_[record.user];
            rest = {std::min(rest.at(now), record.credit.at(now)), now};
        }
        return owner.expired();
    });
    std::erase_if(left_over_, [now](const auto& entry) { return entry.second.at(now) == kFree; });
    const auto [known, fresh] = records_.try_emplace(account);
    if (fresh) {
        known->second.user = account->user();
        if (const auto rest = left_over_.find(account->user()); rest != left_over_.end()) {
            known->second.credit = rest->second;
        }
    }
    return known->second;
}

Offenders::Verdict Offenders::charge(const MemoryOwner& owner, std::uint64_t ns,
                                     std::uint64_t now) {
    const std::shared_ptr<Account> account = owner.account.lock();
    if (account == nullptr) {
        return Verdict::kMay;
    }
    const std::scoped_lock lock(mutex_);
    stats_.held += ns;
    Record& record = record_of(account, now);
    record.held += ns;
    record.credit = {record.credit.at(now), now};
    if (record.credit.left > ns) {
        record.credit.left -= ns;
        return Verdict::kMay;
    }
    record.credit.left = 0;
    if (now < record.settled && record.settled_for == owner.context) {
        return Verdict::kTooLong;
    }
    record.settled = now + kSettles;
    record.settled_for = owner.context;
    std::erase_if(terms_,
                  [now](const auto& entry) { return now > entry.second.far_until + kForgiven; });
    Term& term = terms_[account->user()];
    const std::uint64_t lasts = kFirst << std::min(term.offences++, kMostDoublings);
    term.far_until = std::max(term.far_until, now + lasts);
    if (owner.context != nullptr) {
        term.out_until = term.far_until;
    }
    if (offences_.size() == kMostKept) {
        offences_.erase(offences_.begin());
    }
    offences_.push_back({++stats_.offences, owner, lasts});
    last_offence_ = stats_.offences;
    return Verdict::kOffence;
}

bool Offenders::is_far(uid_t user, std::uint64_t now) const {
    const std::scoped_lock lock(mutex_);
    const auto term = terms_.find(user);
    return term != terms_.end() && now < term->second.far_until;
}

bool Offenders::is_shut_out(const Account& account, std::uint64_t now) const {
    const std::scoped_lock lock(mutex_);
    const auto term = terms_.find(account.user());
    return account.foreign() && term != terms_.end() && now < term->second.out_until;
}

std::vector<Offence> Offenders::since(std::uint64_t number) const {
    const std::scoped_lock lock(mutex_);
    std::vector<Offence> found;
    std::ranges::copy_if(offences_, std::back_inserter(found),
                         [number](const Offence& o) { return o.number >= number; });
    return found;
}

Offenders::Stats Offenders::stats() const {
    const std::scoped_lock lock(mutex_);
    Stats stats = stats_;
    stats.users = terms_.size();
    return stats;
}

std::uint64_t Offenders::held_by(const std::shared_ptr<Account>& account) const {
    const std::scoped_lock lock(mutex_);
    const auto known = records_.find(account);
    return known == records_.end() ? 0 : known->second.held;
}

Offenders& offenders() {
    static auto* const all = new Offenders;
    return *all;
}

}  // namespace dingo
