// SPDX-License-Identifier: BSD-2-Clause
#include "qpx/endpoint.h"

#include <arpa/inet.h>

#include <algorithm>

#include "wire/text.h"

namespace qpx {

namespace {

constexpr std::uint32_t max_24_bits = 0xffffff;
constexpr std::size_t max_device = 63, max_tag = 255;

bool is_mtu(std::uint32_t bytes) {
    constexpr std::array<std::uint32_t, 5> mtus = {256, 512, 1024, 2048, 4096};
    return std::find(mtus.begin(), mtus.end(), bytes) != mtus.end();
}

bool is_known(QpType type) {
    return type == QpType::RC || type == QpType::UC || type == QpType::UD;
}

}  // namespace

std::string to_string(QpType type) {
    switch (type) {
        case QpType::RC:
            return "RC";
        case QpType::UC:
            return "UC";
        case QpType::UD:
            return "UD";
    }
    return "type " + std::to_string(static_cast<unsigned>(type));
}

std::string gid_text(const std::array<std::uint8_t, 16>& gid) {
    constexpr std::array<std::uint8_t, 12> mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (std::equal(mapped.begin(), mapped.end(), gid.begin())) {
        inet_ntop(AF_INET, gid.data() + mapped.size(), text.data(), text.size());
    } else {
        inet_ntop(AF_INET6, gid.data(), text.data(), text.size());
    }
    return text.data();
}

std::string why_invalid(const Endpoint& endpoint) {
    if (!is_known(endpoint.type)) {
        return "QP " + to_string(endpoint.type) + " is none of RC, UC, UD";
    }
    if (endpoint.qpn > max_24_bits) {
        return "QPN " + std::to_string(endpoint.qpn) + " has more than 24 bits";
    }
    if (endpoint.psn > max_24_bits) {
        return "PSN " + std::to_string(endpoint.psn) + " has more than 24 bits";
    }
    if (endpoint.srqn > max_24_bits) {
        return "SRQ number " + std::to_string(endpoint.srqn) + " has more than 24 bits";
    }
    if (endpoint.port == 0) {
        return "port 0: ports are counted from 1";
    }
    if (!is_mtu(endpoint.mtu)) {
        return "MTU " + std::to_string(endpoint.mtu) + " is none of 256, 512, 1024, 2048, 4096";
    }
    const bool no_gid = std::all_of(endpoint.gid.begin(), endpoint.gid.end(),
                                    [](std::uint8_t byte) { return byte == 0; });
    if (no_gid && endpoint.lid == 0) {
        return "neither GID nor LID is set: the endpoint cannot be reached";
    }
    if (endpoint.device.size() > max_device || !wire::is_text(endpoint.device)) {
        return "the device's name is longer than 63 bytes or not UTF-8 text";
    }
    if (endpoint.candidates.size() > 64) {
        return "it has " + std::to_string(endpoint.candidates.size()) + " GIDs, 64 are allowed";
    }
    for (const Region& region : endpoint.regions) {
        if (region.tag.size() > max_tag || !wire::is_text(region.tag)) {
            return "the tag of a region is longer than 255 bytes or not UTF-8 text";
        }
        if (region.address + region.length < region.address) {
            return "region \"" + region.tag + "\" reaches beyond the end of the address space";
        }
    }
    return {};
}

std::string why_incompatible(const Endpoint& mine, const Endpoint& peer) {
    if (mine.type != peer.type) {
        return "QP types differ: " + to_string(mine.type) + " and " + to_string(peer.type);
    }
    if ((mine.lid == 0) != (peer.lid == 0)) {
        return "one port is Ethernet (no LID), the other InfiniBand";
    }
    return {};
}

}  // namespace qpx
