// SPDX-License-Identifier: BSD-2-Clause
// The commands of rdma_ucm on a complete card: connections of two descriptors over its QP1, errnos,
// events and their token, and what remains of a client that has disconnected.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "../uverbs/running_card.h"
#include "cm_client.h"
#include "host/rdma_cm/file.h"

namespace dingo::rdma_cm::test {
namespace {

class Ucma : public ::testing::Test {
  protected:
    uverbs::test::RunningCard card{1024, 16U << 20, true};
    CmClient server{card.directory};
    CmClient client{card.directory};

    int count(const char* name) const { return card.stats()["rdma_cm"][name].get<int>(); }
    bool wait_count(const char* name, int value) const {
        for (int n = 0; n < 3000; ++n) {
            if (count(name) == value) {
                return true;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        return false;
    }
    void listen(std::uint16_t port, std::uint32_t backlog = 0) {
        listen("10.77.0.1", port, backlog);
    }
    void listen(const char* address, std::uint16_t port, std::uint32_t backlog = 0) {
        ASSERT_EQ(server.create(100), 0);
        listener = server.id;
        ASSERT_EQ(server.bind(listener, ipv4(address, port)), 0);
        ASSERT_EQ(server.listen(listener, backlog), 0);
    }
    /// Runs all steps up to CONNECT and returns its result.
    int ask(std::uint16_t port, std::uint32_t qpn) { return client.ask("10.77.0.1", port, qpn); }
    /// Establishes a connection; returns the server's identifier.
    std::uint32_t establish(std::uint16_t port, std::uint32_t qpn) {
        return client.establish("10.77.0.1", port, qpn, server);
    }
    static std::string address_of(const __kernel_sockaddr_storage& storage) {
        sockaddr_in6 a{};
        std::memcpy(&a, &storage, sizeof a);
        const bool ipv4 = a.sin6_family == AF_INET;
        std::array<char, INET6_ADDRSTRLEN> text{};
        ::inet_ntop(
            a.sin6_family,
            reinterpret_cast<const char*>(&storage) +
                (ipv4 ? offsetof(sockaddr_in, sin_addr) : offsetof(sockaddr_in6, sin6_addr)),
            text.data(), text.size());
        return text.data();
    }
    /// Returns the text of an address of family AF_IB.
    static std::string gid_of(const __kernel_sockaddr_storage& storage) {
        std::array<char, INET6_ADDRSTRLEN> text{};
        ::inet_ntop(AF_INET6, reinterpret_cast<const char*>(&storage) + 8, text.data(),
                    text.size());
        return text.data();
    }
    std::uint32_t listener = 0;
};

TEST_F(Ucma, ConnectsAndDisconnectsThroughQp1) {
    listen(7471);
    const std::uint32_t passive = establish(7471, 0x100);
    EXPECT_EQ(server.event.id, passive);
    ASSERT_EQ(client.command(RDMA_USER_CM_CMD_DISCONNECT, rdma_ucm_disconnect{client.id}), 0);
    EXPECT_EQ(server.wait_event(), kDisconnected);
    ASSERT_EQ(server.command(RDMA_USER_CM_CMD_DISCONNECT, rdma_ucm_disconnect{passive}), 0);
    EXPECT_EQ(client.wait_event(), kDisconnected);
    EXPECT_EQ(client.destroy(client.id), 0);
    EXPECT_EQ(client.reported, 4U);
}

TEST_F(Ucma, RequestCarriesTheApplicationsData) {
    listen(7471);
    ASSERT_EQ(ask(7471, 0x100), 0);
    ASSERT_EQ(server.wait_event(), kRequest);
    EXPECT_EQ(server.event.uid, 100U);
    EXPECT_EQ(server.event.param.conn.private_data_len, 56);
    EXPECT_EQ(std::memcmp(server.event.param.conn.private_data, "abc\0", 4), 0);
    rdma_ucm_query_addr_resp addresses{};
    const rdma_ucm_query cmd{reinterpret_cast<std::uintptr_t>(&addresses), server.event.id,
                             RDMA_USER_CM_QUERY_ADDR};
    ASSERT_EQ(server.command(RDMA_USER_CM_CMD_QUERY, cmd, sizeof addresses), 0);
    EXPECT_EQ(addresses.port_num, 1);
    EXPECT_NE(addresses.node_guid, 0U);
    sockaddr_in source{};
    std::memcpy(&source, &addresses.src_addr, sizeof source);
    EXPECT_EQ(ntohs(source.sin_port), 7471);
}

TEST_F(Ucma, RequestIsNoIdentifierBeforeItsEventIsRead) {
    listen(7471);
    CmClient second(card.directory);
    ASSERT_EQ(ask(7471, 0x100), 0);
    ASSERT_TRUE(wait_count("ids", 3));
    for (std::uint32_t n = 0; n < 8; ++n) {
        if (n != listener) {
            EXPECT_EQ(server.destroy(n), -EINVAL) << n;
            EXPECT_TRUE(n == client.id || second.migrate(server, n) == -EINVAL) << n;
        }
    }
    ASSERT_EQ(second.migrate(server, listener), 0) << "the request goes with its listener";
    EXPECT_EQ(second.wait_event(), kRequest);
    EXPECT_EQ(second.destroy(second.event.id), 0);
    EXPECT_EQ(client.wait_event(), kRejected);
    ASSERT_EQ(ask(7471, 0x200), 0);
    ASSERT_TRUE(wait_count("ids", 4));
    EXPECT_EQ(second.destroy(listener), 0);
    EXPECT_TRUE(wait_count("ids", 2)) << "an unread one ends with its listener";
}

TEST_F(Ucma, EventsThatNobodyReadsAreLimited) {
    ASSERT_EQ(client.create(5), 0);
    const auto resolve = [&] { return client.resolve(client.id, ipv4("10.77.0.99", 1), 0); };
    std::size_t made = 0;
    int result = 0;
    for (; made <= 2 * File::kMostEvents && result != -ENOMEM; made += result == 0 ? 1 : 0) {
        result = resolve();
        ASSERT_TRUE(result == 0 || result == -EINVAL || result == -ENOMEM) << result;
    }
    EXPECT_EQ(made, File::kMostEvents);
    EXPECT_EQ(client.get_event(), 0);
    EXPECT_EQ(resolve(), 0) << "there is room again";
    EXPECT_EQ(server.create(6), 0);
}

TEST_F(Ucma, AddressThatDoesNotAnswerLeavesTheSourceOpen) {
    ASSERT_EQ(client.create(5), 0);
    ASSERT_EQ(client.resolve(client.id, ipv4("10.77.0.99", 1), 1), 0);
    ASSERT_EQ(client.wait_event(), kUnresolved);
    const rdma_ucm_query_addr_resp addresses = client.addresses(client.id);
    EXPECT_EQ(address_of(addresses.src_addr), "0.0.0.0");
    EXPECT_EQ(addresses.node_guid, 0U) << "no device";
    EXPECT_EQ(client.resolve(client.id, ipv4("10.77.0.1", 1)), 0);
    EXPECT_EQ(client.wait_event(), kResolved);
    EXPECT_EQ(address_of(client.addresses(client.id).src_addr), "10.77.0.1");
}

TEST_F(Ucma, QpAttributesAreTheConnections) {
    listen(7471);
    ASSERT_EQ(ask(7471, 0x100), 0);
    ASSERT_EQ(server.wait_event(), kRequest);
    const std::uint32_t passive = server.event.id;
    const std::uint8_t timeout = 21;
    const rdma_ucm_set_option option{reinterpret_cast<std::uintptr_t>(&timeout), passive,
                                     RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, sizeof timeout};
    ASSERT_EQ(server.command(RDMA_USER_CM_CMD_SET_OPTION, option), 0);
    ib_uverbs_qp_attr attr{};
    const auto query = [&](std::uint32_t state) {
        const rdma_ucm_init_qp_attr cmd{reinterpret_cast<std::uintptr_t>(&attr), passive, state};
        return server.command(RDMA_USER_CM_CMD_INIT_QP_ATTR, cmd, sizeof attr);
    };
    ASSERT_EQ(query(1), 0);
    EXPECT_EQ(attr.port_num, 1);
    ASSERT_EQ(query(2), 0);
    EXPECT_EQ(attr.dest_qp_num, 0x100U);
    EXPECT_EQ(attr.path_mtu, 5);
    EXPECT_EQ(attr.ah_attr.is_global, 1);
    EXPECT_EQ(attr.ah_attr.grh.dgid[15], 1);
    ASSERT_EQ(query(3), 0);
    EXPECT_EQ(attr.timeout, 21);
    EXPECT_EQ(attr.retry_cnt, 7);
}

TEST_F(Ucma, OlderCommandsDoTheSame) {
    ASSERT_EQ(client.create(1), 0);
    const sockaddr_in source = ipv4("10.77.0.1", 0);
    const sockaddr_in target = ipv4("10.77.0.1", 7471);
    rdma_ucm_bind_ip bind{};
    bind.id = client.id;
    std::memcpy(&bind.addr, &source, sizeof source);
    ASSERT_EQ(client.command(RDMA_USER_CM_CMD_BIND_IP, bind), 0);
    rdma_ucm_resolve_ip resolve{};
    resolve.id = client.id;
    resolve.timeout_ms = 2000;
    std::memcpy(&resolve.dst_addr, &target, sizeof target);
    ASSERT_EQ(client.command(RDMA_USER_CM_CMD_RESOLVE_IP, resolve), 0);
    ASSERT_EQ(client.wait_event(), kResolved);
    ASSERT_EQ(
        client.command(RDMA_USER_CM_CMD_RESOLVE_ROUTE, rdma_ucm_resolve_route{client.id, 2000}), 0);
    ASSERT_EQ(client.wait_event(), kRouted);
    rdma_ucm_query_route_resp route{};
    const rdma_ucm_query query{reinterpret_cast<std::uintptr_t>(&route), client.id, 0};
    ASSERT_EQ(client.command(RDMA_USER_CM_CMD_QUERY_ROUTE, query, sizeof route), 0);
    EXPECT_EQ(route.num_paths, 1U);
    EXPECT_EQ(route.port_num, 1);
    EXPECT_EQ(route.ib_route[0].mtu, 5U);
    EXPECT_EQ(route.ib_route[0].dgid[15], 1);
    EXPECT_EQ(route.dst_addr.sin6_port, htons(7471));  // at the same offset for IPv4
}

TEST_F(Ucma, NobodyListensIsRejectedWithStatusEight) {
    ASSERT_EQ(ask(7471, 0x100), 0);
    EXPECT_EQ(client.wait_event(), kRejected);
    EXPECT_EQ(client.event.status, 8U);
}

TEST_F(Ucma, BacklogIsWhatNobodyHasRead) {
    listen(7471, 1);
    ASSERT_EQ(ask(7471, 0x100), 0);
    ASSERT_TRUE(wait_count("ids", 3));
    ASSERT_EQ(ask(7471, 0x200), 0);
    EXPECT_EQ(client.wait_event(), kRejected);
    EXPECT_EQ(server.wait_event(), kRequest);
    ASSERT_EQ(ask(7471, 0x300), 0);
    EXPECT_EQ(server.wait_event(), kRequest);
}

TEST_F(Ucma, ClientThatGoesLeavesNothingAndTellsItsPeers) {
    listen(7471);
    establish(7471, 0x100);
    ASSERT_EQ(ask(7471, 0x200), 0);
    ASSERT_EQ(server.wait_event(), kRequest);
    client.close();
    EXPECT_EQ(server.wait_event(), kDisconnected);
    server.close();
    EXPECT_TRUE(wait_count("ids", 0));
    EXPECT_TRUE(wait_count("listeners", 0));
    EXPECT_TRUE(wait_count("communications", 0));
}

TEST_F(Ucma, HostThatIsSilentIsAskedUntilTheCallersTimeout) {
    constexpr auto kTimeout = std::chrono::milliseconds(3500);  // longer than the tries for one
                                                                // neighbour
    ASSERT_EQ(client.create(1), 0);
    const auto began = std::chrono::steady_clock::now();
    ASSERT_EQ(client.resolve(client.id, ipv4("10.77.0.9", 1), kTimeout.count()), 0);
    EXPECT_EQ(client.wait_event(), kUnresolved);
    EXPECT_EQ(static_cast<int>(client.event.status), -ETIMEDOUT);
    EXPECT_GE(std::chrono::steady_clock::now() - began, kTimeout);
}

TEST_F(Ucma, TokenIsThereExactlyWhileEventsAre) {
    EXPECT_EQ(client.get_event(), -EAGAIN);
    EXPECT_FALSE(client.readable());
    ASSERT_EQ(client.create(1), 0);
    const std::uint32_t first = client.id;
    ASSERT_EQ(client.resolve(first, ipv4("10.77.0.1", 1)), 0);
    ASSERT_EQ(client.create(2), 0);
    ASSERT_EQ(client.resolve(client.id, ipv4("10.77.0.1", 1)), 0);
    ASSERT_EQ(client.wait_event(), kResolved);
    ASSERT_EQ(client.wait_event(), kResolved);
    EXPECT_FALSE(client.readable());
    ASSERT_EQ(client.command(RDMA_USER_CM_CMD_RESOLVE_ROUTE, rdma_ucm_resolve_route{first, 1}), 0);
    EXPECT_TRUE(client.readable());
    ASSERT_EQ(client.destroy(first), 0);
    EXPECT_FALSE(client.readable()) << "its event went with it";
    EXPECT_EQ(client.get_event(), -EAGAIN);
}

TEST_F(Ucma, EventThatWasReadBeforeItsTokenCameLeavesNone) {
    ASSERT_EQ(client.create(1), 0);
    ASSERT_EQ(client.resolve(client.id, ipv4("10.77.0.1", 1)), 0);
    ASSERT_TRUE(client.readable(10'000));
    ASSERT_EQ(client.get_event(false), 0);
    EXPECT_EQ(client.idle_token, DINGO_UVERBS_IDLE_HERE);
    client.take_out_idle();
    EXPECT_FALSE(client.readable());
}

TEST_F(Ucma, EventThatComesWhileAnIdleTokenIsTakenOutIsTold) {
    ASSERT_EQ(client.create(1), 0);
    const std::uint32_t first = client.id;
    ASSERT_EQ(client.resolve(first, ipv4("10.77.0.1", 1)), 0);
    ASSERT_TRUE(client.readable(10'000));
    ASSERT_EQ(client.get_event(false), 0);
    ASSERT_TRUE(client.take_token());
    ASSERT_EQ(client.command(RDMA_USER_CM_CMD_RESOLVE_ROUTE, rdma_ucm_resolve_route{first, 1}), 0);
    EXPECT_EQ(client.idle_token, 0U);
    EXPECT_EQ(client.give_back_token(), 0);
    EXPECT_TRUE(client.readable());
    EXPECT_EQ(client.wait_event(), kRouted);
}

TEST_F(Ucma, IdentifierMovesWithItsEvents) {
    CmClient second(card.directory);
    ASSERT_EQ(client.create(7), 0);
    ASSERT_EQ(client.resolve(client.id, ipv4("10.77.0.1", 1)), 0);
    for (int n = 0; n < 1000 && !client.readable(); ++n) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ASSERT_EQ(second.migrate(client, client.id), 0);
    EXPECT_FALSE(client.readable()) << "its event is at the other descriptor";
    EXPECT_EQ(client.get_event(), -EAGAIN);
    EXPECT_EQ(second.wait_event(), kResolved);
    EXPECT_EQ(client.destroy(client.id), -EINVAL);
    EXPECT_EQ(second.destroy(client.id), 0);
}

TEST_F(Ucma, OtherProcessesCannotTakeAnIdentifier) {
    ASSERT_EQ(client.create(7), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        CmClient thief(card.directory);
        rdma_ucm_migrate_resp answer{};
        const rdma_ucm_migrate_id cmd{reinterpret_cast<std::uintptr_t>(&answer), client.id, 0};
        const int result = thief.command(RDMA_USER_CM_CMD_MIGRATE_ID, cmd, sizeof answer);
        ::_exit(result == -EINVAL ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_EQ(client.destroy(client.id), 0);
}

TEST_F(Ucma, ErrnosAreTheKernels) {
    ASSERT_EQ(client.create(1), 0);
    const std::uint32_t mine = client.id;
    EXPECT_EQ(client.create(1, 0x999), -EINVAL);
    EXPECT_EQ(server.destroy(mine), -EINVAL);
    EXPECT_EQ(client.bind(mine, ipv4("10.77.0.9", 1)), -EADDRNOTAVAIL);
    EXPECT_EQ(client.connect(mine, 5), -EINVAL);
    EXPECT_EQ(client.resolve(mine, ipv4("10.99.0.1", 1)), -ENETUNREACH);
    EXPECT_EQ(client.listen(mine), 0);
    EXPECT_EQ(client.command(RDMA_USER_CM_CMD_GET_OPTION, mine), -ENOSYS);
    EXPECT_EQ(client.command(99, mine), -EINVAL);
    rdma_ucm_init_qp_attr attr{0, mine, 1};
    EXPECT_EQ(client.command(RDMA_USER_CM_CMD_INIT_QP_ATTR, attr, 144), -EINVAL);
    rdma_ucm_create_id create{};
    create.ps = RDMA_PS_TCP;
    EXPECT_EQ(client.command(RDMA_USER_CM_CMD_CREATE_ID, create, 0), -ENOSPC);
    EXPECT_EQ(client.command(RDMA_USER_CM_CMD_CREATE_ID, create, 4), -EFAULT);
    EXPECT_EQ(count("ids"), 1) << "those that could not be told are gone";
    EXPECT_EQ(client.write(uverbs::test::Bytes(3)), -EINVAL);
    const rdma_ucm_cmd_hdr longer{RDMA_USER_CM_CMD_LISTEN, 100, 0};
    uverbs::test::Bytes bytes;
    uverbs::test::append(bytes, longer);
    EXPECT_EQ(client.write(bytes), -EINVAL);
}

TEST_F(Ucma, LoopbackListenerIsAWildcard) {
    ASSERT_EQ(server.create(100), 0);
    listener = server.id;
    ASSERT_EQ(server.bind(listener, ipv4("127.0.0.1", 7471)), 0);
    EXPECT_EQ(server.addresses(listener).port_num, 0) << "no device is chosen by it";
    ASSERT_EQ(server.listen(listener), 0);
    ASSERT_EQ(client.create(1), 0);
    EXPECT_EQ(client.bind(client.id, ipv4("10.77.0.1", 7471)), -EADDRINUSE);
    establish(7471, 0x100);
}

TEST_F(Ucma, LoopbackLeadsToTheCardItself) {
    listen("0.0.0.0", 7471);
    client.establish("127.0.0.1", 7471, 0x100, server);
    for (CmClient* const end : {&client, &server}) {
        const std::uint32_t id = end == &client ? client.id : server.event.id;
        const rdma_ucm_query_addr_resp ip = end->addresses(id);
        EXPECT_NE(ip.node_guid, 0U);
        EXPECT_EQ(address_of(ip.src_addr), "127.0.0.1");
        EXPECT_EQ(address_of(ip.dst_addr), "127.0.0.1");
        const rdma_ucm_query_addr_resp gids = end->addresses(id, RDMA_USER_CM_QUERY_GID);
        EXPECT_EQ(gid_of(gids.src_addr), "::ffff:10.77.0.1") << "the wire knows no loopback";
        EXPECT_EQ(gid_of(gids.dst_addr), "::ffff:10.77.0.1");
    }
}

TEST_F(Ucma, LoopbackIsNotTheCardsOwnAddressToAListener) {
    listen("10.77.0.1", 7471);
    ASSERT_EQ(client.ask("127.0.0.1", 7471, 0x100), 0);
    EXPECT_EQ(client.wait_event(), kRejected);
    EXPECT_EQ(client.event.status, 8U);
}

TEST_F(Ucma, AnAddressThatIsBoundStaysTheSourceOfLoopback) {
    ASSERT_EQ(client.create(1), 0);
    ASSERT_EQ(client.bind(client.id, ipv4("10.77.0.1", 0)), 0);
    ASSERT_EQ(client.resolve(client.id, ipv4("127.0.0.1", 7471)), 0);
    ASSERT_EQ(client.wait_event(), kResolved);
    EXPECT_EQ(address_of(client.addresses(client.id).src_addr), "10.77.0.1");
    EXPECT_EQ(address_of(client.addresses(client.id).dst_addr), "127.0.0.1");
}

TEST_F(Ucma, FromLoopbackNoOtherHostIsReached) {
    ASSERT_EQ(client.create(1), 0);
    ASSERT_EQ(client.bind(client.id, ipv4("127.0.0.1", 0)), 0);
    EXPECT_EQ(client.resolve(client.id, ipv4("10.77.0.2", 7471)), -EINVAL);
    EXPECT_EQ(client.resolve(client.id, ipv4("10.77.0.1", 7471)), 0);
    ASSERT_EQ(client.wait_event(), kResolved);
    EXPECT_EQ(address_of(client.addresses(client.id).src_addr), "10.77.0.1");
}

TEST_F(Ucma, LoopbackOfIpv6WorksOnACardWithoutSuchAnAddress) {
    ASSERT_EQ(server.create(100), 0);
    ASSERT_EQ(server.bind(server.id, ipv6("::1", 7471)), 0);
    ASSERT_EQ(server.listen(server.id), 0);
    ASSERT_EQ(client.create(1), 0);
    ASSERT_EQ(client.resolve(client.id, ipv6("::1", 7471)), 0);
    ASSERT_EQ(client.wait_event(), kResolved);
    EXPECT_EQ(address_of(client.addresses(client.id).src_addr), "::1");
    ASSERT_EQ(
        client.command(RDMA_USER_CM_CMD_RESOLVE_ROUTE, rdma_ucm_resolve_route{client.id, 2000}), 0);
    ASSERT_EQ(client.wait_event(), kRouted);
    ASSERT_EQ(client.connect(client.id, 0x100), 0);
    EXPECT_EQ(server.wait_event(), kRequest);
}

TEST_F(Ucma, GroupIsResolvedWithoutANeighbour) {
    ASSERT_EQ(client.create(1, RDMA_PS_UDP), 0);
    ASSERT_EQ(client.resolve(client.id, ipv4("239.1.2.3", 0)), 0);
    ASSERT_EQ(client.wait_event(), kResolved);
    EXPECT_EQ(address_of(client.addresses(client.id).src_addr), "10.77.0.1");
    ASSERT_EQ(client.create(2, RDMA_PS_UDP), 0);
    EXPECT_EQ(client.resolve(client.id, ipv6("ff0e::17", 0)), 0) << "by the link-local address";
    EXPECT_EQ(client.wait_event(), kResolved);
}

TEST_F(Ucma, PortThatIsTakenIsRefused) {
    listen(7471);
    ASSERT_EQ(client.create(1), 0);
    EXPECT_EQ(client.bind(client.id, ipv4("10.77.0.1", 7471)), -EADDRINUSE);
    EXPECT_EQ(client.bind(client.id, ipv4("0.0.0.0", 7471)), -EADDRINUSE);
    EXPECT_EQ(client.bind(client.id, ipv4("10.77.0.1", 7472)), 0);
}

}  // namespace
}  // namespace dingo::rdma_cm::test
