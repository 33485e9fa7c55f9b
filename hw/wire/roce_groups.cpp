// SPDX-License-Identifier: BSD-2-Clause
#include "wire/roce_groups.h"

#include <fmt/format.h>
#include <net/if.h>

#include <array>
#include <cstdio>

#include "base/local_address.h"

namespace dingo {
namespace {

/// Sockets that are served in one receive().
constexpr std::size_t kMostAtOnce = 16;

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

RoceGroups::Member::Member(RoceGroups& groups, const RoceBind& at)
    : socket(at, GsoMode::kOff, groups.mac_, groups.stats_, groups.own_sources_),
      groups_(groups),
      id_(groups.poller_->add(socket.fd(), EPOLLIN, *this)) {}

void RoceGroups::Member::ready(std::uint32_t /*events*/) {
    if (groups_.left_ == 0)
        return;
    groups_.left_ -= socket.receive(*groups_.sink_, groups_.left_);
    groups_.unfinished_ = socket.fetched() ? this : nullptr;
}

void RoceGroups::join(const IpBytes& group, const RoceBind& bind, RoceSocket& sender) {
    if (members_.contains(group))
        return;
    if (!poller_)
        poller_.emplace();
    auto& members = members_[group];
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
            members.push_back(std::make_unique<Member>(*this, at));
        } catch (const std::exception& e) {
            fmt::print(stderr, "roce wire: cannot receive packets of the multicast group {}: {}\n",
                       text_of(group), e.what());
        }
    }
    sender.share_port(false);
}

void RoceGroups::leave(const IpBytes& group) {
    const auto at = members_.find(group);
    if (at == members_.end())
        return;
    for (const auto& member : at->second) {
        overruns_of_left_ += member->socket.overruns();
        if (member.get() == unfinished_)
            unfinished_ = nullptr;
    }
    members_.erase(at);
}

unsigned RoceGroups::receive(FrameSink& sink, unsigned budget) {
    sink_ = &sink;
    left_ = budget;
    if (unfinished_ != nullptr)
        unfinished_->ready(EPOLLIN);
    if (!members_.empty() && left_ != 0)
        poller_->wait(0, kMostAtOnce);
    return budget - left_;
}

std::uint64_t RoceGroups::overruns() const {
    std::uint64_t out = overruns_of_left_;
    for (const auto& [group, members] : members_)
        for (const auto& member : members)
            out += member->socket.overruns();
    return out;
}

}  // namespace dingo
