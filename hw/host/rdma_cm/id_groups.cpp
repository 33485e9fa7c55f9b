// SPDX-License-Identifier: BSD-2-Clause
// Multicast groups that an identifier has joined. The application's library attaches the QP when it
// reads the event.
#include <algorithm>
#include <cerrno>

#include "base/errno_error.h"
#include "host/rdma_cm/cm_service.h"
#include "host/rdma_cm/file.h"
#include "host/rdma_cm/id.h"

namespace dingo::rdma_cm {

GroupJoin& Id::add_join(std::uint64_t uid) {
    GroupJoin* const join = service_.make_join(*this, uid);
    if (join == nullptr) {
        fail(ENOMEM);
    }
    joins_.insert(join);
    return *join;
}

GroupJoin& Id::join(std::uint64_t uid, const Address& group, bool send_only) {
    const packet::Gid gid{group.gid};
    if (!has_device() || !is_datagram() ||
        (state_ != IdState::kAddressBound && state_ != IdState::kAddressResolved)) {
        fail(EINVAL);
    }
    if (group.family == Address::kIb) {
        fail(ENODEV);  // such addresses are for InfiniBand only
    }
    if (!group.is_ip() || !gid.is_multicast() ||
        gid.is_ipv4_mapped() != packet::Gid{path_.local}.is_ipv4_mapped()) {
        fail(EINVAL);
    }
    if (!send_only && !service_.driver().has_groups()) {
        fail(EOPNOTSUPP);
    }
    return add_join(uid);
}

void Id::joined(GroupJoin& join, const Address& group) {
    rdma_ucm_event_resp event{};
    event.event = static_cast<std::uint32_t>(EventType::kMulticastJoin);
    rdma_ucm_ud_param& ud = event.param.ud;
    ud.qp_num = DINGO_QPN_MCAST;
    ud.qkey = qkey();
    ud.ah_attr = ah_attr();
    std::copy(group.gid.begin(), group.gid.end(), ud.ah_attr.grh.dgid);
    ud.ah_attr.grh.traffic_class = traffic_class_;
    ud.ah_attr.sl = service_level();
    file_->post_join(join, event);
}

void Id::leave(GroupJoin& join) {
    joins_.erase(&join);
    file_->take_back(join);
    service_.remove_join(join);
}

void Id::leave_all() {
    while (!joins_.empty()) {
        leave(**joins_.begin());
    }
}

}  // namespace dingo::rdma_cm
