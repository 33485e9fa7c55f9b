// SPDX-License-Identifier: BSD-2-Clause
//
// A small client of a kernel-less card, similar to the preload library: it shares no memory, so all
// DMA takes the slow path. It can also send malformed requests.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "host/uverbs/protocol.h"

extern "C" {
#include "host/preload/arguments.h"
}

namespace dingo::uverbs::test {

using Bytes = std::vector<std::byte>;

template <typename T>
void append(Bytes& bytes, const T& value) {
    const std::size_t at = bytes.size();
    bytes.resize(at + sizeof value);
    std::memcpy(bytes.data() + at, &value, sizeof value);
}

/// Copies memory of this process by its address. Returns false if it is not mapped.
inline bool copy_here(std::uint64_t va, Bytes& bytes, bool write) {
    const iovec mine{bytes.data(), bytes.size()};
    const iovec there{reinterpret_cast<void*>(va), bytes.size()};
    const auto copy = write ? ::process_vm_writev : ::process_vm_readv;
    return copy(::getpid(), &mine, 1, &there, 1, 0) == static_cast<ssize_t>(bytes.size());
}

struct Answer {
    bool closed = false;  ///< no answer: the card has closed the connection
    dingo_uverbs_reply header{};
    std::vector<dingo_uverbs_fixup> fixups;
    std::vector<std::pair<dingo_uverbs_result, Bytes>> results;
    std::vector<UniqueFd> fds;
    [[nodiscard]] int result() const { return closed ? -EPIPE : header.result; }
};

struct Request {
    dingo_uverbs_request header{};
    std::vector<dingo_uverbs_segment> segments;
    Bytes payload;
    std::vector<int> fds;   ///< after the reply socket
    bool arguments = true;  ///< send the arguments with the request

    explicit Request(std::uint32_t type) {
        header.version = DINGO_UVERBS_VERSION;
        header.type = type;
        header.pid = static_cast<std::uint32_t>(::getpid());
    }
    /// Returns the arguments that the payload names in this process, except unmapped ones.
    [[nodiscard]] std::vector<std::pair<dingo_uverbs_argument, Bytes>> found() const {
        dingo_arguments named{};
        std::vector<std::pair<dingo_uverbs_argument, Bytes>> all;
        dingo_find_arguments(header.type, payload.data(), payload.size(), &named);
        for (std::uint32_t i = 0; arguments && i < named.count; ++i) {
            Bytes content(named.list[i].length);
            if (copy_here(named.list[i].va, content, false)) {
                if ((named.list[i].flags & DINGO_UVERBS_ROOM) != 0) {
                    content.clear();
                }
                all.emplace_back(named.list[i], std::move(content));
            }
        }
        if (header.type == DINGO_UVERBS_RDMA_CM_ROUTES && arguments) {
            all.push_back(
                {{header.arg, static_cast<std::uint32_t>(header.arg2), DINGO_UVERBS_ROOM}, {}});
        }
        return all;
    }
    [[nodiscard]] Bytes bytes() const {
        Bytes all;
        auto h = header;
        const auto brought = found();
        h.num_arguments = static_cast<std::uint32_t>(brought.size());
        h.num_segments = static_cast<std::uint32_t>(segments.size());
        h.payload_len = static_cast<std::uint32_t>(payload.size());
        append(all, h);
        for (const auto& s : segments) {
            append(all, s);
        }
        for (const auto& [argument, content] : brought) {
            append(all, argument);
        }
        all.insert(all.end(), payload.begin(), payload.end());
        for (const auto& [argument, content] : brought) {
            all.insert(all.end(), content.begin(), content.end());
        }
        return all;
    }
    /// Stores the results of the answer.
    void take(const Answer& answer) const {
        const auto brought = found();
        for (auto [result, content] : answer.results) {
            const std::uint64_t at =
                result.argument == 0 ? header.arg : brought.at(result.argument - 1).first.va;
            copy_here(at + result.offset, content, true);
        }
    }
};

/// The arguments of one ioctl.
class Ioctl {
  public:
    Ioctl(std::uint16_t object, std::uint16_t method) {
        header_.object_id = object;
        header_.method_id = method;
    }
    Ioctl& raw(const ib_uverbs_attr& attr) {
        attrs_.push_back(attr);
        return *this;
    }
    /// The value is copied and kept by this object.
    template <typename T>
    Ioctl& in(std::uint16_t id, const T& value) {
        ib_uverbs_attr a{};
        a.attr_id = id;
        a.len = sizeof value;
        a.flags = UVERBS_ATTR_F_MANDATORY;
        if constexpr (sizeof value <= 8) {
            std::memcpy(&a.data, &value, sizeof value);
        } else {
            Bytes copy;
            append(copy, value);
            kept_.push_back(std::move(copy));
            a.data = reinterpret_cast<std::uintptr_t>(kept_.back().data());
        }
        return raw(a);
    }
    Ioctl& constant(std::uint16_t id, std::uint64_t value) { return in(id, value); }
    template <typename T>
    Ioctl& out(std::uint16_t id, T& value) {
        ib_uverbs_attr a{};
        a.attr_id = id;
        a.len = sizeof value;
        a.flags = UVERBS_ATTR_F_MANDATORY;
        a.data = reinterpret_cast<std::uintptr_t>(&value);
        return raw(a);
    }
    /// Adds a handle or a descriptor.
    Ioctl& object(std::uint16_t id, std::int64_t number = 0) {
        ib_uverbs_attr a{};
        a.attr_id = id;
        a.flags = UVERBS_ATTR_F_MANDATORY;
        a.data_s64 = number;
        return raw(a);
    }

