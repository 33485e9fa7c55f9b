// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/bus_map.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>

#include "base/errno_error.h"
#include "host/driver/mover.h"

namespace dingo::uverbs {
namespace {

std::shared_ptr<ClientMemory> own_memory() {
    return std::make_shared<ClientMemory>(::getpid(), ForeignFd(::open("/proc/self/mem", O_RDWR)));
}

TEST(BusMap, BoundsOfAWindow) {
    BusMap map;
    std::array<std::byte, 256> memory{};
    std::array<std::byte, 16> data{};
    const std::uint64_t at = map.add(memory);
    EXPECT_NE(at, 0U);
    EXPECT_EQ(map.pointer(at, 256), memory.data());
    EXPECT_EQ(map.pointer(at + 240, 16), memory.data() + 240);
    EXPECT_EQ(map.pointer(at + 241, 16), nullptr);
    EXPECT_EQ(map.pointer(at + 256, 1), nullptr);
    EXPECT_EQ(map.pointer(0, 1), nullptr);
    EXPECT_EQ(map.pointer(~std::uint64_t{0}, 16), nullptr);
    EXPECT_TRUE(map.write(at + 240, data));
    EXPECT_FALSE(map.write(at + 241, data));
    EXPECT_FALSE(map.read(at - 1, data));
    EXPECT_FALSE(map.read(~std::uint64_t{0}, data));
    EXPECT_EQ(map.errors(), 3U);
    map.remove(at);
    EXPECT_FALSE(map.read(at, data));
    EXPECT_EQ(map.size(), 0U);
}

// Memory that its owner makes slow: its mapping stays, and movers make the accesses.
TEST(BusMap, WindowsOfAnAccountBecomeFar) {
    BusMap map;
    alignas(8) std::array<std::byte, 64> memory{};
    alignas(8) std::array<std::byte, 64> others{};
    const auto account = std::make_shared<Account>(false);
    const auto keep = std::make_shared<int>(0);
    const auto add = [&](std::span<std::byte> bytes, std::shared_ptr<Account> whose, bool far) {
        return map.add({nullptr, 0, {{0, bytes}}, {}, std::move(whose), keep}, bytes.size(), true,
                       far);
    };
    const std::uint64_t at = add(memory, account, false);
    const std::uint64_t other = add(others, std::make_shared<Account>(false), false);
    EXPECT_EQ(map.pointer(at, 64), memory.data());
    EXPECT_EQ(map.make_far(account, 0, map.end()), 1U);
    EXPECT_EQ(map.make_far(account, 0, map.end()), 0U) << "it is";
    EXPECT_EQ(map.pointer(at, 64), nullptr);
    EXPECT_TRUE(map.is_far(at, 64));
    EXPECT_EQ(map.pointer(other, 64), others.data());
    EXPECT_FALSE(map.is_far(other, 64));
    EXPECT_EQ(map.pointer(add(memory, account, true), 64), nullptr) << "far from the beginning";

    const BusMap::Place place = map.place(at + 8, 8, true);
    ASSERT_NE(place.far, nullptr);
    const auto mover_of = [&](std::shared_ptr<Account> whose) {
        return map.place(add(memory, std::move(whose), true), 8, true).far->mover();
    };
    EXPECT_EQ(mover_of(account), place.far->mover()) << "a thread for each account";
    EXPECT_NE(mover_of(std::make_shared<Account>(false)), place.far->mover());
    const std::array<std::byte, 8> data{std::byte{5}};
    EXPECT_TRUE(place.far->write(place.offset, data));
    EXPECT_EQ(memory[8], std::byte{5});
    FarMemory::Atomic add_one;
    add_one.operand = 1;
    std::uint64_t before = 0;
    EXPECT_TRUE(place.far->atomic(place.offset, add_one, before));
    EXPECT_EQ(before, 5U);
    EXPECT_EQ(memory[8], std::byte{6});
    std::array<std::byte, 8> read{};
    EXPECT_TRUE(map.read(at + 8, read)) << "an engine without the port";
    EXPECT_EQ(read[0], std::byte{6});
    map.remove(at);
    EXPECT_FALSE(place.far->read(place.offset, read));
    EXPECT_EQ(keep.use_count(), 6) << "the place is here, and has it as the other windows do";
}

// Atomics on a word that a program and another card change concurrently.
TEST(BusMap, AtomicsLoseNoneOfOthersChanges) {
    constexpr std::uint64_t kRounds = 100'000;
    BusMap map;
    alignas(8) std::array<std::byte, 16> memory{};
    const std::uint64_t at = map.add(memory);
    auto* const word = reinterpret_cast<std::uint64_t*>(memory.data() + 8);
    std::thread other([word] {
        for (std::uint64_t i = 0; i < kRounds; ++i) {
            __atomic_fetch_add(word, std::uint64_t{1} << 32, __ATOMIC_SEQ_CST);
        }
    });
    std::uint64_t before = 0;
    for (std::uint64_t i = 0; i < kRounds; ++i) {
        ASSERT_TRUE(map.atomic(at + 8, {false, 0, 1}, before));
        ASSERT_EQ(before & 0xffffffff, i);
    }
    other.join();
    EXPECT_EQ(__atomic_load_n(word, __ATOMIC_SEQ_CST), kRounds << 32 | kRounds);
    ASSERT_TRUE(map.atomic(at + 8, {true, 5, 7}, before));
    EXPECT_EQ(before, kRounds << 32 | kRounds);
    ASSERT_TRUE(map.atomic(at + 8, {true, before, 7}, before));
    EXPECT_EQ(*word, 7U);
    EXPECT_FALSE(map.atomic(at + 9, {false, 0, 1}, before));
    map.set_writable(at, false);
    EXPECT_FALSE(map.atomic(at + 8, {true, 5, 6}, before)) << "what may not be written";
}

std::shared_ptr<Mover> mover_of(BusMap& map, std::shared_ptr<ClientMemory> client) {
    const std::uint64_t at = map.add(std::move(client), 0x1000, 4'096, {}, true);
    std::shared_ptr<Mover> mover = map.place(at, 64, false).far->mover();
    map.remove(at);
    return mover;
}

// A mover outlives its client as long as an access is stuck.
TEST(BusMap, MoverIsNotThatOfTheNextClientAtTheSameAddress) {
    BusMap map;
    alignas(ClientMemory) std::array<std::byte, sizeof(ClientMemory)> storage{};
    const auto client_there = [&storage] {
        return std::shared_ptr<ClientMemory>(
            new (storage.data())
                ClientMemory(::getpid(), ForeignFd(::open("/proc/self/mem", O_RDWR | O_CLOEXEC))),
            [](ClientMemory* memory) { std::destroy_at(memory); });
    };
    const std::shared_ptr<Mover> first = mover_of(map, client_there());
    EXPECT_NE(mover_of(map, client_there()), first);
}

TEST(BusMap, ClientHasOneMoverAndAUserOneRoom) {
    BusMap map;
    const auto of = [](const std::shared_ptr<Account>& account) {
        return std::make_shared<ClientMemory>(
            ::getpid(), ForeignFd(::open("/proc/self/mem", O_RDWR | O_CLOEXEC)), account);
    };
    const auto user = std::make_shared<Account>(true);
    const auto other = std::make_shared<Account>(true);
    const auto client = of(user);
    const std::shared_ptr<Mover> first = mover_of(map, client);
    EXPECT_EQ(mover_of(map, client), first);
    const std::shared_ptr<Mover> second = mover_of(map, of(user));
    EXPECT_NE(second, first);
    EXPECT_EQ(second->room(), first->room());
    const std::shared_ptr<Mover> third = mover_of(map, of(other));
    EXPECT_NE(third->room(), first->room());
    EXPECT_NE(mover_of(map, of(nullptr))->room(), mover_of(map, of(nullptr))->room());
}

// As accessed by an engine without support for far memory.
TEST(BusMap, PlaceIsReadAndWrittenByTheCaller) {
    class Bytes final : public FarPlace {
      public:
        Bytes() : FarPlace(std::make_shared<Mover>()) {}
        bool do_read(std::uint64_t offset, std::span<std::byte> dst) override {
            std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), dst.size(),
                        dst.begin());
            return true;
        }
        bool do_write(std::uint64_t offset, std::span<const std::byte> src) override {
            std::ranges::copy(src, bytes.begin() + static_cast<std::ptrdiff_t>(offset));
            return true;
        }
        std::array<std::byte, 256> bytes{};
    };
    BusMap map;
    const auto place = std::make_shared<Bytes>();
    const std::uint64_t at = map.add(place, 256, true);
    const std::array<std::byte, 4> data{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
    std::array<std::byte, 4> back{};
    EXPECT_EQ(map.pointer(at, 4), nullptr);
    EXPECT_TRUE(map.write(at + 252, data));
    EXPECT_TRUE(map.read(at + 252, back));
    EXPECT_EQ(back, data);
    EXPECT_FALSE(map.write(at + 253, data));
    EXPECT_FALSE(map.read(at + 253, back));
    place->close();
    EXPECT_FALSE(map.read(at, back));
    map.remove(at);
}

// There may be uninitialized memory for another window after the last one.
TEST(BusMap, BehindTheLastWindowIsNone) {
    ::mallopt(M_PERTURB, ~0xff);  // allocated memory has all bits set
    BusMap map;
    ::mallopt(M_PERTURB, 0);
    std::array<std::byte, 16> memory{}, data{};
    for (std::uint64_t windows = 1; windows < 20; ++windows) {
        const std::uint64_t behind = windows << BusMap::kOffsetBits;
        EXPECT_EQ(map.pointer(behind, 1), nullptr) << windows;
        EXPECT_FALSE(map.read(behind, data)) << windows;
        EXPECT_FALSE(map.write(behind, data)) << windows;
        ::mallopt(M_PERTURB, ~0xff);
        EXPECT_EQ(map.add(memory), behind);
        ::mallopt(M_PERTURB, 0);
        EXPECT_EQ(map.pointer(behind, 1), memory.data());
    }
}

TEST(BusMap, WritesOfAnyLengthChangeTheirBytesAndNoOthers) {
    BusMap map;
    alignas(64) std::array<std::byte, 256> memory{};
    std::array<std::byte, 256> expected{}, data{};
    const std::uint64_t at = map.add(memory);
    std::uint8_t value = 0;
    for (std::size_t offset = 64; offset < 80; ++offset) {
        for (std::size_t length = 0; length <= 130; ++length) {
            const auto src = std::span(data).first(length);
            std::ranges::fill(src, std::byte{++value});
            std::ranges::copy(src, expected.begin() + static_cast<std::ptrdiff_t>(offset));
            ASSERT_TRUE(map.write(at + offset, src));
            ASSERT_EQ(memory, expected) << length << " bytes at " << offset;
        }
    }
    EXPECT_TRUE(map.write(at + 256, {})) << "no bytes at the end are inside";
    EXPECT_TRUE(map.read(at + 256, {}));
    EXPECT_FALSE(map.read(at + 257, {}));
}

TEST(BusMap, NoMoreWindowsThanAddresses) {
    BusMap map(3);
    std::array<std::byte, 16> memory{};
    const std::uint64_t first = map.add(memory);
    map.add(memory);
    EXPECT_THROW(map.add(memory), ErrnoError);
    EXPECT_EQ(map.size(), 2U);
    map.remove(first);
    EXPECT_EQ(map.add(memory), first);
    EXPECT_EQ(
        (std::uint64_t{BusMap::kMaxWindows} - 1) << BusMap::kOffsetBits >> BusMap::kOffsetBits,
        BusMap::kMaxWindows - 1)
        << "the last window has an address";
    EXPECT_EQ(std::uint64_t{BusMap::kMaxWindows} << BusMap::kOffsetBits, 0U);
}

TEST(BusMap, ReadOnlyWindow) {
    BusMap map;
    std::array<std::byte, 256> memory{};
    std::array<std::byte, 8> data{};
    const std::uint64_t at = map.add(nullptr, 0, 256, {{0, memory}}, false);
    EXPECT_TRUE(map.read(at, data));
    EXPECT_FALSE(map.write(at, data));
    map.set_writable(at, true);
    EXPECT_TRUE(map.write(at, data));
}

TEST(BusMap, PartsAndGaps) {
    BusMap map;
    std::array<std::byte, 400> client{};
    std::array<std::byte, 100> first{}, second{};
    for (std::size_t i = 0; i < client.size(); ++i) {
        client[i] = static_cast<std::byte>(i);
    }
    first.fill(std::byte{0xaa});
    second.fill(std::byte{0xbb});
    const auto va = reinterpret_cast<std::uint64_t>(client.data());
    const std::uint64_t at =
        map.add(own_memory(), va, client.size(), {{50, first}, {200, second}}, true);
    std::array<std::byte, 400> seen{};
    ASSERT_TRUE(map.read(at, seen));
    for (std::size_t i = 0; i < seen.size(); ++i) {
        const std::byte expected = i >= 50 && i < 150    ? std::byte{0xaa}
                                   : i >= 200 && i < 300 ? std::byte{0xbb}
                                                         : static_cast<std::byte>(i);
        ASSERT_EQ(seen[i], expected) << i;
    }
    EXPECT_EQ(map.pointer(at + 50, 100), first.data());
    EXPECT_EQ(map.pointer(at + 250, 50), second.data() + 50);
    EXPECT_EQ(map.pointer(at + 149, 2), nullptr);
    EXPECT_EQ(map.pointer(at + 10, 2), nullptr);
    EXPECT_EQ(map.pointer(at + 150, 2), nullptr) << "between the parts";
    const std::uint64_t adjacent = map.add(nullptr, 0, 200, {{0, first}, {100, second}}, true);
    EXPECT_EQ(map.pointer(adjacent + 100, 100), second.data());
    EXPECT_EQ(map.pointer(adjacent + 99, 2), nullptr) << "in two parts";
    seen.fill(std::byte{0x11});
    ASSERT_TRUE(map.write(at, seen));
    EXPECT_EQ(first[99], std::byte{0x11});
    EXPECT_EQ(second[0], std::byte{0x11});
    EXPECT_EQ(client[49], std::byte{0x11});
    EXPECT_EQ(client[50], std::byte{50}) << "lies under a mapped part";
    EXPECT_EQ(client[399], std::byte{0x11});
}

// Files, mapped parts, and client memory between them.
TEST(BusMap, FilesAndGaps) {
    BusMap map;
    std::array<std::byte, 400> client{};
    std::array<std::byte, 50> mapped{};
    client.fill(std::byte{0xcc});
    mapped.fill(std::byte{0xaa});
    const auto file_of = [](std::uint8_t value) {
        const UniqueFd fd(::memfd_create("part", MFD_CLOEXEC));
        std::array<std::uint8_t, 100> bytes;
        bytes.fill(value);
        EXPECT_EQ(::pwrite(fd.get(), bytes.data(), bytes.size(), 0), 100);
        return std::make_shared<ClientFile>(fd.get(), true);
    };
    const auto first = file_of(0x11), second = file_of(0x22);
    const auto va = reinterpret_cast<std::uint64_t>(client.data());
    const std::uint64_t at =
        map.add(own_memory(), va, client.size(), {{150, mapped}}, true,
                {{20, 80, first, 10}, {100, 40, second, 60}, {300, 50, second, 0}});
    const auto expected = [](std::size_t i) {
        return std::byte{i >= 20 && i < 100    ? std::uint8_t{0x11}
                         : i >= 100 && i < 140 ? std::uint8_t{0x22}
                         : i >= 150 && i < 200 ? std::uint8_t{0xaa}
                         : i >= 300 && i < 350 ? std::uint8_t{0x22}
                                               : std::uint8_t{0xcc}};
    };
    std::array<std::byte, 400> seen{};
    for (const std::size_t begin : {0U, 19U, 20U, 99U, 100U, 139U, 140U, 250U, 349U, 350U}) {
        for (const std::size_t end : {20U, 21U, 100U, 101U, 140U, 150U, 300U, 350U, 400U}) {
            if (begin >= end) {
                continue;
            }
            ASSERT_TRUE(map.read(at + begin, std::span(seen).first(end - begin)));
            for (std::size_t i = begin; i < end; ++i) {
                ASSERT_EQ(seen[i - begin], expected(i)) << i << " from " << begin << " to " << end;
            }
        }
    }
    std::uint8_t value = 0;
    for (std::byte& byte : seen) {
        byte = std::byte{++value};
    }
    ASSERT_TRUE(map.write(at, seen));
    std::array<std::byte, 100> in_first{}, in_second{};
    ASSERT_TRUE(first->read(0, in_first));
    ASSERT_TRUE(second->read(0, in_second));
    EXPECT_EQ(in_first[9], std::byte{0x11});
    EXPECT_EQ(in_first[90], std::byte{0x11});
    EXPECT_TRUE(std::equal(in_first.begin() + 10, in_first.begin() + 90, seen.begin() + 20));
    EXPECT_TRUE(std::equal(in_second.begin() + 60, in_second.end(), seen.begin() + 100));
    EXPECT_TRUE(std::equal(in_second.begin(), in_second.begin() + 50, seen.begin() + 300));
    EXPECT_EQ(in_second[50], std::byte{0x22});
    EXPECT_EQ(client[19], seen[19]);
    EXPECT_EQ(client[20], std::byte{0xcc}) << "lies under a file";
    EXPECT_EQ(client[299], seen[299]);
    EXPECT_EQ(client[399], seen[399]);
}

TEST(BusMap, ReadsMayGoOnToTheEndOfThePageAndWritesMayNot) {
    BusMap map;
    constexpr std::size_t kPage = 4096;
    alignas(kPage) static std::array<std::byte, 2 * kPage> client;
    client.fill(std::byte{0x5a});
    const auto va = reinterpret_cast<std::uint64_t>(client.data());
    const std::uint64_t at = map.add(own_memory(), va, 1064, {}, true);
    std::array<std::byte, 64> line{};
    EXPECT_TRUE(map.read(at + 1024, line)) << "the region ends inside this line";
    EXPECT_EQ(line[63], std::byte{0x5a});
    EXPECT_TRUE(map.read(at + kPage - 64, line));
    EXPECT_FALSE(map.read(at + kPage - 63, line));
    EXPECT_FALSE(map.read(at + kPage, line));
    line.fill(std::byte{0x11});
    EXPECT_FALSE(map.write(at + 1024, line));
    EXPECT_TRUE(map.write(at + 1000, line));
    EXPECT_EQ(client[1064], std::byte{0x5a});
    const std::uint64_t more = map.add(own_memory(), va, kPage + 1, {}, true);
    EXPECT_TRUE(map.read(more + 2 * kPage - 64, line)) << "one byte takes its page";
    EXPECT_FALSE(map.read(more + 2 * kPage - 63, line));
}

TEST(BusMap, TooLong) {
    BusMap map;
    EXPECT_THROW(map.add(own_memory(), 0, BusMap::kMaxWindow + 1, {}, true), ErrnoError);
}

TEST(ClientMemory, OnlyProcMemIsOne) {
    EXPECT_THROW(ClientMemory(::getpid(), ForeignFd(::open("/dev/null", O_RDWR))), ErrnoError);
    EXPECT_THROW(ClientMemory(::getpid(), ForeignFd(::open("/proc/self/mem", O_RDONLY))),
                 ErrnoError);
    EXPECT_THROW(ClientMemory(::getpid(), ForeignFd(::open("/proc/self/maps", O_RDONLY))),
                 ErrnoError);
    // The name alone proves nothing: reading another file might block.
    const std::string folder = "/tmp/dingo-mem-" + std::to_string(::getpid());
    ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
    const std::string path = folder + "/mem";
    EXPECT_THROW(ClientMemory(::getpid(), ForeignFd(::open(path.c_str(), O_RDWR | O_CREAT, 0600))),
                 ErrnoError);
    ::unlink(path.c_str());
    ::rmdir(folder.c_str());
    const auto with_pid = [](pid_t pid) {
        ClientMemory(pid, ForeignFd(::open("/proc/self/mem", O_RDWR)));
    };
    EXPECT_NO_THROW(with_pid(0)) << "a process that has no number here";
    EXPECT_THROW(with_pid(-1), ErrnoError);
}

TEST(ClientMemory, AnErrnoOfBeforeMeansNothing) {
    ClientMemory memory(::getpid(), ForeignFd(::open("/proc/self/mem", O_RDWR)));
    std::array<std::byte, 16> data{}, more{};
    const auto va = reinterpret_cast<std::uint64_t>(data.data());
    errno = EINTR;
    EXPECT_TRUE(memory.read(va, more));
    errno = EINTR;
    EXPECT_TRUE(memory.write(va, more));
    EXPECT_TRUE(memory.read(0, {})) << "nothing";
    EXPECT_TRUE(memory.write(0, {}));
    errno = EINTR;
    EXPECT_FALSE(memory.read(4096, more));
}

TEST(ClientMemory, WithoutADescriptorThereIsNone) {
    ClientMemory memory(::getpid(), ForeignFd());
    std::array<std::byte, 16> data{}, more{};
    const auto va = reinterpret_cast<std::uint64_t>(data.data());
    EXPECT_FALSE(memory.read(va, more));
    EXPECT_FALSE(memory.write(va, more));
}

TEST(ClientMemory, AnotherProcess) {
    constexpr std::size_t kLarge = 512 * 1024;
    auto* const at = static_cast<std::byte*>(
        ::mmap(nullptr, kLarge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memset(at, 0x21, kLarge);
    const pid_t child = ::fork();
    if (child == 0) {
        ::pause();
        ::_exit(0);
    }
    std::memset(at, 0x42, kLarge);
    const std::string path = "/proc/" + std::to_string(child) + "/mem";
    ClientMemory memory(child, ForeignFd(::open(path.c_str(), O_RDWR)));
    const auto va = reinterpret_cast<std::uint64_t>(at);
    for (const std::size_t size : {std::size_t{1}, std::size_t{5000}, kLarge}) {
        std::vector<std::byte> data(size);
        ASSERT_TRUE(memory.read(va, data));
        EXPECT_EQ(data.back(), std::byte{0x21});
        std::vector<std::byte> other(size, std::byte{0x63});
        ASSERT_TRUE(memory.write(va, other));
        ASSERT_TRUE(memory.read(va, data));
        EXPECT_EQ(data, other);
        ASSERT_TRUE(memory.write(va, std::vector<std::byte>(size, std::byte{0x21})));
    }
    // The PID is only claimed by the client; the descriptor that it passed counts.
    std::vector<std::byte> theirs(kLarge);
    ClientMemory misnamed(::getpid(), ForeignFd(::open(path.c_str(), O_RDWR)));
    ASSERT_TRUE(misnamed.read(va, theirs));
    EXPECT_EQ(theirs.front(), std::byte{0x21});
    std::vector<std::byte> data(100);
    EXPECT_FALSE(memory.read(8, data));
    EXPECT_FALSE(memory.read(~std::uint64_t{0} - 10, data));
    EXPECT_FALSE(memory.read(va + kLarge - 50 + (std::uint64_t{1} << 46), data));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_FALSE(memory.read(va, data));
    std::vector<std::byte> large(kLarge);
    EXPECT_FALSE(memory.read(va, large)) << "a new process may have the number by now";
    EXPECT_EQ(at[0], std::byte{0x42});
    ::munmap(at, kLarge);
}

}  // namespace
}  // namespace dingo::uverbs
