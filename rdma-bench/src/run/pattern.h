// SPDX-License-Identifier: BSD-2-Clause
// What verified messages hold: each byte follows from the stream, the message's sequence number and
// the byte's place, so that a byte from elsewhere, an older message and a torn one are all told
// apart.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace rdma_bench {

/// Which messages belong together: one QP in one direction.
struct Stream {
    std::uint32_t qp = 0;
    bool from_server = false;
};

void fill_pattern(std::span<std::byte> message, Stream stream, std::uint64_t sequence);

/// Returns "" when each byte is right, else "message 17 of QP 0, offset 4: expected 0x12, got
/// 0x34", and which other message the content is when it is one whole.
std::string check_pattern(std::span<const std::byte> message, Stream stream,
                          std::uint64_t sequence);

/// Sequence number that the first 8 bytes encode; only right when the message belongs to this
/// stream.
std::uint64_t sequence_of(std::span<const std::byte> message, Stream stream);

}  // namespace rdma_bench
