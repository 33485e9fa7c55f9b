// SPDX-License-Identifier: BSD-2-Clause
//
// Whether packets to a destination may leave this process in one piece and be cut later.
#pragma once

#include <string>
#include <string_view>

namespace dingo {

/// Segmentation helps towards an address of this host and over a virtual link (veth, bridge), where
/// the run stays whole to its end. It is off on an interface that is captured, so that the capture
/// shows RoCE as on a real link, and on a real interface, because of captures at the other end.
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
