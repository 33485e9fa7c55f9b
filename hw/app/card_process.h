// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "card_loop.h"
#include "kernel_less_card.h"
#include "options.h"
#include "wire/local_segments.h"

namespace dingo {

/// The kernel-less cards of one process: one thread serves them, and cards on the same shm segment
/// meet inside the process. It ends with its last card.
class CardProcess {
  public:
    /// `stop_fd` as CardLoop's.
    CardProcess(const IdlePolicy::Limits& idle, int stop_fd) : loop_(idle, stop_fd) {}
    CardProcess(const CardProcess&) = delete;
    CardProcess& operator=(const CardProcess&) = delete;

    /// Brings a card up and serves it. Throws std::exception for the user.
    void start(Options options, UniqueFd log = {});
    void run() { loop_.run(); }

  private:
    using Cards = std::list<KernelLessCard>;

    std::optional<nlohmann::json> command(const std::string& card, const nlohmann::json& request);
    nlohmann::json adopt(const nlohmann::json& request);
    nlohmann::json stop(const std::string& card);

    LocalSegments segments_;
    Cards cards_;  ///< outlive the loop
    CardLoop loop_;
    bool adopts_ = false;  ///< from the first card's options
    std::size_t stopping_ = 0;
};

/// Why this card cannot share a process with others; "" when it can.
std::string needs_own_process(const Options& options);

}  // namespace dingo
