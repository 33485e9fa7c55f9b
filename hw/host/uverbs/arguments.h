// SPDX-License-Identifier: BSD-2-Clause
//
// The arguments of a request: the data at addresses in the client's memory was sent with the
// request, and results are returned with the answer. So the card never waits for a client's page
// fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "host/uverbs/protocol.h"

namespace dingo::uverbs {

class Arguments {
  public:
    /// `index`: as in struct dingo_uverbs_result.
    void add(std::uint32_t index, std::uint64_t va, std::span<const std::byte> bytes);
    /// Adds room for an answer, which cannot be read.
    void add_room(std::uint32_t index, std::uint64_t va, std::size_t length);
    /// Adds the attributes of an ioctl, which are read and written.
    void add_attributes(std::uint64_t va, std::span<const std::byte> bytes);

    /// As copy_from_user and copy_to_user. They return false if the range is not within one
    /// argument; write() also if it does not adjoin the bytes written before in a room.
    bool read(std::uint64_t va, std::span<std::byte> dst) const;
    bool write(std::uint64_t va, std::span<const std::byte> src);
    /// Discards what was written, before the request is executed again.
    void forget_results();
    /// Frees the input data when it is no longer needed; answers can still be written.
    void forget_inputs();
    [[nodiscard]] std::size_t num_input_bytes() const;

    /// The results for the reply: their table and their bytes.
    [[nodiscard]] std::vector<dingo_uverbs_result> results() const;
    [[nodiscard]] std::vector<std::byte> result_bytes() const;
    [[nodiscard]] std::size_t num_result_bytes() const;

  private:
    struct Place {
        std::uint32_t index;
        std::uint64_t va;
        std::size_t length;
        bool writable;
        std::vector<std::byte> bytes;  ///< empty for a room
        std::size_t offset = 0;        ///< offset of the result in the argument
        std::vector<std::byte> result{};
    };

    std::vector<Place> places_;
};

}  // namespace dingo::uverbs
