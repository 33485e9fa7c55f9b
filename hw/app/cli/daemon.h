// SPDX-License-Identifier: BSD-2-Clause
// Starts and stops cards, each in its own process or several in one.
#pragma once

#include <string>
#include <vector>

#include "app/cli/cards.h"

namespace dingo::cli {

/// Selects whether a card shares a process with the user's other cards
/// (docs/reference/kernel-less.md).
enum class ProcessChoice { kByMachine, kOwn, kOne };

/// Options of `dingo card start` and `dingo run` for a card that they start.
struct StartOptions {
    std::string name = "dingo0";
    std::vector<std::string> ips;  ///< empty: derived from the uverbs number
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

/// Starts a card, in a process that already serves others or as a daemon, and waits until it
/// serves. The caller holds the lock, and no card of this name is running. Throws Error with the
/// card's own log lines if it fails.
CardEntry start_card(const StartOptions& options);

/// Stops a running card, and its process if it has no other card, and waits for the end. Throws
/// Error.
void stop_card(const CardEntry& card);

}  // namespace dingo::cli
