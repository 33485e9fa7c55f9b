// SPDX-License-Identifier: BSD-2-Clause
// Layout of the datagrams of the communication management class, byte by byte (IBTA 12.6).
#include "host/rdma_cm/cm/mad.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>

#include "host/rdma_cm/cm/ip_service.h"
#include "host/rdma_cm/cm/path.h"

namespace dingo::cm {
namespace {

constexpr std::size_t kBody = 24;

std::uint8_t at(const Mad& mad, std::size_t index) {
    return std::to_integer<std::uint8_t>(mad[index]);
}

/// Checks the bytes of the body from `offset` on.
void expect_body(const Mad& mad, std::size_t offset, std::initializer_list<unsigned> bytes) {
    std::size_t index = kBody + offset;
    for (const unsigned byte : bytes) {
        EXPECT_EQ(at(mad, index), byte) << "body byte " << index - kBody;
        ++index;
    }
}

Req some_req() {
    Req req;
    req.local_id = 0x11223344;
    req.service_id = 0x0000000001061c53;  // TCP port space, port 7251
    req.ca_guid = 0x0244'49ff'fe00'0001;
    req.qkey = 0xa1a2a3a4;
    req.qpn = 0x0b0c0d;
    req.responder_resources = 16;
    req.initiator_depth = 8;
    req.remote_response_timeout = 20;
    req.transport = Transport::kUc;
    req.flow_control = true;
    req.starting_psn = 0xabcdef;
    req.local_response_timeout = 21;
    req.retry_count = 7;
    req.pkey = 0x8001;
    req.path_mtu = 5;
    req.rdc_exists = false;
    req.rnr_retry_count = 6;
    req.max_cm_retries = 15;
    req.srq = true;
    req.extended_transport = 1;
    req.local_gid.fill(0x51);
    req.remote_gid.fill(0x52);
    req.flow_label = 0x12345;
    req.packet_rate = 16;
    req.traffic_class = 0x60;
    req.hop_limit = 64;
    req.sl = 3;
    req.subnet_local = true;
    req.ack_timeout = 17;
    req.private_data.fill(0x77);
    return req;
}

TEST(CmMad, HeaderIsThatOfTheClass) {
    const Mad mad = encode(some_req(), 0x0102030405060708);
    const std::initializer_list<unsigned> wanted = {1, 7, 2, 3, 0, 0,    0, 0, 1, 2, 3, 4,
                                                    5, 6, 7, 8, 0, 0x10, 0, 0, 0, 0, 0, 0};
    std::size_t index = 0;
    for (const unsigned byte : wanted) {
        EXPECT_EQ(at(mad, index), byte) << "byte " << index;
        ++index;
    }
    const auto header = decode_header(mad);
    ASSERT_TRUE(header);
    EXPECT_EQ(header->attribute, Attribute::kReq);
    EXPECT_EQ(header->transaction, 0x0102030405060708U);
}

TEST(CmMad, OtherClassesVersionsAndMethodsAreRefused) {
    const Mad good = encode(Rtu{}, 1);
    for (const std::size_t index : {0U, 1U, 2U, 3U}) {
        Mad bad = good;
        bad[index] ^= std::byte{0x10};
        EXPECT_FALSE(decode_header(bad)) << "byte " << index;
    }
    EXPECT_TRUE(decode_header(good));
}

TEST(CmMad, ReqHasEveryFieldInItsPlace) {
    const Mad mad = encode(some_req(), 0);
    expect_body(mad, 0, {0x11, 0x22, 0x33, 0x44, 0, 0, 0, 0});
    expect_body(mad, 8, {0, 0, 0, 0, 0x01, 0x06, 0x1c, 0x53});
    expect_body(mad, 16, {0x02, 0x44, 0x49, 0xff, 0xfe, 0, 0, 0x01, 0, 0, 0, 0});
    expect_body(mad, 28, {0xa1, 0xa2, 0xa3, 0xa4});
    expect_body(mad, 32, {0x0b, 0x0c, 0x0d, 16, 0, 0, 0, 8});
    expect_body(mad, 40, {0, 0, 0, 20 << 3 | 1 << 1 | 1});
    expect_body(mad, 44, {0xab, 0xcd, 0xef, 21 << 3 | 7});
    expect_body(mad, 48, {0x80, 0x01, 5 << 4 | 6, 15 << 4 | 1 << 3 | 1});
    expect_body(mad, 52, {0xff, 0xff, 0xff, 0xff, 0x51, 0x51});
    expect_body(mad, 71, {0x51, 0x52});
    expect_body(mad, 87, {0x52, 0x12, 0x34, 0x50, 16, 0x60, 64, 3 << 4 | 1 << 3, 17 << 3});
    expect_body(mad, 96, {0, 0, 0, 0});
    expect_body(mad, 139, {0, 0x77});
    EXPECT_EQ(at(mad, 255), 0x77);
}

TEST(CmMad, ReqComesBackAsItWas) {
    const Req want = some_req();
    const Req got = decode<Req>(encode(want, 0));
    EXPECT_EQ(encode(got, 0), encode(want, 0));
    EXPECT_EQ(got.starting_psn, want.starting_psn);
    EXPECT_EQ(got.transport, want.transport);
    EXPECT_EQ(got.ack_timeout, want.ack_timeout);
    EXPECT_EQ(got.private_data, want.private_data);
}

TEST(CmMad, RepHasEveryFieldInItsPlace) {
    Rep rep;
    rep.local_id = 1;
    rep.remote_id = 2;
    rep.qkey = 3;
    rep.qpn = 0x040506;
    rep.starting_psn = 0x070809;
    rep.responder_resources = 10;
    rep.initiator_depth = 11;
    rep.target_ack_delay = 15;
    rep.failover = 1;
    rep.flow_control = true;
    rep.rnr_retry_count = 5;
    rep.srq = true;
    rep.ca_guid = 0x1020304050607080;
    rep.private_data.fill(0x66);
    const Mad mad = encode(rep, 0);
    EXPECT_EQ(at(mad, 17), 0x13);
    expect_body(mad, 0, {0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 4, 5, 6, 0, 0, 0, 0, 0});
    expect_body(mad, 20, {7, 8, 9, 0, 10, 11, 15 << 3 | 1 << 1 | 1, 5 << 5 | 1 << 4});
    expect_body(mad, 28, {0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0x80, 0x66});
    EXPECT_EQ(encode(decode<Rep>(mad), 0), mad);
}

TEST(CmMad, RejMraAndTheRest) {
    Rej rej;
    rej.local_id = 1;
    rej.remote_id = 2;
    rej.answered = Answered::kOther;
    rej.info_length = 8;
    rej.reason = 28;
    rej.info.fill(0x31);
    rej.private_data.fill(0x32);
    const Mad rejected = encode(rej, 0);
    expect_body(rejected, 8, {2 << 6, 8 << 1, 0, 28, 0x31});
    expect_body(rejected, 83, {0x31, 0x32});
    EXPECT_EQ(encode(decode<Rej>(rejected), 0), rejected);

    Mra mra;
    mra.answered = Answered::kRep;
    mra.service_timeout = 24;
    mra.private_data.fill(0x33);
    const Mad delayed = encode(mra, 0);
    expect_body(delayed, 8, {1 << 6, 24 << 3, 0x33});
    EXPECT_EQ(encode(decode<Mra>(delayed), 0), delayed);

    Dreq dreq;
    dreq.remote_qpn = 0x010203;
    dreq.private_data.fill(0x34);
    const Mad ended = encode(dreq, 0);
    expect_body(ended, 8, {1, 2, 3, 0, 0x34});
    EXPECT_EQ(encode(decode<Dreq>(ended), 0), ended);
    EXPECT_EQ(at(encode(Drep{}, 0), 17), 0x16);
    EXPECT_EQ(at(encode(Rtu{}, 0), 17), 0x14);
}

TEST(CmMad, SidrHasEveryFieldInItsPlace) {
    SidrReq req;
    req.request_id = 0x01020304;
    req.pkey = 0xffff;
    req.service_id = 0x0000000001110102;
    req.private_data.fill(0x35);
    const Mad asked = encode(req, 0);
    expect_body(asked, 0, {1, 2, 3, 4, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 1, 0x11, 1, 2, 0x35});
    EXPECT_EQ(encode(decode<SidrReq>(asked), 0), asked);

    SidrRep rep;
    rep.request_id = 5;
    rep.status = 2;
    rep.info_length = 1;
    rep.qpn = 0x060708;
    rep.service_id = 0x0000000001110102;
    rep.qkey = 0x01234567;
    rep.info.fill(0x36);
    rep.private_data.fill(0x37);
    const Mad told = encode(rep, 0);
    expect_body(told, 0, {0, 0, 0, 5, 2, 1, 0, 0, 6, 7, 8, 0, 0, 0, 0, 0, 1, 0x11, 1, 2});
    expect_body(told, 20, {0x01, 0x23, 0x45, 0x67, 0x36});
    expect_body(told, 95, {0x36, 0x37});
    EXPECT_EQ(encode(decode<SidrRep>(told), 0), told);
}

TEST(CmIpService, HeaderOfIpv4AndIpv6) {
    IpHeader header;
    header.ipv4 = true;
    header.source_port = 0x9c41;
    header.source = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, 2};
    header.destination = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, 1};
    const auto v4 = encode(header);
    const std::array<std::uint8_t, kIpHeaderBytes> wanted = {
        0, 0x40, 0x9c, 0x41, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0,  10, 77,
        0, 2,    0,    0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 77, 0,  1};
    EXPECT_EQ(v4, wanted);
    const auto back = decode_ip_header(v4);
    ASSERT_TRUE(back);
    EXPECT_TRUE(back->ipv4);
    EXPECT_EQ(back->source, header.source);
    EXPECT_EQ(back->destination, header.destination);
    EXPECT_EQ(back->source_port, header.source_port);

