// SPDX-License-Identifier: BSD-2-Clause
//
// RDMA netlink of a card: requests of `rdma` and libibverbs, and invalid ones.
#include <endian.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>

#include <list>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "running_card.h"

namespace dingo::uverbs::test {
namespace {

struct Reply {
    int result = 0;
    std::vector<std::uint8_t> bytes;
    std::uint64_t next = 0;  ///< where the dump continues
    [[nodiscard]] std::string text() const { return {bytes.begin(), bytes.end()}; }
    /// Returns the lengths of the messages; empty if they do not fill the bytes.
    [[nodiscard]] std::vector<std::uint32_t> messages() const {
        std::vector<std::uint32_t> out;
        std::size_t at = 0;
        while (at + sizeof(nlmsghdr) <= bytes.size()) {
            nlmsghdr header;
            std::memcpy(&header, bytes.data() + at, sizeof header);
            out.push_back(header.nlmsg_len);
            at += NLMSG_ALIGN(header.nlmsg_len);
        }
        return at == bytes.size() ? out : std::vector<std::uint32_t>{};
    }
};

class UverbsNetlink : public testing::Test {
  protected:
    UverbsNetlink() : asker_(card_.directory, false) {}

    static Bytes message(unsigned operation, std::uint16_t flags) {
        nlmsghdr header{};
        header.nlmsg_type = static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, operation));
        header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
        header.nlmsg_seq = 77;
        header.nlmsg_len = sizeof header;
        Bytes bytes;
        append(bytes, header);
        return bytes;
    }
    static void attribute(Bytes& bytes, std::uint16_t type, std::uint32_t value) {
        append(bytes, nlattr{8, type});
        append(bytes, value);
        const auto length = static_cast<std::uint32_t>(bytes.size());
        std::memcpy(bytes.data(), &length, sizeof length);
    }
    Reply ask(const Bytes& bytes, std::uint64_t from = 0) {
        Request request(DINGO_UVERBS_NETLINK);
        request.header.arg = from;
        request.payload = bytes;
        const Answer answer = asker_.send(request);
        Reply reply{answer.result(), {}, answer.header.next};
        if (!answer.fds.empty()) {
            reply.bytes.resize(1 << 20);
            const ssize_t got =
                ::pread(answer.fds[0].get(), reply.bytes.data(), reply.bytes.size(), 0);
            reply.bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        }
        return reply;
    }
    static Bytes about(unsigned operation, std::uint32_t device, std::uint32_t port) {
        Bytes bytes = message(operation, 0);
        attribute(bytes, RDMA_NLDEV_ATTR_DEV_INDEX, device);
        attribute(bytes, RDMA_NLDEV_ATTR_PORT_INDEX, port);
        return bytes;
    }

    RunningCard card_;
    Client asker_;
};

/// Returns the attributes of one message by type, with the value of numbers.
std::map<int, std::uint64_t> attributes(const Reply& reply) {
    std::map<int, std::uint64_t> out;
    std::size_t at = sizeof(nlmsghdr);
    while (at + sizeof(nlattr) <= reply.bytes.size()) {
        nlattr head;
        std::memcpy(&head, reply.bytes.data() + at, sizeof head);
        std::uint64_t value = 0;
        const std::size_t length = head.nla_len - sizeof head;
        std::memcpy(&value, reply.bytes.data() + at + sizeof head, std::min(length, sizeof value));
        out[head.nla_type & NLA_TYPE_MASK] = value;
        at += NLA_ALIGN(head.nla_len);
    }
    return out;
}

constexpr std::uint32_t kIndex = 3;  // RunningCard's number

TEST_F(UverbsNetlink, DeviceAndPortAreNamed) {
    for (const unsigned operation : {RDMA_NLDEV_CMD_GET, RDMA_NLDEV_CMD_PORT_GET}) {
        const Reply dump = ask(message(operation, NLM_F_DUMP));
        EXPECT_EQ(dump.result, 0);
        EXPECT_EQ(dump.messages().size(), 1U);
        EXPECT_NE(dump.text().find("dingo0"), std::string::npos);
        const Reply one = ask(about(operation, kIndex, 1));
        EXPECT_EQ(one.result, 0);
        EXPECT_EQ(one.messages().size(), 1U);
    }
}

