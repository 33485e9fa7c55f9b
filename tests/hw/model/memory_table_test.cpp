// SPDX-License-Identifier: BSD-2-Clause
//
// Keys, bounds, page lists, windows and fast registration, on MemoryTable itself.
#include <gtest/gtest.h>

#include <algorithm>

#include "memory_table_impl.h"
#include "queue_pair.h"
#include "two_cards.h"

namespace dingo::model {
namespace {

using test::OneCard;
using test::TestHost;

constexpr std::uint32_t kAll = DINGO_ACC_LOCAL_WRITE | DINGO_ACC_REMOTE_WRITE |
                               DINGO_ACC_REMOTE_READ | DINGO_ACC_REMOTE_ATOMIC | DINGO_ACC_MW_BIND;

class MemoryTableTest : public testing::Test {
  protected:
    MemoryTableTest() {
        qp.qpn = 0x10002;
        qp.pdn = 1;
        other.qpn = 0x20003;
        other.pdn = 1;
    }

    dingo_cmd_create_mr command(std::uint64_t bytes, std::uint32_t access = kAll) {
        dingo_cmd_create_mr cmd{};
        cmd.key = next_index++ << DINGO_MR_INDEX_SHIFT | 0xBEEF;
        cmd.pdn = 1;
        cmd.access = access;
        cmd.kind = DINGO_MRT_MR;
        cmd.mem.addr = host.alloc(bytes);
        cmd.iova = 0x7000'0000'0000;
        cmd.length = bytes;
        return cmd;
    }
    dingo_cmd_create_mr create(std::uint64_t bytes, std::uint32_t access = kAll) {
        const auto cmd = command(bytes, access);
        table.impl().create(cmd);
        return cmd;
    }
    std::uint32_t create_kind(std::uint8_t kind, std::uint64_t length = 0) {
        dingo_cmd_create_mr cmd{};
        cmd.key = next_index++ << DINGO_MR_INDEX_SHIFT | 0xBEEF;
        cmd.pdn = 1;
        cmd.kind = kind;
        cmd.length = length;
        table.impl().create(cmd);
        return cmd.key;
    }
    KeyVerdict check(std::uint32_t key, std::uint64_t addr, std::uint64_t length,
                     std::uint32_t access = DINGO_ACC_REMOTE_WRITE) {
        return table.check(qp, key, addr, length, access, range);
    }
    static std::vector<std::byte> pattern(std::size_t bytes) {
        std::vector<std::byte> data(bytes);
        for (std::size_t i = 0; i < bytes; ++i) {
            data[i] = static_cast<std::byte>(i * 131 + (i >> 8));
        }
        return data;
    }

