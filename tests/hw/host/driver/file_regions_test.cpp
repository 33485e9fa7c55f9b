// SPDX-License-Identifier: BSD-2-Clause
// Regions in files of a client: they keep their memory whatever is unmapped.
#include <dirent.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

#include "../../base/trap.h"
#include "base/elsewhere.h"
#include "base/foreign_fd.h"
#include "host/driver/bus_map.h"
#include "pretend.h"
#include "two_cards.h"

namespace dingo::uverbs::test {
namespace {

constexpr std::size_t kBytes = 4 * kPageBytes;
constexpr std::uint32_t kAccess = 0x7;  // local write, remote write, remote read

/// Returns the number of open descriptors after all released ones were closed (foreign_fd.h).
std::size_t open_descriptors() {
    while (closing_elsewhere() != 0) {
        std::this_thread::yield();
    }
    std::size_t n = 0;
    DIR* dir = ::opendir("/proc/self/fd");
    while (::readdir(dir) != nullptr) {
        ++n;
    }
    ::closedir(dir);
    return n;
}

/// A file as in /dev/shm: not sealed.
struct File {
    File() {
        fd = UniqueFd(::memfd_create("file", MFD_CLOEXEC));
        EXPECT_EQ(::ftruncate(fd.get(), kBytes), 0);
        at = static_cast<std::byte*>(
            ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0));
    }
    ~File() { ::munmap(at, kBytes); }
    [[nodiscard]] std::uint64_t va() const { return reinterpret_cast<std::uint64_t>(at); }
    /// Returns a range that begins and ends inside a page; its segment does not include the last
    /// page.
    [[nodiscard]] Mr::Range range(std::shared_ptr<ClientMemory> memory) const {
        SharedSegment segment{va(), kBytes - kPageBytes, 0, fd.get(), true};
        return {std::move(memory), va() + 100, kBytes - 200, va() + 100, {segment}};
    }
    /// The client maps something else there.
    void replace() const {
        EXPECT_EQ(::mmap(at, kBytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
                  at);
    }
    std::byte* at = nullptr;
    UniqueFd fd;
};

/// A client's write() to its file whose data does not arrive: the kernel holds the file's lock.
class StuckWrite {
  public:
    explicit StuckWrite(int file) : file_(file) {
        fault_.reset(static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK)));
        page_ =
            ::mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        uffdio_api api{};
        api.api = UFFD_API;
        uffdio_register missing{};
        missing.range = range();
        missing.mode = UFFDIO_REGISTER_MODE_MISSING;
        if (!fault_ || ::ioctl(fault_.get(), UFFDIO_API, &api) != 0 ||
            ::ioctl(fault_.get(), UFFDIO_REGISTER, &missing) != 0) {
            return;
        }
        writer_ = std::thread([this] {
            EXPECT_EQ(::pwrite(file_, page_, kPageBytes, kBytes - kPageBytes),
                      static_cast<ssize_t>(kPageBytes));
        });
        pollfd fault{fault_.get(), POLLIN, 0};
        stuck = ::poll(&fault, 1, 5000) == 1;
    }
    ~StuckWrite() {
        let_go();
        if (writer_.joinable()) {
            writer_.join();
        }
        ::munmap(page_, kPageBytes);
    }
    StuckWrite(const StuckWrite&) = delete;
    StuckWrite& operator=(const StuckWrite&) = delete;
    void let_go() {
        uffdio_zeropage zero{};
        zero.range = range();
        ::ioctl(fault_.get(), UFFDIO_ZEROPAGE, &zero);
    }

    bool stuck = false;  ///< false: this user may not use userfaultfd

  private:
    [[nodiscard]] uffdio_range range() const {
        return {reinterpret_cast<std::uint64_t>(page_), kPageBytes};
    }

    int file_;
    UniqueFd fault_;
    void* page_ = nullptr;
    std::thread writer_;
};

