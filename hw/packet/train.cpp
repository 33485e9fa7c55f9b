// SPDX-License-Identifier: BSD-2-Clause
#include "dingo/packet/train.h"

#include <algorithm>
#include <cstring>

#include "dingo/packet/psn.h"

namespace dingo::packet {
namespace {

constexpr std::uint32_t kMinPmtu = 256;

/// Returns the opcode of the first, a middle or the last packet of a train with opcode `train`.
Opcode opcode_at(Opcode train, bool first, bool last) noexcept {
    const OpcodeTraits& op = traits(train);
    first = first && op.first;
    last = last && op.last;
    Opcode only = Opcode::kRcReadResponseOnly;
    Opcode begin = Opcode::kRcReadResponseFirst;
    Opcode middle = Opcode::kRcReadResponseMiddle;
    Opcode end = Opcode::kRcReadResponseLast;
    if (op.is_send()) {
        only = train;
        begin = Opcode::kRcSendFirst;
        middle = Opcode::kRcSendMiddle;
        end = op.has_imm()    ? Opcode::kRcSendLastImm
              : op.has_ieth() ? Opcode::kRcSendLastInv
                              : Opcode::kRcSendLast;
    } else if (op.is_write()) {
        only = train;
        begin = Opcode::kRcWriteFirst;
        middle = Opcode::kRcWriteMiddle;
        end = op.has_imm() ? Opcode::kRcWriteLastImm : Opcode::kRcWriteLast;
    }
    return first ? (last ? only : begin) : (last ? end : middle);
}

}  // namespace

std::uint32_t train_pmtu(std::size_t payload_bytes, unsigned packets) noexcept {
    if (packets < 2)
        return 0;
    for (std::uint32_t pmtu = kMinPmtu; pmtu <= kMaxPmtu; pmtu *= 2)
        if (payload_bytes > std::size_t{packets - 1} * pmtu &&
            payload_bytes <= std::size_t{packets} * pmtu)
            return pmtu;
    return 0;
}

bool is_train_opcode(const OpcodeTraits& op) noexcept {
    return op.transport == Transport::kRc &&
           (op.is_send() || op.is_write() || op.is_read_response());
}

std::size_t train_wire_bytes(const OpcodeTraits& op, std::size_t l2_to_udp,
                             std::size_t payload_bytes, unsigned packets) noexcept {
    // Each extension header is in one of the packets, except the AETH of READ responses, which is
    // in the first and in the last one.
    const std::size_t second_aeth =
        op.is_read_response() && op.only() && packets > 1 ? kAethBytes : 0;
    return l2_to_udp + op.header_bytes + payload_bytes + pad_for(payload_bytes) + kIcrcBytes +
           (packets - 1) * (l2_to_udp + kBthBytes + kIcrcBytes) + second_aeth;
}

std::size_t wire_bytes(const Packet& packet) noexcept {
    if (packet.packets == 1)
        return packet.frame_bytes();
    return train_wire_bytes(packet.op(), packet.bth_offset, packet.payload.size(), packet.packets);
}

std::size_t longest_wire_bytes(const Packet& packet) noexcept {
    if (packet.packets == 1)
        return packet.frame_bytes();
    const OpcodeTraits& op = packet.op();
    const std::size_t bytes = packet.payload.size();
    const std::uint32_t pmtu = train_pmtu(bytes, packet.packets);
    const std::size_t bare = packet.bth_offset + kBthBytes + kIcrcBytes;
    const std::size_t in_last = bytes - std::size_t{packet.packets - 1U} * pmtu;
    const std::size_t aeth = op.has_aeth() ? kAethBytes : 0;
    const std::size_t first = op.first ? (op.has_reth() ? kRethBytes : aeth) : 0;
    const std::size_t told = op.has_imm() ? kImmDtBytes : op.has_ieth() ? kIethBytes : 0;
    const std::size_t last = op.last ? told + aeth : 0;
    return bare + std::max(pmtu + first, in_last + pad_for(in_last) + last);
}

TrainCutter::TrainCutter(std::span<const std::byte> frame, const std::byte* payload,
                         unsigned packets) noexcept
    : packets_(packets) {
    if (parse(frame, train_) != ParseResult::kRoce || !is_train_opcode(train_.op()))
        return;
    payload_ = payload != nullptr ? std::span(payload, train_.payload.size()) : train_.payload;
    pmtu_ = train_pmtu(payload_.size(), packets);
    path_ = HeaderTemplate(train_);
}

std::span<const std::byte> TrainCutter::next(std::span<std::byte> room) noexcept {
    if (!valid() || done_ == packets_)
        return {};
    const bool last = done_ + 1 == packets_;
    const std::size_t offset = std::size_t{done_} * pmtu_;
    const std::size_t bytes = std::min<std::size_t>(pmtu_, payload_.size() - offset);
    TransportHeaders headers = train_;
    headers.bth.opcode = opcode_at(train_.bth.opcode, done_ == 0, last);
    headers.bth.psn = psn_add(train_.bth.psn, done_);
    headers.bth.ack_req = train_.bth.ack_req && last;
    headers.bth.solicited = train_.bth.solicited && last;
    if (!builder_.begin(path_, headers, bytes, static_cast<std::uint16_t>(train_.ip_id + done_),
                        room))
        return {};
    ++done_;
    return builder_.finish_copying(payload_.data() + offset);
}

}  // namespace dingo::packet
