// SPDX-License-Identifier: BSD-2-Clause
// The manager's tables and timers.
#include "host/rdma_cm/cm/manager.h"

#include <cerrno>

namespace dingo::cm {

Manager::~Manager() = default;

Communication& Manager::make() {
    std::uint32_t id = 0;
    do {
        id = port_.random();
    } while (id == 0 || by_id_.contains(id));
    return *by_id_.emplace(id, std::make_unique<Communication>(*this, id)).first->second;
}

Communication& Manager::create(Owner& owner) {
    Communication& connection = make();
    connection.set_owner(&owner);
    return connection;
}

void Manager::destroy(Communication& connection) {
    connection.owner_ = nullptr;
    switch (connection.state_) {
        case State::kReqSent:
        case State::kMraReqReceived:
            connection.reject(Reason::kTimeout, {});
            break;
        case State::kReqReceived:
        case State::kRepReceived:
        case State::kRepSent:
        case State::kMraRepReceived:
            connection.reject(Reason::kConsumerDefined, {});
            break;
        case State::kEstablished:
            connection.send_dreq(false);
            connection.enter_timewait();
            break;
        case State::kDreqSent:
            connection.enter_timewait();
            break;
        case State::kDreqReceived:
            connection.send_drep();
            break;
        case State::kSidrReqReceived:
            connection.answer(SidrStatus::kReject, {});
            break;
        default:
            break;
    }
    if (connection.state_ == State::kTimewait) {
        keep_released(connection);
    } else {
        remove(connection);
    }
}

void Manager::keep_released(Communication& connection) {
    if (released_.size() == kMaxReleased) {
        remove(*released_.begin()->second);
    }
    connection.released_ = ++last_released_;
    released_.emplace(connection.released_, &connection);
}

void Manager::remove(Communication& connection) {
    released_.erase(connection.released_);
    disarm(connection);
    forget_remote(connection);
    by_id_.erase(connection.local_id_);
}

Manager::RemoteKey Manager::id_of(const Communication& connection) {
    return {connection.remote_source_, connection.remote_guid_, connection.remote_id_};
}

Manager::RemoteKey Manager::qpn_of(const Communication& connection) {
    return {connection.remote_source_, connection.remote_guid_, connection.remote_qpn_};
}

void Manager::forget_remote(Communication& connection) {
    if (std::exchange(connection.in_remote_ids_, false)) {
        by_remote_id_.erase(id_of(connection));
    }
    if (std::exchange(connection.in_remote_qpns_, false)) {
        by_remote_qpn_.erase(qpn_of(connection));
    }
    if (std::exchange(connection.in_requests_, false)) {
        requests_.erase({connection.path_.remote, connection.remote_id_});
    }
}

bool Manager::insert_remote_id(Communication& connection) {
    connection.in_remote_ids_ = by_remote_id_.try_emplace(id_of(connection), &connection).second;
    return connection.in_remote_ids_;
}

bool Manager::insert_remote_qpn(Communication& connection) {
    connection.in_remote_qpns_ = by_remote_qpn_.try_emplace(qpn_of(connection), &connection).second;
    return connection.in_remote_qpns_;
}

Communication* Manager::find(std::uint32_t local_id) const {
    const auto at = by_id_.find(local_id);
    return at == by_id_.end() ? nullptr : at->second.get();
}

Communication* Manager::find(std::uint32_t local_id, std::uint32_t remote_id) const {
    Communication* const connection = find(local_id);
    return connection != nullptr && connection->remote_id_ == remote_id ? connection : nullptr;
}

void Manager::arm(Communication& connection, std::uint64_t in_ms) {
    disarm(connection);
    connection.deadline_ = port_.now() + in_ms * 1'000'000;
    timers_.emplace(connection.deadline_, connection.local_id_);
}

void Manager::disarm(Communication& connection) {
    if (connection.deadline_ != kNever) {
        timers_.erase({connection.deadline_, connection.local_id_});
        connection.deadline_ = kNever;
    }
}

void Manager::send(Communication& connection, const Mad& mad) {
    port_.send(connection.path_, mad);
}

void Manager::send_with_retries(Communication& connection, const Mad& mad,
                                std::uint64_t timeout_ms) {
    connection.mad_ = mad;
    connection.retries_left_ = connection.max_retries_;
    connection.timeout_ms_ = timeout_ms;
    arm(connection, timeout_ms);
    send(connection, mad);
}

void Manager::poll(Nanoseconds now) {
    while (!timers_.empty() && timers_.begin()->first <= now) {
        Communication* const connection = find(timers_.begin()->second);
        disarm(*connection);
        expire(*connection);
    }
}

void Manager::expire(Communication& connection) {
    if (connection.state_ == State::kTimewait) {
        forget_remote(connection);
        connection.state_ = State::kIdle;
        if (connection.owner_ == nullptr) {
            remove(connection);
        } else {
            connection.tell(Event::Kind::kTimewaitExit);
        }
        return;
    }
    if (connection.retries_left_ != 0) {
        --connection.retries_left_;
        ++stats_.retries;
        arm(connection, connection.timeout_ms_);
        send(connection, connection.mad_);
        return;
    }
    ++stats_.timeouts;
    if (connection.state_ == State::kDreqSent) {
        connection.enter_timewait();
        connection.tell(Event::Kind::kDisconnected, -ETIMEDOUT);
        return;
    }
    forget_remote(connection);
    connection.state_ = State::kIdle;
    connection.tell(Event::Kind::kUnreachable, -ETIMEDOUT);
}

}  // namespace dingo::cm
