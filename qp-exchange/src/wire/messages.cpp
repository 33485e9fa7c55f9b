// SPDX-License-Identifier: BSD-2-Clause
#include "wire/messages.h"

#include <algorithm>

#include "wire/text.h"

namespace qpx::wire {

namespace {

constexpr std::size_t max_name = 255, max_reason_text = 1024;

/// Truncates and replaces control characters by spaces, so that the text may be sent.
std::string clean(std::string_view text, std::size_t bytes) {
    std::string out(cut(text, bytes));
    std::replace_if(
        out.begin(), out.end(),
        [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
    return out;
}

/// Detects duplicate fields of a message.
class Once {
  public:
    void take(const Field& field) {
        const std::uint32_t bit = 1U << field.tag;
        if ((seen_ & bit) != 0) {
            throw Error(ErrorCode::Protocol, "field " + std::to_string(field.tag) + " comes twice");
        }
        seen_ |= bit;
    }
    void require(std::uint32_t bits, const char* message) const {
        if ((seen_ & bits) != bits) {
            throw Error(ErrorCode::Protocol, std::string(message) + " lacks a required field");
        }
    }

  private:
    std::uint32_t seen_ = 0;
};

}  // namespace

void encode(std::vector<std::byte>& out, const Hello& hello) {
    FrameWriter writer(out, Type::Hello);
    writer.u64(tag::features, hello.features);
    writer.u64(tag::required, hello.required);
    writer.u32(tag::nonce, hello.nonce);
    writer.u32(tag::max_frame, hello.limits.max_frame);
    writer.u32(tag::max_endpoints, hello.limits.max_endpoints);
    writer.u32(tag::max_regions, hello.limits.max_regions);
    writer.u32(tag::max_application, hello.limits.max_application);
    if (!hello.name.empty()) {
        writer.text(tag::name, clean(hello.name, max_name));
    }
    writer.finish(0);
}

Hello decode_hello(std::span<const std::byte> payload) {
    Hello hello;
    Once once;
    FieldReader fields(payload);
    while (const auto field = fields.next()) {
        if (field->tag < tag::features || field->tag > tag::name) {
            field->skip();
            continue;
        }
        once.take(*field);
        switch (field->tag) {
            case tag::features:
                hello.features = field->u64();
                break;
            case tag::required:
                hello.required = field->u64();
                break;
            case tag::nonce:
                hello.nonce = field->u32();
                break;
            case tag::max_frame:
                hello.limits.max_frame = field->u32();
                break;
            case tag::max_endpoints:
                hello.limits.max_endpoints = field->u32();
                break;
            case tag::max_regions:
                hello.limits.max_regions = field->u32();
                break;
            case tag::max_application:
                hello.limits.max_application = field->u32();
                break;
            default:
                if (field->value.size() > max_name) {
                    throw Error(ErrorCode::Limit, "a name above 255 bytes");
                }
                hello.name = field->text();
        }
    }
    once.require(0xfe, "HELLO");
    if (hello.limits.max_frame < max_hello) {
        throw Error(ErrorCode::Protocol, "HELLO with a frame limit below 4096 bytes");
    }
    return hello;
}

std::string why_no_talk(std::uint64_t my_features, const Hello& theirs) {
    const std::uint64_t missing = theirs.required & ~my_features;
    if ((missing & feature_service) != 0) {
        return "a peer listens here, no qpxd service: use tcp://";
    }
    if ((missing & feature_peer) != 0) {
        return "a qpxd service listens here, no peer: use qpxd://";
    }
    return missing == 0 ? std::string()
                        : "features " + std::to_string(missing) + " are not known here";
}

void encode(std::vector<std::byte>& out, const Refusal& refusal, std::uint32_t sequence) {
    FrameWriter writer(out, Type::Refuse);
    writer.u16(tag::reason, static_cast<std::uint16_t>(refusal.reason));
    writer.text(tag::reason_text, clean(refusal.text, max_reason_text));
    writer.finish(sequence);
}

Refusal decode_refusal(std::span<const std::byte> payload) noexcept {
    Refusal refusal;
    try {
        FieldReader fields(payload);
        while (const auto field = fields.next()) {
            if (field->tag == tag::reason) {
                refusal.reason = static_cast<Reason>(field->u16());
            } else if (field->tag == tag::reason_text) {
                refusal.text = cut(field->text(), max_reason_text);
            }
        }
    } catch (const std::exception&) {
        refusal.text = "for a reason that cannot be read";
    }
    return refusal;
}

Reason reason_of(ErrorCode code) noexcept {
    switch (code) {
        case ErrorCode::Version:
            return Reason::Version;
        case ErrorCode::Limit:
            return Reason::Limit;
        case ErrorCode::Auth:
            return Reason::Auth;
        case ErrorCode::Timeout:
            return Reason::Timeout;
        case ErrorCode::Protocol:
            return Reason::Protocol;
        default:
            return Reason::Application;
    }
}

Error refused(const Refusal& refusal, std::string_view who) {
    const std::string text = std::string(who) + " refused: " + refusal.text;
    const int detail = static_cast<int>(refusal.reason);
    switch (refusal.reason) {
        case Reason::Version:
            return {ErrorCode::Version, text, detail};
        case Reason::Auth:
            return {ErrorCode::Auth, text, detail};
        default:
            return {ErrorCode::Refused, text, detail};
    }
}

}  // namespace qpx::wire
