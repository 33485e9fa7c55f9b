// SPDX-License-Identifier: BSD-2-Clause
#include "frame_writer.h"

namespace dingo::model {

bool FrameWriter::open(const packet::HeaderTemplate& path, const packet::TransportHeaders& headers,
                       std::size_t payload_bytes) {
    const std::size_t bytes = path.frame_bytes(headers.bth.opcode, payload_bytes);
    source_ = nullptr;
    if (!port_.up())
        way_ = Way::kNowhere;
    else
        way_ = port_.turns_round(path.headers()) ? Way::kInside : Way::kCable;
    std::span<std::byte> room = room_for(bytes);
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
        case Way::kCable:
            return card_.cable.begin_frame(bytes);
        case Way::kInside:
            return card_.wire.begin_inside(bytes);
        case Way::kNowhere:
            break;
    }
    return discarded_;
}

void FrameWriter::send(Qp& qp) {
    if (way_ == Way::kNowhere)
        return;
    std::size_t bytes = 0;
    if (way_ == Way::kInside) {
        bytes = builder_.finish_without_icrc().size();
        card_.wire.end_inside(bytes, {source_, builder_.payload_offset(), payload().size()});
    } else {
        bytes = (source_ ? builder_.finish_copying(source_) : builder_.finish()).size();
        card_.cable.end_frame(bytes);
    }
    card_.count(DINGO_CARD_RDMA_TX_PACKETS);
    card_.count(DINGO_CARD_RDMA_TX_BYTES, bytes);
    qp.count(DINGO_QP_TX_PACKETS);
    qp.count(DINGO_QP_TX_BYTES, bytes);
}

void FrameWriter::cancel() {
    if (way_ == Way::kCable)
        card_.cable.end_frame(0);
}

}  // namespace dingo::model
