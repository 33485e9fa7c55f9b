// SPDX-License-Identifier: BSD-2-Clause
#include "host/uverbs/message.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "host/uverbs/unread.h"

namespace dingo::uverbs {
namespace {

/// SCM_MAX_FD of Linux. With less room the kernel would close surplus descriptors on this thread,
/// and close() may block (foreign_fd.h).
constexpr std::size_t kMaxSentFds = 253;
/// Limit of unread answers in one reply socket, in bytes as accounted by the kernel: about ten
/// answers. A client needs one.
constexpr int kMostUnread = 16 << 10;

template <typename T>
T take(std::span<const std::byte>& bytes) {
    T value;
    std::memcpy(&value, bytes.data(), sizeof value);
    bytes = bytes.subspan(sizeof value);
    return value;
}

// A reply to anything but a UNIX socket could block.
bool is_unix_socket(int fd) {
    int domain = 0;
    socklen_t len = sizeof domain;
    return ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_UNIX;
}

bool valid_segments(std::vector<dingo_uverbs_segment>& segments, std::size_t fds) {
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    std::sort(segments.begin(), segments.end(),
              [](const auto& a, const auto& b) { return a.va < b.va; });
    std::uint64_t end = 0;
    for (const auto& s : segments) {
        if (s.fd >= fds || (s.flags & ~DINGO_UVERBS_SEGMENT_FILE) != 0 || s.length == 0 ||
            (s.va | s.length | s.offset) % page != 0 || s.va < end || s.length > UINT64_MAX / 4 ||
            s.va > UINT64_MAX - s.length || s.offset > INT64_MAX - s.length) {
            return false;
        }
        end = s.va + s.length;
    }
    return true;
}

/// Parses the sizes of a GPU's allocations, one per descriptor. They must add up to the total size.
bool take_pieces(std::span<const std::byte>& bytes, Message& m) {
    const std::size_t count = std::max(m.gpu->num_pieces, 1U);
    if (count != m.fds.size() || bytes.size() < m.gpu->num_pieces * sizeof(std::uint64_t)) {
        return false;
    }
    if (m.gpu->num_pieces == 0) {
        m.pieces = {m.gpu->size};
        return true;
    }
    std::uint64_t left = m.gpu->size;
    for (std::size_t i = 0; i < count; ++i) {
        m.pieces.push_back(take<std::uint64_t>(bytes));
        if (m.pieces.back() == 0 || m.pieces.back() > left) {
            return false;
        }
        left -= m.pieces.back();
    }
    return left == 0 && m.gpu->offset < m.pieces.front();
}

/// Parses the description of GPU memory, which replaces segments.
bool take_gpu(std::span<const std::byte>& bytes, Message& m) {
    if (bytes.size() < sizeof(dingo_uverbs_gpu) || m.header.num_segments != 0 ||
        (m.header.flags & ~DINGO_UVERBS_GPU) != 0) {
        return false;
    }
    m.gpu = take<dingo_uverbs_gpu>(bytes);
    if (m.gpu->size > INT64_MAX || m.gpu->offset >= m.gpu->size) {
        return false;
    }
    switch (m.gpu->kind) {
        case DINGO_UVERBS_GPU_IPC:
            return m.gpu->num_pieces == 0 && m.fds.empty();
        case DINGO_UVERBS_GPU_DESCRIPTOR:
            return take_pieces(bytes, m);
        default:
            return false;
    }
}

/// Parses the rest: the table of arguments, the payload, and the arguments' bytes.
bool take_arguments(std::span<const std::byte> bytes, Message& m) {
    std::vector<dingo_uverbs_argument> table;
    std::uint64_t left = bytes.size();
    std::uint64_t rooms = DINGO_UVERBS_MAX_MESSAGE;
    const auto uses = [](std::uint64_t& left_of, std::uint64_t length) {
        return length <= left_of ? (left_of -= length, true) : false;
    };
    if (m.header.num_arguments > DINGO_UVERBS_MAX_ARGUMENTS ||
        !uses(left, m.header.num_arguments * sizeof(dingo_uverbs_argument)) ||
        !uses(left, m.header.payload_len)) {
        return false;
    }
    for (std::uint32_t i = 0; i < m.header.num_arguments; ++i) {
        table.push_back(take<dingo_uverbs_argument>(bytes));
        const dingo_uverbs_argument& last = table.back();
        const bool is_room = (last.flags & DINGO_UVERBS_ROOM) != 0;
        if ((last.flags & ~DINGO_UVERBS_ROOM) != 0 || !uses(is_room ? rooms : left, last.length) ||
            last.va > UINT64_MAX - last.length) {
            return false;
        }
    }
    if (left != 0) {
        return false;
    }
    const auto payload = bytes.first(m.header.payload_len);
    bytes = bytes.subspan(payload.size());
    m.payload.assign(payload.begin(), payload.end());
    if (m.header.type == DINGO_UVERBS_IOCTL) {
        m.arguments->add_attributes(m.header.arg, payload);
    }
    for (std::uint32_t i = 0; i < table.size(); ++i) {
        if ((table[i].flags & DINGO_UVERBS_ROOM) != 0) {
            m.arguments->add_room(i + 1, table[i].va, table[i].length);
            continue;
        }
        m.arguments->add(i + 1, table[i].va, bytes.first(table[i].length));
        bytes = bytes.subspan(table[i].length);
    }
    return true;
}

bool parse(std::span<const std::byte> bytes, Message& m) {
    if (bytes.size() < sizeof m.header || m.fds.empty() || !is_unix_socket(m.fds[0].get())) {
        return false;
    }
    m.reply.reset(m.fds[0].release());
    m.fds.erase(m.fds.begin());
    m.header = take<dingo_uverbs_request>(bytes);
    std::uint32_t allowed =
        DINGO_UVERBS_SHARED | DINGO_UVERBS_FAULT | DINGO_UVERBS_FDS | DINGO_UVERBS_BADF;
    if (m.header.type == DINGO_UVERBS_RDMA_CM) {
        allowed |= DINGO_UVERBS_TOKEN;
    }
    if (m.header.type == DINGO_UVERBS_IOCTL || m.header.type == DINGO_UVERBS_WRITE) {
        allowed |= DINGO_UVERBS_GPU;
    }
    const bool has_gpu = (m.header.flags & DINGO_UVERBS_GPU) != 0;
    if (m.header.version != DINGO_UVERBS_VERSION || (m.header.flags & ~allowed) != 0 ||
        m.header.num_segments > DINGO_UVERBS_MAX_SEGMENTS ||
        m.fds.size() > (has_gpu ? DINGO_UVERBS_MAX_PIECES : DINGO_UVERBS_MAX_FDS - 1) ||
        (has_gpu && !take_gpu(bytes, m)) || m.header.reserved != 0 ||
        bytes.size() < m.header.num_segments * sizeof(dingo_uverbs_segment)) {
        return false;
    }
    for (std::uint32_t i = 0; i < m.header.num_segments; ++i) {
        m.segments.push_back(take<dingo_uverbs_segment>(bytes));
    }
    return take_arguments(bytes, m) && valid_segments(m.segments, m.fds.size());
}

}  // namespace

bool is_small_enough_to_wait(const Message& message) {
    constexpr std::size_t kMost = 16 << 10;  // requests that wait have a few hundred bytes
    return message.payload.size() + message.arguments->num_input_bytes() <= kMost;
}

bool brings_unasked_descriptors(const Message& message) {
    const std::uint32_t flags = message.header.flags;
    if (message.header.type == DINGO_UVERBS_HELLO ||
        (flags & (DINGO_UVERBS_SHARED | DINGO_UVERBS_GPU)) != 0) {
        return false;  // checked where they are used
    }
    return message.fds.size() > ((flags & DINGO_UVERBS_FDS) != 0 ? DINGO_UVERBS_MAX_NEED_FDS : 0);
}

RawMessage receive_raw(int socket, std::span<std::byte> buffer) {
    alignas(cmsghdr)
        std::array<char, CMSG_SPACE(sizeof(int) * kMaxSentFds) + CMSG_SPACE(sizeof(ucred))>
            control;
    iovec iov{buffer.data(), buffer.size()};
    msghdr msg{};
    msg.msg_iov = &iov;
    msg.msg_iovlen = 1;
    msg.msg_control = control.data();
    msg.msg_controllen = control.size();
    RawMessage got;
    got.bytes = ::recvmsg(socket, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got.bytes < 0) {
        return got;
    }
    for (cmsghdr* c = CMSG_FIRSTHDR(&msg); c != nullptr; c = CMSG_NXTHDR(&msg, c)) {
        if (c->cmsg_level != SOL_SOCKET) {
            continue;
        }
        if (c->cmsg_type == SCM_RIGHTS) {
            const std::size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            for (std::size_t i = 0; i < n; ++i) {
                int fd = -1;
                std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
                got.fds.emplace_back(fd);
            }
        } else if (c->cmsg_type == SCM_CREDENTIALS) {
            ucred cred{};
            std::memcpy(&cred, CMSG_DATA(c), sizeof cred);
            got.pid = cred.pid;
        }
    }
    got.cut = (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
    return got;
}

Received receive_message(int socket, Message& message) {
    thread_local std::array<std::byte, DINGO_UVERBS_MAX_MESSAGE> buffer;  // only one thread
                                                                          // receives messages
    RawMessage got = receive_raw(socket, buffer);
    if (got.bytes < 0) {
        return errno == EAGAIN || errno == EINTR ? Received::kNothing : Received::kEnd;
    }
    message = {};
    message.pid = got.pid;
    message.fds = std::move(got.fds);
    if (got.bytes == 0 && message.fds.empty()) {
        return Received::kEnd;
    }
    if (got.cut || !parse(std::span(buffer).first(static_cast<std::size_t>(got.bytes)), message)) {
        if (message.reply && message.header.version != DINGO_UVERBS_VERSION) {
            Reply reply;  // the client may not understand the rest, but sees our version
            reply.header.type = DINGO_UVERBS_DONE;
            reply.header.result = -EPROTO;
            send_reply(message.reply.get(), reply);
        }
        return Received::kMalformed;
    }
    return Received::kMessage;
}

bool send_request(int socket, const dingo_uverbs_request& header, std::span<const std::byte> rest,
                  std::span<const int> fds) {
    std::array<iovec, 2> parts{{
        {const_cast<dingo_uverbs_request*>(&header), sizeof header},
        {const_cast<std::byte*>(rest.data()), rest.size()},
    }};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kMaxSentFds)> control{};
    msghdr msg{};
    msg.msg_iov = parts.data();
    msg.msg_iovlen = parts.size();
    msg.msg_control = control.data();
    msg.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* c = CMSG_FIRSTHDR(&msg);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(c), fds.data(), fds.size_bytes());
    return ::sendmsg(socket, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) ==
           static_cast<ssize_t>(sizeof header + rest.size());
}

