// SPDX-License-Identifier: BSD-2-Clause
//
// Decides whether packets to a destination leave this process as one UDP GSO run, to be split
// later.
#pragma once

#include <string>
#include <string_view>

namespace dingo {

/// Returns true towards an address of this host and over a virtual link (veth, bridge), where the
/// run stays whole to its end. False on an interface that is captured, so that the capture shows
/// RoCE as on a real link, and on a real interface, because of captures at the peer.
bool segmenting_helps(const std::string& destination);
bool segmenting_helps_on(const std::string& interface);

/// Returns the interface over which packets to the address leave; "" if unknown.
std::string interface_to(const std::string& destination);

/// Returns the interface's driver, as `ethtool -i` names it; "" if unknown.
std::string driver_of(const std::string& interface);

/// Returns true if the table /proc/net/packet lists a socket that sees the packets of the interface
/// with this index.
bool is_captured(std::string_view table, unsigned index);

}  // namespace dingo
