// SPDX-License-Identifier: BSD-2-Clause
#include "frame_writer.h"

#include <algorithm>
#include <cstring>

namespace dingo::model {

bool FrameWriter::open(const packet::HeaderTemplate& path, const packet::TransportHeaders& headers,
                       std::size_t payload_bytes, bool own_group) {
    const std::size_t bytes = path.frame_bytes(headers.bth.opcode, payload_bytes);
    source_ = nullptr;
    held_.reset();
    if (!port_.up())
        way_ = Way::kNowhere;
    else
        way_ = port_.loops_back(path.headers()) ? Way::kLoopback : Way::kWire;
    copy_loopback_ = own_group && way_ == Way::kWire;
    const bool room_looped = !copy_loopback_ || !card_.loopback.begin_loopback(bytes).empty();
    std::span<std::byte> room = room_looped ? room_for(bytes) : std::span<std::byte>();
    if (room.size() < bytes) {
        if (!room.empty())
            cancel();
        card_.count(DINGO_CARD_WIRE_BUSY);
        busy_ = true;
        return false;
    }
    return builder_.begin(path, headers, payload_bytes, ip_id_++, room);
}

std::span<std::byte> FrameWriter::room_for(std::size_t bytes) {
    switch (way_) {
        case Way::kWire:
            return card_.wire.begin_frame(bytes);
        case Way::kLoopback:
            return card_.loopback.begin_loopback(bytes);
        case Way::kNowhere:
            break;
    }
    return discarded_;
}

void FrameWriter::send(QueuePair& qp) {
    if (way_ == Way::kNowhere)
        return;
    std::size_t bytes = 0;
    if (way_ == Way::kLoopback) {
        bytes = builder_.finish_without_icrc().size();
        card_.loopback.end_loopback(
            bytes, {source_, builder_.payload_offset(), payload().size(), std::move(held_)});
    } else {
        bytes = send_to_wire();
    }
    held_.reset();
    card_.count(DINGO_CARD_RDMA_TX_PACKETS);
    card_.count(DINGO_CARD_RDMA_TX_BYTES, bytes);
    qp.count(DINGO_QP_TX_PACKETS);
    qp.count(DINGO_QP_TX_BYTES, bytes);
}

std::size_t FrameWriter::send_to_wire() {
    const bool icrc = card_.wire.needs_icrc();
    if (source_ && stays_ && !icrc && !copy_loopback_ && card_.wire.takes_references() &&
        (held_ != nullptr || card_.host.pointers_last())) {
        const std::size_t bytes = builder_.finish_without_icrc().size();
        card_.wire.end_frame_referring(bytes, builder_.payload_offset(),
                                       {source_, payload().size()}, held_);
        return bytes;
    }
    std::span<const std::byte> frame;
    if (icrc) {
        frame = source_ ? builder_.finish_copying(source_) : builder_.finish();
    } else {
        if (source_)
            std::memcpy(payload().data(), source_, payload().size());
        frame = builder_.finish_without_icrc();
    }
    if (copy_loopback_) {
        std::ranges::copy(frame, card_.loopback.begin_loopback(frame.size()).begin());
        card_.loopback.end_loopback(frame.size(), {});
    }
    if (icrc)
        card_.wire.end_frame(frame.size());
    else
        card_.wire.end_frame_without_icrc(frame.size());
    return frame.size();
}

void FrameWriter::cancel() {
    if (way_ == Way::kWire)
        card_.wire.end_frame(0);
}

}  // namespace dingo::model
