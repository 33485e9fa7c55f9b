// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <exception>
#include <list>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/gate.h"
#include "card_loop.h"
#include "control_loop.h"
#include "kernel_less_card.h"
#include "options.h"
#include "wire/local_segments.h"

namespace dingo {

/// The kernel-less cards of one process: a data thread serves the cards, the calling thread their
/// clients. Cards on the same shm segment exchange frames inside the process. The process ends with
/// its last card.
class CardProcess {
  public:
    /// `stop_fd` as in ControlLoop.
    CardProcess(const IdlePolicy::Limits& idle, int stop_fd)
        : control_(stop_fd), data_(idle, gate_) {
        data_.on_offence = [this] { control_.wake(); };
    }
    CardProcess(const CardProcess&) = delete;
    CardProcess& operator=(const CardProcess&) = delete;

    /// Initializes a card and serves it. Throws std::exception with a text for the user.
    void start(Options options, UniqueFd log = {});
    /// Throws the exception that ended the data thread.
    void run();

  private:
    using Cards = std::list<KernelLessCard>;

    std::optional<nlohmann::json> command(const std::string& card, const nlohmann::json& request);
    nlohmann::json adopt(const nlohmann::json& request);
    nlohmann::json stop(const std::string& card);

    void serve_data() noexcept;

    std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
    LocalSegments segments_{gate_};
    Cards cards_;  ///< outlive the loops
    ControlLoop control_;
    CardLoop data_;
    std::exception_ptr failure_;  ///< exception that ended the data thread
    bool adopts_ = false;         ///< from the first card's options
    std::size_t stopping_ = 0;
};

/// Returns why this card cannot share a process with others, "" if it can.
std::string needs_own_process(const Options& options);

}  // namespace dingo
