// SPDX-License-Identifier: BSD-2-Clause
#include "client.h"

namespace dingo::vfio_user::test {
namespace {

constexpr std::uint32_t kSetEvents = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER;
constexpr std::uint32_t kMask = VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_MASK;
constexpr std::uint32_t kUnmask = VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_UNMASK;
constexpr std::uint32_t kTrigger = VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_TRIGGER;

struct Msix : ::testing::Test {
    void SetUp() override {
        h.start();
        for (auto& e : events) {
            e.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
            fds.push_back(e.get());
        }
        ASSERT_EQ(h.set_irqs(kSetEvents, 0, Harness::kVectors, fds).error(), 0);
    }
    std::uint64_t count(unsigned vector) {
        std::uint64_t n = 0;
        return ::read(fds[vector], &n, sizeof n) == sizeof n ? n : 0;
    }
    std::uint64_t pba() { return h.read<std::uint64_t>(VFIO_PCI_BAR0_REGION_INDEX, 0xC000); }

    Harness h;
    std::array<UniqueFd, Harness::kVectors> events;
    std::vector<int> fds;
};

TEST_F(Msix, InfoAnnouncesVectorsThatCanBeMaskedAndResized) {
    Bytes ask;
    append(ask, IrqInfo{16, 0, VFIO_PCI_MSIX_IRQ_INDEX, 0});
    const auto info = as<IrqInfo>(h.request(Command::kDeviceGetIrqInfo, ask).payload);
    EXPECT_EQ(info.count, Harness::kVectors);
    EXPECT_EQ(info.flags, static_cast<unsigned>(VFIO_IRQ_INFO_EVENTFD | VFIO_IRQ_INFO_MASKABLE));
    Bytes intx;
    append(intx, IrqInfo{16, 0, VFIO_PCI_INTX_IRQ_INDEX, 0});
    EXPECT_EQ(as<IrqInfo>(h.request(Command::kDeviceGetIrqInfo, intx).payload).count, 0u);
}

TEST_F(Msix, RaiseSignalsTheVectorsEventfdOnly) {
    h.server.raise_msix(3);
    h.server.raise_msix(3);
    EXPECT_EQ(count(3), 2u);
    EXPECT_EQ(count(0), 0u);
    EXPECT_EQ(count(4), 0u);
}

TEST_F(Msix, VectorThatDoesNotExistIsIgnored) {
    h.server.raise_msix(Harness::kVectors);
    h.server.raise_msix(~0u);
    EXPECT_EQ(pba(), 0u);
}

TEST_F(Msix, MaskedVectorIsPendingAndComesOnceWhenUnmasked) {
    EXPECT_EQ(h.set_irqs(kMask, 2, 1).error(), 0);
    h.server.raise_msix(2);
    h.server.raise_msix(2);
    EXPECT_EQ(count(2), 0u);
    EXPECT_EQ(pba(), 4u);
    EXPECT_EQ(h.set_irqs(kUnmask, 2, 1).error(), 0);
    EXPECT_EQ(count(2), 1u);
    EXPECT_EQ(pba(), 0u);
}

TEST_F(Msix, VectorWithoutEventfdIsPendingUntilItGetsOne) {
    EXPECT_EQ(h.set_irqs(kSetEvents, 1, 1).error(), 0);  // without a descriptor: removes the
                                                         // eventfd
    h.server.raise_msix(1);
    EXPECT_EQ(count(1), 0u);
    EXPECT_EQ(pba(), 2u);
    const int fd[] = {fds[1]};
    EXPECT_EQ(h.set_irqs(kSetEvents, 1, 1, fd).error(), 0);
    EXPECT_EQ(count(1), 1u);
}

TEST_F(Msix, MessagesThatAreToBeLostAreNotPendingEither) {
    h.server.lose_interrupts(1, 2);
    h.server.raise_msix(1);
    h.server.raise_msix(1);
    h.server.raise_msix(0);
    EXPECT_EQ(count(1), 0u);
    EXPECT_EQ(count(0), 1u);
    EXPECT_EQ(pba(), 0u);
    h.server.raise_msix(1);
    EXPECT_EQ(count(1), 1u);
    EXPECT_THROW(h.server.lose_interrupts(Harness::kVectors, 1), std::invalid_argument);
}

TEST_F(Msix, DisablingTheIndexForgetsEverything) {
    EXPECT_EQ(h.set_irqs(kTrigger, 0, 0).error(), 0);
    h.server.raise_msix(0);
    EXPECT_EQ(count(0), 0u);
}

TEST_F(Msix, ClientMayTriggerByNoneAndByBool) {
    EXPECT_EQ(h.set_irqs(kTrigger, 1, 2).error(), 0);
    EXPECT_EQ(count(1), 1u);
    EXPECT_EQ(count(2), 1u);
    const std::uint8_t bools[] = {1, 0, 1};
    EXPECT_EQ(
        h.set_irqs(VFIO_IRQ_SET_DATA_BOOL | VFIO_IRQ_SET_ACTION_TRIGGER, 0, 3, {}, bools).error(),
        0);
    EXPECT_EQ(count(0), 1u);
    EXPECT_EQ(count(1), 0u);
    EXPECT_EQ(count(2), 1u);
}

TEST_F(Msix, WithoutBusMasterNoMessageIsSent) {
    h.set_command(0x2);
    h.server.raise_msix(0);
    EXPECT_EQ(count(0), 0u);
    h.set_command(0x6);
    h.server.raise_msix(0);
    EXPECT_EQ(count(0), 1u);
}

TEST_F(Msix, DeviceResetDropsPendingMessagesAndKeepsEventfds) {
    EXPECT_EQ(h.set_irqs(kMask, 0, 1).error(), 0);
    h.server.raise_msix(0);
    EXPECT_EQ(h.request(Command::kDeviceReset, {}).error(), 0);
    EXPECT_EQ(pba(), 0u);
    EXPECT_EQ(h.set_irqs(kUnmask, 0, 1).error(), 0);
    EXPECT_EQ(count(0), 0u);
    h.set_command(0x6);
    h.server.raise_msix(0);
    EXPECT_EQ(count(0), 1u);
}

TEST_F(Msix, EventfdThatNobodyReadsDoesNotBlockTheCard) {
    const std::uint64_t full = 0xFFFFFFFFFFFFFFFE;
    ASSERT_EQ(::write(fds[0], &full, sizeof full), 8);
    for (int i = 0; i < 10; ++i) {
        h.server.raise_msix(0);
    }
    EXPECT_EQ(count(0), full);
}

TEST_F(Msix, PipeInPlaceOfAnEventfdDoesNotBlockTheCard) {
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
    const UniqueFd reader(pipe[0]);
    const UniqueFd writer(pipe[1]);
    const int fd[] = {writer.get()};
    EXPECT_EQ(h.set_irqs(kSetEvents, 0, 1, fd).error(), 0);
    for (int i = 0; i < 20000; ++i) {
        h.server.raise_msix(0);
    }
    EXPECT_TRUE(h.server.connected());
}

}  // namespace
}  // namespace dingo::vfio_user::test
