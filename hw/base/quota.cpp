// SPDX-License-Identifier: BSD-2-Clause
#include "quota.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <utility>

#include "errno_error.h"

namespace dingo {
namespace {

/// The default of vm.max_map_count.
constexpr std::size_t kUsualMappings = 65'530;
constexpr std::size_t kMostThreads = 256;
/// The share of a foreign user is that of the card owner's client divided by this.
constexpr std::size_t kForeignPart = 2;

std::size_t most_mappings() {
    std::size_t most = kUsualMappings;
    std::ifstream("/proc/sys/vm/max_map_count") >> most;
    return most - most / 4;
}

std::size_t most_descriptors() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return SIZE_MAX / 2;
    }
    return limit.rlim_cur;
}

std::size_t memory_bytes() {
    const long pages = ::sysconf(_SC_PHYS_PAGES);
    const long bytes = ::sysconf(_SC_PAGESIZE);
    return pages <= 0 || bytes <= 0
               ? SIZE_MAX / 4
               : static_cast<std::size_t>(pages) * static_cast<std::size_t>(bytes);
}

/// Leaves a part for clients even if the limit is small.
std::size_t reserve_of(std::size_t descriptors) {
    return std::min<std::size_t>(kReservedDescriptors, descriptors / 4);
}

}  // namespace

Charge::Charge(std::shared_ptr<Account> account, Quota& quota, std::size_t count)
    : account_(std::move(account)) {
    if (!account_) {
        return;
    }
    const std::scoped_lock lock(account_->mutex_);
    const bool bound = account_->foreign_ || quota.fair_ == Quota::Fair::kAll;
    std::size_t& own = account_->used_[&quota];
    std::size_t used = quota.used_.load();
    do {  // other accounts may charge the same quota at the same time
        const std::size_t free = quota.limit_ - std::min(quota.limit_, used);
        const std::size_t left = count <= free ? free - count : 0;
        const std::size_t share = account_->foreign_ ? left / kForeignPart : left;
        if (count > free || (bound && own + count > share)) {
            ++quota.refused_;
            if (own == 0) {
                account_->used_.erase(&quota);
            }
            throw ErrnoError(quota.error_);
        }
    } while (!quota.used_.compare_exchange_weak(used, used + count));
    own += count;
    quota_ = &quota;
    count_ = count;
}

Charge& Charge::operator=(Charge&& other) noexcept {
    std::swap(account_, other.account_);
    std::swap(quota_, other.quota_);
    std::swap(count_, other.count_);
    return *this;
}

Charge::~Charge() {
    if (quota_ != nullptr) {
        quota_->used_ -= count_;
        const std::scoped_lock lock(account_->mutex_);
        const auto used = account_->used_.find(quota_);
        used->second -= count_;
        if (used->second == 0) {
            account_->used_.erase(used);
        }
    }
}

ProcessQuotas& process_quotas() {
    static ProcessQuotas quotas{
        .mappings = {most_mappings(), ENOMEM, Quota::Fair::kAll},
        .descriptors = {most_descriptors() - reserve_of(most_descriptors()), EMFILE,
                        Quota::Fair::kAll},
        // Twice, so that a single client, which gets half, may register all memory.
        .bytes = {2 * memory_bytes(), ENOMEM, Quota::Fair::kAll},
        .threads = {kMostThreads, EAGAIN, Quota::Fair::kAll},
    };
    return quotas;
}

bool in_reserve(int fd) {
    const std::size_t most = most_descriptors();
    return fd >= 0 && static_cast<std::size_t>(fd) >= most - reserve_of(most);
}

bool too_full_for_clients(int fd) {
    const std::size_t most = most_descriptors();
    return fd >= 0 && static_cast<std::size_t>(fd) >= most - 2 * reserve_of(most);
}

void need_room(int fd) {
    if (in_reserve(fd)) {
        throw ErrnoError(EMFILE);
    }
}

}  // namespace dingo
