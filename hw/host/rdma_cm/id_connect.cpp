// SPDX-License-Identifier: BSD-2-Clause
// The communication of an identifier.
#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/errno_error.h"
#include "host/rdma_cm/cm/ip_service.h"
#include "host/rdma_cm/cm_service.h"
#include "host/rdma_cm/file.h"
#include "host/rdma_cm/id.h"

namespace dingo::rdma_cm {
namespace {

constexpr std::uint32_t kDefaultQkey = 0x01234567;  // RDMA_UDP_QKEY
constexpr std::uint32_t kMaxBacklog = 1024;
constexpr std::size_t kMaxReqData = sizeof(cm::Req::private_data);
constexpr std::size_t kMaxRepData = sizeof(cm::Rep::private_data);
constexpr std::size_t kMaxRejData = sizeof(cm::Rej::private_data);
constexpr std::size_t kMaxSidrReqData = sizeof(cm::SidrReq::private_data);
constexpr std::size_t kMaxSidrRepData = sizeof(cm::SidrRep::private_data);

std::span<const std::uint8_t> private_data_of(const rdma_ucm_conn_param& param, std::size_t most) {
    if (param.private_data_len > most) {
        fail(EINVAL);
    }
    return std::span(param.private_data).first(param.private_data_len);
}

cm::Parameters parameters_of(const rdma_ucm_conn_param& param,
                             std::span<const std::uint8_t> private_data) {
    return {.qpn = param.qp_num,
            .qkey = param.qkey,
            .responder_resources = param.responder_resources,
            .initiator_depth = param.initiator_depth,
            .retry_count = param.retry_count,
            .rnr_retry_count = param.rnr_retry_count,
            .flow_control = param.flow_control != 0,
            .srq = param.srq != 0,
            .private_data = private_data};
}

void put_private_data(std::span<const std::uint8_t> from, std::uint8_t* to, std::uint8_t& length) {
    const std::size_t n = std::min<std::size_t>(from.size(), UINT8_MAX);
    std::copy_n(from.begin(), n, to);
    length = static_cast<std::uint8_t>(n);
}

}  // namespace

void Id::post(EventType type, int status, const cm::Parameters* parameters) {
    rdma_ucm_event_resp event{};
    event.event = static_cast<std::uint32_t>(type);
    event.status = static_cast<std::uint32_t>(status);
    if (parameters != nullptr) {
        rdma_ucm_conn_param& conn = event.param.conn;
        conn.qp_num = parameters->qpn;
        conn.qkey = parameters->qkey;
        conn.responder_resources = parameters->responder_resources;
        conn.initiator_depth = parameters->initiator_depth;
        conn.flow_control = parameters->flow_control ? 1 : 0;
        conn.retry_count = parameters->retry_count;
        conn.rnr_retry_count = parameters->rnr_retry_count;
        conn.srq = parameters->srq ? 1 : 0;
        put_private_data(parameters->private_data, conn.private_data, conn.private_data_len);
    }
    file_->post(*this, event);
}

void Id::post_datagram(EventType type, int status, const cm::Parameters& parameters) {
    rdma_ucm_event_resp event{};
    event.event = static_cast<std::uint32_t>(type);
    event.status = static_cast<std::uint32_t>(status);
    rdma_ucm_ud_param& ud = event.param.ud;
    ud.qp_num = parameters.qpn;
    ud.qkey = parameters.qkey;
    ud.ah_attr = ah_attr();
    put_private_data(parameters.private_data, ud.private_data, ud.private_data_len);
    file_->post(*this, event);
}

void Id::connect(const rdma_ucm_conn_param& param) {
    if (param.valid == 0) {
        fail(EINVAL);
    }
    require(IdState::kRouteResolved);
    std::vector<std::uint8_t> data;
    const cm::IpHeader header{.source = binding_.address.gid,
                              .destination = destination_.gid,
                              .source_port = binding_.address.port,
                              .ipv4 = destination_.family == AF_INET};
    const auto front = cm::encode(header);
    data.assign(front.begin(), front.end());
    const auto rest = private_data_of(
        param, (is_datagram() ? kMaxSidrReqData : kMaxReqData) - cm::kIpHeaderBytes);
    data.insert(data.end(), rest.begin(), rest.end());

    if (connection_ == nullptr) {
        connection_ = &service_.manager().create(*this);
    }
    cm::Communication::Target target;
    target.service_id = cm::ip_service_id(space_, destination_.port);
    target.path = path_;
    target.starting_psn = psn_;
    target.transport = qp_type_ == kUc ? cm::Transport::kUc : cm::Transport::kRc;
    if (is_datagram()) {
        connection_->ask(target, data);
    } else {
        connection_->connect(target, parameters_of(param, data));
    }
    state_ = IdState::kConnect;
}

void Id::listen(std::uint32_t backlog) {
    if (state_ == IdState::kIdle) {
        bind(Address::any(AF_INET));
    }
    require(IdState::kAddressBound);
    if (!binding_.address.is_ip()) {
        fail(ENODEV);
    }
    service_.ports().listen(space_, binding_);
    expect(backlog);
    state_ = IdState::kListen;
    service_.add_listener(*this);
}

void Id::expect(std::uint32_t backlog) {
    backlog_ = backlog == 0 || backlog > kMaxBacklog ? kMaxBacklog : backlog;
}

Id* Id::take_request(cm::Communication& connection, const cm::Request& request,
                     const Address& source, const Address& destination) {
    if (backlog_ == 0) {
        return nullptr;
    }
    Id* const id = service_.make_id(*file_, 0, space_, qp_type_);
    if (id == nullptr) {
        return nullptr;
    }
    --backlog_;
    id->connection_ = &connection;
    connection.set_owner(id);
    id->path_ = connection.path();
    id->has_path_ = true;
    id->use_gid(connection.path().sgid_index);
    id->remote_gid_ = connection.path().remote;
    id->binding_.address = destination;
    id->destination_ = source;
    id->state_ = IdState::kConnect;

    rdma_ucm_event_resp event{};
    event.event = static_cast<std::uint32_t>(EventType::kConnectRequest);
    const cm::Parameters& p = request.parameters;
    const auto data = p.private_data.subspan(cm::kIpHeaderBytes);
    if (request.datagram) {
        event.param.ud.ah_attr = id->ah_attr();
        put_private_data(data, event.param.ud.private_data, event.param.ud.private_data_len);
    } else {
        rdma_ucm_conn_param& conn = event.param.conn;
        conn.qp_num = p.qpn;
        conn.responder_resources = p.responder_resources;
        conn.initiator_depth = p.initiator_depth;
        conn.flow_control = p.flow_control ? 1 : 0;
        conn.retry_count = p.retry_count;
        conn.rnr_retry_count = p.rnr_retry_count;
        conn.srq = p.srq ? 1 : 0;
        put_private_data(data, conn.private_data, conn.private_data_len);
    }
    file_->post_request(*this, *id, event);
    return id;
}

void Id::accept(std::uint64_t uid, const rdma_ucm_conn_param& param) {
    require(IdState::kConnect);
    if (connection_ == nullptr) {
        fail(EINVAL);
    }
    bool done = false;
    if (param.valid == 0) {
        done = connection_->ready({});
    } else if (is_datagram()) {
        cm::Parameters parameters = parameters_of(param, private_data_of(param, kMaxSidrRepData));
        parameters.qkey = param.qkey != 0 ? param.qkey : kDefaultQkey;
        qkey_ = parameters.qkey;
        done = connection_->answer(cm::SidrStatus::kSuccess, parameters);
    } else {
        done = connection_->accept(psn_, parameters_of(param, private_data_of(param, kMaxRepData)));
    }
    if (!done) {
        fail(EINVAL);
    }
    if (param.valid != 0) {
        uid_ = uid;
    }
}

void Id::reject(std::uint8_t reason, std::span<const std::uint8_t> private_data) {
    const auto why = reason == 0 ? cm::Reason::kConsumerDefined : static_cast<cm::Reason>(reason);
    if (why != cm::Reason::kConsumerDefined && why != cm::Reason::kVendorOption) {
        fail(EINVAL);
    }
    if (connection_ == nullptr ||
        private_data.size() > (is_datagram() ? kMaxSidrRepData : kMaxRejData)) {
        fail(EINVAL);
    }
    cm::Parameters parameters;
    parameters.private_data = private_data;
    const bool done = is_datagram() ? connection_->answer(cm::SidrStatus::kReject, parameters)
                                    : connection_->reject(why, private_data);
    if (!done) {
        fail(EINVAL);
    }
}

void Id::disconnect() {
    if (connection_ == nullptr || is_datagram()) {
        fail(EINVAL);
    }
    connection_->disconnect();  // disconnecting twice is not an error
}

void Id::notify(std::uint32_t event) {
    if (connection_ == nullptr || is_datagram()) {
        fail(EINVAL);
    }
    if (event != IBV_EVENT_COMM_EST) {
        return;  // other events do not affect a communication
    }
    if (!connection_->establish()) {
        fail(connection_->state() == cm::State::kEstablished ? EISCONN : EINVAL);
    }
}

void Id::on_cm(const cm::Event& event) {
    using Kind = cm::Event::Kind;
    switch (event.kind) {
        case Kind::kReply:
            post(EventType::kConnectResponse, 0, &event.parameters);
            return;
        case Kind::kEstablished:
            post(EventType::kEstablished, 0, &event.parameters);
            return;
        case Kind::kRejected:
            post(EventType::kRejected, event.status, &event.parameters);
            return;
        case Kind::kUnreachable:
            if (is_datagram()) {
                post_datagram(EventType::kUnreachable, event.status, event.parameters);
            } else {
                post(EventType::kUnreachable, event.status);
            }
            return;
        case Kind::kDisconnected:
            if (state_ == IdState::kConnect) {  // reported once, whichever side began
                state_ = IdState::kDisconnect;
                post(EventType::kDisconnected, event.status, &event.parameters);
            }
            return;
        case Kind::kTimewaitExit:
            post(EventType::kTimewaitExit, 0);
            return;
        case Kind::kSidrReply:
            qkey_ = event.parameters.qkey;
            post_datagram(EventType::kEstablished, 0, event.parameters);
            return;
    }
}

void Id::device_removed() {
    if (has_device()) {
        post(EventType::kDeviceRemoval, 0);
    }
}

std::uint32_t Id::qkey() const {
    return qkey_ != 0 ? qkey_ : kDefaultQkey;
}

ib_uverbs_qp_attr Id::qp_attr(std::uint32_t qp_state) const {
    ib_uverbs_qp_attr a{};
    if (!has_device() || qp_state > IBV_QPS_ERR) {
        fail(EINVAL);
    }
    a.qp_state = static_cast<std::uint8_t>(qp_state);
    const bool connected = connection_ != nullptr && !is_datagram();
    if (!connected) {
        if (qp_state != IBV_QPS_INIT) {
            fail(EINVAL);
        }
        a.qp_attr_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                         (is_datagram() ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
        a.port_num = 1;
        a.qkey = qkey();
        return a;
    }
    const cm::Communication& c = *connection_;
    const cm::State s = c.state();
    const bool answered = s == cm::State::kReqReceived || s == cm::State::kRepSent ||
                          s == cm::State::kMraRepReceived || s == cm::State::kRepReceived ||
                          s == cm::State::kEstablished;
    const bool asking = s == cm::State::kReqSent || s == cm::State::kMraReqReceived;
    switch (qp_state) {
        case IBV_QPS_INIT:
            if (!answered && !asking) {
                fail(EINVAL);
            }
            a.qp_attr_mask = IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
            a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
            if (c.responder_resources() != 0) {
                a.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
            }
            a.port_num = 1;
            return a;
        case IBV_QPS_RTR:
            if (!answered) {
                fail(EINVAL);
            }
            a.qp_attr_mask =
                IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
            a.ah_attr = ah_attr();
            a.path_mtu = path_.mtu;
            a.dest_qp_num = c.remote_qpn();
            a.rq_psn = psn_;
            if (qp_type_ == kRc) {
                a.qp_attr_mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
                a.max_dest_rd_atomic = c.responder_resources();
            }
            return a;
        case IBV_QPS_RTS:
            if (!answered) {
                fail(EINVAL);
            }
            a.qp_attr_mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
            a.sq_psn = c.sq_psn();
            if (qp_type_ == kRc) {
                a.qp_attr_mask |=
                    IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
                a.timeout = ack_timeout_.value_or(c.timeout());
                a.retry_cnt = c.retry_count();
                a.rnr_retry = c.rnr_retry_count();
                a.max_rd_atomic = c.initiator_depth();
            }
            return a;
        default:
            fail(EINVAL);
    }
}

}  // namespace dingo::rdma_cm