// Programs match answers to requests by type and sequence number.
TEST_F(UverbsNetlink, AnAnswerHasItsRequestsTypeAndNumberAndOfADumpItIsAPart) {
    for (const unsigned operation :
         {RDMA_NLDEV_CMD_GET, RDMA_NLDEV_CMD_PORT_GET, RDMA_NLDEV_CMD_RES_GET}) {
        for (const bool dump : {false, true}) {
            const Reply reply =
                ask(dump ? message(operation, NLM_F_DUMP) : about(operation, kIndex, 1));
            nlmsghdr header{};
            ASSERT_GE(reply.bytes.size(), sizeof header);
            std::memcpy(&header, reply.bytes.data(), sizeof header);
            EXPECT_EQ(header.nlmsg_type, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, operation));
            EXPECT_EQ(header.nlmsg_seq, 77U);
            EXPECT_EQ(header.nlmsg_pid, 0U);
            EXPECT_EQ(header.nlmsg_flags & NLM_F_MULTI, dump ? NLM_F_MULTI : 0);
        }
    }
}

TEST_F(UverbsNetlink, OtherDevicesAndPortsAreNotThere) {
    for (const unsigned operation :
         {RDMA_NLDEV_CMD_GET, RDMA_NLDEV_CMD_PORT_GET, RDMA_NLDEV_CMD_RES_GET,
          RDMA_NLDEV_CMD_RES_PD_GET, RDMA_NLDEV_CMD_RES_CTX_GET, RDMA_NLDEV_CMD_STAT_GET}) {
        Bytes dump = message(operation, NLM_F_DUMP);
        attribute(dump, RDMA_NLDEV_ATTR_DEV_INDEX, kIndex + 1);
        EXPECT_EQ(ask(dump).result, -ENODEV) << operation;
        Bytes cut = message(operation, NLM_F_DUMP);
        append(cut, nlattr{6, RDMA_NLDEV_ATTR_DEV_INDEX});
        append(cut, kIndex);  // of which only two bytes count
        const auto length = static_cast<std::uint32_t>(cut.size());
        std::memcpy(cut.data(), &length, sizeof length);
        EXPECT_EQ(ask(cut).result, -EINVAL) << operation;
    }
    EXPECT_EQ(ask(about(RDMA_NLDEV_CMD_GET, 4, 1)).result, -ENODEV);
    EXPECT_EQ(ask(about(RDMA_NLDEV_CMD_PORT_GET, kIndex, 2)).result, -EINVAL);
    EXPECT_EQ(ask(message(RDMA_NLDEV_CMD_GET, 0)).result, -EINVAL);
}

TEST_F(UverbsNetlink, TheCountersFitInWhatProgramsRead) {
    const Reply counters = ask(about(RDMA_NLDEV_CMD_STAT_GET, kIndex, 1));
    ASSERT_EQ(counters.messages().size(), 1U);
    EXPECT_LE(counters.messages()[0], 4096U);
    EXPECT_NE(counters.text().find("rdma_tx_packets"), std::string::npos);
    EXPECT_EQ(attributes(counters).at(RDMA_NLDEV_ATTR_PORT_INDEX), 1U);
    unsigned names = 0;
    unsigned values = 0;
    for (std::size_t at = 0; at + sizeof(nlattr) <= counters.bytes.size(); at += NLA_ALIGNTO) {
        nlattr header{};
        std::memcpy(&header, counters.bytes.data() + at, sizeof header);
        names += header.nla_type == RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME ? 1 : 0;
        values += header.nla_type == RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE &&
                          header.nla_len == sizeof header + sizeof(std::uint64_t)
                      ? 1
                      : 0;
    }
    EXPECT_GT(names, 20U);
    EXPECT_EQ(values, names);
}

