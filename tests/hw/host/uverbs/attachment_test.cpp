// SPDX-License-Identifier: BSD-2-Clause
#include "host/uverbs/attachment.h"

#include <endian.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <tuple>

#include "still_card.h"

namespace dingo::uverbs::test {
namespace {

TEST_F(StillCard, HearsOfNothingAfterItsEnd) {
    EXPECT_TRUE(bool(driver.on_port_event));
    attachment->unwatch();
    attachment.reset();
    EXPECT_FALSE(bool(driver.on_port_event));
    card.set_link(false);
    EXPECT_TRUE(driver.poll(1));
}

// A card that is not shared, which is the default.
TEST_F(StillCard, OnlyItsOwnerReachesItsSocket) {
    struct stat st {};
    ASSERT_EQ(::stat((directory + "/uverbs.sock").c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 07777U, 0600U);
}

TEST_F(StillCard, ItsHostHearsOfThePortAfterItsClients) {
    Client client(directory, false);
    Verbs verbs(client);
    ASSERT_EQ(serve([&] { return client.hello().result(); }), 0);
    ASSERT_EQ(serve([&] { return verbs.get_context(); }), 0);
    const UniqueFd async(serve([&] { return verbs.async_fd(); }));
    ASSERT_TRUE(bool(async));
    std::vector<int> heard;
    attachment->on_port_event = [&](int event) {
        ib_uverbs_async_event_desc told{};
        EXPECT_EQ(::recv(async.get(), &told, sizeof told, MSG_DONTWAIT),
                  static_cast<ssize_t>(sizeof told));
        EXPECT_EQ(static_cast<int>(told.event_type), event);
        heard.push_back(event);
    };
    for (const bool up : {false, true}) {
        card.set_link(up);
        turn();
    }
    EXPECT_EQ(heard, (std::vector<int>{10, 9})) << "PORT_ERR, PORT_ACTIVE";
}

TEST_F(StillCard, IsNotCalledWhenItIsNotWatched) {
    attachment->unwatch();
    Client client(directory, false);
    EXPECT_FALSE(wakes());
    poller.wait(0);
    EXPECT_EQ(attachment->clients(), 0U);
    attachment->unwatch();  // has no further effect
    attachment->watch(polls);
    EXPECT_EQ(serve([&] { return client.hello().result(); }), 0);
    EXPECT_EQ(attachment->clients(), 1U);
}

TEST_F(StillCard, OutOfDescriptorsItTurnsNewClientsAway) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "UBSan looks at memory through a pipe, for which there are no descriptors";
#endif
    Client first(directory, false);
    ASSERT_EQ(serve([&] { return first.hello().result(); }), 0);
    Client second(directory, false), third(directory, false);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit none = before;
    none.rlim_cur = 3;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    turn();
    turn();
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    turn();
    EXPECT_FALSE(wakes()) << "it would ask for them without end";
    EXPECT_GE(attachment->stats().refused, 1U);
    first.close();
    turn();
    Client fourth(directory, false);
    EXPECT_EQ(serve([&] { return fourth.hello().result(); }), 0);
}

// ibv_query_device(3), ibv_query_port(3), field by field.
TEST_F(StillCard, QueriesTellWhatTheDriverSays) {
    Client client(directory, false);
    Verbs verbs(client);
    ASSERT_EQ(serve([&] { return client.hello().result(); }), 0);
    ASSERT_EQ(serve([&] { return verbs.get_context(); }), 0);
    ib_uverbs_query_device_resp r{};
    ASSERT_GT(serve([&] {
                  return client.command(IB_USER_VERBS_CMD_QUERY_DEVICE,
                                        Verbs::zeroed<ib_uverbs_query_device>(), r);
              }),
              0);
    const DeviceAttr a = driver.query_device();
    const std::tuple<const char*, std::uint64_t, std::uint64_t> fields[] = {
        {"fw_ver", r.fw_ver, a.fw_ver},
        {"node_guid", be64toh(r.node_guid), a.node_guid},
        {"sys_image_guid", be64toh(r.sys_image_guid), a.sys_image_guid},
        {"max_mr_size", r.max_mr_size, a.max_mr_size},
        {"page_size_cap", r.page_size_cap, a.page_size_cap},
        {"vendor_id", r.vendor_id, a.vendor_id},
        {"vendor_part_id", r.vendor_part_id, a.vendor_part_id},
        {"hw_ver", r.hw_ver, a.hw_ver},
        {"max_qp", r.max_qp, a.max_qp},
        {"max_qp_wr", r.max_qp_wr, a.max_qp_wr},
        {"device_cap_flags", r.device_cap_flags, a.device_cap_flags & UINT32_MAX},
        {"max_sge", r.max_sge, a.max_sge},
        {"max_sge_rd", r.max_sge_rd, a.max_sge_rd},
        {"max_cq", r.max_cq, a.max_cq},
        {"max_cqe", r.max_cqe, a.max_cqe},
        {"max_mr", r.max_mr, a.max_mr},
        {"max_pd", r.max_pd, a.max_pd},
        {"max_qp_rd_atom", r.max_qp_rd_atom, a.max_qp_rd_atom},
        {"max_res_rd_atom", r.max_res_rd_atom, a.max_res_rd_atom},
        {"max_qp_init_rd_atom", r.max_qp_init_rd_atom, a.max_qp_init_rd_atom},
        {"atomic_cap", r.atomic_cap, a.atomic_cap},
        {"max_mw", r.max_mw, a.max_mw},
        {"max_ah", r.max_ah, a.max_ah},
        {"max_srq", r.max_srq, a.max_srq},
        {"max_srq_wr", r.max_srq_wr, a.max_srq_wr},
        {"max_srq_sge", r.max_srq_sge, a.max_srq_sge},
        {"max_mcast_grp", r.max_mcast_grp, a.max_mcast_grp},
        {"max_mcast_qp_attach", r.max_mcast_qp_attach, a.max_mcast_qp_attach},
        {"max_total_mcast", r.max_total_mcast_qp_attach, a.max_total_mcast_qp_attach},
        {"max_pkeys", r.max_pkeys, a.max_pkeys},
        {"local_ca_ack_delay", r.local_ca_ack_delay, a.local_ca_ack_delay},
        {"phys_port_cnt", r.phys_port_cnt, 1},
        // Attributes that the device does not support.
        {"max_ee_rd_atom", r.max_ee_rd_atom, 0},
        {"max_ee_init_rd_atom", r.max_ee_init_rd_atom, 0},
        {"max_ee", r.max_ee, 0},
        {"max_rdd", r.max_rdd, 0},
        {"max_raw_ipv6_qp", r.max_raw_ipv6_qp, 0},
        {"max_raw_ethy_qp", r.max_raw_ethy_qp, 0},
        {"max_fmr", r.max_fmr, 0},
        {"max_map_per_fmr", r.max_map_per_fmr, 0},
    };
    for (const auto& [name, answered, known] : fields) {
        EXPECT_EQ(answered, known) << name;
    }
    ib_uverbs_ex_query_device_resp ex{};
    Bytes bytes;
    append(bytes,
           ib_uverbs_cmd_hdr{IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_QUERY_DEVICE, 1,
                             static_cast<std::uint16_t>(sizeof ex / 8)});
    append(bytes, ib_uverbs_ex_cmd_hdr{reinterpret_cast<std::uintptr_t>(&ex), 0, 0, 0});
    append(bytes, ib_uverbs_ex_query_device{});
    ASSERT_GT(serve([&] { return client.write(bytes); }), 0);
    EXPECT_EQ(std::memcmp(&ex.base, &r, sizeof r), 0);
    EXPECT_EQ(ex.timestamp_mask, a.timestamp_mask);
    EXPECT_EQ(ex.hca_core_clock, a.hca_core_clock);
    EXPECT_EQ(ex.device_cap_flags_ex, a.device_cap_flags);
    EXPECT_EQ(ex.max_dm_size, a.max_dm_size);
    EXPECT_EQ(ex.cq_moderation_caps.max_cq_moderation_count, a.max_cq_count);
    EXPECT_EQ(ex.cq_moderation_caps.max_cq_moderation_period, a.max_cq_period);

    auto query = Verbs::zeroed<ib_uverbs_query_port>();
    query.port_num = 1;
    for (const bool up : {true, false}) {
        card.set_link(up);
        ib_uverbs_query_port_resp p{};
        ASSERT_GT(serve([&] { return client.command(IB_USER_VERBS_CMD_QUERY_PORT, query, p); }), 0);
        const PortAttr port = driver.query_port();
        const std::tuple<const char*, std::uint64_t, std::uint64_t> of_port[] = {
            {"port_cap_flags", p.port_cap_flags, port.port_cap_flags | 1U << 26},  // IP-based GIDs
            {"max_msg_sz", p.max_msg_sz, port.max_msg_sz},
            {"bad_pkey_cntr", p.bad_pkey_cntr, port.bad_pkey_cntr},
            {"qkey_viol_cntr", p.qkey_viol_cntr, port.qkey_viol_cntr},
            {"gid_tbl_len", p.gid_tbl_len, port.gid_tbl_len},
            {"pkey_tbl_len", p.pkey_tbl_len, port.pkey_tbl_len},
            {"lid", p.lid, 0},
            {"sm_lid", p.sm_lid, 0},
            {"state", p.state, up ? 4 : 1},
            {"max_mtu", p.max_mtu, port.max_mtu},
            {"active_mtu", p.active_mtu, port.active_mtu},
            {"lmc", p.lmc, 0},
            {"max_vl_num", p.max_vl_num, 1},
            {"active_width", p.active_width, port.active_width},
            {"active_speed", p.active_speed, port.active_speed},
            {"phys_state", p.phys_state, up ? 5 : 2},
            {"link_layer", p.link_layer, 2},  // Ethernet
            {"flags", p.flags, 1},            // a GRH is required
        };
        for (const auto& [name, answered, known] : of_port) {
            EXPECT_EQ(answered, known) << name << (up ? "" : " without a link");
        }
    }
}

// The neighbour does not answer: a request that waits for it costs nothing until it times out.
TEST_F(StillCard, ARequestThatWaitsIsNotLookedAtUntilItsNeighbourIsGivenUp) {
    Client client(directory, false);
    Verbs verbs(client);
    ASSERT_EQ(serve([&] { return client.hello().result(); }), 0);
    ASSERT_EQ(serve([&] { return verbs.get_context(); }), 0);
    ASSERT_EQ(serve([&] { return verbs.alloc_pd(); }), 0);
    now += kSweepEvery;  // sweep of the answer with descriptors, which was read
    attachment->settle(now);
    EXPECT_EQ(attachment->next_deadline(), kNever);
    const Request request = address_request(verbs.handle);
    auto answer = std::async(std::launch::async, [&] { return client.send(request).result(); });
    while (attachment->next_deadline() == kNever) {
        turn();
    }
    for (unsigned tries = 0; tries < Neighbours::kTries; ++tries) {
        while (attachment->settle(now)) {
        }
        const Nanoseconds due = attachment->next_deadline();
        EXPECT_EQ(due, now + Neighbours::kRetry);
        EXPECT_FALSE(attachment->settle(due - 1));
        now = due;
    }
    EXPECT_EQ(attachment->stats().failed, 0U);
    turn();
    EXPECT_EQ(answer.get(), -ETIMEDOUT);
    EXPECT_EQ(attachment->next_deadline(), kNever) << "nothing waits";
}

// Each waiting request keeps its message and its descriptors, so their number per client is
// limited.
TEST_F(StillCard, SoManyRequestsOfAClientWait) {
    constexpr unsigned kMost = 256;
    Client client(directory, false);
    Verbs verbs(client);
    ASSERT_EQ(serve([&] { return client.hello().result(); }), 0);
    ASSERT_EQ(serve([&] { return verbs.get_context(); }), 0);
    ASSERT_EQ(serve([&] { return verbs.alloc_pd(); }), 0);
    const Request request = address_request(verbs.handle);
    std::array<int, 2> pair{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()), 0);
    const UniqueFd mine(pair[0]);
    const UniqueFd theirs(pair[1]);
    for (unsigned n = 0; n < kMost + 3; ++n) {
        client.send_bytes_without_answer(request.bytes(), theirs.get());
        poller.wait(0);
        EXPECT_EQ(attachment->stats().failed, n < kMost ? 0 : n - kMost + 1);
    }
    dingo_uverbs_reply reply{};
    ASSERT_EQ(::recv(mine.get(), &reply, sizeof reply, MSG_DONTWAIT),
              static_cast<ssize_t>(sizeof reply));
    EXPECT_EQ(reply.result, -ENOMEM);
}

/// A client whose QPs send to others of the same card, and which moves them to ERR right after its
/// posts.
class HastyClient : public StillCard {
  protected:
    static constexpr std::uint8_t kErr = 6;  // enum ibv_qp_state
    static constexpr std::uint8_t kRts = 3;
    static constexpr std::size_t kBytes = 4U << 20;
    static constexpr std::uint32_t kMany = 60;
    struct Sender {
        std::uint32_t handle = 0;
        std::uint32_t qpn = 0;
        Ring sq;
    };

