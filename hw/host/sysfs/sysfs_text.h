// SPDX-License-Identifier: BSD-2-Clause
//
// Values as the kernel's sysfs writes them.
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
/// speed: IB_SPEED_*, width: IB_WIDTH_*; "100 Gb/sec (4X EDR)".
std::string sysfs_rate(unsigned speed, unsigned width);
/// The mask of CPUs 0 to count - 1, in words of 32 bits.
std::string sysfs_cpu_mask(unsigned count);

/// Names of ports/1/counters.
const std::vector<std::string>& sysfs_port_counters();
/// Value of one of them, from the card's counters (as kmod's dingo_process_mad gives it).
std::optional<std::uint64_t> sysfs_port_counter(
    std::string_view name, const std::function<std::uint64_t(std::string_view)>& card);

}  // namespace dingo::uverbs