    const EngineConfig config;
    TestHost host{8ull << 30};
    test::TestWire wire;
    Loopback loopback{wire};
    CardContext card{config, host, wire, loopback, 0, {}, {}, 0};
    MemoryTable table{card};
    QueuePair qp;
    QueuePair other;
    MemoryRange range;
    std::uint32_t next_index = 1;
};

TEST_F(MemoryTableTest, KeyMustMatchInAllThirtyTwoBits) {
    const auto mr = create(4096);
    EXPECT_EQ(check(mr.key, mr.iova, 1), KeyVerdict::kOk);
    for (int bit = 0; bit < 32; ++bit) {
        EXPECT_EQ(check(mr.key ^ 1u << bit, mr.iova, 1), KeyVerdict::kNoKey) << bit;
    }
}

TEST_F(MemoryTableTest, ChecksKeyThenDomainThenAccessThenBounds) {
    const auto mr = create(4096, DINGO_ACC_LOCAL_WRITE);
    qp.pdn = 2;
    EXPECT_EQ(check(mr.key, 0, 1), KeyVerdict::kWrongPd);
    qp.pdn = 1;
    EXPECT_EQ(check(mr.key, 0, 1), KeyVerdict::kNoAccess);
    EXPECT_EQ(check(mr.key, 0, 1, 0), KeyVerdict::kBounds);
    EXPECT_EQ(table.check(qp, 2, mr.key, mr.iova, 1, 0, range), KeyVerdict::kWrongPd);
}

TEST_F(MemoryTableTest, EveryRightIsNeeded) {
    for (const std::uint32_t right : {DINGO_ACC_LOCAL_WRITE + 0u, DINGO_ACC_REMOTE_WRITE + 0u,
                                      DINGO_ACC_REMOTE_READ + 0u, DINGO_ACC_REMOTE_ATOMIC + 0u}) {
        const auto without = create(4096, kAll & ~right);
        const auto with = create(4096, right);
        EXPECT_EQ(check(without.key, without.iova, 8, right), KeyVerdict::kNoAccess);
        EXPECT_EQ(check(with.key, with.iova, 8, right), KeyVerdict::kOk);
    }
}

TEST_F(MemoryTableTest, BoundsAreExactAndDoNotOverflow) {
    auto cmd = command(8192);
    cmd.iova = ~0ull - 8191;  // ends at 2^64
    table.impl().create(cmd);
    EXPECT_EQ(check(cmd.key, cmd.iova, 8192), KeyVerdict::kOk);
    EXPECT_EQ(check(cmd.key, ~0ull, 1), KeyVerdict::kOk);
    EXPECT_EQ(check(cmd.key, ~0ull, 2), KeyVerdict::kBounds);
    EXPECT_EQ(check(cmd.key, cmd.iova - 1, 1), KeyVerdict::kBounds);
    EXPECT_EQ(check(cmd.key, cmd.iova, 8193), KeyVerdict::kBounds);
    EXPECT_EQ(check(cmd.key, cmd.iova + 1, 8192), KeyVerdict::kBounds);
    EXPECT_EQ(check(cmd.key, cmd.iova + 8, ~0ull), KeyVerdict::kBounds);
    EXPECT_EQ(check(cmd.key, cmd.iova + 1, ~0ull - 8190), KeyVerdict::kBounds);
    EXPECT_EQ(check(cmd.key, 0, 8192), KeyVerdict::kBounds);
}

TEST_F(MemoryTableTest, ZeroLengthIsGrantedWithAnyKeyAndTouchesNothing) {
    EXPECT_EQ(check(0xDEADBEEF, 0x1234, 0), KeyVerdict::kOk);
    EXPECT_TRUE(table.write(range, 0, {}));
    std::byte one{};
    EXPECT_FALSE(table.write(range, 0, std::span(&one, 1)));
    EXPECT_EQ(host.dma_writes, 0u);
}

TEST_F(MemoryTableTest, AGrantEndsWhereItWasAskedToEnd) {
    const auto mr = create(4096);
    ASSERT_EQ(check(mr.key, mr.iova, 16), KeyVerdict::kOk);
    std::vector<std::byte> data(9);
    EXPECT_FALSE(table.read(range, 8, data));
    EXPECT_FALSE(table.write(range, 8, data));
    EXPECT_EQ(host.dma_reads + host.dma_writes, 0u);
    EXPECT_TRUE(table.read(range, 7, data));
    EXPECT_TRUE(table.write(range, 7, data));
}

TEST_F(MemoryTableTest, ContiguousRegionNeedsNoListRead) {
    const auto mr = create(1 << 20);
    const auto data = pattern(100'000);
    ASSERT_EQ(check(mr.key, mr.iova + 17, data.size()), KeyVerdict::kOk);
    ASSERT_TRUE(table.write(range, 0, data));
    EXPECT_EQ(host.dma_reads, 0u);
    EXPECT_EQ(host.dma_writes, 1u);
    EXPECT_TRUE(std::ranges::equal(host.bytes(mr.mem.addr + 17, data.size()), data));
}

TEST_F(MemoryTableTest, NothingBehindAListOfLeavesIsRead) {
    auto cmd = command(4096);
    const std::uint64_t page = cmd.mem.addr;
    const std::uint64_t leaf = host.alloc(4096);
    const std::uint64_t end = host.alloc(2 * 4096) + 4096;
    host.store(end - 8, leaf);
    host.store(leaf, page);
    host.break_range(end, 4096);
    cmd.mem.addr = end - 8;
    cmd.mem.levels = 2;
    cmd.mem.page_shift = 12;
    table.impl().create(cmd);
    ASSERT_EQ(check(cmd.key, cmd.iova, 64), KeyVerdict::kOk);
    EXPECT_TRUE(table.write(range, 0, pattern(64)));
    EXPECT_TRUE(std::ranges::equal(host.bytes(page, 64), pattern(64)));
}

/// levels, page shift, offset in the first page, pages
using Layout = std::tuple<unsigned, unsigned, std::uint32_t, std::size_t>;
class PageListTest : public MemoryTableTest, public testing::WithParamInterface<Layout> {};

TEST_P(PageListTest, EveryPieceLandsOnItsPage) {
    const auto [levels, shift, offset, count] = GetParam();
    OneCard unused;  // for page_list()
    test::TestDriver lists(*unused.engine, host, unused.now);
    const std::uint64_t page = 1ull << shift;
    const auto pages = host.alloc_pages(count, page);
    auto cmd = command(4096);
    cmd.mem = lists.page_list(pages, levels, shift, offset);
    cmd.length = count * page - offset - 3;
    table.impl().create(cmd);

    const auto data = pattern(cmd.length);
    ASSERT_EQ(check(cmd.key, cmd.iova, cmd.length), KeyVerdict::kOk);
    for (std::size_t at = 0; at < data.size();) {  // pieces of an odd size that cross pages
        const std::size_t piece = std::min<std::size_t>(4099, data.size() - at);
        ASSERT_TRUE(table.write(range, at, std::span(data).subspan(at, piece)));
        at += piece;
    }
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t first = i == 0 ? offset : 0;
        const std::size_t begin = i * page + first - offset;
        const std::size_t length = std::min<std::size_t>(page - first, data.size() - begin);
        ASSERT_TRUE(std::ranges::equal(host.bytes(pages[i] + first, length),
                                       std::span(data).subspan(begin, length)))
            << "page " << i;
    }
    // Nothing before the offset or after the end was changed.
    EXPECT_TRUE(std::ranges::all_of(host.bytes(pages[0], offset),
                                    [](std::byte b) { return b == std::byte{0}; }));
    EXPECT_TRUE(std::ranges::all_of(host.bytes(pages.back() + page - 3, 3),
                                    [](std::byte b) { return b == std::byte{0}; }));
    std::vector<std::byte> back(data.size());
    ASSERT_TRUE(table.read(range, 0, back));
    EXPECT_EQ(back, data);
    for (const std::size_t at : {std::size_t{0}, data.size() - 1, data.size() / 2}) {
        std::byte b{};
        ASSERT_TRUE(table.read(range, at, std::span(&b, 1)));
        EXPECT_EQ(b, data[at]);
    }
}

INSTANTIATE_TEST_SUITE_P(Layouts, PageListTest,
                         testing::Values(Layout{1, 12, 0, 1}, Layout{1, 12, 4095, 2},
                                         Layout{1, 12, 100, 65}, Layout{1, 12, 0, 600},
                                         Layout{1, 16, 777, 5}, Layout{1, 21, 4096, 2},
                                         Layout{2, 12, 0, 1}, Layout{2, 12, 9, 512},
                                         Layout{2, 12, 1, 513}, Layout{2, 12, 3000, 1100},
                                         Layout{2, 16, 5, 70}));

TEST_F(MemoryTableTest, ListIsReadInBlocksAndRemembered) {
    OneCard unused;
    test::TestDriver lists(*unused.engine, host, unused.now);
    const auto pages = host.alloc_pages(128);
    auto cmd = command(4096);
    cmd.mem = lists.page_list(pages, 2, 12);
    cmd.length = 128 * 4096;
    table.impl().create(cmd);
    const auto data = pattern(4096);
    ASSERT_EQ(check(cmd.key, cmd.iova, cmd.length), KeyVerdict::kOk);
    for (std::size_t i = 0; i < 128; ++i) {
        ASSERT_TRUE(table.write(range, i * 4096, data));
    }
    EXPECT_EQ(host.dma_reads, 3u);  // root entry, two blocks of 64 entries
}

TEST_F(MemoryTableTest, BadPageListIsABusErrorNotAWildAccess) {
    auto cmd = command(4096);
    cmd.mem.levels = 1;
    cmd.mem.page_shift = 12;
    host.store<std::uint64_t>(cmd.mem.addr, host.alloc(4096) + 64);  // misaligned page
    table.impl().create(cmd);
    std::byte b{};
    ASSERT_EQ(check(cmd.key, cmd.iova, 1), KeyVerdict::kOk);
    EXPECT_FALSE(table.write(range, 0, std::span(&b, 1)));
    EXPECT_EQ(card.counters[DINGO_CARD_DMA_ERRORS], 1u);

    cmd = command(4096);
    cmd.mem.levels = 2;
    cmd.mem.page_shift = 12;
    host.store<std::uint64_t>(cmd.mem.addr, host.alloc(4096) + 8);  // misaligned leaf
    table.impl().create(cmd);
    ASSERT_EQ(check(cmd.key, cmd.iova, 1), KeyVerdict::kOk);
    EXPECT_FALSE(table.write(range, 0, std::span(&b, 1)));
    host.store<std::uint64_t>(cmd.mem.addr, 0x5000);  // an unmapped leaf
    EXPECT_FALSE(table.write(range, 0, std::span(&b, 1)));
    EXPECT_EQ(host.dma_writes, 0u);
}

TEST_F(MemoryTableTest, ALeafThatIsNotAlignedIsNotRead) {
    const std::uint64_t leaf = host.alloc(4096);
    std::byte b{};
    for (unsigned bit = 0; 1u << bit < DINGO_PBL_LEAF_ENTRIES * sizeof(std::uint64_t); ++bit) {
        auto cmd = command(4096);
        cmd.mem.levels = 2;
        cmd.mem.page_shift = 12;
        host.store<std::uint64_t>(cmd.mem.addr, leaf | 1u << bit);
        table.impl().create(cmd);
        ASSERT_EQ(check(cmd.key, cmd.iova, 1), KeyVerdict::kOk);
        const auto reads = host.dma_reads;
        EXPECT_FALSE(table.write(range, 0, std::span(&b, 1))) << bit;
        EXPECT_EQ(host.dma_reads, reads + 1) << bit << ": only the root is read";
    }
}

TEST_F(MemoryTableTest, AnUnreadableRootIsABusErrorNotAnotherLeafsPage) {
    constexpr std::size_t kLeaf = DINGO_PBL_LEAF_ENTRIES;
    OneCard unused;
    test::TestDriver lists(*unused.engine, host, unused.now);
    auto cmd = command(4096);
    cmd.mem = lists.page_list(host.alloc_pages(kLeaf + 1), 2, 12);
    cmd.length = (kLeaf + 1) * 4096;
    table.impl().create(cmd);
    ASSERT_EQ(check(cmd.key, cmd.iova, cmd.length), KeyVerdict::kOk);
    const auto data = pattern(8);
    ASSERT_TRUE(table.write(range, 0, data));
    host.break_range(cmd.mem.addr, 4096);
    const auto writes = host.dma_writes;
    EXPECT_FALSE(table.write(range, kLeaf * 4096, data));
    EXPECT_EQ(host.dma_writes, writes);
    EXPECT_TRUE(table.write(range, 4096, data)) << "the leaf that is known needs no root";
}

TEST_F(MemoryTableTest, PhysicalKeysAreForPrivilegedQueuePairs) {
    dingo_cmd_create_mr cmd{};
    cmd.key = 9u << DINGO_MR_INDEX_SHIFT;
    cmd.pdn = 1;
    cmd.kind = DINGO_MRT_PHYS;
    cmd.access = DINGO_ACC_LOCAL_WRITE;
    cmd.length = ~0ull;
    table.impl().create(cmd);
    const std::uint64_t bus = host.alloc(4096);
    EXPECT_EQ(check(cmd.key, bus, 8, DINGO_ACC_LOCAL_WRITE), KeyVerdict::kNoAccess);
    qp.privileged = true;
    ASSERT_EQ(check(cmd.key, bus, 8, DINGO_ACC_LOCAL_WRITE), KeyVerdict::kOk);
    const auto data = pattern(8);
    EXPECT_TRUE(table.write(range, 0, data));
    EXPECT_TRUE(std::ranges::equal(host.bytes(bus, 8), data));
}

TEST_F(MemoryTableTest, PausedRegionMakesEverybodyWait) {
    const auto mr = create(4096);
    table.impl().find(mr.key)->state = MemoryRegion::State::kPaused;
    EXPECT_EQ(check(mr.key, mr.iova, 8), KeyVerdict::kPaused);
    EXPECT_EQ(check(mr.key, mr.iova, 8192), KeyVerdict::kBounds);  // other errors take precedence
    table.impl().reregister(*table.impl().find(mr.key), mr);
    EXPECT_EQ(check(mr.key, mr.iova, 8), KeyVerdict::kOk);
}

TEST_F(MemoryTableTest, ReregistrationReplacesTranslationKeyAndDomainAtOnce) {
    auto mr = create(8192);
    const auto data = pattern(16);
    auto next = mr;
    next.key ^= 0x1234;
    next.pdn = 2;
    next.mem.addr = host.alloc(4096);
    next.length = 4096;
    next.access = DINGO_ACC_LOCAL_WRITE;
    table.impl().reregister(*table.impl().find(mr.key), next);
    EXPECT_EQ(check(mr.key, mr.iova, 1), KeyVerdict::kNoKey);
    EXPECT_EQ(check(next.key, mr.iova, 1, 0), KeyVerdict::kWrongPd);
    qp.pdn = 2;
    EXPECT_EQ(check(next.key, mr.iova, 1), KeyVerdict::kNoAccess);
    ASSERT_EQ(check(next.key, mr.iova, 16, DINGO_ACC_LOCAL_WRITE), KeyVerdict::kOk);
    ASSERT_TRUE(table.write(range, 0, data));
    EXPECT_TRUE(std::ranges::equal(host.bytes(next.mem.addr, 16), data));
    EXPECT_EQ(check(next.key, mr.iova, 4096, DINGO_ACC_LOCAL_WRITE), KeyVerdict::kOk);
    EXPECT_EQ(check(next.key, mr.iova, 4097, DINGO_ACC_LOCAL_WRITE), KeyVerdict::kBounds);
}

// --- windows

class WindowTest : public MemoryTableTest {
  protected:
    static dingo_wqe_bind request(std::uint32_t window, const dingo_cmd_create_mr& region) {
        dingo_wqe_bind bind{};
        bind.addr = region.iova + 1024;
        bind.length = 2048;
        bind.mr_key = region.key;
        bind.mw_key = window;
        bind.new_key = window ^ 1;
        bind.access = DINGO_ACC_REMOTE_WRITE | DINGO_ACC_REMOTE_READ;
        return bind;
    }
    dingo_cmd_create_mr mr = create(4096, DINGO_ACC_LOCAL_WRITE | DINGO_ACC_MW_BIND);
    std::uint32_t mw1 = create_kind(DINGO_MRT_MW1);
    std::uint32_t mw2 = create_kind(DINGO_MRT_MW2);
};

TEST_F(WindowTest, GrantsItsRangeAndRightsOnly) {
    for (const std::uint32_t window : {mw1, mw2}) {
        EXPECT_EQ(check(window, mr.iova + 1024, 1), KeyVerdict::kState);
        const auto bind = request(window, mr);
        ASSERT_EQ(table.bind(qp, bind), KeyVerdict::kOk);
        EXPECT_EQ(check(window, mr.iova + 1024, 1), KeyVerdict::kNoKey);  // the old key is invalid
        EXPECT_EQ(check(bind.new_key, mr.iova + 1024, 2048), KeyVerdict::kOk);
        EXPECT_EQ(check(bind.new_key, mr.iova + 1023, 2), KeyVerdict::kBounds);
        EXPECT_EQ(check(bind.new_key, mr.iova + 3071, 2), KeyVerdict::kBounds);
        EXPECT_EQ(check(bind.new_key, mr.iova + 1024, 8, DINGO_ACC_REMOTE_ATOMIC),
                  KeyVerdict::kNoAccess);
        // A window is no local key; the region's own key grants no remote access.
        EXPECT_EQ(check(bind.new_key, mr.iova + 1024, 8, 0), KeyVerdict::kNoAccess);
        EXPECT_EQ(check(mr.key, mr.iova + 1024, 8), KeyVerdict::kNoAccess);
        const auto data = pattern(64);
        ASSERT_EQ(check(bind.new_key, mr.iova + 1100, 64), KeyVerdict::kOk);
        ASSERT_TRUE(table.write(range, 0, data));
        EXPECT_TRUE(std::ranges::equal(host.bytes(mr.mem.addr + 1100, 64), data));
    }
}

TEST_F(WindowTest, ZeroBasedWindowStartsAtZero) {
    auto bind = request(mw1, mr);
    bind.access |= DINGO_ACC_ZERO_BASED;
    ASSERT_EQ(table.bind(qp, bind), KeyVerdict::kOk);
    EXPECT_EQ(check(bind.new_key, mr.iova + 1024, 1), KeyVerdict::kBounds);
    ASSERT_EQ(check(bind.new_key, 0, 2048), KeyVerdict::kOk);
    const auto data = pattern(4);
    ASSERT_TRUE(table.write(range, 5, data));
    EXPECT_TRUE(std::ranges::equal(host.bytes(mr.mem.addr + 1029, 4), data));
}

TEST_F(WindowTest, TypeOneServesTheDomainTypeTwoTheBindingQueuePair) {
    ASSERT_EQ(table.bind(qp, request(mw1, mr)), KeyVerdict::kOk);
    ASSERT_EQ(table.bind(qp, request(mw2, mr)), KeyVerdict::kOk);
    EXPECT_EQ(table.check(other, mw1 ^ 1, mr.iova + 1024, 1, DINGO_ACC_REMOTE_READ, range),
              KeyVerdict::kOk);
    EXPECT_EQ(table.check(other, mw2 ^ 1, mr.iova + 1024, 1, DINGO_ACC_REMOTE_READ, range),
              KeyVerdict::kNoAccess);
    other.pdn = 2;
    EXPECT_EQ(table.check(other, mw1 ^ 1, mr.iova + 1024, 1, DINGO_ACC_REMOTE_READ, range),
              KeyVerdict::kWrongPd);
}

TEST_F(WindowTest, TypeOneMovesWithEachBindTypeTwoOnlyAfterInvalidation) {
    auto bind = request(mw1, mr);
    ASSERT_EQ(table.bind(qp, bind), KeyVerdict::kOk);
    bind.mw_key = bind.new_key;
    bind.new_key += 1;
    bind.addr = mr.iova;
    ASSERT_EQ(table.bind(other, bind), KeyVerdict::kOk);
    EXPECT_EQ(check(bind.new_key, mr.iova, 1), KeyVerdict::kOk);
    EXPECT_EQ(table.impl().find(mr.key)->windows, 1u);

    bind = request(mw2, mr);
    ASSERT_EQ(table.bind(qp, bind), KeyVerdict::kOk);
    bind.mw_key = bind.new_key;
    bind.new_key += 1;
    EXPECT_EQ(table.bind(qp, bind), KeyVerdict::kState);
    EXPECT_EQ(table.invalidate(other, bind.mw_key), KeyVerdict::kNoAccess);
    ASSERT_EQ(table.invalidate(qp, bind.mw_key), KeyVerdict::kOk);
    EXPECT_EQ(check(bind.mw_key, mr.iova + 1024, 1), KeyVerdict::kState);
    EXPECT_EQ(table.bind(qp, bind), KeyVerdict::kOk);
}

// ibv_bind_mw(3) advances the window's rkey when it posts, whatever becomes of the bind.
TEST_F(WindowTest, BindFindsTheWindowByTheKeyOfABindThatFailed) {
    for (const std::uint32_t window : {mw1, mw2}) {
        auto bind = request(window, mr);
        bind.mr_key ^= 1;
        EXPECT_EQ(table.bind(qp, bind), KeyVerdict::kNoKey);
        bind = request(window, mr);
        bind.mw_key = window + 1;
        bind.new_key = window + 2;
        ASSERT_EQ(table.bind(qp, bind), KeyVerdict::kOk);
        EXPECT_EQ(check(bind.new_key, mr.iova + 1024, 1), KeyVerdict::kOk);
        EXPECT_EQ(check(bind.mw_key, mr.iova + 1024, 1), KeyVerdict::kNoKey);
        bind.mw_key = window ^ 0x100;
        EXPECT_EQ(table.bind(qp, bind), KeyVerdict::kNoKey);
    }
}

TEST_F(WindowTest, BindRefusesWhatTheRegionDoesNotAllow) {
    auto bind = request(mw1, mr);
    bind.addr = mr.iova + 2049;
    EXPECT_EQ(table.bind(qp, bind), KeyVerdict::kBounds);
    bind.addr = ~0ull;
    EXPECT_EQ(table.bind(qp, bind), KeyVerdict::kBounds);
    bind = request(mw1, mr);
    bind.access |= DINGO_ACC_LOCAL_WRITE;
    EXPECT_EQ(table.bind(qp, bind), KeyVerdict::kNoAccess);
    bind = request(mw1, mr);
    for (int bit = 8; bit < 32; ++bit) {  // the driver destroys keys by these bits
        bind.new_key = mw1 ^ 1u << bit;
        EXPECT_EQ(table.bind(qp, bind), KeyVerdict::kNoKey) << bit;
    }
    EXPECT_EQ(table.bind(qp, request(mr.key, mr)), KeyVerdict::kNoKey);  // not a window
    bind = request(mw1, mr);
    for (const std::uint32_t key : {mr.key ^ 1, mw2, create_kind(DINGO_MRT_FRWR, 4096)}) {
        bind.mr_key = key;  // unknown, a window, a region without memory
        EXPECT_EQ(table.bind(qp, bind), KeyVerdict::kNoKey) << key;
    }
    EXPECT_EQ(table.bind(qp, request(mw1, create(4096, DINGO_ACC_LOCAL_WRITE))),
              KeyVerdict::kNoAccess);  // no MW_BIND
    EXPECT_EQ(table.bind(qp, request(mw1, create(4096, DINGO_ACC_MW_BIND))),
              KeyVerdict::kNoAccess);  // remote write without local write
    auto foreign = command(4096);
    foreign.pdn = 2;
    table.impl().create(foreign);
    EXPECT_EQ(table.bind(qp, request(mw1, foreign)), KeyVerdict::kWrongPd);
    qp.pdn = 2;
    EXPECT_EQ(table.bind(qp, request(mw1, mr)), KeyVerdict::kWrongPd);
    EXPECT_EQ(table.impl().find(mr.key)->windows, 0u);
}

TEST_F(WindowTest, LengthZeroUnbinds) {
    auto bind = request(mw1, mr);
    ASSERT_EQ(table.bind(qp, bind), KeyVerdict::kOk);
    bind.mw_key = bind.new_key;
    bind.new_key ^= 3;
    bind.length = 0;
    ASSERT_EQ(table.bind(qp, bind), KeyVerdict::kOk);
    EXPECT_EQ(check(bind.new_key, mr.iova + 1024, 1), KeyVerdict::kState);
    EXPECT_EQ(table.impl().find(mr.key)->windows, 0u);
}

TEST_F(WindowTest, EndOfAQueuePairUnbindsItsTypeTwoWindows) {
    ASSERT_EQ(table.bind(qp, request(mw1, mr)), KeyVerdict::kOk);
    ASSERT_EQ(table.bind(qp, request(mw2, mr)), KeyVerdict::kOk);
    const std::uint32_t mw3 = create_kind(DINGO_MRT_MW2);
    ASSERT_EQ(table.bind(other, request(mw3, mr)), KeyVerdict::kOk);
    table.unbind_windows_of(qp);
    EXPECT_EQ(table.impl().find(mr.key)->windows, 2u);
    EXPECT_EQ(check(mw2 ^ 1, mr.iova + 1024, 1), KeyVerdict::kState);
    table.impl().destroy(*table.impl().find(mw3 ^ 1));
    table.impl().destroy(*table.impl().find(mw1 ^ 1));
    EXPECT_EQ(table.impl().find(mr.key)->windows, 0u);
    table.unbind_windows_of(other);  // no windows are left
}

TEST_F(WindowTest, PausedRegionPausesItsWindows) {
    ASSERT_EQ(table.bind(qp, request(mw1, mr)), KeyVerdict::kOk);
    table.impl().find(mr.key)->state = MemoryRegion::State::kPaused;
    EXPECT_EQ(check(mw1 ^ 1, mr.iova + 1024, 1), KeyVerdict::kPaused);
}

TEST_F(WindowTest, OrdinaryKeysCannotBeInvalidated) {
    EXPECT_EQ(table.invalidate(qp, mr.key), KeyVerdict::kNoAccess);
    EXPECT_EQ(table.invalidate(qp, mw1), KeyVerdict::kNoAccess);
    EXPECT_EQ(table.invalidate(qp, mr.key ^ 1), KeyVerdict::kNoKey);
    qp.pdn = 3;
    EXPECT_EQ(table.invalidate(qp, mw2), KeyVerdict::kWrongPd);
}

// --- fast registration

TEST_F(MemoryTableTest, FastRegistrationIsForQueuePairsOfTheRegionsDomain) {
    dingo_wqe_reg reg{};
    reg.pbl_addr = host.alloc(4096);
    host.store(reg.pbl_addr, host.alloc(4096));
    reg.length = 4096;
    reg.page_shift = 12;
    reg.key = create_kind(DINGO_MRT_FRWR, 4 << 12);
    reg.access = DINGO_ACC_LOCAL_WRITE;
    qp.privileged = true;
    qp.pdn = 2;
    EXPECT_EQ(table.fast_register(qp, reg), KeyVerdict::kWrongPd);
    qp.pdn = 1;
    EXPECT_EQ(table.fast_register(qp, reg), KeyVerdict::kOk);
}

TEST_F(MemoryTableTest, FastRegistrationReachesToTheLastByteOfItsPages) {
    qp.privileged = true;
    for (const std::uint8_t shift : {std::uint8_t{12}, std::uint8_t{16}}) {
        const std::uint64_t page = 1ull << shift;
        for (const std::uint64_t pages : {1, 4}) {
            for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{1}, page - 1}) {
                const std::uint32_t key = create_kind(DINGO_MRT_FRWR, pages << 12);
                dingo_wqe_reg reg{};
                reg.pbl_addr = host.alloc(4096);
                reg.page_shift = shift;
                reg.key = key;
                reg.access = DINGO_ACC_LOCAL_WRITE;
                reg.offset = static_cast<std::uint32_t>(offset);
                reg.length = pages * page - offset + 1;
                EXPECT_EQ(table.fast_register(qp, reg), KeyVerdict::kBounds) << offset;
                --reg.length;
                EXPECT_EQ(table.fast_register(qp, reg), KeyVerdict::kOk) << offset;
                EXPECT_EQ(check(key, reg.iova, reg.length, 0), KeyVerdict::kOk);
                EXPECT_EQ(check(key, reg.iova, reg.length + 1, 0), KeyVerdict::kBounds);
            }
        }
    }
}