    HastyClient() {
        serve([&] {
            EXPECT_EQ(client->hello().result(), 0);
            EXPECT_EQ(verbs.get_context(), 0);
            EXPECT_EQ(verbs.alloc_pd(), 0);
            pd = verbs.handle;
            EXPECT_EQ(verbs.create_cq(), 0);
            cq = verbs.handle;
            EXPECT_EQ(verbs.reg_mr(pd, memory.data(), memory.size()), 0);
        });
        key = verbs.key;
    }
    /// Creates a UC QP that sends to `peer`, or to no QP.
    Sender make_sender(std::uint32_t peer = 0xffff) {
        return serve([&] {
            EXPECT_EQ(verbs.create_qp(pd, cq, -1, 3), 0);
            Sender sender{verbs.handle, verbs.qpn, Ring(*client, verbs.qp_map.sq)};
            EXPECT_EQ(
                verbs.connect_qp(sender.handle, peer,
                                 {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, 1}, 1, 3),
                0);
            return sender;
        });
    }
    /// Posts SENDs for which the card needs several turns, and a doorbell that it has not seen.
    void post(const Sender& sender, std::uint32_t count, std::uint32_t bytes) {
        dingo_wqe_ctrl ctrl{};
        ctrl.opcode = DINGO_WR_SEND;
        ctrl.blocks = ctrl.num_sge = 1;
        dingo_sge sge{};
        sge.addr = reinterpret_cast<std::uintptr_t>(memory.data());
        sge.lkey = key;
        sge.length = bytes;
        for (std::uint32_t n = 0; n < count; ++n) {
            std::memset(sender.sq.entry(n), 0, DINGO_SQ_BLOCK);
            std::memcpy(sender.sq.entry(n), &ctrl, sizeof ctrl);
            std::memcpy(sender.sq.entry(n) + 32, &sge, sizeof sge);
        }
        sender.sq.ring(DINGO_DB_SQ, sender.qpn, count);
    }
    Request end_request(const Sender& sender) const {
        auto cmd = Verbs::zeroed<ib_uverbs_modify_qp>();
        cmd.qp_handle = sender.handle;
        cmd.qp_state = kErr;
        cmd.attr_mask = Verbs::kQpState;
        Request request(DINGO_UVERBS_WRITE);
        request.payload = Client::classic(IB_USER_VERBS_CMD_MODIFY_QP, cmd, 0);
        return request;
    }
    /// Requests ERR while the card only handles requests. The answers go to `answers`.
    void end(const Sender& sender) {
        client->send_bytes_without_answer(end_request(sender).bytes(), answers[1]);
        poller.wait(0);
    }
    /// Returns the results received so far.
    std::vector<int> results() {
        std::vector<int> all;
        dingo_uverbs_reply reply{};
        while (::recv(answers[0], &reply, sizeof reply, MSG_DONTWAIT) == sizeof reply) {
            all.push_back(std::min(reply.result, 0));
        }
        return all;
    }
    void pass(Nanoseconds time) {
        now += time;
        card.advance(now);
        attachment->settle(now);
    }
    /// Requests ERR for the QP, which waits for its sends, and destroys it.
    void destroy_while_it_waits(const Sender& sender) {
        post(sender, kMany, kBytes);
        end(sender);
        ASSERT_EQ(waiting(), 1U);
        EXPECT_EQ(serve([&] { return verbs.destroy_qp(sender.handle); }), 0);
    }
    std::uint64_t waiting() const {
        nlohmann::json all;
        attachment->add_stats(all);
        return all["clients"].empty() ? 0 : all["clients"][0]["waiting"].get<std::uint64_t>();
    }

