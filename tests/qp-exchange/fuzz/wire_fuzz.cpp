// SPDX-License-Identifier: BSD-2-Clause
// Fuzz target of all code that parses bytes from a peer. For libFuzzer; without libFuzzer,
// replay.cpp's main() reads files.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "qpx/url.h"
#include "wire/messages.h"

namespace {

using qpx::Error;
namespace wire = qpx::wire;

/// Small limits, so that short inputs reach them.
constexpr qpx::Limits limits = {
    .max_frame = 4096, .max_endpoints = 8, .max_regions = 4, .max_application = 64};

void must(bool condition, const char* what) {
    if (!condition) {
        std::fprintf(stderr, "broken: %s\n", what);
        std::abort();
    }
}

void endpoints(std::span<const std::byte> payload) {
    const auto list = wire::decode_endpoints(payload, limits);
    must(!list.empty() && list.size() <= limits.max_endpoints, "the number of endpoints");
    std::vector<std::byte> again;
    for (const auto& endpoint : list) {
        must(qpx::why_invalid(endpoint).empty(), "an endpoint that cannot be was taken");
        must(endpoint.regions.size() <= limits.max_regions, "the number of regions");
        must(endpoint.application.size() <= limits.max_application, "the application bytes");
    }
    wire::encode(again, list, 0);
    must(wire::decode_endpoints(std::span(again).subspan(wire::header_size), limits) == list,
         "endpoints differ after another way through the encoder");
}

void hello(std::span<const std::byte> payload) {
    const auto decoded = wire::decode_hello(payload);
    std::vector<std::byte> again;
    wire::encode(again, decoded);
    must(again.size() - wire::header_size <= wire::max_hello, "a HELLO above its limit");
    must(wire::decode_hello(std::span(again).subspan(wire::header_size)).name == decoded.name,
         "a HELLO differs after another way through the encoder");
}

void message(const wire::FrameView& frame) {
    switch (frame.header.type) {
        case wire::Type::Hello:
            return hello(frame.payload);
        case wire::Type::Endpoints:
            return endpoints(frame.payload);
        case wire::Type::Refuse: {
            const auto refusal = wire::decode_refusal(frame.payload);
            wire::refused(refusal, "the peer");
            return;
        }
        default:
            for (wire::FieldReader fields(frame.payload); const auto field = fields.next();) {
                field->skip();
            }
    }
}

/// Reads the bytes as a stream in pieces of SIZE bytes.
void stream(std::span<const std::byte> bytes, std::size_t size) {
    wire::FrameReader reader(limits.max_frame);
    while (!bytes.empty()) {
        const auto space = reader.space();
        must(!space.empty(), "no space");
        const std::size_t count = std::min({space.size(), bytes.size(), size});
        std::copy_n(bytes.begin(), count, space.begin());
        reader.received(count);
        bytes = bytes.subspan(count);
        while (const auto frame = reader.next()) {
            must(frame->payload.size() <= limits.max_frame, "a frame above the limit");
            message(*frame);
        }
        must(reader.partial() <= limits.max_frame + wire::header_size, "more kept than a frame");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const std::span bytes(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
    try {
        switch (data[0] % 5) {
            case 0:
                stream(bytes, bytes.size());
                break;
            case 1:
                stream(bytes, 7);
                break;
            case 2:
                hello(bytes);
                break;
            case 3:
                endpoints(bytes);
                break;
            default:
                to_string(
                    qpx::parse_url({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
        }
    } catch (const Error&) {
        return 0;  // what a hostile peer gets
    }
    return 0;
}
