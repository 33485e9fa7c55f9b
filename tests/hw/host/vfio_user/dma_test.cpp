// SPDX-License-Identifier: BSD-2-Clause
#include <sys/wait.h>

#include <thread>

#include "client.h"

namespace dingo::vfio_user::test {
namespace {

constexpr auto kBar0 = VFIO_PCI_BAR0_REGION_INDEX;

Bytes pattern(std::size_t size, unsigned seed) {
    Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i) {
        bytes[i] = static_cast<std::byte>((i * 131 + seed) >> 3);
    }
    return bytes;
}

TEST(VfioUserDma, MemfdIsReadAndWrittenAtItsOffset) {
    Harness h;
    h.start();
    const UniqueFd fd = make_memfd(1 << 20);
    ASSERT_EQ(h.map(0x100000, 0x40000, fd.get(), 0x10000), 0);
    const Bytes out = pattern(10000, 7);
    EXPECT_TRUE(h.server.dma_write(0x100123, out));
    Bytes file(out.size());
    ASSERT_EQ(::pread(fd.get(), file.data(), file.size(), 0x10123), 10000);
    EXPECT_EQ(file, out);
    Bytes in(out.size());
    EXPECT_TRUE(h.server.dma_read(0x100123, in));
    EXPECT_EQ(in, out);
    EXPECT_EQ(h.server.dma_pointer(0x100123, 100)[0], out[0]);
    EXPECT_EQ(h.server.dma().mapped_bytes(), 0x40000u);
}

TEST(VfioUserDma, AccessAcrossAdjacentWindowsWorksAndThroughAGapDoesNot) {
    Harness h(std::chrono::milliseconds(1));
    h.start();
    const UniqueFd a = make_memfd(4096);
    const UniqueFd b = make_memfd(4096);
    ASSERT_EQ(h.map(0x2000, 4096, b.get()), 0);
    ASSERT_EQ(h.map(0x1000, 4096, a.get()), 0);
    const Bytes out = pattern(4096, 3);
    EXPECT_TRUE(h.server.dma_write(0x1800, out));
    Bytes in(4096);
    EXPECT_TRUE(h.server.dma_read(0x1800, in));
    EXPECT_EQ(in, out);
    EXPECT_EQ(h.server.dma_pointer(0x1800, 4096), nullptr);
    EXPECT_NE(h.server.dma_pointer(0x1800, 2048), nullptr);
    EXPECT_FALSE(h.server.dma_read(0x2800, in));
    EXPECT_FALSE(h.server.dma_read(0xFFF, std::span(in).first(1)));
    EXPECT_FALSE(h.server.dma_read(~0ull, std::span(in).first(2)));
    EXPECT_EQ(h.server.stats().dma_errors, 3u);
}

TEST(VfioUserDma, UnmappedWindowIsABusError) {
    Harness h(std::chrono::milliseconds(1));
    h.start();
    const UniqueFd fd = make_memfd(8192);
    ASSERT_EQ(h.map(0, 4096, fd.get()), 0);
    ASSERT_EQ(h.map(4096, 4096, fd.get(), 4096), 0);
    std::byte b{};
    EXPECT_TRUE(h.server.dma_read(4100, {&b, 1}));
    ASSERT_EQ(h.unmap(4096, 4096), 0);
    EXPECT_EQ(h.server.dma().find(4100), nullptr);
    EXPECT_TRUE(h.server.dma_read(100, {&b, 1}));
    ASSERT_EQ(h.unmap(0, 0, kDmaUnmapAll), 0);
    EXPECT_EQ(h.server.dma().find(100), nullptr);
    EXPECT_FALSE(h.server.dma_read(100, {&b, 1}));  // requested from the client, which does not
                                                    // answer
}

// As QEMU does for a device behind an IOMMU.
TEST(VfioUserDma, PagesAreMappedOneByOneAndUnmappedByRange) {
    Harness h;
    h.start();
    const UniqueFd fd = make_memfd(std::size_t{5} * 4096);
    for (std::uint64_t page = 0; page < 5; ++page) {
        ASSERT_EQ(h.map(0x10000 + page * 4096, 4096, fd.get(), page * 4096), 0);
    }
    ASSERT_EQ(h.unmap(0x11000, 0x3000), 0);
    EXPECT_EQ(h.server.dma().size(), 2U);
    std::byte b{};
    EXPECT_TRUE(h.server.dma_read(0x10000, {&b, 1}));
    EXPECT_EQ(h.server.dma().find(0x12000), nullptr);
    EXPECT_TRUE(h.server.dma_read(0x14000, {&b, 1}));
    // The same addresses are now other memory.
    const Bytes out = pattern(4096, 7);
    ASSERT_EQ(h.map(0x12000, 4096, fd.get()), 0);
    ASSERT_TRUE(h.server.dma_write(0x12000, out));
    Bytes in(4096);
    ASSERT_TRUE(h.server.dma_read(0x10000, in));
    EXPECT_EQ(in, out);
    ASSERT_EQ(h.unmap(0, 0x100000), 0);
    EXPECT_EQ(h.server.dma().size(), 0U);
}

TEST(VfioUserDma, WithoutBusMasterEveryAccessIsABusError) {
    Harness h;
    h.start();
    const UniqueFd fd = make_memfd(4096);
    ASSERT_EQ(h.map(0, 4096, fd.get()), 0);
    h.set_command(0x2);
    std::byte b{};
    EXPECT_FALSE(h.server.dma_read(0, {&b, 1}));
    EXPECT_FALSE(h.server.dma_write(0, {&b, 1}));
    EXPECT_EQ(h.server.dma_pointer(0, 1), nullptr);
}

TEST(VfioUserDma, LastEightBytesOfACompletionAppearLast) {
    Harness h;
    h.start();
    const UniqueFd fd = make_memfd(4096);
    ASSERT_EQ(h.map(0, 4096, fd.get()), 0);
    auto* const host = static_cast<std::byte*>(
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0));
    constexpr std::uint64_t kRounds = 200'000;
    std::thread reader([&] {
        std::uint64_t phase = 0;
        while (phase < kRounds) {
            phase = std::atomic_ref(*reinterpret_cast<std::uint64_t*>(host + 56))
                        .load(std::memory_order_acquire);
            const auto first = std::atomic_ref(*reinterpret_cast<std::uint64_t*>(host))
                                   .load(std::memory_order_relaxed);
            ASSERT_GE(first, phase);
        }
    });
    for (std::uint64_t i = 1; i <= kRounds; ++i) {
        std::array<std::uint64_t, 8> cqe;
        cqe.fill(i);
        ASSERT_TRUE(h.server.dma_write(0, std::as_bytes(std::span(cqe))));
    }
    reader.join();
    ::munmap(host, 4096);
}