    ib_uverbs_ioctl_hdr& header() { return header_; }
    std::vector<ib_uverbs_attr>& attributes() { return attrs_; }
    /// Returns the ioctl as one block of memory, header first; attr() reads attributes from it.
    std::span<std::byte> block() {
        header_.num_attrs = static_cast<std::uint16_t>(attrs_.size());
        header_.length =
            static_cast<std::uint16_t>(sizeof header_ + attrs_.size() * sizeof attrs_[0]);
        block_.clear();
        append(block_, header_);
        for (const auto& a : attrs_) {
            append(block_, a);
        }
        return block_;
    }
    [[nodiscard]] bool valid(std::uint16_t id) const {
        return (attr(id).flags & UVERBS_ATTR_F_VALID_OUTPUT) != 0;
    }
    [[nodiscard]] ib_uverbs_attr attr(std::uint16_t id) const {
        ib_uverbs_attr a{};
        for (std::size_t i = 0; i < attrs_.size(); ++i) {
            std::memcpy(&a, block_.data() + sizeof header_ + i * sizeof a, sizeof a);
            if (a.attr_id == id) {
                return a;
            }
        }
        return {};
    }

  private:
    std::vector<ib_uverbs_attr> attrs_;
    std::deque<Bytes> kept_;
    Bytes block_;
    ib_uverbs_ioctl_hdr header_{};  // last, as it has an array without length
};

class Client {
  public:
    explicit Client(const std::string& directory, bool greet = true,
                    const char* name = "/uverbs.sock") {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        (directory + name).copy(address.sun_path, sizeof address.sun_path - 1);
        socket_.reset(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
        if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
            0) {
            socket_.reset();
        }
        if (greet) {
            greeting = hello().result();
        }
    }
    int greeting = 0;  ///< result of HELLO
    [[nodiscard]] bool connected() const { return static_cast<bool>(socket_); }
    [[nodiscard]] int socket() const { return socket_.get(); }
    void close() { socket_.reset(); }

    Answer hello() {
        const UniqueFd mem(::open("/proc/self/mem", O_RDWR | O_CLOEXEC));
        Request r(DINGO_UVERBS_HELLO);
        r.fds = {mem.get()};
        return send(r);
    }

