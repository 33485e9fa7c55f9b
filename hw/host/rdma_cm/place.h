// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <filesystem>

namespace dingo::rdma_cm {

/// Device number of rdma_cm, a "misc" device.
inline constexpr std::uint32_t kMiscMajor = 10;
inline constexpr std::uint32_t kMiscMinor = 58;

/// The files that applications expect in a card's directory: dev/infiniband/rdma_cm, a link to
/// rdma_cm.sock, and sys/class/misc/rdma_cm. Removed by the destructor.
class Place {
  public:
    /// Throws std::filesystem::filesystem_error, std::runtime_error.
    explicit Place(const std::filesystem::path& directory);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

  private:
    std::filesystem::path device_;
    std::filesystem::path class_;
};

}  // namespace dingo::rdma_cm
