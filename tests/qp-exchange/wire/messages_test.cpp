// SPDX-License-Identifier: BSD-2-Clause
// Tests of HELLO and REFUSE: expected bytes, and missing, duplicate, unknown or too long fields.
#include "wire/messages.h"

#include "bytes.h"

namespace qpx::wire {
namespace {

using test::expect_error;
using test::hex;
using test::to_hex;

constexpr const char* hello_fields =
    "0001 0000 00000008 0000000000000001 | 0002 0000 00000008 0000000000000001 | 0003 0000 "
    "00000004 deadbeef |"
    "0004 0000 00000004 00100000 | 0005 0000 00000004 00000040 | 0006 0000 00000004 00000010 |"
    "0007 0000 00000004 00000800";

Hello sample() {
    return {.features = feature_peer,
            .required = feature_peer,
            .nonce = 0xdeadbeef,
            .limits = {.max_frame = 1 << 20,
                       .max_endpoints = 64,
                       .max_regions = 16,
                       .max_application = 2048},
            .name = "a"};
}

TEST(Hello, HasTheDocumentedBytes) {
    std::vector<std::byte> out;
    encode(out, sample());
    EXPECT_EQ(to_hex(out), to_hex(hex(std::string("51505831 01000100 00000000 00000065") +
                                      hello_fields + "0008 0000 00000001 61")));
}

TEST(Hello, IsReadBack) {
    const auto payload = hex(std::string(hello_fields) + "0008 0000 00000001 61");
    const Hello hello = decode_hello(payload);
    EXPECT_EQ(hello.nonce, 0xdeadbeefU);
    EXPECT_EQ(hello.limits.max_frame, 1U << 20);
    EXPECT_EQ(hello.limits.max_endpoints, 64U);
    EXPECT_EQ(hello.limits.max_regions, 16U);
    EXPECT_EQ(hello.limits.max_application, 2048U);
    EXPECT_EQ(hello.name, "a");
}

TEST(Hello, SkipsWhatALaterVersionAdds) {
    EXPECT_EQ(decode_hello(hex(std::string("0009 0000 00000002 ffff") + hello_fields)).nonce,
              0xdeadbeefU);
    EXPECT_EQ(decode_hello(hex(std::string("9009 0000 00000000") + hello_fields)).nonce,
              0xdeadbeefU);
    expect_error(ErrorCode::Protocol, "must be",
                 [&] { decode_hello(hex(std::string("0009 0001 00000000") + hello_fields)); });
}

TEST(Hello, WantsAllRequiredFieldsOnce) {
    expect_error(ErrorCode::Protocol, "lacks", [] { decode_hello({}); });
    expect_error(ErrorCode::Protocol, "lacks",
                 [] { decode_hello(hex("0001 0000 00000008 0000000000000001")); });
    expect_error(ErrorCode::Protocol, "twice", [] {
        decode_hello(hex(std::string(hello_fields) + "0003 0000 00000004 00000000"));
    });
}

TEST(Hello, LacksNothingButItsName) {
    std::string rest = hello_fields;
    for (std::string before; !rest.empty();) {
        const std::string field = rest.substr(0, rest.find('|'));
        rest.erase(0, field.size() + 1);
        expect_error(ErrorCode::Protocol, "HELLO lacks", [&] { decode_hello(hex(before + rest)); });
        before += field;
        if (rest.empty()) {
            EXPECT_EQ(decode_hello(hex(before)).name, "");
            expect_error(ErrorCode::Protocol, "twice", [&] { decode_hello(hex(before + field)); });
        }
    }
}

TEST(Hello, RefusesAFrameLimitThatNoHandshakeFits) {
    std::string fields = hello_fields;
    fields.replace(fields.find("00100000"), 8, "00000fff");
    expect_error(ErrorCode::Protocol, "below 4096", [&] { decode_hello(hex(fields)); });
    fields.replace(fields.find("00000fff"), 8, "00001000");
    EXPECT_EQ(decode_hello(hex(fields)).limits.max_frame, 4096U);
}

TEST(Hello, TakesTheLongestNameAndNoLongerOne) {
    const auto named = [](std::size_t letters) {
        std::vector<std::byte> name;
        FrameWriter(name, Type::Hello).text(tag::name, std::string(letters, 'n'));
        auto payload = hex(hello_fields);
        payload.insert(payload.end(), name.begin() + header_size, name.end());
        return decode_hello(payload).name;
    };
    EXPECT_EQ(named(255), std::string(255, 'n'));
    expect_error(ErrorCode::Limit, "above 255 bytes", [&] { named(256); });
}

TEST(Hello, LongAndDirtyNamesAreMadeFitToSend) {
    Hello hello = sample();
    hello.name = std::string(254, 'n') + "\xc3\xbc\n";
    std::vector<std::byte> out;
    encode(out, hello);
    EXPECT_EQ(decode_hello(std::span(out).subspan(header_size)).name, std::string(254, 'n'));
    hello.name = "a\nb\x1b";
    out.clear();
    encode(out, hello);
    EXPECT_EQ(decode_hello(std::span(out).subspan(header_size)).name, "a b ");
}

TEST(Hello, AServiceAndAPeerTellEachOtherApart) {
    Hello client = sample();
    EXPECT_EQ(why_no_talk(feature_peer, client), "");
    EXPECT_NE(why_no_talk(feature_service, client).find("use qpxd://"), std::string::npos);
    client.required = feature_service;
    EXPECT_NE(why_no_talk(feature_peer, client).find("use tcp://"), std::string::npos);
    client.required = feature_peer | 1ULL << 40;
    EXPECT_NE(why_no_talk(feature_peer, client).find("not known here"), std::string::npos);
}

// Numbers that are fixed between builds (docs/reference/qp-exchange-protocol.md).
TEST(Numbers, AreTheDocumentedOnes) {
    EXPECT_EQ(feature_peer, 1U);
    EXPECT_EQ(feature_service, 2U);
    EXPECT_EQ(must_understand, 1U);
    unsigned n = 0;
    for (const Type type : {Type::Hello, Type::Refuse, Type::Endpoints, Type::Accept, Type::Data,
                            Type::Barrier, Type::Bye}) {
        EXPECT_EQ(static_cast<unsigned>(type), ++n);
    }
    n = 0;
    for (const Reason reason :
         {Reason::Protocol, Reason::Version, Reason::Limit, Reason::Auth, Reason::Feature,
          Reason::Mismatch, Reason::Replay, Reason::Timeout, Reason::Busy, Reason::Application}) {
        EXPECT_EQ(static_cast<unsigned>(reason), ++n);
    }
    n = 0;
    for (const std::uint16_t of_hello :
         {tag::features, tag::required, tag::nonce, tag::max_frame, tag::max_endpoints,
          tag::max_regions, tag::max_application, tag::name}) {
        EXPECT_EQ(of_hello, ++n);
    }
    n = 0;
    for (const std::uint16_t of_endpoint :
         {tag::device, tag::region, tag::application, tag::candidate}) {
        EXPECT_EQ(of_endpoint, ++n);
    }
    for (const std::uint16_t first : {tag::reason, tag::endpoint, tag::data, tag::round}) {
        EXPECT_EQ(first, 1U);
    }
    EXPECT_EQ(tag::reason_text, 2U);
}

TEST(Refusal, HasTheDocumentedBytes) {
    std::vector<std::byte> out;
    encode(out, Refusal{Reason::Mismatch, "no"}, 5);
    EXPECT_EQ(to_hex(out), to_hex(hex("51505831 01000200 00000005 00000014 0001 0000 00000002 0006 "
                                      "0002 0000 00000002 6e6f")));
}

TEST(Refusal, IsReadWhateverItHolds) {
    EXPECT_EQ(decode_refusal(hex("0001 0000 00000002 0009")).reason, Reason::Busy);
    EXPECT_EQ(decode_refusal(hex("0001 0000 00000001 09")).text,
              "for a reason that cannot be read");
    EXPECT_EQ(decode_refusal(hex("0005 0001 00000000 0002 0000 00000002 6e6f")).text, "no");
    EXPECT_EQ(decode_refusal({}).text, "");
}

TEST(Refusal, BecomesAnErrorThatNamesWhoRefused) {
    const Error error = refused({Reason::Mismatch, "QP types differ: RC and UD"}, "the peer");
    EXPECT_EQ(error.code(), ErrorCode::Refused);
    EXPECT_EQ(error.detail(), static_cast<int>(Reason::Mismatch));
    EXPECT_STREQ(error.what(), "the peer refused: QP types differ: RC and UD");
    EXPECT_EQ(refused({Reason::Version, ""}, "qpxd").code(), ErrorCode::Version);
    EXPECT_EQ(refused({Reason::Auth, ""}, "qpxd").code(), ErrorCode::Auth);
}

TEST(Refusal, EveryErrorHasItsReasonAndBack) {
    struct Case {
        ErrorCode code;
        Reason reason;
        ErrorCode heard;  // by the peer
    };
    constexpr auto refused_code = ErrorCode::Refused;
    for (const auto& [code, reason, heard] :
         std::initializer_list<Case>{{ErrorCode::Argument, Reason::Application, refused_code},
                                     {ErrorCode::Resolve, Reason::Application, refused_code},
                                     {ErrorCode::Refused, Reason::Application, refused_code},
                                     {ErrorCode::Timeout, Reason::Timeout, refused_code},
                                     {ErrorCode::Protocol, Reason::Protocol, refused_code},
                                     {ErrorCode::Version, Reason::Version, ErrorCode::Version},
                                     {ErrorCode::Auth, Reason::Auth, ErrorCode::Auth},
                                     {ErrorCode::Limit, Reason::Limit, refused_code},
                                     {ErrorCode::PeerGone, Reason::Application, refused_code},
                                     {ErrorCode::Device, Reason::Application, refused_code},
                                     {ErrorCode::Unsupported, Reason::Application, refused_code},
                                     {ErrorCode::Cancelled, Reason::Application, refused_code}}) {
        EXPECT_EQ(reason_of(code), reason) << to_string(code);
        EXPECT_EQ(refused({reason, ""}, "it").code(), heard) << to_string(code);
    }
    EXPECT_EQ(refused({static_cast<Reason>(0x7f), ""}, "it").code(), refused_code);
}

TEST(Refusal, ALongTextIsCutWhereACharacterEnds) {
    for (const auto& [text, left] : {std::pair{std::string(1024, 't'), 1024U},
                                     {std::string(1025, 't'), 1024},
                                     {std::string(1023, 't') + "\xc3\xbc", 1023},
                                     {std::string(1022, 't') + "\xc3\xbc", 1024},
                                     {std::string(1021, 't') + "\xf0\x9f\x98\x80", 1021}}) {
        std::vector<std::byte> out;
        encode(out, Refusal{Reason::Mismatch, text}, 5);
        EXPECT_EQ(decode_refusal(std::span(out).subspan(header_size)).text, text.substr(0, left));
    }
}

TEST(Refusal, ALongTextThatWasSentIsReadUpToItsLimit) {
    for (const char* character : {"a", "\xc3\xbc"}) {
        std::string text;
        while (text.size() < 70'000) {
            text += character;
        }
        std::vector<std::byte> out;
        FrameWriter writer(out, Type::Refuse);
        writer.text(tag::reason_text, text);
        writer.finish(5);
        EXPECT_EQ(decode_refusal(std::span(out).subspan(header_size)).text, text.substr(0, 1024));
    }
}

TEST(Refusal, ItsTextKeepsItsLettersAndLosesControlCharacters) {
    std::vector<std::byte> out;
    encode(out, Refusal{Reason::Mismatch, "\xc3\x80 \x7f\x1f\n|\xe2\x82\x80"}, 5);
    EXPECT_EQ(decode_refusal(std::span(out).subspan(header_size)).text,
              "\xc3\x80    |\xe2\x82\x80");
}

}  // namespace
}  // namespace qpx::wire
