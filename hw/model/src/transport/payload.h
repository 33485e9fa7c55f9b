// SPDX-License-Identifier: BSD-2-Clause
//
// Payload between frames and host memory, through the keys of the scatter and gather entries. Every
// access is checked when it is made: a key may have gone since the last packet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "../memory_region.h"
#include "../receive_queue.h"
#include "frame_writer.h"
#include "send_wqe.h"

namespace dingo::model {

/// What moving payload came to.
enum class Move : std::uint8_t {
    kDone,
    kPaused,  ///< a region is paused (PAUSE_MR): again later
    kFault,   ///< the WQE completes with the fault that is given
};

class Payload {
  public:
    Payload(MemoryTable& memory, FrameWriter& frame) : memory_(memory), frame_(frame) {}

    /// Checks all gather or scatter entries as a whole; `access`: enum acc, 0 = local read.
    Move check(const Qp& qp, const SendWqe& wqe, std::uint32_t access, WqeFault& fault);
    /// Gives the open frame its payload: bytes of a SEND or WRITE from `offset` on, through the
    /// QP's compute kernel.
    Move fill(const Qp& qp, const SendWqe& wqe, std::uint32_t offset, WqeFault& fault);
    /// What a READ or atomic brought, to `offset` bytes into the WQE's entries.
    Move scatter(const Qp& qp, const SendWqe& wqe, std::uint32_t offset,
                 std::span<const std::byte> data, WqeFault& fault);
    /// What a SEND brought, to `offset` bytes into the receive's entries.
    Move scatter(const Qp& qp, const ReceiveWqe& wqe, std::uint64_t offset,
                 std::span<const std::byte> data, WqeFault& fault);

  private:
    /// Copies message bytes [offset, offset + data.size()).
    Move gather(const Qp& qp, const SendWqe& wqe, std::uint32_t offset, std::span<std::byte> data,
                WqeFault& fault);
    /// The payload where it lies in host memory, when nothing changes it on its way; else nullptr.
    const std::byte* in_place(const Qp& qp, const SendWqe& wqe, std::uint64_t offset,
                              std::uint64_t bytes);

    MemoryTable& memory_;
    FrameWriter& frame_;
};

}  // namespace dingo::model
