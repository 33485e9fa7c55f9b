// SPDX-License-Identifier: BSD-2-Clause
// Tests of the service with hostile, slow and unauthorized clients.
#include <linux/filter.h>
#include <sys/resource.h>

#include <atomic>
#include <ctime>
#include <future>
#include <random>

#include "group/channel.h"
#include "group/messages.h"
#include "net/stream.h"
#include "peer/handshake.h"
#include "qpx/qpx_group.h"
#include "running_server.h"
#include "service/authorize.h"
#include "wire/frame.h"

namespace qpx::service {
namespace {

using namespace std::chrono_literals;

// Returns a member's greeting.
std::string hello() {
    Bytes out;
    wire::encode(out,
                 peer::make_hello(wire::feature_service, wire::feature_service, PeerOptions{}));
    return std::string(text_of(out));
}

std::string frame(const Message& message, uint32_t sequence) {
    Bytes out;
    encode(message, sequence, out);
    return std::string(text_of(out));
}

/// A client after the greetings, with the sequence number that the server expects next.
struct Greeted {
    explicit Greeted(uint16_t port, int receive_buffer = 0) : raw(port, receive_buffer) {
        raw.send(hello());
        std::string got = raw.read(wire::header_size);
        auto header =
            wire::decode_header(View(view_of(got)).first<wire::header_size>(), wire::max_hello);
        if (got.size() < wire::header_size + header.length) {
            got += raw.read(wire::header_size + header.length - got.size());
        }
        const auto theirs =
            wire::decode_hello(view_of(got).subspan(wire::header_size, header.length));
        next = theirs.nonce;
    }
    void say(const Message& message) { raw.send(frame(message, next++)); }

