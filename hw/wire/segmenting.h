// SPDX-License-Identifier: BSD-2-Clause
//
// Whether packets to a destination may leave this process in one piece and be cut later.
#pragma once

#include <string>
#include <string_view>

namespace dingo {

/// It helps to an address of this host, and over a virtual link (veth, bridge), where the run
/// stays whole to its end. Not on an interface that somebody captures on: there RoCE shall look as
/// it does on a real link; nor on a real one, for the sake of captures elsewhere.
bool segmenting_helps(const std::string& destination);
bool segmenting_helps_on(const std::string& interface);

/// The interface over which packets to the address leave; "" when unknown.
std::string interface_to(const std::string& destination);

/// The interface's driver, as `ethtool -i` names it; "" when unknown.
std::string driver_of(const std::string& interface);

/// Whether the table /proc/net/packet has a socket that sees the packets of the interface with this
/// index.
bool is_captured(std::string_view table, unsigned index);

}  // namespace dingo