    /// Sends one message and returns its answer. `reply`: send a reply socket.
    Answer send(const Request& request) {
        Answer answer = send_bytes(request.bytes(), request.fds);
        request.take(answer);
        return answer;
    }
    Answer send_bytes(const Bytes& bytes, const std::vector<int>& more, bool reply = true) {
        Answer answer;
        std::array<int, 2> pair{};
        if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) != 0) {
            answer.closed = true;
            return answer;
        }
        const UniqueFd mine(pair[0]);
        UniqueFd theirs(pair[1]);
        std::vector<int> fds;
        if (reply) {
            fds.push_back(theirs.get());
        }
        fds.insert(fds.end(), more.begin(), more.end());
        if (!transmit(bytes, fds)) {
            answer.closed = true;
            return answer;
        }
        theirs.reset();
        wait(mine.get());
        receive(mine.get(), answer);
        return answer;
    }

    /// The answer goes to `reply`, where the caller reads it.
    void send_bytes_without_answer(const Bytes& bytes, int reply) { transmit(bytes, {reply}); }

    /// As the preload library: shares nothing, passes descriptors, stores numbers.
    int call(Request request) {
        for (int round = 0; round < 3; ++round) {
            Answer answer = send(request);
            if (answer.closed) {
                return -EPIPE;
            }
            if (answer.header.type == DINGO_UVERBS_NEED_SHARING) {
                request.header.flags |= DINGO_UVERBS_SHARED;
                continue;
            }
            if (answer.header.type == DINGO_UVERBS_NEED_FDS) {
                request.header.flags |= DINGO_UVERBS_FDS;
                for (std::uint32_t i = 0; i < answer.header.num_need_fds; ++i) {
                    const int fd = answer.header.need_fds[i];
                    if (::fcntl(fd, F_GETFD) < 0) {
                        request.header.flags |= DINGO_UVERBS_BADF;
                        request.fds.clear();
                        break;
                    }
                    request.fds.push_back(fd);
                }
                continue;
            }
            for (const auto& f : answer.fixups) {
                const std::int64_t number = ::dup(answer.fds.at(f.fd).get());
                std::memcpy(reinterpret_cast<void*>(f.va), &number, f.size);
            }
            return answer.header.result;
        }
        return -ELOOP;
    }
    int ioctl(Ioctl& io) {
        Request r(DINGO_UVERBS_IOCTL);
        const auto block = io.block();
        r.payload.assign(block.begin(), block.end());
        r.header.arg = reinterpret_cast<std::uintptr_t>(block.data());
        return call(std::move(r));
    }
    int write(const Bytes& bytes) {
        Request r(DINGO_UVERBS_WRITE);
        r.payload = bytes;
        return call(std::move(r));
    }
    /// Sends a classic command without driver data, and receives its answer (Resp) if it has one.
    template <typename Cmd, typename Resp>
    int command(std::uint32_t number, Cmd cmd, Resp& resp) {
        cmd.response = reinterpret_cast<std::uintptr_t>(&resp);
        return write(classic(number, cmd, sizeof resp));
    }
    template <typename Cmd>
    int command(std::uint32_t number, const Cmd& cmd) {
        return write(classic(number, cmd, 0));
    }
    template <typename Cmd>
    static Bytes classic(std::uint32_t number, const Cmd& cmd, std::size_t response) {
        Bytes bytes;
        const std::size_t padded = (sizeof cmd + 3) / 4 * 4;
        append(bytes, ib_uverbs_cmd_hdr{number, static_cast<std::uint16_t>((8 + padded) / 4),
                                        static_cast<std::uint16_t>(response / 4)});
        append(bytes, cmd);
        bytes.resize(8 + padded);
        return bytes;
    }

  private:
    bool transmit(const Bytes& bytes, const std::vector<int>& fds) {
        iovec iov{const_cast<std::byte*>(bytes.data()), bytes.size()};
        msghdr msg{};
        msg.msg_iov = &iov;
        msg.msg_iovlen = 1;
        alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * 64)> control{};
        if (!fds.empty()) {
            const std::size_t len = fds.size() * sizeof(int);
            msg.msg_control = control.data();
            msg.msg_controllen = CMSG_SPACE(len);
            cmsghdr* c = CMSG_FIRSTHDR(&msg);
            c->cmsg_level = SOL_SOCKET;
            c->cmsg_type = SCM_RIGHTS;
            c->cmsg_len = CMSG_LEN(len);
            std::memcpy(CMSG_DATA(c), fds.data(), len);
        }
        return ::sendmsg(socket_.get(), &msg, MSG_NOSIGNAL) >= 0;
    }

    /// Waits for an answer or for the end of the connection.
    void wait(int reply) const {
        std::array<pollfd, 2> either{{{reply, POLLIN, 0}, {socket_.get(), 0, 0}}};
        while (::poll(either.data(), either.size(), -1) < 0 && errno == EINTR) {
        }
    }

    static void receive(int from, Answer& answer) {
        Bytes buffer(DINGO_UVERBS_MAX_MESSAGE);
        alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * 64)> control{};
        iovec iov{buffer.data(), buffer.size()};
        msghdr msg{};
        msg.msg_iov = &iov;
        msg.msg_iovlen = 1;
        msg.msg_control = control.data();
        msg.msg_controllen = control.size();
        const ssize_t got = ::recvmsg(from, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
        for (cmsghdr* c = CMSG_FIRSTHDR(&msg); got > 0 && c != nullptr; c = CMSG_NXTHDR(&msg, c)) {
            for (std::size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
                int fd = -1;
                std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
                answer.fds.emplace_back(fd);
            }
        }
        if (got < static_cast<ssize_t>(sizeof answer.header)) {
            answer.closed = true;
            return;
        }
        std::memcpy(&answer.header, buffer.data(), sizeof answer.header);
        for (std::uint32_t i = 0; i < answer.header.num_fixups; ++i) {
            dingo_uverbs_fixup f{};
            std::memcpy(&f, buffer.data() + sizeof answer.header + i * sizeof f, sizeof f);
            answer.fixups.push_back(f);
        }
        std::size_t table = sizeof answer.header + answer.fixups.size() * sizeof answer.fixups[0];
        std::size_t at = table + answer.header.num_results * sizeof(dingo_uverbs_result);
        for (std::uint32_t i = 0; i < answer.header.num_results; ++i) {
            dingo_uverbs_result r{};
            std::memcpy(&r, buffer.data() + table, sizeof r);
            const std::byte* const bytes = buffer.data() + at;
            answer.results.emplace_back(r, Bytes(bytes, bytes + r.length));
            table += sizeof r;
            at += r.length;
        }
    }

    UniqueFd socket_;
};

}  // namespace dingo::uverbs::test