/// Returns the numbers in a table's entries: the first attribute of this type in each entry.
std::multiset<std::uint32_t> numbers(const Reply& reply, int table, int attribute) {
    std::multiset<std::uint32_t> out;
    const auto nested = [](std::span<const std::uint8_t> bytes, int type, const auto& visit) {
        for (std::size_t at = 0; at + sizeof(nlattr) <= bytes.size();) {
            nlattr head;
            std::memcpy(&head, bytes.data() + at, sizeof head);
            if ((head.nla_type & NLA_TYPE_MASK) == type || type < 0) {
                visit(bytes.subspan(at + sizeof head, head.nla_len - sizeof head));
            }
            at += NLA_ALIGN(head.nla_len);
        }
    };
    const auto all = std::span(reply.bytes).subspan(std::min(reply.bytes.size(), sizeof(nlmsghdr)));
    nested(all, table, [&](auto entries) {
        nested(entries, -1, [&](auto entry) {
            nested(entry, attribute, [&](auto value) {
                std::uint32_t number = 0;
                std::memcpy(&number, value.data(), sizeof number);
                out.insert(number);
            });
        });
    });
    return out;
}

// A card with thousands of objects serves others between two pieces.
TEST_F(UverbsNetlink, ALongTableComesInPiecesOfOneMessage) {
    Client first(card_.directory), second(card_.directory);
    Verbs one(first), two(second);
    ASSERT_EQ(one.get_context(), 0);
    ASSERT_EQ(two.get_context(), 0);
    for (int i = 0; i < 250; ++i) {
        ASSERT_EQ(one.alloc_pd(), 0);
        ASSERT_EQ(two.alloc_pd(), 0);
    }
    std::multiset<std::uint32_t> seen;
    std::size_t pieces = 0;
    std::uint64_t from = 0;
    do {
        const Reply piece = ask(message(RDMA_NLDEV_CMD_RES_PD_GET, NLM_F_DUMP), from);
        ASSERT_EQ(piece.messages().size(), 1U);
        EXPECT_LE(piece.messages()[0], 4096U);
        seen.merge(numbers(piece, RDMA_NLDEV_ATTR_RES_PD, RDMA_NLDEV_ATTR_RES_PDN));
        from = piece.next;
        ++pieces;
    } while (from != 0 && pieces < 100);
    EXPECT_GT(pieces, 3U);
    EXPECT_EQ(seen.size(), 500U);
    EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), 500U) << "each once";
}

