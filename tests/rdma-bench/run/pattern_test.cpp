// SPDX-License-Identifier: BSD-2-Clause
#include "run/pattern.h"

#include <gtest/gtest.h>

#include <vector>

namespace rdma_bench {
namespace {

std::vector<std::byte> message(std::size_t size, Stream stream, std::uint64_t sequence) {
    std::vector<std::byte> bytes(size);
    fill_pattern(bytes, stream, sequence);
    return bytes;
}

TEST(Pattern, EverySizeMatchesItself) {
    for (std::size_t size = 1; size < 70; ++size) {
        EXPECT_EQ(check_pattern(message(size, {3, true}, 99), {3, true}, 99), "");
    }
}

TEST(Pattern, EverySingleWrongBitIsFoundAtItsOffset) {
    auto bytes = message(37, {0, false}, 5);
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
        bytes[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
        const auto text = check_pattern(bytes, {0, false}, 5);
        EXPECT_NE(text.find("offset " + std::to_string(bit / 8) + ":"), std::string::npos) << text;
        bytes[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
    }
}

TEST(Pattern, AnOlderMessageOfTheStreamIsNamed) {
    const auto text = check_pattern(message(64, {2, false}, 17), {2, false}, 18);
    EXPECT_NE(text.find("message 18 of QP 2"), std::string::npos) << text;
    EXPECT_NE(text.find("all of it is message 17"), std::string::npos) << text;
}

TEST(Pattern, AnotherQpOrDirectionDoesNotPass) {
    EXPECT_NE(check_pattern(message(64, {1, false}, 4), {2, false}, 4), "");
    EXPECT_NE(check_pattern(message(64, {1, false}, 4), {1, true}, 4), "");
}

TEST(Pattern, SequenceNumbersComeBack) {
    for (const std::uint64_t sequence :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 40}) {
        EXPECT_EQ(sequence_of(message(8, {7, true}, sequence), {7, true}), sequence);
    }
}

// A verified WRITE is detected by its last byte, in a slot last used two messages before.
TEST(Pattern, TheLastByteDiffersFromThatOfTheMessageTwoBefore) {
    for (std::size_t size = 1; size <= 16; ++size) {
        for (std::uint64_t sequence = 0; sequence < 2000; ++sequence) {
            ASSERT_NE(message(size, {0, false}, sequence).back(),
                      message(size, {0, false}, sequence + 2).back())
                << size << " " << sequence;
        }
    }
}

}  // namespace
}  // namespace rdma_bench
