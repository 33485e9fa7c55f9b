// SPDX-License-Identifier: BSD-2-Clause
//
// Queries of the device and its port; they report only what the card supports.
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "base/link_rate.h"
#include "dingo/packet/bytes.h"
#include "host/driver/driver.h"
#include "host/driver/neighbours.h"

namespace dingo::uverbs {
namespace {

constexpr std::uint64_t kClockKhz = 1'000'000;  // CLOCK counts nanoseconds
constexpr std::uint64_t kTimestampMask = (std::uint64_t{1} << 48) - 1;
constexpr std::uint32_t kMaxAh = 1U << 20;  // the card stores none, but its process does

// IB_PORT_PHYS_STATE_*
constexpr std::uint8_t kPhysPolling = 2;
constexpr std::uint8_t kPhysLinkUp = 5;

/// Speed and width of a link: the closest entry of InfiniBand's tables.
struct Speed {
    std::uint32_t mbps;  ///< upper limit
    LinkSpeed speed;
    LinkWidth width;
};
constexpr Speed kSpeeds[] = {
    {2'500, kSdr, k1X},    {5'000, kDdr, k1X},    {10'000, kFdr10, k1X}, {25'000, kEdr, k1X},
    {40'000, kFdr10, k4X}, {50'000, kHdr, k1X},   {100'000, kEdr, k4X},  {200'000, kHdr, k4X},
    {400'000, kNdr, k4X},  {UINT_MAX, kXdr, k4X},
};

/// Path MTU that fits with the largest headers, as the kernel's iboe_get_mtu().
std::uint8_t path_mtu(std::uint32_t mtu) {
    constexpr std::uint32_t kHeaders = 40 + 8 + 12 + 4 + 28 + 4;
    std::uint8_t code = IBV_MTU_256;  // the smallest value there is, also for a smaller MTU
    while (code < IBV_MTU_4096 && mtu >= kHeaders + (256U << code)) {
        ++code;
    }
    return code;
}

std::uint64_t cap_flags(const Capabilities& card) {
    std::uint64_t flags = IB_UVERBS_DEVICE_CURR_QP_STATE_MOD | IB_UVERBS_DEVICE_PORT_ACTIVE_EVENT |
                          IB_UVERBS_DEVICE_RC_RNR_NAK_GEN;
    if (card.has(DINGO_CAP_FRWR) && card.has(DINGO_CAP_SEND_INV)) {
        flags |= IB_UVERBS_DEVICE_MEM_MGT_EXTENSIONS;
    }
    if (card.has(DINGO_CAP_MW)) {
        flags |= IB_UVERBS_DEVICE_MEM_WINDOW | IB_UVERBS_DEVICE_MEM_WINDOW_TYPE_2B;
    }
    return flags;
}

/// The EUI-64 of the MAC address.
std::uint64_t node_guid(const Mac& mac) {
    const packet::Gid gid = link_local_gid(packet::Mac{mac});
    return packet::load_be64(std::as_bytes(std::span(gid.bytes)).data() + 8);
}

std::vector<std::uint64_t> query_stats(AdminQueue& admin, std::uint32_t scope, std::uint32_t id,
                                       std::size_t count) {
    const auto out = admin.out();
    dingo_cmd_query_stats cmd{};
    cmd.out_addr = admin.out_address();
    cmd.out_len = static_cast<std::uint32_t>(count * sizeof(std::uint64_t));
    cmd.scope = scope;
    cmd.id = id;
    admin.execute(DINGO_OP_QUERY_STATS, cmd);
    std::vector<std::uint64_t> values(count);
    std::memcpy(values.data(), out.data(), count * sizeof(std::uint64_t));
    return values;
}

}  // namespace

DeviceAttr Driver::query_device() const {
    const dingo_limits& l = caps_.limits();
    DeviceAttr a{};
    a.fw_ver = read32(DINGO_REG_BUILD);
    a.node_guid = node_guid(mac_);
    a.sys_image_guid = a.node_guid;
    a.max_mr_size = caps_.max_mr_size();
    a.page_size_cap = l.page_sizes;
    a.device_cap_flags = cap_flags(caps_);
    a.vendor_id = DINGO_PCI_VENDOR_ID;
    a.vendor_part_id = DINGO_PCI_DEVICE_ID;
    a.hw_ver = card_->identity().revision;
    a.max_qp = l.max_qp;
    a.max_qp_wr = std::min(kMaxQpWr, 1U << l.log_max_rq);
    a.max_sge = std::min(l.max_send_sge, l.max_recv_sge);
    a.max_sge_rd = l.max_send_sge;
    a.max_cq = static_cast<std::uint32_t>(cqs_.size());
    a.max_cqe = (1U << l.log_max_cq) - (1U << l.log_max_cq) / 4;
    a.max_mr = l.max_mr;
    a.max_pd = l.max_pd;
    a.max_qp_rd_atom = l.max_dest_rd_atomic;
    a.max_qp_init_rd_atom = l.max_rd_atomic;
    a.max_res_rd_atom = l.max_dest_rd_atomic * l.max_qp;
    a.atomic_cap = caps_.has(DINGO_CAP_ATOMIC) ? 1 : 0;  // IBV_ATOMIC_HCA
    a.max_mw = caps_.has(DINGO_CAP_MW) ? l.max_mr : 0;
    a.max_ah = kMaxAh;
    if (caps_.has(DINGO_CAP_SRQ)) {
        a.max_srq = l.max_srq;
        a.max_srq_wr = 1U << l.log_max_rq;
        a.max_srq_sge = l.max_recv_sge;
    }
    a.max_pkeys = 1;
    a.local_ca_ack_delay = l.ack_delay;
    if (caps_.has(DINGO_CAP_TIMESTAMP)) {
        a.timestamp_mask = kTimestampMask;
        a.hca_core_clock = kClockKhz;
    }
    if (caps_.has(DINGO_CAP_CQ_MODERATION)) {
        a.max_cq_count = UINT16_MAX;
        a.max_cq_period = UINT16_MAX;
    }
    a.max_dm_size = config_.device_memory;
    if (has_groups()) {
        const std::uint64_t all = std::uint64_t{l.max_mcast} * l.max_mcast_qp;
        a.max_mcast_grp = std::min<std::uint32_t>(l.max_mcast, INT_MAX);
        a.max_mcast_qp_attach = std::min<std::uint32_t>(l.max_mcast_qp, INT_MAX);
        a.max_total_mcast_qp_attach =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(all, INT_MAX));
    }
    return a;
}

bool Driver::has_groups() const {
    return caps_.has(DINGO_CAP_MCAST);
}

PortMtu Driver::mtu() const {
    return {.max = IBV_MTU_4096, .active = path_mtu(config_.mtu)};
}

std::uint32_t Driver::gid_table_size() const {
    return caps_.limits().max_gid;
}

PortAttr Driver::query_port() {
    const bool up =
        !admin_->failed() && (read32(DINGO_REG_STATUS) & DINGO_STATUS_LINK_UP_MASK) != 0;
    const std::uint32_t mbps = read32(DINGO_REG_LINK_MBPS);
    const Speed& speed =
        *std::ranges::find_if(kSpeeds, [mbps](const Speed& s) { return mbps <= s.mbps; });
    PortAttr a{};
    a.state = up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
    a.phys_state = up ? kPhysLinkUp : kPhysPolling;
    a.max_mtu = mtu().max;
    a.active_mtu = mtu().active;
    a.active_width = speed.width;
    a.active_speed = speed.speed;
    a.gid_tbl_len = gid_table_size();
    a.pkey_tbl_len = 1;
    a.port_cap_flags = IBV_PORT_CM_SUP;  // uverbs adds that GIDs are IP addresses
    a.max_msg_sz = caps_.limits().max_msg;
    if (!admin_->failed()) {
        const auto counters = query_stats(*admin_, 0, 0, DINGO_CARD_COUNTERS);
        const auto clipped = [&](dingo_card_counter counter) {
            return static_cast<std::uint32_t>(
                std::min<std::uint64_t>(counters[counter], UINT32_MAX));
        };
        a.bad_pkey_cntr = clipped(DINGO_CARD_BAD_PKEY);
        a.qkey_viol_cntr = clipped(DINGO_CARD_BAD_QKEY);
    }
    return a;
}

std::uint64_t Driver::clock_ns() const {
    return card_->read(Bar::kRegisters, DINGO_REG_CLOCK, 8);
}

namespace {

#define DINGO_COUNTER_NAME(id, text) text,
constexpr const char* kCardCounters[] = {DINGO_FOR_EACH_CARD_COUNTER(DINGO_COUNTER_NAME)};
constexpr const char* kQpCounters[] = {DINGO_FOR_EACH_QP_COUNTER(DINGO_COUNTER_NAME)};
#undef DINGO_COUNTER_NAME

template <std::size_t N>
Counters named(const char* const (&names)[N], AdminQueue& admin, std::uint32_t scope,
               std::uint32_t id) {
    const auto values = query_stats(admin, scope, id, N);
    Counters result;
    for (std::size_t n = 0; n < N; ++n) {
        result.emplace_back(names[n], values[n]);
    }
    return result;
}

}  // namespace

Counters Driver::card_counters() {
    Counters counters = named(kCardCounters, *admin_, 0, 0);
    if (on_counters) {
        on_counters(counters, std::nullopt);
    }
    return counters;
}

Counters Driver::qp_counters(std::uint32_t qpn) {
    Counters counters = named(kQpCounters, *admin_, 1, qpn);
    if (on_counters) {
        on_counters(counters, qpn);
    }
    return counters;
}

void Driver::count_gone(std::uint32_t qpn) {
    try {
        const auto counters = query_stats(*admin_, 1, qpn, DINGO_QP_COUNTERS);
        messages_of_gone_ += counters[DINGO_QP_SEND_CQES] + counters[DINGO_QP_RECV_CQES];
    } catch (const ErrnoError&) {  // a failed card has no counters
    }
}

}  // namespace dingo::uverbs