TEST_F(MemoryTableTest, FastRegistrationNeedsAFreeRegionAPrivilegedQueuePairAndFittingPages) {
    const std::uint32_t key = create_kind(DINGO_MRT_FRWR, 4 << 12);
    EXPECT_EQ(check(key, 0, 1), KeyVerdict::kState);
    const auto pages = host.alloc_pages(5);
    dingo_wqe_reg reg{};
    reg.pbl_addr = host.alloc(4096);
    for (std::size_t i = 0; i < 5; ++i) {
        host.store(reg.pbl_addr + i * 8, pages[i]);
    }
    reg.iova = 0x1000'0010;
    reg.offset = 16;
    reg.length = 3 * 4096;
    reg.page_shift = 12;
    reg.key = key ^ 0x42;
    reg.access = DINGO_ACC_LOCAL_WRITE | DINGO_ACC_REMOTE_WRITE;
    EXPECT_EQ(table.fast_register(qp, reg), KeyVerdict::kNoAccess);
    qp.privileged = true;
    auto bad = reg;
    bad.access = DINGO_ACC_REMOTE_WRITE;
    EXPECT_EQ(table.fast_register(qp, bad), KeyVerdict::kNoAccess);
    bad = reg;
    bad.length = 4 * 4096;  // five pages with the offset
    EXPECT_EQ(table.fast_register(qp, bad), KeyVerdict::kBounds);
    bad.length = 0;
    EXPECT_EQ(table.fast_register(qp, bad), KeyVerdict::kBounds);
    bad.iova = 0;
    EXPECT_EQ(table.fast_register(qp, bad), KeyVerdict::kBounds) << "length 0 on a page's start";
    bad.iova = reg.iova;
    bad.length = ~0ull;
    EXPECT_EQ(table.fast_register(qp, bad), KeyVerdict::kBounds);
    bad = reg;
    bad.offset = 4096;
    EXPECT_EQ(table.fast_register(qp, bad), KeyVerdict::kBounds);
    bad = reg;
    bad.page_shift = 63;
    EXPECT_EQ(table.fast_register(qp, bad), KeyVerdict::kBounds);
    bad = reg;
    bad.iova = ~0ull - 100;
    EXPECT_EQ(table.fast_register(qp, bad), KeyVerdict::kBounds);
    bad = reg;
    for (int bit = 8; bit < 32; ++bit) {
        bad.key = key ^ 1u << bit;
        EXPECT_EQ(table.fast_register(qp, bad), KeyVerdict::kNoKey) << bit;
    }

    ASSERT_EQ(table.fast_register(qp, reg), KeyVerdict::kOk);
    EXPECT_EQ(table.fast_register(qp, reg), KeyVerdict::kState);
    const auto data = pattern(reg.length);
    ASSERT_EQ(check(reg.key, reg.iova, reg.length), KeyVerdict::kOk);
    ASSERT_TRUE(table.write(range, 0, data));
    EXPECT_TRUE(std::ranges::equal(host.bytes(pages[0] + 16, 4080), std::span(data).first(4080)));
    EXPECT_TRUE(std::ranges::equal(host.bytes(pages[3], 16), std::span(data).last(16)));

    ASSERT_EQ(table.invalidate(qp, reg.key), KeyVerdict::kOk);
    EXPECT_EQ(check(reg.key, reg.iova, 1), KeyVerdict::kState);
    reg.key ^= 1;
    host.store(reg.pbl_addr, pages[4]);  // a new list at the same address is reread
    ASSERT_EQ(table.fast_register(qp, reg), KeyVerdict::kOk);
    ASSERT_EQ(check(reg.key, reg.iova, 4), KeyVerdict::kOk);
    ASSERT_TRUE(table.write(range, 0, std::span(data).first(4)));
    EXPECT_TRUE(std::ranges::equal(host.bytes(pages[4] + 16, 4), std::span(data).first(4)));
}

}  // namespace
}  // namespace dingo::model