// As `rdma resource show` and `rdma system show` print them.
TEST_F(UverbsNetlink, EachObjectTellsWhatItIs) {
    Client client(card_.directory);
    Verbs verbs(client);
    ASSERT_EQ(verbs.get_context(), 0);
    ASSERT_EQ(verbs.alloc_pd(), 0);
    const std::uint32_t pd = verbs.handle;
    ASSERT_EQ(verbs.create_cq(), 0);
    const std::uint32_t cq = verbs.handle;
    ASSERT_EQ(verbs.create_srq(pd), 0);
    ASSERT_EQ(verbs.create_qp(pd, cq, static_cast<int>(verbs.handle)), 0);
    const std::uint32_t qpn = verbs.qpn;
    ASSERT_EQ(verbs.create_qp(pd, cq, -1, 4), 0);
    const std::uint32_t datagrams = verbs.qpn;
    std::array<std::byte, 4096> memory{};
    ASSERT_EQ(verbs.reg_mr(pd, memory.data(), 321), 0);
    const std::uint32_t mr = verbs.handle;

    const auto one = [&](unsigned operation, std::uint16_t number_attribute, std::uint32_t number) {
        Bytes question = message(operation, 0);
        attribute(question, RDMA_NLDEV_ATTR_DEV_INDEX, kIndex);
        attribute(question, number_attribute, number);
        const Reply reply = ask(question);
        EXPECT_EQ(reply.result, 0) << operation;
        auto found = attributes(reply);
        EXPECT_EQ(found[RDMA_NLDEV_ATTR_DEV_INDEX], kIndex);
        EXPECT_EQ(found[RDMA_NLDEV_ATTR_RES_PID], static_cast<std::uint64_t>(::getpid()));
        EXPECT_NE(reply.text().find("dingo0"), std::string::npos);
        for (const int known :
             {RDMA_NLDEV_ATTR_DEV_INDEX, RDMA_NLDEV_ATTR_DEV_NAME, RDMA_NLDEV_ATTR_RES_PID}) {
            found.erase(known);
        }
        return found;
    };
    const auto first = [&](unsigned operation, int table, int number) {
        const auto all = numbers(ask(message(operation, NLM_F_DUMP)), table, number);
        EXPECT_FALSE(all.empty());
        return all.empty() ? 0 : *all.begin();
    };
    using Found = std::map<int, std::uint64_t>;
    const std::uint32_t pdn =
        first(RDMA_NLDEV_CMD_RES_PD_GET, RDMA_NLDEV_ATTR_RES_PD, RDMA_NLDEV_ATTR_RES_PDN);
    EXPECT_EQ(one(RDMA_NLDEV_CMD_RES_PD_GET, RDMA_NLDEV_ATTR_RES_PDN, pdn),
              (Found{{RDMA_NLDEV_ATTR_RES_PDN, pdn}, {RDMA_NLDEV_ATTR_RES_USECNT, 4}}));
    Found cq_found = one(RDMA_NLDEV_CMD_RES_CQ_GET, RDMA_NLDEV_ATTR_RES_CQN, cq);
    EXPECT_GE(cq_found[RDMA_NLDEV_ATTR_RES_CQE], 64U);
    cq_found.erase(RDMA_NLDEV_ATTR_RES_CQE);
    EXPECT_EQ(cq_found, (Found{{RDMA_NLDEV_ATTR_RES_CQN, cq}, {RDMA_NLDEV_ATTR_RES_USECNT, 4}}));
    EXPECT_EQ(one(RDMA_NLDEV_CMD_RES_MR_GET, RDMA_NLDEV_ATTR_RES_MRN, mr),
              (Found{{RDMA_NLDEV_ATTR_RES_MRN, mr},
                     {RDMA_NLDEV_ATTR_RES_MRLEN, 321},
                     {RDMA_NLDEV_ATTR_RES_PDN, pdn}}));
    const std::uint32_t srqn =
        first(RDMA_NLDEV_CMD_RES_SRQ_GET, RDMA_NLDEV_ATTR_RES_SRQ, RDMA_NLDEV_ATTR_RES_SRQN);
    Found srq_found = one(RDMA_NLDEV_CMD_RES_SRQ_GET, RDMA_NLDEV_ATTR_RES_SRQN, srqn);
    EXPECT_EQ(srq_found.erase(RDMA_NLDEV_ATTR_RES_QP), 1U) << "the table of its QPs";
    EXPECT_EQ(srq_found, (Found{{RDMA_NLDEV_ATTR_RES_SRQN, srqn},
                                {RDMA_NLDEV_ATTR_RES_TYPE, 0},
                                {RDMA_NLDEV_ATTR_RES_PDN, pdn}}));
    Bytes question = message(RDMA_NLDEV_CMD_RES_SRQ_GET, 0);
    attribute(question, RDMA_NLDEV_ATTR_DEV_INDEX, kIndex);
    attribute(question, RDMA_NLDEV_ATTR_RES_SRQN, srqn);
    EXPECT_EQ(numbers(ask(question), RDMA_NLDEV_ATTR_RES_QP, RDMA_NLDEV_ATTR_RES_LQPN),
              std::multiset<std::uint32_t>{qpn});
    Found qp_found{{RDMA_NLDEV_ATTR_PORT_INDEX, 1}, {RDMA_NLDEV_ATTR_RES_LQPN, qpn},
                   {RDMA_NLDEV_ATTR_RES_RQPN, 0},   {RDMA_NLDEV_ATTR_RES_RQ_PSN, 0},
                   {RDMA_NLDEV_ATTR_RES_SQ_PSN, 0}, {RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE, 0},
                   {RDMA_NLDEV_ATTR_RES_TYPE, 2},   {RDMA_NLDEV_ATTR_RES_STATE, 0},
                   {RDMA_NLDEV_ATTR_RES_PDN, pdn}};
    EXPECT_EQ(one(RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_ATTR_RES_LQPN, qpn), qp_found);
    for (const int connected : {RDMA_NLDEV_ATTR_RES_RQPN, RDMA_NLDEV_ATTR_RES_RQ_PSN,
                                RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE}) {
        qp_found.erase(connected);
    }
    qp_found[RDMA_NLDEV_ATTR_RES_LQPN] = datagrams;
    qp_found[RDMA_NLDEV_ATTR_RES_TYPE] = 4;
    EXPECT_EQ(one(RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_ATTR_RES_LQPN, datagrams), qp_found);
    for (const unsigned operation : {RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_CMD_RES_MR_GET}) {
        Bytes nobody = message(operation, 0);
        attribute(nobody, RDMA_NLDEV_ATTR_DEV_INDEX, kIndex);
        EXPECT_EQ(ask(nobody).result, -EINVAL) << "no number";
        attribute(nobody,
                  operation == RDMA_NLDEV_CMD_RES_QP_GET ? RDMA_NLDEV_ATTR_RES_LQPN
                                                         : RDMA_NLDEV_ATTR_RES_MRN,
                  0x765432);
        EXPECT_EQ(ask(nobody).result, -ENOENT);
    }
}