    header.ipv4 = false;
    header.source.fill(0xfd);
    const auto v6 = encode(header);
    EXPECT_EQ(v6[1], 0x60);
    EXPECT_EQ(v6[4], 0xfd);
    EXPECT_EQ(decode_ip_header(v6)->source, header.source);
}

TEST(CmIpService, OtherVersionsAreNoHeader) {
    auto bytes = encode(IpHeader{});
    bytes[1] = 0x50;
    EXPECT_FALSE(decode_ip_header(bytes));
    bytes[1] = 0x40;
    bytes[0] = 0x10;
    EXPECT_FALSE(decode_ip_header(bytes));
    EXPECT_FALSE(decode_ip_header(std::span(bytes).first(kIpHeaderBytes - 1)));
}

TEST(CmPath, TimesAreThoseOfLinux) {
    EXPECT_EQ(milliseconds(20), 4096U);
    EXPECT_EQ(milliseconds(16), 256U);
    EXPECT_EQ(milliseconds(3), 1U);
    EXPECT_EQ(ack_timeout(15, 16), 17);
    EXPECT_EQ(ack_timeout(16, 16), 18);
    EXPECT_EQ(ack_timeout(20, 16), 20);
    EXPECT_EQ(ack_timeout(31, 31), 31);
}

}  // namespace
}  // namespace dingo::cm
