// SPDX-License-Identifier: BSD-2-Clause
//
// Processing of datagrams received from peers.
#include <cerrno>

#include "host/rdma_cm/cm/manager.h"

namespace dingo::cm {
namespace {

constexpr std::uint8_t kMaxMtu = 5;

template <std::size_t n>
std::span<const std::uint8_t> bytes(const std::array<std::uint8_t, n>& array) {
    return array;
}

/// Converts to the receiver's view: its responder resources are the sender's initiator depth.
Parameters parameters_of(const Req& req) {
    return {.qpn = req.qpn,
            .qkey = req.qkey,
            .responder_resources = req.initiator_depth,
            .initiator_depth = req.responder_resources,
            .retry_count = req.retry_count,
            .rnr_retry_count = req.rnr_retry_count,
            .flow_control = req.flow_control,
            .srq = req.srq,
            .private_data = bytes(req.private_data)};
}

Parameters parameters_of(const Rep& rep) {
    return {.qpn = rep.qpn,
            .qkey = rep.qkey,
            .responder_resources = rep.initiator_depth,
            .initiator_depth = rep.responder_resources,
            .retry_count = 0,
            .rnr_retry_count = rep.rnr_retry_count,
            .flow_control = rep.flow_control,
            .srq = rep.srq,
            .private_data = bytes(rep.private_data)};
}

template <typename Message>
Parameters private_data_of(const Message& message) {
    Parameters parameters;
    parameters.private_data = bytes(message.private_data);
    return parameters;
}

bool is_valid(const Req& req) {
    return req.path_mtu >= 1 && req.path_mtu <= kMaxMtu && req.qpn > 1 && req.local_id != 0;
}

}  // namespace

void Manager::receive(const Gid& source, const Gid& destination, const Mad& mad) {
    const auto header = decode_header(mad);
    const int index = port_.gid_index(destination);
    if (!header || index < 0) {
        ++stats_.malformed;
        return;
    }
    Arrival from{*header, {}};
    from.back.local = destination;
    from.back.remote = source;
    from.back.sgid_index = static_cast<std::uint8_t>(index);
    switch (header->attribute) {
        case Attribute::kReq:
            return on_req(from, decode<Req>(mad));
        case Attribute::kMra:
            return on_mra(decode<Mra>(mad));
        case Attribute::kRej:
            return on_rej(source, decode<Rej>(mad));
        case Attribute::kRep:
            return on_rep(from, decode<Rep>(mad));
        case Attribute::kRtu:
            return on_rtu(decode<Rtu>(mad));
        case Attribute::kDreq:
            return on_dreq(from, decode<Dreq>(mad));
        case Attribute::kDrep:
            return on_drep(decode<Drep>(mad));
        case Attribute::kSidrReq:
            return on_sidr_req(from, decode<SidrReq>(mad));
        case Attribute::kSidrRep:
            return on_sidr_rep(decode<SidrRep>(mad));
        default:
            ++stats_.unsupported;
    }
}

void Manager::refuse(const Arrival& from, std::uint32_t remote_id, std::uint32_t local_id,
                     Answered answered, Reason reason) {
    ++stats_.refused;
    Rej rej;
    rej.local_id = local_id;
    rej.remote_id = remote_id;
    rej.answered = answered;
    rej.reason = static_cast<std::uint16_t>(reason);
    port_.send(from.back, encode(rej, from.header.transaction));
}

/// The peer uses the QPN for another connection, so it has lost this one.
void Manager::end_stale(Communication& connection) {
    if (connection.state_ == State::kEstablished) {
        connection.send_dreq(true);
    }
}

void Manager::on_duplicate_req(const Arrival& from, Communication& connection, const Req& req) {
    ++stats_.duplicates;
    switch (connection.state_) {
        case State::kReqReceived:
            connection.send_mra(Answered::kReq);
            break;
        case State::kTimewait:
            refuse(from, req.local_id, 0, Answered::kReq, Reason::kStaleConnection);
            break;
        default:  // the timer retransmits the REP
            break;
    }
}

void Manager::on_req(const Arrival& from, const Req& req) {
    if (!is_valid(req)) {
        ++stats_.malformed;
        return;
    }
    if (const auto known = by_remote_id_.find({from.back.remote, req.ca_guid, req.local_id});
        known != by_remote_id_.end()) {
        return on_duplicate_req(from, *known->second, req);
    }
    if (const auto known = by_remote_qpn_.find({from.back.remote, req.ca_guid, req.qpn});
        known != by_remote_qpn_.end()) {
        refuse(from, req.local_id, 0, Answered::kReq, Reason::kStaleConnection);
        return end_stale(*known->second);
    }
    const int index = port_.gid_index(req.remote_gid);
    const Reason wrong = index < 0 ? Reason::kInvalidGid
                         : req.transport != Transport::kRc && req.transport != Transport::kUc
                             ? Reason::kInvalidTransport
                         : req.path_mtu > port_.mtu() ? Reason::kInvalidMtu
                                                      : Reason{};
    if (wrong != Reason{}) {
        return refuse(from, req.local_id, 0, Answered::kReq, wrong);
    }
    Communication& c = make();
    c.transaction_ = from.header.transaction;
    c.service_id_ = req.service_id;
    c.remote_id_ = req.local_id;
    c.remote_source_ = from.back.remote;
    c.remote_guid_ = req.ca_guid;
    c.remote_qpn_ = req.qpn;
    c.sq_psn_ = req.starting_psn;
    c.responder_resources_ = req.initiator_depth;
    c.initiator_depth_ = req.responder_resources;
    c.retry_count_ = req.retry_count;
    c.rnr_retry_count_ = req.rnr_retry_count;
    c.ack_timeout_ =
        ack_timeout(port_.ack_delay(), req.ack_timeout == 0 ? 0U : req.ack_timeout - 1U);
    c.timeout_ms_ = milliseconds(req.local_response_timeout);
    c.max_retries_ = req.max_cm_retries;
    c.path_.local = req.remote_gid;
    c.path_.remote = req.local_gid;
    c.path_.sgid_index = static_cast<std::uint8_t>(index);
    c.path_.flow_label = req.flow_label;
    c.path_.traffic_class = req.traffic_class;
    c.path_.sl = req.sl;
    c.path_.mtu = req.path_mtu;
    c.path_.rate = req.packet_rate;
    c.state_ = State::kReqReceived;
    insert_remote_id(c);
    insert_remote_qpn(c);
    switch (listeners_.on_request(c, {.datagram = false,
                                      .service_id = req.service_id,
                                      .source = from.back.remote,
                                      .transport = req.transport,
                                      .parameters = parameters_of(req)})) {
        case Listeners::Answer::kTaken:
            return;
        case Listeners::Answer::kNobody:
            refuse(from, req.local_id, 0, Answered::kReq, Reason::kInvalidServiceId);
            break;
        case Listeners::Answer::kRefused:
            refuse(from, req.local_id, 0, Answered::kReq, Reason::kConsumerDefined);
            break;
    }
    remove(c);
}

void Manager::on_mra(const Mra& mra) {
    Communication* const c =
        mra.answered == Answered::kReq ? find(mra.remote_id) : find(mra.remote_id, mra.local_id);
    if (c == nullptr) {
        ++stats_.unmatched;
        return;
    }
    if (mra.answered == Answered::kReq && c->state_ == State::kReqSent) {
        c->state_ = State::kMraReqReceived;
    } else if (mra.answered == Answered::kRep && c->state_ == State::kRepSent) {
        c->state_ = State::kMraRepReceived;
    } else {
        ++stats_.unexpected;
        return;
    }
    arm(*c, milliseconds(mra.service_timeout) + milliseconds(c->ack_timeout_));
}

Communication* Manager::find_rejected(const Gid& source, const Rej& rej) const {
    if (rej.reason == static_cast<std::uint16_t>(Reason::kTimeout)) {
        std::uint64_t guid = 0;
        for (unsigned i = 0; i < 8; ++i) {
            guid = guid << 8 | rej.info[i];
        }
        const auto at = by_remote_id_.find({source, guid, rej.local_id});
        return at == by_remote_id_.end() ? nullptr : at->second;
    }
    return rej.answered == Answered::kReq ? find(rej.remote_id) : find(rej.remote_id, rej.local_id);
}

void Manager::on_rej(const Gid& source, const Rej& rej) {
    Communication* const c = find_rejected(source, rej);
    if (c == nullptr) {
        ++stats_.unmatched;
        return;
    }
    switch (c->state_) {
        case State::kReqSent:
        case State::kMraReqReceived:
        case State::kReqReceived:
        case State::kRepSent:
        case State::kMraRepReceived:
            if (rej.reason == static_cast<std::uint16_t>(Reason::kStaleConnection)) {
                c->enter_timewait();
            } else {
                disarm(*c);
                forget_remote(*c);
                c->state_ = State::kIdle;
            }
            break;
        case State::kRepReceived:
        case State::kEstablished:
        case State::kDreqSent:
            c->enter_timewait();
            break;
        default:
            ++stats_.unexpected;
            return;
    }
    c->tell(Event::Kind::kRejected, rej.reason, private_data_of(rej));
}

void Manager::on_rep(const Arrival& from, const Rep& rep) {
    Communication* const c = find(rep.remote_id);
    if (c == nullptr) {
        ++stats_.unmatched;
        return;
    }
    if (c->state_ != State::kReqSent && c->state_ != State::kMraReqReceived) {
        if (c->remote_id_ != rep.local_id || !c->active_) {
            ++stats_.unexpected;
            return;
        }
        ++stats_.duplicates;
        if (c->state_ == State::kEstablished) {
            c->send_rtu();
        } else if (c->state_ == State::kRepReceived) {
            c->send_mra(Answered::kRep);
        }
        return;
    }
    c->remote_id_ = rep.local_id;
    c->remote_source_ = from.back.remote;
    c->remote_guid_ = rep.ca_guid;
    c->remote_qpn_ = rep.qpn;
    if (!insert_remote_id(*c)) {
        ++stats_.unexpected;
        return;
    }
    if (const auto known = by_remote_qpn_.find({from.back.remote, rep.ca_guid, rep.qpn});
        known != by_remote_qpn_.end()) {
        forget_remote(*c);
        refuse(from, rep.local_id, rep.remote_id, Answered::kRep, Reason::kStaleConnection);
        return end_stale(*known->second);
    }
    insert_remote_qpn(*c);
    disarm(*c);
    c->sq_psn_ = rep.starting_psn;
    c->initiator_depth_ = rep.responder_resources;
    c->responder_resources_ = rep.initiator_depth;
    c->rnr_retry_count_ = rep.rnr_retry_count;
    c->ack_timeout_ =
        ack_timeout(rep.target_ack_delay, c->ack_timeout_ == 0 ? 0U : c->ack_timeout_ - 1U);
    c->state_ = State::kRepReceived;
    c->tell(Event::Kind::kReply, 0, parameters_of(rep));
}

void Manager::on_rtu(const Rtu& rtu) {
    Communication* const c = find(rtu.remote_id, rtu.local_id);
    if (c == nullptr) {
        ++stats_.unmatched;
        return;
    }
    if (c->state_ != State::kRepSent && c->state_ != State::kMraRepReceived) {
        ++stats_.duplicates;
        return;
    }
    disarm(*c);
    c->state_ = State::kEstablished;
    c->tell(Event::Kind::kEstablished, 0, private_data_of(rtu));
}

void Manager::on_dreq(const Arrival& from, const Dreq& dreq) {
    Communication* const c = find(dreq.remote_id, dreq.local_id);
    if (c == nullptr) {
        ++stats_.unmatched;
        Drep drep;  // unknown here: confirm, so that the peer forgets it as well
        drep.local_id = dreq.remote_id;
        drep.remote_id = dreq.local_id;
        port_.send(from.back, encode(drep, from.header.transaction));
        return;
    }
    if (dreq.remote_qpn != c->local_qpn_) {
        ++stats_.malformed;
        return;
    }
    c->transaction_ = from.header.transaction;
    switch (c->state_) {
        case State::kRepSent:
        case State::kMraRepReceived:
        case State::kEstablished:
        case State::kDreqSent:
            disarm(*c);
            c->state_ = State::kDreqReceived;
            c->tell(Event::Kind::kDisconnected, 0, private_data_of(dreq));
            return;
        case State::kTimewait: {
            ++stats_.duplicates;
            Drep drep;
            drep.local_id = c->local_id_;
            drep.remote_id = c->remote_id_;
            send(*c, encode(drep, c->transaction_));
            return;
        }
        case State::kDreqReceived:
            ++stats_.duplicates;
            return;
        default:
            ++stats_.unexpected;
    }
}

void Manager::on_drep(const Drep& drep) {
    Communication* const c = find(drep.remote_id, drep.local_id);
    if (c == nullptr) {
        ++stats_.unmatched;
        return;
    }
    if (c->state_ != State::kDreqSent && c->state_ != State::kDreqReceived) {
        ++stats_.unexpected;
        return;
    }
    c->enter_timewait();
    c->tell(Event::Kind::kDisconnected, 0, private_data_of(drep));
}

void Manager::on_sidr_req(const Arrival& from, const SidrReq& req) {
    if (const auto known = requests_.find({from.back.remote, req.request_id});
        known != requests_.end()) {
        ++stats_.duplicates;
        if (known->second->state_ == State::kSidrReplied) {
            send(*known->second, known->second->mad_);  // the answer was lost
        }
        return;
    }
    Communication& c = make();
    c.transaction_ = from.header.transaction;
    c.service_id_ = req.service_id;
    c.remote_id_ = req.request_id;
    c.path_ = from.back;
    c.path_.mtu = port_.mtu();
    c.state_ = State::kSidrReqReceived;
    c.in_requests_ = true;
    requests_.emplace(SidrKey{from.back.remote, req.request_id}, &c);
    switch (listeners_.on_request(c, {.datagram = true,
                                      .service_id = req.service_id,
                                      .source = from.back.remote,
                                      .transport = Transport::kRc,
                                      .parameters = private_data_of(req)})) {
        case Listeners::Answer::kTaken:
            return;
        case Listeners::Answer::kNobody:
            c.answer(SidrStatus::kUnsupported, {});
            break;
        case Listeners::Answer::kRefused:
            c.answer(SidrStatus::kReject, {});
            break;
    }
    ++stats_.refused;
    remove(c);
}

void Manager::on_sidr_rep(const SidrRep& rep) {
    Communication* const c = find(rep.request_id);
    if (c == nullptr || c->state_ != State::kSidrReqSent || rep.service_id != c->service_id_) {
        ++(c == nullptr ? stats_.unmatched : stats_.unexpected);
        return;
    }
    disarm(*c);
    c->state_ = State::kIdle;
    if (rep.status != static_cast<std::uint8_t>(SidrStatus::kSuccess)) {
        c->tell(Event::Kind::kUnreachable, rep.status, private_data_of(rep));
        return;
    }
    Parameters parameters = private_data_of(rep);
    parameters.qpn = rep.qpn;
    parameters.qkey = rep.qkey;
    c->tell(Event::Kind::kSidrReply, 0, parameters);
}

}  // namespace dingo::cm