bool send_reply(int socket, const Reply& reply) {
    if (unread_bytes(socket) > kMostUnread) {
        return false;
    }
    std::vector<dingo_uverbs_result> results;
    if (reply.arguments != nullptr) {
        results = reply.arguments->results();
    }
    dingo_uverbs_reply header = reply.header;
    header.version = DINGO_UVERBS_VERSION;
    header.num_fixups = static_cast<std::uint32_t>(reply.fixups.size());
    header.num_results = static_cast<std::uint32_t>(results.size());
    std::vector<std::byte> bytes;
    const auto put = [&bytes](std::span<const std::byte> more) {
        bytes.insert(bytes.end(), more.begin(), more.end());
    };
    put(std::as_bytes(std::span(&header, 1)));
    put(std::as_bytes(std::span(reply.fixups)));
    put(std::as_bytes(std::span(results)));
    if (!results.empty()) {
        put(reply.arguments->result_bytes());
    }
    iovec iov{bytes.data(), bytes.size()};
    msghdr msg{};
    msg.msg_iov = &iov;
    msg.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * DINGO_UVERBS_MAX_FDS)> control{};
    if (!reply.fds.empty()) {
        const std::size_t len = sizeof(int) * reply.fds.size();
        msg.msg_control = control.data();
        msg.msg_controllen = CMSG_SPACE(len);
        cmsghdr* c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(len);
        unsigned char* at = CMSG_DATA(c);
        for (const auto& fd : reply.fds) {
            const int number = fd.get();
            std::memcpy(at, &number, sizeof number);
            at += sizeof number;
        }
    }
    return ::sendmsg(socket, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
}

}  // namespace dingo::uverbs
