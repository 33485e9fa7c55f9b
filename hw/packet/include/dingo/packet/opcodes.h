// SPDX-License-Identifier: BSD-2-Clause
//
// The BTH opcodes of RoCE v2 and a constexpr table of their properties. Source: InfiniBand
// Architecture Specification, volume 1, chapter 9; CNP: annex A17.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dingo::packet {

/// The opcode byte of the BTH. Any value may be received; traits(op).known() checks it.
enum class Opcode : std::uint8_t {
    kRcSendFirst = 0x00,
    kRcSendMiddle = 0x01,
    kRcSendLast = 0x02,
    kRcSendLastImm = 0x03,
    kRcSendOnly = 0x04,
    kRcSendOnlyImm = 0x05,
    kRcWriteFirst = 0x06,
    kRcWriteMiddle = 0x07,
    kRcWriteLast = 0x08,
    kRcWriteLastImm = 0x09,
    kRcWriteOnly = 0x0a,
    kRcWriteOnlyImm = 0x0b,
    kRcReadRequest = 0x0c,
    kRcReadResponseFirst = 0x0d,
    kRcReadResponseMiddle = 0x0e,
    kRcReadResponseLast = 0x0f,
    kRcReadResponseOnly = 0x10,
    kRcAck = 0x11,
    kRcAtomicAck = 0x12,
    kRcCmpSwap = 0x13,
    kRcFetchAdd = 0x14,
    kRcSendLastInv = 0x16,
    kRcSendOnlyInv = 0x17,
    kUcSendFirst = 0x20,
    kUcSendMiddle = 0x21,
    kUcSendLast = 0x22,
    kUcSendLastImm = 0x23,
    kUcSendOnly = 0x24,
    kUcSendOnlyImm = 0x25,
    kUcWriteFirst = 0x26,
    kUcWriteMiddle = 0x27,
    kUcWriteLast = 0x28,
    kUcWriteLastImm = 0x29,
    kUcWriteOnly = 0x2a,
    kUcWriteOnlyImm = 0x2b,
    kUdSendOnly = 0x64,
    kUdSendOnlyImm = 0x65,
    kCnp = 0x81,
};

enum class Transport : std::uint8_t { kNone, kRc, kUc, kUd, kCnp };

enum class Operation : std::uint8_t {
    kNone,
    kSend,
    kWrite,
    kReadRequest,
    kReadResponse,
    kAck,
    kAtomicAck,
    kCmpSwap,
    kFetchAdd,
    kCnp,
};

/// Header lengths in bytes.
inline constexpr std::size_t kBthBytes = 12;
inline constexpr std::size_t kDethBytes = 8;
inline constexpr std::size_t kRethBytes = 16;
inline constexpr std::size_t kAethBytes = 4;
inline constexpr std::size_t kAtomicEthBytes = 28;
inline constexpr std::size_t kAtomicAckEthBytes = 8;
inline constexpr std::size_t kImmDtBytes = 4;
inline constexpr std::size_t kIethBytes = 4;
inline constexpr std::size_t kCnpReservedBytes = 16;
/// BTH plus the longest set of extension headers (AtomicETH).
inline constexpr std::size_t kMaxTransportHeaderBytes = kBthBytes + kAtomicEthBytes;

/// Extension headers as bits, in the order in which they follow the BTH.
namespace ext {
inline constexpr std::uint8_t kDeth = 1 << 0;
inline constexpr std::uint8_t kReth = 1 << 1;
inline constexpr std::uint8_t kAtomicEth = 1 << 2;
inline constexpr std::uint8_t kAeth = 1 << 3;
inline constexpr std::uint8_t kAtomicAckEth = 1 << 4;
inline constexpr std::uint8_t kImm = 1 << 5;
inline constexpr std::uint8_t kIeth = 1 << 6;
inline constexpr std::uint8_t kCnpReserved = 1 << 7;
}  // namespace ext

/// Properties of an opcode. The default is an unknown opcode.
struct OpcodeTraits {
    Transport transport = Transport::kNone;
    Operation operation = Operation::kNone;
    bool first = false;                 ///< begins a message; with `last` too: an ONLY packet
    bool last = false;                  ///< ends a message
    std::uint8_t extensions = 0;        ///< ext:: bits
    std::uint8_t header_bytes = 0;      ///< bytes of BTH and all extension headers
    bool carries_payload = false;       ///< false: the opcode never has a payload
    std::string_view name = "UNKNOWN";  ///< "RC_SEND_FIRST"; static storage, zero-terminated

