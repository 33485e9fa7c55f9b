// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "cm/greeting.h"
#include "exit.h"
#if __has_include(<rdma/rdma_cma.h>)
#include "cm/ids.h"
#endif

namespace rdma_bench {
namespace {

TEST(CmGreeting, TellsItsRunAndItsQp) {
    const auto token = random_token();
    auto greeting = make_greeting(token, 0x01020304);
    EXPECT_EQ(greeting.back(), std::byte{4}) << "big-endian";
    // The connection manager pads private data.
    std::vector<std::byte> padded(greeting.begin(), greeting.end());
    padded.resize(56);
    EXPECT_EQ(qp_of_greeting(padded, token), 0x01020304U);
}

TEST(CmGreeting, OfStrangersIsNone) {
    const auto token = random_token();
    const auto greeting = make_greeting(token, 7);
    EXPECT_FALSE(qp_of_greeting(greeting, random_token()));
    EXPECT_FALSE(qp_of_greeting(std::span(greeting).first(greeting.size() - 1), token));
    EXPECT_FALSE(qp_of_greeting({}, token));
}

TEST(CmGreeting, TokensAreTextOnTheLink) {
    const auto token = random_token();
    EXPECT_EQ(token_text(token).size(), 32U);
    EXPECT_EQ(parse_token(token_text(token)), token);
    EXPECT_FALSE(parse_token(""));
    EXPECT_FALSE(parse_token(token_text(token) + "00"));
    EXPECT_FALSE(parse_token("0x" + token_text(token).substr(2)));
    EXPECT_FALSE(parse_token("-1" + token_text(token).substr(2)));
    EXPECT_NE(random_token(), random_token());
}

#if __has_include(<rdma/rdma_cma.h>)
std::array<std::uint8_t, 16> gid(std::initializer_list<std::uint8_t> bytes) {
    std::array<std::uint8_t, 16> result{};
    std::copy(bytes.begin(), bytes.end(), result.begin());
    return result;
}

TEST(CmAddress, IsTheGids) {
    const auto mapped = gid({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1});
    EXPECT_EQ(cm_address(mapped, 3).storage.ss_family, AF_INET);
    EXPECT_EQ(cm_address(mapped, 3).text(), "192.0.2.1");
    const auto global = gid({0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5});
    EXPECT_EQ(cm_address(global, 3).text(), "2001:db8::5")
        << "an interface only where it is needed";
    const auto link = gid({0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5});
    EXPECT_EQ(cm_address(link, 1).text().substr(0, 8), "fe80::5%");
    EXPECT_EQ(cm_address("2001:db8::7").text(), "2001:db8::7");
    EXPECT_EQ(cm_address("192.0.2.9").text(), "192.0.2.9");
    EXPECT_THROW(cm_address("host.invalid"), RunError);
}

TEST(CmEvent, WordsOfARefusalSayWhy) {
    rdma_cm_event event{};
    event.event = RDMA_CM_EVENT_REJECTED;
    event.status = 8;
    EXPECT_NE(cm_event_text(event).find("nobody listens"), std::string::npos);
    event.status = 28;
    EXPECT_NE(cm_event_text(event).find("the peer's program"), std::string::npos);
    event.status = 99;
    EXPECT_NE(cm_event_text(event).find("99"), std::string::npos);
    event.event = RDMA_CM_EVENT_UNREACHABLE;
    event.status = -110;
    EXPECT_NE(cm_event_text(event).find("does not answer"), std::string::npos);
}
#endif

}  // namespace
}  // namespace rdma_bench
