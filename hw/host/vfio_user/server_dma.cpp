// SPDX-License-Identifier: BSD-2-Clause
#include <poll.h>

#include <algorithm>
#include <cstring>

#include "base/locked_atomic.h"
#include "base/ordered_write.h"
#include "server.h"

namespace dingo::vfio_user {
namespace {

/// Maximum number of abandoned DMA requests whose replies may still arrive.
constexpr std::size_t kMaxAbandoned = 256;
constexpr std::uint64_t kClientPage = 4096;

/// Returns the bytes of the next message for `length` bytes at `addr`: up to the end of a window
/// that is accessed by messages; outside of windows up to the end of the page, as another window
/// may begin there. Only the client knows what is there: it makes no window for a peer's BAR that
/// is not plain memory.
std::size_t message_piece(const DmaRegion* region, std::uint64_t addr, std::size_t length) {
    const std::uint64_t left =
        region != nullptr ? region->left(addr) : kClientPage - addr % kClientPage;
    return std::min<std::uint64_t>(length, left);
}

}  // namespace

bool Server::dma_error() {
    ++stats_.dma_errors;
    return false;
}

std::span<std::byte> Server::card_memory(std::uint64_t addr) const {
    const std::uint64_t window = pci_->memory_window();
    const std::uint64_t offset = addr - window;
    if (window == 0 || offset >= identity_.bar4_size) {
        return {};
    }
    return device_->memory().subspan(offset);
}

bool Server::dma_read(std::uint64_t addr, std::span<std::byte> dst) {
    if (!connected() || !pci_->bus_master()) {
        return dma_error();
    }
    while (!dst.empty()) {
        const DmaRegion* region = dma_.find(addr);
        std::span<std::byte> piece = dst;
        if (region != nullptr && region->base != nullptr) {
            if (!region->readable) {
                return dma_error();
            }
            piece = dst.first(std::min<std::uint64_t>(dst.size(), region->left(addr)));
            std::memcpy(piece.data(), region->base + (addr - region->address), piece.size());
        } else if (const auto own = card_memory(addr); !own.empty()) {
            piece = dst.first(std::min(dst.size(), own.size()));
            std::copy_n(own.begin(), piece.size(), piece.begin());
            stats_.card_memory_bytes += piece.size();
        } else {
            piece = dst.first(message_piece(region, addr, dst.size()));
            if ((region != nullptr && !region->readable) || !read_by_message(addr, piece)) {
                return dma_error();
            }
        }
        addr += piece.size();
        dst = dst.subspan(piece.size());
    }
    return true;
}

bool Server::dma_write(std::uint64_t addr, std::span<const std::byte> src) {
    if (!connected() || !pci_->bus_master()) {
        return dma_error();
    }
    while (!src.empty()) {
        const DmaRegion* region = dma_.find(addr);
        std::span<const std::byte> piece = src;
        if (region != nullptr && region->base != nullptr) {
            if (!region->writable) {
                return dma_error();
            }
            piece = src.first(std::min<std::uint64_t>(src.size(), region->left(addr)));
            write_in_order(region->base + (addr - region->address), piece);
        } else if (const auto own = card_memory(addr); !own.empty()) {
            piece = src.first(std::min(src.size(), own.size()));
            write_in_order(own.data(), piece);
            stats_.card_memory_bytes += piece.size();
        } else {
            piece = src.first(message_piece(region, addr, src.size()));
            if ((region != nullptr && !region->writable) || !write_by_message(addr, piece)) {
                return dma_error();
            }
        }
        addr += piece.size();
        src = src.subspan(piece.size());
    }
    return true;
}

bool Server::dma_atomic(std::uint64_t addr, const FarMemory::Atomic& request,
                        std::uint64_t& before) {
    if (std::byte* at = dma_pointer(addr, sizeof before);
        at != nullptr &&
        locked_atomic(at, request.swap, request.compare, request.operand, before)) {
        if (!card_memory(addr).empty()) {
            stats_.card_memory_bytes += 2 * sizeof before;
        }
        return true;
    }
    return HostPort::dma_atomic(addr, request, before);
}

std::byte* Server::dma_pointer(std::uint64_t addr, std::size_t len) {
    if (!connected() || !pci_->bus_master()) {
        return nullptr;
    }
    const DmaRegion* region = dma_.find(addr);
    if (region == nullptr || region->base == nullptr) {
        const auto own = card_memory(addr);
        return own.size() < len ? nullptr : own.data();
    }
    // The caller may read or write, so a window that allows only one of both gives no pointer.
    if (!region->readable || !region->writable || len > region->left(addr)) {
        return nullptr;
    }
    return region->base + (addr - region->address);
}

void Server::raise_msix(unsigned vector) {
    if (connected() && pci_->bus_master()) {
        irq_->raise(vector);
    }
}

bool Server::read_by_message(std::uint64_t addr, std::span<std::byte> dst) {
    while (!dst.empty()) {
        const auto piece = dst.first(std::min<std::size_t>(dst.size(), client_max_transfer_));
        if (!call_client(Command::kDmaRead, {addr, piece.size()}, {})) {
            return false;
        }
        if (nested_.payload.size() != sizeof(DmaAccess) + piece.size()) {
            fail("DMA_READ reply of the wrong size");
            return false;
        }
        std::memcpy(piece.data(), nested_.payload.data() + sizeof(DmaAccess), piece.size());
        stats_.dma_message_bytes += piece.size();
        addr += piece.size();
        dst = dst.subspan(piece.size());
    }
    return true;
}

bool Server::write_by_message(std::uint64_t addr, std::span<const std::byte> src) {
    while (!src.empty()) {
        const auto piece = src.first(std::min<std::size_t>(src.size(), client_max_transfer_));
        if (!call_client(Command::kDmaWrite, {addr, piece.size()}, piece)) {
            return false;
        }
        stats_.dma_message_bytes += piece.size();
        addr += piece.size();
        src = src.subspan(piece.size());
    }
    return true;
}

bool Server::call_client(Command command, const DmaAccess& access,
                         std::span<const std::byte> data) {
    if (abort_dma_ || in_call_) {
        return false;
    }
    const auto deadline = std::chrono::steady_clock::now() + dma_timeout_;
    const std::uint16_t id = next_id_++;
    Header header{id, static_cast<std::uint16_t>(command), 0, kTypeCommand, 0};
    if (!was_sent(stream_->send(header, std::as_bytes(std::span(&access, 1)), data))) {
        return false;
    }
    ++stats_.dma_messages;
    in_call_ = true;
    bool answered = false;
    while (!answered && !abort_dma_) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            deadline - std::chrono::steady_clock::now());
        if (left.count() <= 0) {  // also for a client that sends everything but this reply
            fail("no reply to a DMA request");
            break;
        }
        const auto read = stream_->read(nested_);
        if (read == MessageStream::Read::kMessage) {
            answered = nested_.header.id == id && (nested_.header.flags & kTypeMask) == kTypeReply;
            if (!answered) {
                dispatch(nested_);
            }
            continue;
        }
        if (read == MessageStream::Read::kMalformed) {
            fail("malformed message");
            break;
        }
        if (read == MessageStream::Read::kClosed) {
            lose(kGone);
            break;
        }
        if (!was_sent(stream_->flush())) {
            break;
        }
        pollfd poll{stream_->fd(),
                    static_cast<short>(POLLIN | (stream_->wants_write() ? POLLOUT : 0)), 0};
        ::poll(&poll, 1, static_cast<int>(left.count()));
    }
    in_call_ = false;
    if (!answered) {
        if (abandoned_.size() >= kMaxAbandoned) {
            fail("too many DMA requests without reply");
        }
        abandoned_.push_back(id);
        return false;
    }
    return (nested_.header.flags & kFlagError) == 0 &&
           nested_.header.command == static_cast<std::uint16_t>(command);
}

}  // namespace dingo::vfio_user
