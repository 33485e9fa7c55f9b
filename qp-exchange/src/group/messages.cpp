// SPDX-License-Identifier: BSD-2-Clause
#include "group/messages.h"

#include <algorithm>
#include <array>
#include <string>

#include "wire/bytes.h"
#include "wire/frame.h"
#include "wire/text.h"

namespace qpx::service {
namespace {

// Tags are the same in all messages of the service.
enum Tag : uint16_t {
    tag_request = 1,
    tag_job = 2,
    tag_rank = 3,
    tag_size = 4,
    tag_name = 5,
    tag_key = 6,
    tag_value = 7,
    tag_number = 8,
    tag_items = 9,
    tag_options = 10,
    tag_ranks = 11,
    tag_records = 12,
    tag_code = 13,
    tag_text = 14,
    tag_incarnation = 15,
    tag_count = 16,
};

constexpr uint32_t bit(Tag tag) {
    return 1u << tag;
}

// Returns the required fields of each type.
uint32_t needed(Type type) {
    switch (type) {
        case Type::Join:
            return bit(tag_request) | bit(tag_job);
        case Type::Put:
            return bit(tag_request) | bit(tag_key) | bit(tag_value);
        case Type::Get:
        case Type::Wait:
        case Type::Erase:
            return bit(tag_request) | bit(tag_key);
        case Type::Add:
            return bit(tag_request) | bit(tag_key) | bit(tag_number);
        case Type::Gather:
            return bit(tag_request) | bit(tag_name);
        case Type::Exchange:
        case Type::Gathered:
        case Type::Exchanged:
            return bit(tag_request) | bit(tag_items);
        case Type::Leave:
        case Type::Members:
        case Type::Cancel:
        case Type::Status:
        case Type::Done:
            return bit(tag_request);
        case Type::Joined:
            return bit(tag_request) | bit(tag_rank);
        case Type::Value:
            return bit(tag_request) | bit(tag_value);
        case Type::Number:
            return bit(tag_request) | bit(tag_number);
        case Type::MemberList:
            return bit(tag_request) | bit(tag_records);
        case Type::Events:
            return bit(tag_records);
        case Type::Failed:
            return bit(tag_request) | bit(tag_code) | bit(tag_text);
    }
    throw Error(ErrorCode::Protocol, "message type " + std::to_string(static_cast<int>(type)) +
                                         " is not one of the rendezvous service");
}

// Error codes on the wire: the number is the index.
constexpr std::array wire_codes = {
    ErrorCode::Argument, ErrorCode::Resolve, ErrorCode::Refused,     ErrorCode::Timeout,
    ErrorCode::Protocol, ErrorCode::Version, ErrorCode::Auth,        ErrorCode::Limit,
    ErrorCode::PeerGone, ErrorCode::Device,  ErrorCode::Unsupported,
};

uint16_t wire_code(ErrorCode code) {
    for (size_t i = 0; i < wire_codes.size(); ++i) {
        if (wire_codes[i] == code) {
            return static_cast<uint16_t>(i);
        }
    }
    return 4;
}

ErrorCode code_of(uint16_t number) {
    return number < wire_codes.size() ? wire_codes[number] : ErrorCode::Refused;
}

void write_fields(wire::FrameWriter& writer, const Message& m, uint32_t need) {
    if (need & bit(tag_request)) {
        writer.u32(tag_request, m.request);
    }
    if (!m.job.empty()) {
        writer.text(tag_job, m.job);
    }
    if (m.rank != any_rank || (need & bit(tag_rank))) {
        writer.u32(tag_rank, m.rank);
    }
    if (m.size != 0) {
        writer.u32(tag_size, m.size);
    }
    if (!m.name.empty() || (need & bit(tag_name))) {
        writer.text(tag_name, m.name);
    }
    for (std::string_view key : m.keys) {
        writer.text(tag_key, key);
    }
    if (!m.value.empty() || (need & bit(tag_value))) {
        writer.bytes(tag_value, m.value);
    }
    if (m.number != 0 || (need & bit(tag_number))) {
        writer.u64(tag_number, static_cast<uint64_t>(m.number));
    }
    if (m.options != 0) {
        writer.u32(tag_options, m.options);
    }
    if (!m.ranks.empty()) {
        writer.bytes(tag_ranks, m.ranks);
    }
    if (need & bit(tag_records)) {
        writer.bytes(tag_records, m.records);
    }
    if (need & bit(tag_code)) {
        writer.u16(tag_code, wire_code(m.code));
    }
    if (!m.text.empty() || (need & bit(tag_text))) {
        writer.text(tag_text, m.text);
    }
    if (m.incarnation != 0) {
        writer.u32(tag_incarnation, m.incarnation);
    }
}

}  // namespace

Message decode(uint8_t type, View payload) {
    Message m;
    m.type = static_cast<Type>(type);
    const uint32_t need = needed(m.type);
    uint32_t seen = 0;
    wire::FieldReader reader(payload);
    while (auto field = reader.next()) {
        if (field->tag == 0 || field->tag >= tag_count) {
            field->skip();
            continue;
        }
        const uint32_t mine = 1u << field->tag;
        if ((seen & mine) != 0 && field->tag != tag_key) {
            throw Error(ErrorCode::Protocol,
                        "field " + std::to_string(field->tag) + " is there twice");
        }
        seen |= mine;
        switch (static_cast<Tag>(field->tag)) {
            case tag_request:
                m.request = field->u32();
                break;
            case tag_job:
                m.job = field->text();
                break;
            case tag_rank:
                m.rank = field->u32();
                break;
            case tag_size:
                m.size = field->u32();
                break;
            case tag_name:
                m.name = field->text();
                break;
            case tag_key:
                m.keys.push_back(field->text());
                break;
            case tag_value:
                m.value = field->value;
                break;
            case tag_number:
                m.number = static_cast<int64_t>(field->u64());
                break;
            case tag_items:
                m.items = field->value;
                break;
            case tag_options:
                m.options = field->u32();
                break;
            case tag_ranks:
                m.ranks = field->value;
                break;
            case tag_records:
                m.records = field->value;
                break;
            case tag_code:
                m.code = code_of(field->u16());
                break;
            case tag_text:
                m.text = field->text();
                break;
            case tag_incarnation:
                m.incarnation = field->u32();
                break;
            case tag_count:
                break;
        }
    }
    if ((need & ~seen) != 0) {
        throw Error(ErrorCode::Protocol, "message type " + std::to_string(type) + " lacks field " +
                                             std::to_string(__builtin_ctz(need & ~seen)));
    }
    return m;
}

void encode(const Message& message, uint32_t sequence, Bytes& out) {
    const uint32_t need = needed(message.type);
    wire::FrameWriter writer(out, static_cast<wire::Type>(message.type));
    write_fields(writer, message, need);
    if (need & bit(tag_items)) {
        writer.bytes(tag_items, message.items);
    }
    writer.finish(sequence);
}

void encode_before_bytes(const Message& message, uint32_t sequence, size_t bytes, Bytes& out) {
    const size_t start = out.size();
    wire::FrameWriter writer(out, static_cast<wire::Type>(message.type));
    const Tag last = message.type == Type::Value        ? tag_value
                     : message.type == Type::MemberList ? tag_records
                                                        : tag_items;
    write_fields(writer, message, needed(message.type) & ~bit(last));
    const size_t field = out.size();
    writer.bytes(last, {});
    writer.finish(sequence);
    // The lengths of the frame and its last field include the items that follow.
    wire::Header header = wire::decode_header(
        std::span<const std::byte, wire::header_size>(out.data() + start, wire::header_size),
        UINT32_MAX);
    header.length += static_cast<uint32_t>(bytes);
    wire::encode_header(
        header, std::span<std::byte, wire::header_size>(out.data() + start, wire::header_size));
    wire::store(out.data() + field + 4, static_cast<uint32_t>(bytes));
}

void append_item(Bytes& items, uint32_t rank, View bytes) {
    const size_t at = items.size();
    items.resize(at + item_overhead + bytes.size());
    wire::store(items.data() + at, rank);
    wire::store(items.data() + at + 4, static_cast<uint32_t>(bytes.size()));
    std::copy(bytes.begin(), bytes.end(), items.begin() + static_cast<ptrdiff_t>(at + 8));
}

bool Items::next() {
    if (rest_.empty()) {
        return false;
    }
    if (rest_.size() < item_overhead) {
        throw Error(ErrorCode::Protocol, "items end in the middle of one");
    }
    rank_ = wire::load<uint32_t>(rest_.data());
    const uint32_t length = wire::load<uint32_t>(rest_.data() + 4);
    if (length > rest_.size() - item_overhead) {
        throw Error(ErrorCode::Protocol, "an item reaches beyond its field");
    }
    bytes_ = rest_.subspan(item_overhead, length);
    rest_ = rest_.subspan(item_overhead + length);
    return true;
}

void append_record(Bytes& records, const Record& record) {
    const View name = view_of(wire::cut(record.name, UINT16_MAX));
    const View text = view_of(wire::cut(record.text, UINT16_MAX));
    wire::append(records, static_cast<uint8_t>(record.kind));
    wire::append(records, record.rank);
    wire::append(records, record.incarnation);
    wire::append(records, static_cast<uint16_t>(name.size()));
    wire::append(records, static_cast<uint16_t>(text.size()));
    records.insert(records.end(), name.begin(), name.end());
    records.insert(records.end(), text.begin(), text.end());
}

std::vector<Record> read_records(View packed) {
    std::vector<Record> records;
    wire::Cursor cursor(packed);
    while (!cursor.rest().empty()) {
        Record record;
        record.kind = static_cast<EventKind>(cursor.u8());
        record.rank = cursor.u32();
        record.incarnation = cursor.u32();
        const uint16_t name = cursor.u16(), text = cursor.u16();
        record.name = text_of(cursor.bytes(name));
        record.text = text_of(cursor.bytes(text));
        records.push_back(record);
    }
    return records;
}

void append_rank(Bytes& ranks, uint32_t rank) {
    wire::append(ranks, rank);
}

std::vector<uint32_t> read_ranks(View packed) {
    if (packed.size() % 4 != 0) {
        throw Error(ErrorCode::Protocol, "a list of ranks ends in the middle of one");
    }
    std::vector<uint32_t> ranks(packed.size() / 4);
    for (size_t i = 0; i < ranks.size(); ++i) {
        ranks[i] = wire::load<uint32_t>(packed.data() + 4 * i);
    }
    return ranks;
}

}  // namespace qpx::service
