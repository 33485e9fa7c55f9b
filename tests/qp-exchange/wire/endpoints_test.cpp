// SPDX-License-Identifier: BSD-2-Clause
// Tests of ENDPOINTS: expected bytes, limits, invalid values.
#include <cstring>
#include <functional>

#include "bytes.h"
#include "wire/messages.h"

namespace qpx::wire {
namespace {

using test::expect_error;
using test::hex;
using test::to_hex;

constexpr const char* fixed =
    "00123456 00abcdef 11111111 00000007 00000000000000000000ffffc0a80001 0000 01 01 00001000 10 "
    "08 0000";

Endpoint sample() {
    Endpoint endpoint;
    endpoint.device = "dingo0";
    endpoint.gid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 168, 0, 1};
    endpoint.qpn = 0x123456;
    endpoint.psn = 0xabcdef;
    endpoint.qkey = 0x11111111;
    endpoint.srqn = 7;
    endpoint.mtu = 4096;
    endpoint.max_rd_atomic = 16;
    endpoint.max_dest_rd_atomic = 8;
    endpoint.regions = {{0x7f0000001000, 65536, 0xcafe, "rx"}, {0, 0, 1, ""}};
    endpoint.application = test::bytes_of("app");
    return endpoint;
}

std::vector<std::byte> with_header(const std::string& value) {
    const auto bytes = hex(value);
    auto out = hex("0001 0001 000000");
    out.push_back(static_cast<std::byte>(bytes.size()));
    out.insert(out.end(), bytes.begin(), bytes.end());
    return out;
}

TEST(Endpoints, HaveTheDocumentedBytes) {
    std::vector<std::byte> out;
    const std::vector<Endpoint> endpoints = {sample()};
    encode(out, endpoints, 1);
    const std::string value = std::string(fixed) +
                              "0001 0000 00000006 64696e676f30"
                              "0002 0000 00000016 00007f0000001000 0000000000010000 0000cafe 7278"
                              "0002 0000 00000014 0000000000000000 0000000000000000 00000001"
                              "0003 0000 00000003 617070";
    EXPECT_EQ(to_hex(out),
              to_hex(hex("51505831 01000300 00000001 00000087 0001 0001 0000007f" + value)));
    EXPECT_EQ(out.size(), header_size + encoded_size(sample()));
}

TEST(Endpoints, AreReadBackWhole) {
    std::vector<Endpoint> endpoints = {sample(), sample()};
    endpoints[1].type = QpType::UD;
    endpoints[1].qpn = 1;
    endpoints[1].regions.clear();
    endpoints[1].device.clear();
    std::vector<std::byte> out;
    encode(out, endpoints, 1);
    EXPECT_EQ(decode_endpoints(std::span(out).subspan(header_size), {}), endpoints);
}

TEST(Endpoints, CandidatesTravelAndAreBounded) {
    Endpoint one = sample();
    one.candidates = {{one.gid, GidCandidate::Type::RoceV2, GidCandidate::Wish::Chosen, 120},
                      {{0xfe, 0x80}, GidCandidate::Type::RoceV1, GidCandidate::Wish::None, 0}};
    EXPECT_EQ(unpack(pack(one)), one);
    std::vector<std::byte> out;
    encode(out, std::vector<Endpoint>{one}, 1);
    EXPECT_EQ(out.size(), header_size + encoded_size(one));
    one.candidates.resize(65);
    expect_error(ErrorCode::Argument, "64 are allowed", [&] { pack(one); });
    out.clear();
    encode(out, std::vector<Endpoint>{one}, 1);
    expect_error(ErrorCode::Limit, "64 GIDs", [&] { unpack(std::span(out).subspan(header_size)); });
}

TEST(Endpoints, AnyStoreHoldsOneAtATime) {
    std::vector<std::byte> out;
    encode(out, std::vector<Endpoint>{sample(), sample()}, 1);
    expect_error(ErrorCode::Protocol, "2 endpoints instead of one",
                 [&] { unpack(std::span(out).subspan(header_size)); });
    expect_error(ErrorCode::Protocol, "without an endpoint", [] { unpack({}); });
    Endpoint wrong = sample();
    wrong.mtu = 1500;
    expect_error(ErrorCode::Argument, "MTU 1500", [&] { pack(wrong); });
}

TEST(Endpoints, SkipWhatALaterVersionAdds) {
    const auto payload = with_header(std::string(fixed) + "0063 0000 00000001 00");
    EXPECT_EQ(decode_endpoints(payload, {}).size(), 1U);
    EXPECT_THROW(decode_endpoints(with_header(std::string(fixed) + "0063 0001 00000000"), {}),
                 Error);
}

TEST(Endpoints, ValuesThatNoQpHasAreRefusedByName) {
    struct Case {
        std::function<void(Endpoint&)> change;
        const char* words;
    };
    const std::vector<Case> cases = {
        {[](Endpoint& e) { e.qpn = 1 << 24; }, "QPN 16777216 has more than 24 bits"},
        {[](Endpoint& e) { e.psn = 0xffffffff; }, "PSN 4294967295"},
        {[](Endpoint& e) { e.srqn = 1 << 24; }, "SRQ number"},
        {[](Endpoint& e) { e.mtu = 1500; }, "MTU 1500 is none of"},
        {[](Endpoint& e) { e.mtu = 0; }, "MTU 0"},
        {[](Endpoint& e) { e.port = 0; }, "port 0"},
        {[](Endpoint& e) { e.type = static_cast<QpType>(9); }, "QP type 9"},
        {[](Endpoint& e) { e.gid = {}; }, "neither GID nor LID"},
        {[](Endpoint& e) { e.regions[0].length = ~0ULL; }, "beyond the end of the address space"},
    };
    for (const Case& c : cases) {
        std::vector<Endpoint> endpoints = {sample()};
        c.change(endpoints[0]);
        std::vector<std::byte> out;
        encode(out, endpoints, 1);
        expect_error(ErrorCode::Protocol, c.words,
                     [&] { decode_endpoints(std::span(out).subspan(header_size), {}); });
    }
}

TEST(Endpoints, LimitsAreKept) {
    const std::vector<Endpoint> endpoints = {sample(), sample()};
    std::vector<std::byte> out;
    encode(out, endpoints, 1);
    const auto payload = std::span(out).subspan(header_size);
    EXPECT_NO_THROW(
        decode_endpoints(payload, {.max_endpoints = 2, .max_regions = 2, .max_application = 3}));
    expect_error(ErrorCode::Limit, "more than 1 endpoints",
                 [&] { decode_endpoints(payload, {.max_endpoints = 1}); });
    expect_error(ErrorCode::Limit, "more than 1 regions",
                 [&] { decode_endpoints(payload, {.max_regions = 1}); });
    expect_error(ErrorCode::Limit, "more than 2 application bytes",
                 [&] { decode_endpoints(payload, {.max_application = 2}); });
}

TEST(Endpoints, TheLongestNamesAreTakenAndNoLongerOnes) {
    const auto decoded = [](const Endpoint& endpoint) {
        std::vector<std::byte> out;
        encode(out, std::vector<Endpoint>{endpoint}, 1);
        return decode_endpoints(std::span(out).subspan(header_size), {}).front();
    };
    Endpoint endpoint = sample();
    endpoint.device = std::string(63, 'd');
    endpoint.regions[0].tag = std::string(255, 't');
    EXPECT_EQ(decoded(endpoint), endpoint);
    endpoint.device += 'd';
    expect_error(ErrorCode::Limit, "a device name above 63 bytes", [&] { decoded(endpoint); });
    endpoint.device.pop_back();
    endpoint.regions[0].tag += 't';
    expect_error(ErrorCode::Limit, "a region's tag above 255 bytes", [&] { decoded(endpoint); });
}

TEST(Endpoints, DoubledAndCutFieldsAreRefused) {
    const std::string device = "0001 0000 00000001 61", application = "0003 0000 00000000";
    EXPECT_THROW(decode_endpoints(with_header(fixed + device + device), {}), Error);
    EXPECT_THROW(decode_endpoints(with_header(fixed + application + application), {}), Error);
    EXPECT_THROW(decode_endpoints(with_header(std::string(fixed).substr(0, 80)), {}), Error);
    EXPECT_THROW(
        decode_endpoints(
            with_header(std::string(fixed) + "0002 0000 00000013" + std::string(38, '0')), {}),
        Error);
    EXPECT_THROW(decode_endpoints({}, {}), Error);
}

TEST(Endpoints, EveryCutOfAMessageIsRefused) {
    std::vector<std::byte> out;
    const std::vector<Endpoint> endpoints = {sample()};
    encode(out, endpoints, 1);
    const auto payload = std::span(out).subspan(header_size);
    for (std::size_t length = 0; length < payload.size(); ++length) {
        EXPECT_THROW(decode_endpoints(payload.first(length), {}), Error) << length;
    }
}

TEST(Endpoints, IncompatibleOnesAreNamed) {
    Endpoint mine = sample(), peer = sample();
    EXPECT_EQ(why_incompatible(mine, peer), "");
    peer.type = QpType::UD;
    EXPECT_EQ(why_incompatible(mine, peer), "QP types differ: RC and UD");
    peer.type = mine.type;
    peer.lid = 3;
    EXPECT_NE(why_incompatible(mine, peer).find("InfiniBand"), std::string::npos);
}

TEST(GidText, IsIpv4WhenMapped) {
    EXPECT_EQ(gid_text(sample().gid), "192.168.0.1");
    std::array<std::uint8_t, 16> gid{};
    gid[0] = 0xfe;
    gid[1] = 0x80;
    gid[15] = 1;
    EXPECT_EQ(gid_text(gid), "fe80::1");
}

}  // namespace
}  // namespace qpx::wire
