// SPDX-License-Identifier: BSD-2-Clause
// The contents of replies, field by field, and what the card must not change in its client.
#include <string_view>

#include "running_card.h"

namespace dingo::uverbs::test {
namespace {

struct UverbsFields : ::testing::Test {
    UverbsFields() : client(card.directory), verbs(client) {
        EXPECT_EQ(verbs.get_context(), 0);
        EXPECT_EQ(verbs.alloc_pd(), 0);
        pd = verbs.handle;
    }
    RunningCard card;
    Client client;
    Verbs verbs;
    std::uint32_t pd = 0;
};

/// Returns an ioctl as one message; its block stays in the ioctl.
Request as_request(Ioctl& io) {
    Request r(DINGO_UVERBS_IOCTL);
    const auto block = io.block();
    r.payload.assign(block.begin(), block.end());
    r.header.arg = reinterpret_cast<std::uintptr_t>(block.data());
    return r;
}

template <typename Cmd, typename Resp>
Request as_request(std::uint32_t number, Cmd cmd, Resp& resp) {
    Request r(DINGO_UVERBS_WRITE);
    cmd.response = reinterpret_cast<std::uintptr_t>(&resp);
    r.payload = Client::classic(number, cmd, sizeof resp);
    return r;
}

// ibv_query_gid_ex(3), ibv_query_gid_table(3).
TEST_F(UverbsFields, AGidEntryTellsGidPortIndexAndType) {
    std::array<ib_uverbs_gid_entry, 8> table{};
    std::uint64_t count = 0;
    Ioctl io(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE);
    io.constant(UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, sizeof table[0])
        .in(UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, std::uint32_t{0})
        .out(UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, table)
        .out(UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, count);
    ASSERT_EQ(client.ioctl(io), 0);
    ASSERT_EQ(count, 2U);
    constexpr std::uint8_t kGids[2][16] = {
        {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0x44, 0x49, 0xff, 0xfe, 0, 0, 1},
        {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, 1}};
    for (std::uint32_t n = 0; n < 2; ++n) {
        EXPECT_EQ(std::memcmp(table[n].gid, kGids[n], sizeof kGids[n]), 0) << n;
        EXPECT_EQ(table[n].gid_index, n);
        EXPECT_EQ(table[n].port_num, 1U);
        EXPECT_EQ(table[n].gid_type, std::uint32_t{IB_UVERBS_GID_TYPE_ROCE_V2});
        EXPECT_EQ(table[n].netdev_ifindex, 0U);
    }
}

// ibv_query_qp(3): a new QP has no path yet.
TEST_F(UverbsFields, AQueuePairWithoutAPathHasNoAddress) {
    ASSERT_EQ(verbs.create_cq(), 0);
    ASSERT_EQ(verbs.create_qp(pd, verbs.handle), 0);
    auto query = Verbs::zeroed<ib_uverbs_query_qp>();
    query.qp_handle = verbs.handle;
    ib_uverbs_query_qp_resp seen;
    std::memset(&seen, 0xee, sizeof seen);
    ASSERT_GT(client.command(IB_USER_VERBS_CMD_QUERY_QP, query, seen), 0);
    EXPECT_EQ(std::count(std::begin(seen.dest.dgid), std::end(seen.dest.dgid), 0), 16);
    EXPECT_EQ(seen.dest.flow_label + seen.dest.sgid_index + seen.dest.hop_limit +
                  seen.dest.traffic_class + seen.dest.sl,
              0U);
    EXPECT_EQ(seen.alt_dest.is_global, 0);
    EXPECT_EQ(seen.alt_port_num, 0);
}

// The card must not change the client's other attributes.
TEST_F(UverbsFields, AnAnswerChangesNothingElseInItsAttributes) {
    std::uint32_t entries = 0;
    dingo_create_cq_resp map{};
    Ioctl io(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
    io.out(UVERBS_ATTR_CREATE_CQ_RESP_CQE, entries)
        .object(UVERBS_ATTR_CREATE_CQ_HANDLE)
        .in(UVERBS_ATTR_CREATE_CQ_CQE, std::uint32_t{16})
        .in(UVERBS_ATTR_CREATE_CQ_USER_HANDLE, std::uint64_t{1})
        .in(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, std::uint32_t{0})
        .out(UVERBS_ATTR_UHW_OUT, map)
        .in(UVERBS_ATTR_UHW_IN, dingo_create_cq_req{});
    ASSERT_EQ(client.ioctl(io), 0);
    for (const ib_uverbs_attr& before : io.attributes()) {
        const ib_uverbs_attr after = io.attr(before.attr_id);
        const bool out = before.attr_id == UVERBS_ATTR_CREATE_CQ_RESP_CQE ||
                         before.attr_id == UVERBS_ATTR_UHW_OUT;
        EXPECT_EQ(after.attr_id, before.attr_id);
        EXPECT_EQ(after.len, before.len) << before.attr_id;
        EXPECT_EQ(after.attr_data.reserved, 0) << before.attr_id;
        EXPECT_EQ(after.flags, before.flags | (out ? UVERBS_ATTR_F_VALID_OUTPUT : 0))
            << before.attr_id;
        if (before.attr_id != UVERBS_ATTR_CREATE_CQ_HANDLE) {
            EXPECT_EQ(after.data, before.data) << before.attr_id;
        }
    }
}

TEST_F(UverbsFields, AReplySaysWhatItIsAndWhereNumbersGo) {
    const auto check = [](const Answer& answer, int result) {
        EXPECT_EQ(answer.header.version, std::uint32_t{DINGO_UVERBS_VERSION});
        EXPECT_EQ(answer.header.type, std::uint32_t{DINGO_UVERBS_DONE});
        EXPECT_EQ(answer.result(), result);
    };
    struct Fixup {
        std::uintptr_t va;
        std::uint32_t size, fd, kind, reserved;
    };
    const auto number = [](const Answer& answer, Fixup expected) {
        ASSERT_EQ(answer.fixups.size(), 1U);
        ASSERT_EQ(answer.fds.size(), 1U);
        const dingo_uverbs_fixup& f = answer.fixups[0];
        EXPECT_EQ(f.va, expected.va);
        EXPECT_EQ(f.size, expected.size);
        EXPECT_EQ(f.fd, expected.fd);
        EXPECT_EQ(f.kind, expected.kind);
        EXPECT_EQ(f.reserved, expected.reserved);
    };
    std::array<std::uint32_t, 4> room{};
    const Request alloc =
        as_request(IB_USER_VERBS_CMD_ALLOC_PD, Verbs::zeroed<ib_uverbs_alloc_pd>(), room);
    const Answer made = client.send(alloc);
    check(made, static_cast<int>(alloc.payload.size()));
    EXPECT_TRUE(made.fixups.empty());
    EXPECT_TRUE(made.fds.empty());
    check(client.send(Request(DINGO_UVERBS_SYSFS)), -ENOENT);
    check(client.hello(), 0);

    const auto at = reinterpret_cast<std::uintptr_t>(room.data());
    const Request channel =
        as_request(IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, ib_uverbs_create_comp_channel{}, room);
    const Answer comp = client.send(channel);
    check(comp, static_cast<int>(channel.payload.size()));
    number(comp, {at, 4, 0, DINGO_UVERBS_FD_COMP, 0});
    Ioctl io(UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC);
    io.object(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE);
    const Request async = as_request(io);
    const Answer events = client.send(async);
    check(events, 0);
    number(events, {async.header.arg + sizeof(ib_uverbs_ioctl_hdr) + offsetof(ib_uverbs_attr, data),
                    8, 0, DINGO_UVERBS_FD_ASYNC, 0});
}

// The driver's answer is truncated to the room; a descriptor is passed only if its number fits.
TEST_F(UverbsFields, ADescriptorOfTheDriversAnswerIsGivenWhereItsNumberFits) {
    constexpr std::size_t kAt = offsetof(dingo_alloc_ucontext_resp, kick_fd);
    for (const std::size_t length : {kAt, kAt + 3, kAt + 4, sizeof(dingo_alloc_ucontext_resp)}) {
        Client other(card.directory);
        std::array<std::byte, sizeof(dingo_alloc_ucontext_resp)> room{};
        room.fill(std::byte{0xee});
        dingo_alloc_ucontext_req request{};
        request.kick_modes = 1U << DINGO_KICK_FD;
        ib_uverbs_attr out{};
        out.attr_id = UVERBS_ATTR_UHW_OUT;
        out.len = static_cast<std::uint16_t>(length);
        out.data = reinterpret_cast<std::uintptr_t>(room.data());
        Ioctl io(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
        io.in(UVERBS_ATTR_UHW_IN, request).raw(out);
        const Answer answer = other.send(as_request(io));
        EXPECT_EQ(answer.result(), 0) << length;
        const bool fits = length >= kAt + 4;
        ASSERT_EQ(answer.fixups.size(), fits ? 1U : 0U) << length;
        EXPECT_EQ(answer.fds.size(), fits ? 1U : 0U) << length;
        if (fits) {
            EXPECT_EQ(answer.fixups[0].va, out.data + kAt);
            EXPECT_EQ(answer.fixups[0].size, 4U);
            EXPECT_EQ(answer.fixups[0].kind, std::uint32_t{DINGO_UVERBS_FD_OTHER});
        }
        EXPECT_EQ(std::count(room.begin() + static_cast<std::ptrdiff_t>(length), room.end(),
                             std::byte{0xee}),
                  room.end() - room.begin() - static_cast<std::ptrdiff_t>(length))
            << "nothing behind its room";
    }
}

TEST_F(UverbsFields, SharingIsAskedForAsTheRegionNeedsIt) {
    constexpr std::uint64_t kStart = 0x7000'0000'0000;
    for (const auto& [access, writable] : {std::pair<std::uint32_t, std::uint32_t>{0, 0},
                                           {IB_UVERBS_ACCESS_REMOTE_READ, 0},
                                           {IB_UVERBS_ACCESS_LOCAL_WRITE, 1},
                                           {IB_UVERBS_ACCESS_MW_BIND, 1}}) {
        auto cmd = Verbs::zeroed<ib_uverbs_reg_mr>();
        cmd.start = kStart + 0x123;
        cmd.hca_va = 0x5000'0000'0123;
        cmd.length = 0x4567;
        cmd.pd_handle = pd;
        cmd.access_flags = access;
        std::array<std::uint32_t, 3> room{};
        const Answer answer = client.send(as_request(IB_USER_VERBS_CMD_REG_MR, cmd, room));
        EXPECT_EQ(answer.header.type, std::uint32_t{DINGO_UVERBS_NEED_SHARING});
        EXPECT_EQ(answer.header.need_va, cmd.start);
        EXPECT_EQ(answer.header.need_length, cmd.length);
        EXPECT_EQ(answer.header.need_writable, writable) << access;
        EXPECT_EQ(answer.header.num_need_fds, 0U);
    }
}

// The client may know that the DMABuf is GPU memory, whose address is that of the region.
TEST_F(UverbsFields, ADmaBufIsAskedForWithItsPlace) {
    std::uint32_t lkey = 0, rkey = 0;
    Ioctl io(UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR);
    io.object(UVERBS_ATTR_REG_DMABUF_MR_HANDLE)
        .object(UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, pd)
        .in(UVERBS_ATTR_REG_DMABUF_MR_OFFSET, std::uint64_t{0x3045})
        .in(UVERBS_ATTR_REG_DMABUF_MR_LENGTH, std::uint64_t{0x2000})
        .in(UVERBS_ATTR_REG_DMABUF_MR_IOVA, std::uint64_t{0x7000'0000'1045})
        .in(UVERBS_ATTR_REG_DMABUF_MR_FD, std::uint32_t{900})
        .in(UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, std::uint32_t{1})
        .out(UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, lkey)
        .out(UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, rkey);
    const Answer answer = client.send(as_request(io));
    EXPECT_EQ(answer.header.type, std::uint32_t{DINGO_UVERBS_NEED_FDS});
    EXPECT_EQ(answer.header.num_need_fds, 1U);
    EXPECT_EQ(answer.header.need_fds[0], 900);
    EXPECT_EQ(answer.header.need_va, 0x7000'0000'1045U);
    EXPECT_EQ(answer.header.need_length, 0x2000U);
    EXPECT_EQ(answer.header.need_offset, 0x3045U);

    auto cmd = Verbs::zeroed<ib_uverbs_create_cq>();
    cmd.cqe = 10;
    cmd.comp_channel = 5;
    std::array<std::byte, 128> room{};
    const Answer channel = client.send(as_request(IB_USER_VERBS_CMD_CREATE_CQ, cmd, room));
    EXPECT_EQ(channel.header.type, std::uint32_t{DINGO_UVERBS_NEED_FDS});
    EXPECT_EQ(channel.header.need_length, 0U) << "a channel is no GPU's memory";
}

// ib_uverbs accepts driver data of any length; the driver checks it.
TEST_F(UverbsFields, DataForTheDriverMayBeEmpty) {
    ib_uverbs_attr nothing{};
    nothing.attr_id = UVERBS_ATTR_UHW_IN;
    nothing.flags = UVERBS_ATTR_F_MANDATORY;
    Ioctl io(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
    io.constant(UVERBS_ATTR_WRITE_CMD, IB_USER_VERBS_CMD_DEALLOC_PD)
        .in(UVERBS_ATTR_CORE_IN, pd)
        .raw(nothing);
    EXPECT_EQ(client.ioctl(io), 0);
    EXPECT_EQ(card.objects("pd"), 0);
}

// An older libibverbs has no create_flags: missing bytes are zero.
TEST_F(UverbsFields, MissingBytesOfACommandAreZero) {
    ASSERT_EQ(verbs.create_cq(), 0);
    const std::uint32_t cq = verbs.handle;
    for (const std::size_t length : {offsetof(ib_uverbs_ex_create_qp, create_flags),
                                     offsetof(ib_uverbs_ex_create_qp, rwq_ind_tbl_handle)}) {
        auto cmd = Verbs::zeroed<ib_uverbs_ex_create_qp>();
        cmd.pd_handle = pd;
        cmd.send_cq_handle = cmd.recv_cq_handle = cq;
        cmd.max_send_wr = cmd.max_recv_wr = 16;
        cmd.max_send_sge = cmd.max_recv_sge = 1;
        cmd.qp_type = 2;
        auto resp = Verbs::zeroed<ib_uverbs_ex_create_qp_resp>();
        ib_uverbs_attr in{};
        in.attr_id = UVERBS_ATTR_CORE_IN;
        in.flags = UVERBS_ATTR_F_MANDATORY;
        in.len = static_cast<std::uint16_t>(length);
        in.data = reinterpret_cast<std::uintptr_t>(&cmd);
        dingo_create_qp_resp map{};
        Ioctl io(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
        io.constant(UVERBS_ATTR_WRITE_CMD,
                    IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_CREATE_QP)
            .raw(in)
            .out(UVERBS_ATTR_CORE_OUT, resp)
            .in(UVERBS_ATTR_UHW_IN, dingo_create_qp_req{0, 6, 6, 6, 0})
            .out(UVERBS_ATTR_UHW_OUT, map);
        EXPECT_EQ(client.ioctl(io), 0) << length;
        EXPECT_EQ(verbs.destroy_qp(resp.base.qp_handle), 0);
    }
}

// Without a GPU the request fails for that reason, but other errors are reported before.
TEST_F(UverbsFields, MemoryOfAGpuMustHoldTheRegion) {
    const auto reg = [&](std::uint64_t length) {
        auto cmd = Verbs::zeroed<ib_uverbs_reg_mr>();
        cmd.start = cmd.hca_va = 0x7000'0000'0000;
        cmd.length = length;
        cmd.pd_handle = pd;
        cmd.access_flags = 1;
        std::array<std::uint32_t, 3> room{};
        Request request = as_request(IB_USER_VERBS_CMD_REG_MR, cmd, room);
        request.header.flags = DINGO_UVERBS_GPU;
        dingo_uverbs_gpu gpu{};
        gpu.kind = DINGO_UVERBS_GPU_IPC;
        gpu.size = 0x8000;
        gpu.offset = 0x3000;
        Bytes with;
        append(with, gpu);
        Bytes bytes = request.bytes();
        bytes.insert(bytes.begin() + sizeof(dingo_uverbs_request), with.begin(), with.end());
        return client.send_bytes(bytes, {}).result();
    };
    EXPECT_EQ(reg(0x5000 + DINGO_UVERBS_GPU_PAGE), -EINVAL);
    EXPECT_EQ(reg(UINT64_MAX - 0x1000), -EINVAL);
    EXPECT_EQ(reg(0x5000 + DINGO_UVERBS_GPU_PAGE - 1), reg(0x5000)) << "rounded up by the program";
    const int fits = reg(0x5000);
    EXPECT_LT(fits, 0) << "nobody's memory";
    EXPECT_NE(fits, -EACCES) << "it is the card's owner who asks";
    if (std::filesystem::exists("/dev/nvidiactl")) {
        GTEST_SKIP() << "a GPU's driver judges it";
    }
    EXPECT_EQ(fits, -ENODEV);
    EXPECT_EQ(card.objects("mr"), 0);
    EXPECT_EQ(verbs.alloc_pd(), 0) << "the connection stays";
}

// IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION exists only in the extended command.
TEST(UverbsWithoutTimestamps, AClassicCompletionQueueAsksForNone) {
    const RunningCard card(1024, 16U << 20, false, 1, DINGO_CAP_TIMESTAMP);
    Client client(card.directory);
    Verbs verbs(client);
    ASSERT_EQ(verbs.get_context(), 0);
    auto cmd = Verbs::zeroed<ib_uverbs_create_cq>();
    cmd.cqe = 10;
    cmd.comp_channel = -1;
    std::array<std::byte, 512> room{};
    Request request = as_request(IB_USER_VERBS_CMD_CREATE_CQ, cmd, room);
    append(request.payload, dingo_create_cq_req{});
    const auto words = static_cast<std::uint16_t>(request.payload.size() / 4);
    std::memcpy(request.payload.data() + 4, &words, sizeof words);
    EXPECT_GT(client.send(request).result(), 0);
    EXPECT_EQ(verbs.create_cq(), 0);
}

}  // namespace
}  // namespace dingo::uverbs::test
