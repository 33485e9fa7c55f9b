// SPDX-License-Identifier: BSD-2-Clause
//
// Starting and stopping cards, each in a process of its own or together in one.
#pragma once

#include <string>
#include <vector>

#include "app/cli/cards.h"

namespace dingo::cli {

/// Whether a card shares one process with the user's other cards (docs/reference/kernel-less.md).
enum class ProcessChoice { kByMachine, kOwn, kOne };

/// What `dingo card start` and `dingo run` may say about a card that they start.
struct StartOptions {
    std::string name = "dingo0";
    std::vector<std::string> ips;  ///< none: made from the uverbs number
    std::string wire = "shm";
    std::string faults;
    std::string pcap;
    std::string engine;
    std::string mac;
    unsigned mtu = 0;           ///< 0: dingo-card's default
    std::string device_memory;  ///< MiB; "": dingo-card's default
    bool share = false;
    ProcessChoice process = ProcessChoice::kByMachine;
};

/// Starts the card, in a process that serves others already or as a daemon, and waits until it
/// serves. The lock is held by the caller, and no card of this name runs. Throws Error with the
/// card's own words when it does not come up.
CardEntry start_card(const StartOptions& options);

/// Ends a running card, and its process when no other card is in it, and waits until it is gone.
/// Throws Error.
void stop_card(const CardEntry& card);

}  // namespace dingo::cli
