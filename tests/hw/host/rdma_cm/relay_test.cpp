// SPDX-License-Identifier: BSD-2-Clause
// One rdma_cm descriptor of two cards: to which card identifiers move, their lifetime, and attacks
// of a client that hands over something else than a card.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <thread>
#include <tuple>

#include "../../base/trap.h"
#include "../uverbs/running_card.h"
#include "cm_client.h"
#include "host/uverbs/message.h"

namespace dingo::rdma_cm::test {
namespace {

using uverbs::test::Request;
using uverbs::test::RunningCard;

/// Hands over the connection `link`.
int join(CmClient& client, int link) {
    Request r(DINGO_UVERBS_RDMA_CM_JOIN);
    r.fds = {link};
    return client.raw().send(r).result();
}

class UcmaRelay : public ::testing::Test {
  protected:
    /// A descriptor of the view of both cards, served by `home`.
    class View : public CmClient {
      public:
        View(const RunningCard& home, const RunningCard& other) : CmClient(home.directory) {
            const uverbs::test::Client link(other.directory, false, "/rdma_cm.sock");
            joined = join(*this, link.socket());
        }
        int joined = -1;
    };

    std::unique_ptr<RunningCard> first = std::make_unique<RunningCard>(1024, 16U << 20, true, 1);
    std::unique_ptr<RunningCard> second = std::make_unique<RunningCard>(1024, 16U << 20, true, 2);
    View server{*first, *second};
    View client{*first, *second};

