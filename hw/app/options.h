// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "card.h"
#include "dingo/engine.h"
#include "host/uverbs/uverbs_host.h"
#include "idle_policy.h"
#include "wire/wire.h"

namespace dingo {

/// The command-line options.
struct Options {
    std::string engine = "model";
    EngineConfig config;
    AdminFaults admin_faults;  ///< initial admin faults
    WireOptions wire;
    std::string control;  ///< path of the control socket; "" = none
    IdlePolicy::Limits idle;
    MemoryOptions memory;
    std::string vfio_user;  ///< path of the socket for QEMU, alternative to uverbs
    uverbs::UverbsHostOptions uverbs;
    bool adopt = false;  ///< further cards may be started in this process
    bool tuned = false;  ///< options of the loop were given
    std::string log_level = "info";

    /// `ctl SOCKET REQUEST...`: send a request to a running card instead of being one.
    bool ctl = false;
    std::string ctl_path;
    std::vector<std::string> ctl_words;
};

/// Result of a command line that starts no card: help or an error.
struct Exit {
    int status = 0;
    std::string text;   ///< for stdout
    std::string error;  ///< for stderr: the problem and its remedy
};

/// Parses the command line.
std::optional<Options> parse_options(int argc, char** argv, Exit& exit);

/// Parses "02:44:49:00:00:01" to 0x024449000001. Returns nullopt if it is not a unicast MAC
/// address.
std::optional<std::uint64_t> parse_mac(const std::string& text);

/// Returns a locally administered MAC address that depends only on `name`: two cards on one machine
/// have different sockets and so different addresses, and a restarted card keeps its address.
std::uint64_t mac_for(const std::string& name);

}  // namespace dingo