    constexpr bool known() const noexcept { return transport != Transport::kNone; }
    constexpr bool only() const noexcept { return first && last; }
    constexpr bool middle() const noexcept { return !first && !last; }
    constexpr bool is_send() const noexcept { return operation == Operation::kSend; }
    constexpr bool is_write() const noexcept { return operation == Operation::kWrite; }
    constexpr bool is_read_request() const noexcept { return operation == Operation::kReadRequest; }
    constexpr bool is_read_response() const noexcept {
        return operation == Operation::kReadResponse;
    }
    constexpr bool is_ack() const noexcept { return operation == Operation::kAck; }
    constexpr bool is_atomic_ack() const noexcept { return operation == Operation::kAtomicAck; }
    constexpr bool is_cmp_swap() const noexcept { return operation == Operation::kCmpSwap; }
    constexpr bool is_fetch_add() const noexcept { return operation == Operation::kFetchAdd; }
    constexpr bool is_atomic() const noexcept { return is_cmp_swap() || is_fetch_add(); }
    /// Handled by the requester half of a QP (acknowledgements and read data).
    constexpr bool is_response() const noexcept {
        return is_read_response() || is_ack() || is_atomic_ack();
    }
    /// Handled by the responder half of a QP.
    constexpr bool is_request() const noexcept {
        return is_send() || is_write() || is_read_request() || is_atomic();
    }
    /// Returns true if the packet has one of these ext:: bits.
    constexpr bool has(std::uint8_t extension) const noexcept {
        return (extensions & extension) != 0;
    }
    constexpr bool has_deth() const noexcept { return has(ext::kDeth); }
    constexpr bool has_reth() const noexcept { return has(ext::kReth); }
    constexpr bool has_atomic_eth() const noexcept { return has(ext::kAtomicEth); }
    constexpr bool has_aeth() const noexcept { return has(ext::kAeth); }
    constexpr bool has_atomic_ack_eth() const noexcept { return has(ext::kAtomicAckEth); }
    constexpr bool has_imm() const noexcept { return has(ext::kImm); }
    constexpr bool has_ieth() const noexcept { return has(ext::kIeth); }
};

