// SPDX-License-Identifier: BSD-2-Clause
//
// The users of a card, and how much of it each may take.
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

/// Name of an object's kind (enum uverbs_default_objects) in statistics.
std::string_view type_name(std::uint16_t type);

/// What a client that is connected has taken.
struct ConnectionCharge {
    Charge client;
    Charge descriptor;
};

class Accounts {
  public:
    /// The card's limits; `max_clients` connections.
    Accounts(const DeviceAttr& card, std::size_t max_clients);

    /// For a new client of that user. The card's owner and root share it with nobody; the clients
    /// of another user have one in common, whatever cards and services of the process they use.
    static std::shared_ptr<Account> of(uid_t user);

    /// The sender to whose account closing of received descriptors counts.
    static Sender sender(uid_t user, const std::shared_ptr<Account>& account) {
        static std::atomic<std::uint64_t> clients{0};
        return {.user = user, .client = account->foreign() ? 0 : ++clients};
    }

    /// Charges an object of that type; throws ErrnoError(ENOMEM).
    Charge object(const std::shared_ptr<Account>& account, std::uint16_t type);
    /// Charges a connection; throws ErrnoError(EMFILE).
    ConnectionCharge client(const std::shared_ptr<Account>& account) {
        return {{account, clients_}, {account, process_quotas().descriptors}};
    }

    /// {"qp": {"used": 1, "limit": 16384, "refused": 0}, ...}
    [[nodiscard]] nlohmann::json describe() const;

  private:
    Quota clients_;
    std::map<std::uint16_t, Quota> objects_;
};

}  // namespace dingo::uverbs
