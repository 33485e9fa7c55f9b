// SPDX-License-Identifier: BSD-2-Clause
// Addresses, routes and options of an identifier.
#include "host/rdma_cm/id.h"

#include <infiniband/sa.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/errno_error.h"
#include "host/rdma_cm/cm_service.h"
#include "host/rdma_cm/file.h"

namespace dingo::rdma_cm {
namespace {

constexpr std::uint8_t kMaxTimeout = 31;
constexpr std::uint8_t kSlOfTrafficClassShift = 5;

template <typename T>
T value_of(std::span<const std::byte> bytes) {
    T value;
    if (bytes.size() != sizeof value) {
        fail(EINVAL);
    }
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
}

}  // namespace

Id::Id(CmService& service, File& file, std::uint32_t number, std::uint64_t uid, std::uint16_t space,
       std::uint8_t qp_type, Charge charge)
    : service_(service),
      charge_(std::move(charge)),
      file_(&file),
      number_(number),
      uid_(uid),
      space_(space),
      qp_type_(qp_type),
      psn_(service.random() & 0xffffff) {}

Id::~Id() {
    service_.unwatch(*this);
    if (connection_ != nullptr) {
        service_.manager().destroy(*connection_);
    }
    leave_all();
    release_port();
}

void Id::require(IdState state) const {
    if (state_ != state) {
        fail(EINVAL);
    }
}

void Id::release_port() {
    if (std::exchange(bound_, false)) {
        service_.ports().release(space_, binding_);
        port_charge_ = {};
    }
}

void Id::unbind() {
    service_.drop_listener(*this);
    release_port();
    binding_.address = {};
    binding_.loopback = binding_.listening = false;
    backlog_ = 0;
    state_ = IdState::kIdle;
}

void Id::use_gid(int index) {
    gid_index_ = index;
    path_.sgid_index = static_cast<std::uint8_t>(index);
    path_.local = service_.routes().gid(index);
}

void Id::bind(const Address& address) {
    require(IdState::kIdle);
    int index = -1;
    if (address.family == Address::kIb) {
        if (!address.is_any()) {
            fail(ENODEV);  // such addresses are for InfiniBand only
        }
    } else if (!address.is_ip()) {
        fail(EAFNOSUPPORT);
    } else if (!address.is_any()) {
        index = service_.routes().gid_index(address.gid);
        if (index < 0 && !address.is_loopback()) {
            fail(EADDRNOTAVAIL);
        }
    }
    binding_.address = address;
    binding_.loopback = index < 0 && address.is_loopback();
    if (!af_only_set_) {
        binding_.af_only = address.family == AF_INET;
    }
    Charge charge;
    if (address.port == 0) {
        charge = Charge(file_->account(), service_.port_quota());
    }
    service_.ports().bind(space_, binding_);
    port_charge_ = std::move(charge);
    bound_ = true;
    if (index >= 0) {
        use_gid(index);
    }
    state_ = IdState::kAddressBound;
}

void Id::resolve_address(const Address& source, const Address& destination,
                         std::uint32_t timeout_ms) {
    if (destination.family == Address::kIb) {
        fail(ENODEV);
    }
    if (!destination.is_ip() ||
        (source.family != AF_UNSPEC && source.family != destination.family)) {
        fail(EINVAL);
    }
    if (state_ == IdState::kIdle) {
        bind(source.family == AF_UNSPEC ? Address::any(destination.family) : source);
    }
    require(IdState::kAddressBound);
    if (binding_.address.family != destination.family) {
        fail(EINVAL);
    }
    const Routes& routes = service_.routes();
    const bool ipv4 = destination.family == AF_INET;
    const bool myself =
        destination.is_any() || (destination.is_loopback() && !routes.on_link(destination));
    int index = gid_index_;
    if (index < 0) {
        index = myself ? std::max(0, routes.own(ipv4)) : routes.source_for(destination);
    }
    if (index < 0) {
        fail(ENETUNREACH);
    }
    if (binding_.loopback && !myself && routes.gid_index(destination.gid) < 0) {
        fail(EINVAL);  // a loopback address has no route to another host
    }
    remote_gid_ = myself ? routes.gid(index) : destination.gid;
    try {
        ask_neighbour();
    } catch (const NotYet&) {
        // poll() continues
    }
    before_ = {gid_index_, path_, binding_};
    if (!has_device()) {
        binding_.address.gid = myself ? Address::loopback(ipv4) : routes.gid(index);
        binding_.loopback = myself;
    }
    destination_ = destination;
    use_gid(index);
    state_ = IdState::kAddressQuery;
    resolve_until_ = service_.now() + std::uint64_t{timeout_ms} * 1'000'000;
    service_.watch(*this);
}

void Id::ask_neighbour() const {
    if (!packet::Gid{remote_gid_}.is_multicast()) {  // a group needs no resolution
        service_.driver().resolve(remote_gid_);
    }
}

// Also called if the neighbour did not answer: the identifier asks again, as the host may come up
// later.
void Id::Wait::settled(int /*error*/) {
    id.service_.poll_soon(id);
}

bool Id::poll(Nanoseconds now) {
    if (state_ != IdState::kAddressQuery) {
        return false;
    }
    int status = 0;
    try {
        ask_neighbour();
    } catch (const NotYet& not_yet) {
        if (now < resolve_until_) {
            service_.driver().await(not_yet, wait_);
            return false;
        }
        status = -ETIMEDOUT;
    } catch (const ErrnoError& error) {
        status = -error.code();
    }
    service_.unwatch(*this);
    wait_.stop_waiting();
    resolve_until_ = kNever;
    state_ = status == 0 ? IdState::kAddressResolved : IdState::kAddressBound;
    if (status != 0) {  // another destination may need another source
        gid_index_ = before_.gid_index;
        path_ = before_.path;
        binding_.address = before_.binding.address;
        binding_.loopback = before_.binding.loopback;
    }
    post(status == 0 ? EventType::kAddrResolved : EventType::kAddrError, status);
    return true;
}

void Id::make_path() {
    path_.remote = remote_gid_;
    path_.mtu = service_.mtu();
    path_.rate = service_.rate();
    path_.traffic_class = traffic_class_;
    path_.sl = service_level();
    path_.packet_life_time = ack_timeout_.value_or(0) != 0
                                 ? static_cast<std::uint8_t>(*ack_timeout_ - 1)
                                 : cm::kPacketLifetime;
    has_path_ = true;
}

void Id::resolve_route() {
    require(IdState::kAddressResolved);
    make_path();
    state_ = IdState::kRouteResolved;
    post(EventType::kRouteResolved, 0);
}

void Id::set_path(std::span<const std::byte> records) {
    if (records.size() % sizeof(ib_path_rec_data) != 0 || records.empty()) {
        fail(EINVAL);
    }
    constexpr std::uint32_t kWanted = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
    for (; !records.empty(); records = records.subspan(sizeof(ib_path_rec_data))) {
        ib_path_rec_data data;
        std::memcpy(&data, records.data(), sizeof data);
        if (data.flags != kWanted) {
            continue;
        }
        ibv_path_record record;
        static_assert(sizeof record == sizeof data.path_rec);
        std::memcpy(&record, data.path_rec, sizeof record);
        require(IdState::kAddressResolved);
        if (std::memcmp(record.sgid.raw, path_.local.data(), path_.local.size()) != 0 ||
            std::memcmp(record.dgid.raw, remote_gid_.data(), remote_gid_.size()) != 0) {
            fail(EINVAL);  // not the resolved addresses
        }
        make_path();
        path_.flow_label = be32toh(record.flowlabel_hoplimit) >> 8 & 0xfffff;
        path_.traffic_class = record.tclass;
        path_.sl = be16toh(record.qosclass_sl) & 0xf;
        if (const std::uint8_t mtu = record.mtu & 0x3f; mtu >= 1 && mtu < path_.mtu) {
            path_.mtu = mtu;
        }
        state_ = IdState::kRouteResolved;
        post(EventType::kRouteResolved, 0);
        return;
    }
    fail(EINVAL);
}

void Id::set_option(std::uint32_t name, std::span<const std::byte> value) {
    switch (name) {
        case RDMA_OPTION_ID_TOS:
            traffic_class_ = value_of<std::uint8_t>(value);
            return;
        case RDMA_OPTION_ID_REUSEADDR: {
            const bool wanted = value_of<std::int32_t>(value) != 0;
            if (state_ != IdState::kIdle && (state_ == IdState::kListen || !wanted)) {
                fail(EINVAL);
            }
            binding_.reuse = wanted;
            return;
        }
        case RDMA_OPTION_ID_AFONLY: {
            const bool wanted = value_of<std::int32_t>(value) != 0;
            if (state_ != IdState::kIdle && state_ != IdState::kAddressBound) {
                fail(EINVAL);
            }
            binding_.af_only = wanted;
            af_only_set_ = true;
            return;
        }
        case RDMA_OPTION_ID_ACK_TIMEOUT: {
            const auto timeout = value_of<std::uint8_t>(value);
            if (timeout > kMaxTimeout || (qp_type_ != kRc)) {
                fail(EINVAL);
            }
            ack_timeout_ = timeout;
            return;
        }
        default:
            fail(ENOSYS);
    }
}

std::uint8_t Id::service_level() const {
    return static_cast<std::uint8_t>(traffic_class_ >> kSlOfTrafficClassShift);
}

ib_uverbs_ah_attr Id::ah_attr() const {
    ib_uverbs_ah_attr ah{};
    std::copy(path_.remote.begin(), path_.remote.end(), ah.grh.dgid);
    ah.grh.flow_label = path_.flow_label;
    ah.grh.sgid_index = path_.sgid_index;
    ah.grh.hop_limit = path_.hop_limit;
    ah.grh.traffic_class = path_.traffic_class;
    ah.sl = path_.sl;
    ah.is_global = 1;
    ah.port_num = 1;
    return ah;
}

bool Id::listens_to(std::uint16_t space, const Address& destination) const {
    if (state_ != IdState::kListen || space != space_ ||
        destination.port != binding_.address.port) {
        return false;
    }
    const Address& mine = binding_.address;
    if (is_wildcard()) {
        return mine.family == destination.family || !binding_.af_only;
    }
    return mine.gid == destination.gid;
}

bool Id::takes(const cm::Request& request) const {
    return request.datagram == is_datagram() &&
           (request.datagram || (request.transport == cm::Transport::kUc) == (qp_type_ == kUc));
}

}  // namespace dingo::rdma_cm
