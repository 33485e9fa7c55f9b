// SPDX-License-Identifier: BSD-2-Clause
// Encoding of frames and their fields
// (docs/reference/qp-exchange-protocol.md). No I/O, no state of a conversation.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "qpx/error.h"

namespace qpx::wire {

inline constexpr std::size_t header_size = 16;
inline constexpr std::size_t field_header_size = 8;
inline constexpr std::uint8_t version_major = 1;
inline constexpr std::uint8_t version_minor = 0;
/// Largest payload that is accepted before HELLO.
inline constexpr std::uint32_t max_hello = 4096;

/// 0x01..0x3f: two peers; 0x40..0x7f: the rendezvous service; others are unassigned.
enum class Type : std::uint8_t {
    Hello = 0x01,
    Refuse = 0x02,
    Endpoints = 0x03,
    Accept = 0x04,
    Data = 0x05,
    Barrier = 0x06,
    Bye = 0x07,
};

/// Reason code in REFUSE. 0x40..0x7f are reserved for the service.
enum class Reason : std::uint16_t {
    Protocol = 1,      ///< malformed
    Version = 2,       ///< another major version
    Limit = 3,         ///< too large, too many
    Auth = 4,          ///< TLS missing, or not allowed
    Feature = 5,       ///< the receiver lacks a feature that the sender requires
    Mismatch = 6,      ///< endpoints that cannot be connected
    Replay = 7,        ///< frame of another conversation, or out of order
    Timeout = 8,       ///< too slow
    Busy = 9,          ///< too many clients
    Application = 10,  ///< the application's own reason, in the text
};

struct Header {
    std::uint8_t major = version_major;
    std::uint8_t minor = version_minor;
    Type type{};
    std::uint8_t flags = 0;
    std::uint32_t sequence = 0;
    std::uint32_t length = 0;  ///< payload bytes
};

/// Decodes the header of a frame. @throws Error Protocol: wrong magic; Version: other major
/// version; Limit: longer than max_payload
Header decode_header(std::span<const std::byte, header_size> bytes, std::uint32_t max_payload);
void encode_header(const Header& header, std::span<std::byte, header_size> bytes);

/// A frame in a caller's buffer.
struct FrameView {
    Header header;
    std::span<const std::byte> payload;
};

/// Splits received bytes into frames. Memory is allocated as bytes arrive, not by the header's
/// length.
class FrameReader {
  public:
    explicit FrameReader(std::uint32_t max_payload = max_hello) : max_payload_(max_payload) {}

    void set_max_payload(std::uint32_t bytes) { max_payload_ = bytes; }

    /// Returns space of at least one byte for the next input. Invalidates frames returned before.
    std::span<std::byte> space();
    /// Notes that `bytes` bytes were written to space().
    void received(std::size_t bytes);
    /// Returns the next whole frame, valid until space() is called. @throws as decode_header
    std::optional<FrameView> next();

    /// Returns true if next() would return a frame or throw.
    bool whole() const;

    /// Buffered bytes that are not a whole frame yet.
    std::size_t partial() const { return end_ - begin_; }
    /// Unconsumed bytes, to inspect input that is not a frame.
    std::span<const std::byte> bytes() const {
        return std::span(buffer_).subspan(begin_, end_ - begin_);
    }

  private:
    std::vector<std::byte> buffer_;
    std::size_t begin_ = 0, end_ = 0;
    std::uint32_t max_payload_;
};

/// Converts to text: UTF-8 without control characters. @throws Error(Protocol)
std::string_view to_text(std::span<const std::byte> value);

/// Bit 0 of a field's flags: a receiver that does not know the tag must refuse the frame.
inline constexpr std::uint16_t must_understand = 1;

struct Field {
    std::uint16_t tag = 0;
    std::uint16_t flags = 0;
    std::span<const std::byte> value;

    // @throws Error(Protocol) if the length differs
    std::uint8_t u8() const;
    std::uint16_t u16() const;
    std::uint32_t u32() const;
    std::uint64_t u64() const;
    /// UTF-8 without control characters. @throws Error(Protocol)
    std::string_view text() const;
    /// Must be called for an unknown tag. @throws Error(Protocol) if it is must_understand
    void skip() const;
};

/// Reads consecutive fields. @throws Error(Protocol) if one extends beyond the end
class FieldReader {
  public:
    explicit FieldReader(std::span<const std::byte> bytes) : rest_(bytes) {}
    std::optional<Field> next();

  private:
    std::span<const std::byte> rest_;
};

/// Reads integers of a value with a fixed layout. @throws Error(Protocol) beyond the end
class Cursor {
  public:
    explicit Cursor(std::span<const std::byte> bytes) : rest_(bytes) {}
    std::uint8_t u8();
    std::uint16_t u16();
    std::uint32_t u32();
    std::uint64_t u64();
    std::span<const std::byte> bytes(std::size_t count);
    std::span<const std::byte> rest() const { return rest_; }

  private:
    std::span<const std::byte> rest_;
};

/// Appends one frame to a buffer; finish() fills in its length.
class FrameWriter {
  public:
    FrameWriter(std::vector<std::byte>& out, Type type);

    void u8(std::uint16_t tag, std::uint8_t value, std::uint16_t flags = 0);
    void u16(std::uint16_t tag, std::uint16_t value, std::uint16_t flags = 0);
    void u32(std::uint16_t tag, std::uint32_t value, std::uint16_t flags = 0);
    void u64(std::uint16_t tag, std::uint64_t value, std::uint16_t flags = 0);
    void text(std::uint16_t tag, std::string_view value, std::uint16_t flags = 0);
    void bytes(std::uint16_t tag, std::span<const std::byte> value, std::uint16_t flags = 0);

    /// Begins a field whose value is appended by raw_*() and nested fields. @return for close()
    std::size_t open(std::uint16_t tag, std::uint16_t flags = 0);
    void close(std::size_t opened);
    void raw_u8(std::uint8_t value);
    void raw_u16(std::uint16_t value);
    void raw_u32(std::uint32_t value);
    void raw_u64(std::uint64_t value);
    void raw(std::span<const std::byte> value);

    /// Payload bytes so far.
    std::size_t size() const { return out_.size() - start_ - header_size; }
    /// Completes the header. Nothing may follow. @throws Error(Limit) above 4 GiB
    void finish(std::uint32_t sequence);

  private:
    std::vector<std::byte>& out_;
    std::size_t start_;
    Type type_;
};

}  // namespace qpx::wire
