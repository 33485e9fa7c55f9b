// SPDX-License-Identifier: BSD-2-Clause
// Messages of a hostile or broken client: each gets an error reply, or the connection is closed if
// the stream can no longer be trusted.
#include <limits>

#include "client.h"

namespace dingo::vfio_user::test {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

std::uint16_t number(Command c) {
    return static_cast<std::uint16_t>(c);
}

void send_header(Harness& h, std::uint32_t size, std::uint32_t flags = 0,
                 std::uint16_t command = 4) {
    Bytes bytes;
    append(bytes, Header{1, command, size, flags, 0});
    h.send_raw(bytes);
    h.server.service();
}

TEST(VfioUserMalformed, HeaderSizeTooSmallOrTooLargeCloses) {
    for (const std::uint32_t size : {0u, 15u, kMaxMessage + 1, 0xFFFFFFFFu}) {
        Harness h;
        h.start();
        send_header(h, size);
        EXPECT_FALSE(h.server.connected()) << size;
        EXPECT_EQ(h.server.stats().protocol_errors, 1u);
    }
}

TEST(VfioUserMalformed, UnknownMessageTypeAndUnexpectedReplyClose) {
    for (const std::uint32_t flags : {kTypeReply, 2u, 0xFu}) {
        Harness h;
        h.start();
        send_header(h, sizeof(Header), flags);
        EXPECT_FALSE(h.server.connected()) << flags;
    }
}

TEST(VfioUserMalformed, AnythingBeforeVersionCloses) {
    Harness h;
    h.connect();
    send_header(h, sizeof(Header), 0, number(Command::kDeviceReset));
    EXPECT_FALSE(h.server.connected());
}

TEST(VfioUserMalformed, OtherMajorVersionCloses) {
    Harness h;
    h.connect();
    Bytes payload;
    append(payload, Version{1, 0});
    h.send(number(Command::kVersion), payload);
    h.server.service();
    EXPECT_FALSE(h.server.connected());
}

TEST(VfioUserMalformed, BadVersionTextIsRefused) {
    const std::string deep(4000, '[');
    for (const std::string& text :
         {std::string("{"), std::string("[]"), std::string(R"({"capabilities": 5})"),
          std::string(R"({"capabilities": {"max_data_xfer_size": "x"}})"),
          std::string(R"({"capabilities": {"max_data_xfer_size": 0}})"),
          std::string(R"({"capabilities": {"max_data_xfer_size": -1}})"), deep,
          std::string(8000, ' ')}) {
        Harness h;
        h.connect();
        EXPECT_EQ(h.request(Command::kVersion, Harness::version_payload(text)).error(), EINVAL)
            << text.substr(0, 60);
    }
    Harness h;
    h.connect();
    Bytes no_nul = Harness::version_payload();
    no_nul.pop_back();
    EXPECT_EQ(h.request(Command::kVersion, no_nul).error(), EINVAL);
}

TEST(VfioUserMalformed, SecondVersionIsRefused) {
    Harness h;
    h.start();
    EXPECT_EQ(h.request(Command::kVersion, Harness::version_payload()).error(), EINVAL);
}

TEST(VfioUserMalformed, UnknownCommandsAreRefused) {
    Harness h;
    h.start();
    for (const std::uint16_t command : {0, 6, 11, 12, 14, 16, 17, 18, 19, 255, 65535}) {
        EXPECT_EQ(h.request(command, Bytes(64)).error(), ENOTSUP) << command;
    }
}

TEST(VfioUserMalformed, EveryTruncatedPayloadIsRefused) {
    const std::pair<Command, std::size_t> sizes[] = {
        {Command::kDmaMap, 32},           {Command::kDmaUnmap, 24},
        {Command::kDeviceGetInfo, 16},    {Command::kDeviceGetRegionInfo, 32},
        {Command::kDeviceGetIrqInfo, 16}, {Command::kDeviceSetIrqs, 20},
        {Command::kRegionRead, 16},       {Command::kRegionWrite, 16},
        {Command::kRegionWriteMulti, 8},
    };
    Harness h;
    h.start();
    for (const auto& [command, full] : sizes) {
        for (std::size_t size = 0; size < full; ++size) {
            EXPECT_EQ(h.request(command, Bytes(size)).error(), EINVAL) << size;
        }
    }
    EXPECT_TRUE(h.server.connected());
}

TEST(VfioUserMalformed, DescriptorsWhereNoneBelongAreRefusedAndClosed) {
    Harness h;
    h.start();
    const UniqueFd fd = make_memfd(4096);
    Bytes ask;
    append(ask, DeviceInfo{16, 0, 0, 0});
    const int fds[] = {fd.get(), fd.get()};
    EXPECT_EQ(h.request(Command::kDeviceGetInfo, ask, fds).error(), EINVAL);
    EXPECT_EQ(h.request(Command::kDeviceReset, {}, fds).error(), EINVAL);
    Bytes map;
    append(map, DmaMap{32, 3, 0, 0, 4096});
    EXPECT_EQ(h.request(Command::kDmaMap, map, fds).error(), EINVAL);
}

TEST(VfioUserMalformed, MoreDescriptorsThanAnnouncedClose) {
    Harness h;
    h.start();
    const UniqueFd fd = make_memfd(4096);
    const std::vector<int> fds(kMaxFds + 1, fd.get());
    Bytes map;
    append(map, DmaMap{32, 3, 0, 0, 4096});
    h.send(number(Command::kDmaMap), map, fds);
    h.server.service();
    EXPECT_FALSE(h.server.connected());
}

TEST(VfioUserMalformed, SmallArgszIsRefused) {
    Harness h;
    h.start();
    for (const std::uint32_t argsz : {0u, 4u, 15u}) {
        Bytes info;
        append(info, DeviceInfo{argsz, 0, 0, 0});
        EXPECT_EQ(h.request(Command::kDeviceGetInfo, info).error(), EINVAL);
        Bytes region;
        append(region, RegionInfo{argsz, 0, 0, 0, 0, 0});
        EXPECT_EQ(h.request(Command::kDeviceGetRegionInfo, region).error(), EINVAL);
        Bytes irq;
        append(irq, IrqInfo{argsz, 0, 0, 0});
        EXPECT_EQ(h.request(Command::kDeviceGetIrqInfo, irq).error(), EINVAL);
        Bytes set;
        append(set, IrqSet{argsz, VFIO_IRQ_SET_ACTION_TRIGGER, VFIO_PCI_MSIX_IRQ_INDEX, 0, 0});
        EXPECT_EQ(h.request(Command::kDeviceSetIrqs, set).error(), EINVAL);
        Bytes map;
        append(map, DmaMap{argsz, 3, 0, 0, 4096});
        EXPECT_EQ(h.request(Command::kDmaMap, map).error(), EINVAL);
        Bytes unmap;
        append(unmap, DmaUnmap{argsz, 0, 0, 4096});
        EXPECT_EQ(h.request(Command::kDmaUnmap, unmap).error(), EINVAL);
    }
}

TEST(VfioUserMalformed, RegionAndIrqIndexesOutOfRangeAreRefused) {
    Harness h;
    h.start();
    for (const std::uint32_t index : {9u, 10u, 0x80000000u, 0xFFFFFFFFu}) {
        Bytes region;
        append(region, RegionInfo{32, 0, index, 0, 0, 0});
        EXPECT_EQ(h.request(Command::kDeviceGetRegionInfo, region).error(), EINVAL);
        Bytes irq;
        append(irq, IrqInfo{16, 0, index, 0});
        EXPECT_EQ(h.request(Command::kDeviceGetIrqInfo, irq).error(), EINVAL);
        EXPECT_EQ(h.request(Command::kRegionRead, Harness::access(index, 0, 4)).error(), EINVAL);
    }
}

TEST(VfioUserMalformed, RegionAccessOutsideTheRegionIsRefused) {
    Harness h;
    h.start();
    const RegionAccess bad[] = {
        {0x10000, 0, 4},  {0xFFFF, 0, 2}, {0xFFFD, 0, 4},  {kMax, 0, 1},
        {kMax - 3, 0, 8}, {0, 0, 0},      {0, 0, 0x10001}, {0, 0, 0xFFFFFFFF},
        {4096, 7, 1},     {4093, 7, 4},   {kMax, 7, 4},    {Harness::kDoorbellBytes, 2, 8},
        {0, 1, 4},        {0, 3, 4},      {0, 4, 8},       {0, 8, 4},
    };
    for (const RegionAccess& access : bad) {
        Bytes read;
        append(read, access);
        EXPECT_EQ(h.request(Command::kRegionRead, read).error(), EINVAL)
            << access.region << " " << access.offset << " " << access.count;
        Bytes write = read;
        write.resize(sizeof access + std::min(access.count, 0x20000u));
        EXPECT_EQ(h.request(Command::kRegionWrite, write).error(), EINVAL);
        Bytes multi;
        append(multi, std::uint64_t{1});
        append(multi, RegionWriteOne{access, {}});
        EXPECT_EQ(h.request(Command::kRegionWriteMulti, multi).error(), EINVAL);
    }
    EXPECT_EQ(h.device.writes, 0);
}

TEST(VfioUserMalformed, WriteWhoseDataHasAnotherLengthIsRefused) {
    Harness h;
    h.start();
    for (const std::size_t data : {0u, 3u, 5u, 4096u}) {
        Bytes write = Harness::access(0, 0, 4);
        write.resize(write.size() + data);
        EXPECT_EQ(h.request(Command::kRegionWrite, write).error(), EINVAL);
    }
    Bytes read = Harness::access(0, 0, 4);
    read.resize(read.size() + 4);
    EXPECT_EQ(h.request(Command::kRegionRead, read).error(), EINVAL);
    Bytes multi;
    append(multi, std::uint64_t{0x1000000000000001});
    append(multi, RegionWriteOne{{0, 0, 4}, {}});
    EXPECT_EQ(h.request(Command::kRegionWriteMulti, multi).error(), EINVAL);
    Bytes big_count;
    append(big_count, std::uint64_t{1});
    append(big_count, RegionWriteOne{{0, 0, 16}, {}});
    EXPECT_EQ(h.request(Command::kRegionWriteMulti, big_count).error(), EINVAL);
    EXPECT_EQ(h.device.writes, 0);
}

TEST(VfioUserMalformed, BadDmaMapsAreRefused) {
    Harness h;
    h.start();
    const UniqueFd fd = make_memfd(1 << 20);
    EXPECT_EQ(h.map(0, 0), EINVAL);
    EXPECT_EQ(h.map(0, 100), EINVAL);
    EXPECT_EQ(h.map(1, 4096), EINVAL);
    EXPECT_EQ(h.map(kMax - 4095, 8192), EINVAL);
    EXPECT_EQ(h.map(8192, kMax - 4095), EINVAL);
    EXPECT_EQ(h.map(0, 4096, -1, 0, 0), EINVAL);
    EXPECT_EQ(h.map(0, 4096, -1, 0, 8), EINVAL);
    EXPECT_EQ(h.map(0, 4096, fd.get(), 1), EINVAL);
    EXPECT_EQ(h.map(0, 2 << 20, fd.get()), ERANGE);
    EXPECT_EQ(h.map(0, 4096, fd.get(), 1 << 20), ERANGE);
    EXPECT_EQ(h.map(0, 4096, fd.get(), kMax - 4095), ERANGE);
    EXPECT_EQ(h.map(0, std::uint64_t{1} << 62, fd.get()), ERANGE);
    EXPECT_EQ(h.server.dma().size(), 0u);
    EXPECT_EQ(h.map(kMax - 4095, 4096), 0);  // the last page is valid
}

TEST(VfioUserMalformed, HugeSparseFileDoesNotHurt) {
    Harness h;
    h.start();
    const UniqueFd fd(::memfd_create("sparse", MFD_CLOEXEC));
    ASSERT_EQ(::ftruncate(fd.get(), std::int64_t{1} << 62), 0);
    EXPECT_EQ(h.map(0, std::uint64_t{1} << 62, fd.get()), ENOMEM);
    EXPECT_EQ(h.server.dma().size(), 0u);
}

TEST(VfioUserMalformed, ReadOnlyDescriptorForAWritableWindowIsRefused) {
    Harness h;
    h.start();
    const UniqueFd fd = make_memfd(4096);
    const UniqueFd read_only(
        ::open(("/proc/self/fd/" + std::to_string(fd.get())).c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(h.map(0, 4096, read_only.get()), EACCES);
    EXPECT_EQ(h.map(0, 4096, read_only.get(), 0, kDmaReadable), 0);
    std::byte one{1};
    EXPECT_FALSE(h.server.dma_write(0, {&one, 1}));
    EXPECT_TRUE(h.server.dma_read(0, {&one, 1}));
    EXPECT_EQ(h.server.dma_pointer(0, 1), nullptr);
}

TEST(VfioUserMalformed, OverlappingMapsAreRefused) {
    Harness h;
    h.start();
    EXPECT_EQ(h.map(0x10000, 0x4000), 0);
    EXPECT_EQ(h.map(0x10000, 0x4000), EEXIST);
    EXPECT_EQ(h.map(0xF000, 0x2000), EEXIST);
    EXPECT_EQ(h.map(0x13000, 0x2000), EEXIST);
    EXPECT_EQ(h.map(0x11000, 0x1000), EEXIST);
    EXPECT_EQ(h.map(0x0, 0x100000), EEXIST);
    EXPECT_EQ(h.map(0x14000, 0x1000), 0);
    EXPECT_EQ(h.map(0xF000, 0x1000), 0);
    EXPECT_EQ(h.server.dma().size(), 3u);
}

TEST(VfioUserMalformed, UnmapOfWhatIsNotMappedIsRefused) {
    Harness h;
    h.start();
    EXPECT_EQ(h.unmap(0, 4096), ENOENT);
    EXPECT_EQ(h.map(0x10000, 0x4000), 0);
    EXPECT_EQ(h.unmap(0x10000, 0x2000), ENOENT);
    EXPECT_EQ(h.unmap(0x11000, 0x3000), ENOENT);
    EXPECT_EQ(h.unmap(0x14000, 0x8000), ENOENT);
    EXPECT_EQ(h.unmap(0xf000, 0x4000), ENOENT);
    EXPECT_EQ(h.unmap(0x10000, 0x4000, 4), EINVAL);
    EXPECT_EQ(h.unmap(0x10000, 0x4000, kDmaUnmapAll), EINVAL);
    EXPECT_EQ(h.unmap(0x10000, 0x4000), 0);
    EXPECT_EQ(h.unmap(0x10000, 0x4000), ENOENT);
    EXPECT_EQ(h.unmap(0, 0, kDmaUnmapAll), 0);
}

TEST(VfioUserMalformed, TooManyWindowsAreRefused) {
    Harness h;
    h.start();
    for (std::uint64_t i = 0; i < kMaxDmaMaps; ++i) {
        ASSERT_EQ(h.map(i * 8192, 4096), 0);
    }
    EXPECT_EQ(h.map(kMaxDmaMaps * 8192, 4096), ENOSPC);
    EXPECT_EQ(h.unmap(0, 0, kDmaUnmapAll), 0);
    EXPECT_EQ(h.server.dma().size(), 0u);
}

TEST(VfioUserMalformed, BadSetIrqsAreRefused) {
    Harness h;
    h.start();
    const UniqueFd event(::eventfd(0, EFD_CLOEXEC));
    const int one[] = {event.get()};
    const int two[] = {event.get(), event.get()};
    constexpr std::uint32_t kEvent = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER;
    constexpr std::uint32_t kNone = VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_TRIGGER;
    constexpr std::uint32_t kBool = VFIO_IRQ_SET_DATA_BOOL | VFIO_IRQ_SET_ACTION_TRIGGER;
    const std::uint8_t bools[] = {1, 1};
    EXPECT_EQ(h.set_irqs(kEvent, 5, 1, one).error(), EINVAL);
    EXPECT_EQ(h.set_irqs(kEvent, 0, 6, one).error(), EINVAL);
    EXPECT_EQ(h.set_irqs(kEvent, 0xFFFFFFFF, 2, two).error(), EINVAL);
    EXPECT_EQ(h.set_irqs(kEvent, 1, 0xFFFFFFFF, one).error(), EINVAL);
    EXPECT_EQ(h.set_irqs(kEvent, 0, 1, two).error(), EINVAL);
    EXPECT_EQ(h.set_irqs(kEvent, 0, 2, one).error(), EINVAL);
    EXPECT_EQ(h.set_irqs(kEvent, 0, 0).error(), EINVAL);
    EXPECT_EQ(h.set_irqs(kNone, 0, 1, one).error(), EINVAL);
    EXPECT_EQ(h.set_irqs(kNone, 1, 0).error(), EINVAL);
    EXPECT_EQ(h.set_irqs(kBool, 0, 3, {}, bools).error(), EINVAL);
    EXPECT_EQ(h.set_irqs(kBool | VFIO_IRQ_SET_DATA_EVENTFD, 0, 2, two, bools).error(), EINVAL);
    EXPECT_EQ(h.set_irqs(VFIO_IRQ_SET_DATA_NONE, 0, 1).error(), EINVAL);
    EXPECT_EQ(h.set_irqs(0xFFFFFFFF, 0, 1).error(), EINVAL);
    EXPECT_EQ(h.set_irqs(kEvent, 0, 1, one, {}, VFIO_PCI_MSI_IRQ_INDEX).error(), EINVAL);
    EXPECT_EQ(h.set_irqs(kNone, 0, 0, {}, {}, VFIO_PCI_MSI_IRQ_INDEX).error(), 0);
    EXPECT_EQ(h.set_irqs(kNone, 0, 0, {}, {}, 77).error(), EINVAL);
}

TEST(VfioUserMalformed, ClientVanishingAtAnyByteOfAMessageIsNoticed) {
    const UniqueFd fd = make_memfd(4096);
    Bytes bytes;
    append(bytes, Header{1, number(Command::kDmaMap), 48, 0, 0});
    append(bytes, DmaMap{32, 3, 0, 0, 4096});
    for (std::size_t n = 0; n < bytes.size(); ++n) {
        Harness h;
        h.start();
        const int fds[] = {fd.get()};
        if (n != 0) {
            h.send_raw(std::span(bytes).first(n), fds);
        }
        h.server.service();
        EXPECT_TRUE(h.server.connected());
        h.client.reset();
        h.server.service();
        EXPECT_FALSE(h.server.connected());
        EXPECT_EQ(h.server.dma().size(), 0u);
    }
}

}  // namespace
}  // namespace dingo::vfio_user::test
