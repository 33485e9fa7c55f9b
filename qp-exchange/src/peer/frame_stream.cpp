// SPDX-License-Identifier: BSD-2-Clause
#include "peer/frame_stream.h"

namespace qpx::peer {

std::size_t FrameStream::write_queued() {
    std::size_t moved = 0;
    while (sent_ < out_.size()) {
        const net::Io io = stream().write(std::span(out_).subspan(sent_));
        if (io.bytes == 0) {
            return moved;
        }
        sent_ += io.bytes;
        moved += io.bytes;
    }
    out_.clear();
    sent_ = 0;
    return moved;
}

std::size_t FrameStream::read_some() {
    if (closed_) {
        return 0;
    }
    const net::Io io = stream().read(session_.reader.space());
    session_.reader.received(io.bytes);
    closed_ = io.closed;
    return io.bytes;
}

std::optional<wire::FrameView> FrameStream::next() {
    auto frame = session_.reader.next();
    if (frame && frame->header.type != wire::Type::Refuse) {
        session_.check_sequence(frame->header);
    }
    return frame;
}

bool FrameStream::has_something() const {
    return closed_ || session_.reader.whole() || stream().pending();
}

void FrameStream::release_memory(std::uint32_t max_frame) {
    if (session_.reader.partial() == 0) {
        session_.reader = wire::FrameReader(max_frame);
    }
    if (out_.empty()) {
        std::vector<std::byte>().swap(out_);
    }
}

void FrameStream::finish() {
    write_queued();
    net::end(stream());
}

}  // namespace qpx::peer
