// SPDX-License-Identifier: BSD-2-Clause
#include <linux/pci_regs.h>

#include "base/log.h"
#include "client.h"
#include "host/vfio_user/message_stream.h"

namespace dingo::vfio_user::test {
namespace {

constexpr auto kConfig = VFIO_PCI_CONFIG_REGION_INDEX;
constexpr auto kBar0 = VFIO_PCI_BAR0_REGION_INDEX;
constexpr auto kBar2 = VFIO_PCI_BAR2_REGION_INDEX;

TEST(VfioUserServer, AnswersVersionZeroZeroInNoMoreBytesThanQemuHasRoomFor) {
    Harness h;
    h.connect();
    const Bytes ask = Harness::version_payload();
    const Answer a = h.request(Command::kVersion, ask);
    EXPECT_EQ(a.error(), 0);
    EXPECT_EQ(as<Version>(a.payload).major, 0);
    EXPECT_EQ(as<Version>(a.payload).minor, 0);
    EXPECT_LE(a.payload.size(), ask.size());
    EXPECT_EQ(a.payload.back(), std::byte{0});
}

TEST(VfioUserServer, VersionWithoutTextIsFine) {
    Harness h;
    h.connect();
    Bytes payload;
    append(payload, Version{0, 1});
    EXPECT_EQ(h.request(Command::kVersion, payload).error(), 0);
}

TEST(VfioUserServer, DescribesAPciDeviceWithReset) {
    Harness h;
    h.start();
    Bytes ask;
    append(ask, DeviceInfo{sizeof(DeviceInfo), 0, 0, 0});
    const auto info = as<DeviceInfo>(h.request(Command::kDeviceGetInfo, ask).payload);
    EXPECT_EQ(info.flags, static_cast<unsigned>(VFIO_DEVICE_FLAGS_PCI | VFIO_DEVICE_FLAGS_RESET));
    EXPECT_EQ(info.num_regions, static_cast<unsigned>(VFIO_PCI_NUM_REGIONS));
    EXPECT_EQ(info.num_irqs, VFIO_PCI_MSIX_IRQ_INDEX + 1u);
}

Answer region_info(Harness& h, std::uint32_t index) {
    Bytes ask;
    append(ask, RegionInfo{sizeof(RegionInfo), 0, index, 0, 0, 0});
    return h.request(Command::kDeviceGetRegionInfo, ask);
}

TEST(VfioUserServer, DoorbellBarComesWithADescriptorThatSharesItsMemory) {
    Harness h;
    const UniqueFd memory = make_memfd(Harness::kDoorbellBytes);
    h.device.doorbell_memory_fd = memory.get();
    h.start();
    const Answer a = region_info(h, kBar2);
    const auto info = as<RegionInfo>(a.payload);
    EXPECT_EQ(info.size, Harness::kDoorbellBytes);
    EXPECT_EQ(info.flags,
              static_cast<unsigned>(VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE |
                                    VFIO_REGION_INFO_FLAG_MMAP));
    ASSERT_EQ(a.fds.size(), 1u);
    const std::uint64_t value = 0x1122334455667788;
    ASSERT_EQ(::pwrite(a.fds[0].get(), &value, sizeof value, 4096), 8);
    std::uint64_t seen = 0;
    ASSERT_EQ(::pread(memory.get(), &seen, sizeof seen, 4096), 8);
    EXPECT_EQ(seen, value);
}

TEST(VfioUserServer, WithoutDoorbellMemoryNoDescriptorAndNoMmap) {
    Harness h;
    h.start();
    const Answer a = region_info(h, kBar2);
    EXPECT_TRUE(a.fds.empty());
    EXPECT_EQ(as<RegionInfo>(a.payload).flags & VFIO_REGION_INFO_FLAG_MMAP, 0u);
}

TEST(VfioUserServer, RegionsThatAreNotThereHaveSizeZero) {
    Harness h;
    h.start();
    for (const std::uint32_t index : {1u, 3u, 4u, 5u, 6u, 8u}) {
        const auto info = as<RegionInfo>(region_info(h, index).payload);
        EXPECT_EQ(info.size, 0u);
        EXPECT_EQ(info.flags, 0u);
    }
    EXPECT_EQ(as<RegionInfo>(region_info(h, kBar0).payload).size, 0x10000u);
    EXPECT_EQ(as<RegionInfo>(region_info(h, kConfig).payload).size, 4096u);
}

TEST(VfioUserServer, RegisterAccessReachesTheDeviceInItsSize) {
    Harness h;
    h.start();
    EXPECT_EQ(h.write<std::uint32_t>(kBar0, 0x10, 0xCAFE), 0);
    EXPECT_EQ(h.device.last_size, 4u);
    EXPECT_EQ(h.read<std::uint32_t>(kBar0, 0x10), 0xCAFEu);
    EXPECT_EQ(h.write<std::uint64_t>(kBar0, 0x20, 0x0102030405060708), 0);
    EXPECT_EQ(h.device.last_size, 8u);
    EXPECT_EQ((h.device.values[{Bar::kRegisters, 0x20}]), 0x0102030405060708u);
    EXPECT_EQ(h.write<std::uint8_t>(kBar0, 0x31, 7), 0);
    EXPECT_EQ(h.device.last_size, 1u);
    EXPECT_EQ(h.write<std::uint64_t>(kBar2, 0x1080, 5), 0);
    EXPECT_EQ((h.device.values[{Bar::kDoorbells, 0x1080}]), 5u);
}

TEST(VfioUserServer, UnalignedAccessIsCutIntoAlignedOnes) {
    Harness h;
    h.start();
    EXPECT_EQ(h.write<std::uint64_t>(kBar0, 0x13, 0x8877665544332211), 0);
    EXPECT_EQ((h.device.values[{Bar::kRegisters, 0x13}]), 0x11u);
    EXPECT_EQ((h.device.values[{Bar::kRegisters, 0x14}]), 0x55443322u);
    EXPECT_EQ((h.device.values[{Bar::kRegisters, 0x18}]), 0x7766u);
    EXPECT_EQ((h.device.values[{Bar::kRegisters, 0x1A}]), 0x88u);
    EXPECT_EQ(h.device.writes, 4);
}

TEST(VfioUserServer, PostedWriteGetsNoReply) {
    Harness h;
    h.start();
    Bytes payload = Harness::access(kBar0, 0x40, 4);
    append(payload, std::uint32_t{9});
    h.send(static_cast<std::uint16_t>(Command::kRegionWrite), payload, {},
           kTypeCommand | kFlagNoReply);
    h.server.service();
    EXPECT_FALSE(h.receive().has_value());
    EXPECT_EQ(h.read<std::uint32_t>(kBar0, 0x40), 9u);
}

TEST(VfioUserServer, WriteMultiDoesAllWrites) {
    Harness h;
    h.start();
    Bytes payload;
    append(payload, std::uint64_t{2});
    append(payload, RegionWriteOne{{0x10, kBar0, 4}, {1, 0, 0, 0, 0, 0, 0, 0}});
    append(payload, RegionWriteOne{{0x18, kBar0, 8}, {2, 0, 0, 0, 0, 0, 0, 0}});
    EXPECT_EQ(h.request(Command::kRegionWriteMulti, payload).error(), 0);
    EXPECT_EQ((h.device.values[{Bar::kRegisters, 0x10}]), 1u);
    EXPECT_EQ((h.device.values[{Bar::kRegisters, 0x18}]), 2u);
}

TEST(VfioUserServer, MsixTableAndPbaStayInTheServer) {
    Harness h;
    h.start();
    EXPECT_EQ(h.write<std::uint32_t>(kBar0, 0x8000, 0xFEE00000), 0);
    EXPECT_EQ(h.read<std::uint32_t>(kBar0, 0x8000), 0xFEE00000u);
    EXPECT_EQ(h.write<std::uint64_t>(kBar0, 0xC000, ~0ull), 0);
    EXPECT_EQ(h.read<std::uint64_t>(kBar0, 0xC000), 0u);
    EXPECT_EQ(h.device.writes, 0);
}

TEST(VfioUserServer, ConfigSpaceIdentifiesTheCardAndProtectsReadOnlyBits) {
    Harness h;
    h.start();
    EXPECT_EQ(h.read<std::uint32_t>(kConfig, PCI_VENDOR_ID), 0xD1601234u);
    EXPECT_EQ(h.read<std::uint32_t>(kConfig, PCI_CLASS_REVISION), 0x02000001u);
    EXPECT_EQ(h.write<std::uint32_t>(kConfig, PCI_VENDOR_ID, 0), 0);
    EXPECT_EQ(h.read<std::uint32_t>(kConfig, PCI_VENDOR_ID), 0xD1601234u);
    EXPECT_EQ(h.write<std::uint32_t>(kConfig, PCI_BASE_ADDRESS_0, ~0u), 0);
    EXPECT_EQ(h.read<std::uint32_t>(kConfig, PCI_BASE_ADDRESS_0), 0xFFFF0000u);
    EXPECT_EQ(h.write<std::uint64_t>(kConfig, PCI_BASE_ADDRESS_2, ~0ull), 0);
    EXPECT_EQ(h.read<std::uint64_t>(kConfig, PCI_BASE_ADDRESS_2),
              ~(Harness::kDoorbellBytes - 1) | PCI_BASE_ADDRESS_MEM_TYPE_64 |
                  PCI_BASE_ADDRESS_MEM_PREFETCH);
}

std::uint8_t find_capability(Harness& h, std::uint8_t id) {
    auto at = h.read<std::uint8_t>(kConfig, PCI_CAPABILITY_LIST);
    for (int hops = 0; at != 0 && hops < 48; ++hops) {
        const auto head = h.read<std::uint16_t>(kConfig, at);
        if ((head & 0xFF) == id) {
            return at;
        }
        at = static_cast<std::uint8_t>(head >> 8);
    }
    return 0;
}

TEST(VfioUserServer, CapabilityListHasExpressMsixAndPowerManagement) {
    Harness h;
    h.start();
    EXPECT_NE(find_capability(h, PCI_CAP_ID_PM), 0);
    const auto express = find_capability(h, PCI_CAP_ID_EXP);
    ASSERT_NE(express, 0);
    EXPECT_NE(h.read<std::uint32_t>(kConfig, express + PCI_EXP_DEVCAP) & PCI_EXP_DEVCAP_FLR, 0u);
    const auto msix = find_capability(h, PCI_CAP_ID_MSIX);
    ASSERT_NE(msix, 0);
    EXPECT_EQ(h.read<std::uint16_t>(kConfig, msix + PCI_MSIX_FLAGS) & PCI_MSIX_FLAGS_QSIZE,
              Harness::kVectors - 1);
    EXPECT_EQ(h.read<std::uint32_t>(kConfig, msix + PCI_MSIX_TABLE), 0x8000u);
    EXPECT_EQ(h.read<std::uint32_t>(kConfig, msix + PCI_MSIX_PBA), 0xC000u);
}

TEST(VfioUserServer, FunctionLevelResetByConfigWriteResetsDeviceAndConfigSpace) {
    Harness h;
    h.start();
    const auto express = find_capability(h, PCI_CAP_ID_EXP);
    const int before = h.device.resets;
    EXPECT_EQ(h.write<std::uint16_t>(kConfig, express + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_BCR_FLR), 0);
    EXPECT_EQ(h.device.resets, before + 1);
    EXPECT_EQ(h.read<std::uint16_t>(kConfig, PCI_COMMAND), 0u);
    EXPECT_EQ(h.read<std::uint16_t>(kConfig, express + PCI_EXP_DEVCTL) & PCI_EXP_DEVCTL_BCR_FLR,
              0u);
}

TEST(VfioUserServer, DeviceResetResetsTheDevice) {
    Harness h;
    h.start();
    const int before = h.device.resets;
    EXPECT_EQ(h.request(Command::kDeviceReset, {}).error(), 0);
    EXPECT_EQ(h.device.resets, before + 1);
    EXPECT_TRUE(h.server.connected());
}

TEST(VfioUserServer, VanishedClientResetsTheDeviceAndTheNextOneIsServed) {
    Harness h;
    const UniqueFd memory = make_memfd(1 << 20);
    h.start();
    EXPECT_EQ(h.map(0, 1 << 20, memory.get()), 0);
    h.client.reset();
    h.server.service();
    EXPECT_FALSE(h.server.connected());
    EXPECT_EQ(h.device.resets, 1);
    EXPECT_EQ(h.server.dma().size(), 0u);
    std::byte one{};
    EXPECT_FALSE(h.server.dma_write(0, {&one, 1}));
    h.start();
    EXPECT_EQ(h.map(0, 1 << 20, memory.get()), 0);
    EXPECT_TRUE(h.server.dma_write(0, {&one, 1}));
}

TEST(VfioUserServer, MessageInPiecesIsServedWhenItIsWhole) {
    Harness h;
    h.start();
    Bytes bytes;
    append(bytes, Header{7, static_cast<std::uint16_t>(Command::kRegionRead),
                         sizeof(Header) + sizeof(RegionAccess), 0, 0});
    append(bytes, RegionAccess{0, kConfig, 4});
    for (const std::byte& b : bytes) {
        EXPECT_FALSE(h.receive().has_value());
        h.send_raw({&b, 1});
        h.server.service();
    }
    const auto answer = h.receive();
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(as<std::uint32_t>(answer->payload, sizeof(RegionAccess)), 0xD1601234u);
}

TEST(VfioUserServer, PipelinedRequestsAreAnsweredInOrder) {
    Harness h;
    h.start();
    for (std::uint16_t i = 0; i < 50; ++i) {
        h.send_id(i, static_cast<std::uint16_t>(Command::kRegionRead),
                  Harness::access(kConfig, 0, 4), {}, kTypeCommand);
    }
    h.server.service();
    for (std::uint16_t i = 0; i < 50; ++i) {
        const auto answer = h.receive();
        ASSERT_TRUE(answer.has_value());
        EXPECT_EQ(answer->header.id, i);
    }
}

TEST(VfioUserServer, RepliesWaitForASlowReaderAndArriveWhole) {
    Harness h;
    h.start();
    constexpr int kReads = 200;  // 13 MB of replies: more than a socket buffer holds
    Bytes payload = Harness::access(kBar0, 0, 0x8000);
    int answers = 0;
    for (int i = 0; i < kReads; ++i) {
        h.send(static_cast<std::uint16_t>(Command::kRegionRead), payload);
        h.server.service();
        if (i % 3 == 0) {
            continue;  // reads less often than it sends
        }
        while (const auto answer = h.receive()) {
            EXPECT_EQ(answer->payload.size(), sizeof(RegionAccess) + 0x8000);
            ++answers;
            h.server.service();
        }
    }
    while (answers < kReads) {
        h.server.service();
        const auto answer = h.receive();
        ASSERT_TRUE(answer.has_value());
        ++answers;
    }
    EXPECT_TRUE(h.server.connected());
    EXPECT_FALSE(h.server.wants_write());
}

/// Captures what is logged during its lifetime.
class Logged {
  public:
    Logged() : file_(::memfd_create("log", MFD_CLOEXEC)) {
        start_log("info");
        set_log(file_.get());
    }
    ~Logged() { set_log(STDERR_FILENO); }
    Logged(const Logged&) = delete;
    Logged& operator=(const Logged&) = delete;
    [[nodiscard]] std::string text() const {
        std::string text(1 << 16, '\0');
        const ssize_t got = ::pread(file_.get(), text.data(), text.size(), 0);
        text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
        return text;
    }

