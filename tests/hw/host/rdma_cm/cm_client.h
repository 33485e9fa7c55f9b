// SPDX-License-Identifier: BSD-2-Clause
//
// An rdma_cm descriptor without librdmacm: commands are sent directly to the card.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <rdma/rdma_user_cm.h>

#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <thread>

#include "../uverbs/client.h"
#include "host/rdma_cm/id.h"

namespace dingo::rdma_cm::test {

// Event types as numbers read by clients.
inline constexpr int kResolved = static_cast<int>(EventType::kAddrResolved);
inline constexpr int kRouted = static_cast<int>(EventType::kRouteResolved);
inline constexpr int kRequest = static_cast<int>(EventType::kConnectRequest);
inline constexpr int kResponse = static_cast<int>(EventType::kConnectResponse);
inline constexpr int kRejected = static_cast<int>(EventType::kRejected);
inline constexpr int kEstablished = static_cast<int>(EventType::kEstablished);
inline constexpr int kUnresolved = static_cast<int>(EventType::kAddrError);
inline constexpr int kDisconnected = static_cast<int>(EventType::kDisconnected);
inline constexpr int kJoined = static_cast<int>(EventType::kMulticastJoin);
inline constexpr int kRemoval = static_cast<int>(EventType::kDeviceRemoval);

inline sockaddr_in ipv4(const char* text, std::uint16_t port) {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_port = htons(port);
    ::inet_pton(AF_INET, text, &a.sin_addr);
    return a;
}

inline sockaddr_in6 ipv6(const char* text, std::uint16_t port) {
    sockaddr_in6 a{};
    a.sin6_family = AF_INET6;
    a.sin6_port = htons(port);
    ::inet_pton(AF_INET6, text, &a.sin6_addr);
    return a;
}

class CmClient {
  public:
    explicit CmClient(const std::string& directory) : client_(directory, true, "/rdma_cm.sock") {}

    [[nodiscard]] bool connected() const { return client_.connected(); }
    void close() { client_.close(); }
    uverbs::test::Client& raw() { return client_; }

    /// Sends a command as it would be written and returns its result.
    int write(const uverbs::test::Bytes& bytes, bool token = false) {
        uverbs::test::Request r(DINGO_UVERBS_RDMA_CM);
        r.payload = bytes;
        r.header.flags = token ? DINGO_UVERBS_TOKEN : 0;
        const uverbs::test::Answer answer = client_.send(r);
        idle_token = answer.closed ? 0 : answer.header.idle_token;
        return answer.result();
    }
    bool take_token() {
        char token = 0;
        return ::recv(client_.socket(), &token, 1, MSG_DONTWAIT) == 1;
    }
    /// Tells the card that a token without an event was removed.
    int give_back_token() { return write({}, true); }
    void take_out_idle() {
        if (take_token()) {
            give_back_token();
        }
    }
    template <typename Cmd>
    int command(std::uint32_t number, const Cmd& cmd, std::size_t out = 0, bool token = false) {
        const rdma_ucm_cmd_hdr header{number, sizeof cmd, static_cast<std::uint16_t>(out)};
        uverbs::test::Bytes bytes;
        uverbs::test::append(bytes, header);
        uverbs::test::append(bytes, cmd);
        const int result = write(bytes, token);
        return result == static_cast<int>(bytes.size()) ? 0 : result;
    }

