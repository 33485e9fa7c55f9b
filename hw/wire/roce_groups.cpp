// SPDX-License-Identifier: BSD-2-Clause
#include "wire/roce_groups.h"

#include <fmt/format.h>
#include <net/if.h>
#include <sys/epoll.h>

#include <array>
#include <cstdio>

#include "base/local_address.h"

namespace dingo {
namespace {

std::set<unsigned> interfaces_of(const RoceBind& bind) {
    if (!bind.interface.empty())
        return {::if_nametoindex(bind.interface.c_str())};
    if (!bind.any)
        return {interface_index_of(text_of(bind.address))};
    std::set<unsigned> out;
    for (const LocalAddress& a : local_addresses())
        if ((a.address.find(':') == std::string::npos) == (bind.family == AF_INET))
            out.insert(::if_nametoindex(a.interface.c_str()));
    return out;
}

}  // namespace

void RoceGroups::join(const IpBytes& group, const RoceBind& bind, RoceSocket& sender) {
    if (sockets_.contains(group))
        return;
    if (!epoll_)
        epoll_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
    auto& sockets = sockets_[group];
    RoceBind at = bind;
    at.address = group;
    // A socket of all addresses must agree to share the port; only during join(), so that a second
    // card still finds the port in use.
    sender.share_port(true);
    for (const unsigned interface : interfaces_of(bind)) {
        at.group_interface = interface;
        try {
            std::array<char, IF_NAMESIZE> name{};
            if (::if_indextoname(interface, name.data()) == nullptr)
                throw WireError("no interface has the address of the wire");
            // Linux delivers a group's datagrams from any interface to an IPv6 socket that joined
            // at one.
            if (bind.family == AF_INET6)
                at.interface = name.data();
            auto socket =
                std::make_unique<RoceSocket>(at, GsoMode::kOff, mac_, stats_, own_sources_);
            epoll_event event{};
            event.events = EPOLLIN;
            event.data.ptr = socket.get();
            if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket->fd(), &event) != 0)
                throw_errno("roce wire: epoll", errno);
            sockets.push_back(std::move(socket));
        } catch (const WireError& e) {
            fmt::print(stderr, "roce wire: cannot receive packets of the multicast group {}: {}\n",
                       text_of(group), e.what());
        }
    }
    sender.share_port(false);
}

void RoceGroups::leave(const IpBytes& group) {
    const auto at = sockets_.find(group);
    if (at == sockets_.end())
        return;
    for (const auto& socket : at->second) {
        overruns_of_left_ += socket->overruns();
        if (socket.get() == unfinished_)
            unfinished_ = nullptr;
    }
    sockets_.erase(at);
}

unsigned RoceGroups::receive(FrameSink& sink, unsigned budget) {
    unsigned done = 0;
    const auto serve = [&](RoceSocket* socket) {
        done += socket->receive(sink, budget - done);
        unfinished_ = socket->fetched() ? socket : nullptr;
    };
    if (unfinished_ != nullptr)
        serve(unfinished_);
    if (sockets_.empty() || done >= budget)
        return done;
    std::array<epoll_event, 16> ready;
    const int count = ::epoll_wait(epoll_.get(), ready.data(), static_cast<int>(ready.size()), 0);
    for (int i = 0; i < count && done < budget; i++)
        serve(static_cast<RoceSocket*>(ready[static_cast<std::size_t>(i)].data.ptr));
    return done;
}

std::uint64_t RoceGroups::overruns() const {
    std::uint64_t out = overruns_of_left_;
    for (const auto& [group, sockets] : sockets_)
        for (const auto& socket : sockets)
            out += socket->overruns();
    return out;
}

}  // namespace dingo
