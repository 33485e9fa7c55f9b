// SPDX-License-Identifier: BSD-2-Clause
#include "irq.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <utility>

namespace dingo::vfio_user {

MsixVectors::MsixVectors(unsigned count) : vectors_(count) {}

void MsixVectors::signal(Vector& v) {
    // EAGAIN: the eventfd's counter is full, so it is signalled already.
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = ::write(v.event.get(), &one, sizeof one);
    ++sent_;
}

void MsixVectors::raise(unsigned vector) {
    if (vector >= vectors_.size()) {
        return;
    }
    Vector& v = vectors_[vector];
    if (v.to_lose > 0) {
        --v.to_lose;
        return;
    }
    if (!v.event || v.masked) {
        v.pending = true;
        return;
    }
    signal(v);
}

void MsixVectors::lose(unsigned vector, unsigned count) {
    if (vector >= vectors_.size()) {
        throw std::invalid_argument(fmt::format("there are vectors 0 to {}", vectors_.size() - 1));
    }
    vectors_[vector].to_lose = count;
}

void MsixVectors::deliver_pending(Vector& v) {
    if (v.pending && v.event && !v.masked) {
        v.pending = false;
        signal(v);
    }
}

void MsixVectors::reset() {
    for (Vector& v : vectors_) {
        v = Vector{};
    }
}

void MsixVectors::clear_pending() {
    for (Vector& v : vectors_) {
        v.pending = false;
    }
}

int MsixVectors::set(const IrqSet& request, std::span<const std::byte> bools,
                     std::span<UniqueFd> fds) {
    const std::uint32_t data = request.flags & VFIO_IRQ_SET_DATA_TYPE_MASK;
    const std::uint32_t action = request.flags & VFIO_IRQ_SET_ACTION_TYPE_MASK;
    if ((request.flags & ~(VFIO_IRQ_SET_DATA_TYPE_MASK | VFIO_IRQ_SET_ACTION_TYPE_MASK)) != 0 ||
        request.start > vectors_.size() || request.count > vectors_.size() - request.start) {
        return EINVAL;
    }
    if (data == VFIO_IRQ_SET_DATA_NONE && request.count == 0) {
        if (request.start != 0 || action != VFIO_IRQ_SET_ACTION_TRIGGER || !fds.empty()) {
            return EINVAL;
        }
        reset();  // "count and start of 0 with DATA_NONE disables all interrupts of the index"
        return 0;
    }
    if (request.count == 0) {
        return EINVAL;
    }
    const std::span<Vector> range(vectors_.data() + request.start, request.count);
    if (data == VFIO_IRQ_SET_DATA_EVENTFD) {
        // Either all vectors of a message get a descriptor, or all lose theirs.
        if (action != VFIO_IRQ_SET_ACTION_TRIGGER || (!fds.empty() && fds.size() != range.size())) {
            return EINVAL;
        }
        for (std::size_t i = 0; i < range.size(); ++i) {
            range[i].event = fds.empty() ? UniqueFd() : std::move(fds[i]);
            if (range[i].event) {
                // The descriptor could be a pipe that is never read: do not block on it.
                const int fd = range[i].event.get();
                ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
            }
            deliver_pending(range[i]);
        }
        return 0;
    }
    const bool by_bool = data == VFIO_IRQ_SET_DATA_BOOL;
    if ((!by_bool && data != VFIO_IRQ_SET_DATA_NONE) || !fds.empty() ||
        (by_bool && bools.size() < range.size())) {
        return EINVAL;
    }
    if (action != VFIO_IRQ_SET_ACTION_TRIGGER && action != VFIO_IRQ_SET_ACTION_MASK &&
        action != VFIO_IRQ_SET_ACTION_UNMASK) {
        return EINVAL;
    }
    for (std::size_t i = 0; i < range.size(); ++i) {
        if (by_bool && bools[i] == std::byte{0}) {
            continue;
        }
        if (action == VFIO_IRQ_SET_ACTION_TRIGGER) {
            raise(request.start + static_cast<unsigned>(i));
        } else {
            range[i].masked = action == VFIO_IRQ_SET_ACTION_MASK;
            deliver_pending(range[i]);
        }
    }
    return 0;
}

void MsixVectors::read_pba(std::uint64_t offset, std::span<std::byte> out) const {
    for (std::size_t i = 0; i < out.size(); ++i) {
        std::uint8_t bits = 0;
        for (std::uint64_t bit = 0; bit < 8; ++bit) {
            const std::uint64_t n = (offset + i) * 8 + bit;
            if (n < vectors_.size() && vectors_[n].pending) {
                bits = static_cast<std::uint8_t>(bits | 1u << bit);
            }
        }
        out[i] = static_cast<std::byte>(bits);
    }
}

}  // namespace dingo::vfio_user
