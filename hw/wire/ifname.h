// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <fmt/format.h>
#include <net/if.h>

#include <string>
#include <string_view>

#include "wire/wire.h"

namespace dingo {

/// Returns `name` if it is a valid interface name; else throws WireError.
inline std::string checked_ifname(std::string_view wire, std::string_view name) {
    if (name.empty() || name.size() >= IFNAMSIZ || name.find_first_of("/ %:") != name.npos)
        throw WireError(
            fmt::format("{} wire: '{}' is no interface name (1 to {} characters); "
                        "`ip link` lists them",
                        wire, name, IFNAMSIZ - 1));
    return std::string(name);
}

}  // namespace dingo
