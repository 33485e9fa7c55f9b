// SPDX-License-Identifier: BSD-2-Clause
//
// Moves payload between frames and host memory, through the keys of gather and scatter entries.
// Each access is checked when it is made: a key may have been destroyed since the last packet.
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

/// Result of moving payload.
enum class Move : std::uint8_t {
    kDone,
    kPaused,  ///< a region is paused (PAUSE_MR): retry later
    kLater,   ///< far memory has no data or no room yet; it tells the sending half when it has
    kFault,   ///< the WQE completes with the returned fault
};

class Payload {
  public:
    Payload(MemoryTable& memory, FrameWriter& frame, FarWork& far)
        : memory_(memory), frame_(frame), far_(far) {}

    /// Checks all gather or scatter entries; `access`: enum acc, 0 = local read.
    Move check(const QueuePair& qp, const SendWqe& wqe, std::uint32_t access, WqeFault& fault);
    /// Returns true if a region into which a READ or atomic scatters is paused.
    bool is_paused(const QueuePair& qp, const SendWqe& wqe);
    /// Fills the open frame with bytes of a SEND or WRITE from `offset` on, transformed by the QP's
    /// compute kernel. `message` identifies the message within the QP.
    Move fill(QueuePair& qp, const SendWqe& wqe, std::uint64_t message, std::uint32_t offset,
              WqeFault& fault);
    /// Writes data of a READ or atomic to byte `offset` of the WQE's scatter entries.
    Move scatter(QueuePair& qp, const SendWqe& wqe, std::uint32_t offset,
                 std::span<const std::byte> data, WqeFault& fault);
    /// Writes data of a SEND to byte `offset` of the receive's scatter entries.
    Move scatter(QueuePair& qp, const ReceiveWqe& wqe, std::uint64_t offset,
                 std::span<const std::byte> data, WqeFault& fault);
    /// Returns the data of a SEND or WRITE, `offset` bytes into its message, transformed by the
    /// QP's receive kernel. Valid until the next call. `data` is not modified: it may be the
    /// sender's own memory, or also go to other QPs.
    std::span<const std::byte> received(const QueuePair& qp, std::uint64_t offset,
                                        std::span<const std::byte> data);
    /// Starts prefetching the far part of a message. Returns false if not all of it is possible
    /// now.
    bool prefetch(QueuePair& qp, const SendWqe& wqe, std::uint64_t message);

  private:
    /// Copies message bytes [offset, offset + data.size()).
    Move gather(QueuePair& qp, const SendWqe& wqe, std::uint64_t message, std::uint32_t offset,
                std::span<std::byte> data, WqeFault& fault);
    /// Makes the open frame refer to its payload, if nothing has to transform it. kLater: retry
    /// later; nullopt: copy it.
    std::optional<Move> refer(QueuePair& qp, const SendWqe& wqe, std::uint64_t message,
                              std::uint64_t offset, std::uint64_t bytes);

    MemoryTable& memory_;
    FrameWriter& frame_;
    FarWork& far_;
    std::vector<std::byte> transformed_;  ///< output of the receive kernel for one packet
};

}  // namespace dingo::model
