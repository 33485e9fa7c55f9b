// SPDX-License-Identifier: BSD-2-Clause
//
// The arguments of a request: what it names by address in its client's memory came with it, and
// what is written there goes back with the answer. So nobody waits for a client's page fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "host/uverbs/protocol.h"

namespace dingo::uverbs {

class Arguments {
  public:
    /// `index`: as struct dingo_uverbs_result has it.
    void add(std::uint32_t index, std::uint64_t va, std::span<const std::byte> bytes);

    /// copy_from_user and copy_to_user. False: the range is not within one argument.
    bool read(std::uint64_t va, std::span<std::byte> dst) const;
    bool write(std::uint64_t va, std::span<const std::byte> src);
    /// What was written is forgotten, as when the request is tried again.
    void forget_results();

    /// What was written, for the reply: its table, and the bytes of all.
    [[nodiscard]] std::vector<dingo_uverbs_result> results() const;
    [[nodiscard]] std::vector<std::byte> result_bytes() const;
    [[nodiscard]] std::size_t num_result_bytes() const;

  private:
    struct Place {
        std::uint32_t index;
        std::uint64_t va;
        std::vector<std::byte> bytes;
        std::vector<std::byte> result;  ///< instead of the first bytes
    };

    std::vector<Place> places_;
};

}  // namespace dingo::uverbs
