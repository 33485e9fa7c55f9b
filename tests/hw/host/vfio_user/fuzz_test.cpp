// SPDX-License-Identifier: BSD-2-Clause
//
// Random and half-random messages. There must be no crash, no sanitizer report and no hang, and a
// well-behaved client must be served afterwards. Seeded, so that failures can be reproduced.
#include <cstdlib>
#include <random>

#include "client.h"

namespace dingo::vfio_user::test {
namespace {

using Random = std::mt19937_64;

/// DINGO_FUZZ_ROUNDS sets the length of the run.
int rounds(int usual) {
    const char* const text = std::getenv("DINGO_FUZZ_ROUNDS");
    return text != nullptr ? std::atoi(text) : usual;
}

void expect_still_serves(Harness& h) {
    if (h.server.connected()) {
        h.server.detach("test");
    }
    h.start();
    EXPECT_EQ(h.read<std::uint32_t>(VFIO_PCI_CONFIG_REGION_INDEX, 0), 0xD1601234u);
}

TEST(VfioUserFuzz, RandomBytes) {
    Random random(1);
    Harness h;
    for (int i = 0; i < rounds(3000); ++i) {
        if (!h.server.connected()) {
            h.connect();
        }
        Bytes bytes(random() % 200 + 1);
        for (auto& b : bytes) {
            b = static_cast<std::byte>(random());
        }
        h.send_raw(bytes);
        h.server.service();
    }
    expect_still_serves(h);
}

std::uint64_t interesting(Random& random) {
    static constexpr std::uint64_t kValues[] = {0,          1,
                                                2,          4,
                                                7,          8,
                                                0x1000,     0x8000,
                                                0xC000,     0xFFFF,
                                                0x10000,    0x10001,
                                                0x7FFFFFFF, 0x80000000,
                                                0xFFFFFFFF, 0x100000000,
                                                1u << 20,   (1u << 20) + 1,
                                                ~0ull,      ~0ull - 4095,
                                                1ull << 63, 0x7FFFFFFFFFFFFFFF,
                                                0x48,       0x58};
    return random() % 4 == 0 ? random() : kValues[random() % std::size(kValues)];
}

/// A payload with field values that are likely to cause failures.
Bytes half_random_payload(Random& random) {
    Bytes payload;
    const std::size_t words = random() % 12;
    for (std::size_t i = 0; i < words; ++i) {
        if (random() % 2 == 0) {
            append(payload, static_cast<std::uint32_t>(interesting(random)));
        } else {
            append(payload, interesting(random));
        }
    }
    if (random() % 8 == 0) {
        payload.resize(payload.size() + random() % 5000);
    }
    return payload;
}

void drain(Harness& h) {
    std::array<std::byte, 65536> sink;
    while (::recv(h.client.get(), sink.data(), sink.size(), MSG_DONTWAIT) > 0) {
    }
}

TEST(VfioUserFuzz, HalfRandomRequestsWithDescriptors) {
    Random random(2);
    Harness h;
    const UniqueFd memory = make_memfd(1 << 20);
    const UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    h.device.on_write = [&](Bar, std::uint64_t offset, std::uint64_t value) {
        // The simulated engine: DMA at an address from the register write, and an interrupt.
        std::array<std::byte, 256> buffer{};
        (void)h.server.dma_write(value & 0xFFFFF, std::span(buffer).first(offset % 256));
        h.server.raise_msix(static_cast<unsigned>(value % 8));
    };
    for (int i = 0; i < rounds(20000); ++i) {
        if (!h.server.connected()) {
            h.start();
            ASSERT_EQ(h.map(0, 1 << 20, memory.get()), 0);
        }
        std::vector<int> fds;
        for (auto n = random() % 16; n > 12; --n) {
            fds.push_back(random() % 2 == 0 ? memory.get() : event.get());
        }
        h.send(static_cast<std::uint16_t>(random() % 17), half_random_payload(random), fds,
               random() % 50 == 0 ? static_cast<std::uint32_t>(random()) : 0);
        h.server.service();
        drain(h);
    }
    h.device.on_write = nullptr;
    expect_still_serves(h);
}

TEST(VfioUserFuzz, ValidRequestsWithBytesFlipped) {
    Random random(3);
    Harness h;
    const UniqueFd memory = make_memfd(1 << 20);
    std::vector<Bytes> valid;
    const auto add = [&](Command command, const Bytes& payload) {
        Bytes bytes;
        append(bytes, Header{1, static_cast<std::uint16_t>(command),
                             static_cast<std::uint32_t>(16 + payload.size()), 0, 0});
        bytes.insert(bytes.end(), payload.begin(), payload.end());
        valid.push_back(bytes);
    };
    Bytes map;
    append(map, DmaMap{32, 3, 0, 0x100000, 0x10000});
    add(Command::kDmaMap, map);
    Bytes unmap;
    append(unmap, DmaUnmap{24, 0, 0x100000, 0x10000});
    add(Command::kDmaUnmap, unmap);
    Bytes irqs;
    append(irqs, IrqSet{22, 34, 2, 0, 2});
    irqs.resize(22);
    add(Command::kDeviceSetIrqs, irqs);
    add(Command::kRegionRead, Harness::access(0, 0x8000, 64));
    Bytes write = Harness::access(7, 0x58, 4);
    write.resize(20);
    add(Command::kRegionWrite, write);
    add(Command::kVersion, Harness::version_payload());
    for (int i = 0; i < rounds(20000); ++i) {
        if (!h.server.connected()) {
            h.start();
        }
        Bytes bytes = valid[random() % valid.size()];
        for (auto flips = random() % 4; flips > 0; --flips) {
            // The size is changed rarely, as that only ends the connection.
            const std::size_t at =
                random() % 20 == 0 ? random() % 16 : 8 + random() % (bytes.size() - 8);
            bytes[at] ^= static_cast<std::byte>(1u << random() % 8);
        }
        const int fd[] = {memory.get()};
        h.send_raw(bytes, random() % 3 == 0 ? std::span<const int>(fd) : std::span<const int>());
        h.server.service();
        drain(h);
    }
    expect_still_serves(h);
}

}  // namespace
}  // namespace dingo::vfio_user::test