namespace detail {

constexpr std::uint8_t header_bytes(std::uint8_t extensions) noexcept {
    std::size_t n = kBthBytes;
    n += (extensions & ext::kDeth) ? kDethBytes : 0;
    n += (extensions & ext::kReth) ? kRethBytes : 0;
    n += (extensions & ext::kAtomicEth) ? kAtomicEthBytes : 0;
    n += (extensions & ext::kAeth) ? kAethBytes : 0;
    n += (extensions & ext::kAtomicAckEth) ? kAtomicAckEthBytes : 0;
    n += (extensions & ext::kImm) ? kImmDtBytes : 0;
    n += (extensions & ext::kIeth) ? kIethBytes : 0;
    n += (extensions & ext::kCnpReserved) ? kCnpReservedBytes : 0;
    return static_cast<std::uint8_t>(n);
}

constexpr std::array<OpcodeTraits, 256> make_opcode_table() {
    std::array<OpcodeTraits, 256> table{};
    enum Place : std::uint8_t { kFirst = 1, kMiddle = 0, kLast = 2, kOnly = 3 };
    auto add = [&table](Opcode op, Transport transport, Operation operation, Place place,
                        std::uint8_t extensions, bool payload, std::string_view name) {
        table[static_cast<std::uint8_t>(op)] = OpcodeTraits{transport,
                                                            operation,
                                                            (place & kFirst) != 0,
                                                            (place & kLast) != 0,
                                                            extensions,
                                                            header_bytes(extensions),
                                                            payload,
                                                            name};
    };
    using enum Opcode;
    constexpr auto kRc = Transport::kRc;
    constexpr auto kUc = Transport::kUc;
    constexpr auto kUd = Transport::kUd;
    constexpr auto kSend = Operation::kSend;
    constexpr auto kWrite = Operation::kWrite;
    constexpr auto kResponse = Operation::kReadResponse;
    constexpr std::uint8_t kRethImm = ext::kReth | ext::kImm;
    constexpr std::uint8_t kDethImm = ext::kDeth | ext::kImm;

    add(kRcSendFirst, kRc, kSend, kFirst, 0, true, "RC_SEND_FIRST");
    add(kRcSendMiddle, kRc, kSend, kMiddle, 0, true, "RC_SEND_MIDDLE");
    add(kRcSendLast, kRc, kSend, kLast, 0, true, "RC_SEND_LAST");
    add(kRcSendLastImm, kRc, kSend, kLast, ext::kImm, true, "RC_SEND_LAST_IMM");
    add(kRcSendOnly, kRc, kSend, kOnly, 0, true, "RC_SEND_ONLY");
    add(kRcSendOnlyImm, kRc, kSend, kOnly, ext::kImm, true, "RC_SEND_ONLY_IMM");
    add(kRcWriteFirst, kRc, kWrite, kFirst, ext::kReth, true, "RC_RDMA_WRITE_FIRST");
    add(kRcWriteMiddle, kRc, kWrite, kMiddle, 0, true, "RC_RDMA_WRITE_MIDDLE");
    add(kRcWriteLast, kRc, kWrite, kLast, 0, true, "RC_RDMA_WRITE_LAST");
    add(kRcWriteLastImm, kRc, kWrite, kLast, ext::kImm, true, "RC_RDMA_WRITE_LAST_IMM");
    add(kRcWriteOnly, kRc, kWrite, kOnly, ext::kReth, true, "RC_RDMA_WRITE_ONLY");
    add(kRcWriteOnlyImm, kRc, kWrite, kOnly, kRethImm, true, "RC_RDMA_WRITE_ONLY_IMM");
    add(kRcReadRequest, kRc, Operation::kReadRequest, kOnly, ext::kReth, false,
        "RC_RDMA_READ_REQUEST");
    add(kRcReadResponseFirst, kRc, kResponse, kFirst, ext::kAeth, true,
        "RC_RDMA_READ_RESPONSE_FIRST");
    add(kRcReadResponseMiddle, kRc, kResponse, kMiddle, 0, true, "RC_RDMA_READ_RESPONSE_MIDDLE");
    add(kRcReadResponseLast, kRc, kResponse, kLast, ext::kAeth, true, "RC_RDMA_READ_RESPONSE_LAST");
    add(kRcReadResponseOnly, kRc, kResponse, kOnly, ext::kAeth, true, "RC_RDMA_READ_RESPONSE_ONLY");
    add(kRcAck, kRc, Operation::kAck, kOnly, ext::kAeth, false, "RC_ACKNOWLEDGE");
    add(kRcAtomicAck, kRc, Operation::kAtomicAck, kOnly, ext::kAeth | ext::kAtomicAckEth, false,
        "RC_ATOMIC_ACKNOWLEDGE");
    add(kRcCmpSwap, kRc, Operation::kCmpSwap, kOnly, ext::kAtomicEth, false, "RC_COMPARE_SWAP");
    add(kRcFetchAdd, kRc, Operation::kFetchAdd, kOnly, ext::kAtomicEth, false, "RC_FETCH_ADD");
    add(kRcSendLastInv, kRc, kSend, kLast, ext::kIeth, true, "RC_SEND_LAST_INV");
    add(kRcSendOnlyInv, kRc, kSend, kOnly, ext::kIeth, true, "RC_SEND_ONLY_INV");
    add(kUcSendFirst, kUc, kSend, kFirst, 0, true, "UC_SEND_FIRST");
    add(kUcSendMiddle, kUc, kSend, kMiddle, 0, true, "UC_SEND_MIDDLE");
    add(kUcSendLast, kUc, kSend, kLast, 0, true, "UC_SEND_LAST");
    add(kUcSendLastImm, kUc, kSend, kLast, ext::kImm, true, "UC_SEND_LAST_IMM");
    add(kUcSendOnly, kUc, kSend, kOnly, 0, true, "UC_SEND_ONLY");
    add(kUcSendOnlyImm, kUc, kSend, kOnly, ext::kImm, true, "UC_SEND_ONLY_IMM");
    add(kUcWriteFirst, kUc, kWrite, kFirst, ext::kReth, true, "UC_RDMA_WRITE_FIRST");
    add(kUcWriteMiddle, kUc, kWrite, kMiddle, 0, true, "UC_RDMA_WRITE_MIDDLE");
    add(kUcWriteLast, kUc, kWrite, kLast, 0, true, "UC_RDMA_WRITE_LAST");
    add(kUcWriteLastImm, kUc, kWrite, kLast, ext::kImm, true, "UC_RDMA_WRITE_LAST_IMM");
    add(kUcWriteOnly, kUc, kWrite, kOnly, ext::kReth, true, "UC_RDMA_WRITE_ONLY");
    add(kUcWriteOnlyImm, kUc, kWrite, kOnly, kRethImm, true, "UC_RDMA_WRITE_ONLY_IMM");
    add(kUdSendOnly, kUd, kSend, kOnly, ext::kDeth, true, "UD_SEND_ONLY");
    add(kUdSendOnlyImm, kUd, kSend, kOnly, kDethImm, true, "UD_SEND_ONLY_IMM");
    add(kCnp, Transport::kCnp, Operation::kCnp, kOnly, ext::kCnpReserved, false, "CNP");
    return table;
}

}  // namespace detail

inline constexpr std::array<OpcodeTraits, 256> kOpcodeTable = detail::make_opcode_table();

/// Returns the properties of any opcode byte; !known() for those that RoCE v2 does not use.
constexpr const OpcodeTraits& traits(Opcode op) noexcept {
    return kOpcodeTable[static_cast<std::uint8_t>(op)];
}

/// Returns "RC_SEND_FIRST" and the like, or "UNKNOWN".
constexpr std::string_view name(Opcode op) noexcept {
    return traits(op).name;
}

/// Returns the opcode with exactly that name, or nullopt.
constexpr std::optional<Opcode> opcode_from_name(std::string_view name) noexcept {
    for (std::size_t i = 0; i < kOpcodeTable.size(); ++i)
        if (kOpcodeTable[i].known() && kOpcodeTable[i].name == name)
            return static_cast<Opcode>(i);
    return std::nullopt;
}

}  // namespace dingo::packet
