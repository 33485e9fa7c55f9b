// SPDX-License-Identifier: BSD-2-Clause
#include "frame_writer.h"

#include <algorithm>
#include <cstring>

#include "cost.h"
#include "dingo/packet/train.h"

namespace dingo::model {

bool FrameWriter::open(const packet::HeaderTemplate& path, const packet::TransportHeaders& headers,
                       std::size_t payload_bytes, unsigned own_members, bool of_all) {
    const std::size_t bytes = path.frame_bytes(headers.bth.opcode, payload_bytes);
    look_where(path);
    packets_ = 1;
    copies_ = way_ == Way::kWire ? own_members : 0;
    const bool room_looped = copies_ == 0 || !card_.loopback.begin_loopback(bytes).empty();
    std::span<std::byte> room =
        room_looped ? room_for(path, bytes, of_all) : std::span<std::byte>();
    if (room.size() < bytes) {
        if (!room.empty())
            cancel();
        set_busy(of_all ? 0 : destination_of(path.headers()), room_looped && way_ == Way::kWire);
        return false;
    }
    return builder_.begin(path, headers, payload_bytes, ip_id_++, room);
}

FrameWriter::Train FrameWriter::open_train(const packet::HeaderTemplate& path,
                                           const packet::TransportHeaders& headers,
                                           std::size_t payload_bytes, unsigned packets) {
    const std::size_t bytes = path.frame_bytes(headers.bth.opcode, payload_bytes);
    look_where(path);
    copies_ = 0;
    std::optional<std::span<std::byte>> room;
    if (way_ == Way::kLoopback)
        room = card_.loopback.begin_loopback(bytes);
    else if (way_ == Way::kWire)
        room = card_.wire.begin_train(bytes, packets, destination_of(path.headers()));
    if (!room)
        return Train::kNone;
    if (room->size() < bytes) {
        set_busy(destination_of(path.headers()), way_ == Way::kWire);
        return Train::kBusy;
    }
    if (!builder_.begin(path, headers, payload_bytes, ip_id_, *room)) {
        cancel();
        return Train::kNone;
    }
    packets_ = packets;
    ip_id_ = static_cast<std::uint16_t>(ip_id_ + packets);
    wire_bytes_ = packet::train_wire_bytes(packet::traits(headers.bth.opcode), path.bytes(),
                                           payload_bytes, packets);
    return Train::kOpen;
}

void FrameWriter::set_busy(std::uint64_t address, bool on_wire) {
    card_.count(DINGO_CARD_WIRE_BUSY);
    full_address_ = address;
    full_ = on_wire && !card_.wire.full_by_address() ? Full::kAll : Full::kAddress;
}

void FrameWriter::look_where(const packet::HeaderTemplate& path) {
    source_ = nullptr;
    held_.reset();
    if (!port_.up())
        way_ = Way::kNowhere;
    else
        way_ = port_.loops_back(path.headers()) ? Way::kLoopback : Way::kWire;
}

std::span<std::byte> FrameWriter::room_for(const packet::HeaderTemplate& path, std::size_t bytes,
                                           bool of_all) {
    switch (way_) {
        case Way::kWire:
            return of_all ? card_.wire.begin_frame(bytes)
                          : card_.wire.begin_frame_to(bytes, destination_of(path.headers()));
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
        card_.loopback.end_loopback(bytes, {source_, builder_.payload_offset(), payload().size(),
                                            std::move(held_), packets_, 1, qp.share});
    } else {
        bytes = send_to_wire(qp);
    }
    held_.reset();
    if (packets_ > 1)
        bytes = wire_bytes_;
    cost_ += cost::of_frame(bytes) * (1 + copies_);
    card_.count(DINGO_CARD_RDMA_TX_PACKETS, packets_);
    card_.count(DINGO_CARD_RDMA_TX_BYTES, bytes);
    qp.count(DINGO_QP_TX_PACKETS, packets_);
    qp.count(DINGO_QP_TX_BYTES, bytes);
}

std::size_t FrameWriter::send_to_wire(const QueuePair& qp) {
    const bool icrc = card_.wire.needs_icrc();
    if (source_ && stays_ && !icrc && copies_ == 0 && card_.wire.takes_references() &&
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
    if (copies_ > 0) {
        std::ranges::copy(frame, card_.loopback.begin_loopback(frame.size()).begin());
        card_.loopback.end_loopback(frame.size(), {.copies = copies_, .share = qp.share});
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
