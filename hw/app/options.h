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

/// What the command line asks for.
struct Options {
    std::string engine = "model";
    EngineConfig config;
    AdminFaults admin_faults;  ///< at first
    WireOptions wire;
    std::string control;  ///< path of the control socket; "" = none
    IdlePolicy::Limits idle;
    MemoryOptions memory;
    std::string vfio_user;  ///< path of the socket for QEMU; or
    uverbs::UverbsHostOptions uverbs;
    bool adopt = false;  ///< further cards may come into this process
    bool tuned = false;  ///< the loop's options were given
    std::string log_level = "info";

    /// `ctl SOCKET REQUEST...`: talk to a running card instead of being one.
    bool ctl = false;
    std::string ctl_path;
    std::vector<std::string> ctl_words;
};

/// The command line is done with: help is to be shown, or what is wrong to be explained.
struct Exit {
    int status = 0;
    std::string text;   ///< for stdout
    std::string error;  ///< for stderr: what is wrong and what to do
};

/// Parses the command line.
std::optional<Options> parse_options(int argc, char** argv, Exit& exit);

/// "02:44:49:00:00:01" as 0x024449000001; nullopt when it is no unicast MAC address.
std::optional<std::uint64_t> parse_mac(const std::string& text);

/// A locally administered MAC address that depends on `name` only: two cards on one machine have
/// different sockets and so different addresses, and a restarted card keeps its own.
std::uint64_t mac_for(const std::string& name);

}  // namespace dingo
