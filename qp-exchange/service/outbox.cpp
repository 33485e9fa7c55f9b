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
    size_ += out.size() - before;
}

void Outbox::push(const Message& message, std::shared_ptr<const Bytes> items) {
    Bytes& out = tail();
    const size_t before = out.size();
    encode_before_items(message, sequence_++, items->size(), out);
    size_ += out.size() - before + items->size();
    pieces_.back().shared = std::move(items);
}

void Outbox::pull(Bytes& out, size_t wanted) {
    while (first_ < pieces_.size() && out.size() < wanted) {
        Piece& piece = pieces_[first_++];
        out.insert(out.end(), piece.own.begin(), piece.own.end());
        size_ -= piece.own.size();
        if (piece.shared) {
            out.insert(out.end(), piece.shared->begin(), piece.shared->end());
            size_ -= piece.shared->size();
        }
        piece = {};
    }
    if (first_ == pieces_.size()) {
        std::vector<Piece>().swap(pieces_);  // gives the memory back
        first_ = 0;
    }
}

}  // namespace qpx::service
