// SPDX-License-Identifier: BSD-2-Clause
// Between libibverbs and Endpoint: describe a QP, choose its GID, bring it to RTS. All throw
// Error(Device), with errno in detail(), when a verbs call fails.
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

/// What is wanted of a GID. Each member narrows the choice.
struct GidQuery {
    int index = -1;  ///< this one and no other; -1: any
    int family = 0;  ///< AF_INET, AF_INET6; 0: that of `peer`, else any
    std::string
        peer{};  ///< numeric address of the peer: the GID from which the host would reach it
    std::string local{};  ///< numeric address of this host (Connection::local_address()): that very
                          ///< GID when it is in the table
    bool allow_roce_v1 = false;  ///< a RoCE v1 GID when there is none of v2
};

/// All GIDs in use at a port, by ibv_query_gid_ex.
std::vector<GidChoice> gids(ibv_context* context, std::uint8_t port);

/// On Ethernet: RoCE v2 and the wanted address; else a routable address before a link-local one,
/// IPv4 before IPv6. On InfiniBand: the lowest index. Throws Error(Argument) that lists what the
/// table holds when nothing fits.
GidChoice choose_gid(ibv_context* context, std::uint8_t port, const GidQuery& query = {});

struct DescribeOptions {
    std::uint8_t port = 1;
    GidQuery gid{};
    int max_rd_atomic = -1;       ///< -1: the device's limit
    int max_dest_rd_atomic = -1;  ///< -1: the device's limit
    std::uint32_t mtu = 0;   ///< bytes; 0: the port's active MTU; more than that is Error(Argument)
    std::uint32_t qkey = 0;  ///< UD; 0: a random one without the privileged top bit
    std::vector<Region> regions{};
};

/// A local QP and the GID that it will use. The PSN is random (getrandom).
struct Local {
    Endpoint endpoint{};
    GidChoice gid{};                   ///< what it uses with a peer that tells no candidates
    std::vector<GidChoice> choices{};  ///< endpoint.candidates, with their indices
};

/// The GIDs that the two sides use.
struct GidPair {
    GidChoice mine{};
    std::array<std::uint8_t, 16> theirs{};
};
/// Both sides find the same pair: of one RoCE version and family; the addresses over which they are
/// connected, else two of one network, else what each chose. connect(), to_rtr() and create_ah()
/// use it. With a peer that tells no candidates (an older one, a Local that was filled by hand)
/// each side uses what it chose. @throws Error(Argument) that lists both sides when no two fit, or
/// says that `choices` are missing
GidPair agree(const Local& local, const Endpoint& remote);

Local describe(ibv_qp* qp, const DescribeOptions& options = {});
/// Of a QP that is known by its number, as where a language hides its pointer.
Local describe(ibv_context* context, std::uint32_t qpn, QpType type,
               const DescribeOptions& options = {});

/// A region of registered memory.
Region describe(const ibv_mr* mr, std::string tag = {});

/// 24 random bits from the kernel.
std::uint32_t random_psn();

/// What the two sides need not agree on, with the usual defaults.
struct PathOptions {
    std::uint8_t timeout = 14;  ///< 4.096 us * 2^timeout; 0: for ever
    std::uint8_t retry_cnt = 7;
    std::uint8_t rnr_retry = 7;       ///< 7: for ever
    std::uint8_t min_rnr_timer = 12;  ///< code of IBTA table 45: 0.64 ms
    std::uint8_t traffic_class = 0;   ///< DSCP << 2 | ECN on RoCE v2
    std::uint8_t sl = 0;
    std::uint8_t hop_limit = 64;
    std::uint32_t flow_label = 0;
    std::uint16_t pkey_index = 0;
    std::uint8_t static_rate = 0;
    std::optional<unsigned> access{};  ///< qp_access_flags; unset: all that type and device have
    std::optional<bool> grh{};  ///< unset: always on Ethernet, on InfiniBand when subnets differ
};

/// The smaller of both. @return bytes.
std::uint32_t path_mtu(const Endpoint& local, const Endpoint& remote) noexcept;
/// READs and atomics to have outstanding: what I may send and the peer answers. For RTS.
std::uint8_t initiator_depth(const Endpoint& local, const Endpoint& remote) noexcept;
/// READs and atomics to answer: what I can and the peer may send. For RTR.
std::uint8_t responder_resources(const Endpoint& local, const Endpoint& remote) noexcept;
/// 256 -> IBV_MTU_256 ...; Error(Argument) for other values.
ibv_mtu mtu_code(std::uint32_t bytes);

/// RESET to INIT.
void to_init(ibv_qp* qp, const Local& local, const PathOptions& path = {});
/// INIT to RTR.
void to_rtr(ibv_qp* qp, const Local& local, const Endpoint& remote, const PathOptions& path = {});
/// RTR to RTS.
void to_rts(ibv_qp* qp, const Local& local, const Endpoint& remote, const PathOptions& path = {});

/// RESET (or INIT) to RTS: RC, UC, UD. A peer that must receive first is ready when
/// Connection::barrier() returns.
void connect(ibv_qp* qp, const Local& local, const Endpoint& remote, const PathOptions& path = {});

/// Where a UD QP sends to. The caller destroys it.
ibv_ah* create_ah(ibv_pd* pd, const Local& local, const Endpoint& remote,
                  const PathOptions& path = {});

}  // namespace qpx
#pragma GCC visibility pop
