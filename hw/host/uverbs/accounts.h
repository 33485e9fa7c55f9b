// SPDX-License-Identifier: BSD-2-Clause
//
// Accounts of a card's users: how much of the card each may take.
#pragma once

#include <rdma/ib_user_ioctl_cmds.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/elsewhere.h"
#include "base/quota.h"
#include "host/driver/device_attr.h"

namespace dingo::uverbs {

/// Returns the name of an object type (enum uverbs_default_objects) for statistics.
std::string_view type_name(std::uint16_t type);

/// Charges of a connected client.
struct ConnectionCharge {
    Charge client;
    Charge descriptor;
};

/// {"used": 1, "limit": 16384, "refused": 0}
nlohmann::json quota_stats(const Quota& quota);

class Accounts {
  public:
    /// `card` has the limits on objects; `max_clients` limits connections.
    Accounts(const DeviceAttr& card, std::size_t max_clients);

    /// Returns the account for a new client of that user. Each client of the card's owner and of
    /// root has its own; the clients of another user share one, across all cards and services of
    /// the process.
    static std::shared_ptr<Account> of(uid_t user);

    /// Returns the sender to which closing received descriptors is charged.
    static Sender sender(uid_t user, const std::shared_ptr<Account>& account) {
        static std::atomic<std::uint64_t> clients{0};
        return {.user = user, .client = account->foreign() ? 0 : ++clients};
    }

    /// Charges an object of that type. Throws ErrnoError(ENOMEM).
    Charge object(const std::shared_ptr<Account>& account, std::uint16_t type);
    /// Charges a connection; throws ErrnoError(EMFILE).
    ConnectionCharge client(const std::shared_ptr<Account>& account) {
        return {{account, clients_}, {account, process_quotas().descriptors}};
    }

    /// {"qp": quota_stats(), ...}
    [[nodiscard]] nlohmann::json describe() const;

  private:
    Quota clients_;
    std::map<std::uint16_t, Quota> objects_;
};

}  // namespace dingo::uverbs
