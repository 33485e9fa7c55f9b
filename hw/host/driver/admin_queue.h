// SPDX-License-Identifier: BSD-2-Clause
//
// The admin queue: one command at a time, as the engine runs in the thread that calls.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "dingo_hw.h"
#include "host/driver/queue_memory.h"
#include "host/local_card.h"

namespace dingo::uverbs {

class AdminQueue {
  public:
    using Results = std::array<std::uint64_t, 5>;

    /// Enables the queue; the card must be ready. Throws ErrnoError(ENOMEM).
    AdminQueue(LocalCard& card, BusMap& bus);

    /// Sends a command and runs the engine until it is done. Throws ErrnoError with the errno of
    /// kmod's dingo_cmd_*(); EIO, at once, if the card has failed.
    template <typename Command>
    Results execute(std::uint16_t opcode, Command command) {
        command.hdr.opcode = opcode;
        command.hdr.cmd_id = ++cmd_id_;
        return execute_raw(std::as_bytes(std::span(&command, 1)), opcode);
    }

    /// Executes DESTROY_* and QUERY_SRQ. On a failed card destroying succeeds: the card has lost
    /// the object.
    Results destroy(std::uint16_t opcode, std::uint32_t id);

    /// A page for the answers of queries, zeroed by this call. Valid until the next call.
    std::span<std::byte> out();
    [[nodiscard]] std::uint64_t out_address() const { return out_.address(); }

    /// Returns true if the card has reported a fatal error or not answered a command.
    [[nodiscard]] bool failed() const { return failed_; }
    void fail() { failed_ = true; }

  private:
    Results execute_raw(std::span<const std::byte> command, std::uint16_t opcode);
    /// Call it with the gate held.
    Results execute_here(std::span<const std::byte> command, std::uint16_t opcode);
    const dingo_admin_cpl* wait();

    LocalCard& card_;
    QueueMemory sq_;
    QueueMemory cq_;
    QueueMemory out_;
    std::uint32_t producer_ = 0;
    std::uint32_t consumer_ = 0;
    std::uint16_t cmd_id_ = 0;
    bool failed_ = false;
};

}  // namespace dingo::uverbs
