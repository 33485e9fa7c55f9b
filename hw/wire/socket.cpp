// SPDX-License-Identifier: BSD-2-Clause
#include "wire/socket.h"

#include <fmt/format.h>
#include <linux/sock_diag.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace dingo {

void throw_errno(const std::string& what, int error, const std::string& hint) {
    const bool denied = error == EPERM || error == EACCES;
    throw WireSystemError(fmt::format("{}: {}{}", what, std::strerror(error), denied ? hint : ""));
}

void set_socket_buffers(int fd, int bytes) {
    if (::setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0)
        ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    if (::setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes) != 0)
        ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

std::uint64_t socket_overruns(int fd) {
    std::array<std::uint32_t, SK_MEMINFO_VARS> info{};
    socklen_t len = sizeof info;
    if (::getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info.data(), &len) != 0)
        return 0;
    return info[SK_MEMINFO_DROPS];
}

unsigned receive_batch(int fd, std::span<mmsghdr> messages, unsigned& ask, WireStats& stats) {
    // bytes worth fetching at once: fit into the L2 cache
    constexpr std::size_t kGoal = 256UL * 1024;
    // ECONNREFUSED reports an earlier frame that found no receiver: retry once.
    int got = ::recvmmsg(fd, messages.data(), ask, MSG_DONTWAIT, nullptr);
    if (got < 0 && errno == ECONNREFUSED)
        got = ::recvmmsg(fd, messages.data(), ask, MSG_DONTWAIT, nullptr);
    if (got <= 0) {
        if (got < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNREFUSED)
            stats.rx_errors++;
        return 0;
    }
    const auto count = static_cast<unsigned>(got);
    std::size_t bytes = 0;
    for (const mmsghdr& message : messages.first(count))
        bytes += message.msg_len;
    const std::size_t average = std::max<std::size_t>(bytes / count, 1);
    ask = static_cast<unsigned>(std::clamp<std::size_t>(kGoal / average, 4, messages.size()));
    return count;
}

Buffer make_buffer(std::size_t bytes) {
    return std::make_unique_for_overwrite<std::byte[]>(bytes);
}

std::span<std::byte> TxBatch::begin(std::size_t max_len) {
    const std::size_t need = prefix_ + max_len;
    if (need > capacity_ - tail_) {
        if (empty()) {
            head_ = tail_ = 0;
        } else if (head_ >= capacity_ / 2) {  // moves at most as many bytes as were sent since
            std::memmove(buffer_.get(), buffer_.get() + head_, bytes());
            tail_ -= head_;
            head_ = 0;
        }
        if (need > capacity_ - tail_)
            return {};
    }
    return {buffer_.get() + tail_ + prefix_, max_len};
}

void TxBatch::end(std::size_t len) {
    if (len == 0)
        return;
    std::memset(buffer_.get() + tail_, 0, prefix_);
    const std::size_t total = prefix_ + len;
    tail_ += total;
    lengths_.push_back(static_cast<std::uint32_t>(total));
}

void TxBatch::pop(std::size_t n) {
    for (const std::size_t end = next_ + n; next_ < end; next_++)
        head_ += lengths_[next_];
    if (empty()) {
        head_ = tail_ = next_ = 0;
        lengths_.clear();
    } else if (next_ >= 4096) {
        lengths_.erase(lengths_.begin(), lengths_.begin() + static_cast<std::ptrdiff_t>(next_));
        next_ = 0;
    }
}

std::span<std::byte> BatchWire::begin_frame(std::size_t max_len) {
    if (max_len > kMaxFrame)
        return {};
    std::span<std::byte> room = tx_.begin(max_len);
    if (room.empty()) {
        flush();
        room = tx_.begin(max_len);
        if (room.empty())
            stats_.tx_full++;
    }
    return room;
}

bool BatchWire::send_batch(int fd) {
    constexpr std::size_t kMost = 32;
    std::array<mmsghdr, kMost> messages{};
    std::array<iovec, kMost> pieces;
    const std::span<const std::uint32_t> lengths = tx_.lengths();
    const std::size_t count = std::min(lengths.size(), kMost);
    std::byte* data = tx_.data();
    for (std::size_t i = 0; i < count; i++) {
        pieces[i] = {data, lengths[i]};
        messages[i].msg_hdr.msg_iov = &pieces[i];
        messages[i].msg_hdr.msg_iovlen = 1;
        data += lengths[i];
    }
    const int sent = ::sendmmsg(fd, messages.data(), static_cast<unsigned>(count), 0);
    if (sent <= 0)
        return false;
    const auto frames = static_cast<std::size_t>(sent);
    for (const std::uint32_t length : lengths.first(frames))
        stats_.tx_bytes += length - tx_.prefix();
    stats_.tx_frames += frames;
    tx_.pop(frames);
    return true;
}

void SocketWire::end_frame(std::size_t len) {
    tx_.end(len);
    if (tx_.bytes() >= auto_flush_ && !blocked_)
        flush();
}

void SocketWire::flush() {
    blocked_ = false;
    while (!tx_.empty() && !blocked_)
        send_some();
}

}  // namespace dingo