TEST(VfioUserDma, FileThatShrinksUnderUsClosesTheClientAndKillsNobody) {
    DmaTable::install_fault_handler();
    Harness h;
    h.start();
    const UniqueFd fd = make_memfd(1 << 20);
    ASSERT_EQ(h.map(0, 1 << 20, fd.get()), 0);
    ASSERT_EQ(::ftruncate(fd.get(), 4096), 0);
    Bytes buffer(8192);
    EXPECT_TRUE(h.server.dma_read(0x10000, buffer));
    EXPECT_EQ(buffer, Bytes(8192));
    EXPECT_TRUE(h.server.dma_write(0x20000, buffer));
    h.server.settle();
    EXPECT_FALSE(h.server.connected());
    EXPECT_EQ(h.server.stats().dma_faults, 1u);
}

/// A client thread that answers DMA messages from `memory`, as QEMU does for windows without
/// descriptor; `before_reply` is called with each request first.
struct MemoryClient {
    explicit MemoryClient(Harness& harness) : h(harness) {}

    /// Serves `messages` DMA requests, then returns.
    void serve(int messages) {
        while (messages > 0) {
            pollfd p{h.client.get(), POLLIN, 0};
            ASSERT_EQ(::poll(&p, 1, 10'000), 1);
            const auto m = h.receive();
            ASSERT_TRUE(m.has_value());
            if ((m->header.flags & kTypeMask) == kTypeReply) {
                replies.push_back(m->header.id);
                continue;
            }
            if (before_reply) {
                before_reply(*m);
            }
            if (!silent) {
                reply(*m);
            }
            --messages;
        }
    }

    void reply(const Answer& m) {
        const auto access = as<DmaAccess>(m.payload);
        Bytes payload;
        append(payload, access);
        if (m.header.command == static_cast<std::uint16_t>(Command::kDmaRead)) {
            payload.insert(payload.end(), memory.begin() + static_cast<long>(access.address),
                           memory.begin() + static_cast<long>(access.address + access.count));
        } else {
            std::copy(m.payload.begin() + sizeof access, m.payload.end(),
                      memory.begin() + static_cast<long>(access.address));
        }
        h.send_id(m.header.id, m.header.command, payload, {}, kTypeReply | flags);
    }

    Harness& h;
    Bytes memory = Bytes(4 << 20);
    std::function<void(const Answer&)> before_reply;
    std::vector<std::uint16_t> replies;
    std::uint32_t flags = 0;
    bool silent = false;
};

struct DmaByMessage : ::testing::Test {
    void SetUp() override {
        h.start();
        ASSERT_EQ(h.map(0, 4 << 20), 0);
    }
    void TearDown() override {
        if (thread.joinable()) {
            thread.join();
        }
    }
    void serve(int messages) {
        thread = std::thread([this, messages] { client.serve(messages); });
    }

    Harness h{std::chrono::milliseconds(1000)};
    MemoryClient client{h};
    std::thread thread;
};

TEST_F(DmaByMessage, ReadsAndWritesOverTheSocket) {
    const Bytes out = pattern(10000, 1);
    Bytes in(10000);
    serve(2);
    EXPECT_TRUE(h.server.dma_write(0x1003, out));
    EXPECT_TRUE(h.server.dma_read(0x1003, in));
    EXPECT_EQ(in, out);
    EXPECT_EQ(h.server.dma_pointer(0, 8), nullptr);
    EXPECT_EQ(h.server.stats().dma_messages, 2u);
}

// QEMU makes no window for a device's BAR that is not plain memory, for example an NVMe disk's.
TEST_F(DmaByMessage, WhatIsInNoWindowIsAskedForPageByPage) {
    constexpr std::uint64_t kOutside = 5 << 20;
    client.memory.resize(8 << 20);
    const Bytes out = pattern(5000, 1);
    Bytes in(out.size());
    serve(6);
    EXPECT_TRUE(h.server.dma_write(kOutside + 4000, out));
    EXPECT_TRUE(h.server.dma_read(kOutside + 4000, in));
    EXPECT_EQ(in, out);
    EXPECT_EQ(h.server.stats().dma_messages, 6u) << "two page borders on the way";
}

TEST_F(DmaByMessage, WhatTheClientDoesNotKnowEitherIsABusError) {
    client.memory.resize(8 << 20);
    client.flags = kFlagError;
    serve(1);
    std::byte b{};
    EXPECT_FALSE(h.server.dma_read(5 << 20, {&b, 1}));
    EXPECT_TRUE(h.server.connected());
    EXPECT_EQ(h.server.stats().dma_errors, 1u);
}

TEST_F(DmaByMessage, LongAccessIsCutToTheClientsTransferSize) {
    const Bytes out = pattern(3 << 20, 1);
    Bytes in(out.size());
    serve(6);
    EXPECT_TRUE(h.server.dma_write(0, out));
    EXPECT_TRUE(h.server.dma_read(0, in));
    EXPECT_EQ(in, out);
}

TEST_F(DmaByMessage, ErrorReplyIsABusError) {
    client.flags = kFlagError;
    serve(1);
    std::byte b{};
    EXPECT_FALSE(h.server.dma_read(0, {&b, 1}));
    EXPECT_TRUE(h.server.connected());
}

TEST_F(DmaByMessage, NoReplyInTimeClosesTheClientAfterTheEngineIsOut) {
    client.silent = true;
    serve(1);
    std::byte b{};
    EXPECT_FALSE(h.server.dma_read(0, {&b, 1}));
    EXPECT_TRUE(h.server.connected());
    EXPECT_FALSE(h.server.dma_read(0, {&b, 1}));  // fails at once, as the first one has failed
    h.server.settle();
    EXPECT_FALSE(h.server.connected());
}

TEST_F(DmaByMessage, FloodOfOtherRequestsDoesNotPutTheTimeOff) {
    thread = std::thread([this] {
        for (int i = 0; i < 1'000'000; ++i) {
            Bytes bytes;
            append(bytes, Header{1, static_cast<std::uint16_t>(Command::kRegionRead), 32,
                                 kFlagNoReply, 0});
            append(bytes, RegionAccess{0, VFIO_PCI_CONFIG_REGION_INDEX, 4});
            if (::send(h.client.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) {
                return;
            }
        }
    });
    std::byte b{};
    EXPECT_FALSE(h.server.dma_read(0, {&b, 1}));
    h.server.settle();
    EXPECT_FALSE(h.server.connected());
}

TEST_F(DmaByMessage, ClientVanishingInsideADmaIsABusErrorAndAReset) {
    client.silent = true;
    client.before_reply = [this](const Answer&) { ::shutdown(h.client.get(), SHUT_RDWR); };
    serve(1);
    std::byte b{};
    EXPECT_FALSE(h.server.dma_read(0, {&b, 1}));
    EXPECT_EQ(h.device.resets, 0);
    h.server.settle();
    EXPECT_FALSE(h.server.connected());
    EXPECT_EQ(h.device.resets, 1);
}

TEST_F(DmaByMessage, ReplyOfTheWrongSizeClosesTheClient) {
    client.silent = true;
    client.before_reply = [this](const Answer& m) {
        Bytes payload;
        append(payload, DmaAccess{0, 8});
        h.send_id(m.header.id, m.header.command, payload, {}, kTypeReply);
    };
    serve(1);
    std::uint64_t value = 0;
    EXPECT_FALSE(h.server.dma_read(0, std::as_writable_bytes(std::span(&value, 1))));
    h.server.settle();
    EXPECT_FALSE(h.server.connected());
}

TEST_F(DmaByMessage, RegisterWriteInTheMiddleIsPostedAndDoneAfter) {
    client.before_reply = [this](const Answer&) {
        Bytes payload = Harness::access(kBar0, 0x80, 4);
        append(payload, std::uint32_t{5});
        h.send_id(900, static_cast<std::uint16_t>(Command::kRegionWrite), payload, {}, 0);
        // The answer must arrive before the DMA reply is sent: QEMU would wait for it.
        pollfd p{h.client.get(), POLLIN, 0};
        ASSERT_EQ(::poll(&p, 1, 10'000), 1);
        const auto answer = h.receive();
        ASSERT_TRUE(answer.has_value());
        EXPECT_EQ(answer->header.id, 900);
        EXPECT_EQ(answer->error(), 0);
        EXPECT_EQ(h.device.writes, 0);
    };
    serve(1);
    std::byte b{};
    EXPECT_TRUE(h.server.dma_read(0, {&b, 1}));
    EXPECT_EQ(h.device.writes, 0);
    h.server.settle();
    EXPECT_EQ(h.device.writes, 1);
    EXPECT_EQ((h.device.values[{Bar::kRegisters, 0x80}]), 5u);
}

// Registers that the driver polls every second must not break a transfer to another card.
TEST_F(DmaByMessage, RegisterThatCanBeToldInTheMiddleIsToldAtOnce) {
    h.device.told = 0xCAFE0001;
    client.before_reply = [this](const Answer&) {
        h.send_id(905, static_cast<std::uint16_t>(Command::kRegionRead),
                  Harness::access(kBar0, 0x10, 4), {}, 0);
        pollfd p{h.client.get(), POLLIN, 0};
        ASSERT_EQ(::poll(&p, 1, 10'000), 1);
        const auto answer = h.receive();
        ASSERT_TRUE(answer.has_value());
        EXPECT_EQ(answer->header.id, 905);
        EXPECT_EQ(as<std::uint32_t>(answer->payload, sizeof(RegionAccess)), 0xCAFE0001u);
    };
    serve(1);
    std::byte b{};
    EXPECT_TRUE(h.server.dma_read(0, {&b, 1}));
    EXPECT_EQ(h.server.stats().dma_aborted, 0u);
}

TEST_F(DmaByMessage, RegisterReadInTheMiddleGivesTheDmaUpAndIsAnswered) {
    client.silent = true;
    client.before_reply = [this](const Answer&) {
        h.send_id(901, static_cast<std::uint16_t>(Command::kRegionRead),
                  Harness::access(kBar0, 0x10, 4), {}, 0);
    };
    serve(1);
    std::byte b{};
    EXPECT_FALSE(h.server.dma_read(0, {&b, 1}));
    thread.join();
    EXPECT_EQ(h.server.stats().dma_aborted, 1u);
    EXPECT_FALSE(h.receive().has_value());
    h.server.settle();
    const auto answer = h.receive();
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->header.id, 901);
    // The late reply to the aborted request is ignored.
    h.send_id(0, static_cast<std::uint16_t>(Command::kDmaRead), Bytes(17), {}, kTypeReply);
    h.server.service();
    EXPECT_TRUE(h.server.connected());
    h.send_id(0, static_cast<std::uint16_t>(Command::kDmaRead), Bytes(17), {}, kTypeReply);
    h.server.service();
    EXPECT_FALSE(h.server.connected());
}

TEST_F(DmaByMessage, ConfigReadInTheMiddleIsAnsweredAtOnce) {
    client.before_reply = [this](const Answer&) {
        h.send_id(902, static_cast<std::uint16_t>(Command::kRegionRead),
                  Harness::access(VFIO_PCI_CONFIG_REGION_INDEX, 0, 4), {}, 0);
        pollfd p{h.client.get(), POLLIN, 0};
        ASSERT_EQ(::poll(&p, 1, 10'000), 1);
        EXPECT_EQ(h.receive()->header.id, 902);
    };
    serve(1);
    std::byte b{};
    EXPECT_TRUE(h.server.dma_read(0, {&b, 1}));
}

TEST_F(DmaByMessage, ResetsInTheMiddleHappenAfter) {
    client.silent = true;
    client.before_reply = [this](const Answer&) {
        h.send_id(903, static_cast<std::uint16_t>(Command::kDeviceReset), {}, {}, 0);
    };
    serve(1);
    std::byte b{};
    EXPECT_FALSE(h.server.dma_read(0, {&b, 1}));
    EXPECT_EQ(h.device.resets, 0);
    thread.join();
    h.server.settle();
    EXPECT_EQ(h.device.resets, 1);
    EXPECT_EQ(h.receive()->header.id, 903);
}

TEST_F(DmaByMessage, WindowUnmappedInTheMiddleStaysReadableUntilTheEngineIsOut) {
    const UniqueFd fd = make_memfd(4096);
    ASSERT_EQ(h.map(std::uint64_t{1} << 40, 4096, fd.get()), 0);
    client.before_reply = [this](const Answer&) {
        Bytes payload;
        append(payload, DmaUnmap{24, 0, std::uint64_t{1} << 40, 4096});
        h.send_id(904, static_cast<std::uint16_t>(Command::kDmaUnmap), payload, {}, 0);
        pollfd p{h.client.get(), POLLIN, 0};
        ASSERT_EQ(::poll(&p, 1, 10'000), 1);
        EXPECT_EQ(h.receive()->error(), 0);
    };
    std::byte* const pointer = h.server.dma_pointer(std::uint64_t{1} << 40, 4096);
    ASSERT_NE(pointer, nullptr);
    serve(1);
    std::byte b{};
    EXPECT_TRUE(h.server.dma_read(0, {&b, 1}));
    EXPECT_EQ(h.server.dma_pointer(std::uint64_t{1} << 40, 4096), nullptr);
    pointer[0] = std::byte{1};  // allowed until the engine returns
    h.server.settle();
}

}  // namespace
}  // namespace dingo::vfio_user::test
