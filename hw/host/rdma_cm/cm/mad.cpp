// SPDX-License-Identifier: BSD-2-Clause
#include "host/rdma_cm/cm/mad.h"

#include <algorithm>
#include <concepts>
#include <type_traits>

namespace dingo::cm {
namespace {

constexpr std::size_t kHeaderBytes = 24;
constexpr std::uint8_t kBaseVersion = 1;
constexpr std::uint8_t kClassCm = 0x07;
constexpr std::uint8_t kClassVersion = 2;
constexpr std::uint8_t kMethodSend = 0x03;

/// Big-endian bit fields: bit 0 is the first byte's most significant one.
std::uint64_t get_bits(const std::byte* base, std::size_t bit, std::size_t width) {
    std::uint64_t value = 0;
    while (width != 0) {
        const std::size_t in_byte = bit % 8;
        const std::size_t part = std::min(width, 8 - in_byte);
        const unsigned byte = std::to_integer<unsigned>(base[bit / 8]);
        value = value << part | (byte >> (8 - in_byte - part) & ((1U << part) - 1));
        bit += part;
        width -= part;
    }
    return value;
}

void put_bits(std::byte* base, std::size_t bit, std::size_t width, std::uint64_t value) {
    while (width != 0) {
        const std::size_t in_byte = bit % 8;
        const std::size_t part = std::min(width, 8 - in_byte);
        const unsigned shift = static_cast<unsigned>(8 - in_byte - part);
        const unsigned mask = ((1U << part) - 1) << shift;
        const auto bits = static_cast<unsigned>(value >> (width - part)) << shift & mask;
        base[bit / 8] =
            static_cast<std::byte>((std::to_integer<unsigned>(base[bit / 8]) & ~mask) | bits);
        bit += part;
        width -= part;
    }
}

/// Reads a message from a datagram. A field is given by its byte, the bit in it, and its width in
/// bits.
struct Reader {
    const std::byte* body;
    template <typename T>
    void operator()(std::size_t byte, std::size_t bit, std::size_t width, T& field) const {
        field = static_cast<T>(get_bits(body, byte * 8 + bit, width));
    }
    template <std::size_t n>
    void operator()(std::size_t byte, std::array<std::uint8_t, n>& field) const {
        std::transform(body + byte, body + byte + n, field.begin(),
                       [](std::byte b) { return std::to_integer<std::uint8_t>(b); });
    }
};

/// Writes a message to a datagram.
struct Writer {
    std::byte* body;
    template <typename T>
    void operator()(std::size_t byte, std::size_t bit, std::size_t width, const T& field) const {
        put_bits(body, byte * 8 + bit, width, static_cast<std::uint64_t>(field));
    }
    template <std::size_t n>
    void operator()(std::size_t byte, const std::array<std::uint8_t, n>& field) const {
        std::transform(field.begin(), field.end(), body + byte,
                       [](std::uint8_t b) { return std::byte{b}; });
    }
};

template <typename Io, typename M>
requires std::same_as<std::remove_const_t<M>, Req>
void fields(const Io& io, M& m) {
    io(0, 0, 32, m.local_id);
    io(8, 0, 64, m.service_id);
    io(16, 0, 64, m.ca_guid);
    io(28, 0, 32, m.qkey);
    io(32, 0, 24, m.qpn);
    io(35, 0, 8, m.responder_resources);
    io(39, 0, 8, m.initiator_depth);
    io(43, 0, 5, m.remote_response_timeout);
    io(43, 5, 2, m.transport);
    io(43, 7, 1, m.flow_control);
    io(44, 0, 24, m.starting_psn);
    io(47, 0, 5, m.local_response_timeout);
    io(47, 5, 3, m.retry_count);
    io(48, 0, 16, m.pkey);
    io(50, 0, 4, m.path_mtu);
    io(50, 4, 1, m.rdc_exists);
    io(50, 5, 3, m.rnr_retry_count);
    io(51, 0, 4, m.max_cm_retries);
    io(51, 4, 1, m.srq);
    io(51, 5, 3, m.extended_transport);
    io(52, 0, 16, m.local_lid);
    io(54, 0, 16, m.remote_lid);
    io(56, m.local_gid);
    io(72, m.remote_gid);
    io(88, 0, 20, m.flow_label);
    io(91, 2, 6, m.packet_rate);
    io(92, 0, 8, m.traffic_class);
    io(93, 0, 8, m.hop_limit);
    io(94, 0, 4, m.sl);
    io(94, 4, 1, m.subnet_local);
    io(95, 0, 5, m.ack_timeout);
    // 96 to 139: the alternate path, unused in RoCE
    io(140, m.private_data);
}

template <typename Io, typename M>
requires std::same_as<std::remove_const_t<M>, Mra>
void fields(const Io& io, M& m) {
    io(0, 0, 32, m.local_id);
    io(4, 0, 32, m.remote_id);
    io(8, 0, 2, m.answered);
    io(9, 0, 5, m.service_timeout);
    io(10, m.private_data);
}

template <typename Io, typename M>
requires std::same_as<std::remove_const_t<M>, Rej>
void fields(const Io& io, M& m) {
    io(0, 0, 32, m.local_id);
    io(4, 0, 32, m.remote_id);
    io(8, 0, 2, m.answered);
    io(9, 0, 7, m.info_length);
    io(10, 0, 16, m.reason);
    io(12, m.info);
    io(84, m.private_data);
}

template <typename Io, typename M>
requires std::same_as<std::remove_const_t<M>, Rep>
void fields(const Io& io, M& m) {
    io(0, 0, 32, m.local_id);
    io(4, 0, 32, m.remote_id);
    io(8, 0, 32, m.qkey);
    io(12, 0, 24, m.qpn);
    io(20, 0, 24, m.starting_psn);
    io(24, 0, 8, m.responder_resources);
    io(25, 0, 8, m.initiator_depth);
    io(26, 0, 5, m.target_ack_delay);
    io(26, 5, 2, m.failover);
    io(26, 7, 1, m.flow_control);
    io(27, 0, 3, m.rnr_retry_count);
    io(27, 3, 1, m.srq);
    io(28, 0, 64, m.ca_guid);
    io(36, m.private_data);
}

template <typename Io, typename M>
requires std::same_as<std::remove_const_t<M>, Rtu> || std::same_as<std::remove_const_t<M>, Drep>
void fields(const Io& io, M& m) {
    io(0, 0, 32, m.local_id);
    io(4, 0, 32, m.remote_id);
    io(8, m.private_data);
}

template <typename Io, typename M>
requires std::same_as<std::remove_const_t<M>, Dreq>
void fields(const Io& io, M& m) {
    io(0, 0, 32, m.local_id);
    io(4, 0, 32, m.remote_id);
    io(8, 0, 24, m.remote_qpn);
    io(12, m.private_data);
}

template <typename Io, typename M>
requires std::same_as<std::remove_const_t<M>, SidrReq>
void fields(const Io& io, M& m) {
    io(0, 0, 32, m.request_id);
    io(4, 0, 16, m.pkey);
    io(8, 0, 64, m.service_id);
    io(16, m.private_data);
}

template <typename Io, typename M>
requires std::same_as<std::remove_const_t<M>, SidrRep>
void fields(const Io& io, M& m) {
    io(0, 0, 32, m.request_id);
    io(4, 0, 8, m.status);
    io(5, 0, 8, m.info_length);
    io(8, 0, 24, m.qpn);
    io(12, 0, 64, m.service_id);
    io(20, 0, 32, m.qkey);
    io(24, m.info);
    io(96, m.private_data);
}

template <typename M>
Mad make(const M& message, Attribute attribute, std::uint64_t transaction) {
    Mad mad{};
    mad[0] = std::byte{kBaseVersion};
    mad[1] = std::byte{kClassCm};
    mad[2] = std::byte{kClassVersion};
    mad[3] = std::byte{kMethodSend};
    put_bits(mad.data(), 8 * 8, 64, transaction);
    put_bits(mad.data(), 16 * 8, 16, static_cast<std::uint64_t>(attribute));
    fields(Writer{mad.data() + kHeaderBytes}, message);
    return mad;
}

}  // namespace

std::optional<Header> decode_header(std::span<const std::byte, kMadBytes> mad) {
    if (mad[0] != std::byte{kBaseVersion} || mad[1] != std::byte{kClassCm} ||
        mad[2] != std::byte{kClassVersion} || mad[3] != std::byte{kMethodSend}) {
        return std::nullopt;
    }
    Header header;
    header.transaction = get_bits(mad.data(), 8 * 8, 64);
    header.attribute = static_cast<Attribute>(get_bits(mad.data(), 16 * 8, 16));
    return header;
}

Mad encode(const Req& message, std::uint64_t transaction) {
    return make(message, Attribute::kReq, transaction);
}
Mad encode(const Mra& message, std::uint64_t transaction) {
    return make(message, Attribute::kMra, transaction);
}
Mad encode(const Rej& message, std::uint64_t transaction) {
    return make(message, Attribute::kRej, transaction);
}
Mad encode(const Rep& message, std::uint64_t transaction) {
    return make(message, Attribute::kRep, transaction);
}
Mad encode(const Rtu& message, std::uint64_t transaction) {
    return make(message, Attribute::kRtu, transaction);
}
Mad encode(const Dreq& message, std::uint64_t transaction) {
    return make(message, Attribute::kDreq, transaction);
}
Mad encode(const Drep& message, std::uint64_t transaction) {
    return make(message, Attribute::kDrep, transaction);
}
Mad encode(const SidrReq& message, std::uint64_t transaction) {
    return make(message, Attribute::kSidrReq, transaction);
}
Mad encode(const SidrRep& message, std::uint64_t transaction) {
    return make(message, Attribute::kSidrRep, transaction);
}

template <typename Message>
Message decode(std::span<const std::byte, kMadBytes> mad) {
    Message message;
    fields(Reader{mad.data() + kHeaderBytes}, message);
    return message;
}

template Req decode<Req>(std::span<const std::byte, kMadBytes>);
template Mra decode<Mra>(std::span<const std::byte, kMadBytes>);
template Rej decode<Rej>(std::span<const std::byte, kMadBytes>);
template Rep decode<Rep>(std::span<const std::byte, kMadBytes>);
template Rtu decode<Rtu>(std::span<const std::byte, kMadBytes>);
template Dreq decode<Dreq>(std::span<const std::byte, kMadBytes>);
template Drep decode<Drep>(std::span<const std::byte, kMadBytes>);
template SidrReq decode<SidrReq>(std::span<const std::byte, kMadBytes>);
template SidrRep decode<SidrRep>(std::span<const std::byte, kMadBytes>);

}  // namespace dingo::cm
