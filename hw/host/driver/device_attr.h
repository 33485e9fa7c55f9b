// SPDX-License-Identifier: BSD-2-Clause
//
// Attributes as returned by kmod's dingo_query_device() and dingo_query_port(), from the card's
// limits.
#pragma once

#include <cstdint>

namespace dingo::uverbs {

/// GUIDs are numbers: the first byte on the wire is the most significant one.
struct DeviceAttr {
    std::uint64_t fw_ver, node_guid, sys_image_guid, max_mr_size, page_size_cap, device_cap_flags;
    std::uint32_t vendor_id, vendor_part_id, hw_ver;
    std::uint32_t max_qp, max_qp_wr, max_sge, max_sge_rd, max_cq, max_cqe, max_mr, max_pd;
    std::uint32_t max_qp_rd_atom, max_qp_init_rd_atom, max_res_rd_atom, atomic_cap, max_mw, max_ah;
    std::uint32_t max_srq, max_srq_wr, max_srq_sge, max_pkeys, local_ca_ack_delay;
    std::uint64_t timestamp_mask, hca_core_clock;  ///< kHz
    std::uint64_t max_dm_size;
    std::uint16_t max_cq_count, max_cq_period;  ///< of CQ moderation; the period in microseconds
    std::uint32_t max_mcast_grp, max_mcast_qp_attach, max_total_mcast_qp_attach;
};

/// enum ibv_mtu.
struct PortMtu {
    std::uint8_t max = 0;
    std::uint8_t active = 0;
};

struct PortAttr {
    std::uint8_t state, max_mtu, active_mtu, phys_state, active_width;  ///< enums of verbs
    std::uint16_t active_speed;  ///< IB_SPEED_*; old callers get the low 8 bits
    std::uint32_t gid_tbl_len, pkey_tbl_len, port_cap_flags, max_msg_sz;
    std::uint32_t bad_pkey_cntr = 0, qkey_viol_cntr = 0;
};

}  // namespace dingo::uverbs
