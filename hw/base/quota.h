// SPDX-License-Identifier: BSD-2-Clause
//
// A limited resource that the clients of a card share. Nobody can take the last of it: an account
// gets no more than all leave free, so one account alone has half, the next a quarter, and some is
// always left for a newcomer. Any thread may take and give back: what a client had is given back
// where its last use ends.
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
    /// Whom the fair share binds; all are bound by the limit.
    enum class Fair { kAll, kForeign };
    /// `error`: the errno for an account that gets no more.
    Quota(std::size_t limit, int error, Fair fair) : limit_(limit), error_(error), fair_(fair) {}
    Quota(const Quota&) = delete;
    Quota& operator=(const Quota&) = delete;

    [[nodiscard]] std::size_t limit() const { return limit_; }
    [[nodiscard]] std::size_t used() const { return used_; }
    /// How often an account got no more.
    [[nodiscard]] std::size_t refused() const { return refused_; }

  private:
    friend class Charge;
    std::size_t limit_;
    int error_;
    Fair fair_;
    std::atomic<std::size_t> used_ = 0;
    std::atomic<std::size_t> refused_ = 0;
};

/// What one client has taken, or all clients of one user who does not own the card (foreign).
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

/// What an account has taken of a quota, for as long as this lives.
class Charge {
  public:
    Charge() = default;
    /// Throws ErrnoError with the quota's errno. Without an account nothing is counted.
    Charge(std::shared_ptr<Account> account, Quota& quota, std::size_t count = 1);
    Charge(Charge&& other) noexcept { *this = std::move(other); }
    Charge& operator=(Charge&& other) noexcept;
    ~Charge();

  private:
    std::shared_ptr<Account> account_;
    Quota* quota_ = nullptr;
    std::size_t count_ = 0;
};

/// Limits of this process, for all its cards together.
struct ProcessQuotas {
    Quota mappings;     ///< of clients' memory; vm.max_map_count less what queues need
    Quota descriptors;  ///< that clients sent or have; the limit less a reserve
    Quota bytes;        ///< of clients' memory that is mapped; twice what the machine has
    Quota threads;      ///< that wait for what a client may hold
};
ProcessQuotas& process_quotas();

/// Descriptors that no client keeps: a message brings up to 253 of them, and the kernel would cut
/// the message of an innocent client if there were no room.
inline constexpr int kReservedDescriptors = 512;

/// True when a descriptor that was just made or received belongs to the reserve. The kernel gives
/// the smallest free number, so all smaller ones are in use.
[[nodiscard]] bool in_reserve(int fd);
/// The same for a new client, which needs more room: clients that are already there make objects
/// with descriptors of their own.
[[nodiscard]] bool too_full_for_clients(int fd);
/// Checks a descriptor that a client's request made: ErrnoError(EMFILE) when it belongs to the
/// reserve.
void need_room(int fd);

}  // namespace dingo
