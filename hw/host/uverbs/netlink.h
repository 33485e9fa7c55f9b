// SPDX-License-Identifier: BSD-2-Clause
//
// RDMA netlink (RDMA_NL_NLDEV of <rdma/rdma_netlink.h>) for the single device of a kernel-less
// card: answers `rdma dev`, `rdma link`, `rdma resource` and `rdma statistic`, and libibverbs'
// search for devices.
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

/// The device that the answers describe.
struct NetlinkDevice {
    Driver& driver;
    unsigned number;  ///< N of uverbsN, also the device's index
    /// Calls back for each client with a context, in order of their ids, until the callback returns
    /// false.
    std::function<void(const std::function<bool(UverbsFile&)>&)> each_client;
};

/// Returns the answer to `request`, a netlink message with header: at most 4096 bytes, with the
/// request's sequence number. A dump (NLM_F_DUMP) is returned in pieces, so that a card with
/// thousands of objects can serve others in between: `from` is 0 for the first piece and `next` of
/// the previous piece afterwards. Objects created or destroyed between pieces may be missing; all
/// others appear exactly once. The caller, which may ask several cards, adds NLMSG_DONE. Throws
/// ErrnoError: EINVAL if malformed or an attribute is missing, ENODEV for another device's index,
/// EOPNOTSUPP for unsupported operations (all that change something).
NetlinkPiece answer_netlink(const NetlinkDevice& device, std::span<const std::byte> request,
                            std::uint64_t from);

}  // namespace dingo::uverbs
