// SPDX-License-Identifier: BSD-2-Clause
#include <poll.h>

#include <algorithm>
#include <cstring>

#include "base/ordered_write.h"
#include "server.h"

namespace dingo::vfio_user {
namespace {

/// DMA requests given up whose replies may still come.
constexpr std::size_t kMaxAbandoned = 256;

}  // namespace

bool Server::dma_error() {
    ++stats_.dma_errors;
    return false;
}

bool Server::dma_read(std::uint64_t addr, std::span<std::byte> dst) {
    if (!connected() || !pci_->bus_master()) {
        return dma_error();
    }
    while (!dst.empty()) {
        const DmaRegion* region = dma_.find(addr);
        if (region == nullptr || !region->readable) {
            return dma_error();
        }
        const auto piece = dst.first(std::min<std::uint64_t>(dst.size(), region->left(addr)));
        if (region->base != nullptr) {
            std::memcpy(piece.data(), region->base + (addr - region->address), piece.size());
        } else if (!read_by_message(addr, piece)) {
            return dma_error();
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
        if (region == nullptr || !region->writable) {
            return dma_error();
        }
        const auto piece = src.first(std::min<std::uint64_t>(src.size(), region->left(addr)));
        if (region->base != nullptr) {
            write_in_order(region->base + (addr - region->address), piece);
        } else if (!write_by_message(addr, piece)) {
            return dma_error();
        }
        addr += piece.size();
        src = src.subspan(piece.size());
    }
    return true;
}

std::byte* Server::dma_pointer(std::uint64_t addr, std::size_t len) {
    if (!connected() || !pci_->bus_master()) {
        return nullptr;
    }
    const DmaRegion* region = dma_.find(addr);
    // The caller does not say whether it will write: a window for one of both gives no pointer.
    if (region == nullptr || region->base == nullptr || !region->readable || !region->writable ||
        len > region->left(addr)) {
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
    if (!stream_->send(header, std::as_bytes(std::span(&access, 1)), data)) {
        fail("client does not read");
        return false;
    }
    ++stats_.dma_messages;
    in_call_ = true;
    bool answered = false;
    while (!answered && !abort_dma_) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
            deadline - std::chrono::steady_clock::now());
        if (left.count() <= 0) {  // also for a client that sends all but this reply
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
        if (read != MessageStream::Read::kWouldBlock || !stream_->flush()) {
            fail(read == MessageStream::Read::kMalformed ? "malformed message" : "client is gone");
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