    RawClient raw;
    uint32_t next = 0;
};

TEST(Hostile, RandomBytesAreRefusedAndCounted) {
    RunningServer server;
    std::mt19937 random(1);
    for (int i = 0; i < 50; ++i) {
        RawClient client(server.port());
        std::string bytes(random() % 3000 + 16, '\0');
        for (char& c : bytes) {
            c = static_cast<char>(random());
        }
        bytes[0] = 'R';
        client.send(bytes);
        client.read_all();
    }
    EXPECT_TRUE(server.reaches("refused_handshake_total", 50));
    EXPECT_TRUE(server.reaches("clients", 0));
    Group::join(server.url())->put("k", "others are served");
}

TEST(Hostile, RandomBytesAfterTheGreeting) {
    RunningServer server;
    std::mt19937 random(2);
    for (int i = 0; i < 50; ++i) {
        Greeted client(server.port());
        // A valid header with a random type and payload.
        Bytes out;
        wire::FrameWriter writer(out, static_cast<wire::Type>(0x40 + random() % 0x40));
        for (uint32_t n = random() % 200; n > 0; --n) {
            writer.raw_u8(static_cast<uint8_t>(random()));
        }
        writer.finish(client.next);
        client.raw.send(text_of(out));
        EXPECT_NE(client.raw.read_all().find("QPX1"), std::string::npos);  // REFUSE
    }
    EXPECT_TRUE(server.reaches("protocol_errors_total", 50));
    EXPECT_TRUE(server.reaches("clients", 0));
}

TEST(Hostile, ASlowGreetingEndsInTime) {
    ServerOptions options;
    options.handshake_timeout = 1s;
    RunningServer server(options);
    RawClient silent(server.port()), half(server.port());
    half.send(hello().substr(0, 20));
    silent.read_all();
    EXPECT_NE(half.read_all().find("the handshake took too long"), std::string::npos);
    EXPECT_TRUE(server.reaches("refused_slow_total", 2));
}

TEST(Hostile, AMessageThatIsNotFinishedEndsInTime) {
    ServerOptions options;
    options.frame_timeout = 1s;
    RunningServer server(options);
    Greeted client(server.port());
    const std::string join = frame({.type = Type::Join, .request = 1, .job = "j"}, client.next);
    client.raw.send(join.substr(0, join.size() - 1));
    EXPECT_NE(client.raw.read_all().find("begun and not completed in time"), std::string::npos);
    EXPECT_TRUE(server.reaches("stalled_frames_total", 1));
}

TEST(Hostile, OneByteAtATimeIsServed) {
    RunningServer server;
    Greeted client(server.port());
    for (char c : frame({.type = Type::Join, .request = 1, .job = "j"}, client.next)) {
        client.raw.send(std::string_view(&c, 1));
    }
    EXPECT_TRUE(server.reaches("joins_total", 1));
}

TEST(Hostile, OversizedMessagesAreRefusedBeforeTheyCome) {
    RunningServer server;
    Greeted client(server.port());
    wire::Header header;
    header.type = static_cast<wire::Type>(Type::Put);
    header.sequence = client.next;
    header.length = 1 << 30;
    std::array<std::byte, wire::header_size> bytes{};
    wire::encode_header(header, bytes);
    client.raw.send(text_of(bytes));
    EXPECT_NE(client.raw.read_all().find("1073741824"), std::string::npos);
    EXPECT_TRUE(server.reaches("oversized_total", 1));
}

// Before it joins, a client may send messages up to the size of a JOIN; a member, values.
TEST(Hostile, BeforeItJoinsAClientSendsNoLongMessage) {
    RunningServer server;
    const std::string long_name(255, 'n'), long_job(1024, 'j');
    const Message join{.type = Type::Join, .request = 1, .job = long_job, .name = long_name};
    const Bytes value(1 << 20);
    const Message put{.type = Type::Put, .request = 2, .keys = {"k"}, .value = value};
    Greeted stranger(server.port());
    stranger.raw.send(frame(put, stranger.next).substr(0, wire::header_size));
    EXPECT_NE(stranger.raw.read_all().find("at most"), std::string::npos);
    EXPECT_TRUE(server.reaches("oversized_total", 1));
    Greeted member(server.port());
    // Both at once: the PUT is allowed as soon as the JOIN has been read.
    member.raw.send(frame(join, member.next) + frame(put, member.next + 1));
    member.next += 2;
    EXPECT_TRUE(server.reaches("puts_total", 1));
    member.say({.type = Type::Leave, .request = 3});
    EXPECT_TRUE(server.reaches("members", 0));
    member.raw.send(frame(put, member.next).substr(0, wire::header_size));
    EXPECT_TRUE(server.reaches("oversized_total", 2));
}

TEST(Hostile, WhatHasBegunCountsInTheTotal) {
    constexpr size_t kBegun = 300'000;
    ServerOptions options;
    options.limits.total = 500'000;
    RunningServer server(options);
    const Bytes value(1 << 20);
    const auto begin = [&](Greeted& client) {
        client.say({.type = Type::Join, .request = 1, .job = "j"});
        client.raw.send(
            frame({.type = Type::Put, .request = 2, .keys = {"k"}, .value = value}, client.next)
                .substr(0, kBegun));
    };
    Greeted one(server.port());
    one.say({.type = Type::Join, .request = 1, .job = "j"});
    EXPECT_TRUE(server.reaches("members", 1));
    const uint64_t before = server.metric("job_bytes");
    {
        Greeted first(server.port());
        begin(first);
        for (int i = 0; i < 1000 && server.metric("job_bytes") < before + kBegun; ++i) {
            std::this_thread::sleep_for(10ms);
        }
        EXPECT_GE(server.metric("job_bytes"), before + kBegun);
        Greeted second(server.port());
        begin(second);
        EXPECT_NE(second.raw.read_all().find("--total"), std::string::npos);
        one.say({.type = Type::Put, .request = 2, .keys = {"n"}, .value = View(value).first(1)});
        EXPECT_TRUE(server.reaches("puts_total", 1)) << "what is short is served";
    }
    EXPECT_TRUE(server.reaches("members", 1));
    EXPECT_LT(server.metric("job_bytes"), before + kBegun) << "it went with its sender";
}

TEST(Hostile, AConversationCannotBePlayedBack) {
    RunningServer server;
    std::string recorded = hello();
    Greeted first(server.port());
    const std::string join =
        frame({.type = Type::Join, .request = 1, .rank = 0, .size = 1, .job = "j"}, first.next);
    first.raw.send(join);
    EXPECT_TRUE(server.reaches("joins_total", 1));
    // The same bytes on the same connection, and on another one.
    first.raw.send(join);
    EXPECT_NE(first.raw.read_all().find("replayed from another connection"), std::string::npos);
    RawClient second(server.port());
    second.send(recorded + join);
    second.read_all();
    EXPECT_TRUE(server.reaches("protocol_errors_total", 2));
    EXPECT_EQ(server.metric("joins_total"), 1u);
}

TEST(Hostile, ALongReasonEndsOnlyItsSender) {
    RunningServer server;
    GroupOptions second;
    second.rank = 1;
    second.size = 3;
    auto other = Group::join(server.url(), second);
    qpx_group_options third = QPX_GROUP_OPTIONS_INIT;
    third.rank = 2;
    third.size = 3;
    qpx_group* in_c = nullptr;
    ASSERT_EQ(qpx_group_join(server.url().c_str(), &third, &in_c), 0) << qpx_last_error();
    Greeted client(server.port());
    client.say({.type = Type::Join, .request = 1, .rank = 0, .size = 3, .job = "job"});
    EXPECT_TRUE(server.reaches("members", 3));
    std::string text;
    while (text.size() < 70'000) {
        text += "\xc3\xbc";
    }
    Bytes refusal;
    wire::FrameWriter writer(refusal, wire::Type::Refuse);
    writer.text(wire::tag::reason_text, text);
    writer.finish(client.next);
    client.raw.send(text_of(refusal));
    EXPECT_TRUE(server.reaches("failures_total", 1));
    std::string reason;
    for (int i = 0; i < 1000 && reason.empty(); ++i) {
        const auto event = other->poll_event();
        reason = event && event->kind == GroupEvent::Kind::Failed ? event->reason : "";
        std::this_thread::sleep_for(event ? 0ms : 10ms);
    }
    EXPECT_EQ(reason, "said: " + text.substr(0, 1024));
    // A structure of C has less space, in which the text must be whole characters.
    qpx_group_event event = {};
    for (int i = 0; i < 1000 && event.kind != QPX_FAILED; ++i) {
        const int some = qpx_group_poll_event(in_c, &event);
        ASSERT_GE(some, 0) << qpx_last_error();
        std::this_thread::sleep_for(some != 0 ? 0ms : 10ms);
    }
    EXPECT_EQ(event.reason, "said: " + text.substr(0, 248));
    other->put("k", "still served");
    EXPECT_EQ(server.metric("failures_total"), 1u);
    qpx_group_free(in_c);
}

TEST(Hostile, WhoDoesNotReadIsEnded) {
    ServerOptions options;
    options.limits.client_output = 4 << 20;
    RunningServer server(options);
    Greeted client(server.port());
    client.say({.type = Type::Join, .request = 1, .job = "j"});
    const Bytes value(1 << 20);
    client.say({.type = Type::Put, .request = 2, .keys = {"k"}, .value = value});
    for (uint32_t request = 3; request < 200; ++request) {
        client.say({.type = Type::Get, .request = request, .keys = {"k"}});
    }
    EXPECT_TRUE(server.reaches("slow_readers_total", 1));
}

/// A member with a small receive buffer and a megabyte of answers that it does not read.
struct Unreading : Greeted {
    explicit Unreading(const RunningServer& server) : Greeted(server.port(), 16 << 10) {
        const Bytes value(1 << 20);
        say({.type = Type::Join, .request = 1, .job = "job"});
        say({.type = Type::Put, .request = 2, .keys = {"k"}, .value = value});
        say({.type = Type::Get, .request = 3, .keys = {"k"}});
        EXPECT_TRUE(server.reaches("gets_total", 1));
    }
};

/// Makes the kernel drop all that arrives, as if the socket's host had died.
void die(const Greeted& client) {
    sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
    const sock_fprog program = {1, &drop};
    EXPECT_EQ(setsockopt(client.raw.fd(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program),
              0);
}

ServerOptions impatient() {
    ServerOptions options;
    options.keepalive = 1s;
    return options;
}

TEST(Silence, WhoDoesNotReadIsAlive) {
    RunningServer server(impatient());
    Unreading client(server);
    std::this_thread::sleep_for(7s);
    EXPECT_EQ(server.metric("failures_total"), 0u);
    EXPECT_GE(client.raw.read(200'000).size(), 200'000u);
}

TEST(Silence, AHostThatDiesIsFound) {
    RunningServer server(impatient());
    auto other = Group::join(server.url());
    Unreading unreading(server);
    Greeted reading(server.port()), idle(server.port());
    for (Greeted* client : {&reading, &idle}) {
        client->say({.type = Type::Join, .request = 1, .job = client == &idle ? "idle" : "job"});
    }
    EXPECT_TRUE(server.reaches("members", 4));
    for (Greeted* client : {&reading, &idle, static_cast<Greeted*>(&unreading)}) {
        die(*client);
    }
    Group::join(server.url())->leave();  // events that `reading` does not acknowledge
    EXPECT_TRUE(server.reaches("failures_total", 3));
    other->put("k", "still served");
}

TEST(Hostile, TooManyClientsAreTurnedAwayWithAReason) {
    ServerOptions options;
    options.limits.max_clients = 2;
    RunningServer server(options);
    auto a = Group::join(server.url()), b = Group::join(server.url());
    try {
        Group::join(server.url());
        ADD_FAILURE() << "a third client got in";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::Refused);
        EXPECT_NE(std::string(error.what()).find("--max-clients"), std::string::npos);
    }
    a.reset();
    EXPECT_TRUE(server.reaches("clients", 1));
    Group::join(server.url());
}

TEST(Hostile, OneAddressCannotTakeAllPlaces) {
    ServerOptions options;
    options.limits.max_clients_per_address = 1;
    RunningServer server(options);
    auto a = Group::join(server.url());
    EXPECT_THROW(Group::join(server.url()), Error);
    EXPECT_EQ(server.metric("refused_busy_total"), 1u);
}

TEST(Hostile, TheLastPlacesAreForAddressesThatHoldFew) {
    ServerOptions options;
    options.limits.max_clients = 16;
    RunningServer server(options);
    std::vector<std::unique_ptr<Group>> all;
    std::string why;
    for (int i = 0; i < 16 && why.empty(); ++i) {
        try {
            all.push_back(Group::join(server.url()));
        } catch (const Error& error) {
            why = error.what();
        }
    }
    EXPECT_EQ(all.size(), 14u);
    EXPECT_NE(why.find("connections are from your address"), std::string::npos) << why;
    EXPECT_EQ(server.metric("refused_share_total"), 1u);
    all.pop_back();
    EXPECT_TRUE(server.reaches("clients", 13));
    EXPECT_NO_THROW(Group::join(server.url()));
}

TEST(Hostile, WhoJoinsNoJobLosesItsPlace) {
    ServerOptions options;
    options.join_timeout = 1s;
    RunningServer server(options);
    auto member = Group::join(server.url());
    Greeted idle(server.port());
    EXPECT_NE(idle.raw.read_all().find("joined no job in time"), std::string::npos);
    EXPECT_TRUE(server.reaches("refused_idle_total", 1));
    // Requests do not extend the time of a client that has joined no job. A member has no limit.
    // After leaving, the time starts again.
    Greeted asking(server.port());
    for (uint32_t request = 1; request < 4; ++request) {
        asking.say({.type = Type::Status, .request = request});
    }
    EXPECT_NE(asking.raw.read_all().find("joined no job in time"), std::string::npos);
    member->put("k", "v");
    member->leave();
    EXPECT_TRUE(server.reaches("refused_idle_total", 3));
}

TEST(Http, MetricsStatusAndNonsense) {
    RunningServer server;
    auto group = Group::join(server.url("my job"));
    EXPECT_EQ(server.metric("members"), 1u);
    const std::string metrics = server.http("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_NE(metrics.find("# TYPE qpxd_joins_total counter\nqpxd_joins_total 1\n"),
              std::string::npos);
    EXPECT_NE(server.http("GET /status HTTP/1.0\r\n\r\n").find("\"job\": \"my job\""),
              std::string::npos);
    EXPECT_NE(server.http("GET /other HTTP/1.0\r\n\r\n").find("404"), std::string::npos);
    EXPECT_NE(server.http("nonsense\r\n\r\n").find("400"), std::string::npos);
    EXPECT_EQ(server.http(std::string(20'000, 'x')), "");
    EXPECT_EQ(server.metric("http_refused_total"), 2u);
}

std::chrono::nanoseconds processor_time() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

TEST(Http, WithoutDescriptorsAcceptingPauses) {
    std::atomic<int> warnings = 0;
    ServerOptions options;
    options.log = [&](LogLevel level, const std::string& text) {
        warnings += level == LogLevel::Warning && text.find("ulimit -n") != std::string::npos;
    };
    RunningServer server(options);
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    const rlimit before = limit;
    const int free_descriptor = ::dup(STDERR_FILENO);
    ::close(free_descriptor);
    limit.rlim_cur = static_cast<rlim_t>(free_descriptor) + 1;  // for the client's socket
    setrlimit(RLIMIT_NOFILE, &limit);
    auto answer =
        std::async(std::launch::async, [&] { return server.http("GET /status HTTP/1.0\r\n\r\n"); });
    const auto begun = processor_time();
    std::this_thread::sleep_for(500ms);
    const auto used = processor_time() - begun;
    setrlimit(RLIMIT_NOFILE, &before);
    EXPECT_LT(used, 100ms);
    EXPECT_GE(warnings, 1);
    EXPECT_NE(answer.get().find("200 OK"), std::string::npos);
    Group::join(server.url())->put("k", "clients are accepted again, too");
}

TEST(Http, StatusComesOverTheServicesPortToo) {
    RunningServer server;
    auto group = Group::join(server.url("j"));
    EXPECT_NE(fetch_status(parse_url(server.url()), {}).find("\"job\": \"j\""), std::string::npos);
}

Security psk(const std::string& identity, uint8_t key) {
    Security security;
    security.mode = Security::Mode::Psk;
    security.psk.push_back({identity, std::vector<std::byte>(32, static_cast<std::byte>(key))});
    return security;
}

ErrorCode join_error(const std::string& url, const Security& security) {
    GroupOptions options;
    options.security = security;
    options.timeout = 5s;
    try {
        Group::join(url, options)->put("k", "v");
    } catch (const Error& error) {
        return error.code();
    }
    ADD_FAILURE() << "got in";
    return {};
}

TEST(Secured, PresharedKeysAndWhoHasNone) {
    ServerOptions options;
    options.security = psk("alice", 1);
    options.security.psk.push_back(psk("bob", 2).psk.front());
    options.authorize = parse_rules("alice jobs-of-alice*  # and no other\nbob *\n");
    RunningServer server(options);
    GroupOptions alice;
    alice.security = psk("alice", 1);
    auto group = Group::join(server.url("jobs-of-alice-7"), alice);
    EXPECT_TRUE(group->secure());
    group->put("k", std::vector<std::byte>(300'000, std::byte{5}));
    EXPECT_EQ(group->get("k").size(), 300'000u);
    EXPECT_EQ(join_error(server.url("x"), psk("alice", 1)), ErrorCode::Auth);
    EXPECT_EQ(join_error(server.url("jobs-of-alice"), psk("alice", 9)), ErrorCode::Auth);
    EXPECT_EQ(join_error(server.url("jobs-of-alice"), psk("mallory", 1)), ErrorCode::Auth);
    EXPECT_NE(join_error(server.url("jobs-of-alice"), {}), ErrorCode::Timeout);
    EXPECT_THROW(fetch_status(parse_url(server.url()), psk("alice", 1)), Error);
    EXPECT_NE(fetch_status(parse_url(server.url()), psk("bob", 2)).find("jobs-of-alice-7"),
              std::string::npos);
}

TEST(Secured, ASecuredMemberDoesNotTalkInClear) {
    RunningServer server;
    EXPECT_EQ(join_error(server.url(), psk("alice", 1)), ErrorCode::Auth);
    EXPECT_EQ(server.metric("joins_total"), 0u);
}

TEST(Secured, AllToAllThroughTls) {
    ServerOptions options;
    options.security = psk("all", 3);
    RunningServer server(options);
    for_each_rank(6, [&](uint32_t rank) {
        GroupOptions member;
        member.rank = rank;
        member.size = 6;
        member.security = psk("all", 3);
        auto group = Group::join(server.url(), member);
        std::vector<RankBytes> mine;
        for (uint32_t peer = 0; peer < 6; ++peer) {
            mine.push_back({peer, std::vector<std::byte>(200'000, static_cast<std::byte>(rank))});
        }
        EXPECT_EQ(group->exchange_bytes(mine).items.size(), 6u);
        group->leave();
    });
}

TEST(Rules, WrongLinesAreNamed) {
    EXPECT_THROW(parse_rules("alice\n"), Error);
    try {
        parse_rules("# rules\nalice job more\n");
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("line 2"), std::string::npos);
    }
    EXPECT_FALSE(parse_rules("")("alice", "job"));
}

}  // namespace
}  // namespace qpx::service
