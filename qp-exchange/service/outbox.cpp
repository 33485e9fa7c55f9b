// SPDX-License-Identifier: BSD-2-Clause
#include "service/outbox.h"

#include <utility>

namespace qpx::service {

Bytes& Outbox::tail() {
    if (pieces_.empty() || pieces_.back().shared) {
        pieces_.emplace_back();
    }
    return pieces_.back().own;
}

void Outbox::push(const Message& message) {
    Bytes& out = tail();
    const size_t before = out.size();
    encode(message, sequence_++, out);
    grown(out.size() - before);
}

void Outbox::grown(size_t bytes) {
    size_ += bytes;
    own_ += bytes;
    total_ += bytes;
}

void Outbox::push(const Message& message, std::shared_ptr<const Bytes> rest) {
    Bytes& out = tail();
    const size_t before = out.size();
    encode_before_bytes(message, sequence_++, rest->size(), out);
    grown(out.size() - before);
    size_ += rest->size();
    pieces_.back().shared = std::move(rest);
}

void Outbox::pull(Bytes& out, size_t wanted) {
    while (first_ < pieces_.size() && out.size() < wanted) {
        Piece& piece = pieces_[first_++];
        out.insert(out.end(), piece.own.begin(), piece.own.end());
        size_ -= piece.own.size();
        own_ -= piece.own.size();
        total_ -= piece.own.size();
        if (piece.shared) {
            out.insert(out.end(), piece.shared->begin(), piece.shared->end());
            size_ -= piece.shared->size();
        }
        piece = {};
    }
    if (first_ == pieces_.size()) {
        std::vector<Piece>().swap(pieces_);  // frees the memory
        first_ = 0;
    }
}

}  // namespace qpx::service