    int create(std::uint64_t uid, std::uint16_t space = RDMA_PS_TCP) {
        rdma_ucm_create_id_resp answer{};
        rdma_ucm_create_id cmd{};
        cmd.uid = uid;
        cmd.response = reinterpret_cast<std::uintptr_t>(&answer);
        cmd.ps = space;
        const int result = command(RDMA_USER_CM_CMD_CREATE_ID, cmd, sizeof answer);
        id = answer.id;
        return result;
    }
    int destroy(std::uint32_t which) { return end(RDMA_USER_CM_CMD_DESTROY_ID, which); }
    /// DESTROY_ID of an identifier or LEAVE_MCAST of a join; sets `reported` to the number of its
    /// events.
    int end(std::uint32_t number, std::uint32_t which) {
        rdma_ucm_destroy_id_resp answer{};
        rdma_ucm_destroy_id cmd{};
        cmd.response = reinterpret_cast<std::uintptr_t>(&answer);
        cmd.id = which;
        const int result = command(number, cmd, sizeof answer);
        reported = answer.events_reported;
        if ((idle_token & DINGO_UVERBS_IDLE_HERE) != 0) {
            take_out_idle();
        }
        return result;
    }
    /// JOIN_MCAST; sets `group` to the join's number.
    template <typename Sockaddr>
    int join_group(std::uint32_t which, const Sockaddr& address, std::uint64_t uid,
                   std::uint16_t flags = RDMA_MC_JOIN_FLAG_FULLMEMBER) {
        rdma_ucm_create_id_resp answer{};
        rdma_ucm_join_mcast cmd{};
        cmd.response = reinterpret_cast<std::uintptr_t>(&answer);
        cmd.uid = uid;
        cmd.id = which;
        cmd.addr_size = sizeof address;
        cmd.join_flags = flags;
        std::memcpy(&cmd.addr, &address, sizeof address);
        const int result = command(RDMA_USER_CM_CMD_JOIN_MCAST, cmd, sizeof answer);
        group = answer.id;
        return result;
    }
    int leave_group(std::uint32_t which) { return end(RDMA_USER_CM_CMD_LEAVE_MCAST, which); }
    /// Takes an identifier from `from`.
    int migrate(CmClient& from, std::uint32_t which) {
        rdma_ucm_migrate_resp answer{};
        const rdma_ucm_migrate_id cmd{reinterpret_cast<std::uintptr_t>(&answer), which, 0};
        const int result = command(RDMA_USER_CM_CMD_MIGRATE_ID, cmd, sizeof answer);
        if ((idle_token & DINGO_UVERBS_IDLE_LEFT) != 0) {
            from.take_out_idle();
        }
        return result;
    }
    template <typename Sockaddr>
    int bind(std::uint32_t which, const Sockaddr& address) {
        rdma_ucm_bind cmd{};
        cmd.id = which;
        cmd.addr_size = sizeof address;
        std::memcpy(&cmd.addr, &address, sizeof address);
        return command(RDMA_USER_CM_CMD_BIND, cmd);
    }
    int listen(std::uint32_t which, std::uint32_t backlog = 0) {
        return command(RDMA_USER_CM_CMD_LISTEN, rdma_ucm_listen{which, backlog});
    }
    template <typename Sockaddr>
    int resolve(std::uint32_t which, const Sockaddr& to, std::uint32_t timeout_ms = 2000) {
        rdma_ucm_resolve_addr cmd{};
        cmd.id = which;
        cmd.timeout_ms = timeout_ms;
        cmd.dst_size = sizeof to;
        std::memcpy(&cmd.dst_addr, &to, sizeof to);
        return command(RDMA_USER_CM_CMD_RESOLVE_ADDR, cmd);
    }
    int connect(std::uint32_t which, std::uint32_t qpn) {
        rdma_ucm_connect cmd{};
        cmd.id = which;
        cmd.conn_param.valid = 1;
        cmd.conn_param.qp_num = qpn;
        cmd.conn_param.retry_count = 7;
        cmd.conn_param.private_data_len = 3;
        std::memcpy(cmd.conn_param.private_data, "abc", 3);
        return command(RDMA_USER_CM_CMD_CONNECT, cmd);
    }
    int accept(std::uint32_t which, std::uint64_t uid, std::uint32_t qpn, bool active = false) {
        rdma_ucm_accept cmd{};
        cmd.id = which;
        cmd.uid = uid;
        cmd.conn_param.valid = active ? 0 : 1;
        cmd.conn_param.qp_num = qpn;
        return command(RDMA_USER_CM_CMD_ACCEPT, cmd);
    }
    /// GET_EVENT without waiting: -EAGAIN if there is none.
    int get_event() { return get_event(take_token()); }
    int get_event(bool token) {
        rdma_ucm_get_event cmd{reinterpret_cast<std::uintptr_t>(&event)};
        return command(RDMA_USER_CM_CMD_GET_EVENT, cmd, sizeof event, token);
    }
    /// Returns the next event's type, or -1 after ten seconds.
    int wait_event() {
        pollfd readable{client_.socket(), POLLIN, 0};
        return ::poll(&readable, 1, 10'000) == 1 && get_event() == 0 ? static_cast<int>(event.event)
                                                                     : -1;
    }
    /// Runs all steps up to CONNECT and returns its result.
    int ask(const char* address, std::uint16_t port, std::uint32_t qpn) {
        EXPECT_EQ(create(200 + qpn), 0);
        EXPECT_EQ(resolve(id, ipv4(address, port)), 0);
        EXPECT_EQ(wait_event(), kResolved);
        EXPECT_EQ(event.uid, 200 + qpn);
        EXPECT_EQ(command(RDMA_USER_CM_CMD_RESOLVE_ROUTE, rdma_ucm_resolve_route{id, 2000}), 0);
        EXPECT_EQ(wait_event(), kRouted);
        return connect(id, qpn);
    }
    /// Connects to a listener of `other`; returns the identifier at its end.
    std::uint32_t establish(const char* address, std::uint16_t port, std::uint32_t qpn,
                            CmClient& other) {
        EXPECT_EQ(ask(address, port, qpn), 0);
        EXPECT_EQ(other.wait_event(), kRequest);
        const std::uint32_t passive = other.event.id;
        EXPECT_EQ(other.accept(passive, 300 + qpn, qpn + 1), 0);
        EXPECT_EQ(wait_event(), kResponse);
        EXPECT_EQ(event.param.conn.qp_num, qpn + 1);
        EXPECT_EQ(accept(id, 0, 0, true), 0);
        EXPECT_EQ(other.wait_event(), kEstablished);
        EXPECT_EQ(other.event.uid, 300 + qpn);
        EXPECT_EQ(other.event.id, passive);
        return passive;
    }
    rdma_ucm_query_addr_resp addresses(std::uint32_t which,
                                       std::uint32_t option = RDMA_USER_CM_QUERY_ADDR) {
        rdma_ucm_query_addr_resp answer{};
        const rdma_ucm_query cmd{reinterpret_cast<std::uintptr_t>(&answer), which, option};
        EXPECT_EQ(command(RDMA_USER_CM_CMD_QUERY, cmd, sizeof answer), 0);
        return answer;
    }
    [[nodiscard]] bool readable(int timeout_ms = 0) const {
        pollfd p{client_.socket(), POLLIN, 0};
        return ::poll(&p, 1, timeout_ms) == 1;
    }

    std::uint32_t id = 0;          ///< set by create()
    std::uint32_t group = 0;       ///< set by join_group()
    std::uint32_t reported = 0;    ///< set by destroy() and leave_group()
    std::uint32_t idle_token = 0;  ///< of the last command
    rdma_ucm_event_resp event{};

  private:
    uverbs::test::Client client_;
};

}  // namespace dingo::rdma_cm::test
