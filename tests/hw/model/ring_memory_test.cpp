// SPDX-License-Identifier: BSD-2-Clause
//
// Memory of a ring: accesses across pages are complete, and nothing beyond the end is accessed.
#include "ring_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "loopback.h"
#include "two_cards.h"

namespace dingo::model {
namespace {

constexpr std::uint64_t kPage = 4096;
using Result = RingMemory::Result;

class RingMemoryTest : public testing::Test {
  protected:
    dingo_mem list(const std::vector<std::uint64_t>& pages, unsigned levels) {
        return lists.page_list(pages, levels, 12);
    }

    const EngineConfig config;
    test::OneCard other;  // for page_list()
    test::TestHost host;
    test::TestDriver lists{*other.engine, host, other.now};
    test::TestWire wire;
    Loopback loopback{wire};
    CardContext card{config, host, wire, loopback, 0, {}, {}, 0};
    RingMemory ring;
};

TEST_F(RingMemoryTest, AnEntryThatCrossesPagesIsReadAndWrittenWhole) {
    const auto pages = host.alloc_pages(3);
    std::vector<std::byte> data(kPage + 200);
    for (std::size_t i = 0; i < data.size(); ++i) {
        data[i] = static_cast<std::byte>(i * 131 + (i >> 8));
    }
    for (const unsigned levels : {1u, 2u}) {
        ASSERT_EQ(ring.attach(card, list(pages, levels), 3 * kPage), Result::kOk);
        ASSERT_TRUE(ring.write(card, kPage - 100, data));
        EXPECT_TRUE(std::ranges::equal(host.bytes(pages[0] + kPage - 100, 100),
                                       std::span(data).first(100)));
        EXPECT_TRUE(
            std::ranges::equal(host.bytes(pages[1], kPage), std::span(data).subspan(100, kPage)));
        EXPECT_TRUE(std::ranges::equal(host.bytes(pages[2], 100), std::span(data).last(100)));
        std::vector<std::byte> back(data.size());
        ASSERT_TRUE(ring.read(card, kPage - 100, back));
        EXPECT_EQ(back, data);
    }
}

TEST_F(RingMemoryTest, NewMemoryMayBeOfAnotherKind) {
    const auto pages = host.alloc_pages(2);
    const dingo_mem listed = list(pages, 1);
    dingo_mem contiguous{};
    contiguous.addr = host.alloc(2 * kPage);
    const std::vector<std::byte> data(64, std::byte{0x5A});
    const auto is_there = [&](std::uint64_t address) {
        return std::ranges::equal(host.bytes(address, data.size()), data);
    };
    ASSERT_EQ(ring.attach(card, listed, 2 * kPage), Result::kOk);
    ASSERT_EQ(ring.attach(card, contiguous, 2 * kPage), Result::kOk);
    ASSERT_TRUE(ring.write(card, kPage, data));
    EXPECT_TRUE(is_there(contiguous.addr + kPage));
    ASSERT_EQ(ring.attach(card, listed, 2 * kPage), Result::kOk);
    ASSERT_TRUE(ring.write(card, kPage, data));
    EXPECT_TRUE(is_there(pages[1]));
}

TEST_F(RingMemoryTest, NothingBehindTheEndIsTouched) {
    dingo_mem mem{};
    mem.addr = host.alloc(2 * kPage);
    ASSERT_EQ(ring.attach(card, mem, kPage), Result::kOk);
    std::vector<std::byte> data(64);
    for (const std::uint64_t offset : {kPage - 63, kPage, kPage + 64, ~std::uint64_t{0}}) {
        EXPECT_FALSE(ring.read(card, offset, data)) << offset;
        EXPECT_FALSE(ring.write(card, offset, data)) << offset;
    }
    EXPECT_EQ(host.dma_reads + host.dma_writes, 0u);
    EXPECT_TRUE(ring.read(card, kPage - 64, data));
    EXPECT_TRUE(ring.write(card, kPage - 64, data));
    EXPECT_TRUE(ring.read(card, kPage, {})) << "nothing is inside, also at the end";
    EXPECT_TRUE(ring.write(card, kPage, {}));
}

TEST_F(RingMemoryTest, TheRingsOfACardHoldNoMorePagesThan64GiBHave) {
    constexpr std::uint64_t kMost = (std::uint64_t{64} << 30) / kPage;
    const dingo_mem mem = list(host.alloc_pages(3), 1);
    card.ring_pages = kMost - 3;  // used by others
    ASSERT_EQ(ring.attach(card, mem, 2 * kPage + 1), Result::kOk);
    EXPECT_EQ(card.ring_pages, kMost);
    RingMemory other_ring;
    EXPECT_EQ(other_ring.attach(card, mem, 1), Result::kNoResource);
    EXPECT_EQ(card.ring_pages, kMost);
    dingo_mem contiguous{};
    contiguous.addr = host.alloc(kPage);
    EXPECT_EQ(other_ring.attach(card, contiguous, kPage), Result::kOk) << "it has no list";
    ring = RingMemory();
    EXPECT_EQ(card.ring_pages, kMost - 3);
}

TEST_F(RingMemoryTest, ARingThatCouldNotBeTakenHasNothing) {
    const auto pages = host.alloc_pages(2);
    dingo_mem mem = list(pages, 1);
    const dingo_mem good = mem;
    std::byte byte{};
    const auto refused = [&](Result why) {
        ASSERT_EQ(ring.attach(card, good, 2 * kPage), Result::kOk);
        EXPECT_EQ(ring.attach(card, mem, 2 * kPage), why);
        EXPECT_EQ(ring.bytes(), 0u);
        EXPECT_FALSE(ring.read(card, 0, std::span(&byte, 1)));
        EXPECT_FALSE(ring.write(card, 0, std::span(&byte, 1)));
        EXPECT_EQ(ring.pointer(card, 0, 1), nullptr);
        EXPECT_EQ(card.ring_pages, 0u);
    };
    mem = list({pages[0], pages[1] + 8}, 1);
    refused(Result::kBadField);
    mem.addr = std::uint64_t{1} << 50;
    refused(Result::kBusError);
}

TEST_F(RingMemoryTest, AListThatFillsItsLeafNeedsNoSecondOne) {
    const auto pages = host.alloc_pages(DINGO_PBL_LEAF_ENTRIES);
    const dingo_mem mem = list(pages, 2);
    host.store<std::uint64_t>(mem.addr + 8, 1);  // an invalid leaf
    EXPECT_EQ(ring.attach(card, mem, DINGO_PBL_LEAF_ENTRIES * kPage), Result::kOk);
}

TEST_F(RingMemoryTest, AListOfOnePageOrOneMoreThanALeafHoldsIsReadWhole) {
    for (const std::uint64_t count :
         {std::uint64_t{1}, std::uint64_t{DINGO_PBL_LEAF_ENTRIES} + 1}) {
        const auto pages = host.alloc_pages(count);
        ASSERT_EQ(ring.attach(card, list(pages, 2), count * kPage), Result::kOk) << count;
        const std::vector<std::byte> data(64, std::byte{0x5A});
        ASSERT_TRUE(ring.write(card, (count - 1) * kPage, data)) << count;
        EXPECT_TRUE(std::ranges::equal(host.bytes(pages.back(), data.size()), data)) << count;
    }
}

TEST_F(RingMemoryTest, MemoryMayEndWithTheLastByteOfTheAddressSpace) {
    dingo_mem mem{};
    mem.addr = 0 - kPage;
    EXPECT_FALSE(bad_mem_field(mem, kPage, RingMemory::kAlign));
    EXPECT_EQ(bad_mem_field(mem, kPage + 1, RingMemory::kAlign), offsetof(dingo_mem, addr));
}

}  // namespace
}  // namespace dingo::model