// As `rdma dev show -d` and `rdma link show -d` print them.
TEST_F(UverbsNetlink, DeviceAndPortTellWhatTheyAre) {
    Client client(card_.directory);
    Verbs verbs(client);
    ASSERT_EQ(verbs.get_context(), 0);
    ib_uverbs_query_device_resp device{};
    ASSERT_GT(client.command(IB_USER_VERBS_CMD_QUERY_DEVICE,
                             Verbs::zeroed<ib_uverbs_query_device>(), device),
              0);
    ib_uverbs_query_port_resp port{};
    auto query = Verbs::zeroed<ib_uverbs_query_port>();
    query.port_num = 1;
    ASSERT_GT(client.command(IB_USER_VERBS_CMD_QUERY_PORT, query, port), 0);
    const auto text = [](std::string_view all) {  // its first bytes, including the 0, as a number
        std::uint64_t value = 0;
        const std::string copy(all);
        std::memcpy(&value, copy.c_str(), std::min(copy.size() + 1, sizeof value));
        return value;
    };
    const std::string version = std::to_string(device.fw_ver >> 16) + "." +
                                std::to_string(device.fw_ver >> 8 & 0xff) + "." +
                                std::to_string(device.fw_ver & 0xff);
    using Found = std::map<int, std::uint64_t>;
    const Found handle{{RDMA_NLDEV_ATTR_DEV_INDEX, kIndex},
                       {RDMA_NLDEV_ATTR_DEV_NAME, text("dingo0")}};
    const auto check = [&](unsigned operation, Found expected) {
        expected.insert(handle.begin(), handle.end());
        EXPECT_EQ(attributes(ask(about(operation, kIndex, 1))), expected) << operation;
    };
    check(RDMA_NLDEV_CMD_GET, {{RDMA_NLDEV_ATTR_PORT_INDEX, 1},
                               {RDMA_NLDEV_ATTR_CAP_FLAGS, device.device_cap_flags},
                               {RDMA_NLDEV_ATTR_FW_VERSION, text(version)},
                               {RDMA_NLDEV_ATTR_NODE_GUID, be64toh(device.node_guid)},
                               {RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, be64toh(device.sys_image_guid)},
                               {RDMA_NLDEV_ATTR_DEV_NODE_TYPE, 1},
                               {RDMA_NLDEV_ATTR_DEV_PROTOCOL, text("roce")}});
    check(RDMA_NLDEV_CMD_PORT_GET, {{RDMA_NLDEV_ATTR_PORT_INDEX, 1},
                                    {RDMA_NLDEV_ATTR_PORT_STATE, port.state},
                                    {RDMA_NLDEV_ATTR_PORT_PHYS_STATE, port.phys_state}});
}