class FileRegions : public TwoCards {
  protected:
    void SetUp() override { connect(qa, qb); }
    /// WRITEs all of `from` to all of `to`; returns the status of the completion.
    std::uint32_t copy(const Mr& from, std::uint64_t from_va, const Mr& to, std::uint64_t to_va) {
        dingo_sge sge{};
        sge.addr = from_va + 100;
        sge.lkey = from.key();
        sge.length = kBytes - 200;
        ca.post_write(qa, sge, to_va + 100, to.key());
        ca.kick();
        return wait_cqe(ca).status;
    }
    Client ca{*a}, cb{*b};
    Client::QpRings qa = ca.make_qp(), qb = cb.make_qp();
    std::shared_ptr<ClientMemory> memory = std::make_shared<ClientMemory>(
        ::getpid(), ForeignFd(::open("/proc/self/mem", O_RDWR | O_CLOEXEC)));
    Udata none;
};

TEST_F(FileRegions, KeepTheirMemoryWhenItIsUnmapped) {
    File from, to;
    for (std::size_t i = 0; i < kBytes; ++i) {
        from.at[i] = static_cast<std::byte>(i * 31 + (i >> 8));
    }
    Mr mr_a(a->driver, *ca.pd, from.range(memory), kAccess, none);
    Mr mr_b(b->driver, *cb.pd, to.range(memory), kAccess, none);
    EXPECT_EQ(copy(mr_a, from.va(), mr_b, to.va()), DINGO_WCS_SUCCESS);
    EXPECT_TRUE(std::equal(from.at + 100, from.at + kBytes - 100, to.at + 100));
    EXPECT_EQ(to.at[99], std::byte{0});

    from.at[kPageBytes] = std::byte{0x5a};
    const UniqueFd kept(::fcntl(to.fd.get(), F_DUPFD_CLOEXEC, 0));
    from.replace();
    to.replace();
    from.fd.reset();
    to.fd.reset();
    EXPECT_EQ(copy(mr_a, from.va(), mr_b, to.va()), DINGO_WCS_SUCCESS);
    std::byte seen{};
    ASSERT_EQ(::pread(kept.get(), &seen, 1, kPageBytes), 1);
    EXPECT_EQ(seen, std::byte{0x5a});
    EXPECT_EQ(to.at[kPageBytes], std::byte{0}) << "not what lies there now";
}

