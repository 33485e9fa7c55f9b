// SPDX-License-Identifier: BSD-2-Clause
#include "host/driver/far_reads.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace dingo::uverbs {

using Access = FarMemory::Access;

const std::shared_ptr<FetchedPiece>* FarReads::find(std::uint64_t addr) {
    const auto piece = std::ranges::find_if(
        pieces_, [addr](const auto& p) { return addr >= p->addr && addr - p->addr < p->length; });
    return piece == pieces_.end() ? nullptr : &*piece;
}

const std::shared_ptr<FetchedPiece>* FarReads::start(std::uint64_t addr, std::uint64_t ahead,
                                                     std::uint64_t least, const Fetch& fetch) {
    auto piece = std::make_shared<FetchedPiece>();
    piece->addr = addr;
    piece->length = std::min(ahead, pieces_.empty() ? kFirst : kPiece);
    if (!fetch(piece, least)) {
        return nullptr;
    }
    bytes_ += piece->length;
    pieces_.push_back(piece);
    const std::uint64_t most = piece->room != nullptr ? kMostBytes : kMostWithoutRoom;
    while (pieces_.size() > 1 && (pieces_.size() > kMostPieces || bytes_ > most)) {
        bytes_ -= pieces_.front()->length;
        pieces_.pop_front();
    }
    return &pieces_.back();
}

void FarReads::drop_used() {
    std::erase_if(pieces_, [this](const auto& p) {
        const bool drop = p->used && p->length > kPacket;
        bytes_ -= drop ? p->length : 0;
        return drop;
    });
}

void FarReads::begin(std::uint64_t message) {
    if (message == message_) {
        return;
    }
    message_ = message;
    pieces_.clear();
    bytes_ = 0;
    // A retransmission belongs to a message older than all that are expected.
    if (std::ranges::find(coming_, message, &Coming::message) == coming_.end()) {
        return;
    }
    while (coming_.front().message != message) {
        take_coming();
    }
    for (auto& piece : take_coming()) {
        bytes_ += piece->length;
        pieces_.push_back(std::move(piece));
    }
}

std::vector<std::shared_ptr<FetchedPiece>> FarReads::take_coming() {
    std::vector<std::shared_ptr<FetchedPiece>> pieces = std::move(coming_.front().pieces);
    coming_.pop_front();
    for (const auto& piece : pieces) {
        coming_bytes_ -= piece->length;
    }
    return pieces;
}

bool FarReads::prefetch(std::uint64_t message, std::uint64_t addr, std::uint64_t bytes,
                        const Fetch& fetch) {
    const bool is_new = coming_.empty() || coming_.back().message != message;
    if (coming_bytes_ >= kMostComingBytes || (is_new && coming_.size() >= kMostComing) ||
        (!is_new && coming_.back().pieces.size() >= kMostPieces)) {
        return false;
    }
    if (!is_new && std::ranges::any_of(coming_.back().pieces,
                                       [addr](const auto& p) { return p->addr == addr; })) {
        return true;
    }
    auto piece = std::make_shared<FetchedPiece>();
    piece->addr = addr;
    piece->length = std::min(bytes, kPiece);
    if (!fetch(piece, 0)) {
        return false;
    }
    coming_bytes_ += piece->length;
    if (is_new) {
        coming_.push_back({.message = message, .pieces = {}});
    }
    coming_.back().pieces.push_back(std::move(piece));
    return true;
}

void FarReads::fetch_ahead(std::uint64_t at, std::uint64_t all, const Fetch& fetch) {
    for (unsigned i = 0; i < kAhead; i++) {
        const auto* const piece = find(at - 1);
        if (piece == nullptr) {
            break;
        }
        at = (*piece)->addr + (*piece)->length;
        if (at >= all || (find(at) == nullptr && start(at, all - at, 0, fetch) == nullptr)) {
            break;
        }
        ++at;
    }
}

bool FarReads::refer(std::uint64_t message, std::uint64_t addr, std::size_t bytes,
                     std::uint64_t ahead, Elsewhere& where, const Fetch& fetch) {
    begin(message);
    const auto* const found = find(addr);
    if (found == nullptr || (*found)->length - (addr - (*found)->addr) < bytes ||
        (*found)->state.load(std::memory_order_acquire) != FetchedPiece::State::kHere) {
        return false;
    }
    FetchedPiece& piece = **found;
    where = {std::as_const(piece.bytes).bytes().data() + (addr - piece.addr), *found};
    const bool ends = addr + bytes == piece.addr + piece.length;
    piece.used = piece.used || ends;
    if (ends || addr == piece.addr) {
        fetch_ahead(addr + bytes, addr + ahead, fetch);
        drop_used();
    }
    return true;
}

Access FarReads::read(std::uint64_t message, std::uint64_t addr, std::span<std::byte> dst,
                      std::uint64_t ahead, const Fetch& fetch) {
    begin(message);
    Access access = Access::kDone;
    std::uint64_t at = addr;
    const std::uint64_t end = addr + dst.size();
    while (at < end) {
        const auto* found = find(at);
        if (found == nullptr) {
            found = start(at, ahead - (at - addr), end - at, fetch);
        }
        if (found == nullptr) {
            return Access::kLater;
        }
        FetchedPiece* const piece = found->get();
        const std::uint64_t in_piece = at - piece->addr;
        const std::uint64_t bytes = std::min(end - at, piece->length - in_piece);
        switch (piece->state.load(std::memory_order_acquire)) {
            case FetchedPiece::State::kHere:
                std::memcpy(dst.data() + (at - addr), piece->bytes.bytes().data() + in_piece,
                            bytes);
                piece->used = piece->used || in_piece + bytes == piece->length;
                break;
            case FetchedPiece::State::kFetching:
                access = Access::kLater;
                break;
            case FetchedPiece::State::kFailed:
                return Access::kError;
        }
        at += bytes;
    }
    // The following pieces are fetched while this one is sent.
    fetch_ahead(at, addr + ahead, fetch);
    if (access == Access::kDone) {
        drop_used();
    }
    return access;
}

bool FarReads::is_fetching() const {
    const auto is = [](const auto& p) { return p->state.load() == FetchedPiece::State::kFetching; };
    return std::ranges::any_of(pieces_, is) || std::ranges::any_of(coming_, [&](const Coming& c) {
               return std::ranges::any_of(c.pieces, is);
           });
}

void FarReads::fail(const std::function<bool(const FetchedPiece& piece)>& which) {
    const auto look_at = [&](const std::shared_ptr<FetchedPiece>& piece) {
        if (which(*piece)) {
            auto expected = FetchedPiece::State::kFetching;
            piece->state.compare_exchange_strong(expected, FetchedPiece::State::kFailed);
        }
    };
    std::ranges::for_each(pieces_, look_at);
    for (const Coming& coming : coming_) {
        std::ranges::for_each(coming.pieces, look_at);
    }
}

}  // namespace dingo::uverbs
