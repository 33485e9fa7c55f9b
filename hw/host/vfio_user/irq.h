// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/unique_fd.h"
#include "protocol.h"

namespace dingo::vfio_user {

/// The MSI-X vectors: one eventfd each, set by DEVICE_SET_IRQS.
///
/// The client owns the MSI-X table (QEMU emulates it). It masks a vector by SET_IRQS, by removing
/// its eventfd, or by itself. A message for a vector that is masked or has no eventfd sets the
/// vector's bit in the PBA and is sent when the vector is unmasked or gets an eventfd.
class MsixVectors {
  public:
    explicit MsixVectors(unsigned count);

    /// Sends message `vector` or makes it pending. Ignores vectors that do not exist.
    void raise(unsigned vector);
    /// Drops the next `count` messages of `vector`. Throws std::invalid_argument if it does not
    /// exist.
    void lose(unsigned vector, unsigned count);

    /// Executes DEVICE_SET_IRQS for the MSI-X index after validating it. `bools` is the data of
    /// DATA_BOOL. Moves descriptors out of `fds`. Returns 0 or EINVAL.
    int set(const IrqSet& request, std::span<const std::byte> bools, std::span<UniqueFd> fds);

    /// Removes all eventfds, masks and pending messages.
    void reset();
    /// Removes pending messages after a reset of the function; eventfds stay.
    void clear_pending();

    [[nodiscard]] unsigned count() const { return static_cast<unsigned>(vectors_.size()); }

    /// Reads the pending bit array; bits beyond the last vector are 0.
    void read_pba(std::uint64_t offset, std::span<std::byte> out) const;

    [[nodiscard]] std::uint64_t sent() const { return sent_; }

  private:
    struct Vector {
        UniqueFd event;
        bool masked = false;
        bool pending = false;
        unsigned to_lose = 0;
    };

    void signal(Vector& v);
    void deliver_pending(Vector& v);

    std::vector<Vector> vectors_;
    std::uint64_t sent_ = 0;
};

}  // namespace dingo::vfio_user
