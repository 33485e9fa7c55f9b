// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/unique_fd.h"
#include "protocol.h"

namespace dingo::vfio_user {

/// The MSI-X vectors: one eventfd each, given by DEVICE_SET_IRQS.
///
/// The client keeps the MSI-X table (QEMU emulates it); it masks a vector by SET_IRQS, by taking
/// the eventfd away, or itself. A message for a vector that is masked or has no eventfd sets its
/// bit in the PBA and is sent when the vector is unmasked or gets one.
class MsixVectors {
  public:
    explicit MsixVectors(unsigned count);

    /// Sends message `vector`, or makes it pending. Vectors that do not exist are ignored.
    void raise(unsigned vector);
    /// The next `count` messages of `vector` are lost. Throws std::invalid_argument: no such one.
    void lose(unsigned vector, unsigned count);

    /// DEVICE_SET_IRQS for the MSI-X index, checked here. `bools` is the data of DATA_BOOL. Takes
    /// descriptors out of `fds`. 0 or EINVAL.
    int set(const IrqSet& request, std::span<const std::byte> bools, std::span<UniqueFd> fds);

    /// No eventfd, nothing masked or pending.
    void reset();
    /// The function was reset: messages that waited are gone; eventfds stay.
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
