// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "base/unique_fd.h"

namespace dingo::uverbs {

/// The directory of one kernel-less card (docs/reference/kernel-less.md): made if need be, taken
/// for as long as this lives, with a uverbs number that no running neighbour has.
class CardDirectory {
  public:
    /// share: others may pass through it. Throws std::runtime_error for the user.
    CardDirectory(const std::filesystem::path& dir, bool share);
    ~CardDirectory();
    CardDirectory(const CardDirectory&) = delete;
    CardDirectory& operator=(const CardDirectory&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return dir_; }
    [[nodiscard]] unsigned number() const { return number_; }

    /// Writes card.json: the card can be used now. Also ends the neighbours' waiting for a number.
    void publish(const nlohmann::json& info);

  private:
    std::filesystem::path dir_;
    UniqueFd lock_;          ///< of this directory, while the card lives
    UniqueFd numbers_lock_;  ///< of all neighbours, until publish()
    unsigned number_ = 0;
};

}  // namespace dingo::uverbs
