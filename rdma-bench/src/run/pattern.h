// SPDX-License-Identifier: BSD-2-Clause
// Content of verified messages: each byte depends on the
// stream, the message's sequence number and the byte's offset, so that misplaced bytes, old
// messages and torn messages are all detected.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace rdma_bench {

/// A sequence of messages: one QP in one direction.
struct Stream {
    std::uint32_t qp = 0;
    bool from_server = false;
};

void fill_pattern(std::span<std::byte> message, Stream stream, std::uint64_t sequence);

/// Returns "" if all bytes are right, else "message 17 of QP 0, offset 4: expected 0x12, got 0x34",
/// and which other message it is if the content is that of one.
std::string check_pattern(std::span<const std::byte> message, Stream stream,
                          std::uint64_t sequence);

/// Returns the sequence number encoded in the first 8 bytes; only valid for messages of this
/// stream.
std::uint64_t sequence_of(std::span<const std::byte> message, Stream stream);

}  // namespace rdma_bench
