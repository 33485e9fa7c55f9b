// SPDX-License-Identifier: BSD-2-Clause
//
// One Ethernet frame per datagram of a UNIX socket. The kernel holds the sender back if the
// receiver's queue is full, so this wire loses nothing; that queue is short
// (net.unix.max_dgram_qlen, 10 by default) and there is no segmentation offload.
//
// Two sockets: one, bound to LOCAL_PATH, receives; the other, connected to PEER_PATH, sends,
// because only a connected socket reports POLLOUT when the peer's queue has room again. A connected
// receiving socket would refuse a restarted peer.
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "wire/factory.h"
#include "wire/socket.h"

namespace dingo {
namespace {

constexpr std::size_t kUnixTxCapacity = 256UL * 1024;
constexpr std::size_t kUnixAutoFlush = 32UL * 1024;  // about the size of the peer's short queue
constexpr std::size_t kUnixMessages = 32;
constexpr std::size_t kUnixRxStride = kMaxFrame + 64;
constexpr int kUnixSocketBuffer = 4 * 1024 * 1024;

sockaddr_un unix_address(const std::string& path) {
    sockaddr_un out{};
    out.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof out.sun_path)
        throw WireError(fmt::format("unix wire: path '{}' must have 1 to {} characters", path,
                                    sizeof out.sun_path - 1));
    std::memcpy(out.sun_path, path.c_str(), path.size() + 1);
    return out;
}

UniqueFd unix_socket() {
    UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd)
        throw_errno("unix wire: cannot make a socket", errno);
    set_socket_buffers(fd.get(), kUnixSocketBuffer);
    return fd;
}

class UnixWire final : public BatchWire {
  public:
    explicit UnixWire(std::string_view args) : BatchWire(kUnixTxCapacity) {
        const std::size_t comma = args.find(',');
        if (comma == std::string_view::npos)
            throw WireError(fmt::format(
                "unix wire '{}' names one end only; write unix:LOCAL_PATH,PEER_PATH", args));
        local_path_ = args.substr(0, comma);
        peer_path_ = args.substr(comma + 1);
        peer_ = unix_address(peer_path_);
        bind_local(unix_address(local_path_));
        rx_buffer_ = make_buffer(kUnixMessages * kUnixRxStride);
        for (std::size_t i = 0; i < kUnixMessages; i++) {
            rx_iov_[i] = {rx_buffer_.get() + i * kUnixRxStride, kUnixRxStride};
            rx_msg_[i] = {};
            rx_msg_[i].msg_hdr.msg_iov = &rx_iov_[i];
            rx_msg_[i].msg_hdr.msg_iovlen = 1;
        }
    }

    ~UnixWire() override {
        if (rx_)
            ::unlink(local_path_.c_str());
    }

    void end_frame(std::size_t len) override {
        tx_.end(len);
        if (tx_.bytes() >= kUnixAutoFlush && !blocked_)
            flush();
    }

    int fd() const override { return rx_.get(); }
    int tx_blocked_fd() const override { return blocked_ ? out_.get() : -1; }

    void flush() override {
        blocked_ = false;
        while (!tx_.empty() && !blocked_) {
            if (!out_ && !connect_peer()) {
                drop_all();
                return;
            }
            send_some();
        }
    }

    unsigned receive(FrameSink& sink, unsigned budget) override {
        unsigned done = 0;
        for (unsigned round = 0; done < budget && round <= budget; round++) {
            const unsigned ask = std::min<unsigned>(budget - done, kUnixMessages);
            const int got = ::recvmmsg(rx_.get(), rx_msg_.data(), ask, MSG_DONTWAIT, nullptr);
            if (got <= 0) {
                if (got < 0 && errno != EAGAIN && errno != EINTR)
                    stats_.rx_errors++;
                break;
            }
            for (int i = 0; i < got; i++)
                done += deliver(sink, rx_msg_[i], static_cast<std::byte*>(rx_iov_[i].iov_base));
            if (static_cast<unsigned>(got) < ask)
                break;
        }
        return done;
    }

    void advance(Nanoseconds) override {}

    std::string describe() const override {
        return fmt::format("unix {} to {} (one Ethernet frame a datagram)", local_path_,
                           peer_path_);
    }
    WireStats stats() const override { return stats_; }

  private:
    void bind_local(const sockaddr_un& address) {
        const auto* sa = reinterpret_cast<const sockaddr*>(&address);
        rx_ = unix_socket();
        if (::bind(rx_.get(), sa, sizeof address) == 0)
            return;
        int error = errno;
        // A killed process leaves its socket file behind.
        if (error == EADDRINUSE && is_abandoned_socket(address)) {
            ::unlink(local_path_.c_str());
            if (::bind(rx_.get(), sa, sizeof address) == 0)
                return;
            error = errno;
        }
        rx_.reset();  // the file belongs to another process: do not unlink it
        throw_errno(fmt::format("unix wire: cannot use the local path '{}'", local_path_), error);
    }

    static bool is_abandoned_socket(const sockaddr_un& address) {
        struct stat st {};
        if (::lstat(address.sun_path, &st) != 0 || !S_ISSOCK(st.st_mode))
            return false;
        const UniqueFd probe = unix_socket();
        return ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address),
                         sizeof address) != 0 &&
               errno == ECONNREFUSED;
    }

    bool connect_peer() {
        UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        if (!fd)
            return false;
        set_socket_buffers(fd.get(), kUnixSocketBuffer);
        if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&peer_), sizeof peer_) != 0)
            return false;
        out_ = std::move(fd);
        return true;
    }

    void drop_all() {
        stats_.tx_no_peer += tx_.count();
        tx_.pop(tx_.count());
    }

    void send_some() {
        if (send_batch(out_.get())) {
            fresh_ = false;
            return;
        }
        switch (errno) {
            case EAGAIN:
                blocked_ = true;
                return;
            case EINTR:
                return;
            case ECONNREFUSED:
            case ECONNRESET:
            case ENOTCONN:
            case EPIPE:
                // The peer was closed. Another process may have bound its path: retry once.
                out_.reset();
                if (!fresh_) {
                    fresh_ = true;
                    return;
                }
                fresh_ = false;
                drop_all();
                return;
            default:
                stats_.tx_errors++;
                tx_.pop(1);
        }
    }

    unsigned deliver(FrameSink& sink, const mmsghdr& m, const std::byte* data) {
        if (m.msg_len < kMinFrame) {
            stats_.rx_short++;
            return 0;
        }
        if ((m.msg_hdr.msg_flags & MSG_TRUNC) != 0 || m.msg_len > kMaxFrame) {
            stats_.rx_long++;
            return 0;
        }
        stats_.rx_frames++;
        stats_.rx_bytes += m.msg_len;
        sink.on_frame({data, m.msg_len});
        return 1;
    }

    std::string local_path_;
    std::string peer_path_;
    sockaddr_un peer_{};
    UniqueFd rx_;
    UniqueFd out_;

    bool blocked_ = false;
    bool fresh_ = false;  // the connection was renewed and not used since

    Buffer rx_buffer_;
    std::array<mmsghdr, kUnixMessages> rx_msg_;
    std::array<iovec, kUnixMessages> rx_iov_;
};

}  // namespace

std::unique_ptr<Wire> make_unix_wire(std::string_view args) {
    return std::make_unique<UnixWire>(args);
}

}  // namespace dingo
