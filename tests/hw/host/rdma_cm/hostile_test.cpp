// SPDX-License-Identifier: BSD-2-Clause
// An rdma_cm client that sends malformed commands, beside a well-behaved one.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "../uverbs/running_card.h"
#include "cm_client.h"

namespace dingo::rdma_cm::test {
namespace {

/// Returns a command with plausible numbers and random content; answers go to `scratch` or nowhere.
uverbs::test::Bytes nonsense(std::mt19937& random, std::array<std::byte, 4096>& scratch) {
    const auto pick = [&](unsigned n) { return static_cast<std::uint32_t>(random() % n); };
    uverbs::test::Bytes bytes(8 + pick(600));
    for (std::byte& byte : bytes) {
        byte = pick(3) == 0 ? static_cast<std::byte>(random()) : std::byte{0};
    }
    const auto length = static_cast<std::uint16_t>(bytes.size() - 8);
    const rdma_ucm_cmd_hdr header{pick(25),
                                  pick(10) == 0 ? static_cast<std::uint16_t>(random()) : length,
                                  static_cast<std::uint16_t>(pick(600))};
    std::memcpy(bytes.data(), &header, sizeof header);
    if (header.cmd == RDMA_USER_CM_CMD_MIGRATE_ID) {
        bytes[0] = std::byte{99};  // within one process this would be valid
    }
    const std::uint64_t scratch_at = reinterpret_cast<std::uintptr_t>(scratch.data());
    const std::array<std::uint64_t, 3> places{scratch_at, 0, 1};
    // Possible offsets of the answer's address: no other memory of ours may be overwritten.
    for (const std::size_t at : {8U, 16U}) {
        if (bytes.size() >= at + 8) {
            std::memcpy(bytes.data() + at, &places[pick(3)], 8);
        }
    }
    for (const std::size_t at : {24U, 8U}) {
        if (bytes.size() >= at + 4 && pick(2) == 0) {
            const std::uint32_t id = pick(16);
            std::memcpy(bytes.data() + at, &id, sizeof id);
        }
    }
    return bytes;
}

TEST(UcmaHostile, NonsenseNeitherKillsTheCardNorLeaksNorDisturbsOthers) {
    uverbs::test::RunningCard card(1024, 16U << 20, true);
    CmClient honest(card.directory);
    ASSERT_EQ(honest.create(1), 0);
    ASSERT_EQ(honest.bind(honest.id, ipv4("10.77.0.1", 7471)), 0);
    ASSERT_EQ(honest.listen(honest.id), 0);
    const std::size_t before = uverbs::test::open_descriptors();
    std::array<std::byte, 4096> scratch{};
    std::mt19937 random(11);
    {
        auto hostile = std::make_unique<CmClient>(card.directory);
        for (int n = 0; n < 20'000; ++n) {
            if (!hostile->connected() || n % 2000 == 1999) {
                hostile = std::make_unique<CmClient>(card.directory);
                ASSERT_TRUE(hostile->connected());
            }
            if (n % 3 == 0) {
                hostile->create(random() % 4, random() % 2 == 0 ? RDMA_PS_TCP : RDMA_PS_UDP);
            } else {
                hostile->write(nonsense(random, scratch), random() % 8 == 0);
            }
        }
    }
    for (int n = 0; n < 3000 && card.stats()["rdma_cm"]["ids"] != 1; ++n) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    EXPECT_EQ(card.stats()["rdma_cm"]["ids"], 1);
    EXPECT_EQ(card.stats()["rdma_cm"]["listeners"], 1);
    EXPECT_EQ(uverbs::test::open_descriptors(), before);
    ASSERT_EQ(honest.create(2), 0);
    EXPECT_EQ(honest.destroy(honest.id), 0);
}

TEST(UcmaHostile, DescriptorsHaveALimitOfIdentifiers) {
    uverbs::test::RunningCard card(1024, 16U << 20, true);
    CmClient client(card.directory);
    for (int n = 0; n < 16384; ++n) {
        ASSERT_EQ(client.create(1), 0);
    }
    EXPECT_EQ(client.create(1), -ENOMEM);
    CmClient other(card.directory);
    EXPECT_EQ(other.create(1), 0);
}

}  // namespace
}  // namespace dingo::rdma_cm::test
