// SPDX-License-Identifier: BSD-2-Clause
//
// Memory of clients that the data thread touches, and who has made it wait there: a client can free
// pages under its hands, and a page fault waits until that has ended (docs/reference/threads.md).
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/quota.h"

namespace dingo {

/// Whose memory it is.
struct MemoryOwner {
    std::weak_ptr<Account> account;
    pid_t pid = 0;                  ///< 0: not known
    const void* context = nullptr;  ///< of queues and doorbells: whose they are
};

/// Adds one that is not there, and drops those that have ended.
void add_owner(std::vector<MemoryOwner>& owners, const MemoryOwner& owner);

/// A client has held the data thread up for longer than it may.
struct Offence {
    std::uint64_t number = 0;  ///< 1 is the process's first
    MemoryOwner owner;
    std::uint64_t lasts = 0;  ///< ns for which the user's new memory is far
};

class Offenders {
  public:
    /// How long an account may hold the thread up at once, and the part of the time (1/N) that it
    /// gets of that again.
    static constexpr std::uint64_t kFree = 20'000'000;
    static constexpr std::uint64_t kPart = 100;
    /// How long memory is far after the first offence; each next one doubles it.
    static constexpr std::uint64_t kFirst = 60'000'000'000;
    static constexpr unsigned kMostDoublings = 6;
    /// A user who behaves for so long after that has offended for the first time again.
    static constexpr std::uint64_t kForgiven = 3'600'000'000'000;
    /// One hold goes on until what it led to is done: it is no second offence.
    static constexpr std::uint64_t kSettles = 1'000'000'000;

    /// A hold is within what the owner may, or beyond, or beyond and an offence.
    enum class Verdict : std::uint8_t { kMay, kTooLong, kOffence };

    /// `bytes` are mapped here and by these until remove().
    std::uint64_t add(std::span<const std::byte> bytes, std::vector<MemoryOwner> owners);
    /// Another one has it, too.
    void add_owner(std::uint64_t id, const MemoryOwner& owner);
    void remove(std::uint64_t id);

    /// Whether the account has the memory at `at`.
    [[nodiscard]] bool has(const std::shared_ptr<Account>& account, const std::byte* at) const;

    /// The data thread waits in a page fault, and touches [at, at + bytes), maybe together with
    /// [with, with + bytes). `ns` are charged to the owners of the one of which a page is missing;
    /// if both miss one, to those who own both. To nobody when `still` is false
    /// after the look at the pages: the thread does not wait there any more.
    Verdict held(const std::byte* at, const std::byte* with, std::size_t bytes, std::uint64_t ns,
                 std::uint64_t now, const std::function<bool()>& still = {});

    /// New memory of this user is to be far.
    [[nodiscard]] bool is_far(uid_t user, std::uint64_t now) const;
    /// This user, who does not own the card, gets no queues.
    [[nodiscard]] bool is_shut_out(const Account& account, std::uint64_t now) const;
    /// Offences from `number` on. The oldest of many are forgotten.
    [[nodiscard]] std::vector<Offence> since(std::uint64_t number) const;
    /// Number of the last offence; 0: none. Takes no lock.
    [[nodiscard]] std::uint64_t last() const { return last_offence_; }

    struct Stats {
        std::uint64_t held = 0;  ///< ns, of all accounts
        std::uint64_t offences = 0;
        std::size_t users = 0;  ///< whose offences are not forgiven
    };
    [[nodiscard]] Stats stats() const;
    /// ns for which the account has held the thread up.
    [[nodiscard]] std::uint64_t held_by(const std::shared_ptr<Account>& account) const;

  private:
    struct Memory {
        std::uint64_t id = 0;
        std::size_t size = 0;
        std::vector<MemoryOwner> owners;
    };
    struct Credit {
        std::uint64_t left = kFree;
        std::uint64_t counted = 0;  ///< when it was that
        [[nodiscard]] std::uint64_t at(std::uint64_t now) const;
    };
    struct Record {
        uid_t user = 0;
        Credit credit;
        std::uint64_t held = 0;             ///< in all
        std::uint64_t settled = 0;          ///< no offence of the same kind and context before
        const void* settled_for = nullptr;  ///< context of the last offence
    };
    struct Term {
        unsigned offences = 0;
        std::uint64_t far_until = 0;
        std::uint64_t out_until = 0;
    };

    [[nodiscard]] std::vector<MemoryOwner> owners_of(const std::byte* at) const;
    Verdict charge(const MemoryOwner& owner, std::uint64_t ns, std::uint64_t now);
    Record& record_of(const std::shared_ptr<Account>& account, std::uint64_t now);

    static constexpr std::size_t kMostKept = 64;

    mutable std::mutex mutex_;
    std::map<const std::byte*, Memory> memory_;
    std::map<std::uint64_t, const std::byte*> by_id_;
    std::map<std::weak_ptr<Account>, Record, std::owner_less<>> records_;
    /// What accounts that have ended left to the next ones of their users.
    std::map<uid_t, Credit> left_over_;
    std::map<uid_t, Term> terms_;
    std::vector<Offence> offences_;
    std::atomic<std::uint64_t> last_offence_ = 0;
    std::uint64_t last_id_ = 0;
    Stats stats_;
};

/// Those of this process. Never destroyed: memory goes on detached threads.
Offenders& offenders();

/// Memory of clients that is mapped here for as long as this lives.
class OwnedMemory {
  public:
    OwnedMemory() = default;
    OwnedMemory(std::span<const std::byte> bytes, const MemoryOwner& owner)
        : OwnedMemory(bytes, std::vector{owner}) {}
    OwnedMemory(std::span<const std::byte> bytes, std::vector<MemoryOwner> owners)
        : id_(offenders().add(bytes, std::move(owners))) {}
    ~OwnedMemory() {
        if (id_ != 0) {
            offenders().remove(id_);
        }
    }
    OwnedMemory(const OwnedMemory&) = delete;
    OwnedMemory& operator=(const OwnedMemory&) = delete;
    void add_owner(const MemoryOwner& owner) const { offenders().add_owner(id_, owner); }

  private:
    std::uint64_t id_ = 0;
};

}  // namespace dingo
