// SPDX-License-Identifier: BSD-2-Clause
//
// Internal to dingo_wire: the constructors behind make_wire(), one for each form of --wire. `args`
// is the text after the colon. All throw WireError.
#pragma once

#include <memory>
#include <string_view>

#include "wire/wire.h"

namespace dingo {

std::unique_ptr<Wire> make_none_wire();
std::unique_ptr<Wire> make_udp_wire(std::string_view args);
std::unique_ptr<Wire> make_unix_wire(std::string_view args);
std::unique_ptr<Wire> make_tap_wire(std::string_view args);
std::unique_ptr<Wire> make_packet_wire(std::string_view args);
std::unique_ptr<Wire> make_roce_wire(std::string_view args, const WireOptions& options);
std::unique_ptr<Wire> make_shm_wire(std::string_view args, const WireOptions& options);

/// Records both directions of `inner` in a pcap file.
std::unique_ptr<Wire> make_pcap_tee(std::unique_ptr<Wire> inner, const std::string& path);

/// Wraps `inner` in the fault injector.
std::unique_ptr<Wire> make_fault_injector(std::unique_ptr<Wire> inner, std::string_view spec,
                                          std::uint64_t seed);

}  // namespace dingo
