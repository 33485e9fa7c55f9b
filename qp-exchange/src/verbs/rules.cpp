// SPDX-License-Identifier: BSD-2-Clause
#include "verbs/rules.h"

#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <tuple>

#include "net/socket.h"
#include "qpx/error.h"

namespace qpx::verbs {

namespace {

using Gid = std::array<std::uint8_t, 16>;

bool is_ipv4(const Gid& gid) {
    constexpr std::array<std::uint8_t, 12> mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return std::equal(mapped.begin(), mapped.end(), gid.begin());
}

bool is_link_local(const Gid& gid) {
    return (gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80) ||
           (is_ipv4(gid) && gid[12] == 169 && gid[13] == 254);
}

/// Converts an address to its GID.
std::optional<Gid> gid_of(const std::string& address) {
    if (address.empty()) {
        return std::nullopt;
    }
    const auto found = net::resolve(address, 0, AF_UNSPEC);
    Gid gid{};
    const auto& storage = found.at(0).storage;
    if (storage.ss_family == AF_INET) {
        gid[10] = gid[11] = 0xff;
        std::memcpy(&gid[12], &reinterpret_cast<const sockaddr_in*>(&storage)->sin_addr, 4);
    } else {
        std::memcpy(gid.data(), &reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_addr,
                    gid.size());
    }
    return gid;
}

std::string listed(std::span<const GidChoice> table) {
    std::string text;
    for (const GidChoice& entry : table) {
        text += (text.empty() ? "" : ", ") + std::to_string(entry.index) + ": " +
                gid_text(entry.gid) + " (" + to_string(entry.type) + ")";
    }
    return text.empty() ? "is empty" : "has " + text;
}

}  // namespace

GidChoice choose_from(std::span<const GidChoice> table, bool ethernet, const GidQuery& query,
                      const std::string& device) {
    if (query.index >= 0) {
        const auto found = std::find_if(table.begin(), table.end(),
                                        [&](const GidChoice& g) { return g.index == query.index; });
        if (found == table.end()) {
            throw Error(ErrorCode::Argument, device + ": GID index " + std::to_string(query.index) +
                                                 " is not in use; the table " + listed(table));
        }
        return *found;
    }
    const auto local = gid_of(query.local), peer = gid_of(query.peer);
    const GidChoice* best = nullptr;
    std::tuple<bool, bool, bool, bool, bool> best_rank;
    for (const GidChoice& entry : table) {
        const bool v4 = is_ipv4(entry.gid);
        if (ethernet && entry.type != GidType::RoceV2 && !query.allow_roce_v1) {
            continue;
        }
        if (query.family != AF_UNSPEC && v4 != (query.family == AF_INET)) {
            continue;
        }
        // The table is sorted by index: among equal entries the first wins.
        const std::tuple rank(entry.type == GidType::RoceV2, local == entry.gid,
                              !is_link_local(entry.gid), peer && is_ipv4(*peer) == v4,
                              ethernet && v4);
        if (best == nullptr || rank > best_rank) {
            best = &entry;
            best_rank = rank;
        }
    }
    if (best == nullptr) {
        throw Error(
            ErrorCode::Argument,
            device + ": no " + (ethernet && !query.allow_roce_v1 ? "RoCE v2 " : "") + "GID" +
                (query.family == AF_INET    ? " of an IPv4 address"
                 : query.family == AF_INET6 ? " of an IPv6 address"
                                            : "") +
                "; give the interface an address (ip addr add); the table " + listed(table));
    }
    return *best;
}

std::vector<GidCandidate> candidates_of(std::span<const GidChoice> table, bool ethernet,
                                        const GidQuery& query, const GidChoice& chosen,
                                        const std::function<std::uint8_t(const Gid&)>& prefix,
                                        std::vector<GidChoice>& choices) {
    constexpr std::size_t most = 64;
    std::vector<GidCandidate> all;
    const auto add = [&](const GidChoice& choice, GidCandidate::Wish wish) {
        all.push_back({.gid = choice.gid,
                       .type = choice.type == GidType::RoceV2   ? GidCandidate::Type::RoceV2
                               : choice.type == GidType::RoceV1 ? GidCandidate::Type::RoceV1
                                                                : GidCandidate::Type::InfiniBand,
                       .wish = wish,
                       .prefix = prefix(choice.gid)});
        choices.push_back(choice);
    };
    add(chosen, gid_of(query.local) == chosen.gid ? GidCandidate::Wish::Connected
                                                  : GidCandidate::Wish::Chosen);
    if (query.index >= 0) {
        return all;  // only this index was requested
    }
    for (const GidChoice& choice : table) {
        const bool wrong_type = ethernet && choice.type != GidType::RoceV2 && !query.allow_roce_v1;
        const bool wrong_family =
            query.family != AF_UNSPEC && is_ipv4(choice.gid) != (query.family == AF_INET);
        if (choice.index != chosen.index && !wrong_type && !wrong_family && all.size() < most) {
            add(choice, GidCandidate::Wish::None);
        }
    }
    return all;
}

std::optional<std::pair<std::size_t, std::size_t>> choose_pair(
    std::span<const GidCandidate> mine, std::span<const GidCandidate> theirs) {
    using Wish = GidCandidate::Wish;
    const auto same_network = [](const GidCandidate& a, const GidCandidate& b) {
        const std::size_t bits = std::min<std::size_t>(std::max(a.prefix, b.prefix), 128);
        for (std::size_t i = 0; i < bits; ++i) {
            if (((a.gid[i / 8] ^ b.gid[i / 8]) >> (7 - i % 8) & 1) != 0) {
                return false;
            }
        }
        return a.prefix != 0 && b.prefix != 0;
    };
    std::optional<std::pair<std::size_t, std::size_t>> best;
    // Symmetric: swapped lists give the swapped pair.
    std::tuple<bool, bool, bool, int, GidCandidate::Type> best_rank;
    std::pair<Gid, Gid> best_name;
    for (std::size_t i = 0; i < mine.size(); ++i) {
        for (std::size_t j = 0; j < theirs.size(); ++j) {
            const GidCandidate &a = mine[i], &b = theirs[j];
            if (a.type != b.type || is_ipv4(a.gid) != is_ipv4(b.gid)) {
                continue;
            }
            const std::tuple rank(
                a.wish == Wish::Connected && b.wish == Wish::Connected,
                !is_link_local(a.gid) && !is_link_local(b.gid), same_network(a, b),
                (a.wish != Wish::None ? 1 : 0) + (b.wish != Wish::None ? 1 : 0), a.type);
            const std::pair<Gid, Gid> name = std::minmax(a.gid, b.gid);
            if (!best || rank > best_rank || (rank == best_rank && name < best_name)) {
                best = {i, j};
                best_rank = rank;
                best_name = name;
            }
        }
    }
    return best;
}

Attributes init_attributes(const Endpoint& local, const PathOptions& path, bool atomics) {
    Attributes a;
    a.attr.qp_state = IBV_QPS_INIT;
    a.attr.pkey_index = path.pkey_index;
    a.attr.port_num = local.port;
    a.mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
    if (local.type == QpType::UD) {
        a.attr.qkey = local.qkey;
        a.mask |= IBV_QP_QKEY;
        return a;
    }
    unsigned access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    if (local.type == QpType::RC) {
        access |= IBV_ACCESS_REMOTE_READ;
        if (atomics) {
            access |= IBV_ACCESS_REMOTE_ATOMIC;
        }
    }
    a.attr.qp_access_flags = path.access.value_or(access);
    a.mask |= IBV_QP_ACCESS_FLAGS;
    return a;
}

ibv_ah_attr address_of(const Local& local, const Endpoint& remote, const PathOptions& path) {
    const bool ethernet = local.endpoint.lid == 0;
    const GidPair pair = agree(local, remote);
    // The first 8 bytes of a GID are its subnet prefix.
    const bool other_subnet =
        !std::equal(pair.mine.gid.begin(), pair.mine.gid.begin() + 8, pair.theirs.begin());
    ibv_ah_attr a{};
    a.dlid = remote.lid;
    a.sl = path.sl;
    a.static_rate = path.static_rate;
    a.port_num = local.endpoint.port;
    a.is_global = path.grh.value_or(ethernet || other_subnet) ? 1 : 0;
    if (a.is_global != 0) {
        std::memcpy(a.grh.dgid.raw, pair.theirs.data(), pair.theirs.size());
        a.grh.sgid_index = static_cast<std::uint8_t>(pair.mine.index);
        a.grh.flow_label = path.flow_label;
        a.grh.hop_limit = path.hop_limit;
        a.grh.traffic_class = path.traffic_class;
    }
    return a;
}

Attributes rtr_attributes(const Local& local, const Endpoint& remote, const PathOptions& path) {
    Attributes a;
    a.attr.qp_state = IBV_QPS_RTR;
    a.mask = IBV_QP_STATE;
    if (local.endpoint.type == QpType::UD) {
        return a;
    }
    a.attr.ah_attr = address_of(local, remote, path);
    a.attr.path_mtu = mtu_code(path_mtu(local.endpoint, remote));
    a.attr.dest_qp_num = remote.qpn;
    a.attr.rq_psn = remote.psn;
    a.mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    if (local.endpoint.type == QpType::RC) {
        a.attr.max_dest_rd_atomic = responder_resources(local.endpoint, remote);
        a.attr.min_rnr_timer = path.min_rnr_timer;
        a.mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    }
    return a;
}

Attributes rts_attributes(const Endpoint& local, const Endpoint& remote, const PathOptions& path) {
    Attributes a;
    a.attr.qp_state = IBV_QPS_RTS;
    a.attr.sq_psn = local.psn;
    a.mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
    if (local.type == QpType::RC) {
        a.attr.timeout = path.timeout;
        a.attr.retry_cnt = path.retry_cnt;
        a.attr.rnr_retry = path.rnr_retry;
        a.attr.max_rd_atomic = initiator_depth(local, remote);
        a.mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    }
    return a;
}

std::string hint(int error, ibv_qp_state state, const Endpoint* remote) {
    const std::string gid = remote != nullptr ? gid_text(remote->gid) : "";
    switch (error) {
        case ENETUNREACH:
        case EHOSTUNREACH:
            return "no route to " + gid +
                   " from the chosen GID; give both ports addresses of one subnet, or choose "
                   "another GID";
        case ETIMEDOUT:
            return "nobody answers for " + gid +
                   " (neighbour discovery); is the peer's port up and on this network?";
        case EINVAL:
            return state == IBV_QPS_RTR
                       ? "the device does not take the peer's address " + gid +
                             ", MTU, PSN or limits, or the QP is not in INIT"
                       : "the QP is in another state, or the device does not take these values";
        case ENOMEM:
            return "the device has no more resources";
        case EIO:
        case ENODEV:
            return "the device is gone or being reset";
        default:
            return {};
    }
}

}  // namespace qpx::verbs

