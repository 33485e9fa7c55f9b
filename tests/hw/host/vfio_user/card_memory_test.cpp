// SPDX-License-Identifier: BSD-2-Clause
// BAR4: memory of the card. Clients map it, other devices access it by messages, and the card
// accesses it by its own bus address.
#include <linux/pci_regs.h>

#include "client.h"

namespace dingo::vfio_user::test {
namespace {

constexpr auto kMemoryConfig = VFIO_PCI_CONFIG_REGION_INDEX;
constexpr auto kBar4 = VFIO_PCI_BAR4_REGION_INDEX;
constexpr std::uint64_t kSize = 2 << 20;
constexpr std::uint64_t kAt = std::uint64_t{3} << 40;

struct CardMemoryBar : ::testing::Test {
    void SetUp() override {
        h.device.card_memory = {
            static_cast<std::byte*>(
                ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0)),
            kSize};
        h.start();
    }
    void TearDown() override { ::munmap(h.device.card_memory.data(), kSize); }

    void place(std::uint64_t at) {
        ASSERT_EQ(h.write<std::uint64_t>(kMemoryConfig, PCI_BASE_ADDRESS_4, at), 0);
    }
    RegionInfo info(std::size_t& fds) {
        Bytes ask;
        append(ask, RegionInfo{sizeof(RegionInfo), 0, kBar4, 0, 0, 0});
        const Answer a = h.request(Command::kDeviceGetRegionInfo, ask);
        fds = a.fds.size();
        return as<RegionInfo>(a.payload);
    }

    UniqueFd fd = make_memfd(kSize);
    Harness h{std::chrono::milliseconds(1), kSize};
};

TEST_F(CardMemoryBar, IsSixtyFourBitsPrefetchableAndHasItsSize) {
    EXPECT_EQ(h.read<std::uint32_t>(kMemoryConfig, PCI_BASE_ADDRESS_4),
              std::uint32_t{PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH});
    place(~std::uint64_t{0});
    EXPECT_EQ(h.read<std::uint64_t>(kMemoryConfig, PCI_BASE_ADDRESS_4),
              ~(kSize - 1) | PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH);
}

TEST_F(CardMemoryBar, ComesWithItsDescriptorUnlessAccessesAreCounted) {
    std::size_t fds = 0;
    EXPECT_EQ(info(fds).size, kSize);
    EXPECT_EQ(fds, 0u);
    h.device.card_memory_fd = fd.get();
    EXPECT_NE(info(fds).flags & VFIO_REGION_INFO_FLAG_MMAP, 0u);
    EXPECT_EQ(fds, 1u);
}

TEST_F(CardMemoryBar, AccessesByMessageReachItAndAreCounted) {
    EXPECT_EQ(h.write<std::uint64_t>(kBar4, 0x1003, 0x0102030405060708), 0);
    EXPECT_EQ(h.read<std::uint64_t>(kBar4, 0x1003), 0x0102030405060708u);
    EXPECT_EQ(h.read<std::uint8_t>(kBar4, kSize - 1), 0u);
    EXPECT_EQ(h.device.memory_written, 8u);
    EXPECT_EQ(h.device.memory_read, 9u);
    EXPECT_EQ(h.device.writes, 0) << "the device's registers have nothing to do with it";
    EXPECT_NE(h.write<std::uint64_t>(kBar4, kSize - 4, 1), 0);
}

TEST_F(CardMemoryBar, DmaInItsWindowIsTheMemoryItselfAndNoMessage) {
    place(kAt);
    const std::uint64_t value = 0x1122334455667788;
    EXPECT_TRUE(h.server.dma_write(kAt + 0x100, std::as_bytes(std::span(&value, 1))));
    EXPECT_EQ(h.read<std::uint64_t>(kBar4, 0x100), value);
    std::uint64_t seen = 0;
    EXPECT_TRUE(h.server.dma_read(kAt + 0x100, std::as_writable_bytes(std::span(&seen, 1))));
    EXPECT_EQ(seen, value);
    EXPECT_EQ(h.server.dma_pointer(kAt + 0x100, 8), h.device.card_memory.data() + 0x100);
    EXPECT_EQ(h.server.dma_pointer(kAt + kSize - 4, 8), nullptr);
    EXPECT_EQ(h.server.stats().dma_messages, 0u);
    EXPECT_EQ(h.server.stats().card_memory_bytes, 16u);
}

// QEMU reports the BARs of all devices, including the card's own, as windows without descriptor.
TEST_F(CardMemoryBar, WindowWithoutDescriptorInItsPlaceDoesNotHideIt) {
    place(kAt);
    ASSERT_EQ(h.map(kAt, kSize), 0);
    std::byte b{7};
    EXPECT_TRUE(h.server.dma_write(kAt + 5, {&b, 1}));
    EXPECT_EQ(h.device.card_memory[5], b);
    EXPECT_EQ(h.server.stats().dma_messages, 0u);
}

TEST_F(CardMemoryBar, HasNoAddressWhileMemoryDecodingIsOff) {
    place(kAt);
    h.set_command(PCI_COMMAND_MASTER);
    EXPECT_EQ(h.server.dma_pointer(kAt, 8), nullptr);
    h.set_command(PCI_COMMAND_MASTER | PCI_COMMAND_MEMORY);
    EXPECT_NE(h.server.dma_pointer(kAt, 8), nullptr);
}

// The guest reads back QEMU's copy of the base addresses after the reset, so it finds nothing to
// restore.
TEST_F(CardMemoryBar, AddressAndContentsOutliveAFunctionLevelReset) {
    place(kAt);
    h.device.card_memory[9] = std::byte{3};
    constexpr std::size_t kDevctl = 0x50 + PCI_EXP_DEVCTL;
    ASSERT_EQ(h.write<std::uint16_t>(kMemoryConfig, kDevctl, PCI_EXP_DEVCTL_BCR_FLR), 0);
    EXPECT_EQ(h.device.resets, 1);
    h.set_command(PCI_COMMAND_MASTER | PCI_COMMAND_MEMORY);
    ASSERT_NE(h.server.dma_pointer(kAt + 9, 1), nullptr);
    EXPECT_EQ(*h.server.dma_pointer(kAt + 9, 1), std::byte{3});
}

TEST_F(CardMemoryBar, NextMachineFindsNothingOfTheLastOnes) {
    h.device.card_memory[9] = std::byte{3};
    h.server.detach("test");
    EXPECT_EQ(h.device.card_memory[9], std::byte{0});
}

}  // namespace
}  // namespace dingo::vfio_user::test
