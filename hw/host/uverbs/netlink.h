// SPDX-License-Identifier: BSD-2-Clause
//
// RDMA netlink as <rdma/rdma_netlink.h> has it (RDMA_NL_NLDEV), for the one device of a kernel-less
// card: what `rdma dev`, `rdma link`, `rdma resource` and `rdma statistic` ask, and how libibverbs
// finds devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "host/driver/driver.h"
#include "host/uverbs/uverbs_file.h"

namespace dingo::uverbs {

/// Whom the answers are about.
struct NetlinkDevice {
    Driver& driver;
    unsigned number;  ///< N of uverbsN; the device's index, too
    /// Calls back for each client that has a context, by their ids, until false is returned.
    std::function<void(const std::function<bool(UverbsFile&)>&)> each_client;
};

/// The message that answers `request`, one netlink message with its header: of at most 4,096 bytes,
/// with the request's sequence number. Of a dump (NLM_F_DUMP) it is a piece, since a card with
/// thousands of objects has others to serve meanwhile: the first with `from` 0, the others with
/// what the piece before says. What comes or goes between two pieces may be in it or not; all else
/// is there once. NLMSG_DONE is left to the caller, who may have several cards to ask.
/// Throws ErrnoError: EINVAL malformed or a missing attribute, ENODEV another device's index,
/// EOPNOTSUPP an operation that this device does not have (all that change something).
NetlinkPiece answer_netlink(const NetlinkDevice& device, std::span<const std::byte> request,
                            std::uint64_t from);

}  // namespace dingo::uverbs