// Used by libibverbs to find the device's file.
TEST_F(UverbsNetlink, TheCharacterDeviceIsFound) {
    const auto chardev = [&](std::string_view type, std::uint32_t device) {
        Bytes bytes = message(RDMA_NLDEV_CMD_GET_CHARDEV, 0);
        attribute(bytes, RDMA_NLDEV_ATTR_DEV_INDEX, device);
        append(bytes, nlattr{12, RDMA_NLDEV_ATTR_CHARDEV_TYPE});
        std::array<char, 8> name{};
        type.copy(name.data(), name.size());
        append(bytes, name);
        const auto length = static_cast<std::uint32_t>(bytes.size());
        std::memcpy(bytes.data(), &length, sizeof length);
        return ask(bytes);
    };
    const Reply reply = chardev("uverbs", kIndex);
    EXPECT_EQ(reply.result, 0);
    const auto found = attributes(reply);
    EXPECT_EQ(found.at(RDMA_NLDEV_ATTR_DEV_INDEX), kIndex);
    EXPECT_EQ(found.at(RDMA_NLDEV_ATTR_CHARDEV), ::makedev(231, 192 + kIndex));
    EXPECT_EQ(found.at(RDMA_NLDEV_ATTR_CHARDEV_ABI), 1U);
    EXPECT_EQ(found.at(RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID), 0U);
    EXPECT_TRUE(found.contains(RDMA_NLDEV_ATTR_DEV_NAME));
    EXPECT_NE(reply.text().find("uverbs3"), std::string::npos);
    EXPECT_EQ(chardev("uverbs", 4).result, -ENODEV);
    EXPECT_EQ(chardev("issm", kIndex).result, -ENODEV);
    EXPECT_EQ(ask(about(RDMA_NLDEV_CMD_GET_CHARDEV, kIndex, 1)).result, -EINVAL) << "no type";
}

