// SPDX-License-Identifier: BSD-2-Clause
// Queries of an identifier's device, addresses and route.
#include <endian.h>
#include <infiniband/sa.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "host/rdma_cm/cm_service.h"
#include "host/rdma_cm/commands.h"
#include "host/rdma_cm/file.h"
#include "host/rdma_cm/id.h"

namespace dingo::rdma_cm {
namespace {

constexpr std::uint16_t kPkey = 0xffff;
constexpr std::uint32_t kNoIndex = 0xffffffff;  ///< devices are identified by their GUID
constexpr std::uint8_t kExactly = 2;
constexpr std::uint32_t kPathFlags = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;

template <typename To>
std::uint16_t put(const Address& address, To& to) {
    sockaddr_storage storage{};
    const std::size_t size = address.put(storage);
    std::memcpy(&to, &storage, std::min(sizeof to, sizeof storage));
    return static_cast<std::uint16_t>(size);
}

ibv_path_record record_of(const cm::Path& path) {
    ibv_path_record r{};
    std::copy(path.local.begin(), path.local.end(), r.sgid.raw);
    std::copy(path.remote.begin(), path.remote.end(), r.dgid.raw);
    r.flowlabel_hoplimit = htobe32(path.flow_label << 8 | path.hop_limit);
    r.tclass = path.traffic_class;
    r.reversible_numpath = 0x80 | 1;
    r.pkey = htobe16(kPkey);
    r.qosclass_sl = htobe16(path.sl);
    r.mtu = static_cast<std::uint8_t>(kExactly << 6 | path.mtu);
    r.rate = static_cast<std::uint8_t>(kExactly << 6 | path.rate);
    r.packetlifetime = static_cast<std::uint8_t>(kExactly << 6 | path.packet_life_time);
    return r;
}

rdma_ucm_query_addr_resp addresses_of(const Command& c, const Id& id, bool as_gid) {
    rdma_ucm_query_addr_resp r{};
    r.ibdev_index = kNoIndex;
    if (!as_gid) {
        r.src_size = put(id.source(), r.src_addr);
        r.dst_size = put(id.destination(), r.dst_addr);
    } else {
        r.src_size = put(Address::of_ib(id.has_device() ? id.path().local : Gid{}), r.src_addr);
        r.dst_size = put(Address::of_ib(id.remote_gid()), r.dst_addr);
    }
    if (id.has_device()) {
        r.node_guid = htobe64(c.service.node_guid());
        r.port_num = 1;
        r.pkey = htobe16(kPkey);
    }
    return r;
}

void query_path(const Command& c, std::uint64_t va, const Id& id) {
    rdma_ucm_query_path_resp head{};
    ib_path_rec_data path{};
    std::array<std::byte, sizeof head + sizeof path> answer{};
    std::size_t size = sizeof head;
    if (id.has_path() && c.out_length >= answer.size()) {  // otherwise there is no room for it
        head.num_paths = 1;
        path.flags = kPathFlags;
        const ibv_path_record record = record_of(id.path());
        static_assert(sizeof record == sizeof path.path_rec);
        std::memcpy(path.path_rec, &record, sizeof record);
        size = answer.size();
    }
    std::memcpy(answer.data(), &head, sizeof head);
    std::memcpy(answer.data() + sizeof head, &path, sizeof path);
    c.respond_bytes(va, std::span(answer).first(size), sizeof head);
}

}  // namespace

void query(Command& c) {
    const auto r = c.request<rdma_ucm_query>();
    const Id& id = c.file.id(r.id);
    constexpr std::size_t kLeast = offsetof(rdma_ucm_query_addr_resp, ibdev_index);
    switch (r.option) {
        case RDMA_USER_CM_QUERY_ADDR:
            return c.respond(r.response, addresses_of(c, id, false), kLeast);
        case RDMA_USER_CM_QUERY_GID:
            return c.respond(r.response, addresses_of(c, id, true), kLeast);
        case RDMA_USER_CM_QUERY_PATH:
            return query_path(c, r.response, id);
        default:
            throw ErrnoError(ENOSYS);
    }
}

void query_route(Command& c) {
    const auto r = c.request<rdma_ucm_query>();
    const Id& id = c.file.id(r.id);
    rdma_ucm_query_route_resp answer{};
    answer.ibdev_index = kNoIndex;
    put(id.source(), answer.src_addr);
    put(id.destination(), answer.dst_addr);
    if (id.has_device()) {
        const cm::Path& path = id.path();
        ib_user_path_rec& route = answer.ib_route[0];
        answer.node_guid = htobe64(c.service.node_guid());
        answer.port_num = 1;
        answer.num_paths = id.has_path() ? 1 : 0;
        std::copy(path.local.begin(), path.local.end(), route.sgid);
        std::copy(id.remote_gid().begin(), id.remote_gid().end(), route.dgid);
        route.pkey = htobe16(kPkey);
        if (id.has_path()) {
            route.flow_label = htobe32(path.flow_label);
            route.reversible = 1;
            route.mtu = path.mtu;
            route.hop_limit = path.hop_limit;
            route.traffic_class = path.traffic_class;
            route.numb_path = 1;
            route.sl = path.sl;
            route.mtu_selector = route.rate_selector = route.packet_life_time_selector = kExactly;
            route.rate = path.rate;
            route.packet_life_time = path.packet_life_time;
        }
    }
    c.respond(r.response, answer, offsetof(rdma_ucm_query_route_resp, ibdev_index));
}

}  // namespace dingo::rdma_cm
