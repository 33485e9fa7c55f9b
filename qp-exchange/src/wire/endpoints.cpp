// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <utility>

#include "wire/messages.h"

namespace qpx::wire {

namespace {

constexpr std::size_t fixed_size = 44, region_fixed = 20;
constexpr std::size_t max_device = 63, max_region_tag = 255;
constexpr std::size_t candidate_size = 20, max_candidates = 64;

std::string_view checked_text(std::span<const std::byte> bytes, std::size_t limit,
                              const char* what) {
    if (bytes.size() > limit) {
        throw Error(ErrorCode::Limit,
                    std::string(what) + " above " + std::to_string(limit) + " bytes");
    }
    return to_text(bytes);
}

Region get_region(std::span<const std::byte> value) {
    Cursor cursor(value);
    Region region;
    region.address = cursor.u64();
    region.length = cursor.u64();
    region.rkey = cursor.u32();
    region.tag = checked_text(cursor.rest(), max_region_tag, "a region's tag");
    return region;
}

GidCandidate get_candidate(std::span<const std::byte> value) {
    Cursor cursor(value);
    GidCandidate candidate;
    const auto gid = cursor.bytes(candidate.gid.size());
    std::transform(gid.begin(), gid.end(), candidate.gid.begin(),
                   [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
    candidate.type = static_cast<GidCandidate::Type>(cursor.u8());
    candidate.wish = static_cast<GidCandidate::Wish>(cursor.u8());
    candidate.prefix = cursor.u8();
    cursor.u8();
    return candidate;
}

void get_fixed(Cursor& cursor, Endpoint& endpoint) {
    endpoint.qpn = cursor.u32();
    endpoint.psn = cursor.u32();
    endpoint.qkey = cursor.u32();
    endpoint.srqn = cursor.u32();
    const auto gid = cursor.bytes(endpoint.gid.size());
    std::transform(gid.begin(), gid.end(), endpoint.gid.begin(),
                   [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
    endpoint.lid = cursor.u16();
    endpoint.port = cursor.u8();
    endpoint.type = static_cast<QpType>(cursor.u8());
    endpoint.mtu = cursor.u32();
    endpoint.max_rd_atomic = cursor.u8();
    endpoint.max_dest_rd_atomic = cursor.u8();
    cursor.u16();
}

}  // namespace

std::size_t encoded_size(const Endpoint& endpoint) noexcept {
    std::size_t size = field_header_size + fixed_size;
    if (!endpoint.device.empty()) {
        size += field_header_size + endpoint.device.size();
    }
    for (const Region& region : endpoint.regions) {
        size += field_header_size + region_fixed + region.tag.size();
    }
    if (!endpoint.application.empty()) {
        size += field_header_size + endpoint.application.size();
    }
    size += endpoint.candidates.size() * (field_header_size + candidate_size);
    return size;
}

void put(FrameWriter& writer, std::uint16_t tag, const Endpoint& endpoint) {
    const std::size_t whole = writer.open(tag, must_understand);
    writer.raw_u32(endpoint.qpn);
    writer.raw_u32(endpoint.psn);
    writer.raw_u32(endpoint.qkey);
    writer.raw_u32(endpoint.srqn);
    writer.raw(std::as_bytes(std::span(endpoint.gid)));
    writer.raw_u16(endpoint.lid);
    writer.raw_u8(endpoint.port);
    writer.raw_u8(static_cast<std::uint8_t>(endpoint.type));
    writer.raw_u32(endpoint.mtu);
    writer.raw_u8(endpoint.max_rd_atomic);
    writer.raw_u8(endpoint.max_dest_rd_atomic);
    writer.raw_u16(0);
    if (!endpoint.device.empty()) {
        writer.text(tag::device, endpoint.device);
    }
    for (const Region& region : endpoint.regions) {
        const std::size_t at = writer.open(tag::region);
        writer.raw_u64(region.address);
        writer.raw_u64(region.length);
        writer.raw_u32(region.rkey);
        writer.raw(std::as_bytes(std::span(region.tag)));
        writer.close(at);
    }
    if (!endpoint.application.empty()) {
        writer.bytes(tag::application, endpoint.application);
    }
    for (const GidCandidate& candidate : endpoint.candidates) {
        const std::size_t at = writer.open(tag::candidate);
        writer.raw(std::as_bytes(std::span(candidate.gid)));
        writer.raw_u8(static_cast<std::uint8_t>(candidate.type));
        writer.raw_u8(static_cast<std::uint8_t>(candidate.wish));
        writer.raw_u8(candidate.prefix);
        writer.raw_u8(0);
        writer.close(at);
    }
    writer.close(whole);
}

Endpoint get_endpoint(std::span<const std::byte> value, const Limits& limits) {
    Cursor cursor(value);
    Endpoint endpoint;
    get_fixed(cursor, endpoint);
    FieldReader fields(cursor.rest());
    bool device = false, application = false;
    while (const auto field = fields.next()) {
        if (field->tag == tag::region) {
            if (endpoint.regions.size() == limits.max_regions) {
                throw Error(ErrorCode::Limit, "an endpoint with more than " +
                                                  std::to_string(limits.max_regions) + " regions");
            }
            endpoint.regions.push_back(get_region(field->value));
        } else if (field->tag == tag::candidate) {
            if (endpoint.candidates.size() == max_candidates) {
                throw Error(ErrorCode::Limit, "an endpoint with more than 64 GIDs");
            }
            endpoint.candidates.push_back(get_candidate(field->value));
        } else if (field->tag == tag::device && !std::exchange(device, true)) {
            endpoint.device = checked_text(field->value, max_device, "a device name");
        } else if (field->tag == tag::application && !std::exchange(application, true)) {
            if (field->value.size() > limits.max_application) {
                throw Error(ErrorCode::Limit, "an endpoint with more than " +
                                                  std::to_string(limits.max_application) +
                                                  " application bytes");
            }
            endpoint.application.assign(field->value.begin(), field->value.end());
        } else if (field->tag == tag::device || field->tag == tag::application) {
            throw Error(ErrorCode::Protocol,
                        "field " + std::to_string(field->tag) + " comes twice");
        } else {
            field->skip();
        }
    }
    if (const std::string why = why_invalid(endpoint); !why.empty()) {
        throw Error(ErrorCode::Protocol, "an invalid endpoint: " + why);
    }
    return endpoint;
}

void encode(std::vector<std::byte>& out, std::span<const Endpoint> endpoints,
            std::uint32_t sequence) {
    FrameWriter writer(out, Type::Endpoints);
    for (const Endpoint& endpoint : endpoints) {
        put(writer, tag::endpoint, endpoint);
    }
    writer.finish(sequence);
}

std::vector<Endpoint> decode_endpoints(std::span<const std::byte> payload, const Limits& limits) {
    std::vector<Endpoint> endpoints;
    FieldReader fields(payload);
    while (const auto field = fields.next()) {
        if (field->tag != tag::endpoint) {
            field->skip();
            continue;
        }
        if (endpoints.size() == limits.max_endpoints) {
            throw Error(ErrorCode::Limit, "more than " + std::to_string(limits.max_endpoints) +
                                              " endpoints in one message");
        }
        endpoints.push_back(get_endpoint(field->value, limits));
    }
    if (endpoints.empty()) {
        throw Error(ErrorCode::Protocol, "ENDPOINTS without an endpoint");
    }
    return endpoints;
}

}  // namespace qpx::wire

namespace qpx {

std::vector<std::byte> pack(const Endpoint& endpoint) {
    if (const std::string why = why_invalid(endpoint); !why.empty()) {
        throw Error(ErrorCode::Argument, "invalid endpoint: " + why);
    }
    std::vector<std::byte> frame;
    wire::encode(frame, std::span(&endpoint, 1), 0);
    frame.erase(frame.begin(), frame.begin() + wire::header_size);
    return frame;
}

Endpoint unpack(std::span<const std::byte> bytes) {
    auto endpoints = wire::decode_endpoints(bytes, Limits{});
    if (endpoints.size() != 1) {
        throw Error(ErrorCode::Protocol,
                    std::to_string(endpoints.size()) + " endpoints instead of one");
    }
    return std::move(endpoints.front());
}

}  // namespace qpx
