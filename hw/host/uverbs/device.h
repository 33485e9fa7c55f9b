// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/offenders.h"
#include "base/poller.h"
#include "host/driver/driver.h"
#include "host/uverbs/accounts.h"
#include "host/uverbs/direct.h"
#include "host/uverbs/events.h"

namespace dingo::uverbs {

/// Device number of /dev/infiniband/uverbs0.
inline constexpr std::uint32_t kUverbsMajor = 231;
inline constexpr std::uint32_t kFirstMinor = 192;

struct UverbsStats {
    std::uint64_t connections = 0;
    std::uint64_t refused = 0;  ///< connections refused: not allowed, or too many
    std::uint64_t requests = 0;
    std::uint64_t failed = 0;       ///< requests answered with an errno
    std::uint64_t malformed = 0;    ///< connections closed because of a malformed message
    std::uint64_t undelivered = 0;  ///< answers that could not be delivered to the client
    std::uint64_t unread = 0;       ///< requests refused because too many answers are unread
    EventStats events;
};

/// Returns the text of a sysfs file whose content changes; nullopt for a plain file.
using SysfsReader = std::function<std::optional<std::string>(const std::string& path)>;

/// Answer to an RDMA netlink message, or a part of a dump.
struct NetlinkPiece {
    std::vector<std::byte> message;  ///< may be empty
    std::uint64_t next = 0;          ///< position at which the dump continues; 0: end
};
/// Answers an RDMA netlink message (netlink.h). Throws ErrnoError.
using NetlinkReader =
    std::function<NetlinkPiece(std::span<const std::byte> request, std::uint64_t from)>;

/// Period at which unread answers are checked.
inline constexpr Nanoseconds kSweepEvery = 100'000'000;

/// State shared by all connections of a card.
struct Device {
    Driver& driver;
    Poller poller;
    UverbsStats stats;
    SysfsReader sysfs;
    NetlinkReader netlink;
    Accounts accounts;
    DirectCard direct;
    unsigned number = 0;         ///< N of uverbsN
    Nanoseconds sweep = kNever;  ///< time of the next check for unread answers
    std::uint64_t judged = 0;    ///< number of the last offence that was judged (base/offenders.h)

    /// A client has held the data thread up since: no request is served before that is judged.
    [[nodiscard]] bool must_judge() const { return offenders().last() > judged; }
};

}  // namespace dingo::uverbs
