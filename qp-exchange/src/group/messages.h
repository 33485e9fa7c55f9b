// SPDX-License-Identifier: BSD-2-Clause
// Messages between a member of a group and the service (docs/reference/qpxd.md). No I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qpx/error.h"

namespace qpx::service {

using Bytes = std::vector<std::byte>;
using View = std::span<const std::byte>;

/// Message types; 0x40 to 0x5f ask, 0x60 to 0x7f answer or tell.
enum class Type : uint8_t {
    Join = 0x40,
    Leave = 0x41,
    Put = 0x42,
    Get = 0x43,
    Wait = 0x44,
    Add = 0x45,
    Erase = 0x46,
    Gather = 0x47,
    Exchange = 0x48,
    Members = 0x49,
    Cancel = 0x4a,
    Status = 0x4b,

    Joined = 0x60,
    Done = 0x61,
    Value = 0x62,
    Number = 0x63,
    Gathered = 0x64,
    Exchanged = 0x65,
    MemberList = 0x66,
    Events = 0x67,
    Failed = 0x68,
};

/// Bits of the field `options`.
enum Option : uint32_t {
    last_part = 1,     ///< EXCHANGE, EXCHANGED, GATHERED, MEMBER_LIST: no part follows
    no_wait = 2,       ///< GET: answer at once, also when the key does not exist
    once = 4,          ///< PUT: refuse when the key exists
    barrier = 8,       ///< GATHER: nothing is gathered
    shrink = 16,       ///< JOIN: members that fail are left out, the others' collectives go on
    events_lost = 32,  ///< EVENTS: some before these were dropped, ask for the members
    exists = 64,       ///< VALUE, DONE: the key was there
};

inline constexpr uint32_t any_rank = 0xffffffff;

/// What a member or the service says; which members count depends on the type. All views point into
/// the payload that was decoded.
struct Message {
    Type type{};
    uint32_t request = 0;  ///< numbered by the asking side, strictly rising; 0 in EVENTS
    uint32_t rank = any_rank;
    uint32_t size = 0;
    uint32_t options = 0;
    uint32_t incarnation = 0;
    int64_t number = 0;
    ErrorCode code{};
    std::string_view job{}, name{}, text{};
    std::vector<std::string_view> keys{};
    View value{};    ///< of a key, of a contribution
    View items{};    ///< packed: u32 rank, u32 length, bytes
    View ranks{};    ///< packed u32: peers that have gone
    View records{};  ///< packed events or members

    std::string_view key() const { return keys.front(); }
};

/// Decodes the payload of a frame. A message that lacks a field its type needs, has one twice or in
/// a wrong size, throws Error(Protocol).
Message decode(uint8_t type, View payload);

/// Appends one whole frame to `out`. @param sequence of the frame in its direction
void encode(const Message& message, uint32_t sequence, Bytes& out);

/// Appends a frame but for its last `bytes` bytes: those of the field `items`, of VALUE and
/// MEMBER_LIST those of the fields `value` and `records`, which the caller sends behind it. They
/// may be shared between many frames.
void encode_before_bytes(const Message& message, uint32_t sequence, size_t bytes, Bytes& out);

/// Bytes that a frame has beside its items, at most.
inline constexpr size_t frame_overhead = 128;

/// Packed items: one after the other u32 rank, u32 length, bytes.
void append_item(Bytes& items, uint32_t rank, View bytes);
inline constexpr size_t item_overhead = 8;

/// Reads packed items front to back.
class Items {
  public:
    explicit Items(View packed) : rest_(packed) {}
    /// False at the end; throws Error(Protocol) when the packing is broken.
    bool next();
    uint32_t rank() const { return rank_; }
    View bytes() const { return bytes_; }

  private:
    View rest_, bytes_;
    uint32_t rank_ = 0;
};

enum class EventKind : uint8_t { Joined = 1, Left = 2, Failed = 3 };

/// An event or the state of a member. Packed: u8 kind, u32 rank, u32 incarnation, u16 and u16
/// lengths, name, text.
struct Record {
    EventKind kind{};
    uint32_t rank = 0;
    uint32_t incarnation = 0;
    std::string_view name{}, text{};
};
void append_record(Bytes& records, const Record& record);

/// Reads packed records front to back; throws Error(Protocol) when the packing is broken.
std::vector<Record> read_records(View packed);

/// Packed u32 values.
void append_rank(Bytes& ranks, uint32_t rank);
std::vector<uint32_t> read_ranks(View packed);

inline std::string_view text_of(View bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline View view_of(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace qpx::service
