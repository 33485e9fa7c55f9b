// SPDX-License-Identifier: BSD-2-Clause
#include "host/sysfs/sysfs_text.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/link_rate.h"

namespace dingo::uverbs {
namespace {

std::string named(unsigned value, std::initializer_list<const char*> names) {
    const char* name = value < names.size() ? names.begin()[value] : "<unknown>";
    return std::to_string(value) + ": " + name + "\n";
}

std::string words(const std::uint8_t* bytes, std::size_t count) {
    std::string text;
    std::array<char, 8> word{};
    for (std::size_t n = 0; n < count; n += 2) {
        std::snprintf(word.data(), word.size(), "%s%02x%02x", n == 0 ? "" : ":", bytes[n],
                      bytes[n + 1]);
        text += word.data();
    }
    return text + "\n";
}

}  // namespace

std::string sysfs_guid(std::uint64_t guid) {
    std::array<std::uint8_t, 8> bytes{};
    for (unsigned n = 0; n < bytes.size(); n++) {
        bytes[n] = static_cast<std::uint8_t>(guid >> (56 - 8 * n));
    }
    return words(bytes.data(), bytes.size());
}

std::string sysfs_gid(const Gid& gid) {
    return words(gid.data(), gid.size());
}

std::string sysfs_port_state(unsigned state) {
    return named(state, {"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"});
}

std::string sysfs_phys_state(unsigned state) {
    return named(state, {"<unknown>", "Sleep", "Polling", "Disabled", "PortConfigurationTraining",
                         "LinkUp", "LinkErrorRecovery", "Phy Test"});
}

std::string sysfs_rate(unsigned speed, unsigned width) {
    const LaneRate* const known = lane_rate(speed);
    const LaneRate& of = known == nullptr ? kLaneRates[0] : *known;
    const unsigned lanes = std::max(1U, lanes_of(width));
    const unsigned total = of.deci_gbps * lanes;
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%u%s Gb/sec (%uX %s)\n", total / 10,
                  total % 10 != 0 ? ".5" : "", lanes, of.name);
    return text.data();
}

std::string sysfs_cpu_mask(unsigned count) {
    std::string text;
    std::array<char, 16> word{};
    for (unsigned n = (count + 31) / 32; n-- > 0;) {
        const unsigned bits = std::min(32U, count - 32 * n);
        const std::uint32_t mask = bits == 32 ? ~0U : (1U << bits) - 1;
        std::snprintf(word.data(), word.size(), n == 0 ? "%08x" : "%08x,", mask);
        text += word.data();
    }
    return text + "\n";
}

const std::vector<std::string>& sysfs_port_counters() {
    static const std::vector<std::string> names = {
        "VL15_dropped",
        "excessive_buffer_overrun_errors",
        "link_downed",
        "link_error_recovery",
        "local_link_integrity_errors",
        "multicast_rcv_packets",
        "multicast_xmit_packets",
        "port_rcv_constraint_errors",
        "port_rcv_data",
        "port_rcv_errors",
        "port_rcv_packets",
        "port_rcv_remote_physical_errors",
        "port_rcv_switch_relay_errors",
        "port_xmit_constraint_errors",
        "port_xmit_data",
        "port_xmit_discards",
        "port_xmit_packets",
        "port_xmit_wait",
        "symbol_error",
        "unicast_rcv_packets",
        "unicast_xmit_packets",
    };
    return names;
}

std::optional<std::uint64_t> sysfs_port_counter(
    std::string_view name, const std::function<std::uint64_t(std::string_view)>& card) {
    // The unit of *_data is 4 octets (IB_PMA: PortXmitData).
    if (name == "port_xmit_data") {
        return card("rdma_tx_bytes") / 4;
    }
    if (name == "port_rcv_data") {
        return card("rdma_rx_bytes") / 4;
    }
    if (name == "port_xmit_packets" || name == "unicast_xmit_packets") {
        return card("rdma_tx_packets");
    }
    if (name == "port_rcv_packets" || name == "unicast_rcv_packets") {
        return card("rdma_rx_packets");
    }
    if (name == "port_rcv_errors") {
        return std::min<std::uint64_t>(card("rx_icrc_encapsulated") + card("rx_drop_malformed"),
                                       UINT16_MAX);
    }
    if (name == "port_xmit_discards") {
        return std::min<std::uint64_t>(card("eth_tx_errors"), UINT16_MAX);
    }
    const auto& names = sysfs_port_counters();
    const bool known = std::find(names.begin(), names.end(), name) != names.end();
    return known ? std::optional<std::uint64_t>(0) : std::nullopt;
}

}  // namespace dingo::uverbs
