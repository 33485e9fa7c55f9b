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
    /// Room for an answer: nothing can be read there.
    void add_room(std::uint32_t index, std::uint64_t va, std::size_t length);
    /// Attributes of an ioctl, which are read and written.
    void add_attributes(std::uint64_t va, std::span<const std::byte> bytes);

    /// copy_from_user and copy_to_user. False: the range is not within one argument, or in a room
    /// does not adjoin what was written there before.
    bool read(std::uint64_t va, std::span<std::byte> dst) const;
    bool write(std::uint64_t va, std::span<const std::byte> src);
    /// What was written is forgotten, as when the request is tried again.
    void forget_results();
    /// Nobody reads any more; there is still room for answers.
    void forget_inputs();
    [[nodiscard]] std::size_t num_input_bytes() const;

    /// What was written, for the reply: its table, and the bytes of all.
    [[nodiscard]] std::vector<dingo_uverbs_result> results() const;
    [[nodiscard]] std::vector<std::byte> result_bytes() const;
    [[nodiscard]] std::size_t num_result_bytes() const;

  private:
    struct Place {
        std::uint32_t index;
        std::uint64_t va;
        std::size_t length;
        bool writable;
        std::vector<std::byte> bytes;  ///< none: a room
        std::size_t offset = 0;        ///< of the result
        std::vector<std::byte> result{};
    };

    std::vector<Place> places_;
};

}  // namespace dingo::uverbs
