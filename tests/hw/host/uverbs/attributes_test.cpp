// SPDX-License-Identifier: BSD-2-Clause
// The errno of each mistake in an ioctl or write, as returned by ib_uverbs.
#include <set>

#include "host/uverbs/ioctl.h"
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
    std::uint32_t speed = 0;  // in newer headers after port_cap_flags2
    std::memcpy(&speed, reinterpret_cast<const std::byte*>(&resp) + sizeof resp.legacy_resp + 4,
                sizeof speed);
    EXPECT_EQ(speed, resp.legacy_resp.active_speed);
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

TEST_F(UverbsArguments, AnIoctlHas4096BytesAtMost) {
    ib_uverbs_query_port_resp_ex resp{};
    for (const std::size_t attributes : {254U, 255U}) {
        Ioctl io = query_port(resp);
        while (io.attributes().size() < attributes) {
            ib_uverbs_attr unknown{};
            unknown.attr_id = 77;
            io.raw(unknown);
        }
        EXPECT_EQ(client.ioctl(io), attributes == 254 ? 0 : -EINVAL) << attributes;
    }
}

// Modifies each attribute of a valid request.
TEST_F(UverbsArguments, AttributesHaveTheLengthOfTheirKind) {
    ASSERT_EQ(verbs.alloc_pd(), 0);
    const std::uint32_t pd = verbs.handle;
    const int channel = verbs.channel();
    const int async = verbs.async_fd();
    ASSERT_GE(std::min(channel, async), 0);
    std::uint32_t entries = 0;
    dingo_create_cq_resp map{};
    Ioctl good(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
    good.object(UVERBS_ATTR_CREATE_CQ_HANDLE)
        .in(UVERBS_ATTR_CREATE_CQ_CQE, std::uint32_t{16})
        .in(UVERBS_ATTR_CREATE_CQ_USER_HANDLE, std::uint64_t{1})
        .in(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, std::uint32_t{0})
        .in(UVERBS_ATTR_CREATE_CQ_FLAGS, std::uint32_t{0})
        .out(UVERBS_ATTR_CREATE_CQ_RESP_CQE, entries)
        .object(UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, channel)
        .object(UVERBS_ATTR_CREATE_CQ_EVENT_FD, async)
        .in(UVERBS_ATTR_UHW_IN, dingo_create_cq_req{})
        .out(UVERBS_ATTR_UHW_OUT, map);
    ASSERT_EQ(client.ioctl(good), 0);
    EXPECT_TRUE(good.valid(UVERBS_ATTR_CREATE_CQ_RESP_CQE));
    EXPECT_TRUE(good.valid(UVERBS_ATTR_UHW_OUT));
    const std::set<unsigned> any_room{UVERBS_ATTR_UHW_OUT};
    const std::set<unsigned> four_or_eight{UVERBS_ATTR_CREATE_CQ_FLAGS};
    const std::set<unsigned> optional{UVERBS_ATTR_CREATE_CQ_FLAGS,
                                      UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL,
                                      UVERBS_ATTR_CREATE_CQ_EVENT_FD, UVERBS_ATTR_UHW_OUT};
    for (std::size_t n = 0; n < good.attributes().size(); ++n) {
        const unsigned id = good.attributes()[n].attr_id;
        const std::uint16_t right = good.attributes()[n].len;
        for (const int more : {-1, 1, 4}) {
            Ioctl io = good;
            if (right + more < 0) {
                continue;
            }
            io.attributes()[n].len = static_cast<std::uint16_t>(right + more);
            const bool ok = any_room.contains(id) || (four_or_eight.contains(id) && more == 4);
            if (id == UVERBS_ATTR_UHW_IN) {
                continue;  // checked by the driver
            }
            EXPECT_EQ(client.ioctl(io), ok ? 0 : -EINVAL) << id << ' ' << right + more;
        }
        Ioctl twice = good;
        twice.raw(good.attributes()[n]);
        EXPECT_EQ(client.ioctl(twice), -EINVAL) << id;
        Ioctl without = good;
        without.attributes().erase(without.attributes().begin() + static_cast<std::ptrdiff_t>(n));
        EXPECT_EQ(client.ioctl(without), optional.contains(id) ? 0 : -EINVAL) << id;
    }
    for (const std::size_t n : {6U, 7U}) {  // the channels
        Ioctl io = good;
        io.attributes()[n].data_s64 += std::int64_t{1} << 32;
        EXPECT_EQ(client.ioctl(io), -EINVAL) << "no number of a descriptor";
    }
    Ioctl flags = good;
    flags.attributes()[4].len = 8;
    flags.attributes()[4].data = std::uint64_t{1} << 32;
    EXPECT_EQ(client.ioctl(flags), -EINVAL);
    flags.attributes()[4].data = IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION;
    EXPECT_EQ(client.ioctl(flags), 0);
    flags.attributes()[4].data = IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN;
    EXPECT_EQ(client.ioctl(flags), -EOPNOTSUPP) << "ib_uverbs knows it, the driver does not";
    EXPECT_EQ(verbs.destroy_pd(pd), 0);
    ::close(channel);
    ::close(async);
}

TEST_F(UverbsArguments, TypesAndFlagsOfQueuesAreThoseOfTheCore) {
    ASSERT_EQ(verbs.alloc_pd(), 0);
    const std::uint32_t pd = verbs.handle;
    ASSERT_EQ(verbs.create_cq(), 0);
    const std::uint32_t cq = verbs.handle;
    struct Row {
        std::uint64_t type;
        std::uint32_t flags;
        int error;
    };
    constexpr std::uint32_t kBlockLoopback = 1U << 1, kScatterFcs = 1U << 8, kVlan = 1U << 9,
                            kPadding = 1U << 11, kSignalAll = 1U << 12;
    std::vector<Row> rows{{2, 0, 0},
                          {3, 0, 0},
                          {4, 0, 0},
                          {2, kSignalAll, 0},
                          {2, kSignalAll | kPadding, -EINVAL},
                          {4, 1U << 30, -EINVAL},
                          {4, 1U << 10, -EINVAL}};
    for (const std::uint32_t flag : {kBlockLoopback, kScatterFcs, kVlan, kPadding}) {
        rows.push_back({2, flag, -EINVAL});  // for datagrams and raw packets only
        rows.push_back({4, flag, -EOPNOTSUPP});
    }
    for (const std::uint64_t lacking : {8U, 9U, 10U, 0xffU}) {
        rows.push_back({lacking, 0, -EOPNOTSUPP});
    }
    for (const std::uint64_t nonsense : {0U, 1U, 5U, 7U, 11U, 0x100U}) {
        rows.push_back({nonsense, 0, -EINVAL});
    }
    rows.push_back({std::uint64_t{1} << 32 | 2, 0, -EINVAL});
    const auto create = [&](const Row& row, std::uint16_t without = 0xffff, bool source = false) {
        ib_uverbs_qp_cap cap{16, 16, 1, 1, 0}, got{};
        std::uint32_t qpn = 0;
        dingo_create_qp_resp map{};
        Ioctl io(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
        io.object(UVERBS_ATTR_CREATE_QP_HANDLE)
            .object(UVERBS_ATTR_CREATE_QP_PD_HANDLE, pd)
            .object(UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, cq)
            .object(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, cq)
            .in(UVERBS_ATTR_CREATE_QP_USER_HANDLE, std::uint64_t{9})
            .in(UVERBS_ATTR_CREATE_QP_CAP, cap)
            .constant(UVERBS_ATTR_CREATE_QP_TYPE, row.type)
            .in(UVERBS_ATTR_CREATE_QP_FLAGS, row.flags)
            .out(UVERBS_ATTR_CREATE_QP_RESP_CAP, got)
            .out(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, qpn)
            .in(UVERBS_ATTR_UHW_IN, dingo_create_qp_req{0, 6, 6, 6, 0})
            .out(UVERBS_ATTR_UHW_OUT, map);
        if (source) {
            io.in(UVERBS_ATTR_CREATE_QP_SOURCE_QPN, std::uint32_t{1});
        }
        std::erase_if(io.attributes(), [&](const auto& a) { return a.attr_id == without; });
        return client.ioctl(io);
    };
    for (const Row& row : rows) {
        EXPECT_EQ(create(row), row.error) << row.type << ' ' << row.flags;
    }
    for (const std::uint16_t handle :
         {UVERBS_ATTR_CREATE_QP_PD_HANDLE, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE,
          UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE}) {
        EXPECT_EQ(create({2, 0, 0}, handle), -ENOENT) << handle;
    }
    EXPECT_EQ(create({4, 0, 0}, 0xffff, true), -EOPNOTSUPP) << "a source QPN";

    for (const auto& [type, error] : {std::pair<std::uint64_t, int>{0, 0},
                                      {1, -EOPNOTSUPP},
                                      {2, -EOPNOTSUPP},
                                      {3, -EINVAL},
                                      {std::uint64_t{1} << 32, -EINVAL}}) {
        std::uint32_t wr = 0, sge = 0;
        dingo_create_srq_resp map{};
        Ioctl io(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE);
        io.object(UVERBS_ATTR_CREATE_SRQ_HANDLE)
            .object(UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, pd)
            .constant(UVERBS_ATTR_CREATE_SRQ_TYPE, type)
            .in(UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, std::uint64_t{7})
            .in(UVERBS_ATTR_CREATE_SRQ_MAX_WR, std::uint32_t{64})
            .in(UVERBS_ATTR_CREATE_SRQ_MAX_SGE, std::uint32_t{1})
            .in(UVERBS_ATTR_CREATE_SRQ_LIMIT, std::uint32_t{0})
            .out(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, wr)
            .out(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, sge)
            .in(UVERBS_ATTR_UHW_IN, dingo_create_srq_req{0, 6, 6, 0})
            .out(UVERBS_ATTR_UHW_OUT, map);
        EXPECT_EQ(client.ioctl(io), error) << type;
    }
}

// For ibv_import_pd().
TEST_F(UverbsArguments, APdTellsItsNumberAgain) {
    std::set<std::uint32_t> numbers;
    for (int n = 0; n < 3; ++n) {
        struct {
            std::uint32_t handle;
            dingo_alloc_pd_resp driver;
        } made{};
        ASSERT_GT(
            client.command(IB_USER_VERBS_CMD_ALLOC_PD, Verbs::zeroed<ib_uverbs_alloc_pd>(), made),
            0);
        std::uint32_t pdn = ~0U;
        const auto query = [&](std::uint32_t handle) {
            Ioctl io(UVERBS_OBJECT_PD, DINGO_METHOD_PD_QUERY);
            io.object(DINGO_ATTR_PD_QUERY_HANDLE, handle).out(DINGO_ATTR_PD_QUERY_RESP_PDN, pdn);
            return client.ioctl(io);
        };
        EXPECT_EQ(query(made.handle), 0);
        EXPECT_EQ(pdn, made.driver.pdn);
        EXPECT_EQ(query(made.handle + 1), -ENOENT);
        numbers.insert(pdn);
    }
    EXPECT_EQ(numbers.size(), 3U);
}

TEST_F(UverbsArguments, AComputeKernelIsChosenByAMethodOfTheQp) {
    ASSERT_EQ(verbs.alloc_pd(), 0);
    const std::uint32_t pd = verbs.handle;
    ASSERT_EQ(verbs.create_cq(), 0);
    ASSERT_EQ(verbs.create_qp(pd, verbs.handle), 0);
    const std::uint32_t qp = verbs.handle;
    struct Longer {
        dingo_set_compute_req req;
        std::uint32_t more;
    };
    const auto set = [&](std::uint32_t handle, const auto& request) {
        Ioctl io(UVERBS_OBJECT_QP, DINGO_METHOD_QP_SET_COMPUTE);
        io.object(DINGO_ATTR_QP_SET_COMPUTE_HANDLE, handle);
        io.in(DINGO_ATTR_QP_SET_COMPUTE_REQ, request);
        return client.ioctl(io);
    };
    const dingo_set_compute_req add_one{0, DINGO_COMPUTE_SEND, DINGO_KERNEL_ADD_ONE, 0};
    EXPECT_EQ(set(qp, add_one), 0);
    EXPECT_EQ(set(qp + 100, add_one), -ENOENT);
    EXPECT_EQ(set(qp, dingo_set_compute_req{0, DINGO_COMPUTE_SEND, 99, 0}), -EINVAL);
    EXPECT_EQ(set(qp, Longer{add_one, 0}), 0);
    EXPECT_EQ(set(qp, Longer{add_one, 1}), -EOPNOTSUPP) << "a later provider's, unknown here";
    EXPECT_EQ(set(qp, std::array<std::uint32_t, 3>{}), -EINVAL) << "too short";
    Ioctl without(UVERBS_OBJECT_QP, DINGO_METHOD_QP_SET_COMPUTE);
    without.object(DINGO_ATTR_QP_SET_COMPUTE_HANDLE, qp);
    EXPECT_EQ(client.ioctl(without), -EINVAL);
}

TEST_F(UverbsArguments, AdviceAboutMemoryIsCheckedAndNotTaken) {
    ASSERT_EQ(verbs.alloc_pd(), 0);
    std::array<std::byte, 32> list{};
    for (const std::uint16_t length : {15, 16, 32}) {
        ib_uverbs_attr sges{};
        sges.attr_id = UVERBS_ATTR_ADVISE_MR_SGE_LIST;
        sges.len = length;
        sges.data = reinterpret_cast<std::uintptr_t>(list.data());
        Ioctl io(UVERBS_OBJECT_MR, UVERBS_METHOD_ADVISE_MR);
        io.object(UVERBS_ATTR_ADVISE_MR_PD_HANDLE, verbs.handle)
            .constant(UVERBS_ATTR_ADVISE_MR_ADVICE, 0)
            .in(UVERBS_ATTR_ADVISE_MR_FLAGS, std::uint32_t{0})
            .raw(sges);
        EXPECT_EQ(client.ioctl(io), length < 16 ? -EINVAL : -EOPNOTSUPP) << length;
    }
}

// ib_uverbs reserves these bits for later kernels.
TEST_F(UverbsArguments, ReservedBitsOfAnAttributeMustBeZero) {
    ib_uverbs_query_port_resp_ex resp{};
    Ioctl io = query_port(resp);
    EXPECT_EQ(client.ioctl(io), 0);
    for (ib_uverbs_attr& attr : io.attributes()) {
        for (const std::uint16_t bits : {0x1, 0x100}) {
            attr.attr_data.reserved = bits;
            EXPECT_EQ(client.ioctl(io), -EINVAL) << attr.attr_id;
        }
        attr.attr_data.reserved = 0;
    }
    EXPECT_EQ(client.ioctl(io), 0);
}

// In other methods this number is not the driver's data.
TEST_F(UverbsArguments, FiveMethodsTakeDataOfTheDriver) {
    const std::set<std::pair<unsigned, unsigned>> with{
        {UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE},
        {UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT},
        {UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE},
        {UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE},
        {UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE}};
    for (auto* const list : {device_methods, queue_methods, memory_methods, dm_methods}) {
        for (const IoctlMethod& method : list()) {
            const bool own = std::ranges::any_of(method.attributes, [](const AttributeSpec& spec) {
                return spec.id == UVERBS_ATTR_UHW_IN || spec.id == UVERBS_ATTR_UHW_OUT;
            });
            for (const std::uint16_t id : {UVERBS_ATTR_UHW_IN, UVERBS_ATTR_UHW_OUT}) {
                ib_uverbs_attr attr{};
                attr.attr_id = id;
                attr.flags = UVERBS_ATTR_F_MANDATORY;
                Ioctl io(method.object, method.method);
                const bool known = client.ioctl(io.raw(attr)) != -EPROTONOSUPPORT;
                EXPECT_TRUE(own || known == with.contains({method.object, method.method}))
                    << method.object << ' ' << method.method << ' ' << id;
            }
        }
    }
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
    EXPECT_TRUE(io.valid(UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES));
    EXPECT_TRUE(io.valid(UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES));
    EXPECT_EQ(query(table[1].gid_index), 0);
    EXPECT_EQ(std::memcmp(&entry, &table[1], sizeof entry), 0);
    EXPECT_EQ(entry.gid_type, std::uint32_t{IB_UVERBS_GID_TYPE_ROCE_V2});
    const auto list = [&](std::uint64_t size, std::size_t room, std::uint32_t flags = 0) {
        std::vector<std::byte> entries(room, std::byte{0xee});
        ib_uverbs_attr out{};
        out.attr_id = UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES;
        out.len = static_cast<std::uint16_t>(room);
        out.data = reinterpret_cast<std::uintptr_t>(entries.data());
        std::uint64_t n = 0;
        Ioctl q(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE);
        q.constant(UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, size)
            .in(UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, flags)
            .raw(out)
            .out(UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, n);
        const int result = client.ioctl(q);
        for (std::size_t i = 0; result == 0 && i < n; ++i) {
            const std::size_t known = std::min<std::size_t>(size, sizeof entry);
            EXPECT_EQ(std::memcmp(entries.data() + i * size, &table[i], known), 0);
        }
        const auto untouched = std::span(entries).subspan(std::min(room, n * size));
        EXPECT_EQ(std::ranges::count(untouched, std::byte{0xee}), std::ssize(untouched));
        return result;
    };
    EXPECT_EQ(list(sizeof entry, count * sizeof entry), 0) << "as many as there are";
    EXPECT_EQ(list(sizeof entry, (count + 1) * sizeof entry), 0) << "room for another";
    EXPECT_EQ(list(sizeof entry, (count - 1) * sizeof entry), -EINVAL);
    EXPECT_EQ(list(16, 16 * count), 0) << "the GIDs alone";
    EXPECT_EQ(list(sizeof entry + 8, count * (sizeof entry + 8)), 0) << "a later libibverbs";
    EXPECT_EQ(list(sizeof entry, count * sizeof entry + 1), -EINVAL);
    EXPECT_EQ(list(0, count * sizeof entry), -EINVAL);
    EXPECT_EQ(list(sizeof entry, count * sizeof entry, 1), -EINVAL);
    EXPECT_EQ(query(0, 1), -EINVAL);
    EXPECT_EQ(query(count), -ENODATA);
    EXPECT_EQ(query(255), -ENODATA);
    EXPECT_EQ(query(256), -EINVAL) << "behind the table";
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

// A later libibverbs may send more than this card knows; only zeros are accepted.
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
    const auto shorter = [&](std::uint32_t command, std::size_t bytes) {
        Bytes cut;
        append(cut, ib_uverbs_cmd_hdr{command, static_cast<std::uint16_t>(bytes / 4), 100});
        cut.resize(bytes);
        return client.write(cut);
    };
    EXPECT_EQ(shorter(IB_USER_VERBS_CMD_DESTROY_CQ, 16), -EFAULT) << "as rdma-core 18 sends it";
    EXPECT_EQ(shorter(IB_USER_VERBS_CMD_DESTROY_CQ, 12), -ENOSPC);
    EXPECT_EQ(shorter(IB_USER_VERBS_CMD_DESTROY_CQ, 20), -ENOSPC);
    EXPECT_EQ(shorter(IB_USER_VERBS_CMD_DESTROY_QP, 16), -ENOSPC);
    EXPECT_EQ(shorter(IB_USER_VERBS_CMD_QUERY_DEVICE, 12), -ENOSPC);
}

TEST_F(UverbsArguments, ExtendedHeaderMistakesGetTheirErrno) {
    ib_uverbs_ex_query_device_resp resp{};
    constexpr auto kOut = static_cast<std::uint16_t>(sizeof resp / 8);
    const auto va = reinterpret_cast<std::uintptr_t>(&resp);
    struct Row {
        const char* what;
        std::uint16_t in_words, out_words;
        ib_uverbs_ex_cmd_hdr ex;
        std::size_t bytes;  ///< after both headers
        int error;
    };
    const Row rows[] = {
        {"good", 1, kOut, {va, 0, 0, 0}, 8, 0},
        {"with room for the driver's answer", 1, kOut - 1, {va, 0, 1, 0}, 8, 0},
        {"with a request to the driver", 1, kOut, {va, 1, 0, 0}, 16, 0},
        {"longer than it says", 1, kOut, {va, 0, 0, 0}, 16, -EINVAL},
        {"shorter than it says", 1, kOut, {va, 1, 0, 0}, 8, -EINVAL},
        {"much shorter", 3, kOut, {va, 0, 0, 0}, 8, -EINVAL},
        {"no request", 0, kOut, {va, 0, 0, 0}, 0, -ENOSPC},
        {"request of the driver only", 0, kOut, {va, 1, 0, 0}, 8, -ENOSPC},
        {"reserved", 1, kOut, {va, 0, 0, 1}, 8, -EINVAL},
        {"room at no address", 1, kOut, {0, 0, 0, 0}, 8, -EINVAL},
        {"the driver's room at no address", 1, 0, {0, 0, 1, 0}, 8, -EINVAL},
        {"address without room", 1, 0, {va, 0, 0, 0}, 8, -EINVAL},
        {"little room", 1, 1, {va, 0, 0, 0}, 8, -ENOSPC},
        {"room for the driver's answer only", 1, 0, {va, 0, 1, 0}, 8, -ENOSPC},
        {"bad address", 1, kOut, {64, 0, 0, 0}, 8, -EFAULT},
    };
    for (const Row& row : rows) {
        Bytes bytes;
        append(bytes, ib_uverbs_cmd_hdr{
                          IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_QUERY_DEVICE,
                          row.in_words, row.out_words});
        append(bytes, row.ex);
        bytes.resize(bytes.size() + row.bytes);
        EXPECT_EQ(std::min(client.write(bytes), 0), row.error) << row.what;
    }
    Bytes cut;
    append(cut, ib_uverbs_cmd_hdr{
                    IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_QUERY_DEVICE, 0, kOut});
    cut.resize(cut.size() + sizeof(ib_uverbs_ex_cmd_hdr) - 1);
    EXPECT_EQ(client.write(cut), -EINVAL);
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
    EXPECT_TRUE(io.valid(UVERBS_ATTR_CORE_OUT));
    ASSERT_EQ(verbs.alloc_pd(), 0);
    Ioctl shortest(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
    shortest.constant(UVERBS_ATTR_WRITE_CMD, IB_USER_VERBS_CMD_DEALLOC_PD)
        .in(UVERBS_ATTR_CORE_IN, verbs.handle);
    EXPECT_EQ(client.ioctl(shortest), 0) << "four bytes";
    Ioctl silent(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
    ASSERT_EQ(verbs.alloc_pd(), 0);
    std::uint64_t unused = 0x5a5a;
    silent.constant(UVERBS_ATTR_WRITE_CMD, IB_USER_VERBS_CMD_DEALLOC_PD)
        .in(UVERBS_ATTR_CORE_IN, verbs.handle)
        .out(UVERBS_ATTR_CORE_OUT, unused);
    EXPECT_EQ(client.ioctl(silent), 0);
    EXPECT_FALSE(silent.valid(UVERBS_ATTR_CORE_OUT)) << "this command has no answer";
    EXPECT_EQ(unused, 0x5a5aU);
    Ioctl empty(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
    ASSERT_EQ(verbs.alloc_pd(), 0);
    empty.constant(UVERBS_ATTR_WRITE_CMD, IB_USER_VERBS_CMD_DEALLOC_PD)
        .in(UVERBS_ATTR_CORE_IN, verbs.handle)
        .out(UVERBS_ATTR_CORE_OUT, unused);
    empty.attributes().back().len = 0;
    EXPECT_EQ(client.ioctl(empty), 0) << "room for no answer is enough for none";
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
