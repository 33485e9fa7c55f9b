// SPDX-License-Identifier: BSD-2-Clause
#include "wire/frame.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "wire/bytes.h"
#include "wire/text.h"

namespace qpx::wire {

namespace {

constexpr std::uint32_t magic = 0x51505831;  // "QPX1"
constexpr std::uint8_t critical_flags = 0xf0;
constexpr std::size_t first_space = 4096;

/// Formats the bytes received instead of the magic, to show what kind of server answered.
std::string shown(std::span<const std::byte> bytes) {
    std::string text;
    for (const std::byte byte : bytes) {
        const auto c = std::to_integer<unsigned char>(byte);
        if (c < 0x20 || c >= 0x7f) {
            return {};
        }
        text += static_cast<char>(c);
    }
    return text;
}

[[noreturn]] void wrong_magic(std::span<const std::byte> bytes) {
    if (bytes[0] == std::byte{0x16} && bytes[1] == std::byte{3}) {
        throw Error(ErrorCode::Auth,
                    "the other side speaks TLS, this side has no security: give both the same");
    }
    const std::string text = shown(bytes.first(8));
    throw Error(ErrorCode::Protocol, "the other side is not qp-exchange" +
                                         (text.empty() ? ": it sent other bytes than the magic QPX1"
                                                       : ": it sent \"" + text + "\""));
}

}  // namespace

Header decode_header(std::span<const std::byte, header_size> bytes, std::uint32_t max_payload) {
    if (load<std::uint32_t>(bytes.data()) != magic) {
        wrong_magic(bytes);
    }
    const Header header = {.major = load<std::uint8_t>(&bytes[4]),
                           .minor = load<std::uint8_t>(&bytes[5]),
                           .type = static_cast<Type>(load<std::uint8_t>(&bytes[6])),
                           .flags = load<std::uint8_t>(&bytes[7]),
                           .sequence = load<std::uint32_t>(&bytes[8]),
                           .length = load<std::uint32_t>(&bytes[12])};
    // A refusal has the same format in all versions and is accepted from any.
    if (header.major != version_major && header.type != Type::Refuse) {
        throw Error(ErrorCode::Version,
                    "the other side speaks version " + std::to_string(header.major) + "." +
                        std::to_string(header.minor) + " of the protocol, this side " +
                        std::to_string(version_major) + "." + std::to_string(version_minor) +
                        ": update the older one");
    }
    if ((header.flags & critical_flags) != 0) {
        throw Error(ErrorCode::Protocol, "frame flags " + std::to_string(header.flags) +
                                             " are unknown, but must be understood");
    }
    if (header.length > max_payload) {
        throw Error(ErrorCode::Limit, "a message of " + std::to_string(header.length) +
                                          " bytes is too long: at most " +
                                          std::to_string(max_payload) + " are accepted");
    }
    return header;
}

void encode_header(const Header& header, std::span<std::byte, header_size> bytes) {
    store(&bytes[0], magic);
    store(&bytes[4], header.major);
    store(&bytes[5], header.minor);
    store(&bytes[6], static_cast<std::uint8_t>(header.type));
    store(&bytes[7], header.flags);
    store(&bytes[8], header.sequence);
    store(&bytes[12], header.length);
}

std::span<std::byte> FrameReader::space() {
    if (begin_ == end_) {
        begin_ = end_ = 0;
    } else if (begin_ > 0) {
        std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
                  buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
        end_ -= begin_;
        begin_ = 0;
    }
    if (end_ == 0 && buffer_.size() > 16 * first_space) {
        // Free the large buffer of an idle connection.
        std::vector<std::byte>().swap(buffer_);  // `= {}` would keep the capacity
    }
    if (end_ == buffer_.size()) {
        buffer_.resize(std::max(first_space, 2 * buffer_.size()));
    }
    return std::span(buffer_).subspan(end_);
}

void FrameReader::received(std::size_t bytes) {
    end_ += std::min(bytes, buffer_.size() - end_);
}

bool FrameReader::whole() const {
    try {
        const auto there = bytes();
        return there.size() >= header_size &&
               decode_header(there.first<header_size>(), max_payload_).length <=
                   there.size() - header_size;
    } catch (const Error&) {
        return true;
    }
}

std::optional<FrameView> FrameReader::next() {
    const std::span<const std::byte> there = bytes();
    if (there.size() < header_size) {
        // Report wrong magic at once: input that is not a frame may be shorter than a header.
        constexpr std::array<char, 4> expected = {'Q', 'P', 'X', '1'};
        const std::size_t count = std::min(there.size(), expected.size());
        for (std::size_t i = 0; i < count; ++i) {
            if (std::to_integer<char>(there[i]) != expected[i]) {
                std::array<std::byte, header_size> padded{};
                std::copy(there.begin(), there.end(), padded.begin());
                wrong_magic(padded);
            }
        }
        return std::nullopt;
    }
    const Header header = decode_header(there.first<header_size>(), max_payload_);
    if (there.size() - header_size < header.length) {
        return std::nullopt;
    }
    begin_ += header_size + header.length;
    return FrameView{header, there.subspan(header_size, header.length)};
}

std::uint8_t Cursor::u8() {
    return load<std::uint8_t>(bytes(1).data());
}
std::uint16_t Cursor::u16() {
    return load<std::uint16_t>(bytes(2).data());
}
std::uint32_t Cursor::u32() {
    return load<std::uint32_t>(bytes(4).data());
}
std::uint64_t Cursor::u64() {
    return load<std::uint64_t>(bytes(8).data());
}

std::span<const std::byte> Cursor::bytes(std::size_t count) {
    if (count > rest_.size()) {
        throw Error(ErrorCode::Protocol, "a value ends after " + std::to_string(rest_.size()) +
                                             " bytes where " + std::to_string(count) + " were due");
    }
    const auto taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
}

namespace {

template <class T>
T number(const Field& field) {
    if (field.value.size() != sizeof(T)) {
        throw Error(ErrorCode::Protocol, "field " + std::to_string(field.tag) + " has " +
                                             std::to_string(field.value.size()) +
                                             " bytes instead of " + std::to_string(sizeof(T)));
    }
    return load<T>(field.value.data());
}

}  // namespace

std::uint8_t Field::u8() const {
    return number<std::uint8_t>(*this);
}
std::uint16_t Field::u16() const {
    return number<std::uint16_t>(*this);
}
std::uint32_t Field::u32() const {
    return number<std::uint32_t>(*this);
}
std::uint64_t Field::u64() const {
    return number<std::uint64_t>(*this);
}

std::string_view Field::text() const {
    return to_text(value);
}

std::string_view to_text(std::span<const std::byte> value) {
    if (!is_text(value)) {
        throw Error(ErrorCode::Protocol, "a text is not UTF-8 without control characters");
    }
    return {reinterpret_cast<const char*>(value.data()), value.size()};
}

void Field::skip() const {
    if ((flags & must_understand) != 0) {
        throw Error(ErrorCode::Protocol,
                    "field " + std::to_string(tag) + " is unknown, but must be understood");
    }
}

std::optional<Field> FieldReader::next() {
    if (rest_.empty()) {
        return std::nullopt;
    }
    if (rest_.size() < field_header_size) {
        throw Error(ErrorCode::Protocol,
                    std::to_string(rest_.size()) + " bytes behind the last field");
    }
    const auto length = load<std::uint32_t>(&rest_[4]);
    if (length > rest_.size() - field_header_size) {
        throw Error(ErrorCode::Protocol, "a field of " + std::to_string(length) +
                                             " bytes in the last " +
                                             std::to_string(rest_.size() - field_header_size));
    }
    const Field field = {load<std::uint16_t>(&rest_[0]), load<std::uint16_t>(&rest_[2]),
                         rest_.subspan(field_header_size, length)};
    rest_ = rest_.subspan(field_header_size + length);
    return field;
}

FrameWriter::FrameWriter(std::vector<std::byte>& out, Type type)
    : out_(out), start_(out.size()), type_(type) {
    out_.resize(start_ + header_size);
}

std::size_t FrameWriter::open(std::uint16_t tag, std::uint16_t flags) {
    const std::size_t at = out_.size();
    raw_u16(tag);
    raw_u16(flags);
    raw_u32(0);
    return at;
}

void FrameWriter::close(std::size_t opened) {
    const std::size_t length = out_.size() - opened - field_header_size;
    if (length > std::numeric_limits<std::uint32_t>::max()) {
        throw Error(ErrorCode::Limit, "a field above 4 GiB");
    }
    store(&out_[opened + 4], static_cast<std::uint32_t>(length));
}

void FrameWriter::u8(std::uint16_t tag, std::uint8_t value, std::uint16_t flags) {
    const std::size_t at = open(tag, flags);
    raw_u8(value);
    close(at);
}

void FrameWriter::u16(std::uint16_t tag, std::uint16_t value, std::uint16_t flags) {
    const std::size_t at = open(tag, flags);
    raw_u16(value);
    close(at);
}

void FrameWriter::u32(std::uint16_t tag, std::uint32_t value, std::uint16_t flags) {
    const std::size_t at = open(tag, flags);
    raw_u32(value);
    close(at);
}

void FrameWriter::u64(std::uint16_t tag, std::uint64_t value, std::uint16_t flags) {
    const std::size_t at = open(tag, flags);
    raw_u64(value);
    close(at);
}

void FrameWriter::text(std::uint16_t tag, std::string_view value, std::uint16_t flags) {
    bytes(tag, std::as_bytes(std::span(value)), flags);
}

void FrameWriter::bytes(std::uint16_t tag, std::span<const std::byte> value, std::uint16_t flags) {
    const std::size_t at = open(tag, flags);
    raw(value);
    close(at);
}

void FrameWriter::raw_u8(std::uint8_t value) {
    append(out_, value);
}
void FrameWriter::raw_u16(std::uint16_t value) {
    append(out_, value);
}
void FrameWriter::raw_u32(std::uint32_t value) {
    append(out_, value);
}
void FrameWriter::raw_u64(std::uint64_t value) {
    append(out_, value);
}
void FrameWriter::raw(std::span<const std::byte> value) {
    out_.insert(out_.end(), value.begin(), value.end());
}

void FrameWriter::finish(std::uint32_t sequence) {
    if (size() > std::numeric_limits<std::uint32_t>::max()) {
        throw Error(ErrorCode::Limit, "a message above 4 GiB");
    }
    encode_header(
        {.type = type_, .sequence = sequence, .length = static_cast<std::uint32_t>(size())},
        std::span(out_).subspan(start_).first<header_size>());
}

}  // namespace qpx::wire
