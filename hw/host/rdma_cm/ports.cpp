// SPDX-License-Identifier: BSD-2-Clause
#include "host/rdma_cm/ports.h"

#include <algorithm>
#include <cerrno>

#include "base/errno_error.h"

namespace dingo::rdma_cm {
namespace {

// The default of Linux's ip_local_port_range.
constexpr std::uint32_t kFirstEphemeral = 32768;

constexpr bool is_ephemeral(std::uint16_t port) {
    return port >= kFirstEphemeral && port < kFirstEphemeral + Ports::kEphemerals;
}

/// Returns true if both could receive a packet to the same address.
bool overlap(const Binding& a, const Binding& b) {
    const bool other_family = a.address.family != b.address.family;
    if (a.is_any() || b.is_any()) {
        // A wildcard of both families overlaps with everything.
        return !other_family || (a.is_any() && !a.af_only) || (b.is_any() && !b.af_only);
    }
    return !other_family && a.address.gid == b.address.gid;
}

}  // namespace

void Ports::check(const std::vector<Binding*>& others, const Binding& mine, bool reuse) const {
    for (const Binding* other : others) {
        if (other == &mine || (!other->listening && reuse && other->reuse)) {
            continue;
        }
        if (overlap(*other, mine)) {
            throw ErrnoError(EADDRINUSE);
        }
    }
}

void Ports::add(Key key, Binding& binding) {
    std::vector<Binding*>& there = ports_[key];
    there.push_back(&binding);
    if (there.size() == 1 && is_ephemeral(key.second)) {
        ++ephemerals_[key.first];
    }
}

void Ports::bind(std::uint16_t space, Binding& binding) {
    if (binding.address.port != 0) {
        const Key key{space, binding.address.port};
        if (const auto at = ports_.find(key); at != ports_.end()) {
            check(at->second, binding, binding.reuse);
        }
        return add(key, binding);
    }
    if (ephemerals_[space] == kEphemerals) {
        throw ErrnoError(EADDRNOTAVAIL);  // without a search, which is long
    }
    const std::uint32_t start = random_() % kEphemerals;
    for (std::uint32_t n = 0; n < kEphemerals; ++n) {
        const auto port = static_cast<std::uint16_t>(kFirstEphemeral + (start + n) % kEphemerals);
        if (!ports_.contains({space, port})) {
            binding.address.port = port;
            return add({space, port}, binding);
        }
    }
    throw ErrnoError(EADDRNOTAVAIL);
}

void Ports::listen(std::uint16_t space, Binding& binding) {
    check(ports_.at({space, binding.address.port}), binding, false);
    binding.listening = true;
}

void Ports::release(std::uint16_t space, const Binding& binding) {
    const auto at = ports_.find({space, binding.address.port});
    if (at == ports_.end()) {
        return;
    }
    std::erase(at->second, &binding);
    if (at->second.empty()) {
        ports_.erase(at);
        if (is_ephemeral(binding.address.port)) {
            --ephemerals_[space];
        }
    }
}

}  // namespace dingo::rdma_cm
