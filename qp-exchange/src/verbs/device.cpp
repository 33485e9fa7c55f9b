// SPDX-License-Identifier: BSD-2-Clause
// Queries of the device and changes of QP states.
#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>

#include "net/socket.h"
#include "qpx/error.h"
#include "qpx/verbs.h"
#include "random.h"
#include "verbs/rules.h"

namespace qpx {

namespace {

constexpr std::uint32_t psn_mask = 0xffffff;

[[noreturn]] void failed(const std::string& what, int error, const std::string& hint = {}) {
    throw Error(
        ErrorCode::Device,
        what + ": " + std::system_category().message(error) + (hint.empty() ? "" : ": " + hint),
        error);
}

std::string device_name(ibv_context* context) {
    return ibv_get_device_name(context->device);
}

ibv_port_attr query_port(ibv_context* context, std::uint8_t port) {
    ibv_port_attr attr{};
    if (const int error = ibv_query_port(context, port, &attr); error != 0) {
        failed(device_name(context) + " port " + std::to_string(port), error,
               "is there such a port? they are counted from 1");
    }
    return attr;
}

ibv_device_attr query_device(ibv_context* context) {
    ibv_device_attr attr{};
    if (const int error = ibv_query_device(context, &attr); error != 0) {
        failed("ibv_query_device(" + device_name(context) + ")", error);
    }
    return attr;
}

GidType type_of(std::uint32_t gid_type) {
    return gid_type == IBV_GID_TYPE_ROCE_V2   ? GidType::RoceV2
           : gid_type == IBV_GID_TYPE_ROCE_V1 ? GidType::RoceV1
                                              : GidType::InfiniBand;
}

QpType type_of(const ibv_qp* qp) {
    switch (qp->qp_type) {
        case IBV_QPT_RC:
            return QpType::RC;
        case IBV_QPT_UC:
            return QpType::UC;
        case IBV_QPT_UD:
            return QpType::UD;
        default:
            throw Error(ErrorCode::Unsupported,
                        "QP type " + std::to_string(qp->qp_type) + " is none of RC, UC, UD");
    }
}

/// Returns the address from which this host reaches the peer; empty if there is no route.
std::string source_address(const std::string& peer) {
    // connect() of a datagram socket only looks up the route; nothing is sent.
    const net::Address address = net::resolve(peer, 9, AF_UNSPEC).at(0);
    const net::Fd fd(socket(address.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (fd.get() < 0 || ::connect(fd.get(), address.get(), address.length) != 0) {
        return {};
    }
    return net::address_text(net::local_address(fd.get()));
}

/// Completes a query with the local address from which the host routes to the peer.
GidQuery with_route(GidQuery query) {
    if (query.index < 0 && query.local.empty() && !query.peer.empty()) {
        query.local = source_address(query.peer);
    }
    return query;
}

/// Returns the prefix length of an address of this host, in bits of its GID; 0 if the host does not
/// have the address.
std::uint8_t network_bits(const std::array<std::uint8_t, 16>& gid) {
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) {
        return 0;
    }
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
    const auto ones = [](const void* mask, std::size_t size) {
        const auto* bytes = static_cast<const std::uint8_t*>(mask);
        int bits = 0;
        for (std::size_t i = 0; i < size; ++i) {
            bits += __builtin_popcount(bytes[i]);
        }
        return bits;
    };
    for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
        if (at->ifa_addr == nullptr || at->ifa_netmask == nullptr) {
            continue;
        }
        if (at->ifa_addr->sa_family == AF_INET) {
            const auto& in = reinterpret_cast<const sockaddr_in*>(at->ifa_addr)->sin_addr;
            if (gid[10] == 0xff && gid[11] == 0xff && std::memcmp(&gid[12], &in, 4) == 0) {
                return static_cast<std::uint8_t>(
                    96 + ones(&reinterpret_cast<const sockaddr_in*>(at->ifa_netmask)->sin_addr, 4));
            }
        } else if (at->ifa_addr->sa_family == AF_INET6) {
            const auto& in = reinterpret_cast<const sockaddr_in6*>(at->ifa_addr)->sin6_addr;
            if (std::memcmp(gid.data(), &in, gid.size()) == 0) {
                return static_cast<std::uint8_t>(
                    ones(&reinterpret_cast<const sockaddr_in6*>(at->ifa_netmask)->sin6_addr, 16));
            }
        }
    }
    return 0;
}

/// @param wanted -1: the device's limit
std::uint8_t depth(int wanted, int limit, const char* what) {
    limit = std::clamp(limit, 0, 255);
    if (wanted > limit) {
        throw Error(ErrorCode::Argument, std::string(what) + " " + std::to_string(wanted) +
                                             ": the device has at most " + std::to_string(limit));
    }
    return static_cast<std::uint8_t>(wanted < 0 ? limit : wanted);
}

std::string hex(std::uint32_t value) {
    char text[16];
    snprintf(text, sizeof(text), "0x%x", value);
    return text;
}

void modify(ibv_qp* qp, verbs::Attributes a, const char* state, const Endpoint* remote) {
    int error = ibv_modify_qp(qp, &a.attr, a.mask);
    if (error < 0) {
        error = errno;
    }
    if (error != 0) {
        failed("QP " + hex(qp->qp_num) + " of " + device_name(qp->context) + " to " + state, error,
               verbs::hint(error, a.attr.qp_state, remote));
    }
}

ibv_qp_state state_of(ibv_qp* qp) {
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    if (const int error = ibv_query_qp(qp, &attr, IBV_QP_STATE, &init); error != 0) {
        failed("ibv_query_qp", error < 0 ? errno : error);
    }
    return attr.qp_state;
}

// Returns the valid entries of a port's GID table: by one system call since Linux 5.10, before that
// by one per entry.
std::vector<ibv_gid_entry> gid_entries(ibv_context* context, std::uint8_t port) {
    std::size_t size = 0;
    const int ports = query_device(context).phys_port_cnt;
    for (int p = 1; p <= ports; ++p) {
        size +=
            static_cast<std::size_t>(query_port(context, static_cast<std::uint8_t>(p)).gid_tbl_len);
    }
    std::vector<ibv_gid_entry> entries(size);
    const ssize_t filled = ibv_query_gid_table(context, entries.data(), entries.size(), 0);
    if (filled >= 0) {
        entries.resize(static_cast<std::size_t>(filled));
        std::erase_if(entries, [port](const ibv_gid_entry& e) { return e.port_num != port; });
        return entries;
    }
    entries.clear();
    const ibv_port_attr attr = query_port(context, port);
    for (int index = 0; index < attr.gid_tbl_len; ++index) {
        ibv_gid_entry entry{};
        // ENODATA: the entry is empty.
        if (ibv_query_gid_ex(context, port, static_cast<std::uint32_t>(index), &entry, 0) == 0) {
            entries.push_back(entry);
        }
    }
    return entries;
}

}  // namespace

const char* to_string(GidType type) noexcept {
    return type == GidType::RoceV2 ? "RoCE v2" : type == GidType::RoceV1 ? "RoCE v1" : "InfiniBand";
}

std::vector<GidChoice> gids(ibv_context* context, std::uint8_t port) {
    std::vector<GidChoice> table;
    for (const ibv_gid_entry& entry : gid_entries(context, port)) {
        GidChoice choice = {
            .index = static_cast<int>(entry.gid_index), .gid = {}, .type = type_of(entry.gid_type)};
        std::memcpy(choice.gid.data(), entry.gid.raw, choice.gid.size());
        if (std::any_of(choice.gid.begin(), choice.gid.end(),
                        [](std::uint8_t byte) { return byte != 0; })) {
            table.push_back(choice);
        }
    }
    return table;
}

GidChoice choose_gid(ibv_context* context, std::uint8_t port, const GidQuery& query) {
    const bool ethernet = query_port(context, port).link_layer == IBV_LINK_LAYER_ETHERNET;
    return verbs::choose_from(gids(context, port), ethernet, with_route(query),
                              device_name(context) + " port " + std::to_string(port));
}

Local describe(ibv_context* context, std::uint32_t qpn, QpType type,
               const DescribeOptions& options) {
    const std::string name = device_name(context),
                      port_name = name + " port " + std::to_string(options.port);
    if (context->device->transport_type == IBV_TRANSPORT_IWARP) {
        throw Error(ErrorCode::Unsupported,
                    name + " is an iWARP device: only rdma_cm connects its queue pairs");
    }
    const ibv_port_attr port = query_port(context, options.port);
    if (port.state != IBV_PORT_ACTIVE) {
        throw Error(ErrorCode::Device,
                    port_name + " is " + ibv_port_state_str(port.state) +
                        ", not ACTIVE: is the cable in and the interface up?",
                    ENETDOWN);
    }
    const std::uint32_t active_mtu = 128U << port.active_mtu;
    if (options.mtu > active_mtu) {
        throw Error(ErrorCode::Argument, "MTU " + std::to_string(options.mtu) + ": " + port_name +
                                             " has " + std::to_string(active_mtu) +
                                             " (the interface's MTU decides)");
    }
    if (options.mtu != 0) {
        mtu_code(options.mtu);
    }
    Local local;
    const std::vector<GidChoice> table = gids(context, options.port);
    const bool ethernet = port.link_layer == IBV_LINK_LAYER_ETHERNET;
    local.gid = verbs::choose_from(table, ethernet, with_route(options.gid), port_name);
    Endpoint& e = local.endpoint;
    e.candidates =
        verbs::candidates_of(table, ethernet, options.gid, local.gid, network_bits, local.choices);
    e.device = name;
    e.port = options.port;
    e.gid = local.gid.gid;
    e.qpn = qpn;
    e.psn = random_psn();
    e.type = type;
    e.mtu = options.mtu != 0 ? options.mtu : active_mtu;
    e.lid = ethernet ? std::uint16_t{0} : port.lid;
    e.regions = options.regions;
    if (e.type == QpType::UD) {
        // Bit 31 is reserved for privileged consumers (IBTA 10.2.5).
        e.qkey = options.qkey != 0 ? options.qkey : random_u32() & 0x7fffffff;
    }
    if (e.type == QpType::RC) {
        const ibv_device_attr device = query_device(context);
        e.max_rd_atomic = depth(options.max_rd_atomic, device.max_qp_init_rd_atom, "max_rd_atomic");
        e.max_dest_rd_atomic =
            depth(options.max_dest_rd_atomic, device.max_qp_rd_atom, "max_dest_rd_atomic");
    }
    return local;
}

Local describe(ibv_qp* qp, const DescribeOptions& options) {
    return describe(qp->context, qp->qp_num, type_of(qp), options);
}

Region describe(const ibv_mr* mr, std::string tag) {
    return {.address = reinterpret_cast<std::uintptr_t>(mr->addr),
            .length = mr->length,
            .rkey = mr->rkey,
            .tag = std::move(tag)};
}

std::uint32_t random_psn() {
    return random_u32() & psn_mask;
}

void to_init(ibv_qp* qp, const Local& local, const PathOptions& path) {
    const bool ask = local.endpoint.type == QpType::RC && !path.access;
    const bool atomics = ask && query_device(qp->context).atomic_cap != IBV_ATOMIC_NONE;
    modify(qp, verbs::init_attributes(local.endpoint, path, atomics), "INIT", nullptr);
}

void to_rtr(ibv_qp* qp, const Local& local, const Endpoint& remote, const PathOptions& path) {
    modify(qp, verbs::rtr_attributes(local, remote, path), "RTR", &remote);
}

void to_rts(ibv_qp* qp, const Local& local, const Endpoint& remote, const PathOptions& path) {
    modify(qp, verbs::rts_attributes(local.endpoint, remote, path), "RTS", &remote);
}

void connect(ibv_qp* qp, const Local& local, const Endpoint& remote, const PathOptions& path) {
    if (const std::string why = why_incompatible(local.endpoint, remote); !why.empty()) {
        throw Error(ErrorCode::Argument, why);
    }
    const ibv_qp_state state = state_of(qp);
    if (state != IBV_QPS_RESET && state != IBV_QPS_INIT) {
        throw Error(
            ErrorCode::Argument,
            "QP " + hex(qp->qp_num) +
                " is connected already, or in error: only one in RESET or INIT can be connected");
    }
    if (state == IBV_QPS_RESET) {
        to_init(qp, local, path);
    }
    to_rtr(qp, local, remote, path);
    to_rts(qp, local, remote, path);
}

ibv_ah* create_ah(ibv_pd* pd, const Local& local, const Endpoint& remote, const PathOptions& path) {
    ibv_ah_attr attr = verbs::address_of(local, remote, path);
    ibv_ah* ah = ibv_create_ah(pd, &attr);
    if (ah == nullptr) {
        failed("address handle for " + gid_text(remote.gid), errno,
               verbs::hint(errno, IBV_QPS_RTR, &remote));
    }
    return ah;
}

}  // namespace qpx
