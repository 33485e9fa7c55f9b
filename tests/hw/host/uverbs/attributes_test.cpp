// SPDX-License-Identifier: BSD-2-Clause
//
// The errno of each mistake in an ioctl or write, as ib_uverbs answers them.
#include <set>

#include "running_card.h"

namespace dingo::uverbs::test {
namespace {

struct UverbsArguments : ::testing::Test {
    UverbsArguments() : client(card.directory), verbs(client) { EXPECT_EQ(verbs.get_context(), 0); }
    RunningCard card;
    Client client;
    Verbs verbs;
};

Ioctl query_port(ib_uverbs_query_port_resp_ex& resp) {
    Ioctl io(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
    io.constant(UVERBS_ATTR_QUERY_PORT_PORT_NUM, 1).out(UVERBS_ATTR_QUERY_PORT_RESP, resp);
    return io;
}

TEST_F(UverbsArguments, ValidOutputIsMarked) {
    ib_uverbs_query_port_resp_ex resp{};
    Ioctl io = query_port(resp);
    EXPECT_EQ(client.ioctl(io), 0);
    EXPECT_NE(io.attr(UVERBS_ATTR_QUERY_PORT_RESP).flags & UVERBS_ATTR_F_VALID_OUTPUT, 0);
    EXPECT_EQ(resp.legacy_resp.link_layer, 2);
    EXPECT_GT(resp.legacy_resp.gid_tbl_len, 0u);
}

TEST_F(UverbsArguments, HeaderMistakesGetTheirErrno) {
    ib_uverbs_query_port_resp_ex resp{};
    const auto with = [&](auto&& change) {
        Ioctl io = query_port(resp);
        change(io.header());
        return client.ioctl(io);
    };
    EXPECT_EQ(with([](auto& h) { h.object_id = 99; }), -EPROTONOSUPPORT);
    EXPECT_EQ(with([](auto& h) { h.method_id = 99; }), -EPROTONOSUPPORT);
    EXPECT_EQ(with([](auto& h) { h.object_id = UVERBS_OBJECT_DM; }), -EPROTONOSUPPORT);
    EXPECT_EQ(with([](auto& h) { h.driver_id = RDMA_DRIVER_RXE; }), -EINVAL);
    EXPECT_EQ(with([](auto& h) { h.reserved1 = 1; }), -EPROTONOSUPPORT);
    EXPECT_EQ(with([](auto& h) { h.reserved2 = 1; }), -EPROTONOSUPPORT);
    Ioctl io = query_port(resp);
    Request r(DINGO_UVERBS_IOCTL);
    const auto block = io.block();
    r.payload.assign(block.begin(), block.end());
    r.payload[0] = std::byte{1};  // length
    EXPECT_EQ(client.send(r).result(), -EINVAL);
    r.payload.resize(10);
    EXPECT_EQ(client.send(r).result(), -EFAULT);
}

TEST_F(UverbsArguments, AttributeMistakesGetTheirErrno) {
    ib_uverbs_query_port_resp_ex resp{};
    const auto with = [&](ib_uverbs_attr extra) {
        Ioctl io = query_port(resp);
        io.raw(extra);
        return client.ioctl(io);
    };
    ib_uverbs_attr unknown{};
    unknown.attr_id = 77;
    EXPECT_EQ(with(unknown), 0) << "what is not mandatory is ignored";
    unknown.flags = UVERBS_ATTR_F_MANDATORY;
    EXPECT_EQ(with(unknown), -EPROTONOSUPPORT);
    ib_uverbs_attr twice{};
    twice.attr_id = UVERBS_ATTR_QUERY_PORT_PORT_NUM;
    twice.len = 8;
    EXPECT_EQ(with(twice), -EINVAL);

    Ioctl missing(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
    missing.out(UVERBS_ATTR_QUERY_PORT_RESP, resp);
    EXPECT_EQ(client.ioctl(missing), -EINVAL);
    for (const auto& [port, result] : {std::pair{2, -EINVAL}, {0, -EINVAL}, {300, -EINVAL}}) {
        Ioctl io(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
        io.constant(UVERBS_ATTR_QUERY_PORT_PORT_NUM, static_cast<std::uint64_t>(port))
            .out(UVERBS_ATTR_QUERY_PORT_RESP, resp);
        EXPECT_EQ(client.ioctl(io), result) << port;
    }
    Ioctl odd(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
    odd.in(UVERBS_ATTR_QUERY_PORT_PORT_NUM, std::uint32_t{1})
        .out(UVERBS_ATTR_QUERY_PORT_RESP, resp);
    EXPECT_EQ(client.ioctl(odd), -EINVAL) << "a constant has 8 bytes";
    std::uint32_t small = 0;
    Ioctl room(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
    room.constant(UVERBS_ATTR_QUERY_PORT_PORT_NUM, 1).out(UVERBS_ATTR_QUERY_PORT_RESP, small);
    EXPECT_EQ(client.ioctl(room), -EINVAL);
    Ioctl nowhere(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
    ib_uverbs_attr out{};
    out.attr_id = UVERBS_ATTR_QUERY_PORT_RESP;
    out.len = sizeof resp;
    out.data = 64;
    nowhere.constant(UVERBS_ATTR_QUERY_PORT_PORT_NUM, 1).raw(out);
    EXPECT_EQ(client.ioctl(nowhere), -EFAULT);
}

TEST_F(UverbsArguments, LongerRoomIsZeroedBehindTheAnswer) {
    struct {
        ib_uverbs_query_port_resp_ex resp;
        std::array<std::uint8_t, 24> more;
    } room;
    std::memset(&room, 0xEE, sizeof room);
    Ioctl io(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
    io.constant(UVERBS_ATTR_QUERY_PORT_PORT_NUM, 1).out(UVERBS_ATTR_QUERY_PORT_RESP, room);
    EXPECT_EQ(client.ioctl(io), 0);
    EXPECT_EQ(room.more, (std::array<std::uint8_t, 24>{}));
}

TEST_F(UverbsArguments, DriverDataOfAnotherVersionIsRefused) {
    Ioctl io(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
    std::uint32_t entries = 0;
    struct {
        dingo_create_cq_req known{};
        std::uint64_t unknown = 1;
    } request;
    io.object(UVERBS_ATTR_CREATE_CQ_HANDLE)
        .in(UVERBS_ATTR_CREATE_CQ_CQE, std::uint32_t{16})
        .in(UVERBS_ATTR_CREATE_CQ_USER_HANDLE, std::uint64_t{1})
        .in(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, std::uint32_t{0})
        .out(UVERBS_ATTR_CREATE_CQ_RESP_CQE, entries)
        .in(UVERBS_ATTR_UHW_IN, request);
    EXPECT_EQ(client.ioctl(io), -EOPNOTSUPP);
    EXPECT_EQ(card.objects("cq"), 0);
}

TEST_F(UverbsArguments, GidTableAndEntriesAgree) {
    std::array<ib_uverbs_gid_entry, 16> table{};
    std::uint64_t count = 0;
    Ioctl io(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE);
    io.constant(UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, sizeof table[0])
        .in(UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, std::uint32_t{0})
        .out(UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, table)
        .out(UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, count);
    ASSERT_EQ(client.ioctl(io), 0);
    ASSERT_GE(count, 2u);
    ib_uverbs_gid_entry entry{};
    const auto query = [&](std::uint64_t index, std::uint32_t flags = 0) {
        Ioctl q(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY);
        q.constant(UVERBS_ATTR_QUERY_GID_ENTRY_PORT, 1)
            .constant(UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, index)
            .in(UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, flags)
            .out(UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, entry);
        return client.ioctl(q);
    };
    EXPECT_EQ(query(table[1].gid_index), 0);
    EXPECT_EQ(std::memcmp(&entry, &table[1], sizeof entry), 0);
    EXPECT_EQ(entry.gid_type, std::uint32_t{IB_UVERBS_GID_TYPE_ROCE_V2});
    EXPECT_EQ(query(0, 1), -EINVAL);
    EXPECT_EQ(query(count), -ENODATA);
    EXPECT_EQ(query(1 << 20), -EINVAL);
}

TEST_F(UverbsArguments, RoomForTheDriversAnswerMayBeEmpty) {
    std::uint32_t entries = 0;
    ib_uverbs_attr nothing{};
    nothing.attr_id = UVERBS_ATTR_UHW_OUT;
    nothing.flags = UVERBS_ATTR_F_MANDATORY;
    Ioctl io(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
    io.object(UVERBS_ATTR_CREATE_CQ_HANDLE)
        .in(UVERBS_ATTR_CREATE_CQ_CQE, std::uint32_t{16})
        .in(UVERBS_ATTR_CREATE_CQ_USER_HANDLE, std::uint64_t{1})
        .in(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, std::uint32_t{0})
        .out(UVERBS_ATTR_CREATE_CQ_RESP_CQE, entries)
        .in(UVERBS_ATTR_UHW_IN, dingo_create_cq_req{})
        .raw(nothing);
    EXPECT_EQ(client.ioctl(io), 0);
    EXPECT_GE(entries, 16U);
}

// A later libibverbs may ask for more than this card knows: not when it says so.
TEST_F(UverbsArguments, LongerStructuresAreTakenWhenWhatIsNewIsZero) {
    ASSERT_EQ(verbs.alloc_pd(), 0);
    const std::uint32_t pd = verbs.handle;
    ASSERT_EQ(verbs.create_cq(), 0);
    const std::uint32_t cq = verbs.handle;
    const auto create = [&](std::uint64_t later) {
        struct {
            ib_uverbs_qp_cap known{16, 16, 1, 1, 0};
            std::uint32_t unknown[3] = {};
        } cap;
        cap.unknown[1] = static_cast<std::uint32_t>(later);
        ib_uverbs_qp_cap got{};
        std::uint32_t qpn = 0;
        dingo_create_qp_resp map{};
        Ioctl io(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
        io.object(UVERBS_ATTR_CREATE_QP_HANDLE)
            .object(UVERBS_ATTR_CREATE_QP_PD_HANDLE, pd)
            .object(UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, cq)
            .object(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, cq)
            .in(UVERBS_ATTR_CREATE_QP_USER_HANDLE, std::uint64_t{9})
            .in(UVERBS_ATTR_CREATE_QP_CAP, cap)
            .constant(UVERBS_ATTR_CREATE_QP_TYPE, 2)
            .out(UVERBS_ATTR_CREATE_QP_RESP_CAP, got)
            .out(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, qpn)
            .in(UVERBS_ATTR_UHW_IN, dingo_create_qp_req{0, 6, 6, 6, 0})
            .out(UVERBS_ATTR_UHW_OUT, map);
        return client.ioctl(io);
    };
    EXPECT_EQ(create(1), -EOPNOTSUPP);
    EXPECT_EQ(card.objects("qp"), 0);
    EXPECT_EQ(create(0), 0);
}

TEST_F(UverbsArguments, HandlesOfATypeAreListedAsFarAsThereIsRoom) {
    std::set<std::uint32_t> made;
    for (int n = 0; n < 3; ++n) {
        ASSERT_EQ(verbs.alloc_pd(), 0);
        made.insert(verbs.handle);
    }
    std::uint32_t total = 99;
    const auto list = [&](std::uint64_t type, auto& room) {
        Ioctl io(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INFO_HANDLES);
        io.constant(UVERBS_ATTR_INFO_OBJECT_ID, type)
            .out(UVERBS_ATTR_INFO_TOTAL_HANDLES, total)
            .out(UVERBS_ATTR_INFO_HANDLES_LIST, room);
        return client.ioctl(io);
    };
    std::array<std::uint32_t, 5> room{};
    ASSERT_EQ(list(UVERBS_OBJECT_PD, room), 0);
    EXPECT_EQ(total, 3U);
    EXPECT_EQ(std::set(room.begin(), room.begin() + 3), made);
    std::array<std::uint32_t, 2> small{};
    ASSERT_EQ(list(UVERBS_OBJECT_PD, small), 0);
    EXPECT_EQ(total, 2U);
    ASSERT_EQ(list(UVERBS_OBJECT_MW, room), 0);
    EXPECT_EQ(total, 0U);
    EXPECT_EQ(list(UVERBS_OBJECT_ASYNC_EVENT, room), 0);
    EXPECT_EQ(list(UVERBS_OBJECT_ASYNC_EVENT + 1, room), -EINVAL) << "no type of the core's";
    EXPECT_EQ(list(0x10000 + UVERBS_OBJECT_PD, room), -EINVAL);
    std::array<std::uint8_t, 6> odd{};
    EXPECT_EQ(list(UVERBS_OBJECT_PD, odd), -EINVAL);
    Ioctl nowhere(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INFO_HANDLES);
    nowhere.constant(UVERBS_ATTR_INFO_OBJECT_ID, UVERBS_OBJECT_PD)
        .out(UVERBS_ATTR_INFO_TOTAL_HANDLES, total);
    EXPECT_EQ(client.ioctl(nowhere), -EINVAL);
}

TEST_F(UverbsArguments, ADmaBufIsCheckedBeforeItsDescriptorIsAskedFor) {
    ASSERT_EQ(verbs.alloc_pd(), 0);
    const std::uint32_t pd = verbs.handle;
    const auto reg = [&](std::uint64_t offset, std::uint64_t iova, std::uint32_t access = 1) {
        std::uint32_t lkey = 0, rkey = 0;
        Ioctl io(UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR);
        io.object(UVERBS_ATTR_REG_DMABUF_MR_HANDLE)
            .object(UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, pd)
            .in(UVERBS_ATTR_REG_DMABUF_MR_OFFSET, offset)
            .in(UVERBS_ATTR_REG_DMABUF_MR_LENGTH, std::uint64_t{4096})
            .in(UVERBS_ATTR_REG_DMABUF_MR_IOVA, iova)
            .in(UVERBS_ATTR_REG_DMABUF_MR_FD, std::uint32_t{900})
            .in(UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, access)
            .out(UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, lkey)
            .out(UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, rkey);
        return client.ioctl(io);
    };
    EXPECT_EQ(reg(0, 0), -EBADF) << "not open";
    EXPECT_EQ(reg(100, 8192 + 100), -EBADF);
    EXPECT_EQ(reg(100, 8192), -EINVAL) << "its first byte keeps its place in the page";
    EXPECT_EQ(reg(0, 2048), -EINVAL);
    EXPECT_EQ(reg(0, 0, IB_UVERBS_ACCESS_MW_BIND), -EINVAL);
    EXPECT_EQ(reg(0, 0, IB_UVERBS_ACCESS_REMOTE_WRITE), -EINVAL) << "without LOCAL_WRITE";
}

TEST_F(UverbsArguments, WriteHeaderMistakesGetTheirErrno) {
    ib_uverbs_query_device_resp resp{};
    auto cmd = Verbs::zeroed<ib_uverbs_query_device>();
    cmd.response = reinterpret_cast<std::uintptr_t>(&resp);
    const Bytes good = Client::classic(IB_USER_VERBS_CMD_QUERY_DEVICE, cmd, sizeof resp);
    EXPECT_EQ(client.write(good), static_cast<int>(good.size()));
    EXPECT_EQ(resp.phys_port_cnt, 1);
    const auto with = [&](auto&& change) {
        Bytes bytes = good;
        change(bytes);
        return client.write(bytes);
    };
    EXPECT_EQ(with([](Bytes& b) { b.resize(4); }), -EINVAL);
    EXPECT_EQ(with([](Bytes& b) { b[4] = std::byte{3}; }), -EINVAL) << "in_words";
    EXPECT_EQ(with([](Bytes& b) { b[6] = std::byte{1}; }), -ENOSPC) << "out_words";
    EXPECT_EQ(with([](Bytes& b) { b[0] = std::byte{200}; }), -EOPNOTSUPP);
    EXPECT_EQ(with([](Bytes& b) { b[1] = std::byte{1}; }), -EINVAL);
    EXPECT_EQ(with([](Bytes& b) { b[0] = std::byte{IB_USER_VERBS_CMD_POLL_CQ}; }), -EOPNOTSUPP);
    EXPECT_EQ(with([](Bytes& b) { b[0] = std::byte{IB_USER_VERBS_CMD_OPEN_XRCD}; }), -EOPNOTSUPP);
    EXPECT_EQ(with([](Bytes& b) { std::memset(b.data() + 8, 0, 8); }), -EFAULT);
}

TEST_F(UverbsArguments, ExtendedQueryAnswersAsMuchAsThereIsRoomFor) {
    for (const std::size_t room : {sizeof(ib_uverbs_ex_query_device_resp),
                                   offsetof(ib_uverbs_ex_query_device_resp, odp_caps)}) {
        ib_uverbs_ex_query_device_resp resp{};
        Bytes bytes;
        append(bytes, ib_uverbs_cmd_hdr{
                          IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_QUERY_DEVICE, 1,
                          static_cast<std::uint16_t>(room / 8)});
        append(bytes, ib_uverbs_ex_cmd_hdr{reinterpret_cast<std::uintptr_t>(&resp), 0, 0, 0});
        append(bytes, ib_uverbs_ex_query_device{});
        EXPECT_EQ(client.write(bytes), static_cast<int>(bytes.size()));
        EXPECT_EQ(resp.response_length, room);
        EXPECT_GT(resp.base.max_qp, 0u);
    }
}

TEST_F(UverbsArguments, InvokeWriteAndWriteShareTheirCommands) {
    ib_uverbs_query_device_resp by_write{};
    auto cmd = Verbs::zeroed<ib_uverbs_query_device>();
    ASSERT_GT(client.command(IB_USER_VERBS_CMD_QUERY_DEVICE, cmd, by_write), 0);
    ib_uverbs_query_device_resp resp{};
    Ioctl io(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
    io.constant(UVERBS_ATTR_WRITE_CMD, IB_USER_VERBS_CMD_QUERY_DEVICE)
        .in(UVERBS_ATTR_CORE_IN, std::uint64_t{0})
        .out(UVERBS_ATTR_CORE_OUT, resp);
    EXPECT_EQ(client.ioctl(io), 0);
    EXPECT_EQ(std::memcmp(&resp, &by_write, sizeof resp), 0);
    Ioctl none(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
    none.constant(UVERBS_ATTR_WRITE_CMD, IB_USER_VERBS_CMD_OPEN_XRCD);
    EXPECT_EQ(client.ioctl(none), -EOPNOTSUPP);
    Ioctl small(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
    small.constant(UVERBS_ATTR_WRITE_CMD, IB_USER_VERBS_CMD_QUERY_DEVICE);
    EXPECT_EQ(client.ioctl(small), -ENOSPC);
}

TEST_F(UverbsArguments, DescriptorsThatAreNotOpenOrNotChannelsAreBad) {
    EXPECT_EQ(verbs.create_cq(900), -EBADF);
    EXPECT_EQ(verbs.create_cq(client.socket()), -EBADF);
    const int channel = verbs.channel();
    ASSERT_GE(channel, 0);
    EXPECT_EQ(verbs.create_cq(-1, 1, 64, channel), -EBADF) << "of the wrong kind";
    Client other(card.directory);
    Verbs theirs(other);
    ASSERT_EQ(theirs.get_context(), 0);
    EXPECT_EQ(theirs.create_cq(channel), -EBADF) << "of another connection";
    const int copy = ::dup(channel);
    ::close(channel);
    EXPECT_EQ(verbs.create_cq(copy), 0) << "a copy is as good";
    ::close(copy);
}

TEST_F(UverbsArguments, MemoryRegionsAreChecked) {
    std::array<std::byte, 4096> memory{};
    ASSERT_EQ(verbs.alloc_pd(), 0);
    const std::uint32_t pd = verbs.handle;
    EXPECT_EQ(verbs.reg_mr(pd, memory.data(), 0), -EINVAL);
    EXPECT_EQ(verbs.reg_mr(pd, memory.data(), UINT64_MAX), -EINVAL);
    EXPECT_EQ(verbs.reg_mr(pd, memory.data(), 64, IB_UVERBS_ACCESS_REMOTE_WRITE), -EINVAL);
    EXPECT_EQ(verbs.reg_mr(pd, memory.data(), 64, IB_UVERBS_ACCESS_ON_DEMAND), -EOPNOTSUPP);
    EXPECT_EQ(verbs.reg_mr(pd, memory.data(), 64, 1U << 31), -EINVAL);
    EXPECT_EQ(verbs.reg_mr(pd + 1, memory.data(), 64), -EINVAL);
    EXPECT_EQ(verbs.reg_mr(pd, memory.data(), 64), 0);
    const std::uint32_t mr = verbs.handle;
    std::uint32_t lkey = 0;
    std::uint32_t rkey = 0;
    std::uint64_t length = 0;
    Ioctl query(UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR);
    query.object(UVERBS_ATTR_QUERY_MR_HANDLE, mr)
        .out(UVERBS_ATTR_QUERY_MR_RESP_LKEY, lkey)
        .out(UVERBS_ATTR_QUERY_MR_RESP_RKEY, rkey)
        .out(UVERBS_ATTR_QUERY_MR_RESP_LENGTH, length);
    EXPECT_EQ(client.ioctl(query), 0);
    EXPECT_EQ(lkey, verbs.key);
    EXPECT_EQ(rkey, verbs.key);
    EXPECT_EQ(length, 64u);
}

TEST(UverbsWithoutContext, MostThingsNeedAContextAndThereIsOnlyOne) {
    RunningCard card;
    Client client(card.directory);
    Verbs verbs(client);
    EXPECT_EQ(verbs.alloc_pd(), -EINVAL);
    EXPECT_EQ(verbs.channel(), -EINVAL);
    EXPECT_EQ(verbs.create_cq(), -EINVAL);
    EXPECT_EQ(verbs.async_fd(), -EINVAL);
    EXPECT_EQ(verbs.get_context(), 0);
    EXPECT_EQ(verbs.get_context(), -EINVAL);
    EXPECT_GT(verbs.vectors, 0u);
    EXPECT_EQ(verbs.context.kick_mode, std::uint32_t{DINGO_KICK_FD});
    EXPECT_GE(::fcntl(verbs.context.kick_fd, F_GETFD), 0);
}

TEST(UverbsWithoutContext, ClassicGetContextGivesTheAsyncDescriptor) {
    RunningCard card;
    Client client(card.directory);
    struct {
        std::uint64_t response;
        dingo_alloc_ucontext_req driver;
    } cmd{0, {0, 1U << DINGO_KICK_FD}};
    struct {
        std::uint32_t async_fd;
        std::uint32_t num_comp_vectors;
        dingo_alloc_ucontext_resp driver;
    } resp{};
    ASSERT_GT(client.command(IB_USER_VERBS_CMD_GET_CONTEXT, cmd, resp), 0);
    EXPECT_GT(resp.num_comp_vectors, 0u);
    card.control(R"({"cmd":"link","up":false})");
    ib_uverbs_async_event_desc event{};
    ASSERT_EQ(::read(static_cast<int>(resp.async_fd), &event, sizeof event),
              static_cast<ssize_t>(sizeof event));
    EXPECT_EQ(event.event_type, 10u) << "PORT_ERR";
    EXPECT_EQ(event.element, 1u);
}

}  // namespace
}  // namespace dingo::uverbs::test