  private:
    UniqueFd file_;
};

void ask_for_much(Harness& h) {
    h.send(static_cast<std::uint16_t>(Command::kRegionRead), Harness::access(kBar0, 0, 0x8000));
}

TEST(VfioUserServer, ClientThatNeverReadsIsClosed) {
    const Logged log;
    Harness h;
    h.start();
    for (int i = 0; i < 5000 && h.server.connected(); ++i) {
        ask_for_much(h);
        h.server.service();
    }
    EXPECT_FALSE(h.server.connected());
    EXPECT_EQ(h.server.stats().protocol_errors, 1u);
    EXPECT_NE(log.text().find("connection closed: client does not read its replies"),
              std::string::npos)
        << log.text();
}

TEST(VfioUserServer, StreamTellsWhyAMessageIsNotSent) {
    std::array<int, 2> pair{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
    UniqueFd peer(pair[0]);
    MessageStream stream{UniqueFd(pair[1])};
    constexpr int kNoFile = 1 << 20;
    EXPECT_EQ(stream.send({}, {}, {}, kNoFile), MessageStream::Sent::kRefused);
    EXPECT_EQ(stream.send({}, {}), MessageStream::Sent::kTaken);
    peer.reset();
    EXPECT_EQ(stream.send({}, {}), MessageStream::Sent::kGone);
}

// A QEMU that was killed has left requests whose replies nobody reads.
TEST(VfioUserServer, ClientThatHasGoneBeforeItsReplyHasDoneNothingWrong) {
    constexpr unsigned kOpen = 60;
    // Unread replies; the last ones are queued in the server, which has room for 256.
    for (const unsigned unread : {0u, 100u, 250u}) {
        SCOPED_TRACE(unread);
        const Logged log;
        Harness h;
        h.start();
        for (unsigned i = 0; i < unread; ++i) {
            ask_for_much(h);
            h.server.service();
        }
        EXPECT_EQ(h.server.wants_write(), unread != 0);
        for (unsigned i = 0; i < kOpen; ++i) {
            ask_for_much(h);
        }
        h.client.reset();
        h.server.service();
        EXPECT_FALSE(h.server.connected());
        EXPECT_EQ(h.server.stats().protocol_errors, 0u);
        EXPECT_NE(log.text().find("connection closed: client is gone"), std::string::npos)
            << log.text();
    }
}

}  // namespace
}  // namespace dingo::vfio_user::test
