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

/// Message types; 0x40 to 0x5f are requests, 0x60 to 0x7f answers and notifications.
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
    no_wait = 2,       ///< GET: answer at once, even if the key does not exist
    once = 4,          ///< PUT: fail if the key exists
    barrier = 8,       ///< GATHER: a barrier, nothing is gathered
    shrink = 16,       ///< JOIN: collectives go on without members that fail
    events_lost = 32,  ///< EVENTS: earlier events were dropped, ask for the members
    exists = 64,       ///< VALUE, DONE: the key existed
};

inline constexpr uint32_t any_rank = 0xffffffff;

/// A decoded message; the type determines which fields are used. Views point into the payload.
struct Message {
    Type type{};
    uint32_t request = 0;  ///< numbered by the requester, strictly increasing; 0 in EVENTS
    uint32_t rank = any_rank;
    uint32_t size = 0;
    uint32_t options = 0;
    uint32_t incarnation = 0;
    int64_t number = 0;
    ErrorCode code{};
    std::string_view job{}, name{}, text{};
    std::vector<std::string_view> keys{};
    View value{};    ///< value of a key, or contribution
    View items{};    ///< packed: u32 rank, u32 length, bytes
    View ranks{};    ///< packed u32: peers that are gone
    View records{};  ///< packed events or members

    std::string_view key() const { return keys.front(); }
};

/// Decodes the payload of a frame. @throws Error(Protocol) if a required field is missing, or a
/// field is duplicate or has the wrong size
Message decode(uint8_t type, View payload);

/// Appends one whole frame to `out`. @param sequence sequence number in its direction
void encode(const Message& message, uint32_t sequence, Bytes& out);

/// Appends a frame without its last `bytes` bytes, which the caller sends after it and may share
/// between many frames: those of field `items`, or of `value` in VALUE and `records` in
/// MEMBER_LIST.
void encode_before_bytes(const Message& message, uint32_t sequence, size_t bytes, Bytes& out);

/// Most bytes that a frame has besides its items.
inline constexpr size_t frame_overhead = 128;

/// Appends a packed item: u32 rank, u32 length, bytes.
void append_item(Bytes& items, uint32_t rank, View bytes);
inline constexpr size_t item_overhead = 8;

/// Reads packed items front to back.
class Items {
  public:
    explicit Items(View packed) : rest_(packed) {}
    /// Advances. Returns false at the end. @throws Error(Protocol) malformed items
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
/// Appends a packed record; its name and text are truncated to what their lengths can express.
void append_record(Bytes& records, const Record& record);

/// Unpacks records. @throws Error(Protocol) malformed records
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
