// SPDX-License-Identifier: BSD-2-Clause
//
// RoCE v2 over plain UDP sockets, without privilege: uses the kernel's routes, neighbours and
// headers. The payload of each frame (BTH to ICRC) is sent to its IP destination, from port 4791 to
// port 4791.
//
// The ICRC covers the IP header that the kernel writes: DF and identification 0, or k in the k-th
// segment of a GSO send. The frame's ICRC is adapted to it (icrc_id.h). Received datagrams get
// their Ethernet, IP and UDP headers back; a socket does not report the identification, so it is
// guessed by the same rule, or else computed from the ICRC: such a packet's ICRC then protects 16
// bits less.
#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/poller.h"
#include "dingo/packet/address.h"
#include "wire/factory.h"
#include "wire/ifname.h"
#include "wire/roce_groups.h"
#include "wire/roce_guard.h"
#include "wire/roce_socket.h"

namespace dingo {
namespace {

constexpr std::size_t kRoceTxCapacity = 512UL * 1024;
constexpr std::size_t kRoceAutoFlush = 128UL * 1024;

struct RoceArgs {
    std::optional<RoceBind> bind;  ///< none: all addresses of both families
    std::string interface;
    GsoMode gso = GsoMode::kAuto;
    bool guard = true;
};

RoceArgs parse_args(std::string_view args) {
    RoceArgs out;
    const auto bad = [&](std::string_view what) {
        return WireError(fmt::format(
            "roce wire '{}': {}; write roce[:IP[%IF]][,gso=auto|on|off][,guard=on|off], e.g. "
            "roce:192.168.1.2",
            args, what));
    };
    std::string_view rest = args;
    for (bool first = true; !rest.empty(); first = false) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        std::string_view word = rest.substr(0, comma);
        rest.remove_prefix(std::min(comma + 1, rest.size()));
        if (word.starts_with("gso=")) {
            const std::string_view mode = word.substr(4);
            if (mode != "auto" && mode != "on" && mode != "off")
                throw bad("gso is auto, on or off");
            out.gso = mode == "on" ? GsoMode::kOn : mode == "off" ? GsoMode::kOff : GsoMode::kAuto;
            continue;
        }
        if (word.starts_with("guard=")) {
            const std::string_view mode = word.substr(6);
            if (mode != "on" && mode != "off")
                throw bad("guard is on or off");
            out.guard = mode == "on";
            continue;
        }
        if (!first)
            throw bad(fmt::format("'{}' is no option", word));
        if (word.empty())
            continue;
        if (const std::size_t percent = word.find('%'); percent != word.npos) {
            out.interface = checked_ifname("roce", word.substr(percent + 1));
            word = word.substr(0, percent);
        }
        if (word.size() > 2 && word.front() == '[' && word.back() == ']')
            word = word.substr(1, word.size() - 2);
        RoceBind bind;
        bind.any = false;
        const std::string text(word);
        if (::inet_pton(AF_INET, text.c_str(), bind.address.data() + 12) == 1) {
            bind.address[10] = bind.address[11] = 0xff;
        } else if (::inet_pton(AF_INET6, text.c_str(), bind.address.data()) == 1) {
            bind.family = AF_INET6;
        } else if (!text.empty()) {
            throw bad(fmt::format("'{}' is no numeric IP address", text));
        } else {
            continue;
        }
        out.bind = bind;
    }
    return out;
}

/// A caller that sees the wire readable calls receive(), which looks at all sockets.
struct Readable final : Pollable {
    void ready(std::uint32_t /*events*/) override {}
};

class RoceWire final : public BatchWire {
  public:
    RoceWire(std::string_view args, std::uint64_t mac)
        : BatchWire(kRoceTxCapacity), args_(args), groups_(mac, stats_) {
        RoceArgs parsed = parse_args(args);
        const auto add = [&](const RoceBind& bind) {
            sockets_.push_back(
                std::make_unique<RoceSocket>(bind, parsed.gso, mac, stats_, groups_.own_sources()));
            binds_.push_back(bind);
        };
        if (parsed.bind) {
            parsed.bind->interface = parsed.interface;
            add(*parsed.bind);
            if (parsed.guard)
                guard_.emplace(parsed.bind->family);
            return;
        }
        RoceBind all;
        all.interface = parsed.interface;
        add(all);
        all.family = AF_INET6;
        try {
            add(all);
        } catch (const WireError&) {
            return;  // a host without IPv6
        }
        poll_all();
    }

