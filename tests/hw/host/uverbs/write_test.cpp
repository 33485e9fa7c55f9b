// SPDX-License-Identifier: BSD-2-Clause
// The commands of write(), classic and extended, field by field, as sent by old and new libibverbs.
#include <poll.h>
#include <sys/eventfd.h>

#include "rings.h"
#include "running_card.h"

namespace dingo::uverbs::test {
namespace {

constexpr std::uint32_t kState = 1, kPkeyIndex = 1U << 4, kPort = 1U << 5, kAccess = 1U << 3;

struct UverbsWrite : ::testing::Test {
    UverbsWrite() : client(card.directory), verbs(client) {
        EXPECT_EQ(verbs.get_context(), 0);
        EXPECT_EQ(verbs.alloc_pd(), 0);
        pd = verbs.handle;
        EXPECT_EQ(verbs.create_cq(), 0);
        cq = verbs.handle;
        EXPECT_EQ(verbs.create_cq(), 0);
        other_cq = verbs.handle;
    }
    /// Sends a classic command followed by the driver's request. Returns 0 or -errno.
    template <typename Cmd, typename In, typename Resp, typename Out>
    int classic(std::uint32_t number, Cmd cmd, const In& in, Resp& resp, Out& out) {
        std::vector<std::byte> room(sizeof resp + sizeof out);
        cmd.response = reinterpret_cast<std::uintptr_t>(room.data());
        Bytes bytes;
        append(bytes, ib_uverbs_cmd_hdr{
                          number, static_cast<std::uint16_t>((8 + sizeof cmd + sizeof in) / 4),
                          static_cast<std::uint16_t>(room.size() / 4)});
        append(bytes, cmd);
        append(bytes, in);
        const int result = client.write(bytes);
        std::memcpy(&resp, room.data(), sizeof resp);
        std::memcpy(&out, room.data() + sizeof resp, sizeof out);
        EXPECT_TRUE(result < 0 || result == static_cast<int>(bytes.size()));
        return std::min(result, 0);
    }
    /// The same for an extended command.
    template <typename Cmd, typename In, typename Resp, typename Out>
    int extended(std::uint32_t number, const Cmd& cmd, const In& in, Resp& resp, Out& out) {
        std::vector<std::byte> room(sizeof resp + sizeof out);
        Bytes bytes;
        append(bytes, ib_uverbs_cmd_hdr{IB_USER_VERBS_CMD_FLAG_EXTENDED | number,
                                        static_cast<std::uint16_t>(sizeof cmd / 8),
                                        static_cast<std::uint16_t>(sizeof resp / 8)});
        append(bytes, ib_uverbs_ex_cmd_hdr{reinterpret_cast<std::uintptr_t>(room.data()),
                                           static_cast<std::uint16_t>(sizeof in / 8),
                                           static_cast<std::uint16_t>(sizeof out / 8), 0});
        append(bytes, cmd);
        append(bytes, in);
        const int result = client.write(bytes);
        std::memcpy(&resp, room.data(), sizeof resp);
        std::memcpy(&out, room.data() + sizeof resp, sizeof out);
        EXPECT_TRUE(result < 0 || result == static_cast<int>(bytes.size()));
        return std::min(result, 0);
    }
    /// Returns a command with the same fields for the classic and the extended version.
    template <typename Cmd>
    Cmd qp_command() const {
        auto cmd = Verbs::zeroed<Cmd>();
        cmd.user_handle = 9;
        cmd.pd_handle = pd;
        cmd.send_cq_handle = cq;
        cmd.recv_cq_handle = other_cq;
        cmd.srq_handle = 0xffff;
        cmd.max_send_wr = 17;
        cmd.max_recv_wr = 9;
        cmd.max_send_sge = 2;
        cmd.max_recv_sge = 3;
        cmd.max_inline_data = 28;
        cmd.qp_type = 2;
        cmd.sq_sig_all = 1;
        return cmd;
    }
    static constexpr dingo_create_qp_req kQpRequest{0, 6, 4, 6, 0};

