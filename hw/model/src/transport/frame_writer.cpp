// SPDX-License-Identifier: BSD-2-Clause
#include "frame_writer.h"

namespace dingo::model {

bool FrameWriter::open(const packet::HeaderTemplate& path, const packet::TransportHeaders& headers,
                       std::size_t payload_bytes) {
    const std::size_t bytes = path.frame_bytes(headers.bth.opcode, payload_bytes);
    discard_ = !port_.up();
    std::span<std::byte> room =
        discard_ ? std::span<std::byte>(discarded_) : card_.wire.begin_frame(bytes);
    if (room.size() < bytes) {
        if (!room.empty())
            card_.wire.end_frame(0);
        card_.count(DINGO_CARD_WIRE_BUSY);
        busy_ = true;
        return false;
    }
    return builder_.begin(path, headers, payload_bytes, ip_id_++, room);
}

void FrameWriter::send(Qp& qp) {
    if (discard_)
        return;
    const bool inside = port_.turns_round(builder_.frame());
    const std::size_t bytes = (inside ? builder_.finish_without_icrc() : builder_.finish()).size();
    card_.wire.end_frame(bytes);
    card_.count(DINGO_CARD_RDMA_TX_PACKETS);
    card_.count(DINGO_CARD_RDMA_TX_BYTES, bytes);
    qp.count(DINGO_QP_TX_PACKETS);
    qp.count(DINGO_QP_TX_BYTES, bytes);
}

void FrameWriter::cancel() {
    if (!discard_)
        card_.wire.end_frame(0);
}

}  // namespace dingo::model
