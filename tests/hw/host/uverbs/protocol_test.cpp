// SPDX-License-Identifier: BSD-2-Clause
//
// Messages: what the card takes, and what ends the connection.
#include <sys/mman.h>

#include <thread>

#include "running_card.h"

namespace dingo::uverbs::test {
namespace {

UniqueFd sealed_memfd(std::size_t size, bool seal = true) {
    UniqueFd fd(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    EXPECT_EQ(::ftruncate(fd.get(), static_cast<off_t>(size)), 0);
    if (seal) {
        EXPECT_EQ(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
    }
    return fd;
}

TEST(UverbsProtocol, HelloTellsTheCardsPidAndDeviceNumber) {
    RunningCard card;
    Client client(card.directory, false);
    const Answer answer = client.hello();
    EXPECT_EQ(answer.result(), 0);
    EXPECT_EQ(answer.header.card_pid, static_cast<std::uint32_t>(::getpid()));
    EXPECT_EQ(answer.header.rdev, 231u << 20 | 195u);
    EXPECT_EQ(card.stats()["clients"][0]["pid"], ::getpid());
}

TEST(UverbsProtocol, RequestsBeforeHelloAreRefusedAndTheConnectionStays) {
    RunningCard card;
    Client client(card.directory, false);
    Verbs verbs(client);
    EXPECT_EQ(verbs.get_context(), -EACCES);
    EXPECT_EQ(card.stats()["host"]["failed"], 1);
    EXPECT_EQ(client.hello().result(), 0);
    EXPECT_EQ(verbs.get_context(), 0);
}

TEST(UverbsProtocol, EachMalformedFieldClosesTheConnectionAndIsCounted) {
    RunningCard card;
    using Change = void (*)(Request&, Bytes&, std::vector<int>&);
    const std::vector<std::pair<const char*, Change>> changes{
        {"version", [](Request&, Bytes& b, std::vector<int>&) { b[0] = std::byte{9}; }},
        {"type", [](Request&, Bytes& b, std::vector<int>&) { b[4] = std::byte{99}; }},
        {"flags", [](Request&, Bytes& b, std::vector<int>&) { b[12] = std::byte{0x80}; }},
        {"flag of another type",
         [](Request&, Bytes& b, std::vector<int>&) { b[12] = std::byte{DINGO_UVERBS_TOKEN}; }},
        {"segments", [](Request&, Bytes& b, std::vector<int>&) { b[32] = std::byte{1}; }},
        {"many segments", [](Request&, Bytes& b, std::vector<int>&) { b[32] = std::byte{31}; }},
        {"payload length", [](Request&, Bytes& b, std::vector<int>&) { b[36] = std::byte{77}; }},
        {"surplus", [](Request&, Bytes& b, std::vector<int>&) { b.resize(b.size() + 1); }},
        {"short", [](Request&, Bytes& b, std::vector<int>&) { b.resize(20); }},
        {"too long", [](Request&, Bytes& b, std::vector<int>&) { b.resize(70'000); }},
        {"too many descriptors",
         [](Request&, Bytes&, std::vector<int>& fds) { fds.assign(40, 0); }},
        {"hello without memory",
         [](Request& r, Bytes& b, std::vector<int>&) {
             r.header.type = DINGO_UVERBS_HELLO;
             b = r.bytes();
         }},
        {"hello with payload",
         [](Request& r, Bytes& b, std::vector<int>& fds) {
             r.header.type = DINGO_UVERBS_HELLO;
             r.payload.resize(8);
             b = r.bytes();
             fds.push_back(0);
         }},
    };
    std::uint64_t malformed = 0;
    for (const auto& [name, change] : changes) {
        Client client(card.directory);
        Request request(DINGO_UVERBS_MMAP);
        Bytes bytes = request.bytes();
        std::vector<int> fds;
        change(request, bytes, fds);
        EXPECT_TRUE(client.send_bytes(bytes, fds).closed) << name;
        EXPECT_TRUE(card.wait_for_clients(0)) << name;
        EXPECT_EQ(card.stats()["host"]["malformed"], ++malformed) << name;
    }
}

TEST(UverbsProtocol, NothingIsTakenBehindWhatClosedTheConnection) {
    RunningCard card;
    std::array<int, 2> pair{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()), 0);
    const UniqueFd mine(pair[0]);
    const UniqueFd theirs(pair[1]);
    Client honest(card.directory);
    Client hostile(card.directory);
    card.close_gate();
    Request gate(DINGO_UVERBS_SYSFS);
    const auto path = std::as_bytes(std::span(std::string_view(RunningCard::kGate)));
    gate.payload.assign(path.begin(), path.end());
    honest.send_bytes_without_answer(gate.bytes(), theirs.get());
    for (int i = 0; i < 3; ++i) {  // all of them are there when the card looks
        hostile.send_bytes_without_answer(Request(DINGO_UVERBS_HELLO).bytes(), theirs.get());
    }
    card.open_gate();
    ASSERT_TRUE(card.wait_for_clients(1));
    EXPECT_EQ(card.stats()["host"]["malformed"], 1) << "a second HELLO brings no memory";
}

TEST(UverbsProtocol, MessageWithoutReplySocketOrWithOneThatIsNoSocketClosesTheConnection) {
    RunningCard card;
    {
        Client client(card.directory);
        client.send_bytes(Request(DINGO_UVERBS_MMAP).bytes(), {}, false);
        EXPECT_TRUE(card.wait_for_clients(0));
    }
    Client client(card.directory);
    const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    client.send_bytes(Request(DINGO_UVERBS_MMAP).bytes(), {null.get()}, false);
    EXPECT_TRUE(card.wait_for_clients(0));
    EXPECT_EQ(card.stats()["host"]["malformed"], 2);
    // Writing to one of another kind could wait.
    const UniqueFd udp(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ASSERT_TRUE(bool(udp));
    Client other(card.directory);
    other.send_bytes(Request(DINGO_UVERBS_MMAP).bytes(), {udp.get()}, false);
    EXPECT_TRUE(card.wait_for_clients(0));
    EXPECT_EQ(card.stats()["host"]["malformed"], 3);
}

TEST(UverbsProtocol, StatisticsWriteAddressesAsPeopleDo) {
    RunningCard card;
    const auto gids = card.stats()["port"]["gids"];
    EXPECT_EQ(gids["1"], "10.77.0.1");
    EXPECT_EQ(std::string(gids["0"]).substr(0, 6), "fe80::");
}

TEST(UverbsAttachment, HearsOfNothingAfterItsEnd) {
    model::register_model_engine();
    Driver driver{DriverConfig{}};
    auto ends = make_loop_pair();
    EngineConfig config;
    config.memory_doorbells = true;
    Card card("model", config, driver, *ends.first);
    driver.start(card);
    const std::string directory = fresh_directory();
    {
        const UverbsAttachment attachment({.directory = directory, .share = false, .number = 0},
                                          driver);
        EXPECT_TRUE(bool(driver.on_port_event));
    }
    EXPECT_FALSE(bool(driver.on_port_event));
    card.set_link(false);
    EXPECT_TRUE(driver.poll(1));
    card.set_frame_tap(nullptr);
    std::filesystem::remove_all(directory);
}

TEST(UverbsProtocol, SegmentsThatOverlapOrAreOddCloseTheConnection) {
    RunningCard card;
    const UniqueFd fd = sealed_memfd(1 << 16);
    const std::vector<std::vector<dingo_uverbs_segment>> bad{
        {{4096, 8192, 0, 0, 0}, {8192, 4096, 0, 0, 0}},
        {{4096, 0, 0, 0, 0}},
        {{4097, 4096, 0, 0, 0}},
        {{4096, 4095, 0, 0, 0}},
        {{4096, 4096, 1, 0, 0}},
        {{4096, 4096, 0, 1, 0}},
        {{4096, 4096, 0, 0, 1}},
        {{UINT64_MAX - 4095, 4096, 0, 0, 0}},
        {{4096, 4096, std::uint64_t{1} << 63, 0, 0}},
    };
    for (const auto& segments : bad) {
        Client client(card.directory);
        Request request(DINGO_UVERBS_WRITE);
        request.segments = segments;
        request.fds = {fd.get()};
        EXPECT_TRUE(client.send(request).closed) << segments[0].va;
    }
}

TEST(UverbsProtocol, SharedMemoryThatCanShrinkOrIsTooShortIsRefused) {
    RunningCard card;
    Client client(card.directory);
    Verbs verbs(client);
    ASSERT_EQ(verbs.get_context(), 0);
    ASSERT_EQ(verbs.alloc_pd(), 0);
    const std::uint32_t pd = verbs.handle;
    const auto reg = [&](const UniqueFd& fd, std::uint64_t offset) {
        void* const at =
            ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        auto cmd = Verbs::zeroed<ib_uverbs_reg_mr>();
        std::array<std::uint32_t, 3> resp{};
        cmd.response = reinterpret_cast<std::uintptr_t>(&resp);
        cmd.start = cmd.hca_va = reinterpret_cast<std::uintptr_t>(at);
        cmd.length = 8192;
        cmd.pd_handle = pd;
        cmd.access_flags = 1;
        Request r(DINGO_UVERBS_WRITE);
        r.payload = Client::classic(IB_USER_VERBS_CMD_REG_MR, cmd, sizeof resp);
        EXPECT_EQ(client.send(r).header.type, std::uint32_t{DINGO_UVERBS_NEED_SHARING});
        r.header.flags = DINGO_UVERBS_SHARED;
        r.segments.push_back({cmd.start, 8192, offset, 0, 0});
        r.fds = {fd.get()};
        const int result = client.send(r).result();
        ::munmap(at, 8192);
        return result;
    };
    EXPECT_EQ(reg(sealed_memfd(8192, false), 0), -EINVAL);
    EXPECT_EQ(reg(sealed_memfd(8192), 4096), -EINVAL);
    EXPECT_EQ(card.objects("mr"), 0);
    EXPECT_GT(reg(sealed_memfd(8192), 0), 0);
    EXPECT_EQ(card.objects("mr"), 1);
}

TEST(UverbsProtocol, DescriptorsDoNotLeakWhateverComes) {
    RunningCard card;
    { Client warm(card.directory); }
    ASSERT_TRUE(card.wait_for_clients(0));
    const std::size_t before = open_descriptors();
    for (int i = 0; i < 20; ++i) {
        Client client(card.directory);
        ASSERT_EQ(client.greeting, 0);
        Request request(DINGO_UVERBS_WRITE);
        request.fds.assign(31, 0);
        EXPECT_EQ(client.send(request).result(), -EINVAL);
        Bytes bytes = request.bytes();
        bytes[0] = std::byte{0};
        EXPECT_TRUE(client.send_bytes(bytes, request.fds).closed);
    }
    ASSERT_TRUE(card.wait_for_clients(0));
    EXPECT_EQ(open_descriptors(), before);
}

TEST(UverbsProtocol, ClientThatTakesNoAnswersDoesNotStopOthers) {
    RunningCard card;
    Client silent(card.directory);
    std::array<int, 2> pair{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()), 0);
    const UniqueFd mine(pair[0]);
    const UniqueFd theirs(pair[1]);
    for (int i = 0; i < 1000; ++i) {
        silent.send_bytes_without_answer(Request(DINGO_UVERBS_MMAP).bytes(), theirs.get());
    }
    Client other(card.directory);
    EXPECT_EQ(Verbs(other).get_context(), 0);
}

TEST(UverbsProtocol, SysfsTextComesFromItsOwnerAndPlainFilesAreNotThere) {
    RunningCard card;
    Client client(card.directory, false);
    const auto read = [&](std::string_view path) {
        Request r(DINGO_UVERBS_SYSFS);
        const auto bytes = std::as_bytes(std::span(path));
        r.payload.assign(bytes.begin(), bytes.end());
        const Answer a = client.send(r);
        std::array<char, 16> text{};
        if (a.result() == 0) {
            EXPECT_EQ(::read(a.fds.at(0).get(), text.data(), text.size()), 3);
        }
        return std::make_pair(a.result(), std::string(text.data()));
    };
    EXPECT_EQ(read("class/known"), std::make_pair(0, std::string("42\n")));
    EXPECT_EQ(read("class/other").first, -ENOENT);
    EXPECT_EQ(read("").first, -ENOENT);
}

TEST(UverbsProtocol, OnlySoManyClientsAreServed) {
    RunningCard card(2);
    Client a(card.directory);
    Client b(card.directory);
    Client c(card.directory, false);
    EXPECT_TRUE(c.hello().closed);
    b.close();
    ASSERT_TRUE(card.wait_for_clients(1));
    Client d(card.directory, false);
    EXPECT_EQ(d.hello().result(), 0);
}

TEST(UverbsProtocol, ThreadsOfOneConnectionAskAtTheSameTime) {
    RunningCard card;
    Client client(card.directory);
    ASSERT_EQ(Verbs(client).get_context(), 0);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            Verbs verbs(client);
            for (int i = 0; i < 100; ++i) {
                EXPECT_EQ(verbs.alloc_pd(), 0);
                EXPECT_EQ(verbs.destroy_pd(verbs.handle), 0);
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(card.objects("pd"), 0);
}

}  // namespace
}  // namespace dingo::uverbs::test
