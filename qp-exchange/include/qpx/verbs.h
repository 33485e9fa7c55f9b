// SPDX-License-Identifier: BSD-2-Clause
// Functions that use libibverbs: describe a QP as an Endpoint, choose its GID, bring it to RTS. All
// throw Error(Device), with errno in detail(), if a verbs call fails.
#pragma once
#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "qpx/endpoint.h"

#pragma GCC visibility push(default)
namespace qpx {

enum class GidType : std::uint8_t { InfiniBand, RoceV1, RoceV2 };
const char* to_string(GidType type) noexcept;

struct GidChoice {
    int index = 0;
    std::array<std::uint8_t, 16> gid{};
    GidType type = GidType::InfiniBand;
};

/// Conditions on a GID; all must hold.
struct GidQuery {
    int index = -1;  ///< this index only; -1: any
    int family = 0;  ///< AF_INET, AF_INET6; 0: that of `peer`, else any
    std::string
        peer{};  ///< numeric address of the peer: the GID from which the host would reach it
    /// Numeric address of this host (Connection::local_address()): its GID, if it is in the table.
    std::string local{};
    bool allow_roce_v1 = false;  ///< allows a RoCE v1 GID if there is none of v2
};

/// Returns all GIDs of a port (1-based) by ibv_query_gid_ex().
std::vector<GidChoice> gids(ibv_context* context, std::uint8_t port);

/// Chooses a GID of the port. On Ethernet: RoCE v2 with the requested address; else a routable
/// address before a link-local one, and IPv4 before IPv6. On InfiniBand: the lowest index.
/// @throws Error(Argument) that lists the table if none fits
GidChoice choose_gid(ibv_context* context, std::uint8_t port, const GidQuery& query = {});

struct DescribeOptions {
    std::uint8_t port = 1;
    GidQuery gid{};
    int max_rd_atomic = -1;       ///< -1: the device's limit
    int max_dest_rd_atomic = -1;  ///< -1: the device's limit
    std::uint32_t mtu = 0;   ///< bytes; 0: the port's active MTU; larger values: Error(Argument)
    std::uint32_t qkey = 0;  ///< UD; 0: random, without the privileged top bit
    std::vector<Region> regions{};
};

/// A local QP and the GIDs that it can use. The PSN is random (getrandom()).
struct Local {
    Endpoint endpoint{};
    GidChoice gid{};                   ///< used with a peer that sends no candidates
    std::vector<GidChoice> choices{};  ///< endpoint.candidates, with their indices
};

/// The GIDs that the two sides use.
struct GidPair {
    GidChoice mine{};
    std::array<std::uint8_t, 16> theirs{};
};
/// Finds the GIDs to use; both sides find the same pair, of one RoCE version and family. Preferred
/// are the addresses over which the sides are connected, then two of the same network, then those
/// that each side chose. connect(), to_rtr() and create_ah() call it. With a peer that sends no
/// candidates (an older version, a Local filled in by hand) each side uses the GID that it chose.
/// @throws Error(Argument) that lists both sides if no two fit, or says that `choices` are missing
GidPair agree(const Local& local, const Endpoint& remote);

/// Describes a queue pair for its peer by querying the device.
/// @throws Error Argument if no GID fits; Device
Local describe(ibv_qp* qp, const DescribeOptions& options = {});
/// Like describe(qp), for a QP given by its number, for languages that hide the pointer.
Local describe(ibv_context* context, std::uint32_t qpn, QpType type,
               const DescribeOptions& options = {});

/// Describes a registered memory region. @param tag its purpose, up to 255 bytes of text
Region describe(const ibv_mr* mr, std::string tag = {});

/// Returns 24 random bits from the kernel.
std::uint32_t random_psn();

/// Path options that each side sets independently, with the usual defaults.
struct PathOptions {
    std::uint8_t timeout = 14;  ///< 4.096 us * 2^timeout; 0: infinite
    std::uint8_t retry_cnt = 7;
    std::uint8_t rnr_retry = 7;       ///< 7: infinite
    std::uint8_t min_rnr_timer = 12;  ///< code of IBTA table 45: 0.64 ms
    std::uint8_t traffic_class = 0;   ///< DSCP << 2 | ECN on RoCE v2
    std::uint8_t sl = 0;
    std::uint8_t hop_limit = 64;
    std::uint32_t flow_label = 0;
    std::uint16_t pkey_index = 0;
    std::uint8_t static_rate = 0;
    std::optional<unsigned> access{};  ///< qp_access_flags; unset: all that QP and device allow
    std::optional<bool> grh{};  ///< unset: always on Ethernet, on InfiniBand if subnets differ
};

/// Returns the path MTU in bytes: the minimum of both sides.
std::uint32_t path_mtu(const Endpoint& local, const Endpoint& remote) noexcept;
/// Returns max_rd_atomic for RTS: the minimum of this side's limit and the peer's as responder.
std::uint8_t initiator_depth(const Endpoint& local, const Endpoint& remote) noexcept;
/// Returns max_dest_rd_atomic for RTR: the minimum of this side's limit and the peer's as
/// requester.
std::uint8_t responder_resources(const Endpoint& local, const Endpoint& remote) noexcept;
/// Converts an MTU in bytes: 256 to IBV_MTU_256. @throws Error(Argument) for other values
ibv_mtu mtu_code(std::uint32_t bytes);

/// Takes a QP from RESET to INIT. @throws Error(Device)
void to_init(ibv_qp* qp, const Local& local, const PathOptions& path = {});
/// Takes a QP from INIT to RTR, with the GIDs of agree(). @throws Error Device, Argument
void to_rtr(ibv_qp* qp, const Local& local, const Endpoint& remote, const PathOptions& path = {});
/// Takes a QP from RTR to RTS. @throws Error(Device)
void to_rts(ibv_qp* qp, const Local& local, const Endpoint& remote, const PathOptions& path = {});

/// Takes an RC, UC or UD QP from RESET (or INIT) to RTS. If both sides call Connection::barrier()
/// after this, the peer's QP can receive when it returns. @throws Error Device, Argument
void connect(ibv_qp* qp, const Local& local, const Endpoint& remote, const PathOptions& path = {});

/// Creates an address handle with which a UD QP sends to `remote`. The caller destroys it.
/// @throws Error Device, Argument
ibv_ah* create_ah(ibv_pd* pd, const Local& local, const Endpoint& remote,
                  const PathOptions& path = {});

}  // namespace qpx
#pragma GCC visibility pop
