// SPDX-License-Identifier: BSD-2-Clause
// Numbers, slots, files and memory of objects: each is reused.
#include <fcntl.h>
#include <malloc.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <list>
#include <set>
#include <thread>
#include <tuple>

#include "../../base/trap.h"
#include "host/driver/object_tables.h"
#include "host/driver/queue_slabs.h"
#include "host/driver/shared_segments.h"
#include "two_cards.h"

namespace dingo::uverbs::test {
namespace {

using ResourcesTest = TwoCards;

struct Piece {
    explicit Piece(QueueSlabs& slabs) : memory(slabs.take(kPageBytes)) {}
    QueueSlabs::Piece memory;
};

void wait_until_cleared(const QueueSlabs& slabs) {
    for (int i = 0; i < 5000 && slabs.clearing() != 0; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(slabs.clearing(), 0U);
}

TEST_F(ResourcesTest, AnotherUserHasAThirdOfTheDeviceMemory) {
    Client c(*a);
    constexpr std::size_t kPiece = 64 * kPageBytes;
    const std::size_t all = a->driver.device_memory().limit() / kPiece;
    const auto foreign = std::make_shared<Account>(true);
    const auto own = std::make_shared<Account>(false);
    std::list<Dm> pieces;
    const auto fill = [&](const std::shared_ptr<Account>& account) {
        const std::size_t before = pieces.size();
        EXPECT_EQ(errno_of([&] {
                      for (;;) {
                          pieces.emplace_back(a->driver, *c.context, kPiece, 0, account);
                      }
                  }),
                  ENOMEM);
        return pieces.size() - before;
    };
    EXPECT_EQ(fill(foreign), all / 3);
    EXPECT_EQ(foreign->used(process_quotas().descriptors), all / 3);
    EXPECT_EQ(foreign->used(process_quotas().mappings), all / 3);
    const Dm rest(a->driver, *c.context, (all - all / 3) * kPiece, 0, own);
    EXPECT_EQ(fill(own), 0U);
    pieces.clear();
    EXPECT_EQ(fill(foreign), all / 3 / 3) << "a third of what the owner leaves";
}

TEST(QueueSlabsTest, AFileIsMadeWhenNoOtherHasRoom) {
    QueueSlabs slabs;
    EXPECT_EQ(slabs.files(), 0U);
    std::list<Piece> pieces;
    std::size_t second = 0;  // index of the first piece in the second file
    while (slabs.files() < 3) {
        pieces.emplace_back(slabs);
        second = slabs.files() == 1 ? pieces.size() : second;
        ASSERT_LT(pieces.size(), 100'000U);
    }
    const std::size_t slots = second;
    ASSERT_EQ(pieces.size(), 2 * slots + 1);
    pieces.erase(std::next(pieces.begin(), static_cast<std::ptrdiff_t>(slots)));
    pieces.pop_front();
    wait_until_cleared(slabs);
    for (std::size_t n = 0; n < slots - 1 + 2; ++n) {
        pieces.emplace_back(slabs);
    }
    EXPECT_EQ(slabs.files(), 3U) << "what is free in all three";
    pieces.emplace_back(slabs);
    EXPECT_EQ(slabs.files(), 4U);
    pieces.clear();
    EXPECT_EQ(slabs.files(), 0U);
}

TEST(QueueSlabsTest, AClientThatHoldsItsFilesLockHoldsNobody) {
    dingo::test::Trap trap;
    if (!trap.works()) {
        GTEST_SKIP() << "no userfaultfd";
    }
    QueueSlabs slabs;
    QueueSlabs others;
    std::list<Piece> pieces;
    for (int n = 0; n < 3; ++n) {
        pieces.emplace_back(slabs);
        pieces.emplace_back(others);
    }
    Piece& first = pieces.front();
    const int file = first.memory.fd();
    first.memory.bytes()[0] = std::byte{1};
    const std::uint64_t used = first.memory.offset();
    std::thread writer([&] {  // its own queue, whose lock it holds meanwhile
        std::ignore = ::pwrite(file, trap.page(), 1, static_cast<off_t>(kPageBytes));
    });
    ASSERT_TRUE(trap.wait_until_used());
    EXPECT_TRUE(dingo::test::returns_soon(
        [&] {
            pieces.pop_front();
            pieces.pop_front();
            wait_until_cleared(others);
            EXPECT_EQ(slabs.clearing(), 1U);
            const Piece next(slabs);
            EXPECT_NE(next.memory.offset(), used) << "it is not clear yet";
        },
        [&] { trap.let_go(); }));
    writer.join();
    wait_until_cleared(slabs);
    std::set<std::uint64_t> offsets;
    for (int n = 0; n < 2; ++n) {
        pieces.emplace_back(slabs);
        offsets.insert(pieces.back().memory.offset());
        EXPECT_EQ(pieces.back().memory.bytes()[0], std::byte{0});
    }
    EXPECT_TRUE(offsets.contains(used));
    EXPECT_EQ(slabs.files(), 1U);
}

TEST(QueueSlabsTest, AQueueLeavesNoMemoryBehind) {
    QueueSlabs slabs;
    const Piece stays(slabs);
    struct stat st {};
    {
        const Piece goes(slabs);
        goes.memory.bytes()[0] = std::byte{1};
        ASSERT_EQ(::fstat(stays.memory.fd(), &st), 0);
        EXPECT_GT(st.st_blocks, 0);
    }
    wait_until_cleared(slabs);
    ASSERT_EQ(::fstat(stays.memory.fd(), &st), 0);
    EXPECT_EQ(st.st_blocks, 0);
}

TEST(SharesTest, AnOwnerHasOneWhileItHasContexts) {
    using Kind = ShareOwner::Kind;
    Shares shares(4);
    auto first = shares.of({Kind::kProcess, 7});
    const auto again = shares.of({Kind::kProcess, 7});
    const auto user = shares.of({Kind::kUser, 7});
    const auto nobody = shares.of({});
    EXPECT_EQ(first->get(), 1U) << "0 is none";
    EXPECT_EQ(again->get(), 1U);
    EXPECT_EQ(user->get(), 2U);
    EXPECT_EQ(nobody->get(), 3U);
    EXPECT_EQ(shares.of({}), nullptr) << "its doorbell pages are shares";
    first.reset();
    EXPECT_EQ(shares.of({Kind::kProcess, 7})->get(), 1U);
}

// Otherwise a process that opens the device often, or has QPs on two doorbell pages, would get a
// larger share of the card.
TEST_F(ResourcesTest, ContextsOfAProcessAreOneShare) {
    const auto open = [](Host& host, const ShareOwner& owner) {
        dingo_alloc_ucontext_req req{};
        req.kick_modes = 1U << DINGO_KICK_FD;
        Udata udata{bytes_of(req), {}, {}};
        return std::make_unique<Context>(host.driver, udata, nullptr, owner);
    };
    const ShareOwner process{ShareOwner::Kind::kProcess, 1};
    const auto first = open(*a, process);
    const auto second = open(*a, process);
    const auto other = open(*a, {ShareOwner::Kind::kProcess, 2});
    EXPECT_NE(first->share(), 0U);
    EXPECT_EQ(first->share(), second->share());
    EXPECT_NE(first->share(), other->share());
    Host old(*wires.first, 0x02'44'49'00'00'0C, {"10.77.0.3/24"}, DINGO_CAP_SHARES);
    EXPECT_EQ(open(old, process)->share(), 0U) << "a card without shares";
}

TEST_F(ResourcesTest, AllSlotsOfAPageAreUsedBeforeThereIsAnother) {
    Kick kick(a->card, UniqueFd(::eventfd(0, EFD_CLOEXEC)));
    DoorbellSpace space(a->driver.doorbell_pages(), kick);
    std::list<Doorbell> taken;
    for (std::uint32_t n = DINGO_DB_FIRST_SLOT; n < DINGO_DB_SLOTS; ++n) {
        taken.push_back(space.take());
        EXPECT_EQ(space.pages().size(), 1U);
    }
    for (int n = 0; n < 3; ++n) {  // the first, the last, one between
        const auto at = n == 0   ? taken.begin()
                        : n == 1 ? std::prev(taken.end())
                                 : std::next(taken.begin(), 100);
        const std::uint32_t slot = at->slot();
        taken.erase(at);
        taken.push_back(space.take());
        EXPECT_EQ(taken.back().slot(), slot);
    }
    EXPECT_EQ(space.pages().size(), 1U);
    taken.push_back(space.take());
    EXPECT_EQ(space.pages().size(), 2U);
    EXPECT_NE(&taken.front().page(), &taken.back().page());
}

TEST_F(ResourcesTest, PairsFillAPageToo) {
    Kick kick(a->card, UniqueFd(::eventfd(0, EFD_CLOEXEC)));
    DoorbellSpace space(a->driver.doorbell_pages(), kick);
    std::list<std::pair<Doorbell, Doorbell>> taken;
    std::set<std::uint32_t> slots;
    for (std::uint32_t n = DINGO_DB_FIRST_SLOT; n + 1 < DINGO_DB_SLOTS; n += 2) {
        taken.push_back(space.take_pair());
        EXPECT_EQ(&taken.back().first.page(), &taken.back().second.page());
        slots.insert(taken.back().first.slot());
        slots.insert(taken.back().second.slot());
    }
    EXPECT_EQ(space.pages().size(), 1U);
    EXPECT_EQ(slots.size(), 2 * taken.size());
    EXPECT_GE(*slots.begin(), DINGO_DB_FIRST_SLOT);
    EXPECT_LT(*slots.rbegin(), DINGO_DB_SLOTS);
}

/// Tables store addresses of objects and do not access them.
template <typename Object>
Object& some() {
    alignas(Object) static std::byte memory[sizeof(Object)];
    return reinterpret_cast<Object&>(memory);
}

TEST(CqTableTest, ATakenNumberIsPassedOver) {
    CqTable table(3);
    for (std::uint32_t n = 0; n < 3; ++n) {
        EXPECT_EQ(table.take(some<Cq>()), n);
    }
    table.give_back(1);
    EXPECT_EQ(table.take(some<Cq>()), 1U);
    EXPECT_EQ(errno_of([&] { table.take(some<Cq>()); }), ENOMEM);
}

// A late packet for the previous QP must not hit the new one.
TEST(QpTableTest, ANumberDoesNotComeTwiceInARow) {
    QpTable table(16);
    std::vector<std::uint32_t> taken;
    while (errno_of([&] { taken.push_back(table.take(some<Qp>())); }) == 0) {
        ASSERT_LE(taken.size(), 16U);
    }
    constexpr std::uint32_t kIndex = (1U << DINGO_QPN_INDEX_BITS) - 1;
    std::uint32_t last = taken.front();
    for (int n = 0; n < 3000; ++n) {  // one tag in 256 would be the same by chance
        table.give_back(last);
        const std::uint32_t number = table.take(some<Qp>());
        ASSERT_NE(number, last);
        ASSERT_EQ(number & kIndex, last & kIndex);
        last = number;
    }
}

/// Returns the bytes allocated with malloc(); 0 with another allocator.
std::size_t allocated() {
    return ::mallinfo2().uordblks;
}

TEST(SegmentCacheTest, RegionsThatAreGoneLeaveNoMemory) {
    SegmentCache cache;
    const UniqueFd fd(::memfd_create("segment", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    constexpr std::uint64_t kPages = 8192;
    ASSERT_EQ(::ftruncate(fd.get(), kPages * kPageBytes), 0);
    ASSERT_EQ(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
    const auto map = [&](std::uint64_t first, std::uint64_t end) {
        for (std::uint64_t page = first; page < end; ++page) {
            const SharedSegment segment{0, kPageBytes, page * kPageBytes, fd.get(), false};
            const MappedRange range = cache.map(0, kPageBytes, std::span(&segment, 1), true);
            ASSERT_EQ(range.parts.size(), 1U);
        }
    };
    map(0, kPages / 2);
    const std::size_t before = allocated();
    if (before == 0) {
        GTEST_SKIP() << "the allocator does not count (a sanitizer's)";
    }
    map(kPages / 2, kPages);
    EXPECT_LE(allocated(), before + (64U << 10));
}

TEST(SegmentCacheTest, FilesThatAreGoneLeaveNoMemory) {
    SegmentCache cache;
    const auto map = [&] {
        for (int n = 0; n < 2000; ++n) {
            const UniqueFd fd(::memfd_create("file", MFD_CLOEXEC));
            ASSERT_EQ(::ftruncate(fd.get(), kPageBytes), 0);
            const SharedSegment segment{0, kPageBytes, 0, fd.get(), true};
            const MappedRange range = cache.map(0, kPageBytes, std::span(&segment, 1), true);
            ASSERT_EQ(range.files.size(), 1U);
        }
    };
    map();
    const std::size_t before = allocated();
    if (before == 0) {
        GTEST_SKIP() << "the allocator does not count (a sanitizer's)";
    }
    map();
    EXPECT_LE(allocated(), before + (64U << 10));
}

}  // namespace
}  // namespace dingo::uverbs::test
