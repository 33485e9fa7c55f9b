// SPDX-License-Identifier: BSD-2-Clause
#include "message_stream.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace dingo::vfio_user {
namespace {

/// Limit on replies queued for a client that does not read; more than a few of the largest is
/// abuse.
constexpr std::size_t kMaxBacklog = 8 * std::size_t{kMaxMessage};

/// Converts errno of a failed send.
MessageStream::Sent not_sent() {
    switch (errno) {
        case EAGAIN:
            return MessageStream::Sent::kTaken;  // it is queued here
        case EPIPE:
        case ECONNRESET:
        case ENOTCONN:
            return MessageStream::Sent::kGone;
        default:
            return MessageStream::Sent::kRefused;
    }
}

}  // namespace

MessageStream::MessageStream(UniqueFd socket) : socket_(std::move(socket)) {
    ::fcntl(socket_.get(), F_SETFL, ::fcntl(socket_.get(), F_GETFL) | O_NONBLOCK);
}

// Reads header and payload separately and never beyond the end of a message, so that the
// descriptors received with a piece belong to this message.
MessageStream::Read MessageStream::receive(std::byte* to, std::size_t want, std::size_t& have) {
    while (have < want) {
        iovec iov{to + have, want - have};
        alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMaxFds)> control;
        msghdr msg{};
        msg.msg_iov = &iov;
        msg.msg_iovlen = 1;
        msg.msg_control = control.data();
        msg.msg_controllen = control.size();
        const ssize_t got = ::recvmsg(socket_.get(), &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
        if (got < 0) {
            if (errno == EINTR) {
                continue;
            }
            return errno == EAGAIN ? Read::kWouldBlock : Read::kClosed;
        }
        for (cmsghdr* c = CMSG_FIRSTHDR(&msg); c != nullptr; c = CMSG_NXTHDR(&msg, c)) {
            if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) {
                continue;
            }
            const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            for (std::size_t i = 0; i < count; ++i) {
                int fd = -1;
                std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof fd);
                current_.fds.emplace_back(fd);
            }
        }
        if ((msg.msg_flags & MSG_CTRUNC) != 0 || current_.fds.size() > kMaxFds) {
            return Read::kMalformed;  // more descriptors than announced
        }
        if (got == 0) {
            return Read::kClosed;
        }
        have += static_cast<std::size_t>(got);
    }
    return Read::kMessage;
}

MessageStream::Read MessageStream::read(VfioMessage& out) {
    if (header_have_ < sizeof(Header)) {
        const Read r =
            receive(reinterpret_cast<std::byte*>(&current_.header), sizeof(Header), header_have_);
        if (r != Read::kMessage) {
            return r;
        }
        if (current_.header.size < sizeof(Header) || current_.header.size > kMaxMessage) {
            return Read::kMalformed;
        }
        current_.payload.resize(current_.header.size - sizeof(Header));
        payload_have_ = 0;
    }
    const Read r = receive(current_.payload.data(), current_.payload.size(), payload_have_);
    if (r != Read::kMessage) {
        return r;
    }
    header_have_ = 0;
    std::swap(out, current_);  // reuses the capacity of both payload buffers
    current_.fds.clear();
    return Read::kMessage;
}

long MessageStream::transmit(std::span<const std::span<const std::byte>> pieces, int fd) {
    std::array<iovec, 3> iov{};
    std::size_t n = 0;
    for (const auto& piece : pieces) {
        if (!piece.empty()) {
            iov[n++] = {const_cast<std::byte*>(piece.data()), piece.size()};
        }
    }
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr msg{};
    msg.msg_iov = iov.data();
    msg.msg_iovlen = n;
    if (fd >= 0) {
        msg.msg_control = control.data();
        msg.msg_controllen = control.size();
        cmsghdr* c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(c), &fd, sizeof fd);
    }
    while (true) {
        const ssize_t sent = ::sendmsg(socket_.get(), &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0 || errno != EINTR) {
            return sent;
        }
    }
}

MessageStream::Sent MessageStream::send(Header header, std::span<const std::byte> head,
                                        std::span<const std::byte> body, int fd) {
    header.size = static_cast<std::uint32_t>(sizeof header + head.size() + body.size());
    const std::array<std::span<const std::byte>, 3> pieces{std::as_bytes(std::span(&header, 1)),
                                                           head, body};
    std::size_t sent = 0;
    if (backlog_.empty()) {
        const long n = transmit(pieces, fd);
        if (n < 0) {
            if (const Sent why = not_sent(); why != Sent::kTaken) {
                return why;
            }
        }
        sent = n < 0 ? 0 : static_cast<std::size_t>(n);
        if (sent == header.size) {
            return Sent::kTaken;
        }
    }
    if (backlog_bytes_ + header.size > kMaxBacklog) {
        if (const Sent why = flush(); why != Sent::kTaken) {
            return why;  // the peer has closed the connection
        }
        if (backlog_bytes_ + header.size > kMaxBacklog) {
            return Sent::kFull;
        }
    }
    Queued queued;
    queued.bytes.reserve(header.size);
    for (const auto& piece : pieces) {
        queued.bytes.insert(queued.bytes.end(), piece.begin(), piece.end());
    }
    queued.sent = sent;
    if (fd >= 0 && sent == 0) {
        queued.fd.reset(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    }
    backlog_bytes_ += header.size;
    backlog_.push_back(std::move(queued));
    return Sent::kTaken;
}

MessageStream::Sent MessageStream::flush() {
    while (!backlog_.empty()) {
        Queued& first = backlog_.front();
        const std::array<std::span<const std::byte>, 1> rest{
            std::span<const std::byte>(first.bytes).subspan(first.sent)};
        const long n = transmit(rest, first.fd.get());
        if (n < 0) {
            return not_sent();
        }
        first.fd.reset();
        first.sent += static_cast<std::size_t>(n);
        if (first.sent == first.bytes.size()) {
            backlog_bytes_ -= first.bytes.size();
            backlog_.pop_front();
        }
    }
    return Sent::kTaken;
}

}  // namespace dingo::vfio_user
