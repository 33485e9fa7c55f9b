// SPDX-License-Identifier: BSD-2-Clause
//
// A TAP interface: the host's network stack is at the other end of the wire. Without IFF_VNET_HDR
// the kernel completes checksums and segmentation before a frame is read.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "wire/factory.h"
#include "wire/ifname.h"
#include "wire/socket.h"

namespace dingo {
namespace {

constexpr std::size_t kTapTxCapacity = 64UL * 1024;

class TapWire final : public BatchWire {
  public:
    explicit TapWire(std::string_view args)
        : BatchWire(kTapTxCapacity), name_(checked_ifname("tap", args)) {
        fd_ = UniqueFd(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
        if (!fd_)
            throw_errno("tap wire: cannot open /dev/net/tun", errno,
                        "; give the process access to it");
        ifreq request{};
        std::memcpy(request.ifr_name, name_.c_str(), name_.size() + 1);
        request.ifr_flags = IFF_TAP | IFF_NO_PI;
        if (::ioctl(fd_.get(), TUNSETIFF, &request) != 0)
            throw_errno(fmt::format("tap wire: cannot attach to '{}'", name_), errno,
                        "; it needs CAP_NET_ADMIN, or: ip tuntap add mode tap user $USER " + name_);
        bring_up();
    }

    void end_frame(std::size_t len) override { tx_.end(len); }

    int fd() const override { return fd_.get(); }
    int tx_blocked_fd() const override { return blocked_ ? fd_.get() : -1; }

    void flush() override {
        blocked_ = false;
        while (!tx_.empty()) {
            const std::size_t len = tx_.lengths()[0];
            const ssize_t n = ::write(fd_.get(), tx_.data(), len);
            if (n < 0 && errno == EINTR)
                continue;
            if (n < 0 && (errno == EAGAIN || errno == ENOBUFS)) {
                blocked_ = true;
                return;
            }
            if (n >= 0) {
                stats_.tx_frames++;
                stats_.tx_bytes += len;
            } else {
                // EIO: the interface is down, and so is the link.
                (errno == EIO ? stats_.tx_no_peer : stats_.tx_errors)++;
            }
            tx_.pop(1);
        }
    }

    unsigned receive(FrameSink& sink, unsigned budget) override {
        unsigned done = 0;
        for (unsigned round = 0; done < budget && round <= budget; round++) {
            const ssize_t n = ::read(fd_.get(), rx_.data(), rx_.size());
            if (n < 0) {
                if (errno != EAGAIN && errno != EINTR)
                    stats_.rx_errors++;
                break;
            }
            const auto len = static_cast<std::size_t>(n);
            if (len < kMinFrame) {
                stats_.rx_short++;
            } else if (len > kMaxFrame) {
                stats_.rx_long++;
            } else {
                stats_.rx_frames++;
                stats_.rx_bytes += len;
                done++;
                sink.on_frame(std::span(rx_).first(len));
            }
        }
        return done;
    }

    void advance(Nanoseconds) override {}
    std::string describe() const override { return fmt::format("tap {}", name_); }
    WireStats stats() const override { return stats_; }

  private:
    /// Best effort: only root may bring up an interface, even one created for this user.
    void bring_up() {
        const UniqueFd control(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        ifreq request{};
        std::memcpy(request.ifr_name, name_.c_str(), name_.size() + 1);
        if (!control || ::ioctl(control.get(), SIOCGIFFLAGS, &request) != 0)
            return;
        request.ifr_flags |= IFF_UP;
        ::ioctl(control.get(), SIOCSIFFLAGS, &request);
    }

    const std::string name_;
    UniqueFd fd_;
    bool blocked_ = false;
    // one byte more, to detect frames that are too long
    std::array<std::byte, kMaxFrame + 1> rx_{};
};

}  // namespace

std::unique_ptr<Wire> make_tap_wire(std::string_view args) {
    return std::make_unique<TapWire>(args);
}

}  // namespace dingo