    std::optional<Client> client{std::in_place, directory, false};
    Verbs verbs{*client};
    std::vector<std::byte> memory = std::vector<std::byte>(kBytes);
    std::uint32_t pd = 0, cq = 0, key = 0;
    std::array<int, 2> answers = [] {
        std::array<int, 2> pair{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()), 0);
        return pair;
    }();
    std::array<UniqueFd, 2> ends{UniqueFd(answers[0]), UniqueFd(answers[1])};
};

TEST_F(HastyClient, EndsAQpWhenWhatItPostedHasLeft) {
    const Sender sender = make_sender();
    post(sender, 40, 0);
    end(sender);
    EXPECT_EQ(results(), std::vector<int>{});
    EXPECT_EQ(waiting(), 1U);
    for (int n = 0; n < 10 && waiting() != 0; ++n) {
        pass(LastSends::kLook);
    }
    EXPECT_EQ(results(), std::vector{0});
    EXPECT_EQ(driver.qp_counters(sender.qpn).at(0).first, "tx_packets");
    EXPECT_EQ(driver.qp_counters(sender.qpn).at(0).second, 40U);
}

TEST_F(HastyClient, WaitsNoLongerThanItsPatience) {
    const Sender first = make_sender();
    const Sender second = make_sender();
    post(first, kMany, kBytes);
    post(second, kMany, kBytes);
    end(first);
    for (Nanoseconds waited = 0; waited < LastSends::kPatience; waited += LastSends::kLook) {
        EXPECT_EQ(waiting(), 1U);
        pass(LastSends::kLook);
    }
    EXPECT_EQ(results(), std::vector{0});
    end(second);
    EXPECT_EQ(results(), std::vector{0}) << "the next one is not waited for";
    const Sender third = make_sender();
    post(third, 40, 0);
    pass(2'000'000'000);
    end(third);
    EXPECT_EQ(waiting(), 1U) << "some time later it is";
}

TEST_F(HastyClient, DestroysTheQpThatItWaitsFor) {
    const Sender sender = make_sender();
    destroy_while_it_waits(sender);
    pass(LastSends::kLook);
    EXPECT_EQ(results(), std::vector{-EINVAL});
}

/// The handle of a destroyed QP is reused: the new QP must not go to ERR in its place.
TEST_F(HastyClient, DestroysTheQpThatItWaitsForAndMakesAnother) {
    const Sender sender = make_sender();
    destroy_while_it_waits(sender);
    const Sender other = make_sender();
    ASSERT_EQ(other.handle, sender.handle);
    pass(LastSends::kLook);
    EXPECT_EQ(results(), std::vector{-EINVAL});
    post(other, 4, 0);
    end(other);
    EXPECT_EQ(driver.qp_counters(other.qpn).at(0).second, 4U) << "it was not in ERR";
}

TEST_F(HastyClient, DiesWhileItWaits) {
    const Sender sender = make_sender();
    post(sender, kMany, kBytes);
    end(sender);
    ASSERT_EQ(waiting(), 1U);
    client.reset();
    poller.wait(0);
    pass(LastSends::kLook);
    pass(LastSends::kPatience);
    EXPECT_EQ(attachment->next_deadline(), kNever) << "nothing waits";
    EXPECT_EQ(results(), std::vector<int>{});
}

TEST_F(HastyClient, WaitsForSoManyAndEndsTheOthersAtOnce) {
    constexpr std::size_t kMost = 16;
    const Sender sender = make_sender();
    post(sender, kMany, kBytes);
    for (std::size_t n = 0; n < kMost; ++n) {
        end(sender);
    }
    EXPECT_EQ(results(), std::vector<int>{});
    EXPECT_EQ(waiting(), kMost);
    end(sender);
    EXPECT_EQ(results(), std::vector{0});
}

// The client keeps its copy of the descriptor with which it kicked the card.
TEST_F(StillCard, AClientThatIsGoneKicksNobody) {
    std::optional<Client> client(std::in_place, directory, false);
    Verbs verbs(*client);
    ASSERT_EQ(serve([&] { return client->hello().result(); }), 0);
    ASSERT_EQ(serve([&] { return verbs.get_context(); }), 0);
    const UniqueFd kick(verbs.context.kick_fd);
    ASSERT_EQ(::eventfd_write(kick.get(), 1), 0);
    EXPECT_TRUE(wakes());
    turn();
    EXPECT_FALSE(wakes());
    client.reset();
    turn();
    EXPECT_EQ(attachment->clients(), 0U);
    ASSERT_EQ(::eventfd_write(kick.get(), 1), 0);
    EXPECT_FALSE(wakes());
}

TEST_F(StillCard, StatisticsCountWhatCame) {
    Client client(directory, false);
    Verbs verbs(client);
    ASSERT_EQ(serve([&] { return client.hello().result(); }), 0);
    EXPECT_EQ(serve([&] { return verbs.alloc_pd(); }), -EINVAL) << "no context";
    std::array<int, 2> pair{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()), 0);
    UniqueFd mine(pair[0]);
    const UniqueFd theirs(pair[1]);
    mine.reset();
    client.send_bytes_without_answer(Request(DINGO_UVERBS_NETLINK).bytes(), theirs.get());
    turn();
    Client malformed(directory, false);
    ASSERT_EQ(::send(malformed.socket(), "x", 1, MSG_NOSIGNAL), 1);
    turn();
    turn();
    nlohmann::json all;
    attachment->add_stats(all);
    EXPECT_EQ(all["host"], nlohmann::json::parse(R"({"connections": 2, "refused": 0,
        "requests": 3, "failed": 2, "malformed": 1, "undelivered": 1, "unread": 0, "events_sent": 0,
        "tap_drops": 0, "events_taken_back": 0, "events_dropped": 0})"));
    EXPECT_EQ(all["port"], nlohmann::json::parse(R"({"mac": "02:44:49:00:00:01",
        "active_mtu": 4096, "max_mtu": 4096,
        "gids": {"0": "fe80::44:49ff:fe00:1", "1": "10.77.0.1"}})"));
    EXPECT_EQ(all["qps"], nlohmann::json::array());
    ASSERT_EQ(all["clients"].size(), 1U);
    EXPECT_EQ(all["clients"][0]["pid"], ::getpid());
    EXPECT_EQ(all["clients"][0]["comm"], "uverbs_test");
    EXPECT_EQ(all["clients"][0]["objects"], nlohmann::json::parse(R"({"channel": 0})"));
}

// As on a card that runs for months: channels that close before their client, and with it.
TEST_F(StillCard, ClientsAndChannelsThatAreGoneLeaveNoMemory) {
    const auto come_and_go = [&](int times) {
        for (int n = 0; n < times; ++n) {
            Client client(directory, false);
            Verbs verbs(client);
            std::vector<UniqueFd> channels;
            ASSERT_EQ(serve([&] {
                          const int greeted = client.hello().result();
                          const int made = verbs.get_context();
                          ::close(verbs.context.kick_fd);
                          for (int more = 0; more < 20; ++more) {
                              ::close(verbs.channel());
                              channels.emplace_back(verbs.channel());
                          }
                          return std::min(greeted, made);
                      }),
                      0);
            client.close();
            turn();
        }
        EXPECT_EQ(attachment->clients(), 0U);
    };
    come_and_go(20);
    const std::size_t before = ::mallinfo2().uordblks;
    if (before == 0) {
        GTEST_SKIP() << "the allocator does not count (a sanitizer's)";
    }
    come_and_go(40);
    EXPECT_LE(::mallinfo2().uordblks, before + (16U << 10));
}

}  // namespace
}  // namespace dingo::uverbs::test
