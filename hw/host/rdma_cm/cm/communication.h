// SPDX-License-Identifier: BSD-2-Clause
//
// One communication: a connection from REQ to DREP, or a SIDR exchange. The states are those of
// IBTA 12.9; where the specification leaves a choice, it follows Linux's ib_cm.
#pragma once

#include <cstdint>
#include <span>

#include "dingo/engine.h"
#include "host/rdma_cm/cm/mad.h"
#include "host/rdma_cm/cm/path.h"

namespace dingo::cm {

class Manager;

enum class State : std::uint8_t {
    kIdle,
    kReqSent,
    kMraReqReceived,
    kReqReceived,
    kRepSent,
    kMraRepReceived,
    kRepReceived,
    kEstablished,
    kDreqSent,
    kDreqReceived,
    kTimewait,
    kSidrReqSent,
    kSidrReqReceived,
    kSidrReplied,
};

/// Parameters exchanged by both ends. Received depths are converted to this side's view.
struct Parameters {
    std::uint32_t qpn = 0;
    std::uint32_t qkey = 0;
    std::uint8_t responder_resources = 0;
    std::uint8_t initiator_depth = 0;
    std::uint8_t retry_count = 0;
    std::uint8_t rnr_retry_count = 0;
    bool flow_control = false;
    bool srq = false;
    std::span<const std::uint8_t> private_data;
};

struct Event {
    enum class Kind : std::uint8_t {
        kReply,        ///< REP received, to be answered by ready()
        kEstablished,  ///< RTU received, or the QP has received data
        kRejected,     ///< status: enum Reason
        kUnreachable,  ///< no answer: status is -ETIMEDOUT, or enum SidrStatus of a SIDR_REP
        kDisconnected,
        kTimewaitExit,
        kSidrReply,
    };
    Kind kind = Kind::kReply;
    int status = 0;
    Parameters parameters;
};

/// Receives the events of a communication. Must not destroy it during a call.
class Owner {
  public:
    virtual ~Owner() = default;
    virtual void on_cm(const Event& event) = 0;
};

class Communication {
  public:
    Communication(Manager& manager, std::uint32_t local_id)
        : manager_(manager), local_id_(local_id) {}
    Communication(const Communication&) = delete;
    Communication& operator=(const Communication&) = delete;

    [[nodiscard]] State state() const { return state_; }
    [[nodiscard]] const Path& path() const { return path_; }
    void set_owner(Owner* owner) { owner_ = owner; }

    struct Target {
        std::uint64_t service_id = 0;
        Path path;
        std::uint32_t starting_psn = 0;
        Transport transport = Transport::kRc;
    };
    // Called by the owner. They return false if the state does not allow the call.
    bool connect(const Target& target, const Parameters& parameters);            ///< REQ
    bool ask(const Target& target, std::span<const std::uint8_t> private_data);  ///< SIDR_REQ
    bool accept(std::uint32_t starting_psn, const Parameters& parameters);       ///< REP
    bool ready(std::span<const std::uint8_t> private_data);                      ///< RTU
    bool answer(SidrStatus status, const Parameters& parameters);                ///< SIDR_REP
    bool reject(Reason reason, std::span<const std::uint8_t> private_data);
    bool disconnect();  ///< sends DREQ, or DREP if the peer has sent DREQ
    bool establish();   ///< the QP has received data, which replaces a lost RTU

    // Values needed to connect the QP.
    [[nodiscard]] std::uint32_t remote_qpn() const { return remote_qpn_; }
    [[nodiscard]] std::uint32_t rq_psn() const { return rq_psn_; }
    [[nodiscard]] std::uint32_t sq_psn() const { return sq_psn_; }
    [[nodiscard]] std::uint8_t responder_resources() const { return responder_resources_; }
    [[nodiscard]] std::uint8_t initiator_depth() const { return initiator_depth_; }
    [[nodiscard]] std::uint8_t retry_count() const { return retry_count_; }
    [[nodiscard]] std::uint8_t rnr_retry_count() const { return rnr_retry_count_; }
    [[nodiscard]] std::uint8_t timeout() const { return ack_timeout_; }

  private:
    friend class Manager;

    void send_dreq(bool with_retries);
    void send_drep();
    void send_rtu();
    void send_mra(Answered answered);
    void send_rej(Reason reason, std::span<const std::uint8_t> private_data);
    void enter_timewait();
    void tell(Event::Kind kind, int status = 0, const Parameters& parameters = {});

    Manager& manager_;
    Owner* owner_ = nullptr;
    State state_ = State::kIdle;
    std::uint32_t local_id_;
    std::uint32_t remote_id_ = 0;
    Gid remote_source_{};  ///< source of the datagram from which the following values are
    std::uint64_t remote_guid_ = 0;
    std::uint64_t transaction_ = 0;
    std::uint64_t service_id_ = 0;
    Path path_;
    bool active_ = false;
    std::uint32_t local_qpn_ = 0;
    std::uint32_t remote_qpn_ = 0;
    std::uint32_t rq_psn_ = 0;
    std::uint32_t sq_psn_ = 0;
    std::uint8_t responder_resources_ = 0;
    std::uint8_t initiator_depth_ = 0;
    std::uint8_t retry_count_ = 0;
    std::uint8_t rnr_retry_count_ = 0;
    std::uint8_t ack_timeout_ = 0;
    std::uint64_t timeout_ms_ = 0;  ///< how long to wait for an answer
    std::uint8_t max_retries_ = 0;  ///< of a datagram that needs an answer
    std::uint8_t retries_left_ = 0;
    bool in_remote_ids_ = false;  ///< in the manager's tables
    bool in_remote_qpns_ = false;
    bool in_requests_ = false;
    std::uint64_t released_ = 0;  ///< key in the manager's table; 0: has an owner
    Nanoseconds deadline_ = kNever;
    Mad mad_{};  ///< last datagram that needs an answer, or the answer to a SIDR_REQ
};

}  // namespace dingo::cm
