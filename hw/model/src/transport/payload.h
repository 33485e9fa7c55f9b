// SPDX-License-Identifier: BSD-2-Clause
//
// Payload between frames and host memory, through the keys of the scatter and gather entries. Every
// access is checked when it is made: a key may have gone since the last packet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "../memory_region.h"
#include "../receive_queue.h"
#include "far_work.h"
#include "frame_writer.h"
#include "send_wqe.h"

namespace dingo::model {

/// What moving payload came to.
enum class Move : std::uint8_t {
    kDone,
    kPaused,  ///< a region is paused (PAUSE_MR), or too much is on its way: again later
    kLater,   ///< far memory: the QP gets a turn when there is more
    kFault,   ///< the WQE completes with the fault that is given
};

class Payload {
  public:
    Payload(MemoryTable& memory, FrameWriter& frame, FarWork& far)
        : memory_(memory), frame_(frame), far_(far) {}

    /// Checks all gather or scatter entries as a whole; `access`: enum acc, 0 = local read.
    Move check(const QueuePair& qp, const SendWqe& wqe, std::uint32_t access, WqeFault& fault);
    /// Gives the open frame its payload: bytes of a SEND or WRITE from `offset` on, through the
    /// QP's compute kernel. `message` tells it from others of the QP.
    Move fill(QueuePair& qp, const SendWqe& wqe, std::uint64_t message, std::uint32_t offset,
              WqeFault& fault);
    /// What a READ or atomic brought, to `offset` bytes into the WQE's entries.
    Move scatter(QueuePair& qp, const SendWqe& wqe, std::uint32_t offset,
                 std::span<const std::byte> data, WqeFault& fault);
    /// What a SEND brought, to `offset` bytes into the receive's entries.
    Move scatter(QueuePair& qp, const ReceiveWqe& wqe, std::uint64_t offset,
                 std::span<const std::byte> data, WqeFault& fault);
    /// What a SEND or WRITE brought, `offset` bytes into its message, as it goes to host memory:
    /// through the QP's receive kernel. Valid until the next call. `data` stays as it is: it may be
    /// the sender's own memory, or go to other QPs, too.
    std::span<const std::byte> received(const QueuePair& qp, std::uint64_t offset,
                                        std::span<const std::byte> data);
    /// Starts fetching the far part of a message ahead. False: not all of it is possible now.
    bool prefetch(QueuePair& qp, const SendWqe& wqe, std::uint64_t message);

  private:
    /// Copies message bytes [offset, offset + data.size()).
    Move gather(QueuePair& qp, const SendWqe& wqe, std::uint64_t message, std::uint32_t offset,
                std::span<std::byte> data, WqeFault& fault);
    /// Leaves the open frame's payload where it lies, when nothing changes it on its way. kLater:
    /// again later; nullopt: it is to be copied.
    std::optional<Move> refer(QueuePair& qp, const SendWqe& wqe, std::uint64_t message,
                              std::uint64_t offset, std::uint64_t bytes);

    MemoryTable& memory_;
    FrameWriter& frame_;
    FarWork& far_;
    std::vector<std::byte> transformed_;  ///< by a receive kernel, of one packet
};

}  // namespace dingo::model