// The region begins in the segment's second page and ends beyond the segment.
TEST_F(FileRegions, PartOfASegmentIsThatPartOfTheFile) {
    File from, to;
    for (std::size_t i = 0; i < kBytes; ++i) {
        from.at[i] = static_cast<std::byte>(i * 31 + (i >> 8));
    }
    constexpr std::size_t kFile = 3 * kPageBytes;  // followed by memory of the client
    ASSERT_EQ(::mmap(to.at + kFile, kPageBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
              to.at + kFile);
    const std::uint64_t skipped = kPageBytes - 100;
    const auto later = [&](const File& file) {
        Mr::Range range = file.range(memory);
        range.start += skipped;
        range.iova += skipped;
        range.length -= skipped;
        return range;
    };
    const Mr mr_a(a->driver, *ca.pd, later(from), kAccess, none);
    const Mr mr_b(b->driver, *cb.pd, later(to), kAccess, none);
    dingo_sge sge{};
    sge.addr = from.va() + kPageBytes;
    sge.lkey = mr_a.key();
    sge.length = kBytes - kPageBytes - 100;
    ca.post_write(qa, sge, to.va() + kPageBytes, mr_b.key());
    ca.kick();
    settle();
    EXPECT_EQ(ca.poll_cq().value().status, DINGO_WCS_SUCCESS);
    EXPECT_TRUE(std::equal(from.at + kPageBytes, from.at + kBytes - 100, to.at + kPageBytes));
    std::array<std::byte, kPageBytes> untouched{}, last{};
    ASSERT_EQ(::pread(to.fd.get(), last.data(), last.size(), kFile),
              static_cast<ssize_t>(last.size()));
    EXPECT_EQ(last, untouched) << "the file behind the segment is not the region's";
}

TEST_F(FileRegions, AFileThatGotShorterIsABusErrorAndStaysShort) {
    File from, to;
    Mr mr_a(a->driver, *ca.pd, from.range(memory), kAccess, none);
    Mr mr_b(b->driver, *cb.pd, to.range(memory), kAccess, none);
    ASSERT_EQ(::ftruncate(to.fd.get(), kPageBytes), 0);
    EXPECT_NE(copy(mr_a, from.va(), mr_b, to.va()), DINGO_WCS_SUCCESS);
    EXPECT_EQ(::lseek(to.fd.get(), 0, SEEK_END), static_cast<off_t>(kPageBytes));
    const auto counters = b->driver.card_counters();
    const auto errors =
        std::ranges::find(counters, "dma_errors", &decltype(counters)::value_type::first);
    ASSERT_NE(errors, counters.end());
    EXPECT_GT(errors->second, 0U);
}

TEST_F(FileRegions, AClientThatHoldsItsFilesLockDoesNotHoldTheCard) {
    File from, to;
    from.at[kPageBytes] = std::byte{0x77};
    Mr mr_a(a->driver, *ca.pd, from.range(memory), kAccess, none);
    Mr mr_b(b->driver, *cb.pd, to.range(memory), kAccess, none);
    StuckWrite write(to.fd.get());
    if (!write.stuck) {
        GTEST_SKIP() << "no userfaultfd for this user";
    }
    std::atomic<bool> served = false;
    std::atomic<bool> waited = false;
    std::thread rescue([&] {  // ends the wait of a blocked card
        for (int i = 0; i < 1000 && !served; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        if (!served) {
            waited = true;
            write.let_go();
        }
    });
    EXPECT_EQ(copy(mr_a, from.va(), mr_b, to.va()), DINGO_WCS_SUCCESS);
    served = true;
    rescue.join();
    EXPECT_FALSE(waited);
    EXPECT_EQ(to.at[kPageBytes], std::byte{0x77});
}

TEST_F(FileRegions, RegionsOfAFileShareADescriptor) {
    File file;
    const std::size_t before = open_descriptors();
    {
        std::vector<std::unique_ptr<Mr>> regions;
        for (int n = 0; n < 100; ++n) {
            regions.push_back(
                std::make_unique<Mr>(a->driver, *ca.pd, file.range(memory), kAccess, none));
        }
        EXPECT_EQ(open_descriptors(), before + 1);
    }
    EXPECT_EQ(open_descriptors(), before);
}

TEST(ClientFileTest, AnErrnoOfBeforeMeansNothing) {
    const File file;
    const ClientFile reached(file.fd.get(), true);
    std::array<std::byte, 16> data{};
    errno = EINTR;
    EXPECT_TRUE(reached.read(kBytes - 16, data));
    errno = EINTR;
    EXPECT_FALSE(reached.read(kBytes, data)) << "the end, which sets no errno";
}

// Its client may hold a mover up: the card's other threads do not wait for it.
TEST(ClientFileTest, AMoversWriteThatWaitsHoldsNobody) {
    for (const auto writer : {ClientFile::Writer::kMover, ClientFile::Writer::kDataThread}) {
        const dingo::test::Trap trap;
        if (!trap.works()) {
            GTEST_SKIP() << "no userfaultfd";
        }
        const File file;
        ClientFile reached(file.fd.get(), true);
        std::array<std::byte, 16> data{std::byte{7}};
        std::thread stuck([&] {
            EXPECT_TRUE(reached.write(0, {static_cast<const std::byte*>(trap.page()), data.size()},
                                      writer));
        });
        ASSERT_TRUE(trap.wait_until_used());
        EXPECT_TRUE(dingo::test::returns_soon(
            [&] {
                reached.add_owner({std::make_shared<Account>(false), 1, nullptr});
                if (writer == ClientFile::Writer::kMover) {
                    EXPECT_TRUE(reached.write(kPageBytes, data));
                }
            },
            [&] { trap.let_go(); }));
        stuck.join();
        EXPECT_TRUE(reached.write(2 * kPageBytes, data, writer));
        EXPECT_EQ(file.at[2 * kPageBytes], std::byte{7});
    }
}

// The mark says what the data thread waits for.
TEST(ClientFileTest, WhatAMoverWritesIsNotMarked) {
    const File file;
    const auto account = std::make_shared<Account>(false);
    BusMap map;
    FilePart part{0, kBytes, std::make_shared<ClientFile>(file.fd.get(), true), 0};
    const std::uint64_t at =
        map.add({nullptr, 0, {}, {std::move(part)}, account, nullptr}, kBytes, true, false);
    const std::array<std::byte, 16> data{std::byte{7}};
    may_mark = true;
    touches(nullptr, 0);
    EXPECT_TRUE(map.write(at, data));
    EXPECT_NE(last_touch.at, nullptr);
    ASSERT_EQ(map.make_far(account, 0, map.end()), 1U);
    const BusMap::Place place = map.place(at + 16, data.size(), true);
    ASSERT_NE(place.far, nullptr);
    touches(nullptr, 0);
    EXPECT_TRUE(place.far->write(place.offset, data));
    may_mark = false;
    EXPECT_EQ(last_touch.at, nullptr);
    EXPECT_EQ(file.at[16], std::byte{7});
}

// The data thread's and a mover's, of different clients.
TEST(ClientFileTest, AtomicsLoseNoneOfAnothersInTheFile) {
    constexpr std::uint64_t kRounds = 20'000;
    const File file;
    const auto account = std::make_shared<Account>(false);
    BusMap map;
    const auto add = [&](std::shared_ptr<Account> whose, bool far) {
        FilePart part{0, kBytes, std::make_shared<ClientFile>(file.fd.get(), true), 0};
        return map.add({nullptr, 0, {}, {std::move(part)}, std::move(whose), nullptr}, kBytes, true,
                       far);
    };
    const std::uint64_t near = add(std::make_shared<Account>(false), false);
    const BusMap::Place far = map.place(add(account, true) + 8, 8, true);
    ASSERT_NE(far.far, nullptr);
    std::thread mover([&] {
        std::uint64_t before = 0;
        for (std::uint64_t i = 0; i < kRounds; ++i) {
            EXPECT_TRUE(far.far->atomic(far.offset, {false, 0, std::uint64_t{1} << 32}, before));
        }
    });
    std::uint64_t added = 0;  // the mover may lose its processor in the midst of one
    std::uint64_t before = 0;
    for (std::uint64_t i = 0; i < kRounds; ++i) {
        added += map.atomic(near + 8, {false, 0, 1}, before) ? 1 : 0;
    }
    mover.join();
    EXPECT_GT(added, 0U);
    std::uint64_t sum = 0;
    std::memcpy(&sum, file.at + 8, sizeof sum);
    EXPECT_EQ(sum, kRounds << 32 | added);
}

TEST(ClientFileTest, TheDataThreadWaitsShortlyForAnAtomic) {
    const File file;
    const ClientFile reached(file.fd.get(), true);
    const ClientFile again(file.fd.get(), true);
    const auto held = again.lock_atomics(ClientFile::Writer::kMover);
    EXPECT_TRUE(dingo::test::returns_soon(
        [&] { EXPECT_FALSE(reached.lock_atomics(ClientFile::Writer::kDataThread)); }, [] {}));
}

// Clients specify where in the file a region begins.
TEST(ClientFileTest, NoFileReachesBeyondWhatOffsetsCanSay) {
    const File file;
    ClientFile reached(file.fd.get(), true);
    std::array<std::byte, 16> data{};
    EXPECT_FALSE(reached.read(std::uint64_t{1} << 63, data));
    EXPECT_FALSE(reached.write(std::uint64_t{1} << 63, data));
    EXPECT_FALSE(reached.read(~std::uint64_t{0} - 15, data));
    EXPECT_FALSE(reached.write(~std::uint64_t{0} - 15, data)) << "ends at 0 where it overflows";
    EXPECT_EQ(::lseek(file.fd.get(), 0, SEEK_END), static_cast<off_t>(kBytes));
}

TEST(ClientFileTest, AViewThatCouldNotBeMadeIsMadeLater) {
    const File file;
    ClientFile reached(file.fd.get(), true);
    std::array<std::byte, 16> data{};
    data.fill(std::byte{0x3c});
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
    rlimit none = before;
    none.rlim_cur = 1;  // no further address space
    ASSERT_EQ(::setrlimit(RLIMIT_AS, &none), 0);
    const bool wrote = reached.write(100, data);
    ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
    EXPECT_FALSE(wrote);
    EXPECT_TRUE(reached.write(100, data));
    EXPECT_EQ(file.at[115], std::byte{0x3c});
}

// A card maps one part of each file that it writes, and nothing of a released file.
TEST(ClientFileTest, OnePartOfAFileIsMapped) {
    constexpr std::uint64_t kView = 64U << 20;
    const UniqueFd fd(::memfd_create("viewed", MFD_CLOEXEC));
    ASSERT_EQ(::ftruncate(fd.get(), 3 * kView), 0);
    {
        ClientFile reached(fd.get(), true);
        EXPECT_EQ(mappings_of("memfd:viewed"), 0U);
        std::array<std::byte, 32> data{}, seen{};
        std::uint8_t value = 0;
        for (const std::uint64_t at : {std::uint64_t{100}, kView + 100, std::uint64_t{0},
                                       kView - 16, 2 * kView - 1, 3 * kView - data.size()}) {
            data.fill(std::byte{++value});
            EXPECT_TRUE(reached.write(at, data)) << at;
            EXPECT_EQ(mappings_of("memfd:viewed"), 1U) << at;
            EXPECT_TRUE(reached.read(at, seen));
            EXPECT_EQ(seen, data) << at;
        }
        EXPECT_FALSE(reached.write(3 * kView - data.size() + 1, data)) << "beyond the end";
        EXPECT_EQ(::lseek(fd.get(), 0, SEEK_END), static_cast<off_t>(3 * kView));
    }
    EXPECT_EQ(mappings_of("memfd:viewed"), 0U);
}

// In some containers the call is forbidden: then the file is written with pwrite().
TEST(ClientFileTest, AMachineThatRefusesToWriteToMemoryWritesToTheFile) {
    const File file;
    ClientFile reached(file.fd.get(), true);
    std::array<std::byte, 16> data{};
    std::uint8_t value = 0;
    for (const int refusal : {ENOSYS, EPERM}) {
        const PretendNoVmWrite refused(refusal);
        data.fill(std::byte{++value});
        EXPECT_TRUE(reached.write(5000, data)) << refusal;
        EXPECT_EQ(file.at[5015], std::byte{value});
    }
    data.fill(std::byte{0x77});
    const PretendNoVmWrite gone(EFAULT);
    EXPECT_FALSE(reached.write(5000, data)) << "a page that is not there";
    EXPECT_EQ(gone.calls(), 1U);
    EXPECT_EQ(file.at[5015], std::byte{value});
}

TEST_F(FileRegions, OtherFilesAreRefused) {
    File file;
    const auto reg = [&](int fd, std::uint32_t access) {
        Mr::Range range = file.range(memory);
        range.segments[0].fd = fd;
        return errno_of([&] { Mr mr(a->driver, *ca.pd, range, access, none); });
    };
    EXPECT_EQ(reg(file.fd.get(), kAccess), 0);
    const std::string path = "/proc/self/fd/" + std::to_string(file.fd.get());
    const UniqueFd read_only(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    constexpr std::uint32_t kRemoteRead = 4;
    EXPECT_EQ(reg(read_only.get(), kAccess), EINVAL);
    EXPECT_EQ(reg(read_only.get(), kRemoteRead), 0);
    const UniqueFd write_only(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    EXPECT_EQ(reg(write_only.get(), kRemoteRead), EINVAL);
    const UniqueFd path_only(::open(path.c_str(), O_PATH | O_CLOEXEC));
    EXPECT_EQ(reg(path_only.get(), kRemoteRead), EINVAL);
    const UniqueFd append(::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC));
    EXPECT_EQ(reg(append.get(), kAccess), EINVAL) << "writes go to its end";
    const UniqueFd folder(::open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    EXPECT_EQ(reg(folder.get(), kRemoteRead), EINVAL);
    const UniqueFd device(::open("/dev/zero", O_RDWR | O_CLOEXEC));
    EXPECT_EQ(reg(device.get(), kAccess), EINVAL);
    const UniqueFd elsewhere(::open("/proc/self/mem", O_RDWR | O_CLOEXEC));
    EXPECT_EQ(reg(elsewhere.get(), kAccess), EINVAL);
}

}  // namespace
}  // namespace dingo::uverbs::test
