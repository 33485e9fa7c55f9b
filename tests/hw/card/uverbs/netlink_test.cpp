// SPDX-License-Identifier: BSD-2-Clause
//
// RDMA netlink of a card: what `rdma` and libibverbs ask, and what nobody should.
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include "running_card.h"

namespace dingo::card::uverbs::test {
namespace {

struct Reply {
    int result = 0;
    std::vector<std::uint8_t> bytes;
    [[nodiscard]] std::string text() const { return {bytes.begin(), bytes.end()}; }
    /// Lengths of the messages; empty when they do not fill the bytes.
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
    Reply ask(const Bytes& bytes) {
        Request request(DINGO_UVERBS_NETLINK);
        request.payload = bytes;
        const Answer answer = asker_.send(request);
        Reply reply{answer.result(), {}};
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

TEST_F(UverbsNetlink, OtherDevicesAndPortsAreNotThere) {
    EXPECT_EQ(ask(about(RDMA_NLDEV_CMD_GET, 4, 1)).result, -ENODEV);
    EXPECT_EQ(ask(about(RDMA_NLDEV_CMD_PORT_GET, kIndex, 2)).result, -EINVAL);
    EXPECT_EQ(ask(message(RDMA_NLDEV_CMD_GET, 0)).result, -EINVAL);
}

TEST_F(UverbsNetlink, TheCountersFitInWhatProgramsRead) {
    const Reply counters = ask(about(RDMA_NLDEV_CMD_STAT_GET, kIndex, 1));
    ASSERT_EQ(counters.messages().size(), 1U);
    EXPECT_LE(counters.messages()[0], 4096U);
    EXPECT_NE(counters.text().find("rdma_tx_packets"), std::string::npos);
}

TEST_F(UverbsNetlink, LongTablesComeInMessagesThatProgramsCanRead) {
    Client client(card_.directory);
    Verbs verbs(client);
    ASSERT_EQ(verbs.get_context(), 0);
    for (int i = 0; i < 500; ++i) {
        ASSERT_EQ(verbs.alloc_pd(), 0);
    }
    const Reply table = ask(message(RDMA_NLDEV_CMD_RES_PD_GET, NLM_F_DUMP));
    EXPECT_GT(table.messages().size(), 1U);
    for (const std::uint32_t length : table.messages()) {
        EXPECT_LE(length, 4096U);
    }
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
}  // namespace dingo::card::uverbs::test
