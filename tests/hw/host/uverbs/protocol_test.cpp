// SPDX-License-Identifier: BSD-2-Clause
// Messages: those that the card accepts, and those that end the connection.
#include <sys/mman.h>

#include <algorithm>
#include <iterator>
#include <string_view>
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

// A card may be older or newer than the preload library of its clients: a version must never change
// its meaning.
TEST(UverbsProtocol, NumbersAndSizesOfItsVersionStay) {
    EXPECT_EQ(DINGO_UVERBS_VERSION, 2);
    const std::vector<std::uint32_t> types{
        DINGO_UVERBS_HELLO,   DINGO_UVERBS_IOCTL,        DINGO_UVERBS_WRITE,
        DINGO_UVERBS_MMAP,    DINGO_UVERBS_SYSFS,        DINGO_UVERBS_RDMA_CM,
        DINGO_UVERBS_NETLINK, DINGO_UVERBS_RDMA_CM_JOIN, DINGO_UVERBS_RDMA_CM_ROUTES};
    EXPECT_EQ(types, (std::vector<std::uint32_t>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
    const std::vector<std::uint32_t> replies{DINGO_UVERBS_DONE, DINGO_UVERBS_NEED_SHARING,
                                             DINGO_UVERBS_NEED_FDS};
    EXPECT_EQ(replies, (std::vector<std::uint32_t>{1, 2, 3}));
    const std::vector<std::uint32_t> kinds{DINGO_UVERBS_FD_OTHER, DINGO_UVERBS_FD_COMP,
                                           DINGO_UVERBS_FD_ASYNC};
    EXPECT_EQ(kinds, (std::vector<std::uint32_t>{0, 1, 2}));
    const std::vector<std::uint32_t> flags{DINGO_UVERBS_SHARED, DINGO_UVERBS_FAULT,
                                           DINGO_UVERBS_FDS,    DINGO_UVERBS_BADF,
                                           DINGO_UVERBS_TOKEN,  DINGO_UVERBS_GPU};
    EXPECT_EQ(flags, (std::vector<std::uint32_t>{1, 2, 4, 8, 16, 32}));
    const std::vector<std::uint32_t> gpus{DINGO_UVERBS_GPU_IPC, DINGO_UVERBS_GPU_DESCRIPTOR};
    EXPECT_EQ(gpus, (std::vector<std::uint32_t>{1, 2}));
    const std::vector<std::uint32_t> limits{DINGO_UVERBS_MAX_MESSAGE, DINGO_UVERBS_MAX_FDS,
                                            DINGO_UVERBS_MAX_SEGMENTS, DINGO_UVERBS_MAX_ARGUMENTS,
                                            DINGO_UVERBS_MAX_NEED_FDS};
    EXPECT_EQ(limits, (std::vector<std::uint32_t>{81920, 32, 30, 32, 4}));
    const std::vector<std::uint32_t> bits{DINGO_UVERBS_SEGMENT_FILE, DINGO_UVERBS_IDLE_HERE,
                                          DINGO_UVERBS_IDLE_LEFT, DINGO_UVERBS_CM_LAST};
    EXPECT_EQ(bits, (std::vector<std::uint32_t>{2, 1, 2, UINT32_MAX}));
    const std::vector<std::size_t> sizes{
        sizeof(dingo_uverbs_request),   sizeof(dingo_uverbs_reply),
        sizeof(dingo_uverbs_segment),   sizeof(dingo_uverbs_fixup),
        sizeof(dingo_uverbs_cm_routes), sizeof(dingo_uverbs_cm_prefix),
        sizeof(dingo_uverbs_gpu),       sizeof(dingo_uverbs_argument),
        sizeof(dingo_uverbs_result)};
    EXPECT_EQ(sizes, (std::vector<std::size_t>{48, 80, 32, 24, 16, 20, 104, 16, 12}));
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
        {"type", [](Request&, Bytes& b, std::vector<int>&) { b[4] = std::byte{99}; }},
        {"flags", [](Request&, Bytes& b, std::vector<int>&) { b[12] = std::byte{0x80}; }},
        {"flag of another type",
         [](Request&, Bytes& b, std::vector<int>&) { b[12] = std::byte{DINGO_UVERBS_TOKEN}; }},
        {"segments", [](Request&, Bytes& b, std::vector<int>&) { b[32] = std::byte{1}; }},
        {"many segments", [](Request&, Bytes& b, std::vector<int>&) { b[32] = std::byte{31}; }},
        {"payload length", [](Request&, Bytes& b, std::vector<int>&) { b[36] = std::byte{77}; }},
        {"arguments", [](Request&, Bytes& b, std::vector<int>&) { b[40] = std::byte{1}; }},
        {"many arguments",
         [](Request&, Bytes& b, std::vector<int>&) {
             b[40] = std::byte{DINGO_UVERBS_MAX_ARGUMENTS + 1};
             b.resize(b.size() + (DINGO_UVERBS_MAX_ARGUMENTS + 1) * sizeof(dingo_uverbs_argument));
         }},
        {"argument's length",
         [](Request&, Bytes& b, std::vector<int>&) {
             b[40] = std::byte{1};
             append(b, dingo_uverbs_argument{4096, 1, 0});
         }},
        {"argument's end",
         [](Request&, Bytes& b, std::vector<int>&) {
             b[40] = std::byte{1};
             append(b, dingo_uverbs_argument{UINT64_MAX, 8, 0});
             b.resize(b.size() + 8);
         }},
        {"argument's flags",
         [](Request&, Bytes& b, std::vector<int>&) {
             b[40] = std::byte{1};
             append(b, dingo_uverbs_argument{4096, 0, 2});
         }},
        {"rooms",
         [](Request&, Bytes& b, std::vector<int>&) {
             b[40] = std::byte{2};
             append(b, dingo_uverbs_argument{4096, DINGO_UVERBS_MAX_MESSAGE, DINGO_UVERBS_ROOM});
             append(b, dingo_uverbs_argument{4096, 1, DINGO_UVERBS_ROOM});
         }},
        {"reserved", [](Request&, Bytes& b, std::vector<int>&) { b[44] = std::byte{1}; }},
        {"surplus", [](Request&, Bytes& b, std::vector<int>&) { b.resize(b.size() + 1); }},
        {"short", [](Request&, Bytes& b, std::vector<int>&) { b.resize(20); }},
        {"too long", [](Request&, Bytes& b, std::vector<int>&) { b.resize(90'000); }},
        {"too many descriptors",
         [](Request&, Bytes&, std::vector<int>& fds) { fds.assign(40, 0); }},
        {"hello with payload",
         [](Request& r, Bytes& b, std::vector<int>& fds) {
             r.header.type = DINGO_UVERBS_HELLO;
             r.payload.resize(8);
             b = r.bytes();
             fds.push_back(0);
         }},
        {"whose end is not read",
         [](Request& r, Bytes& b, std::vector<int>&) {
             r.payload.resize(DINGO_UVERBS_MAX_MESSAGE - sizeof r.header);
             b = r.bytes();
             b.resize(DINGO_UVERBS_MAX_MESSAGE + 8);
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

// The client prints the mismatch as well; otherwise it would only see that the card is gone.
TEST(UverbsProtocol, AClientOfAnotherVersionIsToldOurs) {
    RunningCard card;
    Client client(card.directory);
    Request request(DINGO_UVERBS_MMAP);
    request.header.version = 9;
    const Answer answer = client.send(request);
    ASSERT_FALSE(answer.closed);
    EXPECT_EQ(answer.header.version, std::uint32_t{DINGO_UVERBS_VERSION});
    EXPECT_EQ(answer.header.result, -EPROTO);
    EXPECT_TRUE(card.wait_for_clients(0));
    EXPECT_EQ(card.stats()["host"]["malformed"], 1);
}

TEST(UverbsProtocol, MemoryOfAGpuThatMakesNoSenseClosesTheConnection) {
    RunningCard card;
    using Change = void (*)(Request&, dingo_uverbs_gpu&, std::vector<int>&);
    const std::vector<std::pair<const char*, Change>> changes{
        {"kind", [](Request&, dingo_uverbs_gpu& g, std::vector<int>&) { g.kind = 3; }},
        {"pieces", [](Request&, dingo_uverbs_gpu& g, std::vector<int>&) { g.num_pieces = 1; }},
        {"no size", [](Request&, dingo_uverbs_gpu& g, std::vector<int>&) { g.size = 0; }},
        {"size", [](Request&, dingo_uverbs_gpu& g, std::vector<int>&) { g.size = UINT64_MAX; }},
        {"offset", [](Request&, dingo_uverbs_gpu& g, std::vector<int>&) { g.offset = g.size; }},
        {"no descriptor", [](Request&, dingo_uverbs_gpu& g,
                             std::vector<int>&) { g.kind = DINGO_UVERBS_GPU_DESCRIPTOR; }},
        {"descriptor", [](Request&, dingo_uverbs_gpu&, std::vector<int>& fds) { fds = {0}; }},
        {"segments too",
         [](Request& r, dingo_uverbs_gpu&, std::vector<int>& fds) {
             r.segments.push_back({.va = 0, .length = 4096, .offset = 0, .fd = 0, .flags = 0});
             fds = {0};
         }},
        {"shared too", [](Request& r, dingo_uverbs_gpu&,
                          std::vector<int>&) { r.header.flags |= DINGO_UVERBS_SHARED; }},
        {"mmap", [](Request& r, dingo_uverbs_gpu&,
                    std::vector<int>&) { r.header.type = DINGO_UVERBS_MMAP; }},
        {"short", [](Request& r, dingo_uverbs_gpu&, std::vector<int>&) { r.payload.resize(1); }},
    };
    for (const auto& [name, change] : changes) {
        Client client(card.directory);
        Request request(DINGO_UVERBS_WRITE);
        request.header.flags = DINGO_UVERBS_GPU;
        request.payload.resize(64);
        dingo_uverbs_gpu gpu{};
        gpu.kind = DINGO_UVERBS_GPU_IPC;
        gpu.size = 4096;
        std::vector<int> fds;
        change(request, gpu, fds);
        Bytes bytes = request.bytes();
        Bytes with;
        append(with, gpu);
        with.resize(std::string_view(name) == "short" ? 50 : with.size());
        bytes.insert(bytes.begin() + sizeof(dingo_uverbs_request), with.begin(), with.end());
        EXPECT_TRUE(client.send_bytes(bytes, fds).closed) << name;
    }
    EXPECT_EQ(card.stats()["host"]["malformed"], changes.size());
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
    ASSERT_TRUE(card.wait_at_gate());
    for (int i = 0; i < 3; ++i) {  // all of them are queued when the card reads
        Request hello(DINGO_UVERBS_HELLO);
        hello.payload.resize(1);
        hostile.send_bytes_without_answer(hello.bytes(), theirs.get());
    }
    card.open_gate();
    ASSERT_TRUE(card.wait_for_clients(1));
    EXPECT_EQ(card.stats()["host"]["malformed"], 1) << "a second one came, too";
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
    // Writing to another kind of socket could block.
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
    const auto pages = [](std::size_t count) {
        std::vector<dingo_uverbs_segment> segments;
        for (std::uint64_t n = 0; n < count; ++n) {
            segments.push_back({4096 * n, 4096, 4096 * n, 0, 0});
        }
        return segments;
    };
    for (const std::size_t count : {1U, 2U, 30U, 31U}) {  // adjacent segments
        Client client(card.directory);
        Request request(DINGO_UVERBS_WRITE);
        request.header.flags = DINGO_UVERBS_SHARED;
        request.segments = pages(count);
        request.fds = {fd.get()};
        EXPECT_EQ(client.send(request).closed, count > DINGO_UVERBS_MAX_SEGMENTS) << count;
    }
}

// A card keeps no descriptors that it has not requested.
TEST(UverbsProtocol, AnAnswerToNeedFdsHasAtMostFour) {
    RunningCard card;
    Client client(card.directory);
    const std::string_view path = "class/known";
    Request request(DINGO_UVERBS_SYSFS);
    std::transform(path.begin(), path.end(), std::back_inserter(request.payload),
                   [](char c) { return static_cast<std::byte>(c); });
    for (std::size_t fds = 0; fds <= 6; ++fds) {
        request.fds.assign(fds, 0);
        request.header.flags = DINGO_UVERBS_FDS;
        EXPECT_EQ(client.send(request).result(), fds <= 4 ? 0 : -EINVAL) << fds;
        request.header.flags = DINGO_UVERBS_FAULT;
        EXPECT_EQ(client.send(request).result(), fds == 0 ? 0 : -EINVAL) << fds;
    }
}

TEST(UverbsProtocol, DescriptorsAreAskedForByTheirNumbers) {
    RunningCard card;
    Client client(card.directory);
    Verbs verbs(client);
    ASSERT_EQ(verbs.get_context(), 0);
    const auto ask = [&](std::int32_t number, std::uint32_t flags, std::vector<int> fds) {
        auto cmd = Verbs::zeroed<ib_uverbs_create_cq>();
        cmd.cqe = 10;
        cmd.comp_channel = number;
        std::array<std::byte, 512> room{};
        cmd.response = reinterpret_cast<std::uintptr_t>(room.data());
        Request request(DINGO_UVERBS_WRITE);
        request.payload = Client::classic(IB_USER_VERBS_CMD_CREATE_CQ, cmd, room.size());
        append(request.payload, dingo_create_cq_req{});
        const auto words = static_cast<std::uint16_t>(request.payload.size() / 4);
        std::memcpy(request.payload.data() + 4, &words, sizeof words);
        request.header.flags = flags;
        request.fds = std::move(fds);
        return client.send(request);
    };
    for (const std::int32_t number : {0, 5, INT32_MAX}) {
        const Answer answer = ask(number, 0, {});
        EXPECT_EQ(answer.header.type, std::uint32_t{DINGO_UVERBS_NEED_FDS});
        EXPECT_EQ(answer.header.num_need_fds, 1U);
        EXPECT_EQ(answer.header.need_fds[0], number);
    }
    EXPECT_GT(ask(-1, 0, {}).result(), 0) << "no channel";
    EXPECT_EQ(ask(5, DINGO_UVERBS_FDS, {}).result(), -EBADF);
    EXPECT_EQ(ask(5, DINGO_UVERBS_FDS | DINGO_UVERBS_BADF, {}).result(), -EBADF);
    EXPECT_EQ(ask(5, DINGO_UVERBS_FDS, {0}).result(), -EBADF) << "no channel of ours";
    const int channel = verbs.channel();
    ASSERT_GE(channel, 0);
    EXPECT_EQ(ask(5, DINGO_UVERBS_FDS | DINGO_UVERBS_BADF, {channel}).result(), -EBADF);
    EXPECT_GT(ask(5, DINGO_UVERBS_FDS, {channel}).result(), 0) << "whatever its number there";
    ::close(channel);
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
        bytes[44] = std::byte{1};
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
