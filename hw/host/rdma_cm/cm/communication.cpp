// SPDX-License-Identifier: BSD-2-Clause
// Requests of a communication's owner.
#include "host/rdma_cm/cm/communication.h"

#include <algorithm>

#include "host/rdma_cm/cm/manager.h"

namespace dingo::cm {
namespace {

constexpr std::uint8_t kResponseTimeout = 20;  // 4.3 s, as Linux's rdma_cm
constexpr std::uint8_t kMaxRetries = 15;
constexpr std::uint8_t kMraTimeout = 24;  // 69 s for the application to answer
// 8.2 s: an application or the peer may choose an ACK timeout of hours.
constexpr std::uint8_t kMaxTimewait = 21;
constexpr std::uint8_t kFailoverUnsupported = 1;
constexpr std::uint8_t kMaxRetryCount = 7;
constexpr std::uint32_t k24Bits = 0xffffff;

template <std::size_t n>
void put(std::array<std::uint8_t, n>& to, std::span<const std::uint8_t> from) {
    std::copy_n(from.begin(), std::min(n, from.size()), to.begin());
}

}  // namespace

void Communication::tell(Event::Kind kind, int status, const Parameters& parameters) {
    if (owner_ != nullptr) {
        owner_->on_cm({kind, status, parameters});
    }
}

bool Communication::connect(const Target& target, const Parameters& parameters) {
    if (state_ != State::kIdle && state_ != State::kTimewait) {
        return false;
    }
    manager_.disarm(*this);
    manager_.forget_remote(*this);
    active_ = true;
    path_ = target.path;
    service_id_ = target.service_id;
    transaction_ = std::uint64_t{manager_.port_.random()} << 32 | local_id_;
    local_qpn_ = parameters.qpn & k24Bits;
    rq_psn_ = target.starting_psn & k24Bits;
    responder_resources_ = parameters.responder_resources;
    initiator_depth_ = parameters.initiator_depth;
    retry_count_ = std::min(parameters.retry_count, kMaxRetryCount);
    rnr_retry_count_ = std::min(parameters.rnr_retry_count, kMaxRetryCount);
    ack_timeout_ = ack_timeout(manager_.port_.ack_delay(), path_.packet_life_time);
    timeout_ms_ = milliseconds(path_.packet_life_time) * 2 + milliseconds(kResponseTimeout);
    max_retries_ = kMaxRetries;

    Req req;
    req.local_id = local_id_;
    req.service_id = service_id_;
    req.ca_guid = manager_.port_.ca_guid();
    req.qpn = local_qpn_;
    req.responder_resources = responder_resources_;
    req.initiator_depth = initiator_depth_;
    req.remote_response_timeout = kResponseTimeout;
    req.transport = target.transport;
    req.flow_control = parameters.flow_control;
    req.starting_psn = rq_psn_;
    req.local_response_timeout = kResponseTimeout;
    req.retry_count = retry_count_;
    req.path_mtu = path_.mtu;
    req.rnr_retry_count = rnr_retry_count_;
    req.max_cm_retries = kMaxRetries;
    req.srq = parameters.srq;
    req.local_gid = path_.local;
    req.remote_gid = path_.remote;
    req.flow_label = path_.flow_label;
    req.packet_rate = path_.rate;
    req.traffic_class = path_.traffic_class;
    req.hop_limit = path_.hop_limit;
    req.sl = path_.sl;
    req.ack_timeout = ack_timeout_;
    put(req.private_data, parameters.private_data);
    state_ = State::kReqSent;
    manager_.send_with_retries(*this, encode(req, transaction_), timeout_ms_);
    return true;
}

bool Communication::ask(const Target& target, std::span<const std::uint8_t> private_data) {
    if (state_ != State::kIdle) {
        return false;
    }
    active_ = true;
    path_ = target.path;
    service_id_ = target.service_id;
    transaction_ = std::uint64_t{manager_.port_.random()} << 32 | local_id_;
    timeout_ms_ = milliseconds(kResponseTimeout);
    max_retries_ = kMaxRetries;
    SidrReq req;
    req.request_id = local_id_;
    req.service_id = service_id_;
    put(req.private_data, private_data);
    state_ = State::kSidrReqSent;
    manager_.send_with_retries(*this, encode(req, transaction_), timeout_ms_);
    return true;
}

bool Communication::accept(std::uint32_t starting_psn, const Parameters& parameters) {
    if (state_ != State::kReqReceived) {
        return false;
    }
    local_qpn_ = parameters.qpn & k24Bits;
    rq_psn_ = starting_psn & k24Bits;
    responder_resources_ = parameters.responder_resources;
    initiator_depth_ = parameters.initiator_depth;
    Rep rep;
    rep.local_id = local_id_;
    rep.remote_id = remote_id_;
    rep.qpn = local_qpn_;
    rep.starting_psn = rq_psn_;
    rep.responder_resources = responder_resources_;
    rep.initiator_depth = initiator_depth_;
    rep.target_ack_delay = manager_.port_.ack_delay();
    rep.failover = kFailoverUnsupported;
    rep.flow_control = parameters.flow_control;
    rep.rnr_retry_count = std::min(parameters.rnr_retry_count, kMaxRetryCount);
    rep.srq = parameters.srq;
    rep.ca_guid = manager_.port_.ca_guid();
    put(rep.private_data, parameters.private_data);
    state_ = State::kRepSent;
    manager_.send_with_retries(*this, encode(rep, transaction_), timeout_ms_);
    return true;
}

bool Communication::ready(std::span<const std::uint8_t> private_data) {
    if (state_ != State::kRepReceived) {
        return false;
    }
    Rtu rtu;
    rtu.local_id = local_id_;
    rtu.remote_id = remote_id_;
    put(rtu.private_data, private_data);
    mad_ = encode(rtu, transaction_);
    state_ = State::kEstablished;
    send_rtu();
    return true;
}

bool Communication::answer(SidrStatus status, const Parameters& parameters) {
    if (state_ != State::kSidrReqReceived) {
        return false;
    }
    SidrRep rep;
    rep.request_id = remote_id_;
    rep.status = static_cast<std::uint8_t>(status);
    rep.service_id = service_id_;
    if (status == SidrStatus::kSuccess) {
        rep.qpn = parameters.qpn & k24Bits;
        rep.qkey = parameters.qkey;
    }
    put(rep.private_data, parameters.private_data);
    mad_ = encode(rep, transaction_);
    state_ = State::kSidrReplied;
    manager_.send(*this, mad_);
    return true;
}

bool Communication::reject(Reason reason, std::span<const std::uint8_t> private_data) {
    switch (state_) {
        case State::kReqSent:
        case State::kMraReqReceived:
        case State::kReqReceived:
        case State::kRepReceived:
            send_rej(reason, private_data);
            manager_.disarm(*this);
            manager_.forget_remote(*this);
            state_ = State::kIdle;
            return true;
        case State::kRepSent:
        case State::kMraRepReceived:
            send_rej(reason, private_data);
            enter_timewait();
            return true;
        default:
            return false;
    }
}

bool Communication::disconnect() {
    switch (state_) {
        case State::kEstablished:
            send_dreq(true);
            return true;
        case State::kDreqReceived:
            send_drep();
            return true;
        default:
            return false;
    }
}

bool Communication::establish() {
    if (state_ != State::kRepSent && state_ != State::kMraRepReceived) {
        return false;
    }
    manager_.disarm(*this);
    state_ = State::kEstablished;
    tell(Event::Kind::kEstablished);
    return true;
}

void Communication::send_dreq(bool with_retries) {
    Dreq dreq;
    dreq.local_id = local_id_;
    dreq.remote_id = remote_id_;
    dreq.remote_qpn = remote_qpn_;
    transaction_ = std::uint64_t{manager_.port_.random()} << 32 | local_id_;
    state_ = State::kDreqSent;
    if (with_retries) {
        manager_.send_with_retries(*this, encode(dreq, transaction_), timeout_ms_);
    } else {
        manager_.send(*this, encode(dreq, transaction_));
    }
}

void Communication::send_drep() {
    Drep drep;
    drep.local_id = local_id_;
    drep.remote_id = remote_id_;
    mad_ = encode(drep, transaction_);
    manager_.send(*this, mad_);
    enter_timewait();
}

void Communication::send_rtu() {
    manager_.send(*this, mad_);
}

void Communication::send_mra(Answered answered) {
    Mra mra;
    mra.local_id = local_id_;
    mra.remote_id = remote_id_;
    mra.answered = answered;
    mra.service_timeout = kMraTimeout;
    manager_.send(*this, encode(mra, transaction_));
}

void Communication::send_rej(Reason reason, std::span<const std::uint8_t> private_data) {
    Rej rej;
    rej.remote_id = remote_id_;
    rej.reason = static_cast<std::uint16_t>(reason);
    switch (state_) {
        case State::kReqReceived:
            rej.answered = Answered::kReq;  // the peer does not know our id yet
            break;
        case State::kRepReceived:
            rej.local_id = local_id_;
            rej.answered = Answered::kRep;
            break;
        default:
            rej.local_id = local_id_;
            rej.answered = Answered::kOther;
    }
    if (reason == Reason::kTimeout) {
        // The CA's GUID lets the peer find a communication whose remote id it does not know.
        const std::uint64_t guid = manager_.port_.ca_guid();
        for (unsigned i = 0; i < 8; ++i) {
            rej.info[i] = static_cast<std::uint8_t>(guid >> (8 * (7 - i)));
        }
        rej.info_length = 8;
    }
    put(rej.private_data, private_data);
    manager_.send(*this, encode(rej, transaction_));
}

void Communication::enter_timewait() {
    manager_.disarm(*this);
    state_ = State::kTimewait;
    manager_.arm(*this, milliseconds(std::min(ack_timeout_, kMaxTimewait)));
}

}  // namespace dingo::cm