    RunningCard card;
    Client client;
    Verbs verbs;
    std::uint32_t pd = 0, cq = 0, other_cq = 0;
};

TEST_F(UverbsWrite, ClassicQueuesComeWithTheirRings) {
    auto make_cq = Verbs::zeroed<ib_uverbs_create_cq>();
    make_cq.user_handle = 1;
    make_cq.cqe = 100;
    make_cq.comp_channel = -1;
    ib_uverbs_create_cq_resp cq_resp{};
    dingo_create_cq_resp cq_out{};
    ASSERT_EQ(classic(IB_USER_VERBS_CMD_CREATE_CQ, make_cq, dingo_create_cq_req{}, cq_resp, cq_out),
              0);
    EXPECT_GE(cq_resp.cqe, 100U);
    EXPECT_TRUE(Ring(client, cq_out.ring).mapped());
    const std::uint32_t made_cq = cq_resp.cq_handle;
    EXPECT_EQ(
        classic(IB_USER_VERBS_CMD_CREATE_CQ, make_cq, dingo_create_cq_req{2, 0}, cq_resp, cq_out),
        -EOPNOTSUPP)
        << "the driver reads its request";

    auto make_srq = Verbs::zeroed<ib_uverbs_create_srq>();
    make_srq.pd_handle = pd;
    make_srq.max_wr = 16;
    make_srq.max_sge = 2;
    ib_uverbs_create_srq_resp srq_resp{};
    dingo_create_srq_resp srq_out{};
    const dingo_create_srq_req srq_in{0, 4, 6, 0};
    ASSERT_EQ(classic(IB_USER_VERBS_CMD_CREATE_SRQ, make_srq, srq_in, srq_resp, srq_out), 0);
    EXPECT_GE(srq_resp.max_wr, 16U);
    EXPECT_GE(srq_resp.max_sge, 2U);
    EXPECT_TRUE(Ring(client, srq_out.ring).mapped());

    auto make_xsrq = Verbs::zeroed<ib_uverbs_create_xsrq>();
    make_xsrq.pd_handle = pd;
    make_xsrq.max_wr = 16;
    make_xsrq.max_sge = 2;
    ASSERT_EQ(classic(IB_USER_VERBS_CMD_CREATE_XSRQ, make_xsrq, srq_in, srq_resp, srq_out), 0);
    EXPECT_GE(srq_resp.max_sge, 2U);
    EXPECT_TRUE(Ring(client, srq_out.ring).mapped());
    make_xsrq.srq_type = IB_UVERBS_SRQT_XRC;
    EXPECT_EQ(classic(IB_USER_VERBS_CMD_CREATE_XSRQ, make_xsrq, srq_in, srq_resp, srq_out),
              -EOPNOTSUPP);

    auto resize = Verbs::zeroed<ib_uverbs_resize_cq>();
    resize.cq_handle = made_cq;
    resize.cqe = 500;
    struct {
        std::uint32_t cqe, reserved;
    } resized{};
    dingo_resize_cq_resp resize_out{};
    const std::uint64_t no_request = 0;
    ASSERT_EQ(classic(IB_USER_VERBS_CMD_RESIZE_CQ, resize, no_request, resized, resize_out), 0);
    EXPECT_GE(resized.cqe, 500U);
    EXPECT_TRUE(Ring(client, resize_out.ring).mapped());
}

TEST_F(UverbsWrite, QueuePairsHaveWhatWasAskedForByBothCommands) {
    const auto check = [&](const ib_uverbs_create_qp_resp& resp, const dingo_create_qp_resp& out) {
        EXPECT_GE(resp.max_send_wr, 17U);
        EXPECT_GE(resp.max_recv_wr, 9U);
        EXPECT_GE(resp.max_send_sge, 2U);
        EXPECT_GE(resp.max_recv_sge, 3U);
        EXPECT_GE(resp.max_inline_data, 28U);
        EXPECT_NE(resp.qpn, 0U);
        EXPECT_TRUE(Ring(client, out.sq).mapped());
        EXPECT_TRUE(Ring(client, out.rq).mapped());
        auto query = Verbs::zeroed<ib_uverbs_query_qp>();
        query.qp_handle = resp.qp_handle;
        auto seen = Verbs::zeroed<ib_uverbs_query_qp_resp>();
        ASSERT_GT(client.command(IB_USER_VERBS_CMD_QUERY_QP, query, seen), 0);
        EXPECT_EQ(seen.max_send_wr, resp.max_send_wr);
        EXPECT_EQ(seen.max_recv_wr, resp.max_recv_wr);
        EXPECT_EQ(seen.max_send_sge, resp.max_send_sge);
        EXPECT_EQ(seen.max_recv_sge, resp.max_recv_sge);
        EXPECT_EQ(seen.max_inline_data, resp.max_inline_data);
        EXPECT_EQ(seen.sq_sig_all, 1);
        EXPECT_EQ(seen.qp_state, 0);
        EXPECT_EQ(seen.sq_draining, 0);
        EXPECT_EQ(verbs.destroy_cq(cq), -EBUSY) << "of its sends";
        EXPECT_EQ(verbs.destroy_cq(other_cq), -EBUSY) << "of its receives";
        EXPECT_EQ(verbs.destroy_pd(pd), -EBUSY);
        EXPECT_EQ(verbs.destroy_qp(resp.qp_handle), 0);
    };
    ib_uverbs_create_qp_resp resp{};
    dingo_create_qp_resp out{};
    ASSERT_EQ(classic(IB_USER_VERBS_CMD_CREATE_QP, qp_command<ib_uverbs_create_qp>(), kQpRequest,
                      resp, out),
              0);
    check(resp, out);
    auto ex_resp = Verbs::zeroed<ib_uverbs_ex_create_qp_resp>();
    ASSERT_EQ(extended(IB_USER_VERBS_EX_CMD_CREATE_QP, qp_command<ib_uverbs_ex_create_qp>(),
                       kQpRequest, ex_resp, out),
              0);
    EXPECT_EQ(ex_resp.response_length, sizeof ex_resp);
    check(ex_resp.base, out);
    EXPECT_EQ(verbs.destroy_cq(cq), 0);
}

TEST_F(UverbsWrite, WhetherAllSendsAreSignaledIsAsEachCommandSays) {
    const auto signaled = [&](std::uint32_t qp) {
        auto query = Verbs::zeroed<ib_uverbs_query_qp>();
        query.qp_handle = qp;
        auto seen = Verbs::zeroed<ib_uverbs_query_qp_resp>();
        EXPECT_GT(client.command(IB_USER_VERBS_CMD_QUERY_QP, query, seen), 0);
        return seen.sq_sig_all;
    };
    dingo_create_qp_resp out{};
    for (const std::uint8_t all : {0, 1}) {
        auto cmd = qp_command<ib_uverbs_create_qp>();
        cmd.sq_sig_all = all;
        ib_uverbs_create_qp_resp resp{};
        ASSERT_EQ(classic(IB_USER_VERBS_CMD_CREATE_QP, cmd, kQpRequest, resp, out), 0);
        EXPECT_EQ(signaled(resp.qp_handle), all);
        auto ex = qp_command<ib_uverbs_ex_create_qp>();
        ex.sq_sig_all = all;
        auto ex_resp = Verbs::zeroed<ib_uverbs_ex_create_qp_resp>();
        ASSERT_EQ(extended(IB_USER_VERBS_EX_CMD_CREATE_QP, ex, kQpRequest, ex_resp, out), 0);
        EXPECT_EQ(signaled(ex_resp.base.qp_handle), all);
        ASSERT_EQ(verbs.create_qp(pd, cq, -1, 2, 9, all != 0 ? 1U << 12 : 0), 0);
        EXPECT_EQ(signaled(verbs.handle), all);
    }
}

// libibverbs finds its objects by these numbers.
TEST_F(UverbsWrite, EventsCarryTheNumberThatTheirObjectWasMadeWith) {
    const int async = verbs.async_fd();
    ASSERT_GE(async, 0);
    using Event = std::pair<std::uint64_t, std::uint32_t>;
    const auto event = [&] {
        ib_uverbs_async_event_desc desc{};
        pollfd ready{async, POLLIN, 0};
        if (::poll(&ready, 1, 10'000) != 1) {
            return Event();
        }
        EXPECT_EQ(::read(async, &desc, sizeof desc), static_cast<ssize_t>(sizeof desc));
        return Event(desc.element, desc.event_type);
    };
    const std::array<std::uint8_t, 16> self{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, 1};
    const auto drain = [&](std::uint32_t qp, std::uint8_t notify) {
        ASSERT_EQ(verbs.connect_qp(qp, 0x34567, self, 1), 0);
        auto cmd = Verbs::zeroed<ib_uverbs_modify_qp>();
        cmd.en_sqd_async_notify = notify;
        ASSERT_EQ(verbs.modify_qp(cmd, qp, 4, 1U << 2), 0) << "SQD";
    };
    dingo_create_qp_resp out{};
    auto cmd = qp_command<ib_uverbs_create_qp>();
    cmd.user_handle = 101;
    ib_uverbs_create_qp_resp resp{};
    ASSERT_EQ(classic(IB_USER_VERBS_CMD_CREATE_QP, cmd, kQpRequest, resp, out), 0);
    drain(resp.qp_handle, 0);  // does not request an event
    ASSERT_EQ(classic(IB_USER_VERBS_CMD_CREATE_QP, cmd, kQpRequest, resp, out), 0);
    drain(resp.qp_handle, 1);
    EXPECT_EQ(event(), Event(101, 5)) << "SQ_DRAINED";
    auto ex = qp_command<ib_uverbs_ex_create_qp>();
    ex.user_handle = 102;
    auto ex_resp = Verbs::zeroed<ib_uverbs_ex_create_qp_resp>();
    ASSERT_EQ(extended(IB_USER_VERBS_EX_CMD_CREATE_QP, ex, kQpRequest, ex_resp, out), 0);
    drain(ex_resp.base.qp_handle, 1);
    EXPECT_EQ(event(), Event(102, 5));
    ASSERT_EQ(verbs.create_qp(pd, cq, -1, 2, 103), 0);
    drain(verbs.handle, 1);
    EXPECT_EQ(event(), Event(103, 5));

    auto make_xsrq = Verbs::zeroed<ib_uverbs_create_xsrq>();
    make_xsrq.user_handle = 104;
    make_xsrq.pd_handle = pd;
    make_xsrq.max_wr = 16;
    make_xsrq.max_sge = 2;
    ib_uverbs_create_srq_resp srq{};
    dingo_create_srq_resp srq_out{};
    ASSERT_EQ(classic(IB_USER_VERBS_CMD_CREATE_XSRQ, make_xsrq, dingo_create_srq_req{0, 4, 6, 0},
                      srq, srq_out),
              0);
    auto modify = Verbs::zeroed<ib_uverbs_modify_srq>();
    modify.srq_handle = srq.srq_handle;
    modify.attr_mask = 2;
    modify.srq_limit = 5;
    ASSERT_GT(client.command(IB_USER_VERBS_CMD_MODIFY_SRQ, modify), 0);
    EXPECT_EQ(event(), Event(104, 15)) << "SRQ_LIMIT_REACHED";
}

TEST_F(UverbsWrite, NumbersBehindTheLastCommandAreNotThere) {
    for (std::uint32_t number = 0; number <= IB_USER_VERBS_CMD_COMMAND_MASK; ++number) {
        const Bytes rest(64);
        Bytes bytes;
        append(bytes, ib_uverbs_cmd_hdr{number, 18, 0});
        bytes.insert(bytes.end(), rest.begin(), rest.end());
        if (number > IB_USER_VERBS_CMD_OPEN_QP) {
            EXPECT_EQ(client.write(bytes), -EOPNOTSUPP) << number;
        }
        const std::uint32_t extended_number = number | IB_USER_VERBS_CMD_FLAG_EXTENDED;
        std::memcpy(bytes.data(), &extended_number, sizeof extended_number);
        if (number > IB_USER_VERBS_EX_CMD_MODIFY_CQ) {
            EXPECT_EQ(client.write(bytes), -EOPNOTSUPP) << "extended " << number;
        }
    }
}

TEST_F(UverbsWrite, AnExtendedCommandsAnswerNeedNotBeAskedFor) {
    ASSERT_EQ(verbs.create_qp(pd, cq), 0);
    auto cmd = Verbs::zeroed<ib_uverbs_ex_modify_qp>();
    cmd.base.qp_handle = verbs.handle;
    cmd.base.qp_state = 1;  // INIT
    cmd.base.port_num = 1;
    cmd.base.attr_mask = kState | 1U << 3 | 1U << 4 | 1U << 5;  // access, P_Key index, port
    Bytes bytes;
    append(bytes,
           ib_uverbs_cmd_hdr{IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_MODIFY_QP,
                             sizeof cmd / 8, 0});
    append(bytes, ib_uverbs_ex_cmd_hdr{});
    append(bytes, cmd);
    EXPECT_EQ(client.write(bytes), static_cast<int>(bytes.size()));
    EXPECT_EQ(card.stats()["qps"][0]["state"], 1);
}

// Attributes of a later libibverbs are rejected before all other checks, as in the kernel.
TEST_F(UverbsWrite, AttributesThatNobodyKnowsAreToldFirst) {
    ASSERT_EQ(verbs.create_qp(pd, cq), 0);
    const std::uint32_t qp = verbs.handle;
    auto cmd = Verbs::zeroed<ib_uverbs_modify_qp>();
    cmd.port_num = 2;
    for (const std::uint32_t bit : {21U, 22U, 25U, 26U, 31U}) {
        EXPECT_EQ(verbs.modify_qp(cmd, qp, 1, 1U << bit | kPort), -EOPNOTSUPP) << bit;
        auto ex = Verbs::zeroed<ib_uverbs_ex_modify_qp>();
        ex.base = cmd;
        ex.base.qp_handle = qp;
        ex.base.qp_state = 1;
        ex.base.attr_mask = 1U << bit | kPort | kState;
        auto resp = Verbs::zeroed<ib_uverbs_ex_modify_qp_resp>();
        std::uint64_t none = 0;
        EXPECT_EQ(extended(IB_USER_VERBS_EX_CMD_MODIFY_QP, ex, none, resp, none),
                  bit == 25 ? -EINVAL : -EOPNOTSUPP)
            << bit;
    }
    std::uint64_t none = 0;
    auto seen = Verbs::zeroed<ib_uverbs_ex_query_device_resp>();
    EXPECT_EQ(extended(IB_USER_VERBS_EX_CMD_QUERY_DEVICE, ib_uverbs_ex_query_device{1, 0}, none,
                       seen, none),
              -EINVAL);
    EXPECT_EQ(extended(IB_USER_VERBS_EX_CMD_QUERY_DEVICE, ib_uverbs_ex_query_device{0, 1}, none,
                       seen, none),
              -EINVAL);
}

TEST_F(UverbsWrite, AnAddressHandleComesWithTheWayToIt) {
    auto cmd = Verbs::zeroed<ib_uverbs_create_ah>();
    cmd.pd_handle = pd;
    cmd.attr.is_global = cmd.attr.port_num = cmd.attr.grh.sgid_index = 1;
    const std::array<std::uint8_t, 16> self{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, 1};
    std::memcpy(cmd.attr.grh.dgid, self.data(), self.size());
    std::uint32_t handle = 77;
    dingo_create_ah_resp way{};
    const auto create = [&] {
        return classic(IB_USER_VERBS_CMD_CREATE_AH, cmd, std::uint64_t{0}, handle, way);
    };
    ASSERT_EQ(create(), 0);
    constexpr std::array<std::uint8_t, 6> kMac{2, 0x44, 0x49, 0, 0, 1};
    EXPECT_EQ(std::memcmp(way.dmac, kMac.data(), kMac.size()), 0);
    EXPECT_NE(way.udp_sport, 0);
    const auto port = way.udp_sport;
    cmd.attr.grh.flow_label = 0x12345;
    ASSERT_EQ(create(), 0);
    EXPECT_NE(way.udp_sport, port) << "a flow has a port of its own";
    EXPECT_EQ(verbs.destroy_pd(pd), -EBUSY);
    for (const auto change : {+[](ib_uverbs_ah_attr& a) { a.is_global = 0; },
                              +[](ib_uverbs_ah_attr& a) { a.port_num = 2; },
                              +[](ib_uverbs_ah_attr& a) { a.sl = 16; }}) {
        const auto good = cmd;
        change(cmd.attr);
        EXPECT_EQ(create(), -EINVAL);
        cmd = good;
    }
    cmd.attr.grh.sgid_index = 9;
    EXPECT_EQ(create(), -ENODATA) << "an empty entry";
}

TEST_F(UverbsWrite, ASharedReceiveQueueIsTheQueuePairsWhenItSaysSo) {
    ASSERT_EQ(verbs.create_srq(pd), 0);
    const std::uint32_t srq = verbs.handle;
    auto cmd = qp_command<ib_uverbs_create_qp>();
    cmd.is_srq = 1;
    cmd.max_recv_wr = cmd.max_recv_sge = 0;
    ib_uverbs_create_qp_resp resp{};
    dingo_create_qp_resp out{};
    const dingo_create_qp_req in{0, 6, 0, 0, 0};
    EXPECT_EQ(classic(IB_USER_VERBS_CMD_CREATE_QP, cmd, in, resp, out), -EINVAL) << "no such SRQ";
    cmd.srq_handle = srq;
    ASSERT_EQ(classic(IB_USER_VERBS_CMD_CREATE_QP, cmd, in, resp, out), 0);
    EXPECT_EQ(verbs.destroy_srq(srq), -EBUSY);
    EXPECT_EQ(out.rq.ring_bytes, 0U);
}

TEST_F(UverbsWrite, ExtendedCommandsRefuseWhatTheyDoNotKnow) {
    auto make_cq = Verbs::zeroed<ib_uverbs_ex_create_cq>();
    make_cq.cqe = 10;
    make_cq.comp_channel = -1;
    auto cq_resp = Verbs::zeroed<ib_uverbs_ex_create_cq_resp>();
    dingo_create_cq_resp cq_out{};
    const auto cq_with = [&](auto&& change) {
        auto cmd = make_cq;
        change(cmd);
        return extended(IB_USER_VERBS_EX_CMD_CREATE_CQ, cmd, dingo_create_cq_req{}, cq_resp,
                        cq_out);
    };
    EXPECT_EQ(cq_with([](auto& c) { c.comp_mask = 1; }), -EINVAL);
    EXPECT_EQ(cq_with([](auto& c) { c.reserved = 1; }), -EINVAL);
    EXPECT_EQ(cq_with([](auto& c) { c.comp_vector = 10'000; }), -EINVAL);
    EXPECT_EQ(cq_with([](auto& c) { c.flags = 1U << 3; }), -EOPNOTSUPP);
    EXPECT_EQ(cq_with([](auto& c) { c.cqe = 0; }), -EINVAL);
    EXPECT_EQ(card.objects("cq"), 2);
    ASSERT_EQ(cq_with([](auto&) {}), 0);
    EXPECT_EQ(cq_resp.response_length, sizeof cq_resp);
    EXPECT_GE(cq_resp.base.cqe, 10U);
    EXPECT_TRUE(Ring(client, cq_out.ring).mapped());

    auto qp_resp = Verbs::zeroed<ib_uverbs_ex_create_qp_resp>();
    dingo_create_qp_resp qp_out{};
    const auto qp_with = [&](auto&& change) {
        auto cmd = qp_command<ib_uverbs_ex_create_qp>();
        change(cmd);
        return extended(IB_USER_VERBS_EX_CMD_CREATE_QP, cmd, kQpRequest, qp_resp, qp_out);
    };
    EXPECT_EQ(qp_with([](auto& c) { c.comp_mask = 1; }), -EINVAL) << "an indirection table";
    EXPECT_EQ(qp_with([](auto& c) { c.reserved = 1; }), -EINVAL);
    EXPECT_EQ(qp_with([](auto& c) { c.create_flags = 1U << 1; }), -EOPNOTSUPP);
    EXPECT_EQ(qp_with([](auto& c) { c.create_flags = 1U << 31; }), -EINVAL);
    EXPECT_EQ(qp_with([](auto& c) { c.qp_type = 8; }), -EOPNOTSUPP) << "raw packet";
    EXPECT_EQ(qp_with([](auto& c) { c.qp_type = 77; }), -EINVAL);
    for (const auto field :
         {&ib_uverbs_ex_create_qp::pd_handle, &ib_uverbs_ex_create_qp::send_cq_handle,
          &ib_uverbs_ex_create_qp::recv_cq_handle}) {
        EXPECT_EQ(qp_with([&](auto& c) { c.*field = 0xffff; }), -EINVAL);
    }
    EXPECT_EQ(card.objects("qp"), 0);
    ASSERT_EQ(qp_with([](auto&) {}), 0);

    auto modify_resp = Verbs::zeroed<ib_uverbs_ex_modify_qp_resp>();
    std::uint64_t none = 0;
    const auto modify = [&](std::uint32_t mask, std::uint8_t state) {
        auto cmd = Verbs::zeroed<ib_uverbs_ex_modify_qp>();
        cmd.base.qp_handle = qp_resp.base.qp_handle;
        cmd.base.attr_mask = mask;
        cmd.base.qp_state = state;
        cmd.base.port_num = 1;
        return extended(IB_USER_VERBS_EX_CMD_MODIFY_QP, cmd, none, modify_resp, none);
    };
    EXPECT_EQ(modify(1U << 22, 0), -EOPNOTSUPP);
    EXPECT_EQ(modify(1U << 25, 0), -EOPNOTSUPP) << "RATE_LIMIT: known, but not here";
    EXPECT_EQ(modify(kState, 7), -EINVAL);
    ASSERT_EQ(modify(kState | kPkeyIndex | kPort | kAccess, 1), 0);
    EXPECT_EQ(modify_resp.response_length, sizeof modify_resp);
}

TEST_F(UverbsWrite, QueryTellsWhatModifySet) {
    auto cmd_create = qp_command<ib_uverbs_create_qp>();
    ib_uverbs_create_qp_resp made{};
    dingo_create_qp_resp out{};
    ASSERT_EQ(classic(IB_USER_VERBS_CMD_CREATE_QP, cmd_create, kQpRequest, made, out), 0);
    auto cmd = Verbs::zeroed<ib_uverbs_modify_qp>();
    const std::array<std::uint8_t, 16> self{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, 1};
    std::memcpy(cmd.dest.dgid, self.data(), self.size());
    cmd.dest.flow_label = 0x12345;
    cmd.dest.sgid_index = 1;
    cmd.dest.hop_limit = 64;
    cmd.dest.traffic_class = 0x68;
    cmd.dest.sl = 3;
    cmd.dest.is_global = 1;
    cmd.dest.port_num = cmd.port_num = 1;
    cmd.qp_access_flags = 0x7;
    cmd.dest_qp_num = 0x34567;  // no such QP
    cmd.rq_psn = 0x111111;
    cmd.sq_psn = 0x222222;
    cmd.path_mtu = 4;
    cmd.max_rd_atomic = 3;
    cmd.max_dest_rd_atomic = 5;
    cmd.min_rnr_timer = 6;
    cmd.timeout = 20;
    cmd.retry_cnt = 7;
    cmd.rnr_retry = 2;
    const std::uint32_t masks[] = {kPkeyIndex | kPort | kAccess,
                                   1U << 7 | 1U << 8 | 1U << 12 | 1U << 15 | 1U << 17 | 1U << 20,
                                   1U << 9 | 1U << 10 | 1U << 11 | 1U << 13 | 1U << 16};
    EXPECT_FALSE(card.stats()["qps"][0].contains("peer")) << "it has none yet";
    for (std::uint8_t state = 1; state <= 3; ++state) {
        ASSERT_EQ(verbs.modify_qp(cmd, made.qp_handle, state, masks[state - 1U]), 0);
    }
    auto query = Verbs::zeroed<ib_uverbs_query_qp>();
    query.qp_handle = made.qp_handle;
    auto seen = Verbs::zeroed<ib_uverbs_query_qp_resp>();
    ASSERT_GT(client.command(IB_USER_VERBS_CMD_QUERY_QP, query, seen), 0);
    EXPECT_EQ(std::memcmp(seen.dest.dgid, self.data(), self.size()), 0);
    EXPECT_EQ(seen.dest.flow_label, cmd.dest.flow_label);
    EXPECT_EQ(seen.dest.sgid_index, 1);
    EXPECT_EQ(seen.dest.hop_limit, 64);
    EXPECT_EQ(seen.dest.traffic_class, 0x68);
    EXPECT_EQ(seen.dest.sl, 3);
    EXPECT_EQ(seen.dest.is_global, 1);
    EXPECT_EQ(seen.dest.port_num, 1);
    EXPECT_EQ(seen.port_num, 1);
    EXPECT_EQ(seen.qp_access_flags, 0x7U);
    EXPECT_EQ(seen.dest_qp_num, cmd.dest_qp_num);
    EXPECT_EQ(seen.rq_psn, cmd.rq_psn);
    EXPECT_EQ(seen.sq_psn, cmd.sq_psn);
    EXPECT_EQ(seen.path_mtu, 4);
    EXPECT_EQ(seen.max_rd_atomic, 3);
    EXPECT_EQ(seen.max_dest_rd_atomic, 5);
    EXPECT_EQ(seen.min_rnr_timer, 6);
    EXPECT_EQ(seen.timeout, 20);
    EXPECT_EQ(seen.retry_cnt, 7);
    EXPECT_EQ(seen.rnr_retry, 2);
    EXPECT_EQ(seen.qp_state, 3);
    EXPECT_EQ(seen.cur_qp_state, 3);
    EXPECT_EQ(seen.path_mig_state, 0);
    EXPECT_EQ(seen.sq_draining, 0);
    const auto stats = card.stats()["qps"][0];
    EXPECT_EQ(stats["peer"], "10.77.0.1");
    EXPECT_EQ(stats["dest_qpn"], 0x34567);

    // An unacknowledged request keeps the queue from being drained.
    const Ring sq(client, out.sq);
    ASSERT_TRUE(sq.mapped());
    dingo_wqe_ctrl ctrl{};
    ctrl.opcode = DINGO_WR_SEND;
    ctrl.blocks = 1;
    std::memcpy(sq.entry(0), &ctrl, sizeof ctrl);
    sq.ring(DINGO_DB_SQ, made.qpn, 1);
    ASSERT_EQ(::eventfd_write(verbs.context.kick_fd, 1), 0);
    const auto sent = [&] {
        return card.stats()["qps"][0]["counters"].value("tx_packets", 0) != 0;
    };
    for (int n = 0; n < 5000 && !sent(); ++n) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ASSERT_EQ(verbs.modify_qp(cmd, made.qp_handle, 4, 0), 0) << "SQD";
    ASSERT_GT(client.command(IB_USER_VERBS_CMD_QUERY_QP, query, seen), 0);
    EXPECT_EQ(seen.qp_state, 4);
    EXPECT_EQ(seen.sq_draining, 1);
    EXPECT_EQ(verbs.modify_qp(cmd, made.qp_handle, 4, 1U << 7), 0) << "another path";
}

TEST_F(UverbsWrite, AContextAndAQueuePairTellWhatTheyHave) {
    EXPECT_EQ(verbs.core_support, std::uint64_t{IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS});
    ASSERT_EQ(verbs.create_qp(pd, cq), 0);
    EXPECT_GE(verbs.qp_cap.max_send_wr, 64U);
    EXPECT_GE(verbs.qp_cap.max_recv_wr, 64U);
    EXPECT_GE(verbs.qp_cap.max_send_sge, 1U);
}

TEST_F(UverbsWrite, ADatagramQueuePairTellsItsQkey) {
    ASSERT_EQ(verbs.create_qp(pd, cq, -1, 4), 0);
    auto cmd = Verbs::zeroed<ib_uverbs_modify_qp>();
    cmd.port_num = 1;
    cmd.qkey = 0x12345678;
    cmd.path_mig_state = 1;  // not in the mask
    ASSERT_EQ(verbs.modify_qp(cmd, verbs.handle, 1, kPkeyIndex | kPort | 1U << 6), 0);
    auto query = Verbs::zeroed<ib_uverbs_query_qp>();
    query.qp_handle = verbs.handle;
    auto seen = Verbs::zeroed<ib_uverbs_query_qp_resp>();
    ASSERT_GT(client.command(IB_USER_VERBS_CMD_QUERY_QP, query, seen), 0);
    EXPECT_EQ(seen.qkey, 0x12345678U);
    EXPECT_EQ(seen.qp_state, 1);
    EXPECT_EQ(seen.path_mig_state, 0);
    cmd.qp_handle = verbs.handle;
    cmd.qp_state = 7;
    cmd.attr_mask = 1U << 6;
    EXPECT_EQ(std::min(client.command(IB_USER_VERBS_CMD_MODIFY_QP, cmd), 0), 0)
        << "the mask names no state";
    cmd.cur_qp_state = 2;
    EXPECT_EQ(verbs.modify_qp(cmd, verbs.handle, 2, 1U << 1), -EINVAL) << "it is in INIT";
    cmd.cur_qp_state = 7;
    EXPECT_EQ(verbs.modify_qp(cmd, verbs.handle, 2, 1U << 1), -EINVAL) << "no state";
    ASSERT_EQ(verbs.modify_qp(cmd, verbs.handle, 2, 0), 0) << "the mask names no current state";
    EXPECT_EQ(verbs.modify_qp(cmd, verbs.handle, 7, 0), -EINVAL) << "no state";
}

// The card's memory after its answer must not be readable.
TEST_F(UverbsWrite, RoomBehindAnAnswerIsZeroed) {
    const auto ask = [&](std::uint32_t number, auto cmd, std::size_t answer) {
        constexpr std::size_t kMore = 700;
        std::vector<std::uint8_t> room(answer + kMore, 0xee);
        cmd.response = reinterpret_cast<std::uintptr_t>(room.data());
        const int result = client.write(Client::classic(number, cmd, room.size()));
        EXPECT_GT(result, 0) << number;
        EXPECT_EQ(std::vector<std::uint8_t>(room.end() - kMore, room.end()),
                  std::vector<std::uint8_t>(kMore))
            << number;
    };
    ask(IB_USER_VERBS_CMD_QUERY_DEVICE, Verbs::zeroed<ib_uverbs_query_device>(),
        sizeof(ib_uverbs_query_device_resp));
    auto port = Verbs::zeroed<ib_uverbs_query_port>();
    port.port_num = 1;
    ask(IB_USER_VERBS_CMD_QUERY_PORT, port, sizeof(ib_uverbs_query_port_resp));
    ask(IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, Verbs::zeroed<ib_uverbs_create_comp_channel>(),
        sizeof(ib_uverbs_create_comp_channel_resp));
    ASSERT_EQ(verbs.create_qp(pd, cq), 0);
    auto query = Verbs::zeroed<ib_uverbs_query_qp>();
    query.qp_handle = verbs.handle;
    ask(IB_USER_VERBS_CMD_QUERY_QP, query, sizeof(ib_uverbs_query_qp_resp));
    auto destroy = Verbs::zeroed<ib_uverbs_destroy_qp>();
    destroy.qp_handle = verbs.handle;
    ask(IB_USER_VERBS_CMD_DESTROY_QP, destroy, sizeof(ib_uverbs_destroy_qp_resp));
    auto gone = Verbs::zeroed<ib_uverbs_destroy_cq>();
    gone.cq_handle = cq;
    ask(IB_USER_VERBS_CMD_DESTROY_CQ, gone, sizeof(ib_uverbs_destroy_cq_resp));
}

// Additional bytes of a later libibverbs have a meaning unknown to this card.
TEST_F(UverbsWrite, SurplusBytesOfACommandMustBeZero) {
    const auto ask = [&](std::uint32_t number, auto cmd, std::uint8_t surplus) {
        std::array<std::byte, 512> room{};
        if constexpr (requires { cmd.response; }) {
            cmd.response = reinterpret_cast<std::uintptr_t>(room.data());
        }
        Bytes bytes = Client::classic(number, cmd, room.size());
        const auto words = static_cast<std::uint16_t>((bytes.size() + 8) / 4);
        bytes.resize(bytes.size() + 8);
        std::memcpy(bytes.data() + 4, &words, sizeof words);
        bytes.back() = std::byte{surplus};
        return std::min(client.write(bytes), 0);
    };
    auto port = Verbs::zeroed<ib_uverbs_query_port>();
    port.port_num = 1;
    auto dealloc = Verbs::zeroed<ib_uverbs_dealloc_pd>();
    dealloc.pd_handle = pd;
    for (const std::uint8_t surplus : {1, 0}) {
        const int expected = surplus != 0 ? -EOPNOTSUPP : 0;
        EXPECT_EQ(
            ask(IB_USER_VERBS_CMD_QUERY_DEVICE, Verbs::zeroed<ib_uverbs_query_device>(), surplus),
            expected);
        EXPECT_EQ(ask(IB_USER_VERBS_CMD_QUERY_PORT, port, surplus), expected);
        EXPECT_EQ(ask(IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL,
                      Verbs::zeroed<ib_uverbs_create_comp_channel>(), surplus),
                  expected);
        EXPECT_EQ(ask(IB_USER_VERBS_CMD_DEALLOC_PD, dealloc, surplus), expected);
    }
}

TEST_F(UverbsWrite, ReregThatNamesNoRangeKeepsIt) {
    std::array<std::byte, 4096> memory{};
    ASSERT_EQ(verbs.reg_mr(pd, memory.data(), 64), 0);
    const std::uint32_t mr = verbs.handle;
    const auto range = [&] {
        std::uint32_t lkey = 0, rkey = 0;
        std::uint64_t length = 0, iova = 0;
        Ioctl query(UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR);
        query.object(UVERBS_ATTR_QUERY_MR_HANDLE, mr)
            .out(UVERBS_ATTR_QUERY_MR_RESP_LKEY, lkey)
            .out(UVERBS_ATTR_QUERY_MR_RESP_RKEY, rkey)
            .out(UVERBS_ATTR_QUERY_MR_RESP_LENGTH, length)
            .out(UVERBS_ATTR_QUERY_MR_RESP_IOVA, iova);
        EXPECT_EQ(client.ioctl(query), 0);
        return std::pair(iova, length);
    };
    const auto rereg = [&](std::uint32_t flags) {
        auto cmd = Verbs::zeroed<ib_uverbs_rereg_mr>();
        cmd.mr_handle = mr;
        cmd.flags = flags;
        cmd.start = cmd.hca_va = reinterpret_cast<std::uintptr_t>(memory.data()) + 128;
        cmd.length = 256;
        cmd.access_flags = 1;
        std::array<std::uint32_t, 2> resp{};
        return std::min(client.command(IB_USER_VERBS_CMD_REREG_MR, cmd, resp), 0);
    };
    const auto at = reinterpret_cast<std::uint64_t>(memory.data());
    EXPECT_EQ(range(), std::pair(at, std::uint64_t{64}));
    ASSERT_EQ(rereg(4), 0);
    EXPECT_EQ(range(), std::pair(at, std::uint64_t{64}));
    ASSERT_EQ(rereg(1), 0);
    EXPECT_EQ(range(), std::pair(at + 128, std::uint64_t{256}));
    EXPECT_EQ(rereg(0), -EINVAL);
    EXPECT_EQ(rereg(8), -EOPNOTSUPP);
}

// Other events stay, including the port's, whose number may equal an object's handle.
TEST_F(UverbsWrite, AnObjectThatGoesTakesBackItsOwnEventsThatNobodyRead) {
    const int async = verbs.async_fd();
    ASSERT_GE(async, 0);
    ASSERT_EQ(::fcntl(async, F_SETFL, O_NONBLOCK), 0);
    std::vector<std::uint32_t> srqs;
    for (std::uint64_t user = 1; user <= 3; ++user) {
        auto cmd = Verbs::zeroed<ib_uverbs_create_srq>();
        cmd.user_handle = user;
        cmd.pd_handle = pd;
        cmd.max_wr = 16;
        cmd.max_sge = 1;
        ib_uverbs_create_srq_resp resp{};
        dingo_create_srq_resp out{};
        ASSERT_EQ(
            classic(IB_USER_VERBS_CMD_CREATE_SRQ, cmd, dingo_create_srq_req{0, 4, 6, 0}, resp, out),
            0);
        srqs.push_back(resp.srq_handle);
        auto modify = Verbs::zeroed<ib_uverbs_modify_srq>();
        modify.srq_handle = resp.srq_handle;
        modify.attr_mask = 2;
        modify.srq_limit = 5;
        ASSERT_GT(client.command(IB_USER_VERBS_CMD_MODIFY_SRQ, modify), 0);
    }
    card.control(R"({"cmd":"link","up":false})");
    for (int n = 0; n < 5000 && card.stats()["host"]["events_sent"] != 4; ++n) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ASSERT_EQ(verbs.destroy_srq(srqs[0]), 0);
    EXPECT_EQ(verbs.reported[1], 0U) << "its event was taken back";
    using Event = std::pair<std::uint64_t, std::uint32_t>;
    std::vector<Event> left;
    for (ib_uverbs_async_event_desc event{}; ::read(async, &event, sizeof event) > 0;) {
        left.emplace_back(event.element, event.event_type);
    }
    EXPECT_EQ(left, (std::vector<Event>{{2, 15}, {3, 15}, {1, 10}}));
    ASSERT_EQ(verbs.destroy_srq(srqs[1]), 0);
    EXPECT_EQ(verbs.reported[1], 1U) << "this one was read";
    EXPECT_EQ(card.stats()["host"]["events_taken_back"], 1);
}

// ibv_destroy_cq(3) waits until as many events were acknowledged as the answer reports.
TEST_F(UverbsWrite, ACompletionQueueThatGoesTakesBackTheEventNobodyRead) {
    const int channel = verbs.channel();
    ASSERT_GE(channel, 0);
    ASSERT_EQ(::fcntl(channel, F_SETFL, O_NONBLOCK), 0);
    int sent = 0;
    for (const std::uint64_t user : {11, 22}) {
        ASSERT_EQ(verbs.create_cq(channel, user), 0);
        const std::uint32_t made = verbs.handle;
        ASSERT_EQ(verbs.create_qp(pd, made), 0);
        const std::uint32_t qp = verbs.handle;
        auto cmd = Verbs::zeroed<ib_uverbs_modify_qp>();
        cmd.port_num = 1;
        ASSERT_EQ(verbs.modify_qp(cmd, qp, 1, kPkeyIndex | kPort | kAccess), 0) << "INIT";
        ASSERT_EQ(verbs.modify_qp(cmd, qp, 6, 0), 0) << "ERR";
        const Ring ring(client, verbs.cq_map.ring), sq(client, verbs.qp_map.sq);
        ring.ring(DINGO_DB_CQ, verbs.cq_map.cqn, 0,
                  DINGO_PREP(DINGO_DOORBELL_WORD0_ARM_SN_MASK, 1U));
        dingo_wqe_ctrl ctrl{};
        ctrl.opcode = DINGO_WR_SEND;
        ctrl.blocks = 1;
        std::memcpy(sq.entry(0), &ctrl, sizeof ctrl);
        sq.ring(DINGO_DB_SQ, verbs.qpn, 1);  // is flushed
        ASSERT_EQ(::eventfd_write(verbs.context.kick_fd, 1), 0);
        ++sent;
        for (int n = 0; n < 5000 && card.stats()["host"]["events_sent"] != sent; ++n) {
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        ib_uverbs_comp_event_desc event{};
        if (user == 22) {
            EXPECT_EQ(::read(channel, &event, sizeof event), static_cast<ssize_t>(sizeof event));
            EXPECT_EQ(event.cq_handle, user);
        }
        ASSERT_EQ(verbs.destroy_qp(qp), 0);
        ASSERT_EQ(verbs.destroy_cq(made), 0);
        EXPECT_EQ(verbs.reported[0], user == 22 ? 1U : 0U);
        EXPECT_LT(::read(channel, &event, sizeof event), 0) << "nobody's";
    }
}

// Objects created without a descriptor for their events use the context's own.
TEST_F(UverbsWrite, EventsComeToTheFirstAsyncDescriptor) {
    const int async = verbs.async_fd();
    ASSERT_GE(async, 0);
    const int second = verbs.async_fd();
    ASSERT_GE(second, 0);
    ASSERT_EQ(verbs.create_srq(pd), 0);
    auto modify = Verbs::zeroed<ib_uverbs_modify_srq>();
    modify.srq_handle = verbs.handle;
    modify.attr_mask = 2;
    modify.srq_limit = 5;
    ASSERT_GT(client.command(IB_USER_VERBS_CMD_MODIFY_SRQ, modify), 0);
    ASSERT_EQ(::fcntl(async, F_SETFL, O_NONBLOCK), 0);
    ib_uverbs_async_event_desc event{};
    for (int n = 0; n < 5000 && ::read(async, &event, sizeof event) < 0; ++n) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    EXPECT_EQ(event.event_type, 15U) << "SRQ_LIMIT_REACHED";
    EXPECT_EQ(event.element, 7U) << "the user's handle";
    ASSERT_EQ(::fcntl(second, F_SETFL, O_NONBLOCK), 0);
    EXPECT_LT(::read(second, &event, sizeof event), 0);
}

}  // namespace
}  // namespace dingo::uverbs::test