namespace qpx {

GidPair agree(const Local& local, const Endpoint& remote) {
    const auto& mine = local.endpoint.candidates;
    if (mine.empty() || remote.candidates.empty()) {
        return {local.gid, remote.gid};
    }
    if (local.choices.size() != mine.size()) {
        // The peer chooses from the list that it was sent, so this side cannot use another GID.
        throw Error(ErrorCode::Argument,
                    "the local endpoint has " + std::to_string(mine.size()) +
                        " candidates, but their indices are unknown: pass the Local that "
                        "describe() returned, or send the peer no candidates");
    }
    const auto pair = verbs::choose_pair(mine, remote.candidates);
    if (!pair) {
        const auto list = [](const std::vector<GidCandidate>& all) {
            std::string text;
            for (const GidCandidate& one : all) {
                text += (text.empty() ? "" : ", ") + gid_text(one.gid) +
                        (one.type == GidCandidate::Type::RoceV2   ? " (RoCE v2)"
                         : one.type == GidCandidate::Type::RoceV1 ? " (RoCE v1)"
                                                                  : " (InfiniBand)");
            }
            return text;
        };
        throw Error(
            ErrorCode::Argument,
            "the two sides have no GIDs of the same RoCE version and address family: here " +
                list(mine) + "; there " + list(remote.candidates) +
                "; give both interfaces an IPv4 or both an IPv6 address");
    }
    return {local.choices[pair->first], remote.candidates[pair->second].gid};
}

std::uint32_t path_mtu(const Endpoint& local, const Endpoint& remote) noexcept {
    return std::min(local.mtu, remote.mtu);
}

std::uint8_t initiator_depth(const Endpoint& local, const Endpoint& remote) noexcept {
    return std::min(local.max_rd_atomic, remote.max_dest_rd_atomic);
}

std::uint8_t responder_resources(const Endpoint& local, const Endpoint& remote) noexcept {
    return std::min(local.max_dest_rd_atomic, remote.max_rd_atomic);
}

ibv_mtu mtu_code(std::uint32_t bytes) {
    switch (bytes) {
        case 256:
            return IBV_MTU_256;
        case 512:
            return IBV_MTU_512;
        case 1024:
            return IBV_MTU_1024;
        case 2048:
            return IBV_MTU_2048;
        case 4096:
            return IBV_MTU_4096;
        default:
            throw Error(ErrorCode::Argument,
                        "MTU " + std::to_string(bytes) + " is none of 256, 512, 1024, 2048, 4096");
    }
}

}  // namespace qpx
