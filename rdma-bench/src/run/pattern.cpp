// SPDX-License-Identifier: BSD-2-Clause
#include "run/pattern.h"

#include <endian.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace rdma_bench {
namespace {

// Odd, so that word k is a bijection of the sequence number; neighbouring words differ in every
// byte.
constexpr std::uint64_t kPerMessage = 0x9e3779b97f4a7c15;
constexpr std::uint64_t kPerWord = 0xd1342543de82ef95;

/// Inverse modulo 2^64 by Newton's iteration: each step doubles the number of correct bits.
constexpr std::uint64_t inverse(std::uint64_t odd) {
    std::uint64_t x = odd;
    for (int i = 0; i < 6; ++i) {
        x *= 2 - odd * x;
    }
    return x;
}
static_assert(inverse(kPerMessage) * kPerMessage == 1);

std::uint64_t key(Stream stream) {
    return (std::uint64_t{stream.qp} + 1) * 0xbf58476d1ce4e5b9 +
           (stream.from_server ? 0x94d049bb133111eb : 0);
}

std::uint64_t first_word(Stream stream, std::uint64_t sequence) {
    return key(stream) + sequence * kPerMessage;
}

std::byte byte_at(std::size_t offset, Stream stream, std::uint64_t sequence) {
    const std::uint64_t word = htole64(first_word(stream, sequence) + offset / 8 * kPerWord);
    std::byte bytes[8];
    std::memcpy(bytes, &word, sizeof word);
    return bytes[offset % 8];
}

/// Returns the offset of the first wrong byte; message.size() if there is none.
std::size_t mismatch(std::span<const std::byte> message, Stream stream, std::uint64_t sequence) {
    std::uint64_t expected = first_word(stream, sequence);
    std::size_t offset = 0;
    for (; offset + 8 <= message.size(); offset += 8, expected += kPerWord) {
        std::uint64_t word;
        std::memcpy(&word, message.data() + offset, sizeof word);
        if (word != htole64(expected)) {
            break;
        }
    }
    while (offset < message.size() && message[offset] == byte_at(offset, stream, sequence)) {
        ++offset;
    }
    return offset;
}

}  // namespace

void fill_pattern(std::span<std::byte> message, Stream stream, std::uint64_t sequence) {
    std::uint64_t value = first_word(stream, sequence);
    std::size_t offset = 0;
    for (; offset + 8 <= message.size(); offset += 8, value += kPerWord) {
        const std::uint64_t word = htole64(value);
        std::memcpy(message.data() + offset, &word, sizeof word);
    }
    for (; offset < message.size(); ++offset) {
        message[offset] = byte_at(offset, stream, sequence);
    }
}

std::uint64_t sequence_of(std::span<const std::byte> message, Stream stream) {
    std::uint64_t word = 0;
    std::memcpy(&word, message.data(), std::min(sizeof word, message.size()));
    return (le64toh(word) - key(stream)) * inverse(kPerMessage);
}

std::string check_pattern(std::span<const std::byte> message, Stream stream,
                          std::uint64_t sequence) {
    const std::size_t offset = mismatch(message, stream, sequence);
    if (offset == message.size()) {
        return {};
    }
    char text[160];
    std::snprintf(text, sizeof text,
                  "message %llu of QP %u, offset %zu: expected 0x%02x, got 0x%02x",
                  static_cast<unsigned long long>(sequence), stream.qp, offset,
                  std::to_integer<unsigned>(byte_at(offset, stream, sequence)),
                  std::to_integer<unsigned>(message[offset]));
    std::string result = text;
    if (message.size() >= 8) {
        const auto other = sequence_of(message, stream);
        if (other != sequence && mismatch(message, stream, other) == message.size()) {
            result += " (all of it is message " + std::to_string(other) + ")";
        }
    }
    return result;
}

}  // namespace rdma_bench