    void join_group(std::span<const std::uint8_t, 16> group) override {
        IpBytes address;
        std::ranges::copy(group, address.begin());
        const int family = packet::Gid{address}.is_ipv4_mapped() ? AF_INET : AF_INET6;
        for (std::size_t i = 0; i < sockets_.size(); i++)
            if (binds_[i].family == family)
                groups_.join(address, binds_[i], *sockets_[i]);
        try {
            poll_all();
        } catch (const std::exception& e) {
            fmt::print(stderr, "roce wire: {}: multicast datagrams may arrive late\n", e.what());
        }
    }

    void leave_group(std::span<const std::uint8_t, 16> group) override {
        IpBytes address;
        std::ranges::copy(group, address.begin());
        groups_.leave(address);
    }

    std::span<std::byte> begin_frame(std::size_t max_len) override {
        return room_ = BatchWire::begin_frame(max_len);
    }

    void end_frame(std::size_t len) override {
        if (len == 0)
            return;
        const int family = roce_frame_of(room_.first(len)).family;
        if (family == 0) {
            stats_.tx_not_roce++;
            return;
        }
        if (!has(family)) {
            stats_.tx_no_peer++;
            return;
        }
        tx_.end(len);
        if (tx_.bytes() >= kRoceAutoFlush && tx_blocked_fd() < 0)
            flush();
    }

    int fd() const override { return poller_ ? poller_->fd() : sockets_[0]->fd(); }

    int tx_blocked_fd() const override {
        for (const auto& socket : sockets_)
            if (socket->blocked())
                return socket->fd();
        return -1;
    }

    void flush() override {
        for (const auto& socket : sockets_)
            socket->unblock();
        while (!tx_.empty() && tx_blocked_fd() < 0)
            for (const auto& socket : sockets_)
                if (!tx_.empty())
                    socket->send(tx_);
    }

    unsigned receive(FrameSink& sink, unsigned budget) override {
        unsigned done = 0;
        for (const auto& socket : sockets_)
            if (done < budget)
                done += socket->receive(sink, budget - done);
        if (done < budget)
            done += groups_.receive(sink, budget - done);
        return done;
    }

    bool resolves() const override { return true; }
    std::uint16_t fixed_source_port() const override { return kRocePort; }
    void advance(Nanoseconds) override {}

    std::string describe() const override {
        return fmt::format("roce {} (UDP port 4791)", args_.empty() ? "on all addresses" : args_);
    }
    WireStats stats() const override {
        WireStats out = stats_;
        out.rx_overrun += groups_.overruns();
        for (const auto& socket : sockets_)
            out.rx_overrun += socket->overruns();
        return out;
    }

  private:
    /// From now on fd() covers all sockets, not only the first one.
    void poll_all() {
        if (!poller_) {
            poller_.emplace();
            for (const auto& socket : sockets_)
                poller_->add(socket->fd(), EPOLLIN, all_);
        }
        if (groups_.fd() >= 0 && !groups_polled_) {
            groups_polled_ = true;
            poller_->add(groups_.fd(), EPOLLIN, all_);
        }
    }

    bool has(int family) const { return family == family_of(0) || family == family_of(1); }
    int family_of(std::size_t i) const { return i < sockets_.size() ? sockets_[i]->family() : 0; }

    const std::string args_;
    RoceGroups groups_;
    std::vector<RoceBind> binds_;
    std::vector<std::unique_ptr<RoceSocket>> sockets_;
    std::optional<RoceGuard> guard_;  // only if the wire is bound to one address
    Readable all_;
    std::optional<Poller> poller_;  // only its descriptor is used
    bool groups_polled_ = false;
    std::span<std::byte> room_;
};

}  // namespace

std::unique_ptr<Wire> make_roce_wire(std::string_view args, const WireOptions& options) {
    return std::make_unique<RoceWire>(args, options.mac);
}

}  // namespace dingo
