// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "base/unique_fd.h"

namespace dingo::uverbs {

/// The directory of one kernel-less card (docs/reference/kernel-less.md). Created if missing and
/// locked during the object's lifetime, with a uverbs number that no running card beside it has.
class CardDirectory {
  public:
    /// `share`: other users may search the directory. Throws std::runtime_error with a text for the
    /// user.
    CardDirectory(const std::filesystem::path& dir, bool share);
    ~CardDirectory();
    CardDirectory(const CardDirectory&) = delete;
    CardDirectory& operator=(const CardDirectory&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return dir_; }
    [[nodiscard]] unsigned number() const { return number_; }

    /// Writes card.json: the card is ready. Also releases the lock on numbers for which other cards
    /// wait.
    void publish(const nlohmann::json& info);

  private:
    std::filesystem::path dir_;
    UniqueFd lock_;          ///< of this directory, held while the card runs
    UniqueFd numbers_lock_;  ///< of the parent directory, held until publish()
    unsigned number_ = 0;
};

}  // namespace dingo::uverbs