    static int count(const RunningCard& card, const char* name) {
        return card.stats()["rdma_cm"][name].get<int>();
    }
    static bool wait_count(const RunningCard& card, const char* name, int value) {
        for (int n = 0; n < 3000; ++n) {
            if (count(card, name) == value) {
                return true;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        return false;
    }
    static std::uint32_t listen(CmClient& at, const char* address, std::uint16_t port,
                                std::uint32_t backlog = 0) {
        EXPECT_EQ(at.create(100), 0);
        EXPECT_EQ(at.bind(at.id, ipv4(address, port)), 0);
        EXPECT_EQ(at.listen(at.id, backlog), 0);
        return at.id;
    }
    int ask(const char* address, std::uint16_t port, std::uint32_t qpn) {
        return client.ask(address, port, qpn);
    }
    std::uint32_t establish(const char* address, std::uint16_t port, std::uint32_t qpn,
                            CmClient& passive_end) {
        return client.establish(address, port, qpn, passive_end);
    }
    static std::uint16_t port_of(const rdma_ucm_query_addr_resp& answer) {
        sockaddr_in source{};
        std::memcpy(&source, &answer.src_addr, sizeof source);
        return ntohs(source.sin_port);
    }
};

TEST_F(UcmaRelay, AddressLeadsToTheCardThatHasIt) {
    ASSERT_EQ(client.joined, 0);
    ASSERT_EQ(client.create(1), 0);
    const std::uint32_t here = client.id;
    ASSERT_EQ(client.bind(here, ipv4("10.77.0.1", 7471)), 0);
    ASSERT_EQ(client.create(2), 0);
    const std::uint32_t there = client.id;
    ASSERT_EQ(client.bind(there, ipv4("10.77.0.2", 7471)), 0);
    EXPECT_NE(client.addresses(here).node_guid, 0U);
    EXPECT_NE(client.addresses(there).node_guid, 0U);
    EXPECT_NE(client.addresses(here).node_guid, client.addresses(there).node_guid);
    EXPECT_EQ(client.bind(there, ipv4("10.77.0.1", 7472)), -EINVAL) << "it has an address";
    ASSERT_EQ(client.create(3), 0);
    EXPECT_EQ(client.bind(client.id, ipv4("10.77.0.9", 1)), -EADDRNOTAVAIL);
    EXPECT_EQ(client.resolve(client.id, ipv4("10.99.0.1", 1)), -ENETUNREACH);
}

TEST_F(UcmaRelay, ConnectsAtTheOtherCard) {
    listen(server, "10.77.0.2", 7471);
    const std::uint32_t passive = establish("10.77.0.2", 7471, 0x100, server);
    EXPECT_NE(passive, client.id) << "numbers are one card's";
    ib_uverbs_qp_attr attr{};
    const rdma_ucm_init_qp_attr query{reinterpret_cast<std::uintptr_t>(&attr), passive, 2};
    ASSERT_EQ(server.command(RDMA_USER_CM_CMD_INIT_QP_ATTR, query, sizeof attr), 0);
    EXPECT_EQ(attr.dest_qp_num, 0x100U);
    EXPECT_EQ(attr.ah_attr.grh.dgid[15], 2);
    ASSERT_EQ(client.command(RDMA_USER_CM_CMD_DISCONNECT, rdma_ucm_disconnect{client.id}), 0);
    EXPECT_EQ(server.wait_event(), kDisconnected);
    ASSERT_EQ(server.command(RDMA_USER_CM_CMD_DISCONNECT, rdma_ucm_disconnect{passive}), 0);
    EXPECT_EQ(client.wait_event(), kDisconnected);
    EXPECT_EQ(client.destroy(client.id), 0);
    EXPECT_EQ(client.reported, 4U);
    EXPECT_EQ(server.destroy(passive), 0);
    EXPECT_EQ(count(*second, "ids"), 1) << "the listener alone";
}

TEST_F(UcmaRelay, GroupIsJoinedAtTheCardOfTheIdentifier) {
    const sockaddr_in group = ipv4("239.1.2.3", 0);
    ASSERT_EQ(client.create(7, RDMA_PS_UDP), 0);
    const std::uint32_t here = client.id;
    ASSERT_EQ(client.bind(here, ipv4("10.77.0.1", 0)), 0);
    ASSERT_EQ(client.create(8, RDMA_PS_UDP), 0);
    const std::uint32_t there = client.id;
    ASSERT_EQ(client.bind(there, ipv4("10.77.0.2", 0)), 0);
    // The join's number there is already used here.
    ASSERT_EQ(client.join_group(here, group, 0x5000), 0);
    const std::uint32_t of_here = client.group;
    ASSERT_EQ(client.wait_event(), kJoined);
    ASSERT_EQ(client.join_group(there, group, 0x6000), 0);
    const std::uint32_t of_there = client.group;
    EXPECT_NE(of_there, of_here);
    EXPECT_EQ(count(*second, "joins"), 1);
    ASSERT_EQ(client.wait_event(), kJoined);
    EXPECT_EQ(client.event.uid, 0x6000U);
    EXPECT_EQ(client.event.id, of_there);
    EXPECT_EQ(client.event.param.ud.qp_num, 0xffffffU);
    EXPECT_EQ(client.join_group(there, ipv4("10.77.0.2", 0), 1), -EINVAL);
    EXPECT_EQ(count(*first, "joins"), 2) << "the one that was refused is not kept";

    EXPECT_EQ(client.leave_group(of_there), 0);
    EXPECT_EQ(client.reported, 1U);
    EXPECT_TRUE(wait_count(*second, "joins", 0));
    EXPECT_EQ(client.leave_group(of_there), -ENOENT);
    EXPECT_EQ(client.leave_group(of_here), 0);
    ASSERT_EQ(client.join_group(there, group, 1), 0);
    EXPECT_EQ(client.destroy(there), 0);
    EXPECT_EQ(count(*second, "joins"), 0) << "it goes with the identifier";
    EXPECT_EQ(count(*first, "joins"), 0);
}

TEST_F(UcmaRelay, JoinThatWasLeftIsNotHeardOf) {
    ASSERT_EQ(client.create(8, RDMA_PS_UDP), 0);
    ASSERT_EQ(client.bind(client.id, ipv4("10.77.0.2", 0)), 0);
    for (int round = 0; round < 20; ++round) {
        ASSERT_EQ(client.join_group(client.id, ipv4("239.1.2.3", 0), 0x5000), 0);
        ASSERT_EQ(client.leave_group(client.group), 0);
        if (client.reported == 0) {
            EXPECT_FALSE(client.readable(1));
        }
    }
    EXPECT_TRUE(wait_count(*second, "joins", 0));
}

TEST_F(UcmaRelay, JoinMovesWithItsIdentifier) {
    ASSERT_EQ(client.create(8, RDMA_PS_UDP), 0);
    const std::uint32_t id = client.id;
    ASSERT_EQ(client.bind(id, ipv4("10.77.0.2", 0)), 0);
    ASSERT_EQ(client.join_group(id, ipv4("239.1.2.3", 0), 0x5000), 0);
    const std::uint32_t group = client.group;
    ASSERT_EQ(client.wait_event(), kJoined);
    ASSERT_EQ(server.migrate(client, id), 0);
    ASSERT_EQ(server.join_group(id, ipv4("239.1.2.4", 0), 0x6000), 0);
    ASSERT_EQ(server.wait_event(), kJoined);
    EXPECT_EQ(server.event.uid, 0x6000U);
    EXPECT_EQ(client.leave_group(group), -EINVAL);
    EXPECT_EQ(server.leave_group(group), 0);
    EXPECT_EQ(server.reported, 1U);
    EXPECT_TRUE(wait_count(*second, "joins", 1));
}

TEST_F(UcmaRelay, JoinOutlivesItsCardUntilItIsLeft) {
    ASSERT_EQ(client.create(8, RDMA_PS_UDP), 0);
    const std::uint32_t id = client.id;
    ASSERT_EQ(client.bind(id, ipv4("10.77.0.2", 0)), 0);
    ASSERT_EQ(client.join_group(id, ipv4("239.1.2.3", 0), 0x5000), 0);
    const std::uint32_t group = client.group;
    ASSERT_EQ(client.wait_event(), kJoined);
    second.reset();
    ASSERT_EQ(client.wait_event(), kRemoval);
    EXPECT_EQ(client.join_group(id, ipv4("239.1.2.4", 0), 0x6000), -EIO);
    EXPECT_EQ(client.leave_group(group), 0);
    EXPECT_EQ(client.reported, 1U);
}

TEST_F(UcmaRelay, WildcardListensAtBothCards) {
    const std::uint32_t listener = listen(server, "0.0.0.0", 7471);
    EXPECT_EQ(count(*first, "listeners"), 1);
    EXPECT_EQ(count(*second, "listeners"), 1);
    establish("10.77.0.1", 7471, 0x100, server);
    establish("10.77.0.2", 7471, 0x200, server);
    EXPECT_EQ(server.destroy(listener), 0);
    EXPECT_EQ(count(*first, "listeners"), 0);
    EXPECT_EQ(count(*second, "listeners"), 0);
}

TEST_F(UcmaRelay, ListenerWithoutAnAddressListensAtBothCards) {
    ASSERT_EQ(server.create(100), 0);
    ASSERT_EQ(server.listen(server.id), 0);
    EXPECT_EQ(count(*second, "listeners"), 1);
    establish("10.77.0.2", port_of(server.addresses(server.id)), 0x100, server);
}

TEST_F(UcmaRelay, BacklogIsOneForAllCards) {
    listen(server, "0.0.0.0", 7471, 1);
    ASSERT_EQ(ask("10.77.0.2", 7471, 0x100), 0);
    ASSERT_TRUE(server.readable(10'000));
    ASSERT_EQ(ask("10.77.0.1", 7471, 0x200), 0);
    EXPECT_EQ(client.wait_event(), kRejected);
    ASSERT_EQ(ask("10.77.0.2", 7471, 0x300), 0);
    EXPECT_EQ(client.wait_event(), kRejected);
    EXPECT_EQ(server.wait_event(), kRequest);
    ASSERT_EQ(ask("10.77.0.2", 7471, 0x400), 0);
    EXPECT_EQ(server.wait_event(), kRequest);
}

TEST_F(UcmaRelay, PortOfAWildcardIsFreeAtAllCards) {
    CmClient holder(second->directory);
    listen(holder, "10.77.0.2", 7471);
    ASSERT_EQ(client.create(1), 0);
    EXPECT_EQ(client.bind(client.id, ipv4("0.0.0.0", 7471)), -EADDRINUSE);
    EXPECT_EQ(count(*first, "ids"), 1);
    EXPECT_EQ(client.bind(client.id, ipv4("0.0.0.0", 7472)), 0) << "it may choose again";
    EXPECT_EQ(holder.create(2), 0);
    EXPECT_EQ(holder.bind(holder.id, ipv4("10.77.0.2", 7472)), -EADDRINUSE);
}

TEST_F(UcmaRelay, WildcardBecomesOneCardsWhenItIsResolved) {
    ASSERT_EQ(client.create(1), 0);
    ASSERT_EQ(client.bind(client.id, ipv4("0.0.0.0", 7475)), 0);
    ASSERT_EQ(client.resolve(client.id, ipv4("10.77.0.2", 7471)), 0);
    EXPECT_EQ(client.wait_event(), kResolved);
    EXPECT_EQ(port_of(client.addresses(client.id)), 7475);
    EXPECT_NE(client.addresses(client.id).node_guid, 0U);
    CmClient other(first->directory);
    ASSERT_EQ(other.create(2), 0);
    EXPECT_EQ(other.bind(other.id, ipv4("10.77.0.1", 7475)), 0) << "the first has it no more";
    ASSERT_EQ(client.create(3), 0);
    ASSERT_EQ(client.bind(client.id, ipv4("0.0.0.0", 7476)), 0);
    ASSERT_EQ(client.resolve(client.id, ipv4("10.77.0.1", 7471)), 0);
    EXPECT_EQ(client.wait_event(), kResolved);
    EXPECT_TRUE(wait_count(*second, "ids", 1)) << "nor the second that of the other one";
}

TEST_F(UcmaRelay, OptionsGoWhereTheAddressLeads) {
    ASSERT_EQ(client.create(1), 0);
    const std::uint8_t timeout = 17;
    const rdma_ucm_set_option option{reinterpret_cast<std::uintptr_t>(&timeout), client.id,
                                     RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, sizeof timeout};
    ASSERT_EQ(client.command(RDMA_USER_CM_CMD_SET_OPTION, option), 0);
    listen(server, "10.77.0.2", 7471);
    ASSERT_EQ(client.resolve(client.id, ipv4("10.77.0.2", 7471)), 0);
    EXPECT_EQ(client.wait_event(), kResolved);
    ASSERT_EQ(
        client.command(RDMA_USER_CM_CMD_RESOLVE_ROUTE, rdma_ucm_resolve_route{client.id, 2000}), 0);
    EXPECT_EQ(client.wait_event(), kRouted);
    ASSERT_EQ(client.connect(client.id, 0x100), 0);
    ASSERT_EQ(server.wait_event(), kRequest);
    ASSERT_EQ(server.accept(server.event.id, 300, 0x101), 0);
    ASSERT_EQ(client.wait_event(), kResponse);
    ib_uverbs_qp_attr attr{};
    const rdma_ucm_init_qp_attr query{reinterpret_cast<std::uintptr_t>(&attr), client.id, 3};
    ASSERT_EQ(client.command(RDMA_USER_CM_CMD_INIT_QP_ATTR, query, sizeof attr), 0);
    EXPECT_EQ(attr.timeout, 17);
}

TEST_F(UcmaRelay, IdentifierMovesWithEventsAndRequests) {
    View third(*first, *second);
    const std::uint32_t listener = listen(server, "0.0.0.0", 7471);
    ASSERT_EQ(ask("10.77.0.2", 7471, 0x100), 0);
    ASSERT_TRUE(server.readable(10'000));
    ASSERT_EQ(third.migrate(server, listener), 0);
    EXPECT_FALSE(server.readable());
    EXPECT_EQ(server.destroy(listener), -EINVAL);
    EXPECT_EQ(third.wait_event(), kRequest);
    EXPECT_EQ(third.accept(third.event.id, 301, 0x101), 0);
    EXPECT_EQ(client.wait_event(), kResponse);
    server.close();
    ASSERT_TRUE(wait_count(*second, "descriptors", 2));
    establish("10.77.0.1", 7471, 0x200, third);
    establish("10.77.0.2", 7471, 0x300, third);
}

TEST_F(UcmaRelay, ClientThatGoesLeavesNothingAtEitherCard) {
    listen(server, "0.0.0.0", 7471);
    establish("10.77.0.1", 7471, 0x100, server);
    establish("10.77.0.2", 7471, 0x200, server);
    client.close();
    EXPECT_EQ(server.wait_event(), kDisconnected);
    EXPECT_EQ(server.wait_event(), kDisconnected);
    server.close();
    for (const auto* const card : {first.get(), second.get()}) {
        EXPECT_TRUE(wait_count(*card, "ids", 0));
        EXPECT_TRUE(wait_count(*card, "listeners", 0));
        EXPECT_TRUE(wait_count(*card, "communications", 0));
        EXPECT_TRUE(wait_count(*card, "descriptors", 0));
    }
}

TEST_F(UcmaRelay, CardThatGoesIsRemovedFromItsIdentifiersAlone) {
    const std::uint32_t listener = listen(server, "0.0.0.0", 7471);
    establish("10.77.0.2", 7471, 0x200, server);
    const std::uint32_t there = client.id;
    second.reset();
    EXPECT_EQ(client.wait_event(), kRemoval);
    EXPECT_EQ(client.event.uid, 200U + 0x200);
    EXPECT_EQ(client.command(RDMA_USER_CM_CMD_DISCONNECT, rdma_ucm_disconnect{there}), -EIO);
    EXPECT_EQ(client.destroy(there), 0);
    EXPECT_EQ(server.wait_event(), kRemoval) << "of the connection";
    establish("10.77.0.1", 7471, 0x300, server);
    EXPECT_EQ(server.destroy(listener), 0);
}

TEST_F(UcmaRelay, ConnectionToTheSameCardIsRefused) {
    CmClient alone(first->directory);
    const uverbs::test::Client again(first->directory, false, "/rdma_cm.sock");
    EXPECT_EQ(join(alone, again.socket()), -EEXIST);
    const uverbs::test::Client twice(second->directory, false, "/rdma_cm.sock");
    EXPECT_EQ(join(client, twice.socket()), -EEXIST);
    listen(alone, "0.0.0.0", 7471);
    EXPECT_EQ(count(*first, "listeners"), 1);
}

TEST_F(UcmaRelay, ConnectionToItselfIsRefusedAndLeavesNothing) {
    const int before = count(*first, "descriptors");
    {
        CmClient alone(first->directory);
        EXPECT_LT(join(alone, alone.raw().socket()), 0);
    }
    EXPECT_TRUE(wait_count(*first, "descriptors", before));
}

TEST_F(UcmaRelay, WhatIsNoCardIsRefused) {
    CmClient alone(first->directory);
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe(pipe.data()), 0);
    EXPECT_EQ(join(alone, pipe[0]), -EINVAL);
    ::close(pipe[0]);
    ::close(pipe[1]);
    std::array<int, 2> pair{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair.data()), 0);
    const UniqueFd ended(pair[0]);
    ::close(pair[1]);
    EXPECT_EQ(join(alone, ended.get()), -EIO);
    EXPECT_EQ(join(alone, -1), -EPIPE) << "no descriptor at all";
}

/// The other end of a link, played by the client.
class FalseCard {
  public:
    FalseCard() {
        std::array<int, 2> pair{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()), 0);
        given_.reset(pair[0]);
        mine_.reset(pair[1]);
    }
    [[nodiscard]] int given() const { return given_.get(); }
    /// Answers requests, each with `result`, and writes `bytes` to the answer's address.
    void answer(int requests, int result, const uverbs::test::Bytes& bytes = {}) {
        for (int n = 0; n < requests; ++n) {
            uverbs::Message message;
            pollfd p{mine_.get(), POLLIN, 0};
            ASSERT_EQ(::poll(&p, 1, 10'000), 1);
            ASSERT_EQ(uverbs::receive_message(mine_.get(), message), uverbs::Received::kMessage);
            uverbs::Reply reply;
            if (message.header.type != DINGO_UVERBS_HELLO) {
                std::uint64_t at = message.header.arg;
                if (message.header.type == DINGO_UVERBS_RDMA_CM) {
                    at = read_command(message.payload);
                }
                EXPECT_TRUE(bytes.empty() || message.arguments->write(at, bytes));
                reply.arguments = message.arguments;
            }
            reply.header.type = DINGO_UVERBS_DONE;
            reply.header.result = result;
            uverbs::send_reply(message.reply.get(), reply);
            answers_ = std::move(message.reply);
        }
    }
    /// Returns true if a request comes within ten seconds.
    [[nodiscard]] bool is_asked() const {
        pollfd p{mine_.get(), POLLIN, 0};
        return ::poll(&p, 1, 10'000) == 1;
    }
    void token() { EXPECT_TRUE(try_token()); }
    /// Returns false if the card has closed the link.
    bool try_token() { return ::send(answers_.get(), "", 1, MSG_NOSIGNAL) == 1; }
    /// Sends to the link's own end, which the client has as well.
    void send_to_link() { EXPECT_EQ(::send(mine_.get(), "", 1, MSG_NOSIGNAL), 1); }
    void close() { mine_.reset(); }
    /// Answers HELLO and ROUTES as the card `node_guid`.
    void introduce(std::uint64_t node_guid) {
        dingo_uverbs_cm_routes routes{};
        routes.node_guid = node_guid;
        uverbs::test::Bytes bytes;
        uverbs::test::append(bytes, routes);
        answer(2, 0, bytes);
    }
    /// Answers a request with the identifier `number`.
    void answer_number(std::uint32_t number) {
        uverbs::test::Bytes bytes;
        uverbs::test::append(bytes, rdma_ucm_create_id_resp{number});
        answer(1, 0, bytes);
    }
    /// uid of the last identifier that was created.
    [[nodiscard]] std::uint64_t uid() const { return uid_; }

  private:
    /// Returns the address of the answer, with which many commands begin.
    std::uint64_t read_command(std::span<const std::byte> payload) {
        const auto header = request_of<rdma_ucm_cmd_hdr>(payload);
        const auto body = payload.subspan(sizeof header);
        if (header.cmd == RDMA_USER_CM_CMD_CREATE_ID) {
            uid_ = request_of<rdma_ucm_create_id>(body).uid;
        }
        return header.cmd == RDMA_USER_CM_CMD_CREATE_ID
                   ? request_of<rdma_ucm_create_id>(body).response
                   : request_of<std::uint64_t>(body);
    }

    std::uint64_t uid_ = 0;
    UniqueFd given_;
    UniqueFd mine_;
    ForeignSocket answers_;
};

TEST_F(UcmaRelay, FalseCardHarmsNobodyElse) {
    listen(server, "0.0.0.0", 7471);
    for (const char* const address : {"10.77.0.1", "10.77.0.2"}) {  // joins on both cards
        ASSERT_EQ(server.create(101, RDMA_PS_UDP), 0);
        ASSERT_EQ(server.bind(server.id, ipv4(address, 0)), 0);
        ASSERT_EQ(server.join_group(server.id, ipv4("239.1.2.3", 0), 102), 0);
        ASSERT_EQ(server.wait_event(), kJoined);
    }
    CmClient hostile(first->directory);
    FalseCard card;
    std::thread plays([&card] {
        dingo_uverbs_cm_routes routes{};
        routes.node_guid = 77;
        routes.num_prefixes = ~0U;
        uverbs::test::Bytes bytes;
        uverbs::test::append(bytes, routes);
        card.answer(2, 0, bytes);
    });
    EXPECT_EQ(join(hostile, card.given()), 0);
    plays.join();
    // Events of identifiers and joins that do not exist, or are of this card or of another client.
    for (const EventType type : {EventType::kDisconnected, EventType::kMulticastJoin}) {
        for (std::uint64_t serial = 0; serial < 8; ++serial) {
            for (std::uint64_t number = 0; number < 4; ++number) {
                card.token();
                rdma_ucm_event_resp event{};
                event.uid = serial << 32 | number;
                event.event = static_cast<std::uint32_t>(type);
                uverbs::test::Bytes bytes;
                uverbs::test::append(bytes, event);
                card.answer(1, 0, bytes);
            }
        }
    }
    for (int n = 0; n < 4; ++n) {
        card.try_token();  // more than can be outstanding: the card closes the link sooner or later
    }
    EXPECT_TRUE(wait_count(*first, "descriptors", 3));
    EXPECT_FALSE(server.readable());
    card.close();
    establish("10.77.0.2", 7471, 0x100, server);
    EXPECT_EQ(hostile.create(5), 0);
    EXPECT_EQ(hostile.bind(hostile.id, ipv4("10.77.0.1", 1)), 0) << "the rest of it works on";
}

TEST_F(UcmaRelay, IdentifierWithTwinsStaysWhereItsLinksAre) {
    CmClient without(first->directory);
    CmClient with(first->directory);
    FalseCard card;
    std::thread plays([&card] {
        card.introduce(77);
        card.answer_number(1);
        card.answer(1, 0);  // BIND
    });
    ASSERT_EQ(join(with, card.given()), 0);
    ASSERT_EQ(with.create(1), 0);
    const std::uint32_t id = with.id;
    EXPECT_EQ(with.bind(id, ipv4("0.0.0.0", 7480)), 0);
    plays.join();
    EXPECT_EQ(without.migrate(with, id), -EINVAL);
    EXPECT_EQ(without.destroy(id), -EINVAL);
    card.close();
    with.close();
    EXPECT_TRUE(wait_count(*first, "descriptors", 3));
    EXPECT_EQ(without.create(2), 0);
    EXPECT_EQ(without.bind(without.id, ipv4("0.0.0.0", 7480)), 0) << "it is gone";
}

/// A listener on its way from `from` to `to`, descriptors of this card and two false ones: the
/// first has moved its twin and reported a request, the second does not answer. The request has
/// been read.
struct HalfMoved {
    explicit HalfMoved(const RunningCard& card) : from(card.directory), to(card.directory) {
        for (std::size_t n = 0; n < cards.size(); ++n) {
            std::thread plays([&end = cards.at(n), n] { end.introduce(70 + n % 2); });
            EXPECT_EQ(join(n < 2 ? from : to, cards.at(n).given()), 0);
            plays.join();
        }
        std::thread plays([this] {
            for (const std::size_t n : {0, 1}) {
                cards.at(n).answer_number(1);
                cards.at(n).answer(1, 0);  // BIND
            }
            cards[0].answer(1, 0);  // LISTEN
            cards[1].answer(1, 0);
        });
        EXPECT_EQ(from.create(1), 0);
        listener = from.id;
        EXPECT_EQ(from.bind(listener, ipv4("0.0.0.0", 7480)), 0);
        EXPECT_EQ(from.listen(listener, 4), 0);
        plays.join();
        mover = std::thread([this] { to.migrate(from, listener); });
        cards[2].answer(1, 0);
        rdma_ucm_event_resp request{};
        request.uid = cards[0].uid();
        request.id = 9;
        request.event = kRequest;
        cards[2].token();
        uverbs::test::Bytes event;
        uverbs::test::append(event, request);
        cards[2].answer(1, 0, event);
        EXPECT_EQ(from.wait_event(), kRequest);
        child = from.event.id;
    }

    CmClient from;
    CmClient to;
    std::array<FalseCard, 4> cards;  ///< two, as seen by `from` and by `to`
    std::uint32_t listener = 0;
    std::uint32_t child = 0;
    std::thread mover;
};

/// Ends the client's descriptor, also while a thread waits for an answer.
void end(CmClient& client) {
    ASSERT_EQ(::shutdown(client.raw().socket(), SHUT_RDWR), 0);
}

TEST_F(UcmaRelay, IdentifierThatDoesNotArriveStaysUsable) {
    HalfMoved half(*first);
    std::thread destroyer([&] { EXPECT_EQ(half.from.destroy(half.listener), 0); });  // waits
    EXPECT_TRUE(wait_count(*first, "links", 6));
    end(half.to);
    EXPECT_TRUE(wait_count(*first, "links", 4));
    half.cards[0].close();
    half.cards[1].close();
    half.mover.join();
    destroyer.join();
    rdma_ucm_reject reject{};
    reject.id = half.child;
    EXPECT_EQ(half.from.command(RDMA_USER_CM_CMD_REJECT, reject), -EIO);
    EXPECT_EQ(half.from.destroy(half.child), 0);
}

// The request came over the link of the other descriptor.
TEST_F(UcmaRelay, AnswerForADescriptorThatHasEndedIsDropped) {
    HalfMoved half(*first);
    std::thread accepter([&] { half.from.accept(half.child, 300, 0x100); });
    EXPECT_TRUE(half.cards[2].is_asked());
    end(half.from);
    EXPECT_TRUE(wait_count(*first, "links", 4));
    half.cards[2].answer(1, 0);  // ACCEPT
    EXPECT_TRUE(wait_count(*first, "ids", 0));
    half.cards[3].close();
    half.mover.join();
    accepter.join();
    EXPECT_EQ(server.create(9), 0);
}

// The client reads there into memory that faults: until then the end is locked.
TEST_F(UcmaRelay, ClientThatHoldsTheLinkHoldsNobodyUp) {
    const dingo::test::Trap trap;
    if (!trap.works()) {
        GTEST_SKIP() << "no userfaultfd";
    }
    CmClient hostile(first->directory);
    FalseCard card;
    std::thread plays([&card] { card.introduce(77); });
    ASSERT_EQ(join(hostile, card.given()), 0);
    plays.join();
    card.send_to_link();
    card.send_to_link();
    std::thread reader(
        [&] { std::ignore = ::recv(card.given(), trap.page(), dingo::test::Trap::kBytes, 0); });
    ASSERT_TRUE(trap.wait_until_used());
    EXPECT_TRUE(dingo::test::returns_soon(
        [&] {
            EXPECT_EQ(server.create(9), 0);
            hostile.raw().close();
            card.close();
            EXPECT_EQ(server.create(10), 0) << "while the link ends, too";
        },
        [&] { trap.let_go(); }));
    reader.join();
}

TEST_F(UcmaRelay, SilentCardCostsNoMoreDescriptorsThanItsLimit) {
    CmClient hostile(first->directory);
    FalseCard card;
    std::thread plays([&card] { card.introduce(77); });
    ASSERT_EQ(join(hostile, card.given()), 0);
    plays.join();
    ASSERT_EQ(hostile.create(1), 0);
    const std::size_t before = uverbs::test::open_descriptors();
    std::array<int, 2> answers{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, answers.data()), 0);
    const UniqueFd mine(answers[0]);
    const UniqueFd theirs(answers[1]);
    rdma_ucm_bind body{};
    body.id = hostile.id;
    body.addr_size = sizeof(sockaddr_in);
    const sockaddr_in any = ipv4("0.0.0.0", 0);
    std::memcpy(&body.addr, &any, sizeof any);
    uverbs::test::Bytes payload;
    uverbs::test::append(payload, rdma_ucm_cmd_hdr{RDMA_USER_CM_CMD_BIND, sizeof body, 0});
    uverbs::test::append(payload, body);
    Request request(DINGO_UVERBS_RDMA_CM);
    request.header.payload_len = static_cast<std::uint32_t>(payload.size());
    constexpr int kTries = 2000;
    for (int n = 0; n < kTries; ++n) {
        while (!uverbs::send_request(hostile.raw().socket(), request.header, payload,
                                     std::array{theirs.get()})) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    ASSERT_EQ(hostile.create(2), 0) << "behind all of them";
    EXPECT_LE(uverbs::test::open_descriptors(), before + 400);
    dingo_uverbs_reply refused{};
    ASSERT_EQ(::recv(mine.get(), &refused, sizeof refused, 0),
              static_cast<ssize_t>(sizeof refused));
    EXPECT_EQ(refused.result, -ENOMEM);
    EXPECT_EQ(server.create(9), 0) << "others are served";
}

TEST_F(UcmaRelay, CardThatIsAskedForAnotherAsksNobody) {
    const uverbs::test::Client link(second->directory, false, "/rdma_cm.sock");
    CmClient user(first->directory);
    ASSERT_EQ(join(user, link.socket()), 0);
    Request r(DINGO_UVERBS_RDMA_CM_JOIN);
    const uverbs::test::Client back(first->directory, false, "/rdma_cm.sock");
    r.fds = {back.socket()};
    uverbs::test::Client copy(second->directory, false, "/rdma_cm.sock");
    ASSERT_EQ(::dup2(link.socket(), copy.socket()), copy.socket());
    EXPECT_EQ(copy.send(r).result(), -EINVAL);
}

}  // namespace
}  // namespace dingo::rdma_cm::test