TEST_F(UverbsNetlink, NoCounterIsBoundToObjects) {
    for (const std::uint16_t flags : {0, NLM_F_DUMP}) {
        Bytes bytes = message(RDMA_NLDEV_CMD_STAT_GET, flags);
        attribute(bytes, RDMA_NLDEV_ATTR_DEV_INDEX, kIndex);
        attribute(bytes, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
        attribute(bytes, RDMA_NLDEV_ATTR_STAT_RES, RDMA_NLDEV_ATTR_RES_QP);
        const Reply reply = ask(bytes);
        EXPECT_EQ(reply.result, flags == 0 ? -EOPNOTSUPP : 0);
        EXPECT_TRUE(reply.messages().empty());
    }
    EXPECT_EQ(ask(about(RDMA_NLDEV_CMD_STAT_GET, kIndex, 2)).result, -EINVAL) << "another port";
    EXPECT_EQ(ask(about(RDMA_NLDEV_CMD_STAT_GET, 4, 1)).result, -ENODEV);
    EXPECT_EQ(ask(message(RDMA_NLDEV_CMD_STAT_GET, NLM_F_DUMP)).messages().size(), 1U);
}

// Entries are limited in size: a message of 4096 bytes must hold one.
TEST_F(UverbsNetlink, ASharedReceiveQueueNames16OfItsUsers) {
    Client client(card_.directory);
    Verbs verbs(client);
    ASSERT_EQ(verbs.get_context(), 0);
    ASSERT_EQ(verbs.alloc_pd(), 0);
    const std::uint32_t pd = verbs.handle;
    ASSERT_EQ(verbs.create_cq(), 0);
    const std::uint32_t cq = verbs.handle;
    ASSERT_EQ(verbs.create_srq(pd), 0);
    const auto srq = static_cast<int>(verbs.handle);
    std::set<std::uint32_t> users;
    std::uint32_t last = 0;
    const auto named = [&] {
        const auto srqns = numbers(ask(message(RDMA_NLDEV_CMD_RES_SRQ_GET, NLM_F_DUMP)),
                                   RDMA_NLDEV_ATTR_RES_SRQ, RDMA_NLDEV_ATTR_RES_SRQN);
        EXPECT_EQ(srqns.size(), 1U);
        Bytes question = message(RDMA_NLDEV_CMD_RES_SRQ_GET, 0);
        attribute(question, RDMA_NLDEV_ATTR_DEV_INDEX, kIndex);
        attribute(question, RDMA_NLDEV_ATTR_RES_SRQN, *srqns.begin());
        return numbers(ask(question), RDMA_NLDEV_ATTR_RES_QP, RDMA_NLDEV_ATTR_RES_LQPN);
    };
    for (std::size_t n = 1; n <= 17; ++n) {
        ASSERT_EQ(verbs.create_qp(pd, cq, srq), 0);
        last = verbs.handle;
        users.insert(verbs.qpn);
        const auto seen = named();
        EXPECT_EQ(seen.size(), std::min<std::size_t>(n, 16));
        EXPECT_TRUE(std::includes(users.begin(), users.end(), seen.begin(), seen.end()));
    }
    users.erase(verbs.qpn);
    ASSERT_EQ(verbs.destroy_qp(last), 0);
    const auto seen = named();
    EXPECT_EQ(std::set(seen.begin(), seen.end()), users) << "who is gone is not named";
}

// Mode 1 is shared, the default unless namespaces of their own are requested.
TEST_F(UverbsNetlink, DevicesAreSharedBetweenNamespaces) {
    const auto found = attributes(ask(message(RDMA_NLDEV_CMD_SYS_GET, 0)));
    EXPECT_EQ(found, (std::map<int, std::uint64_t>{{RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 1}}));
}

TEST_F(UverbsNetlink, ManyContextsComeInPiecesOfOneMessage) {
    rlimit files{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
    const rlimit before = files;
    files.rlim_cur = std::min<rlim_t>(files.rlim_max, 4096);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
    constexpr std::size_t kClients = 250;
    {
        std::list<Client> clients;
        std::vector<UniqueFd> kicks;
        for (std::size_t n = 0; n < kClients; ++n) {
            clients.emplace_back(card_.directory);
            Verbs verbs(clients.back());
            ASSERT_EQ(verbs.get_context(), 0);
            kicks.emplace_back(verbs.context.kick_fd);
        }
        std::size_t seen = 0;
        std::size_t pieces = 0;
        std::uint64_t from = 0;
        do {
            const Reply piece = ask(message(RDMA_NLDEV_CMD_RES_CTX_GET, NLM_F_DUMP), from);
            ASSERT_EQ(piece.messages().size(), 1U);
            EXPECT_LE(piece.messages()[0], 4096U);
            const auto pids = numbers(piece, RDMA_NLDEV_ATTR_RES_CTX, RDMA_NLDEV_ATTR_RES_PID);
            seen += pids.count(static_cast<std::uint32_t>(::getpid()));
            EXPECT_EQ(numbers(piece, RDMA_NLDEV_ATTR_RES_CTX, RDMA_NLDEV_ATTR_RES_CTXN), pids);
            from = piece.next;
            ++pieces;
        } while (from != 0 && pieces < 100);
        EXPECT_EQ(seen, kClients) << "each once";
        EXPECT_GT(pieces, 1U);
    }
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(UverbsNetlink, TheSummaryCountsTheObjectsOfAllClients) {
    Client first(card_.directory), second(card_.directory);
    Verbs one(first), two(second);
    ASSERT_EQ(one.get_context(), 0);
    ASSERT_EQ(two.get_context(), 0);
    for (int i = 0; i < 10; ++i) {
        ASSERT_EQ(one.alloc_pd(), 0);
        ASSERT_EQ(two.alloc_pd(), 0);
    }
    ASSERT_EQ(two.create_cq(), 0);
    Bytes question = message(RDMA_NLDEV_CMD_RES_GET, 0);
    attribute(question, RDMA_NLDEV_ATTR_DEV_INDEX, kIndex);
    const auto counts =
        numbers(ask(question), RDMA_NLDEV_ATTR_RES_SUMMARY, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR);
    // PDs, CQs, contexts; no QPs, MRs and SRQs.
    EXPECT_EQ(counts, (std::multiset<std::uint32_t>{20, 1, 2, 0, 0, 0}));
}

TEST_F(UverbsNetlink, ATableGoesOnWhereObjectsAndClientsHaveGone) {
    std::optional<Client> first(std::in_place, card_.directory);
    Client second(card_.directory);
    Verbs one(*first), two(second);
    ASSERT_EQ(one.get_context(), 0);
    ASSERT_EQ(two.get_context(), 0);
    std::vector<std::uint32_t> handles;
    for (int i = 0; i < 250; ++i) {
        ASSERT_EQ(one.alloc_pd(), 0);
        ASSERT_EQ(two.alloc_pd(), 0);
        handles.push_back(two.handle);
    }
    const Bytes question = message(RDMA_NLDEV_CMD_RES_PD_GET, NLM_F_DUMP);
    const Reply begun = ask(question);
    ASSERT_NE(begun.next, 0U);
    first.reset();
    ASSERT_TRUE(card_.wait_for_clients(2));  // the requesting client is one of them
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(two.destroy_pd(handles[static_cast<std::size_t>(i)]), 0);
    }
    std::size_t left = 0;
    std::uint64_t from = begun.next;
    for (int pieces = 0; from != 0 && pieces < 100; ++pieces) {
        const Reply piece = ask(question, from);
        left += numbers(piece, RDMA_NLDEV_ATTR_RES_PD, RDMA_NLDEV_ATTR_RES_PDN).size();
        from = piece.next;
    }
    EXPECT_EQ(left, 150U);
    EXPECT_EQ(ask(question, ~std::uint64_t{0}).next, 0U) << "beyond all clients";
    EXPECT_EQ(ask(about(RDMA_NLDEV_CMD_PORT_GET, kIndex, 1), 5).result, -EINVAL) << "no dump";
}

TEST_F(UverbsNetlink, WhatWouldChangeTheDeviceIsRefused) {
    for (const unsigned operation :
         {RDMA_NLDEV_CMD_SET, RDMA_NLDEV_CMD_NEWLINK, RDMA_NLDEV_CMD_SYS_SET,
          RDMA_NLDEV_CMD_STAT_SET, RDMA_NLDEV_CMD_RES_CM_ID_GET}) {
        EXPECT_EQ(ask(about(operation, kIndex, 1)).result, -EOPNOTSUPP) << operation;
    }
}

TEST_F(UverbsNetlink, MalformedMessagesAreRefused) {
    const Bytes good = about(RDMA_NLDEV_CMD_PORT_GET, kIndex, 1);
    for (std::size_t length = 0; length < good.size(); ++length) {
        EXPECT_EQ(
            ask(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length))).result,
            -EINVAL)
            << length;
    }
    for (std::size_t at = 0; at < good.size(); ++at) {
        for (const std::uint8_t value : {0x00, 0x01, 0x7f, 0xff}) {
            Bytes bytes = good;
            bytes[at] = std::byte{value};
            EXPECT_LE(ask(bytes).result, 0);
        }
    }
    EXPECT_EQ(ask(about(RDMA_NLDEV_CMD_PORT_GET, kIndex, 1)).result, 0);
}

}  // namespace
}  // namespace dingo::uverbs::test
