// SPDX-License-Identifier: BSD-2-Clause
//
// A WRITE from one client to another between two cards: shared memory and the slow path.
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "base/monotonic_clock.h"
#include "base/offenders.h"
#include "pretend.h"
#include "two_cards.h"

namespace dingo::uverbs::test {
namespace {

constexpr std::size_t kPages = 8;
constexpr std::size_t kBytes = kPages * kPageBytes;
constexpr std::uint32_t kAccess = 0x7;  // local write, remote write, remote read

/// Returns this process's memory: it is its own client.
std::shared_ptr<ClientMemory> own_memory() {
    return std::make_shared<ClientMemory>(::getpid(), ForeignFd(::open("/proc/self/mem", O_RDWR)));
}

/// Memory whose pages 2 to 5 are a sealed file, as made by the preload library.
struct Buffer {
    Buffer() {
        at = static_cast<std::byte*>(
            ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        fd = UniqueFd(::memfd_create("segment", MFD_CLOEXEC | MFD_ALLOW_SEALING));
        EXPECT_EQ(::ftruncate(fd.get(), 4 * kPageBytes), 0);
        EXPECT_EQ(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
        EXPECT_NE(::mmap(at + 2 * kPageBytes, 4 * kPageBytes, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_FIXED, fd.get(), 0),
                  MAP_FAILED);
    }
    ~Buffer() { ::munmap(at, kBytes); }
    [[nodiscard]] std::uint64_t va() const { return reinterpret_cast<std::uint64_t>(at); }
    /// Returns a region that begins and ends inside a page.
    [[nodiscard]] Mr::Range range(std::shared_ptr<ClientMemory> memory) const {
        return {std::move(memory),
                va() + 100,
                kBytes - 300,
                va() + 100,
                {{va() + 2 * kPageBytes, 4 * kPageBytes, 0, fd.get()}}};
    }
    std::byte* at = nullptr;
    UniqueFd fd;
};

class DataPath : public TwoCards {
  protected:
    void connect_both() {
        qa = ca.make_qp();
        qb = cb.make_qp();
        connect(qa, qb);
    }
    /// Posts a WRITE of the first bytes of a buffer's region, on card a.
    void post_write(const Buffer& from, const Mr& mr, std::uint32_t bytes, std::uint64_t raddr,
                    std::uint32_t rkey) {
        dingo_sge sge{};
        sge.addr = from.va() + 100;
        sge.lkey = mr.key();
        sge.length = bytes;
        ca.post_write(qa, sge, raddr, rkey);
        ca.kick();
    }

    Client ca{*a}, cb{*b};
    Client::QpRings qa, qb;
    std::shared_ptr<ClientMemory> memory = own_memory();
};

TEST_F(DataPath, WriteCrossesSharedAndSlowParts) {
    Buffer from, to;
    for (std::size_t i = 0; i < kBytes; ++i) {
        from.at[i] = static_cast<std::byte>(i * 31 + (i >> 8));
    }
    Udata none;
    Mr mr_a(a->driver, *ca.pd, from.range(memory), kAccess, none);
    Mr mr_b(b->driver, *cb.pd, to.range(memory), kAccess, none);
    connect_both();

    ca.arm_cq();
    post_write(from, mr_a, kBytes - 300, to.va() + 100, mr_b.key());
    settle();
    const auto done = ca.poll_cq();
    ASSERT_TRUE(done.has_value());
    EXPECT_EQ(done->status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(std::equal(from.at + 100, from.at + kBytes - 200, to.at + 100));
    EXPECT_EQ(to.at[99], std::byte{0});
    EXPECT_EQ(to.at[kBytes - 200], std::byte{0});
    EXPECT_EQ(ca.listener.completions, 1) << "the armed CQ tells its listener";
    EXPECT_EQ(a->driver.bus().errors(), 0U);
    EXPECT_EQ(b->driver.bus().errors(), 0U);
}

// A client punches holes into its memory: its regions become far while its QPs use them.
TEST_F(DataPath, RegionsBecomeFarInUse) {
    Buffer from, to;
    const auto account = std::make_shared<Account>(false);
    const auto whose = std::make_shared<ClientMemory>(
        ::getpid(), ForeignFd(::open("/proc/self/mem", O_RDWR | O_CLOEXEC)), account);
    Udata none;
    Mr mr_a(a->driver, *ca.pd, from.range(memory), kAccess, none);
    Mr mr_b(b->driver, *cb.pd, to.range(whose), kAccess, none);
    connect_both();
    const auto write = [&](std::byte value) {
        std::memset(from.at, static_cast<int>(value), kBytes);
        post_write(from, mr_a, kBytes - 300, to.va() + 100, mr_b.key());
        std::optional<dingo_cqe> done;
        for (int i = 0; i < 1000 && !done; ++i) {
            settle();
            done = ca.poll_cq();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        ASSERT_TRUE(done.has_value());
        EXPECT_EQ(done->status, DINGO_WCS_SUCCESS);
        EXPECT_TRUE(std::equal(from.at + 100, from.at + kBytes - 200, to.at + 100));
    };
    write(std::byte{1});
    EXPECT_EQ(b->driver.make_far(account), 1U);
    EXPECT_EQ(b->driver.make_far(account), 0U);
    write(std::byte{2});
    EXPECT_EQ(b->driver.bus().errors(), 0U);
}

// All that an offender registers is far for a while.
TEST_F(DataPath, NewRegionsOfAnOffenderAreFar) {
    Buffer to;
    const auto account = std::make_shared<Account>(true, 12345);
    const auto whose = std::make_shared<ClientMemory>(
        ::getpid(), ForeignFd(::open("/proc/self/mem", O_RDWR | O_CLOEXEC)), account);
    Udata none;
    Mr near(b->driver, *cb.pd, to.range(whose), kAccess, none);
    // Its pages are not there yet.
    const std::size_t length = kPageBytes;
    auto* const hole = static_cast<std::byte*>(
        ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    const OwnedMemory owned(std::span(hole, length), MemoryOwner{account, 0, nullptr});
    EXPECT_EQ(offenders().held(hole, nullptr, length, 2 * Offenders::kFree, clock_now()),
              Offenders::Verdict::kOffence);
    Mr far(b->driver, *cb.pd, to.range(whose), kAccess, none);
    EXPECT_EQ(b->driver.make_far(account), 1U) << "the second one is";
    ::munmap(hole, length);
}

TEST_F(DataPath, MessagesOfADestroyedQpStayCounted) {
    Buffer from, to;
    Udata none;
    Mr mr_a(a->driver, *ca.pd, from.range(memory), kAccess, none);
    Mr mr_b(b->driver, *cb.pd, to.range(memory), kAccess, none);
    connect_both();
    for (int i = 0; i < 3; ++i) {
        post_write(from, mr_a, 64, to.va() + 100, mr_b.key());
        settle();
    }
    EXPECT_EQ(a->driver.messages_of_gone(), 0U);
    qa.qp.reset();
    EXPECT_EQ(a->driver.messages_of_gone(), 3U);
    ca.make_qp().qp.reset();
    EXPECT_EQ(a->driver.messages_of_gone(), 3U);
}

TEST_F(DataPath, AnswerThatWaitedForTheProcessorIsNoTimeout) {
    Buffer from, to;
    Udata none;
    Mr mr_a(a->driver, *ca.pd, from.range(memory), kAccess, none);
    Mr mr_b(b->driver, *cb.pd, to.range(memory), kAccess, none);
    connect_both();
    const auto timeouts = [&] {
        const auto counters = a->driver.card_counters();
        return std::ranges::find(counters, "local_ack_timeout_err",
                                 [](const auto& counter) { return counter.first; })
            ->second;
    };
    post_write(from, mr_a, 64, to.va() + 100, mr_b.key());
    while (a->poll(now)) {
    }
    // More frames than a round handles arrive before the acknowledgement.
    constexpr std::size_t kMinFrame = 60;
    for (int i = 0; i < 300; ++i) {
        const auto room = wires.second->begin_frame(kMinFrame);
        ASSERT_FALSE(room.empty());
        std::ranges::fill(room, std::byte{0});
        wires.second->end_frame(kMinFrame);
    }
    for (int i = 0; i < 20; ++i) {
        b->poll(now);
    }
    now += 100'000'000;  // T_tr of timeout 14 is 67 ms
    a->poll(now);
    EXPECT_EQ(timeouts(), 0U);
    settle();
    EXPECT_EQ(ca.poll_cq().value().status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(timeouts(), 0U);
}

// The card's thread was held up between a request in the loopback and its answer.
TEST_F(DataPath, AnswerInTheLoopbackThatWaitedIsNoTimeout) {
    Buffer from, to;
    Udata none;
    Mr mr_from(a->driver, *ca.pd, from.range(memory), kAccess, none);
    Mr mr_to(a->driver, *ca.pd, to.range(memory), kAccess, none);
    qa = ca.make_qp();
    qb = ca.make_qp();
    const Gid gid = a->driver.gids().at(1).gid;
    to_rts(qa, *a, qb.qp->number(), gid);
    to_rts(qb, *a, qa.qp->number(), gid);
    post_write(from, mr_from, 64, to.va() + 100, mr_to.key());
    a->poll(now);
    EXPECT_FALSE(ca.poll_cq().has_value()) << "the answer is not there yet";
    now += 100'000'000;  // T_tr of timeout 14 is 67 ms
    a->poll(now);
    settle();
    EXPECT_EQ(ca.poll_cq().value().status, DINGO_WCS_SUCCESS);
    const auto counters = a->driver.card_counters();
    EXPECT_EQ(std::ranges::find(counters, "local_ack_timeout_err",
                                [](const auto& counter) { return counter.first; })
                  ->second,
              0U);
}

TEST_F(DataPath, MemoryOfAnotherProcess) {
    Buffer from;
    auto* const theirs = static_cast<std::byte*>(
        ::mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    int go[2], told[2];
    ASSERT_EQ(::pipe(go), 0);
    ASSERT_EQ(::pipe(told), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        char c = 0;
        static_cast<void>(::read(go[0], &c, 1));
        const char seen = static_cast<char>(theirs[10]);
        static_cast<void>(::write(told[1], &seen, 1));
        ::_exit(0);
    }
    const std::string path = "/proc/" + std::to_string(child) + "/mem";
    ForeignFd mem(::open(path.c_str(), O_RDWR));
    ASSERT_TRUE(bool(mem));
    auto other = std::make_shared<ClientMemory>(child, std::move(mem));
    Udata none;
    Mr mr_a(a->driver, *ca.pd, from.range(memory), kAccess, none);
    const auto va = reinterpret_cast<std::uint64_t>(theirs);
    Mr mr_b(b->driver, *cb.pd, {other, va, kPageBytes, va, {}}, kAccess, none);
    connect_both();
    from.at[110] = std::byte{0x5c};
    post_write(from, mr_a, 64, va, mr_b.key());
    ASSERT_EQ(wait_cqe(ca).status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(theirs[10], std::byte{0}) << "not this process's copy";
    char seen = 0;
    ASSERT_EQ(::write(go[1], "x", 1), 1);
    ASSERT_EQ(::read(told[0], &seen, 1), 1);
    EXPECT_EQ(seen, 0x5c);
    ::waitpid(child, nullptr, 0);

    // The process has exited: its memory is a bus error, the card continues.
    post_write(from, mr_a, 64, va, mr_b.key());
    EXPECT_NE(wait_cqe(ca).status, DINGO_WCS_SUCCESS);
    for (const int fd : {go[0], go[1], told[0], told[1]}) {
        ::close(fd);
    }
    ::munmap(theirs, kPageBytes);
}

TEST_F(DataPath, BadRegionsAreRefused) {
    Buffer buffer;
    Udata none;
    const auto reg = [&](const Mr::Range& range, std::uint32_t access) {
        return errno_of([&] { Mr mr(a->driver, *ca.pd, range, access, none); });
    };
    Mr::Range range = buffer.range(memory);
    EXPECT_EQ(reg(range, kAccess), 0);
    EXPECT_EQ(reg(range, 1U << 6), EOPNOTSUPP) << "on demand";
    range.length = 0;
    EXPECT_EQ(reg(range, kAccess), EINVAL);
    range.iova = 0;
    EXPECT_EQ(reg(range, kAccess), EINVAL) << "no length must never mean all memory";
    range.segments.clear();
    range.length = a->driver.query_device().max_mr_size + 1;
    EXPECT_EQ(reg(range, kAccess), EINVAL);
    range = buffer.range(memory);
    range.iova = ~std::uint64_t{0} - 10;
    EXPECT_EQ(reg(range, kAccess), EINVAL);
    range.iova = std::uint64_t{0} - range.length;
    EXPECT_EQ(reg(range, kAccess), 0) << "the last byte has the last address";
    ++range.iova;
    EXPECT_EQ(reg(range, kAccess), EINVAL);
    range = buffer.range(memory);
    range.segments[0].offset = kPageBytes;
    EXPECT_EQ(reg(range, kAccess), EINVAL) << "beyond the end of the file";
    UniqueFd unsealed(::memfd_create("unsealed", MFD_CLOEXEC));
    ASSERT_EQ(::ftruncate(unsealed.get(), 4 * kPageBytes), 0);
    range = buffer.range(memory);
    range.segments[0].fd = unsealed.get();
    EXPECT_EQ(reg(range, kAccess), EINVAL) << "could shrink";
    constexpr std::size_t kHuge = 2 << 20;
    const UniqueFd huge(::memfd_create("huge", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB));
    if (huge && ::ftruncate(huge.get(), kHuge) == 0 &&
        ::fcntl(huge.get(), F_ADD_SEALS, F_SEAL_SHRINK) == 0) {
        range.segments[0].fd = huge.get();
        EXPECT_EQ(reg(range, kAccess), EINVAL) << "its pages may not exist";
    }
    range = buffer.range(memory);
    range.segments.push_back(range.segments[0]);
    EXPECT_EQ(reg(range, kAccess), EINVAL) << "overlap";
    const SharedSegment good = buffer.range(memory).segments[0];
    const auto with = [&](auto&& change) {
        Mr::Range changed = buffer.range(memory);
        change(changed.segments[0]);
        return reg(changed, kAccess);
    };
    EXPECT_EQ(with([](SharedSegment& s) { s.length = 0; }), EINVAL);
    EXPECT_EQ(with([](SharedSegment& s) { s.length -= 1; }), EINVAL);
    EXPECT_EQ(with([](SharedSegment& s) { s.va += 1; }), EINVAL);
    EXPECT_EQ(with([](SharedSegment& s) { s.offset = 1; }), EINVAL);
    EXPECT_EQ(with([](SharedSegment& s) { s.va = UINT64_MAX - kPageBytes + 1; }), EINVAL);
    EXPECT_EQ(with([](SharedSegment& s) { s.length += kPageBytes; }), EINVAL) << "a short file";
    EXPECT_EQ(with([](SharedSegment& s) { s.va -= kBytes; }), 0) << "elsewhere: not needed";
    range = buffer.range(memory);
    range.segments = {good, good};
    range.segments[0].length = range.segments[1].offset = 2 * kPageBytes;
    range.segments[1].length = 2 * kPageBytes;
    range.segments[1].va += 2 * kPageBytes;
    EXPECT_EQ(reg(range, kAccess), 0) << "side by side";
    std::swap(range.segments[0], range.segments[1]);
    EXPECT_EQ(reg(range, kAccess), EINVAL) << "out of order";
    const std::uint64_t most = a->driver.query_device().max_mr_size;
    EXPECT_EQ(reg({memory, kPageBytes, most, kPageBytes, {}}, kAccess), 0);
    EXPECT_EQ(reg({memory, kPageBytes, most + 1, kPageBytes, {}}, kAccess), EINVAL);
    EXPECT_EQ(
        errno_of([&] { Mr mr(a->driver, *ca.pd, buffer.fd.get(), 0, kPageBytes, 0, kAccess); }),
        EINVAL)
        << "no DMABuf";
    EXPECT_EQ(a->driver.keys().indexes().in_use(), 0U);
}

TEST_F(DataPath, RegionsOverTheSameFileShareAMapping) {
    Buffer buffer;
    Udata none;
    const std::size_t windows = a->driver.bus().size();
    const std::size_t mappings = mappings_of("memfd:segment");
    Mr first(a->driver, *ca.pd, buffer.range(memory), kAccess, none);
    Mr second(a->driver, *ca.pd, buffer.range(memory), kAccess, none);
    EXPECT_EQ(mappings_of("memfd:segment"), mappings + 1);
    auto& bus = a->driver.bus();
    EXPECT_EQ(bus.size(), windows + 2);
    EXPECT_NE(first.key(), second.key());
}

TEST_F(DataPath, ARegionThatIsGoneLeavesNoMapping) {
    Buffer buffer;
    Udata none;
    const std::size_t mappings = mappings_of("memfd:segment");
    for (int n = 0; n < 3; ++n) {
        Mr mr(a->driver, *ca.pd, buffer.range(memory), kAccess, none);
    }
    EXPECT_EQ(mappings_of("memfd:segment"), mappings);
}

TEST_F(DataPath, AReadOnlyDescriptorStaysReadOnlyBesideAWritableOne) {
    Buffer buffer;
    const std::string path = "/proc/self/fd/" + std::to_string(buffer.fd.get());
    const UniqueFd read_only(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(bool(read_only));
    Udata none;
    Mr::Range theirs = buffer.range(memory);
    theirs.segments[0].fd = read_only.get();
    const auto reg = [&](std::uint32_t access) {
        return errno_of([&] { Mr mr(a->driver, *ca.pd, theirs, access, none); });
    };
    EXPECT_EQ(reg(kAccess), EINVAL) << "alone";
    Mr writable(a->driver, *ca.pd, buffer.range(memory), kAccess, none);
    EXPECT_EQ(reg(kAccess), EINVAL) << "over a mapping that is writable";
    constexpr std::uint32_t kRemoteRead = 4;
    Mr readable(a->driver, *ca.pd, theirs, kRemoteRead, none);
    EXPECT_EQ(errno_of([&] { readable.rereg(4, nullptr, nullptr, kAccess); }), EFAULT);
    EXPECT_EQ(errno_of([&] { readable.rereg(4, nullptr, nullptr, 0); }), 0);
}

// A read-only mapping must not be used for writing: the card would crash.
TEST_F(DataPath, AWritableDescriptorIsMappedAnewBesideAReadOnlyOne) {
    Buffer from, to;
    const std::string path = "/proc/self/fd/" + std::to_string(to.fd.get());
    const UniqueFd read_only(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    Udata none;
    constexpr std::uint32_t kRemoteRead = 4;
    Mr::Range theirs = to.range(memory);
    theirs.segments[0].fd = read_only.get();
    const Mr readable(b->driver, *cb.pd, theirs, kRemoteRead, none);
    const Mr writable(b->driver, *cb.pd, to.range(memory), kAccess, none);
    const Mr mr_a(a->driver, *ca.pd, from.range(memory), kAccess, none);
    connect_both();
    from.at[3 * kPageBytes] = std::byte{0x2e};
    post_write(from, mr_a, kBytes - 300, to.va() + 100, writable.key());
    settle();
    EXPECT_EQ(ca.poll_cq().value().status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(to.at[3 * kPageBytes], std::byte{0x2e});
}

TEST_F(DataPath, ReregGivesAndTakesRights) {
    Buffer from, to;
    Udata none;
    Mr mr_a(a->driver, *ca.pd, from.range(memory), kAccess, none);
    Mr mr_b(b->driver, *cb.pd, to.range(memory), 0, none);
    connect_both();
    mr_b.rereg(4, nullptr, nullptr, kAccess);
    from.at[3 * kPageBytes] = std::byte{7};
    from.at[7 * kPageBytes] = std::byte{8};
    post_write(from, mr_a, kBytes - 300, to.va() + 100, mr_b.key());
    settle();
    ASSERT_EQ(ca.poll_cq().value().status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(to.at[3 * kPageBytes], std::byte{7});
    EXPECT_EQ(to.at[7 * kPageBytes], std::byte{8});
    EXPECT_EQ(errno_of([&] { mr_b.rereg(8, nullptr, nullptr, 0); }), EOPNOTSUPP);
    EXPECT_EQ(errno_of([&] { mr_b.rereg(1, nullptr, nullptr, 0); }), EINVAL) << "no range";
    EXPECT_EQ(errno_of([&] { mr_b.rereg(2, nullptr, nullptr, 0); }), EINVAL) << "no PD";

    // Access rights granted later belong to the region, wherever its memory is.
    Buffer elsewhere;
    const Mr::Range there = elsewhere.range(memory);
    mr_b.rereg(1, nullptr, &there, 0);
    post_write(from, mr_a, kBytes - 300, elsewhere.va() + 100, mr_b.key());
    settle();
    ASSERT_EQ(ca.poll_cq().value().status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(elsewhere.at[3 * kPageBytes], std::byte{7});
    EXPECT_EQ(elsewhere.at[7 * kPageBytes], std::byte{8});

    // The region stays there when something else changes.
    mr_b.rereg(4, nullptr, nullptr, kAccess);
    from.at[3 * kPageBytes] = std::byte{9};
    post_write(from, mr_a, kBytes - 300, elsewhere.va() + 100, mr_b.key());
    settle();
    ASSERT_EQ(ca.poll_cq().value().status, DINGO_WCS_SUCCESS);
    EXPECT_EQ(elsewhere.at[3 * kPageBytes], std::byte{9});
    EXPECT_EQ(to.at[3 * kPageBytes], std::byte{7});
}

/// Returns the bus address of memory that contains `bytes`, 0 if there is none.
std::uint64_t address_of(BusMap& bus, std::span<const std::byte> bytes) {
    std::vector<std::byte> seen(bytes.size());
    for (std::uint64_t window = 1; window < 1000; ++window) {
        const std::uint64_t at = window << BusMap::kOffsetBits;
        if (bus.read(at, seen) && std::ranges::equal(seen, bytes)) {
            return at;
        }
    }
    return 0;
}

// A read-only region may be in memory that cannot be written at all.
TEST_F(DataPath, ReregWithoutRightsAsksForNoneOfTheMemory) {
    Buffer before, after;
    Udata none;
    const auto read_only = [&](Buffer& buffer, UniqueFd& keep) {
        const std::string path = "/proc/self/fd/" + std::to_string(buffer.fd.get());
        keep.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        Mr::Range range = buffer.range(memory);
        range.segments[0].fd = keep.get();
        return range;
    };
    UniqueFd before_fd, after_fd;
    constexpr std::uint32_t kRemoteRead = 4;
    Mr mr(a->driver, *ca.pd, read_only(before, before_fd), kRemoteRead, none);
    const Mr::Range there = read_only(after, after_fd);
    std::memcpy(after.at, "after", 5);
    EXPECT_EQ(errno_of([&] { mr.rereg(1, nullptr, &there, 0); }), 0);
    const std::uint64_t at = address_of(a->driver.bus(), {after.at, 5});
    ASSERT_NE(at, 0U);
    EXPECT_FALSE(a->driver.bus().write(at, {before.at, 5})) << "and gets none";
}

TEST_F(DataPath, RightsThatTheCardDidNotGiveAreTakenBack) {
    Buffer buffer;
    Udata none;
    std::memcpy(buffer.at, "buffer", 6);
    Mr mr(a->driver, *ca.pd, buffer.range(memory), 0, none);
    BusMap& bus = a->driver.bus();
    const std::uint64_t at = address_of(bus, {buffer.at, 6});
    ASSERT_NE(at, 0U);
    EXPECT_FALSE(bus.write(at, {buffer.at, 6}));
    a->driver.admin().fail();
    EXPECT_EQ(errno_of([&] { mr.rereg(4, nullptr, nullptr, kAccess); }), EIO);
    EXPECT_FALSE(bus.write(at, {buffer.at, 6}));
}

TEST_F(DataPath, WindowsKeepTheirRegionBusy) {
    Buffer buffer;
    Udata none;
    Mr mr(a->driver, *ca.pd, buffer.range(memory), kAccess | 1U << 4, none);
    EXPECT_EQ(errno_of([&] { Mw bad(a->driver, *ca.pd, 3, none); }), EOPNOTSUPP);
    Mw mw(a->driver, *ca.pd, 1, none);
    connect_both();
    const auto post_bind = [&](std::uint64_t length) {
        dingo_wqe_ctrl ctrl{};
        ctrl.opcode = DINGO_WR_BIND_MW;
        ctrl.flags = DINGO_WQE_CTRL_FLAGS_SIGNALED_MASK;
        ctrl.blocks = 1;
        dingo_wqe_bind what{};
        what.addr = buffer.va() + 100;
        what.length = length;
        what.mr_key = mr.key();
        what.mw_key = what.new_key = mw.key();
        what.access = DINGO_ACC_REMOTE_READ;
        std::byte* const block =
            qa.sq.memory.data() + (qa.producer % (1U << qa.sq.map.log_size)) * DINGO_SQ_BLOCK;
        std::memcpy(block, &ctrl, sizeof ctrl);
        std::memcpy(block + sizeof ctrl, &what, sizeof what);
        qa.sq.ring(DINGO_DB_SQ, qa.qp->number(), ++qa.producer);
        ca.kick();
    };
    const auto bind = [&](std::uint64_t length) {
        post_bind(length);
        settle();
        EXPECT_EQ(ca.poll_cq().value().status, DINGO_WCS_SUCCESS);
    };
    bind(100);
    EXPECT_EQ(errno_of([&] { mr.destroy(); }), EBUSY);
    EXPECT_EQ(errno_of([&] { mr.rereg(4, nullptr, nullptr, kAccess); }), EBUSY);
    Buffer from;
    from.at[100] = std::byte{0x6b};
    Mr theirs(b->driver, *cb.pd, from.range(memory), kAccess, none);
    dingo_sge sge{};
    sge.addr = from.va() + 100;
    sge.lkey = theirs.key();
    sge.length = 8;
    cb.post_write(qb, sge, buffer.va() + 100, mr.key());
    cb.kick();
    settle();
    EXPECT_EQ(cb.poll_cq().value().status, DINGO_WCS_SUCCESS) << "a refusal takes no rights";
    EXPECT_EQ(buffer.at[100], std::byte{0x6b});
    bind(0);
    // A client binds while it deregisters: one of the two is refused, and no window remains on
    // memory that is reused.
    post_bind(100);
    const int error = errno_of([&] { mr.destroy(); });
    settle();
    EXPECT_EQ(ca.poll_cq().value().status == DINGO_WCS_SUCCESS, error == EBUSY);
}

TEST_F(DataPath, ARegionThatItsOwnerDestroyedIsDestroyedOnce) {
    const auto refused = [&] {
        for (const auto& [name, value] : a->driver.card_counters()) {
            if (name == "admin_errors") {
                return value;
            }
        }
        return ~std::uint64_t{0};
    };
    Buffer buffer;
    Udata none;
    const std::size_t windows = a->driver.bus().size();
    const std::size_t keys = a->driver.keys().indexes().in_use();
    const std::uint64_t before = refused();
    {
        Mr mr(a->driver, *ca.pd, buffer.range(memory), kAccess, none);
        Dm dm(a->driver, *ca.context, 4096, 0);
        Mr in_device(a->driver, *ca.pd, dm, 0, 4096, kAccess | 1U << 5);
        mr.destroy();
        in_device.destroy();
    }
    EXPECT_EQ(refused(), before);
    EXPECT_EQ(a->driver.bus().size(), windows);
    EXPECT_EQ(a->driver.keys().indexes().in_use(), keys);
}

TEST_F(DataPath, ARegionThatTheCardDoesNotLetGoOfKeepsItsPlaceOnTheBus) {
    Buffer buffer;
    Udata none;
    BusMap& bus = a->driver.bus();
    const std::size_t windows = bus.size();
    auto mr = std::make_unique<Mr>(a->driver, *ca.pd, buffer.range(memory), kAccess, none);
    a->driver.admin().destroy(DINGO_OP_DESTROY_MR, mr->key());  // a second DESTROY_MR is refused
    mr.reset();
    EXPECT_EQ(bus.size(), windows + 1);
    auto dm = std::make_unique<Dm>(a->driver, *ca.context, 4096, 0);
    mr = std::make_unique<Mr>(a->driver, *ca.pd, *dm, 0, 4096, kAccess | 1U << 5);
    a->driver.admin().destroy(DINGO_OP_DESTROY_MR, mr->key());
    mr.reset();
    dm.reset();
    EXPECT_EQ(bus.size(), windows + 2);
}

TEST_F(DataPath, DmaBuf) {
    const UniqueFd device(::open("/dev/udmabuf", O_RDWR));
    UniqueFd memory_fd(::memfd_create("udmabuf", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(::ftruncate(memory_fd.get(), kBytes), 0);
    ASSERT_EQ(::fcntl(memory_fd.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
    udmabuf_create create{};
    create.memfd = static_cast<__u32>(memory_fd.get());
    create.size = kBytes;
    const UniqueFd dmabuf(device ? ::ioctl(device.get(), UDMABUF_CREATE, &create)
                                 : ::fcntl(memory_fd.get(), F_DUPFD_CLOEXEC, 0));
    ASSERT_TRUE(bool(dmabuf));
    std::optional<PretendDmaBuf> pretend;
    if (!device) {
        pretend.emplace(dmabuf.get());
    }
    Buffer from;
    Udata none;
    Mr mr_a(a->driver, *ca.pd, from.range(memory), kAccess, none);
    const auto reg = [&](std::uint64_t offset, std::uint64_t length) {
        return errno_of(
            [&] { Mr mr(b->driver, *cb.pd, dmabuf.get(), offset, length, 0, kAccess); });
    };
    EXPECT_EQ(reg(kBytes - 10, 10), 0);
    EXPECT_EQ(reg(kBytes - 10, 11), EINVAL);
    EXPECT_EQ(reg(kBytes, 1), EINVAL);
    EXPECT_EQ(reg(kBytes + kPageBytes, 10), EINVAL) << "begins beyond its end";
    EXPECT_EQ(reg(0, kBytes), 0);
    EXPECT_EQ(reg(0, 0), EINVAL);
    Mr mr_b(b->driver, *cb.pd, dmabuf.get(), 5000, 1000, 0x7000, kAccess);
    connect_both();
    from.at[100] = std::byte{0x3d};
    post_write(from, mr_a, 1000, 0x7000, mr_b.key());
    settle();
    EXPECT_EQ(ca.poll_cq().value().status, DINGO_WCS_SUCCESS);
    std::byte seen{};
    ASSERT_EQ(::pread(memory_fd.get(), &seen, 1, 5000), 1);
    EXPECT_EQ(seen, std::byte{0x3d});
    EXPECT_EQ(errno_of([&] { mr_b.rereg(4, nullptr, nullptr, kAccess); }), EOPNOTSUPP);
}

TEST_F(DataPath, AQueryTellsHowFarTheCardIs) {
    Buffer from, to;
    Udata none;
    Mr mr_a(a->driver, *ca.pd, from.range(memory), kAccess, none);
    Mr mr_b(b->driver, *cb.pd, to.range(memory), kAccess, none);
    connect_both();
    QpProgress before;
    qa.qp->query(before);
    EXPECT_EQ(before.sq_posted, 0U);
    post_write(from, mr_a, 100, to.va() + 100, mr_b.key());
    settle();
    ASSERT_EQ(ca.poll_cq().value().status, DINGO_WCS_SUCCESS);
    QpProgress after;
    qa.qp->query(after);
    EXPECT_EQ(after.sq_posted, 1U);
    EXPECT_EQ(after.sq_completed, 1U);
    EXPECT_EQ(after.oldest_psn, before.oldest_psn + 1);
    EXPECT_EQ(after.next_psn, after.oldest_psn);
    qb.qp->query(after);
    EXPECT_EQ(after.msn, 1U);
}

TEST_F(DataPath, ErrorsOfAQpReachItsListener) {
    Buffer from;
    Udata none;
    Mr mr_a(a->driver, *ca.pd, from.range(memory), kAccess, none);
    connect_both();
    post_write(from, mr_a, 8, 0x1000, 0xdead0000);
    settle();
    EXPECT_EQ(ca.poll_cq().value().status, DINGO_WCS_REM_ACCESS_ERR);
    EXPECT_EQ(qa.qp->query().qp_state, DINGO_QPS_ERR);
    EXPECT_EQ(cb.listener.events, std::vector<int>{3}) << "QP_ACCESS_ERR of the responder";
}

}  // namespace
}  // namespace dingo::uverbs::test
