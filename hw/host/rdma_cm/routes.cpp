// SPDX-License-Identifier: BSD-2-Clause
#include "host/rdma_cm/routes.h"

#include <algorithm>

namespace dingo::rdma_cm {

Routes::Routes(const uverbs::Driver& driver) {
    prefixes_.push_back({uverbs::link_local_gid(packet::Mac{driver.mac()}), 64});
    for (const std::string& text : driver.config().addresses) {
        prefixes_.push_back(uverbs::parse_prefix(text));
    }
}

int Routes::gid_index(const Gid& gid) const {
    for (std::size_t n = 0; n < prefixes_.size(); ++n) {
        if (prefixes_[n].address.bytes == gid) {
            return static_cast<int>(n);
        }
    }
    return -1;
}

const Gid& Routes::gid(int index) const {
    return prefixes_[static_cast<std::size_t>(index)].address.bytes;
}

int Routes::own(bool ipv4) const {
    // A configured address is preferred to the link-local one.
    for (std::size_t n = 1; n <= prefixes_.size(); ++n) {
        const std::size_t at = n % prefixes_.size();
        if (prefixes_[at].address.is_ipv4_mapped() == ipv4) {
            return static_cast<int>(at);
        }
    }
    return -1;
}

int Routes::match(const Address& destination) const {
    constexpr int kOurs = 129;
    int best = gid_index(destination.gid) >= 0 ? kOurs : -1;
    for (const uverbs::Prefix& prefix : prefixes_) {
        if (prefix.holds(packet::Gid{destination.gid})) {
            best = std::max(best, static_cast<int>(prefix.length));
        }
    }
    return best;
}

bool Routes::on_link(const Address& destination) const {
    return std::any_of(prefixes_.begin(), prefixes_.end(), [&](const auto& prefix) {
        return prefix.holds(packet::Gid{destination.gid});
    });
}

int Routes::source_for(const Address& destination) const {
    if (const int mine = gid_index(destination.gid); mine >= 0) {
        return mine;
    }
    int best = -1;
    for (std::size_t n = 0; n < prefixes_.size(); ++n) {
        if (prefixes_[n].holds(packet::Gid{destination.gid}) &&
            (best < 0 || prefixes_[n].length > prefixes_[static_cast<std::size_t>(best)].length)) {
            best = static_cast<int>(n);
        }
    }
    return best >= 0 ? best : own(packet::Gid{destination.gid}.is_ipv4_mapped());
}

}  // namespace dingo::rdma_cm
