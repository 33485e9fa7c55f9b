// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/poller.h"
#include "host/driver/driver.h"
#include "host/uverbs/accounts.h"
#include "host/uverbs/direct.h"
#include "host/uverbs/events.h"

namespace dingo::uverbs {

/// Of /dev/infiniband/uverbs0.
inline constexpr std::uint32_t kUverbsMajor = 231;
inline constexpr std::uint32_t kFirstMinor = 192;

struct UverbsStats {
    std::uint64_t connections = 0;
    std::uint64_t refused = 0;  ///< connections: not allowed, or too many
    std::uint64_t requests = 0;
    std::uint64_t failed = 0;       ///< requests answered with an errno
    std::uint64_t malformed = 0;    ///< connections closed because of what came
    std::uint64_t undelivered = 0;  ///< answers that the client did not take
    std::uint64_t unread = 0;       ///< requests refused, as too many answers wait to be read
    EventStats events;
};

/// Text of a sysfs file that changes; nullopt: it is a plain file.
using SysfsReader = std::function<std::optional<std::string>(const std::string& path)>;

/// What answers an RDMA netlink message, or a part of a dump.
struct NetlinkPiece {
    std::vector<std::byte> message;  ///< may be empty
    std::uint64_t next = 0;          ///< where the dump goes on; 0: that was all
};
/// Answers to an RDMA netlink message (netlink.h). ErrnoError.
using NetlinkReader =
    std::function<NetlinkPiece(std::span<const std::byte> request, std::uint64_t from)>;

/// How often unread answers are looked at.
inline constexpr Nanoseconds kSweepEvery = 100'000'000;

/// What all connections of a card share.
struct Device {
    Driver& driver;
    Poller poller;
    UverbsStats stats;
    SysfsReader sysfs;
    NetlinkReader netlink;
    Accounts accounts;
    DirectCard direct;
    unsigned number = 0;         ///< N of uverbsN
    Nanoseconds sweep = kNever;  ///< when unread answers are looked at again
};

}  // namespace dingo::uverbs
