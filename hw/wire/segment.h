// SPDX-License-Identifier: BSD-2-Clause
//
// Does what a kernel leaves to "hardware" when it sends: checksums, and segmentation of large TCP
// or UDP frames (GSO). A raw socket receives such frames unfinished.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dingo {

/// struct virtio_net_hdr of linux/virtio_net.h, which does not compile as C++. Host byte order.
struct VnetHeader {
    std::uint8_t flags;
    std::uint8_t gso_type;
    std::uint16_t hdr_len;
    std::uint16_t gso_size;
    std::uint16_t csum_start;
    std::uint16_t csum_offset;
};
static_assert(sizeof(VnetHeader) == 10);

inline constexpr std::uint8_t kVnetNeedsChecksum = 1;  // VIRTIO_NET_HDR_F_NEEDS_CSUM
inline constexpr std::uint8_t kVnetGsoNone = 0;        // VIRTIO_NET_HDR_GSO_...
inline constexpr std::uint8_t kVnetGsoTcp4 = 1;
inline constexpr std::uint8_t kVnetGsoTcp6 = 4;
inline constexpr std::uint8_t kVnetGsoUdp = 5;
inline constexpr std::uint8_t kVnetGsoEcn = 0x80;

/// Completes the checksum of frame[start..], stored at start + offset; that field already holds the
/// pseudo header's sum. Returns false, with the frame unchanged, if it is outside the frame.
bool finish_checksum(std::span<std::byte> frame, std::size_t start, std::size_t offset);

/// Splits a frame that was left for segmentation offload.
class Segmenter {
  public:
    /// `frame`: IPv4 or IPv6 with TCP or UDP. valid() is false for anything else, if it is
    /// inconsistent, or if a segment would be longer than kMaxFrame.
    Segmenter(std::span<const std::byte> frame, const VnetHeader& vnet);

    [[nodiscard]] bool valid() const { return valid_; }

    /// Writes the next frame into `out` (room for kMaxFrame) and returns its length; 0 after the
    /// last. All lengths and checksums are correct.
    std::size_t next(std::span<std::byte> out);

  private:
    std::span<const std::byte> frame_;
    bool valid_ = false;
    bool ipv6_ = false;
    bool tcp_ = false;
    std::size_t ip_ = 0;  // offsets into the frame
    std::size_t l4_ = 0;
    std::size_t payload_ = 0;
    std::size_t end_ = 0;
    std::size_t size_ = 0;  // payload bytes of each piece
    std::size_t done_ = 0;  // payload bytes cut so far
    std::uint16_t pieces_ = 0;
};

}  // namespace dingo
