// SPDX-License-Identifier: BSD-2-Clause
//
// A limited resource that the clients of a card share. An account may use no more than what stays
// free afterwards, so a single account gets half, the next one a quarter, and some is always left
// for a new client. Thread-safe: any thread may take or release, as charges end with their last
// user.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

namespace dingo {

class Quota {
  public:
    /// The accounts that the fair share applies to; the limit applies to all.
    enum class Fair { kAll, kForeign };
    /// `error`: the errno for an account that is refused.
    Quota(std::size_t limit, int error, Fair fair) : limit_(limit), error_(error), fair_(fair) {}
    Quota(const Quota&) = delete;
    Quota& operator=(const Quota&) = delete;

    [[nodiscard]] std::size_t limit() const { return limit_; }
    [[nodiscard]] std::size_t used() const { return used_; }
    /// Number of refusals.
    [[nodiscard]] std::size_t refused() const { return refused_; }

  private:
    friend class Charge;
    std::size_t limit_;
    int error_;
    Fair fair_;
    std::atomic<std::size_t> used_ = 0;
    std::atomic<std::size_t> refused_ = 0;
};

/// The usage of one client, or of all clients of a user who does not own the card (foreign).
class Account {
  public:
    explicit Account(bool foreign, uid_t user = ::geteuid()) : foreign_(foreign), user_(user) {}
    [[nodiscard]] bool foreign() const { return foreign_; }
    [[nodiscard]] uid_t user() const { return user_; }
    [[nodiscard]] std::size_t used(const Quota& quota) const {
        const std::scoped_lock lock(mutex_);
        return used_by(quota);
    }

  private:
    friend class Charge;
    [[nodiscard]] std::size_t used_by(const Quota& quota) const {
        const auto found = used_.find(&quota);
        return found == used_.end() ? 0 : found->second;
    }

    bool foreign_;
    uid_t user_;
    mutable std::mutex mutex_;
    std::map<const Quota*, std::size_t> used_;
};

/// An amount of a quota that an account has taken; released by the destructor.
class Charge {
  public:
    Charge() = default;
    /// Throws ErrnoError with the quota's errno if refused. Without an account nothing is counted.
    Charge(std::shared_ptr<Account> account, Quota& quota, std::size_t count = 1);
    Charge(Charge&& other) noexcept { *this = std::move(other); }
    Charge& operator=(Charge&& other) noexcept;
    ~Charge();

  private:
    std::shared_ptr<Account> account_;
    Quota* quota_ = nullptr;
    std::size_t count_ = 0;
};

/// Limits of this process, shared by all its cards.
struct ProcessQuotas {
    Quota mappings;     ///< of clients' memory: 3/4 of vm.max_map_count
    Quota descriptors;  ///< sent by or made for clients: RLIMIT_NOFILE less a reserve
    Quota bytes;        ///< of clients' memory that is mapped: twice the machine's memory
    Quota threads;      ///< that may block on a client
};
ProcessQuotas& process_quotas();

/// Descriptors that no client may keep: a message brings up to 253 of them, and without room the
/// kernel would truncate the message of an innocent client (MSG_CTRUNC).
inline constexpr int kReservedDescriptors = 512;

/// Returns true if `fd`, just created or received, belongs to the reserve. The kernel assigns the
/// lowest free number, so all lower ones are in use.
[[nodiscard]] bool in_reserve(int fd);
/// The same for the connection of a new client, with twice the reserve: present clients still
/// create objects that need descriptors.
[[nodiscard]] bool too_full_for_clients(int fd);
/// Throws ErrnoError(EMFILE) if `fd`, made for a client's request, belongs to the reserve.
void need_room(int fd);

}  // namespace dingo
