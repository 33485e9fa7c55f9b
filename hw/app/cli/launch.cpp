// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/launch.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "app/cli/error.h"

namespace dingo::cli {
namespace {

/// Prepends `value` to the list in the environment variable, and removes it elsewhere in the list.
void prepend(const char* variable, const std::string& value, const char* separators) {
    const char* const old = std::getenv(variable);
    std::string list = value;
    for (std::string_view rest = old != nullptr ? old : ""; !rest.empty();) {
        const std::size_t end = std::min(rest.find_first_of(separators), rest.size());
        if (end != 0 && rest.substr(0, end) != value)
            list += separators[0] + std::string(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    ::setenv(variable, list.c_str(), 1);
}

/// gcc's AddressSanitizer refuses to run after another preloaded library, unless this is set.
void allow_address_sanitizer() {
    constexpr std::string_view kOption = "verify_asan_link_order";
    const char* const old = std::getenv("ASAN_OPTIONS");
    std::string options = old != nullptr ? old : "";
    if (options.find(kOption) != options.npos)
        return;
    options += fmt::format("{}{}=0", options.empty() ? "" : ":", kOption);
    ::setenv("ASAN_OPTIONS", options.c_str(), 1);
}

/// UCX 1.19 and later only accepts peers to which the kernel has a route from the card's network
/// interface, which a card on its own wire lacks. The names are known to older versions, too.
void allow_ucx_all_peers() {
    if (std::getenv("UCX_IB_ROCE_LOCAL_SUBNET") != nullptr ||
        std::getenv("UCX_IB_ROCE_REACHABILITY_MODE") != nullptr)
        return;
    ::setenv("UCX_IB_ROCE_LOCAL_SUBNET", "y", 1);
    ::setenv("UCX_IB_ROCE_SUBNET_PREFIX_LEN", "0", 0);
}

}  // namespace

Libraries find_libraries() {
    Libraries out{find_preload(), driver_name(find_provider())};
    for (const std::string& path : {out.preload, out.driver})
        if (path.find_first_of(": ;") != std::string::npos)
            throw Error(
                fmt::format("the path {} contains a blank, ':' or ';', which LD_PRELOAD and "
                            "RDMAV_DRIVERS do not support: install Dingo elsewhere",
                            path));
    return out;
}

void set_environment(const Libraries& libraries, const Path& view) {
    const char* const other_drivers = std::getenv("IBV_DRIVERS");
    if (std::getenv("RDMAV_DRIVERS") == nullptr && other_drivers != nullptr)
        ::setenv("RDMAV_DRIVERS", other_drivers, 1);  // RDMAV_DRIVERS hides IBV_DRIVERS
    ::unsetenv("DINGO_CLUSTER");                      // set by an outer `dingo run --cluster`
    ::setenv("DINGO_VIEW", view.c_str(), 1);
    prepend("LD_PRELOAD", libraries.preload, ": ");
    prepend("RDMAV_DRIVERS", libraries.driver, ":;");
    allow_address_sanitizer();
    allow_ucx_all_peers();
}

void become(const std::vector<std::string>& command) {
    std::vector<char*> argv;
    argv.reserve(command.size() + 1);
    for (const std::string& word : command)
        argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
    const int error = errno;
    throw Error(fmt::format("cannot run {}: {}", command[0], std::strerror(error)),
                error == ENOENT ? kNotFound : kCannotExecute);
}

}  // namespace dingo::cli
