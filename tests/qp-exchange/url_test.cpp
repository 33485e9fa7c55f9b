// SPDX-License-Identifier: BSD-2-Clause
// Tests of valid and malformed URLs.
#include "qpx/url.h"

#include "bytes.h"

namespace qpx {
namespace {

using test::expect_error;

TEST(ParseUrl, TakesAllForms) {
    const Url tcp = parse_url("TCP://node-1:18515");
    EXPECT_EQ(tcp.scheme, "tcp");
    EXPECT_EQ(tcp.host, "node-1");
    EXPECT_EQ(tcp.port, 18515);
    const Url service = parse_url("qpxd://[2001:db8::1]:18516/train%2042?rank=3&size=8");
    EXPECT_EQ(service.host, "2001:db8::1");
    EXPECT_EQ(service.path, "train 42");
    EXPECT_EQ(service.query.at("rank"), "3");
    EXPECT_EQ(service.query.at("size"), "8");
    const Url redis = parse_url("redis://user:p%40ss:word@host/2");
    EXPECT_EQ(redis.user, "user");
    EXPECT_EQ(redis.password, "p@ss:word");
    EXPECT_EQ(redis.host, "host");
    EXPECT_EQ(redis.port, 0);
    EXPECT_EQ(redis.path, "2");
    EXPECT_EQ(parse_url("pmix:").scheme, "pmix");
    EXPECT_EQ(parse_url("cm://[fe80::1%25eth0]:7").host, "fe80::1%eth0");
    EXPECT_EQ(parse_url("cm://[fe80::1%eth0]:7").host, "fe80::1%eth0");
}

TEST(ParseUrl, NamesWhatIsWrong) {
    const std::pair<const char*, const char*> cases[] = {
        {"", "begins with its scheme"},
        {"node-1", "begins with its scheme"},
        {"://host", "begins with its scheme"},
        {"tcp://host:0", "none of 1 to 65535"},
        {"tcp://host:65536", "none of"},
        {"tcp://host:1x", "port \"1x\""},
        {"tcp://host:", "port \"\""},
        {"tcp://fe80::1:7", "needs brackets"},
        {"tcp://[::1", "']' is missing"},
        {"tcp://[::1]7", "after ']'"},
        {"tcp://h%zz", "hexadecimal"},
        {"tcp://h%2", "hexadecimal"},
        {"tcp://h%00", "not 00"},
        {"tcp://h?a=1&a=2", "given twice"},
        {"tcp://h#x", "fragment"},
    };
    for (const auto& [text, words] : cases) {
        SCOPED_TRACE(text);
        expect_error(ErrorCode::Argument, words, [text = text] { parse_url(text); });
    }
}

TEST(UrlText, HidesThePassword) {
    EXPECT_EQ(to_string(parse_url("redis://u:secret@h:1/2")), "redis://u:***@h:1/2");
    EXPECT_EQ(to_string(parse_url("redis://:secret@h")), "redis://:***@h");
    EXPECT_EQ(to_string(parse_url("tcp://[::1]:7")), "tcp://[::1]:7");
    EXPECT_EQ(to_string(parse_url("pmix:")), "pmix:");
    EXPECT_EQ(to_string(parse_url("qpxd://h:1/j?b=2&a=1")), "qpxd://h:1/j?a=1&b=2");
}

TEST(ParseHostPort, TakesWhatACommandLineGives) {
    EXPECT_EQ(parse_host_port("node-1", 7).port, 7);
    EXPECT_EQ(parse_host_port("node-1:9", 7).port, 9);
    EXPECT_EQ(parse_host_port("::1", 7).host, "::1");
    EXPECT_EQ(parse_host_port("[::1]:9", 7).host, "::1");
    EXPECT_EQ(parse_host_port("[::1]:9", 7).port, 9);
    expect_error(ErrorCode::Argument, "no host", [] { parse_host_port("", 7); });
    expect_error(ErrorCode::Argument, "no host", [] { parse_host_port(":9", 7); });
}

}  // namespace
}  // namespace qpx
