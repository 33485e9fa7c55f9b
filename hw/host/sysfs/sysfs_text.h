// SPDX-License-Identifier: BSD-2-Clause
//
// Formats values as the kernel's sysfs does.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/driver/verbs_types.h"

namespace dingo::uverbs {

std::string sysfs_guid(std::uint64_t guid);  ///< most significant byte first
std::string sysfs_gid(const Gid& gid);
std::string sysfs_port_state(unsigned state);
std::string sysfs_phys_state(unsigned state);
/// Speed is IB_SPEED_*, width is IB_WIDTH_*. Returns for example "100 Gb/sec (4X EDR)".
std::string sysfs_rate(unsigned speed, unsigned width);
/// Returns the mask of CPUs 0 to count - 1, in words of 32 bits.
std::string sysfs_cpu_mask(unsigned count);

/// Returns the names of the files in ports/1/counters.
const std::vector<std::string>& sysfs_port_counters();
/// Returns the value of one of these, computed from the card's counters as kmod's dingo_process_mad
/// does; nullopt if the name is unknown.
std::optional<std::uint64_t> sysfs_port_counter(
    std::string_view name, const std::function<std::uint64_t(std::string_view)>& card);

}  // namespace dingo::uverbs
